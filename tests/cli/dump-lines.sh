#!/bin/bash
# `dump --lines` adds the source line of each call, from the debug information, of raw and of packed files.
. "$TOP/tests/cli/common.sh"

for linker in lld bfd; do
  for sample in list deopt frames; do
    make_program $linker app $sample
    expect_lines_of_addr2line app
    mv lines.json raw.json
    expect_status 0 "$stackpack" pack app
    expect_lines_of_addr2line app
    expect_same raw.json lines.json
    expect_status 0 "$stackpack" dump --lines app
    expect_output "$sample\\.ll:[0-9]+$"
  done
done

# Without debug information there is no line, and no error.
strip -g app
expect_status 0 "$stackpack" dump --lines app
! grep -q '\.ll' out || fail "lines out of nowhere: $(<out)"
expect_status 0 "$stackpack" dump --lines --format=json app
