#!/bin/bash
# At a terminal, packing that takes longer than a second tells what it is at; in less time, or elsewhere, it says nothing
# of it.
. "$TOP/tests/cli/common.sh"

command -v script >/dev/null || skip "no script (util-linux)"
sample=$BUILD/samples/semispace-raw
at_terminal() { # COMMAND...
  script -qec "$*" typescript </dev/null >/dev/null
}
records=200000
while :; do
  "$BUILD/tests/bench/generate" "$sample" $records program >/dev/null
  start=$EPOCHREALTIME
  expect_status 0 "$stackpack" pack -o packed program
  ((${EPOCHREALTIME/./} - ${start/./} < 1500000)) || break
  records=$((records * 2))
done
! grep -q '\.\.\.' err || fail "without a terminal, no steps should be told"
at_terminal "$stackpack" pack -o packed program
grep -q 'stackpack: program: checking \.\.\.' typescript || fail "packing $records records should tell its steps: $(<typescript)"
at_terminal "$stackpack" pack -q -o packed program
! grep -q '\.\.\.' typescript || fail "--quiet should not tell steps"
at_terminal "$stackpack" pack -o packed "$sample"
! grep -q '\.\.\.' typescript || fail "a small file should not tell steps"
