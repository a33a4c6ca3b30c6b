#!/bin/bash
# `dump --format=json` prints one object a line, by address, with exactly the documented members.
. "$TOP/tests/cli/common.sh"

cat >shapes.py <<'PYTHON'
common = {"address", "function", "function_address", "offset", "frame_size", "frame", "id", "kind", "live_outs"}
statepoint = {"calling_convention", "flags", "deopt", "gc", "allocas"}

def is_count(value):
    return type(value) is int and 0 <= value < 2**64

def check_location(location):
    if location["kind"] == "constant":
        assert set(location) == {"kind", "value", "size"}, location
        assert type(location["value"]) is int, location
    else:
        assert set(location) == {"kind", "register", "offset", "size"}, location
        assert location["kind"] in ("register", "direct", "indirect"), location
        assert is_count(location["register"]) and type(location["offset"]) is int, location
    assert is_count(location["size"]), location

assert records
assert [r["address"] for r in records] == sorted(r["address"] for r in records)
for r in records:
    assert r["kind"] in ("statepoint", "stackmap"), r
    assert set(r) == common | (statepoint if r["kind"] == "statepoint" else {"locations"}), r
    assert type(r["function"]) is str, r
    assert all(is_count(r[name]) for name in ("address", "function_address", "offset", "id")), r
    assert r["frame_size"] is None or is_count(r["frame_size"]), r
    assert r["address"] == r["function_address"] + r["offset"], r
    frame = r["frame"]
    if frame is not None:
        assert set(frame) == {"cfa_register", "cfa_offset", "return_address_signed", "saved", "lost"}, frame
        assert is_count(frame["cfa_register"]) and type(frame["cfa_offset"]) is int, frame
        assert type(frame["return_address_signed"]) is bool, frame
        assert all(set(s) == {"register", "offset"} and s["offset"] < 0 for s in frame["saved"]), frame
        assert all(is_count(register) for register in frame["lost"]), frame
    for location in r.get("deopt", []) + r.get("allocas", []) + r.get("locations", []):
        check_location(location)
    for pair in r.get("gc", []):
        assert set(pair) == {"base", "derived"}, pair
        check_location(pair["base"])
        check_location(pair["derived"])
    for live_out in r["live_outs"]:
        assert set(live_out) == {"register", "size"}, live_out
        assert is_count(live_out["register"]) and is_count(live_out["size"]), live_out
PYTHON

for sample in list deopt pairs frames patchpoints; do
  make_program lld $sample $sample
  expect_status 0 "$stackpack" dump --format=json $sample
  mv out $sample.json
  [[ ! -s err ]] || fail "output on stderr: $(<err)"
  expect_records $sample.json <shapes.py
done
