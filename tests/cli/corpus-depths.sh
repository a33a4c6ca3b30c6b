#!/bin/bash
# CPython, its unwind tables ignored: the facts about frames from its code equal the facts from the tables.
. "$TOP/tests/cli/common.sh"
expect_corpus python3.11.zst

zstd -dq "$CORPUS/python3.11.zst" -o python
objcopy --rename-section .eh_frame=.not_eh_frame python without
"$stackpack" dump --format=json python >right.json
"$stackpack" dump --format=json without >told.json
python3 - <<'PYTHON' || fail "other frames"
import json

records, told, pushed, fixed = 0, 0, 0, 0
for right, ours in zip(open("right.json"), open("told.json"), strict=True):
    right, ours = json.loads(right), json.loads(ours)
    assert right["address"] == ours["address"]
    records += 1
    fixed += right["frame"]["cfa_register"] == 7
    if not ours["frame"]:
        continue
    told += 1
    for member in "cfa_register", "cfa_offset":
        assert ours["frame"][member] == right["frame"][member], (ours, right)
    pushed += ours["frame"]["cfa_offset"] != ours["frame_size"] + 8
print(f"{told} of {records} are told, {pushed} of them with pushed arguments")
assert told > 0.98 * fixed and pushed > 300, (told, fixed, pushed)
PYTHON
