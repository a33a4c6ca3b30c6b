#!/bin/bash
# Stripping a packed file, with any of the usual tools, leaves it running, and its dump the same but for the names.
. "$TOP/tests/cli/common.sh"

many_functions 50 >many.ll
many_functions 6 >few.ll
for linker in lld bfd; do
  make_program $linker small list
  make_program $linker large ./many.ll
  make_program $linker static list -static
  make_program $linker relocations ./many.ll -Wl,--emit-relocs
  # Nothing follows them in memory, and too little in the file to hide it if their segment keeps its old end.
  make_program $linker last ./few.ll -Wl,--section-start=.llvm_stackmaps=0x7000000
  for app in small large static relocations last; do
    expect_status 0 "$stackpack" pack --always -o packed $app
    dump_without_names packed >packed.json
    for strip in "strip" "strip -g" "eu-strip" "eu-strip -g" "$LLVM/bin/llvm-strip" "$LLVM/bin/llvm-strip -g" objcopy; do
      # shellcheck disable=SC2086 # a list of words
      if cp $app stripped && ! $strip stripped 2>raw.err; then
        continue # it can't do that to the raw file, either
      fi
      cp packed stripped
      # shellcheck disable=SC2086
      $strip stripped 2>err || fail "$strip fails on $linker's $app"
      expect_same raw.err err # eu-strip that fails may end with status 0
      expect_same_run $app stripped || fail "after $strip on $linker's $app"
      dump_without_names stripped >stripped.json
      cmp packed.json stripped.json || fail "another dump after $strip on $linker's $app"
      expect_status 0 "$stackpack" verify $app stripped
    done
  done
done
