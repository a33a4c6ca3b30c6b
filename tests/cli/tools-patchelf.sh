#!/bin/bash
# patchelf, which moves program headers and sections about, gets along with stackpack, before packing and afterwards.
. "$TOP/tests/cli/common.sh"

many_functions 50 >many.ll
for linker in lld bfd; do
  make_program $linker small list
  make_program $linker large ./many.ll
  for app in small large; do
    expect_status 0 "$stackpack" pack -o packed $app
    dump_json packed >packed.json
    interpreter=$(patchelf --print-interpreter $app)
    for change in "--set-rpath /nowhere/lib" "--add-needed libm.so.6" \
      "--set-interpreter ${interpreter%/*}/.//./././.${interpreter#"${interpreter%/*}"}"; do
      cp packed patched
      # shellcheck disable=SC2086 # a list of words
      patchelf $change patched
      expect_same_run $app patched
      dump_json patched >patched.json
      expect_same packed.json patched.json

      cp $app patched
      # shellcheck disable=SC2086
      patchelf $change patched
      pack_and_compare patched again
    done
  done
done
