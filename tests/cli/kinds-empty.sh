#!/bin/bash
# A stack map without any record: nothing to look up, and no error.
. "$TOP/tests/cli/common.sh"

cat >quiet.ll <<'IR'
define i64 @run(i64 %n) gc "statepoint-example" {
  ret i64 %n
}
IR
make_program lld plain ./quiet.ll
! has_section plain .llvm_stackmaps || fail "LLVM has learnt to write empty stack maps: this test should use them"
# A header with all counts zero, as an object file of its own.
echo '.section .llvm_stackmaps,"a",@progbits; .balign 8; .byte 3, 0, 0, 0; .long 0, 0, 0' >empty.s
"$LLVM/bin/clang" -c empty.s -o empty.o
for linker in lld bfd; do
  link_with $linker app main.o plain.o empty.o
  pack_and_compare app packed
  [[ ! -s packed.json ]] || fail "records in an empty stack map"
  expect_status 0 "$stackpack" stats packed
done
