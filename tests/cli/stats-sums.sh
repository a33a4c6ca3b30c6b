#!/bin/bash
# The parts in `stats --format=json` add up to the section's size, exactly: parts, functions and units, raw and packed.
. "$TOP/tests/cli/common.sh"

check_sums() { # FILE SECTION [OPTION...]
  expect_status 0 "$stackpack" stats --format=json "${@:3}" "$1"
  python3 "$TOP/tests/cli/stats_sums.py" out "$1" "$(section_size "$1" "$2")" || fail "wrong sums of $1"
}

check_program() { # FILE
  check_sums "$1" .llvm_stackmaps
  expect_status 0 "$stackpack" pack --always --quiet -o "$1.packed" "$1"
  check_sums "$1.packed" .stackpack
  # A raw file's packed sizes equal the sizes after packing.
  "$stackpack" stats --format=json "$1" >raw.json
  "$stackpack" stats --format=json "$1.packed" >packed.json
  dump_json "$1" >dump.json
  python3 - <<'PYTHON' || fail "$1 isn't packed as it was foretold"
import collections
import json
raw, packed = (json.load(open(name + ".json")) for name in ("raw", "packed"))
assert raw["packed"] == packed["packed"]
whys = "pairs", "derived", "live_sets", "slots"
names = "name", "records", "packed", *whys
assert sorted(str([f[n] for n in names]) for f in raw["functions"]) == \
       sorted(str([f[n] for n in names]) for f in packed["functions"])
assert raw["distributions"] == packed["distributions"]
# What makes a function large, counted in the dump.
dumped = collections.defaultdict(list)
for record in map(json.loads, open("dump.json")):
    dumped[record["function_address"]].append(record)
for function in raw["functions"]:
    records = dumped[function["address"]]
    pairs = [(str(pair["base"]), str(pair["derived"])) for record in records for pair in record.get("gc", [])]
    sets = {str([record.get(part) for part in ("gc", "allocas", "locations")]) for record in records}
    found = [len(pairs), sum(base != derived for base, derived in pairs), len(sets), len({place for pair in pairs for place in pair})]
    assert found == [function[why] for why in whys], (function, found)
PYTHON
}

for ir in list pairs frames deopt patchpoints; do
  make_program lld $ir $ir
  check_program $ir
done
make_program bfd pie list -pie
check_program pie

many_functions 300 >many.ll
make_program lld many ./many.ll
check_program many

# Stack maps at functions' first bytes: exceptions; the first record, too, so that the leaf begins outside all functions.
{
  printf 'declare void @llvm.experimental.stackmap(i64, i32, ...)\ndeclare void @collect()\n'
  for n in 1 2 3; do
    printf 'define void @at_start_%d() naked {\n' $n
    printf '  call void (i64, i32, ...) @llvm.experimental.stackmap(i64 %d, i32 0)\n' $n
    printf '  call void asm sideeffect "ret", ""()\n  unreachable\n}\n'
    ((n == 2)) || continue
    printf 'define i64 @run(i64 %%n) gc "statepoint-example" {\n  call void @collect()\n  ret i64 %%n\n}\n'
  done
} >at_start.ll
make_program lld at_start ./at_start.ll
check_program at_start
python3 - <<'PYTHON' || fail "there should be 3 exceptions"
import json
parts = {part["name"]: part for part in json.load(open("packed.json"))["packed"]["parts"]}
assert parts["exceptions"]["size"] == parts["exceptions"]["of_functions"] == 3 * 12
PYTHON

# With some functions listed, the others are summed up; and so are dropped records.
check_sums many .llvm_stackmaps --top=7
check_sums many.packed .stackpack --top=0
check_sums many .llvm_stackmaps --gc-entry=collect

# Functions that the linker has discarded take bytes, too.
sed -E 's/^define (i64 @f7[0-9]*\(.*\)) gc /define internal \1 section ".text.dead" gc /' many.ll >dead.ll
echo '@llvm.compiler.used = appending global [1 x ptr] [ptr @f7], section "llvm.metadata"' >>dead.ll
echo 'SECTIONS { /DISCARD/ : { *(.text.dead) } } INSERT AFTER .rodata;' >discard.lds
make_program lld dead ./dead.ll -Wl,-T,discard.lds -Wl,--noinhibit-exec 2>link.log
check_program dead
"$stackpack" stats --format=json dead >dead.json
python3 -c 'import json; assert json.load(open("dead.json"))["raw"]["discarded"] > 0' || fail "nothing was discarded"

if [[ -n ${CORPUS-} && -e $CORPUS/lua-deopt.zst ]]; then
  for program in lua-deopt python3.11; do
    sampled 2 || continue
    zstd -dq "$CORPUS/$program.zst" -o $program
    check_program $program
  done
fi
