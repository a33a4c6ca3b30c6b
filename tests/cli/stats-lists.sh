#!/bin/bash
# What `stats` lists: CSV adds up, filters and orders work, functions are below their units, and several
# files have a row each.
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
import csv, json, re
stats = json.load(open("all.json"))
functions = stats["functions"]
printed = open("out", newline="").read()
$1
PYTHON
}

expect_status 0 "$stackpack" stats --format=csv app
check 'rows = list(csv.DictReader(printed.splitlines()))
assert len(rows) == len(functions) + 1 and rows[-1]["function"] == "(the table itself)"
assert sum(float(row["packed"]) for row in rows) == stats["packed"]["size"]
assert sum(int(row["records"]) for row in rows) == stats["counts"]["records"]
assert {row["function"] for row in rows[:-1]} == {function["name"] for function in functions}'

expect_status 0 "$stackpack" stats --format=json --filter='^two_f(1|2).$' app
check 'listed = json.loads(printed)
names = [function["name"] for function in listed["functions"]]
assert sorted(names) == sorted(f["name"] for f in functions if re.search("^two_f(1|2).$", f["name"])) and len(names) == 20
for rows in "functions", "units":
    for size in "packed", "raw", "records":
        assert sum(f[size] for f in functions) == sum(f[size] for f in listed[rows]) + listed["other_" + rows][size]
assert listed["counts"] == stats["counts"]'
expect_refusal 'app: --filter is no regular expression' "$stackpack" stats --filter='(' app
expect_refusal 'app: --filter is longer than 4096 bytes' "$stackpack" stats --filter="$(printf '%020000d' 0 | tr 0 '(')" app
expect_refusal 'app: --filter has a back-reference' "$stackpack" stats --filter='(.*)(.*)\1b' app
expect_status 0 "$stackpack" stats --filter='[]\1]|\\1|two_f1' app

for order in packed raw records name; do
  expect_status 0 "$stackpack" stats --format=json --sort=$order app
  check "values = [f['$order'] for f in json.loads(printed)['functions']]
assert values == sorted(values, reverse='$order' != 'name') and len(values) == len(functions)"
done

expect_status 0 "$stackpack" stats --nested --top=3 app
expect_output 'compilation unit, and its functions$'
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
