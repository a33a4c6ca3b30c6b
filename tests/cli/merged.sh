#!/bin/bash
# Stack maps that a linker script puts among other data are found by their symbols: read, and packed, with the data before and
# after them unchanged.
. "$TOP/tests/cli/common.sh"

# Constants before and after the stack maps, and the program prints every byte of them; and a table with pointers.
cat >main.c <<'C'
#include <stdio.h>
#include <stdlib.h>
long run(long n);
void *allocate(long size) { return calloc(1, size); }
void collect(void) {}
const char before[40] __attribute__((section(".before"))) = "stands before";
const char after[5001] __attribute__((section(".after"))) = {3, 1, [4999] = 7, 8};
const char *const names[] __attribute__((section(".after.names"))) = {before, after, "text"};
int main(void) {
  unsigned sum = 0;
  for (unsigned i = 0; i < sizeof after; i++)
    sum = sum * 31 + (unsigned char)*(volatile const char *)&after[i];
  return printf("run(5) = %ld %s %u %s %d\n", run(5), (const char *)before, sum, names[2], names[1][1]) < 0;
}
C
"$LLVM/bin/clang" -O1 -fPIE -c main.c
many_functions 120 | sed 's/@run(/@other_run(/' >many.ll
compile list list.o -relocation-model=pic
compile ./many.ll many.o -relocation-model=pic
for name in list many; do
  objcopy --set-section-flags .llvm_stackmaps=alloc,load,data $name.o $name.writable.o
done

script() { # SECTION BEFORE ANCHOR: several object files' stack maps, in the middle
  echo "SECTIONS { $1 : { *(.before) $2 KEEP(*(.llvm_stackmaps)) *(.after .after.names) } } INSERT $3;" >merge.lds
}

check() { # SECTION [OPTION]: a program whose stack maps are in SECTION, with other data
  ! has_section app .llvm_stackmaps || fail "the sample has a section .llvm_stackmaps"
  expect_status 0 "$stackpack" pack -o packed "${@:2}" app
  has_section packed .stackpack || fail "no section .stackpack"
  expect_same_run app packed
  expect_status 0 "$stackpack" verify "${@:2}" app packed
  dump_json app "${@:2}" >raw.json
  dump_json packed >packed.json
  [[ $(wc -l <raw.json) -gt 1000 ]] || fail "only $(wc -l <raw.json) records"
  expect_same raw.json packed.json
  expect_status 0 "$stackpack" stats "${@:2}" app
  expect_output 'in 2 maps'
  (($(stat -c %s app) - $(stat -c %s packed) > 100000)) || fail "the file isn't smaller by what the stack maps took"
  # Symbols after the stack maps still are in a section of that name.
  [[ $(nm packed | grep ' after$') == "$(nm app | grep ' after$')" ]] || fail "the symbol after has changed"
  [[ $(readelf -sW packed | awk '$8 == "after" { print $7 }') != "$(readelf -sW packed | awk '$8 == "before" { print $7 }')" ]] ||
    fail "before and after are in the same section"
  cp packed stripped
  strip stripped
  expect_same_run app stripped
  expect_status 0 "$stackpack" verify "${@:2}" app stripped
  expect_status 0 "$stackpack" pack --keep-raw=kept -o packed "${@:2}" app
  expect_status 0 "$stackpack" unpack --raw kept -o unpacked packed
  expect_same app unpacked
}

for linker in lld bfd; do
  script .rodata "*(.rodata .rodata.*)" "BEFORE .eh_frame"
  for options in "-no-pie" "-no-pie -static" "-pie -Wl,-z,notext"; do
    # shellcheck disable=SC2086 # a list of words
    link_with $linker app main.o list.o many.o $options -Wl,-T,merge.lds 2>link.log || { cat link.log; fail "can't link"; }
    check .rodata
    check .rodata --section .rodata
    expect_refusal 'app: no stack maps: no section .no_such' "$stackpack" pack --section .no_such app
  done

  # Among relocated constants: the bytes stay in place, and the file keeps its size.
  script .data.rel.ro "*(.data.rel.ro .data.rel.ro.*)" "BEFORE .dynamic"
  link_with $linker app main.o list.writable.o many.writable.o -pie -Wl,-T,merge.lds 2>link.log || { cat link.log; fail "can't link"; }
  expect_status 0 "$stackpack" pack --always -o packed app
  expect_same_run app packed
  expect_status 0 "$stackpack" verify app packed
  expect_no_relocations_in packed .stackpack
done

# The only thing in a section of another name: found by the name, or by the symbols.
objcopy --rename-section .llvm_stackmaps=.my_maps list.o list.mine.o
objcopy --rename-section .llvm_stackmaps=.my_maps many.o many.mine.o
link_with lld app main.o list.mine.o many.mine.o
check .my_maps
check .my_maps --section .my_maps
cp app stripped
strip stripped
expect_refusal 'stripped: no stack maps' "$stackpack" pack stripped
expect_status 0 "$stackpack" pack --section .my_maps stripped
