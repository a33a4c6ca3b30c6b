#!/bin/bash
# A position-independent executable is packed: relocations into the old section and to read-only segments are gone.
. "$TOP/tests/cli/common.sh"

make_program lld fixed list
for linker in lld bfd; do
  for relocations in rela relr; do
    options=(-pie -Wl,-z,notext)
    [[ $relocations == relr ]] && options+=(-Wl,-z,pack-relative-relocs)
    compile_main main.o -fPIE
    compile list list.o -relocation-model=pic
    link_with $linker pie main.o list.o "${options[@]}" 2>log || { cat log; continue; }
    ./pie >/dev/null 2>&1 || continue # a libc that is older than RELR
    readelf -d pie | grep TEXTREL >/dev/null || fail "$linker $relocations: the raw program should have DT_TEXTREL"
    expect_status 0 "$stackpack" pack --always -o packed pie
    expect_same_run pie packed
    expect_status 0 "$stackpack" verify pie packed
    dump_json pie >before
    dump_json packed >after
    expect_same before after
    ! readelf -d packed | grep TEXTREL || fail "$linker $relocations: DT_TEXTREL"
    expect_no_relocations_in packed .stackpack
  done
done

# An indirect function's resolver calls another function, by way of the procedure linkage table: ld.so resolves it last if that
# table's relocations follow the others immediately, and they still do.
cat >resolver.c <<'C'
#include <stdio.h>
#include <stdlib.h>
static int one(void) { return 1; }
static int two(void) { return 2; }
static int (*choose(void))(void) { return getenv("CHOOSE_ONE") != NULL ? one : two; }
int chosen(void) __attribute__((ifunc("choose")));
__attribute__((constructor)) static void print(void) { printf("chosen: %d\n", chosen()); }
C
"$LLVM/bin/clang" -O1 -fPIE -c resolver.c
many_functions 60 >many.ll
compile ./many.ll many.o -relocation-model=pic
tried=0
for linker in lld bfd gold mold; do
  for option in now lazy; do
    "$LLVM/bin/clang" -fuse-ld=$linker -pie -Wl,-z,notext,-z,$option -o pie main.o many.o resolver.o 2>log || { cat log; continue; }
    ./pie >log 2>&1 || continue # it has no chance before that, or can't be run while it is written to
    expect_status 0 "$stackpack" pack -o packed pie
    expect_same_run pie packed
    expect_status 0 "$stackpack" verify pie packed
    tried=$((tried + 1))
  done
done
((tried >= 2)) || fail "only $tried programs"

# ld.so finds the dynamic section by its address, so this is the one that changes, for each size in its header.
link_with lld pie -pie -Wl,-z,notext main.o many.o
python3 - <<'PYTHON'
import struct
data = bytearray(open("pie", "rb").read())
start, count = struct.unpack_from("<Q", data, 32)[0], struct.unpack_from("<H", data, 56)[0]
for header in range(start, start + 56 * count, 56):
    if struct.unpack_from("<I", data, header)[0] == 2:  # PT_DYNAMIC
        struct.pack_into("<Q", data, header + 8, struct.unpack_from("<Q", data, header + 8)[0] - 1)
open("pie", "wb").write(data)
PYTHON
expect_status 0 "$stackpack" pack -o packed pie
expect_same_run pie packed
