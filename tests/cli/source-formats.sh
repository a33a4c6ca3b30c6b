#!/bin/bash
# `dump --source` agrees with llvm-symbolizer, for each form of debug information: each version of DWARF, in the program or
# split off, compressed or plain.
. "$TOP/tests/cli/common.sh"

build_with() { # OUTPUT CLANG OPTION...
  local output=$1
  shift
  for unit in inlined second; do
    compile_debug "$TOP/tests/cli/source/$unit.c" $unit.o "$@"
  done
  "$LLVM/bin/clang" -O1 -c "$TOP/tests/cli/source/main.c" -o main.o
  link_with lld "$output" inlined.o second.o main.o -Wl,--build-id
}

for version in 3 4 5; do
  build_with app -gdwarf-$version
  expect_source_of_llvm app app
  (($(wc -l <addresses) >= 7 && $(grep -c . frames) > 2 * $(wc -l <addresses))) || fail "too few inlined functions"
  cp source.json plain.json

  # Compressed: in ELF's two ways, and in GNU's older one, unsupported by llvm-symbolizer.
  for compression in zlib zstd; do
    "$LLVM/bin/llvm-objcopy" --compress-debug-sections=$compression app compressed
    grep -qE '\.debug_info .* C ' <(readelf --section-headers --wide compressed) || fail "not compressed: $compression"
    expect_source_of_llvm compressed compressed
    expect_same plain.json source.json
  done
  objcopy --compress-debug-sections=zlib-gnu app compressed
  has_section compressed .zdebug_info || fail "not compressed: zlib-gnu"
  expect_status 0 "$stackpack" dump --format=json --source compressed
  expect_same plain.json out
done

# Split: the lines are in the program, functions in a file for each unit.
for version in 4 5; do
  build_with app -gdwarf-$version -gsplit-dwarf
  [[ -e inlined.dwo && -e second.dwo ]] || fail "no .dwo files"
  expect_source_of_llvm app app
  expect_same plain.json source.json
  mkdir away
  mv inlined.dwo second.dwo away
  expect_status 0 "$stackpack" dump --format=json --source app
  expect_different plain.json out
  only_line_matches "^stackpack: app: warning: split debug information can't be read, .*: .*inlined\.dwo$" err ||
    fail "missing .dwo files aren't told: $(<err)"
  mv out without.json
  # A file of another build is refused.
  mv away/second.dwo inlined.dwo
  expect_status 0 "$stackpack" dump --format=json --source app
  expect_same without.json out
  only_line_matches "warning: split debug information can't be read" err || fail "$(<err)"
  rm -r away inlined.dwo
done
