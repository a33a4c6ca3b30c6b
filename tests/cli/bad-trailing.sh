#!/bin/bash
# Bytes after the last sub-map that are no padding are refused, not passed over.
. "$TOP/tests/cli/common.sh"

compile_main main.o
compile list list.o
objcopy -O binary --only-section=.llvm_stackmaps list.o maps
for extra in '\001' '\003' 'garbage, garbage' '\003\000\000\000\001\000\000\000'; do
  # shellcheck disable=SC2059
  { cat maps && printf "$extra"; } >longer
  objcopy --update-section .llvm_stackmaps=longer list.o longer.o
  link_with lld app main.o longer.o
  cp app before
  expect_refusal 'app: ' "$stackpack" pack app
  expect_same app before
done
