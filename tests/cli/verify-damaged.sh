#!/bin/bash
# A packed section with one changed bit always differs: `verify` says so or refuses the file. `dump` survives it.
. "$TOP/tests/cli/common.sh"

make_program lld app deopt
expect_status 0 "$stackpack" pack -o packed app
offset=$(section_offset packed .stackpack) size=$(section_size packed .stackpack)
for ((at = 0; at < size; at += 7)); do
  cp packed damaged
  byte=$(od -An -tu1 -j $((offset + at)) -N 1 damaged)
  set_byte damaged $((offset + at)) $((byte ^ 1 << at % 8))
  status=0
  "$stackpack" verify app damaged >out 2>err || status=$?
  ((status == 1 || status == 2)) || fail "exit status $status with byte $at damaged: $(cat out err)"
  status=0
  "$stackpack" dump damaged >out 2>err || status=$?
  ((status == 0 || status == 2)) || fail "dump: exit status $status with byte $at damaged: $(<err)"
done
