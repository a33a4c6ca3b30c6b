#!/bin/bash
# Every other section keeps its name, its address, its size and its bytes; only tables about sections may change.
. "$TOP/tests/cli/common.sh"

sections() { # FILE: name, type, address, size and flags of each, but for those that speak of other sections
  readelf --section-headers --wide "$1" | sed -n 's/^ *\[[ 0-9]*\] \([.a-zA-Z_]\)/\1/p' |
    awk '{ print $1, $2, $3, $5, $7 }' |
    grep -vE '^(\.llvm_stackmaps|\.stackpack|\.note\.stackpack|\.stackpack\.head|\.shstrtab|\.symtab|\.strtab) '
}

many_functions 50 >many.ll
for linker in lld bfd; do
  make_program $linker app ./many.ll
  expect_status 0 "$stackpack" pack -o packed app
  diff <(sections app) <(sections packed) || fail "$linker: other sections"
  while read -r name type rest; do
    [[ $type != NOBITS && $name != NULL ]] || continue
    dd if=app of=raw.bytes iflag=skip_bytes,count_bytes skip="$(section_offset app "$name")" \
      count="$(section_size app "$name")" status=none
    dd if=packed of=packed.bytes iflag=skip_bytes,count_bytes skip="$(section_offset packed "$name")" \
      count="$(section_size packed "$name")" status=none
    cmp raw.bytes packed.bytes || fail "$linker: $name has other bytes"
  done < <(sections app)
  expect_status 0 readelf --wide --segments packed
  expect_output ' GNU_STACK '
done
