#!/bin/bash
# A shared library is packed: a program that is linked with it runs with the packed one as with the raw one, and the stack map's
# facts on exported functions, overridable by other modules, hold for the library's own.
. "$TOP/tests/cli/common.sh"

compile_main main.o
compile list list.o -relocation-model=pic
mkdir raw packed
for linker in lld bfd; do
  for options in "" "-Wl,-Bsymbolic" "-Wl,-z,now" "-Wl,-z,pack-relative-relocs"; do
    # shellcheck disable=SC2086 # a list of words
    link_with $linker raw/liblist.so -shared -Wl,-z,notext $options list.o 2>link.log || { cat link.log; fail "can't link"; }
    # main's allocate and collect are for the library.
    link_with $linker app -rdynamic main.o raw/liblist.so
    LD_LIBRARY_PATH=raw ./app >raw.txt 2>&1 || continue # a libc that is older than RELR

    expect_status 0 "$stackpack" pack --always -o packed/liblist.so raw/liblist.so
    expect_packed packed/liblist.so
    LD_LIBRARY_PATH=packed ./app >packed.txt
    expect_same raw.txt packed.txt
    expect_status 0 "$stackpack" verify raw/liblist.so packed/liblist.so
    dump_json raw/liblist.so >raw.json
    dump_json packed/liblist.so >packed.json
    expect_same raw.json packed.json
    python3 "$TOP/tests/oracle/compare.py" raw/liblist.so - <packed.json || fail "the independent reader disagrees"
    expect_records packed.json <<'PYTHON'
assert len(records) == 8 and all(record["function_address"] > 0 for record in records)
PYTHON
    expect_no_relocations_in packed/liblist.so .stackpack
    ! readelf --dynamic packed/liblist.so | grep TEXTREL || fail "$linker $options: DT_TEXTREL is still there"
  done
done
