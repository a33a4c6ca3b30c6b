#!/bin/bash
# The sizes in README are `pack`'s for real programs: exactly for programs that are linked already; within one in a
# hundred for those that are linked here, as linkers and the C library's start-up files differ.
. "$TOP/tests/cli/common.sh"
expect_corpus python3.11.zst

for program in python3.11 lua-deopt; do
  zstd -dq "$CORPUS/$program.zst" -o $program
done
mkdir objects
tar --zstd -xf "$CORPUS/lua-objects.tar.zst" -C objects
mapfile -t objects < <(find objects -name '*.o' | sort)
link_with lld lua "${objects[@]}" -lm -ldl
link_with lld lua-pie -pie -Wl,-z,notext "${objects[@]}" -lm -ldl

expect_row() { # PERCENT FIRST-CELL PROGRAM
  expect_status 0 "$stackpack" pack --dry-run "$3"
  python3 - "$TOP/README.md" "$1" "$2" out <<'PYTHON'
import re
import sys

readme, percent, name, said = sys.argv[1:]
row = next(line for line in open(readme, encoding="utf-8") if line.startswith(f"| {name} |"))
table = [float(re.sub("[ ,B]", "", cell)) for cell in row.strip("|\n").split("|")[1:]]
printed = re.search(r": (\d+) records of \d+ functions: (\d+) -> (\d+) bytes \(([\d.]+) each\); file (\d+) -> (\d+) bytes",
                    open(said, encoding="utf-8").read())
assert printed, "pack prints something else"
printed = [float(number) for number in printed.groups()]
assert len(table) == len(printed) == 6, row
for stands, is_now in zip(table, printed):
    assert abs(stands - is_now) * 100 <= float(percent) * is_now, f"{row}is now {printed}"
PYTHON
}

expect_row 0 'CPython 3.11' python3.11
expect_row 0 'Lua 5.4, with deopt state and an ID for every call' lua-deopt
expect_row 1 'Lua 5.4' lua
expect_row 1 'Lua 5.4, position-independent' lua-pie

# README: "a table of a fortieth of its size"; doc/dropping.md: "28 to 33 % of the records are dropped".
expect_status 0 "$stackpack" stats --format=json python3.11
python3 - <<'PYTHON'
import json
sizes = json.load(open("out"))
assert 38 < sizes["raw"]["size"] / sizes["packed"]["size"] < 50, sizes["packed"]["size"]
PYTHON
expect_status 0 "$stackpack" pack --dry-run --report --gc-entry=luaC_step --gc-entry=luaC_fullgc lua
expect_output '^lua: dropped [0-9]+ of [0-9]+ records \(3[2-5]\.[0-9] %\)$'
