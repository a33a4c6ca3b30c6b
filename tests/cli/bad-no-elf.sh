#!/bin/bash
# What is no ELF file is refused by every subcommand: text, an empty file, an archive, a header and no more.
. "$TOP/tests/cli/common.sh"

make_program lld app list
echo '#!/bin/sh' >text
: >empty
ar rc archive app.o
head -c 4 app >magic
head -c 63 app >short
head -c 64 app >header
head -c 100000 /dev/zero >zeros
for file in text empty archive magic short header zeros; do
  cp $file before
  for command in "pack" "pack -o out" "dump" "dump --format=json" "stats" "verify app"; do
    # shellcheck disable=SC2086 # a list of words
    expect_refusal "$file: " "$stackpack" $command $file
  done
  expect_same $file before
  [[ ! -e out.new ]] || fail "something was written"
done
