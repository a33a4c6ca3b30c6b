#!/bin/bash
# A debugger sees the same program: breakpoints, source lines and a backtrace through managed frames.
. "$TOP/tests/cli/common.sh"

session() { # FILE
  gdb --batch -nx -ex 'set debuginfod enabled off' -ex 'break main' -ex run -ex 'break collect' \
    -ex continue -ex backtrace -ex 'info line' -ex 'print objects' -ex 'delete' -ex continue "$1" 2>&1 |
    sed 's/process [0-9]*/process/; s/0x7f[0-9a-f]*/STACK/g' # depends on the folder's name
}

mkdir raw packed
for options in "lld" "bfd" "lld -static" "bfd -static"; do
  # shellcheck disable=SC2086 # a list of words
  make_program "${options%% *}" raw/app list ${options#"${options%% *}"}
  expect_status 0 "$stackpack" pack -o packed/app raw/app
  (cd raw && session app) >raw.txt
  (cd packed && session app) >packed.txt
  expect_same raw.txt packed.txt
  grep -qE '^#1 .* in sum ' packed.txt && grep -qE '^#3 .* main ' packed.txt || { cat packed.txt; fail "no backtrace"; }
done
