#!/bin/bash
# `pack --format=json` has an object for each file with the text output's facts: the packed files, and reasons for the others.
. "$TOP/tests/cli/common.sh"

make_gc_program app "$LLVM/bin/clang" "-O2 -fno-pie" lld
many_functions 200 >many.ll
compile_main main.o
compile ./many.ll many.o
link_with lld many main.o many.o
cp app $'odd\tname'

expect_status 0 "$stackpack" pack --always --format=json --gc-entry=collect -o packed app
python3 - "$(stat -c %s app)" "$(stat -c %s packed)" <<'PYTHON'
import json, sys
packed = json.load(open("out"))
assert packed["json_version"] == 1 and packed["file"] == "app" and packed["packed"] and packed["written"], packed
assert (packed["file_before"], packed["file_after"]) == tuple(int(word) for word in sys.argv[1:]), packed
assert packed["dropped"] > 0 and packed["records"] > 0 and packed["conflicts"] == packed["other_code"] == 0, packed
assert packed["reads_raw"] is None and packed["unchecked_frames"] == 0, packed
PYTHON
expect_status 0 "$stackpack" verify --gc-entry=collect app packed

# A line for each file, unchanged ones included; with --dry-run all files stay unchanged.
cp many before
expect_status 0 "$stackpack" pack --format=json --dry-run many packed $'odd\tname'
expect_same many before
python3 - <<'PYTHON'
import json
many, packed, odd = [json.loads(line) for line in open("out")]
assert many["packed"] and not many["written"] and many["packed_bytes"] * 10 < many["raw_bytes"], many
assert many["file_after"] < many["file_before"], many
assert packed == {"json_version": 1, "file": "packed", "packed": False, "why": "is packed already"}, packed
assert odd["file"] == "odd\tname" and not odd["packed"] and "would grow" in odd["why"], odd
PYTHON
expect_status 2 "$stackpack" pack --format=json --report app
expect_status 2 "$stackpack" pack --format=yaml app
expect_status 0 "$stackpack" pack --quiet --format=json -o packed many
[[ ! -s out ]] || fail "words with --quiet"
