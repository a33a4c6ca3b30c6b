#!/bin/bash
# `dump --source` adds the source lines of each call, from the debug information, of raw and of packed files.
. "$TOP/tests/cli/common.sh"

for linker in lld bfd; do
  for sample in list deopt frames; do
    make_program $linker app $sample
    expect_source_of_llvm app app
    mv source.json raw.json
    expect_status 0 "$stackpack" pack app
    expect_source_of_llvm app app
    expect_same raw.json source.json
    expect_status 0 "$stackpack" dump --source app
    expect_output "^      [a-z_]+ at .*$sample\\.ll:[0-9]+:[0-9]+$"
    [[ ! -s err ]] || fail "output on stderr: $(<err)"
  done
done

# A file without debug information lacks lines; a message says so, and the exit status is success.
expect_status 0 "$stackpack" dump app
mv out plain.txt
strip -g app
expect_status 0 "$stackpack" dump --source app
only_line_matches '^stackpack: app: no debug information$' err || fail "$(<err)"
expect_same plain.txt out
expect_status 0 "$stackpack" dump --source --format=json app
expect_output ',"source":\[\]\}$'

# A folder is printed as in the table of lines: relative to the unit's compilation folder, unless it's absolute.
cp "$samples/list.ll" folder.ll
compile ./folder.ll folder.o
link_with lld app main.o folder.o
expect_source_of_llvm app app
grep -qx '/\./folder\.ll:.*' frames || fail "another path: $(head -n 3 frames)"
