#!/bin/bash
# A program that is stripped before it is packed lacks names, but has the same records.
. "$TOP/tests/cli/common.sh"

for linker in lld bfd; do
  make_program $linker app list
  expect_status 0 "$stackpack" pack -o packed app
  dump_without_names packed >packed.json
  for strip in strip eu-strip "$LLVM/bin/llvm-strip"; do
    cp app stripped
    "$strip" stripped
    expect_status 0 "$stackpack" pack stripped
    expect_same_run app stripped
    dump_json stripped >stripped.json
    expect_same packed.json stripped.json
  done
done
