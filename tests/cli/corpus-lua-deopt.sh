#!/bin/bash
# Lua with deopt state, and IDs that count the call sites of each object file.
. "$TOP/tests/cli/common.sh"
expect_corpus lua-deopt.zst

zstd -dq "$CORPUS/lua-deopt.zst" -o lua
chmod 755 lua
pack_and_compare_large lua packed "$samples/exercise.lua"
expect_records packed.json <<'PYTHON'
assert len(records) > 3000
assert len({record["id"] for record in records}) > 300
assert sum(len(record["deopt"]) for record in records) > len(records)
PYTHON
