#!/bin/bash
# Stack maps and patch points, as opposed to statepoints: their locations in order, and live-outs. Two of the records
# are at one address.
. "$TOP/tests/cli/common.sh"

for linker in lld bfd; do
  make_program $linker app patchpoints
  pack_and_compare app packed
  expect_status 0 "$stackpack" pack --always --dry-run app
  expect_output "^app: of the records, 3 are statepoints', 7 stack maps' or patch points'\$"
  expect_records packed.json <<'PYTHON'
assert len(records) == 10
assert with_id(4001)["locations"] == [] and with_id(4001)["kind"] == "stackmap"
assert constants(with_id(4002)["locations"]) == [2**64 - 3, 0x123456789ABCDEF0]
assert with_id(4001)["address"] == with_id(4002)["address"]
value, address = with_id(4003)["locations"]
assert value["kind"] == "register" and address["kind"] == "direct"

for number, locations in ((4005, 1), (4006, 0), (4007, 3)):
    record = with_id(number)
    assert record["kind"] == "stackmap" and record["function"] == "patches"
    assert len(record["locations"]) == locations
    assert len(record["live_outs"]) > 0
    assert all(live_out["size"] == 8 for live_out in record["live_outs"])

shaped = with_id(4004) # looks like a statepoint, but follows no call
assert shaped["kind"] == "stackmap" and constants(shaped["locations"]) == [0, 0, 1, 5]
assert with_id(4008)["kind"] == with_id(4009)["kind"] == "statepoint"
PYTHON
done
