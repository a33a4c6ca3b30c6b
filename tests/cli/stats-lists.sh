#!/bin/bash
# What `stats` lists: the largest come first, the others are one row, and several files have a row each.
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

"$stackpack" pack --quiet -o packed app
expect_status 0 "$stackpack" stats app packed
expect_output '^ +[0-9]+ +[0-9]+ +[0-9]+ .*  app$'
expect_output '^ +[0-9]+ +0 +[0-9]+ .*  packed$'
check 'lines = [line.split() for line in printed.splitlines()[1:]]
assert [line[-1] for line in lines] == ["app", "packed", "(sum)"]
for column in 0, 1, 2:
    assert sum(int(line[column]) for line in lines[:-1]) == int(lines[-1][column])'
expect_status 0 "$stackpack" stats --format=json app packed
check 'assert [one["counts"]["form"] for one in json.loads(printed)] == ["raw", "packed"]'
expect_status 2 "$stackpack" stats --format=json app missing packed
check 'assert len(json.loads(printed)) == 2'
