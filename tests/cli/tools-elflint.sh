#!/bin/bash
# eu-elflint --gnu-ld finds no more in a packed file than in the raw one.
. "$TOP/tests/cli/common.sh"

findings() { # FILE: without the numbers, which change where sections move
  { eu-elflint --gnu-ld "$1" || true; } 2>&1 | sed "s/0x[0-9a-f]*//g; s/[0-9]//g; s/\[ *]/[]/g" | sort -u
}

many_functions 50 >many.ll
for linker in lld bfd; do
  for options in "" "-static"; do
    # shellcheck disable=SC2086 # a list of words
    make_program $linker small list $options
    # shellcheck disable=SC2086
    make_program $linker large ./many.ll $options
    for app in small large; do
      expect_status 0 "$stackpack" pack -o packed $app
      new=$(comm -13 <(findings $app) <(findings packed))
      [[ -z $new ]] || fail "$linker $options, $app: $new"
    done
  done
done
