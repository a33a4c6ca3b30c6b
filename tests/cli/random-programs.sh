#!/bin/bash
# The records of random programs, odd ones included, equal the second reader's; but several functions at one address may share
# theirs.
. "$TOP/tests/cli/common.sh"

for seed in {1..20} 34 38; do # the last two have functions of more than 2 GiB, whatever the compiler
  "$BUILD/tests/oracle/random_program" "$seed" $((1 + seed * seed % 300)) random
  expect_status 0 "$stackpack" pack --always --conflicts=omit -o packed random
  dump_json random >raw.json
  dump_json packed >packed.json
  expect_same raw.json packed.json
  expect_status 0 python3 "$TOP/tests/oracle/compare.py" --left-out random raw.json
  expect_output ' records equal, '
  cat raw.json >>all.json
done
# They have rare forms, and all extremes.
expect_records all.json <<'PYTHON'
statepoints = [record for record in records if record["kind"] == "statepoint"]
pairs = [place for record in statepoints for pair in record["gc"] for place in pair.values()]
others = [record for record in records if record["kind"] == "stackmap"]
places = pairs + [place for record in statepoints for place in record["deopt"] + record["allocas"]]
places += [place for record in others for place in record["locations"]]
assert {place["kind"] for place in places} == {"register", "direct", "indirect", "constant"}
assert {0, 65535} <= {place["size"] for place in places}
assert {0, 65535} <= {place["register"] for place in places if place["kind"] == "register"}
assert {-(2**31), 2**31 - 1} <= {place.get("offset") for place in places}
assert {-1, 2**64 - 1} & {place.get("value") for place in places} and {0} <= {place.get("value") for place in places}
assert {None, 0, 2**64 - 2} <= {record["frame_size"] for record in records}
assert any(record["deopt"] and record["gc"] and record["allocas"] for record in statepoints)
assert any(record["live_outs"] for record in others) and max(len(record["locations"]) for record in others) > 100
assert max(record["offset"] for record in records) > 2**31
assert max(record["address"] for record in records) > 2**63
PYTHON
