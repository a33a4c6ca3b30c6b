#!/bin/bash
# Identical code folding (lld --icf=all) leaves several functions at one address: equal records count once; different
# ones (here: in their IDs) are refused, or left out.
. "$TOP/tests/cli/common.sh"

cat >twins.ll <<'IR'
declare void @collect()
declare token @llvm.experimental.gc.statepoint.p0(i64 immarg, i32 immarg, ptr, i32 immarg, i32 immarg, ...)

define void @one() noinline gc "statepoint-example" {
  call void @collect()
  %point = call token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(
      i64 1, i32 0, ptr elementtype(void ()) @collect, i32 0, i32 0, i32 0, i32 0)
  ret void
}

define void @two() noinline gc "statepoint-example" {
  call void @collect()
  %point = call token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(
      i64 2, i32 0, ptr elementtype(void ()) @collect, i32 0, i32 0, i32 0, i32 0)
  ret void
}

define i64 @run(i64 %n) gc "statepoint-example" {
  call void @one()
  call void @two()
  ret i64 %n
}
IR
compile_main main.o
compile ./twins.ll twins.o -function-sections
link_with lld app main.o twins.o -Wl,--icf=all
[[ $(nm app | awk '$3 == "one" || $3 == "two" { print $1 }' | sort -u | wc -l) == 1 ]] || fail "the twins weren't folded"
expect_refusal 'app: conflicting stack maps at 1 address' "$stackpack" pack app
expect_status 0 "$stackpack" pack --always --conflicts=omit -o packed app
expect_same_run app packed
expect_status 0 "$stackpack" verify app packed
dump_json packed >packed.json
expect_records packed.json <<'PYTHON'
assert len([record for record in records if record["function"] in ("one", "two")]) == 1
assert len(of("run")) == 2
PYTHON
expect_status 1 "$stackpack" lookup packed "$(python3 -c '
from records import *
load("packed.json")
print(hex(next(record["address"] for record in records if record["function"] in ("one", "two")) + 5))')" # the next call
