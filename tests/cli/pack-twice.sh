#!/bin/bash
# Packing a packed file changes nothing, says so, and is no error, unless its table is damaged.
. "$TOP/tests/cli/common.sh"

make_program lld app list
expect_status 0 "$stackpack" pack --always app
cp -p app once
inode=$(stat -c %i app)
expect_status 0 "$stackpack" pack --always app
expect_output 'app: .*already'
expect_same app once
[[ $(stat -c %i app) == "$inode" ]] || fail "the file was written again"
expect_status 0 "$stackpack" pack --always --if-present app
expect_same app once

many_functions 40 >many.ll
make_program lld app ./many.ll
expect_status 0 "$stackpack" pack app
set_byte app $(($(section_offset app .stackpack) + $(section_size app .stackpack) - 100)) 255
cp app damaged
expect_refusal 'app: a broken packed table: its checksum differs' "$stackpack" pack --always app
expect_same app damaged
