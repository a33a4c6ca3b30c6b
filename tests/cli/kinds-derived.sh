#!/bin/bash
# Derived references: a pair keeps its base, also where the base lacks a pair of its own.
. "$TOP/tests/cli/common.sh"

for linker in lld bfd; do
  make_program $linker app pairs
  pack_and_compare app packed
  expect_records packed.json <<'PYTHON'
pairs = [(place(pair["base"]), place(pair["derived"])) for pair in with_id(2001)["gc"]]
assert len(pairs) == 2
(base, itself), = [pair for pair in pairs if pair[0] == pair[1]]
(other, derived), = [pair for pair in pairs if pair[0] != pair[1]]
assert base == other and derived != base

pair, = with_id(2002)["gc"]
assert place(pair["base"]) != place(pair["derived"])
assert all(location["kind"] == "indirect" for location in pair.values())

assert len(with_id(2003)["gc"]) == 1 and with_id(2004)["gc"] == []
assert with_id(0xABCDEF00)["gc"] == []
PYTHON
done
