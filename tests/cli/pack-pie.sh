#!/bin/bash
# A position-independent executable is packed: no relocation into the old section is left, and none to read-only segments.
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
