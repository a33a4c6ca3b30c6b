#!/bin/bash
# Objects that were split link as position-independent programs and libraries by every linker's defaults: their stack maps are
# writable, and so need neither -z notext nor DT_TEXTREL. Packed, the table is in a read-only segment.
. "$TOP/tests/cli/common.sh"

export PATH=$LLVM/bin:$PATH # where stackpack-ld finds lld
many_functions 60 >many.ll
compile_main main.o -fPIE
for name in list ./many.ll; do
  compile "$name" "$(basename "$name" .ll).o" -relocation-model=pic
done
mkdir split
expect_status 0 "$stackpack" split --output-directory=split list.o many.o

expect_read_only() { # FILE
  local address type offset start physical in_file size rest
  address=$(section_number "$1" .stackpack 3)
  while read -r type offset start physical in_file size rest; do
    : "$offset $physical $in_file"
    ((address < start || address >= start + size)) || [[ $type != LOAD || $rest != *W* ]] || fail "$1: the table is in a writable segment"
  done < <(readelf --program-headers --wide "$1" | grep -E '^ +LOAD ')
  ! readelf --section-headers --wide "$1" | grep -E '\.stackpack .* WA? ' || fail "$1: the table's section is writable"
}

expect_no_text_relocations() { # FILE
  ! readelf --dynamic "$1" | grep TEXTREL || fail "$1 has DT_TEXTREL"
}

check() { # LINKER LINK OPTION...
  link_with "$1" app main.o split/many.o "${@:2}" >log 2>&1 || { cat log; fail "$*: can't link"; }
  [[ ! -s log ]] || { cat log; fail "$*: the linker warns"; }
  expect_no_text_relocations app
  pack_and_compare app packed
  (($(stat -c %s packed) < $(stat -c %s app))) || fail "$*: the file doesn't shrink"
}

for linker in lld bfd gold mold; do
  for options in -pie "-pie -Wl,-z,now" "-pie -Wl,-z,norelro" "-pie -Wl,--emit-relocs" -no-pie; do
    [[ $options == -pie ]] || sampled 4 || continue
    # shellcheck disable=SC2086 # a list of words
    check $linker $options
    expect_read_only packed
    [[ $options == -pie && $linker == [lb]* ]] || continue
    for change in strip "patchelf --set-rpath /nowhere/lib"; do
      cp packed changed
      # shellcheck disable=SC2086
      $change changed
      expect_read_only changed
      expect_same_run app changed
      expect_status 0 "$stackpack" verify app changed
    done
    expect_status 0 "$stackpack" pack -o kept --keep-raw=raw.stackmaps app
    expect_status 0 "$stackpack" unpack --raw=raw.stackmaps -o again kept
    expect_same app again
    # So few records that their pages are data's, too.
    link_with $linker small main.o split/list.o -pie
    expect_status 0 "$stackpack" pack --always -o packed small
    expect_same_run small packed
    expect_status 0 "$stackpack" verify small packed
  done
  [[ $linker == [lb]* ]] || continue
  link_with $linker raw.so -shared -Wl,-soname,libmany.so split/many.o
  expect_no_text_relocations raw.so
  expect_status 0 "$stackpack" pack --reader=elsewhere -o libmany.so raw.so
  expect_status 0 "$stackpack" verify raw.so libmany.so
  expect_read_only libmany.so
  link_with $linker app -rdynamic main.o raw.so -Wl,-rpath,"\$ORIGIN"
  run ./app >printed.packed
  cp raw.so libmany.so
  run ./app >printed.raw
  expect_same printed.raw printed.packed
done

# Static programs that relocate themselves: raw, they write to the maps; packed, the table stays as it is.
for linker in lld bfd; do
  check $linker -static-pie
done
if [[ $(uname -m) == x86_64 ]]; then
  for kind in -pie -static-pie; do
    musl-gcc $kind -o app main.o split/many.o
    expect_no_text_relocations app
    pack_and_compare app packed
  done
fi

# By stackpack-ld, from objects as LLVM writes them, without an option.
for linker in ld.lld ld.bfd; do
  STACKPACK_LD=$linker "$LLVM/bin/clang" --ld-path="$BUILD/stackpack-ld" -pie -o linked main.o many.o
  expect_packed linked
  expect_read_only linked
  expect_no_text_relocations linked
  expect_same_run app linked
done
