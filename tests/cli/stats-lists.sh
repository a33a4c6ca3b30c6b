#!/bin/bash
# What `stats` lists: the largest come first, and the others are one row.
. "$TOP/tests/cli/common.sh"

many_functions 30 >many.ll
for unit in one two; do
  { echo "source_filename = \"$unit.c\""; sed -E "s/@(f[0-9]+|run)\\(/@${unit}_\\1(/" many.ll; } >$unit.ll
  compile ./$unit.ll $unit.o
done
make_program lld app list one.o two.o
expect_status 0 "$stackpack" stats --format=json app
mv out all.json

check() { # PYTHON, with `stats` of all functions and what was printed
  python3 - <<PYTHON || fail "$1"
import json, re
stats = json.load(open("all.json"))
functions = stats["functions"]
printed = open("out").read()
$1
PYTHON
}

expect_status 0 "$stackpack" stats --format=json --top=20 app
check 'listed = json.loads(printed)
assert listed["functions"] == functions[:20] and len(functions) > 20
assert [f["packed"] for f in functions] == sorted((f["packed"] for f in functions), reverse=True)
for rows in "functions", "units":
    for size in "packed", "raw", "records":
        assert sum(f[size] for f in functions) == sum(f[size] for f in listed[rows]) + listed["other_" + rows][size]
assert listed["counts"] == stats["counts"]'

expect_status 0 "$stackpack" stats --top=3 app
expect_output '^ .* \([0-9]+ others\)$'
