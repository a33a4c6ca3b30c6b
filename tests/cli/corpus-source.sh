#!/bin/bash
# The source lines and inlined functions of a real program's 3,550 calls equal llvm-symbolizer's: in the
# program itself, with its debug information compressed in each way, and in a file of its own.
. "$TOP/tests/cli/common.sh"
expect_corpus lua-objects.tar.zst

mkdir objects
tar --zstd -xf "$CORPUS/lua-objects.tar.zst" -C objects
mapfile -t objects < <(find objects -name '*.o' | sort)
link_with lld lua "${objects[@]}" -lm -ldl -Wl,--build-id
expect_source_of_llvm lua lua
(($(wc -l <addresses) == 3550 && $(grep -c . frames) > 2 * 3550)) || fail "$(wc -l <addresses) records, without inlined functions"
mv source.json expected.json

expect_frames_of_lua() { # FILE [DUMP OPTION...]
  expect_status 0 "$stackpack" dump --source --format=json "${@:2}" "$1"
  [[ ! -s err ]] || fail "output on stderr: $(<err)"
  expect_same expected.json out
}

for compression in zlib zstd; do
  "$LLVM/bin/llvm-objcopy" --compress-debug-sections=$compression lua lua.$compression
  expect_source_of_llvm lua.$compression lua.$compression
  expect_frames_of_lua lua.$compression
done
expect_status 0 "$stackpack" pack lua
expect_frames_of_lua lua

"$LLVM/bin/llvm-objcopy" --only-keep-debug --compress-debug-sections=zstd lua lua.debug
"$LLVM/bin/llvm-objcopy" --strip-debug --add-gnu-debuglink=lua.debug lua stripped
expect_source_of_llvm stripped lua
expect_frames_of_lua stripped
