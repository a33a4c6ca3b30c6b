#!/bin/bash
# A static executable has no dynamic section and few program headers; it is packed like any other, and no tool has more to
# say than before.
. "$TOP/tests/cli/common.sh"

for linker in lld bfd; do
  for options in -static ""; do
    # shellcheck disable=SC2086 # may be empty
    make_program $linker app list $options
    pack_and_compare app packed
    expect_no_complaints app packed
    [[ $(wc -l <packed.json) == 8 ]] || fail "$(wc -l <packed.json) records, not 8"
  done
done
