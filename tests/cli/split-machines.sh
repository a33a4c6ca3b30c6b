#!/bin/bash
# Objects for AArch64 and RISC-V are split as those for x86-64 are: their linked functions have the records of an unsplit link,
# where the linker moves code (RISC-V), too; with a section for each function, and with one for all.
. "$TOP/tests/cli/common.sh"

cat >functions.ll <<'IR'
define void @collect() noinline { ret void }
declare token @llvm.experimental.gc.statepoint.p0(i64 immarg, i32 immarg, ptr, i32 immarg, i32 immarg, ...)
define i64 @used(i64 %n) noinline gc "statepoint-example" {
  call void @collect()
  call void @collect()
  ret i64 %n
}
define weak i64 @weak(i64 %n) noinline gc "statepoint-example" {
  %point = call token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(i64 7, i32 0,
      ptr elementtype(void ()) @collect, i32 0, i32 0, i32 0, i32 0) ["deopt"(i64 81985529216486895, i64 -1, i64 5)]
  ret i64 %n
}
define internal i64 @private(i64 %n) noinline gc "statepoint-example" {
  %point = call token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(i64 8, i32 0,
      ptr elementtype(void ()) @collect, i32 0, i32 0, i32 0, i32 0) ["deopt"(i64 1311768467463790320, i64 81985529216486895)]
  ret i64 %n
}
define i64 @unused(i64 %n) noinline gc "statepoint-example" {
  call void @collect()
  ret i64 %n
}
define i64 @_start(i64 %n) gc "statepoint-example" {
  %a = call i64 @used(i64 %n)
  %b = call i64 @weak(i64 %a)
  %c = call i64 @private(i64 %b)
  ret i64 %c
}
IR
PATH=$LLVM/bin:$PATH
opt -passes=rewrite-statepoints-for-gc functions.ll -o functions.bc

check() { # RECORDS TRIPLE [LLC OPTION...]
  local expected=$1 triple=$2 count
  shift 2
  llc -mtriple=$triple "$@" -filetype=obj functions.bc -o whole.o
  expect_status 0 "$stackpack" split -o split.o whole.o
  expect_output '5 functions split into'
  expect_status 0 "$stackpack" split split.o
  expect_output 'nothing to split'
  llvm-readelf --all split.o >/dev/null 2>err
  [[ ! -s err ]] || { cat err >&2; fail "llvm-readelf complains"; }
  ld.lld -o whole whole.o
  ld.lld --gc-sections -o part split.o
  dump_json whole >whole.json
  dump_json part >part.json
  llvm-nm part | awk '$2 ~ /[tTwW]/ { print $3 }' >symbols
  count=$(python3 "$TOP/tests/cli/split_compare.py" whole.json part.json symbols) || fail "$triple $*: other records"
  [[ $count == "$expected" ]] || fail "$triple $*: $count records, not $expected"
}
for machine in x86_64 "${other_machines[@]}"; do
  triple=$machine-linux-gnu
  options=()
  [[ $triple != riscv* ]] || options=(-mattr=+m,+a,+c,+relax)
  check 8 $triple "${options[@]}"
  check 7 $triple "${options[@]}" -function-sections
done

# A function's records use the constants of its own map alone.
"$stackpack" split -q -o split.o whole.o
llvm-readobj --sections --section-data split.o >sections
python3 - <<'PYTHON'
import re
maps = re.findall(r"Name: \.llvm_stackmaps.*?SectionData \((.*?)\n    \)", open("sections").read(), re.S)
numbers = []
for text in maps:
    data = bytes.fromhex("".join(re.findall(r"^      [0-9A-F]+: ((?:[0-9A-F]+ )+)", text, re.M)))
    functions, constants = int.from_bytes(data[4:8], "little"), int.from_bytes(data[8:12], "little")
    assert functions == 1
    start = 16 + 24 * functions
    numbers.append([int.from_bytes(data[start + 8 * i:start + 8 * i + 8], "little") for i in range(constants)])
assert sorted(numbers, key=len) == [[], [], [], [81985529216486895], [1311768467463790320, 81985529216486895]], numbers
PYTHON
