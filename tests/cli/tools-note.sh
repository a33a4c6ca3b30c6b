#!/bin/bash
# The note for the runtime to find the packed section is a proper one: readelf -n shows it, in a PT_NOTE.
. "$TOP/tests/cli/common.sh"

for linker in lld bfd; do
  make_program $linker app list -Wl,--build-id
  readelf --notes app >raw.txt 2>/dev/null
  expect_status 0 "$stackpack" pack --always app
  expect_status 0 readelf --notes --wide app
  [[ ! -s err ]] || fail "readelf warns: $(<err)"
  expect_output 'in: .*\.note\.stackpack'
  expect_output '^ *stackpack '
  [[ $(grep -o 'Build ID: .*' out) == "$(grep -o 'Build ID: .*' raw.txt)" ]] || fail "another build ID"
  expect_status 0 readelf --segments --wide app
  expect_output ' NOTE .* R '
  expect_status 0 eu-readelf --notes app
  expect_output stackpack
done
