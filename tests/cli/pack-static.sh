#!/bin/bash
# A static executable has no dynamic section and few program headers; it is packed like any other.
. "$TOP/tests/cli/common.sh"

for linker in lld bfd; do
  make_program $linker app list -static
  pack_and_compare app packed
  [[ $(wc -l <packed.json) == 8 ]] || fail "$(wc -l <packed.json) records, not 8"
done
