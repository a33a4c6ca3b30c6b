#!/bin/bash
# The runtime reads all raw stack maps that a file has, as the command does: of several sections, and among other data.
. "$TOP/tests/cli/common.sh"

cat >reader.c <<'C'
#include "stackpack.h"
#include <stdio.h>
int main(int argc, char **argv) {
  struct stackpack_file file;
  const enum stackpack_error error = argc == 2 ? stackpack_file_open(&file, argv[1]) : STACKPACK_SYSTEM_ERROR;
  return error != STACKPACK_OK ? error : printf("%zu records\n", (size_t)stackpack_table_records(&file.table)) < 0;
}
C
build_plain_library
"$LLVM/bin/clang" -std=c17 -O1 -I"$TOP/runtime" -o reader reader.c plain/libstackpack.a

compile_main main.o
compile list list.o
many_functions 20 | sed 's/@run(/@other_run(/' >many.ll
compile ./many.ll many.o
echo "SECTIONS { .one : { list.o(.llvm_stackmaps) } .two : { many.o(.llvm_stackmaps) } } INSERT BEFORE .eh_frame;" >two.lds
link_with bfd app -Wl,-T,two.lds main.o list.o many.o 2>link.log || { cat link.log; fail "can't link"; }
objcopy --rename-section .one=.llvm_stackmaps --rename-section .two=.llvm_stackmaps app two
[[ $(readelf -SW two | grep -c '\.llvm_stackmaps') == 2 ]] || fail "the sample doesn't have two sections"
expect_status 0 ./reader two
expect_output "^$(dump_json two | wc -l) records$"
(($(dump_json two | wc -l) > 200)) || fail "few records"

[[ -z $(library_flags) ]] || exit 0 # a search by form reads between a program's variables, where a sanitizer forbids it

# In a running program they are found, too, where they are in a section with other data: by their symbols, and packed.
"$LLVM/bin/clang" -std=c17 -D_GNU_SOURCE -O1 -I"$TOP/runtime" -c "$TOP/tests/cli/found.c" -o found.o
echo "SECTIONS { .rodata : { *(.rodata .rodata.*) KEEP(*(.llvm_stackmaps)) } } INSERT BEFORE .eh_frame;" >merge.lds
for linker in lld bfd; do
  link_with $linker merged found.o list.o many.o -Wl,-T,merge.lds "$BUILD/libstackpack.a" 2>link.log || { cat link.log; fail "can't link"; }
  ! has_section merged .llvm_stackmaps || fail "the sample has a section .llvm_stackmaps"
  expect_status 0 "$stackpack" pack -o packed merged
  expect_status 0 ./packed ./packed
  cp out expected
  (($(wc -l <expected) > 200)) || fail "few records"
  expect_status 0 ./merged ./packed
  expect_same expected out
done
