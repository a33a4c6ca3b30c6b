#!/bin/bash
# Object files that were joined by a relocatable link (`ld -r`) first: still several stack maps in one section.
. "$TOP/tests/cli/common.sh"

compile_main main.o
compile list list.o
sed "s/@run/@other/" "$samples/deopt.ll" >deopt.ll
compile ./deopt.ll deopt.o
for linker in lld bfd; do
  "$LLVM/bin/clang" -fuse-ld=$linker -r -nostdlib -o joined.o list.o deopt.o
  link_with $linker app main.o joined.o
  pack_and_compare app packed
  [[ $(wc -l <packed.json) == 13 ]] || fail "$(wc -l <packed.json) records, not 13"
done
