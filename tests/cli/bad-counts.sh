#!/bin/bash
# Counts in a stack map that promise more than there is are refused, however large: functions, constants, records, a
# function's records, locations, live-outs.
. "$TOP/tests/cli/common.sh"

make_program lld app patchpoints
start=$(section_offset app .llvm_stackmaps)
# A header of 16 bytes with three counts; then functions of 24 bytes, with theirs at byte 16; then one constant; then
# the first record, with the number of locations at byte 14, and of live-outs at byte 18, as it has no location.
functions=$(od -An -tu4 -j $((start + 4)) -N 4 app)
record=$((start + 16 + functions * 24 + 8))
for at in $((start + 4)) $((start + 8)) $((start + 12)) $((start + 16 + 16)) $((record + 14)) $((record + 18)); do
  for byte in 0 1; do
    cp app other
    set_byte other $((at + byte)) 255
    cp other before
    expect_refusal 'other: ' "$stackpack" pack other
    expect_same other before
  done
done
for at in 7 11 15; do # the highest byte of a count: more than there is memory for
  cp app other
  set_byte other $((start + at)) 255
  expect_refusal 'other: ' "$stackpack" pack other
done
