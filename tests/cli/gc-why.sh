#!/bin/bash
# Each step of the chains that `why` prints is looked at in objdump's disassembly; for dropped records it names its assumptions.
# Addresses work as well as functions, and missing ones are refused.
. "$TOP/tests/cli/common.sh"

for layout in "-fno-pie lld" "-fPIE lld -pie -Wl,-z,notext" "-fPIE bfd -pie"; do
  # shellcheck disable=SC2086 # a list of words
  make_gc_program app "$LLVM/bin/clang" "-O2 ${layout%% *}" ${layout#* }
  for function in $(functions_that can) $(functions_that cant) collect; do
    "$stackpack" why --gc-entry=collect app "managed_$function" || (($? == 1))
  done >explained
  python3 "$TOP/tests/cli/check_chain.py" app <explained >checked || { cat explained >&2; fail "a chain doesn't hold"; }
  grep -qE '^1[0-9] chains, [2-9][0-9] steps hold$' checked || fail "too few chains: $(<checked)"
done

expect_status 0 "$stackpack" why --gc-entry=collect app managed_by_chain
expect_output '^  0x[0-9a-f]+  managed_by_chain calls by_chain$'
expect_output '^  0x[0-9a-f]+  by_chain calls by_call$'
expect_output '^  0x[0-9a-f]+  by_call calls collect, a GC entry$'
address=$(sed -nE 's/^(0x[0-9a-f]+) in .*/\1/p' out)
cp out by-name
expect_status 0 "$stackpack" why --gc-entry=collect app "$address"
expect_same out by-name
expect_status 0 "$stackpack" why --gc-entry=collect app $((address))
expect_same out by-name

expect_status 1 "$stackpack" why --gc-entry=collect app managed_no_outside
expect_output '^    strlen: '
expect_output '^    snprintf: .*stream'

# The packed program still has the call of a dropped record.
expect_status 0 "$stackpack" pack --always --gc-entry=collect -o packed app
address=$({ "$stackpack" why --gc-entry=collect app managed_no_call || true; } | sed -nE 's/^(0x[0-9a-f]+) in .*/\1/p')
expect_status 1 "$stackpack" why --gc-entry=collect packed "$address"
expect_output '^no record is there'
expect_output "dropped: the call can't reach a GC entry"

expect_refusal 'app: no function is called .nowhere.' "$stackpack" why --gc-entry=collect app nowhere
expect_refusal 'app: no record at 0x1, and no call' "$stackpack" why --gc-entry=collect app 0x1
expect_refusal 'app: no function is called .nothing., which is to be a GC entry' \
  "$stackpack" why --strict --gc-entry=nothing app managed_by_call
expect_status 0 "$stackpack" why --gc-entry=nothing app managed_by_call
expect_output "kept: the file doesn't have one of the GC entries"

# In JSON: the same steps.
expect_status 0 "$stackpack" why --format=json --gc-entry=collect app managed_by_chain
python3 - <<'PYTHON' || fail "another chain: $(<out)"
import json
record = json.load(open("out"))
assert record["kept"] and record["function"] == "managed_by_chain" and "GC entry" in record["reason"], record
chain = record["chain"]
assert [step["from"] for step in chain] == ["managed_by_chain", "by_chain", "by_call"] and chain[-1]["to"] == "collect", chain
assert all(a["to"] == b["from"] for a, b in zip(chain, chain[1:])) and all(step["at"] > 0 for step in chain)
PYTHON
expect_status 1 "$stackpack" why --format=json --gc-entry=collect app managed_no_call
python3 -c 'import json; record = json.load(open("out")); assert not record["kept"] and record["chain"] is None' || fail "$(<out)"
