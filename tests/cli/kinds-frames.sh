#!/bin/bash
# Stack objects in a live set, frames of unknown size, calling conventions and GC transitions.
. "$TOP/tests/cli/common.sh"

for linker in lld bfd; do
  make_program $linker app frames
  pack_and_compare app packed
  expect_records packed.json <<'PYTHON'
record = with_id(3001)
assert record["function"] == "objects" and record["gc"] == []
assert [location["kind"] for location in record["allocas"]] == ["direct", "direct"]
assert len({place(location) for location in record["allocas"]}) == 2
assert record["frame_size"] > 48 and record["frame_size"] % 8 == 0

assert with_id(3002)["function"] == "dynamic" and with_id(3002)["frame_size"] is None
assert with_id(3003)["function"] == "aligned" and with_id(3003)["frame_size"] is None

assert with_id(3004)["flags"] == 1 and with_id(3001)["flags"] == 0
assert with_id(3008)["calling_convention"] == 8 and with_id(3007)["calling_convention"] == 0
PYTHON
  expect_status 0 "$stackpack" dump packed
done
