#!/bin/bash
# objdump's disassembly and nm's symbols are the same before and after, but for LLVM's label of the raw section.
. "$TOP/tests/cli/common.sh"

many_functions 50 >many.ll
mkdir raw packed
for linker in lld bfd; do
  make_program $linker raw/app ./many.ll
  expect_status 0 "$stackpack" pack -o packed/app raw/app
  for folder in raw packed; do
    (
      cd $folder
      objdump --disassemble app >disassembly
      "$LLVM/bin/llvm-objdump" --disassemble app >disassembly.llvm
      nm app | grep -v ' __LLVM_StackMaps$' >symbols
      nm --dynamic app >dynamic-symbols
    )
  done
  for file in disassembly disassembly.llvm symbols dynamic-symbols; do expect_same raw/$file packed/$file; done
  grep -q ' T f50$' raw/symbols || fail "the sample has no symbol f50"
done
