#!/bin/bash
# ELF files of another kind are refused with the reason: 32-bit, big-endian, object files, another version.
. "$TOP/tests/cli/common.sh"

make_program lld app list
for name in class data version; do cp app $name; done
set_byte class 4 1
set_byte data 5 2
set_byte version 6 7
cp app core && set_field core "file type" 4
cp app machine && set_field machine "file machine" 258 # LoongArch
cp app.o object
compile list split -function-sections && "$stackpack" split --quiet split
while read -r file reason; do
  cp "$file" before
  expect_refusal "$file: .*($reason)" "$stackpack" pack "$file"
  expect_same "$file" before
  expect_refusal "$file: " "$stackpack" pack --if-present "$file"
done <<'END'
class (32|64)-bit
data endian
version version
core core|executable|linked
machine machine|x86|architecture
object an object file: link it first
split an object file: link it first
END

# Files for other machines, not only with other bytes in the header.
echo 'int main(void) { return 0; }' >main.c
for target in i386-linux-gnu powerpc64-linux-gnu; do
  "$LLVM/bin/clang" --target=$target -c main.c -o $target
  expect_refusal "$target: " "$stackpack" pack $target
done
