#!/bin/bash
# A stack map of a version other than 3 is refused, and the line says so; other subcommands do the same.
. "$TOP/tests/cli/common.sh"

make_program lld app list
for version in 1 2 4 255; do
  cp app other
  set_byte other "$(section_offset other .llvm_stackmaps)" $version
  cp other before
  for command in pack dump stats; do
    expect_refusal "other: .*version" "$stackpack" $command other
  done
  expect_same other before
done
