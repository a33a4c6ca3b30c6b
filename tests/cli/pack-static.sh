#!/bin/bash
# A static executable lacks a dynamic section and has few program headers; it is packed like any other, and the tools' findings
# are the same as before.
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
