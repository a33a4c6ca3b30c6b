#!/bin/bash
# Deopt state: constants of every size, values and references, in order; and IDs up to the largest.
. "$TOP/tests/cli/common.sh"

for linker in lld bfd; do
  make_program $linker app deopt
  pack_and_compare app packed
  expect_records packed.json <<'PYTHON'
record = with_id(1001)
assert record["kind"] == "statepoint" and record["function"] == "constants"
assert constants(record["deopt"]) == [7, 2**64 - 1, 0x123456789ABCDEF0, 0xFEDCBA9876543210, 7]
assert record["gc"] == [] and record["allocas"] == [] and record["live_outs"] == []
assert (record["calling_convention"], record["flags"]) == (0, 0)

record = with_id(1002)
assert len(record["deopt"]) == 2 and constants(record["deopt"][:1]) == [0] and record["gc"] == []

record = with_id(1003)
assert record["function"] == "values" and len(record["deopt"]) == 3
assert constants(record["deopt"][:1]) == [1]
pair, = record["gc"]
assert pair["base"] == pair["derived"] == record["deopt"][2]
assert place(pair["base"])[0] == "indirect" and pair["base"]["size"] == 8

largest = max(record["id"] for record in records)
assert largest in (2**64 - 1, 2**32 - 1)  # LLVM 18 keeps 32 bits of it
assert with_id(largest)["function"] == "run" and with_id(0)["function"] == "run"
assert len(records) == 5
PYTHON
done
