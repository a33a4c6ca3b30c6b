#!/bin/bash
# At a terminal, packing that takes longer than a second names its current step; in less time, or elsewhere, it omits this.
. "$TOP/tests/cli/common.sh"

command -v script >/dev/null || skip "no script (util-linux)"
sample=$BUILD/samples/semispace-raw
"$BUILD/tests/bench/generate" "$sample" 1000000 program >/dev/null
# Packs at a terminal, and takes longer than a second on any machine: it is stopped for two when it has just started.
cat >slowly <<'SCRIPT'
"$@" &
sleep 0.1
kill -STOP $!
sleep 2
kill -CONT $!
wait $!
SCRIPT
at_terminal() { # COMMAND...
  script -qec "bash slowly $*" typescript </dev/null >/dev/null
}
at_terminal "$stackpack" pack -o packed program
grep -q 'stackpack: program: checking \.\.\.' typescript || fail "the steps should be told: $(<typescript)"
at_terminal "$stackpack" pack -q -o packed program
! grep -q '\.\.\.' typescript || fail "--quiet should not tell steps"
bash slowly "$stackpack" pack -o packed program >out 2>err
! grep -q '\.\.\.' err || fail "without a terminal, no steps should be told"
script -qec "$stackpack pack -o packed $sample" typescript </dev/null >/dev/null
! grep -q '\.\.\.' typescript || fail "a small file should not tell steps"
