#!/bin/bash
# Packing a packed file changes nothing, says so, and is no error.
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
