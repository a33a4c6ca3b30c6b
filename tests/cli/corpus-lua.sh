#!/bin/bash
# Lua with statepoints in every function, linked by lld and by GNU ld: packed it runs a script that puts the
# interpreter to work, is much smaller, and prints the raw program's output.
. "$TOP/tests/cli/common.sh"
expect_corpus lua-objects.tar.zst

mkdir objects
tar --zstd -xf "$CORPUS/lua-objects.tar.zst" -C objects
mapfile -t objects < <(find objects -name '*.o' | sort)
for linker in lld bfd; do
  link_with $linker lua "${objects[@]}" -lm -ldl
  pack_and_compare_large lua packed "$samples/exercise.lua"
  grep -q '^generational item 20000$' printed || { cat printed; fail "the script didn't get to its end"; }
done
