#!/bin/bash
# Dynamic relocations of an unsupported form: refused. Android's compressed relocations hide the stack maps' addresses. Those
# without addends can't be taken out, so that the loader would write over the packed table; and the call graph needs them.
. "$TOP/tests/cli/common.sh"

compile list list.o -relocation-model=pic
compile_main main.o -fPIE
link_with lld app main.o list.o -pie -Wl,-z,notext,--pack-dyn-relocs=android
cp app before
for command in pack dump stats; do
  expect_refusal "app: the dynamic relocations can't be read, in section .llvm_stackmaps$" "$stackpack" $command app
done
expect_same app before

link_with lld app main.o list.o -pie -Wl,-z,notext,-z,rel
cp app before
expect_refusal "app: dynamic relocations without addends, in section .rel.dyn$" "$stackpack" pack app
expect_refusal "app: dynamic relocations without addends, in section .rel.dyn$" "$stackpack" callgraph app
expect_same app before
expect_status 0 "$stackpack" dump app

# Relocations that are also another section's, if headers lie: the remaining ones can't move.
link_with lld app main.o list.o -pie -Wl,-z,notext
set_field app "section .rela.dyn size" +24
cp app before
expect_refusal "app: sections .rela.dyn and [^ ]+ overlap$" "$stackpack" pack app
expect_same app before
