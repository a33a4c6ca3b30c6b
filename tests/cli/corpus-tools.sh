#!/bin/bash
# On a real program with debug information, too: the tools accept them, a debugger agrees, and stripping works.
. "$TOP/tests/cli/common.sh"
expect_corpus lua-objects.tar.zst

mkdir objects raw packed
tar --zstd -xf "$CORPUS/lua-objects.tar.zst" -C objects
mapfile -t objects < <(find objects -name '*.o' | sort)
session() { # FILE
  gdb --batch -nx -ex 'set debuginfod enabled off' -ex 'break luaC_step' -ex run -ex backtrace -ex kill \
    --args "$1" "$samples/exercise.lua" 2>&1 | sed 's/process [0-9]*/process/; s/0x7f[0-9a-f]*/STACK/g' # depends on the folder's name
}
for linker in lld bfd; do
  link_with $linker raw/lua "${objects[@]}" -lm -ldl
  expect_status 0 "$stackpack" pack -o packed/lua raw/lua
  for folder in raw packed; do
    (
      cd $folder
      session lua >session
      objdump --disassemble lua >disassembly
    )
  done
  expect_no_complaints raw/lua packed/lua
  expect_same raw/session packed/session
  grep -qE '^#[0-9]+ .* main ' packed/session || fail "no backtrace: $(<packed/session)"
  expect_same raw/disassembly packed/disassembly
  dump_without_names packed/lua >packed.json
  for strip in strip eu-strip "$LLVM/bin/llvm-strip"; do
    cp packed/lua stripped
    "$strip" stripped
    expect_same_run raw/lua stripped "$samples/exercise.lua"
    dump_without_names stripped >stripped.json
    expect_same packed.json stripped.json
  done
done
