#!/bin/bash
# The library reads the tables in tests/golden, and gives the answers that it gave when they were made: tables that were packed with an
# older release keep their meaning. (tests/golden/make.sh makes those of a new version.)
. "$TOP/tests/cli/common.sh"

mapfile -t flags < <(library_flags)
"$CC" -O1 -std=c17 -D_GNU_SOURCE "${flags[@]}" -I"$TOP" -o answers "$TOP/tests/golden/answers.c" "$BUILD/libstackpack.a" -lzstd
for folder in "$TOP"/tests/golden/version*; do
  cp "$folder"/*.table .
  expect_status 0 ./answers ./*.table
  diff "$folder/answers" out || fail "other answers than those in $folder"
  # A change is noticed: of the table, and of what the library says.
  set_byte x86_64-list.table $(($(stat -c %s x86_64-list.table) / 2)) 255
  expect_status 0 ./answers ./*.table
  ! diff -q "$folder/answers" out || fail "a damaged table isn't noticed"
done
