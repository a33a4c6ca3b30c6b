#!/bin/bash
# The file gets smaller by the raw section's size, to within four pages, and has no padding in its place.
. "$TOP/tests/cli/common.sh"

many_functions 200 >many.ll
for linker in lld bfd; do
  make_program $linker app ./many.ll
  pack_and_compare_large app packed
  raw=$(section_size app .llvm_stackmaps) packed=$(section_size packed .stackpack)
  ((packed * 20 <= raw)) || fail "packed to $packed of $raw bytes, more than a twentieth"
done
