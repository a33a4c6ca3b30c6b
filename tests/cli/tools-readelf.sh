#!/bin/bash
# readelf, GNU's and LLVM's, has nothing to say against a packed file that it didn't say of the raw one.
. "$TOP/tests/cli/common.sh"

warnings() { # READELF FILE: its warnings, without numbers and the file's name
  "$1" --all --wide "$2" 2>&1 >/dev/null | sed "s/$2//g; s/0x[0-9a-f]*//g; s/[0-9]//g; s/\[ *]/[]/g" | sort -u
}

many_functions 50 >many.ll
for linker in lld bfd; do
  make_program $linker small list
  make_program $linker large ./many.ll
  for app in small large; do
    expect_status 0 "$stackpack" pack -o packed $app
    for readelf in readelf "$LLVM/bin/llvm-readelf"; do
      new=$(comm -13 <(warnings "$readelf" $app) <(warnings "$readelf" packed))
      [[ -z $new ]] || fail "$linker, $app: new with $readelf: $new"
    done
  done
done
