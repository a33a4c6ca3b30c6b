#!/bin/bash
# A function that the linker has thrown away keeps its entry in the stack map, at address 0: it is passed over with
# its records, and later functions' records stay right.
. "$TOP/tests/cli/common.sh"

cat >discarded.ll <<'IR'
declare void @collect()

define i64 @first(i64 %n) noinline gc "statepoint-example" {
  call void @collect()
  ret i64 %n
}

define internal void @dead() noinline section ".text.dead" gc "statepoint-example" {
  call void @collect()
  call void @collect()
  call void @collect()
  ret void
}
@llvm.compiler.used = appending global [1 x ptr] [ptr @dead], section "llvm.metadata"

define i64 @run(i64 %n) gc "statepoint-example" {
  call void @collect()
  %result = call i64 @first(i64 %n)
  ret i64 %result
}
IR
echo 'SECTIONS { /DISCARD/ : { *(.text.dead) } } INSERT AFTER .rodata;' >discard.lds
for linker in lld bfd; do
  make_program $linker app ./discarded.ll -Wl,-T,discard.lds -Wl,--noinhibit-exec 2>link.log
  pack_and_compare app packed
  expect_records packed.json <<'PYTHON'
assert [record["function"] for record in records] == ["first", "run", "run"]
PYTHON
done
