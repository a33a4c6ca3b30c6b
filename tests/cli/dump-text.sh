#!/bin/bash
# `dump` prints text by default, every record with its function, and the same for a raw and for a packed file.
. "$TOP/tests/cli/common.sh"

for sample in list deopt pairs frames patchpoints; do
  make_program lld $sample $sample
  cp $sample app
  expect_status 0 "$stackpack" dump app
  mv out raw.txt
  expect_status 0 "$stackpack" dump --format=text app
  expect_same raw.txt out
  expect_status 0 "$stackpack" pack app
  expect_status 0 "$stackpack" dump app
  expect_same raw.txt out
  expect_output '\brun\b'
done
expect_output '\bmaps\b'
expect_output '\b(4003|0xfa3)\b'

# Lines of a width: the columns beyond it are in another table, below.
expect_status 0 "$stackpack" dump pairs
cp out any.txt
expect_status 0 "$stackpack" dump --width=0 pairs
expect_same any.txt out
expect_status 0 "$stackpack" dump --width=30 pairs
[[ $(grep -c . out) -gt $(grep -c . any.txt) ]] || fail "no second table"
for width in x 65536; do
  expect_refusal "--width is a number up to 65535, not .$width." "$stackpack" dump --width=$width app
done
