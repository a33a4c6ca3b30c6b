#!/bin/bash
# `callgraph` prints the direct calls that objdump sees, as JSON with the members that the manual names; its text and
# Graphviz forms have the same. A file without stack maps has a call graph, too.
. "$TOP/tests/cli/common.sh"

make_gc_program app "$LLVM/bin/clang" "-O2 -fno-pie" lld -rdynamic
"$stackpack" callgraph --format=json app >graph.json
objdump --disassemble --wide --no-show-raw-insn app >disassembly
python3 - <<'PYTHON'
import json
import re

functions = [json.loads(line) for line in open("graph.json", encoding="utf-8")]
by_name = {function["name"]: function for function in functions}
starts = {function["address"] for function in functions}
assert [f["address"] for f in functions] == sorted(starts)
kinds = {"direct", "tail", "indirect", "outside", "branch", "passed"}
for function in functions:
    assert set(function) == {"address", "name", "address_taken", "exported", "calls", "undecodable", "policy", "pattern"}
    assert function["policy"] is None and function["pattern"] is None
    assert function["undecodable"] is False
    for call in function["calls"]:
        assert set(call) == {"at", "return", "kind", "target", "symbol"} and call["kind"] in kinds
        assert call["kind"] != "direct" or (call["return"] > call["at"] and call["target"] in starts)
        assert call["kind"] not in ("tail", "branch") or call["return"] is None

seen, pointers, plt = set(), 0, 0
for line in open("disassembly", encoding="utf-8"):
    match = re.match(r"\s*([0-9a-f]+):\tcall\s+([0-9a-f]+) <(.*)>", line)
    if match and not match.group(3).endswith("@plt"):
        seen.add((int(match.group(1), 16), int(match.group(2), 16)))
    pointers += bool(re.match(r"\s*[0-9a-f]+:\tcall\s+\*", line))
direct = {(call["at"], call["target"]) for f in functions for call in f["calls"] if call["kind"] == "direct"}
stubs = {at for at, target in seen if target not in starts or at in
         {call["at"] for f in functions for call in f["calls"] if call["kind"] == "outside"}}
assert {call for call in seen if call[0] not in stubs} == direct, seen ^ direct
assert len(direct) > 20

def calls(name, kind):
    return [call for call in by_name[name]["calls"] if call["kind"] == kind]

assert [call["symbol"] for call in calls("by_callback", "outside")] == ["qsort"]
assert calls("by_callback", "outside")[0]["target"] is None
assert len(calls("by_pointer", "indirect")) == 1 and calls("by_pointer", "indirect")[0]["return"] is not None
assert calls("by_pointer_tail", "indirect")[0]["return"] is None
assert [call["symbol"] for call in calls("by_tail_call", "tail")] == ["by_call"]
assert [call["symbol"] for call in calls("by_condition", "branch")] == ["by_call"]
assert not calls("no_switch", "indirect") and not calls("no_computed_goto", "indirect")
assert by_name["taken"]["address_taken"] and by_name["harmless"]["address_taken"] and by_name["compare"]["address_taken"]
assert by_name["collect"]["exported"] and not by_name["taken"]["exported"]
PYTHON

expect_status 0 "$stackpack" callgraph app
expect_output '^0x[0-9a-f]+ by_pointer \(address taken\) \(exported\)$'
expect_output '^  0x[0-9a-f]+ tail     by_call$'
expect_output '^  0x[0-9a-f]+ indirect any function whose address is taken$'
expect_status 0 "$stackpack" callgraph --gc-entry='coll*' --no-gc=harmless --no-gc=qsort app
expect_output '^0x[0-9a-f]+ collect .*\(gc-entry=coll\*\)$'
expect_output '^0x[0-9a-f]+ harmless .*\(no-gc=harmless\)$'
expect_output '^  0x[0-9a-f]+ outside  qsort.* \(no-gc=qsort\)$'
expect_status 0 "$stackpack" callgraph --gc-entry='coll*' --format=json app
expect_output '"name":"collect".*"policy":"gc-entry","pattern":"coll\*"\}$'
expect_status 0 "$stackpack" callgraph --format=dot app
expect_output '^digraph '
expect_output '^}$'
[[ $(grep -c ' -> ' out) -gt 30 ]] || fail "too few edges"

cat >plain.c <<'C'
int twice(int x) { return x * 2; }
int main(int argc, char **argv) { (void)argv; return twice(argc) - 2; }
C
"$CC" -O0 plain.c -o plain
expect_status 0 "$stackpack" callgraph plain
expect_output '^  0x[0-9a-f]+ direct   twice$'
"$CC" -c plain.c -o plain.o
expect_refusal 'plain.o: .*link it' "$stackpack" callgraph plain.o
expect_status 2 "$stackpack" callgraph --format=xml plain
expect_status 2 "$stackpack" callgraph
