#!/bin/bash
# Dynamic relocations of a form that isn't read (Android's, compressed): refused, as the stack maps' addresses aren't known.
. "$TOP/tests/cli/common.sh"

compile list list.o -relocation-model=pic
compile_main main.o -fPIE
link_with lld app main.o list.o -pie -Wl,-z,notext,--pack-dyn-relocs=android
cp app before
for command in pack dump stats; do
  expect_refusal "app: the dynamic relocations can't be read, in section .llvm_stackmaps$" "$stackpack" $command app
done
expect_same app before
