#!/bin/bash
# Identical code folding: functions with equal code and different stack maps stay apart when their objects are split, and every
# remaining record belongs to remaining code.
. "$TOP/tests/cli/common.sh"

cat >twins.ll <<'IR'
declare void @collect()
declare token @llvm.experimental.gc.statepoint.p0(i64 immarg, i32 immarg, ptr, i32 immarg, i32 immarg, ...)
define void @one() noinline gc "statepoint-example" {
  %point = call token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(
      i64 1, i32 0, ptr elementtype(void ()) @collect, i32 0, i32 0, i32 0, i32 0)
  ret void
}
define void @two() noinline gc "statepoint-example" {
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
expect_status 0 "$stackpack" split -o split.o twins.o
addresses() { # PROGRAM: of the twins, how many different ones
  nm "$1" | awk '$3 == "one" || $3 == "two" { print $1 }' | sort -u | wc -l
}
for linker in lld gold mold; do
  for mode in all safe; do
    link_with $linker app main.o split.o -Wl,--icf=$mode
    [[ $(addresses app) == 2 ]] || fail "$linker --icf=$mode: the twins were folded"
    pack_and_compare app packed
    expect_records packed.json <<'PYTHON'
assert [with_id(1)["function"], with_id(2)["function"]] == ["one", "two"]
assert len(records) == 4
PYTHON
  done
  link_with $linker app main.o twins.o -Wl,--icf=all
  [[ $(addresses app) == 1 ]] || fail "$linker: the twins weren't folded without split"
done
