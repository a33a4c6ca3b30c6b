#!/bin/bash
# `pack -o OUT FILE` leaves FILE alone and writes the bytes that packing in place would write; an OUT that is there is replaced.
. "$TOP/tests/cli/common.sh"

make_program lld app list
cp app raw
mkdir folder
expect_status 0 "$stackpack" pack -o folder/packed app
expect_same app raw
[[ $(ls -A folder) == packed ]] || fail "something else in the folder: $(ls -A folder)"

echo "something else" >other
expect_status 0 "$stackpack" pack -o other app
expect_same other folder/packed

expect_status 0 "$stackpack" pack -o app app
expect_same app folder/packed

# Of a packed file, -o makes a copy.
expect_status 0 "$stackpack" pack -o copy app
expect_same copy app
[[ -x copy ]] || fail "the copy isn't executable"

# One OUT holds one program.
cp raw raw2
expect_status 2 "$stackpack" pack -o both raw raw2
[[ ! -e both ]] || fail "written, though there were two files"
