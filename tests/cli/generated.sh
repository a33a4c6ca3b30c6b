#!/bin/bash
# The generator makes programs of any size that pack like the one that they are drawn from, always the same; also where
# their code takes more than 4 GB of addresses.
. "$TOP/tests/cli/common.sh"

generate=$BUILD/tests/bench/generate
sample=$BUILD/samples/semispace-raw
for records in 1 1000 30000; do
  expect_status 0 "$generate" "$sample" $records program
  expect_output "program: $records records? "
  expect_status 0 "$generate" "$sample" $records again
  expect_same program again
  expect_status 0 "$stackpack" pack --always -o packed program
  expect_packed packed
  expect_output "program: $records records? "
  dump_json program >raw.json
  dump_json packed >packed.json
  expect_same raw.json packed.json
done
python3 "$TOP/tests/oracle/compare.py" program - <packed.json >oracle.log 2>&1 || { cat oracle.log >&2; fail "the independent reader"; }
(($(stat -c %s packed) * 10 < $(stat -c %s program))) || fail "packed to $(stat -c %s packed) bytes only"

expect_status 0 "$generate" "$sample" 30000 large 6000000000
expect_output 'text [56]\.[0-9]+ GB'
expect_status 0 "$stackpack" pack -o packed large
expect_status 0 "$stackpack" verify large packed
dump_json packed >packed.json
expect_records packed.json <<'PYTHON'
addresses = [record["address"] for record in records]
assert len(addresses) == 30000 and addresses == sorted(addresses)
assert addresses[-1] - addresses[0] > 2**32
PYTHON

expect_status 2 "$generate" "$sample" 0 program
expect_status 2 "$generate" "$TOP/README.md" 10 program
expect_status 2 "$generate" "$sample" 10 /nowhere/program
