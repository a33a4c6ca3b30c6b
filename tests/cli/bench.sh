#!/bin/bash
# The benchmark measures a program: all rivals visit the same slots, and the table and the JSON agree with `pack`. It
# fails where a rival would visit something else.
. "$TOP/tests/cli/common.sh"

for tool in zstd xz objcopy; do command -v $tool >/dev/null || skip "no $tool"; done
sample=$BUILD/samples/semispace-raw
"$BUILD/tests/bench/generate" "$sample" 3000 program >/dev/null
mkdir build
ln -s "$BUILD"/stackpack "$BUILD"/tests build/
SPARSE_RECORDS=2000 expect_status 0 "$TOP/tests/bench/run" --build build "$sample" program
expect_output '^semispace-raw: [0-9]+ records, '
expect_output '^program: 3000 records, .* 1/[0-9.]+ of raw'
expect_output 'synthetic'
expect_output '^  opening a file: packed [0-9.]+ [um]s, [0-9]+ page faults; raw '
expect_output '^ *65536 bytes +2000 '
expect_output '^ *by the table, with a cache +[0-9.]+ ns +[0-9.]+x'
for name in packed 'packed, with cache' 'packed, with large cache' 'hash table' 'sorted array' wasmtime OCaml llvm-statepoint-utils ArkCompiler Perry 'zstd -19' 'xz -9'; do
  (($(grep -c "^  $name\|^  .*$name" out) >= 2)) || fail "no rows for $name"
done
python3 - <<'PYTHON'
import json

semispace, program, walk, sparse = json.load(open("build/bench.json"))
assert program["records"] == 3000 and program["looked_up"] <= 3000
rivals = {rival["name"]: rival for rival in program["rivals"]}
assert rivals["packed"]["file_bytes"] * 10 < program["raw_bytes"] == rivals["hash table"]["file_bytes"]
assert 1 <= rivals["hash table"]["pages"] <= rivals["hash table"]["lines"] <= 2 * rivals["hash table"]["pages"] + 4
assert rivals["packed"]["heap_bytes"] == 0 < rivals["hash table"]["heap_bytes"]
assert rivals["packed, with cache"]["heap_bytes"] == 128 * 1024
assert rivals["packed, with large cache"]["heap_bytes"] == 64 << 13  # two lines for each record, up to a power of 2
for name in "packed", "packed, with cache", "packed, with large cache", "hash table", "sorted array":
    for column in "start_ns", "warm_ns", "evicted_ns", "walk_ns", "walk_evicted_ns", "lines", "pages":
        assert rivals[name][column] > 0, (name, column)
assert [step["code"] for step in sparse["densities"]] == [64, 256, 1024, 4096, 16384, 65536]
assert all(rival["warm_ns"] > 0 for step in sparse["densities"] for rival in step["rivals"])
for measured in semispace, program:
    assert 0 < measured["opening"]["packed"]["ns"] < measured["opening"]["raw"]["ns"]
    frames = measured.get("frames", {"ways": []})
    assert all(way["frame_ns"] > 0 for way in frames["ways"]), frames
for ways in walk["walks"], walk["registers"]:
    times = {way["name"]: way["frame_ns"] for way in ways}
    assert len(times) >= 5 and min(times.values()) > 0
PYTHON

# The records of one program, the packed table of another.
"$stackpack" pack -q -o packed program
"$BUILD/tests/bench/generate" "$sample" 2999 other >/dev/null
expect_status 1 "$BUILD/tests/bench/measure" other packed
grep -q 'visits something else' err || { cat err >&2; fail "another complaint"; }
