#!/bin/bash
# `stackpack pack --always FILE` replaces the raw section in the file itself, and says so; the program runs as before.
. "$TOP/tests/cli/common.sh"

for linker in lld bfd; do
  make_program $linker app list
  cp app raw
  expect_status 0 "$stackpack" pack --always --reader=elsewhere app
  expect_output app
  [[ ! -s err ]] || fail "output on stderr: $(<err)"
  expect_packed app
  expect_same_run raw app
  expect_status 0 "$stackpack" verify raw app
done
