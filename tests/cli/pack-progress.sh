#!/bin/bash
# At a terminal, packing that takes longer than a second names its current step; in less time, or elsewhere, it omits this.
. "$TOP/tests/cli/common.sh"

command -v script >/dev/null || skip "no script (util-linux)"
sample=$BUILD/samples/semispace-raw
"$BUILD/tests/bench/generate" "$sample" 1000000 program >/dev/null
# Packs at a terminal, and takes longer than a second on any machine: it is stopped for two when it has begun.
cat >slowly <<'SCRIPT'
"${@:2}" &
sleep "$1"
kill -STOP $!
sleep 2
kill -CONT $!
wait $!
SCRIPT
at_terminal() { # COMMAND...
  script -qec "$*" typescript </dev/null >/dev/null
}
# A busy machine may begin later, or take a second for a small file: it has some tries.
is_told() { # COMMAND...
  local delay
  for delay in 0.1 0.2 0.5 1 2; do
    at_terminal bash slowly $delay "$@"
    if grep -q 'stackpack: program: checking \.\.\.' typescript; then return; fi
  done
  return 1
}
is_silent() { # COMMAND...
  local try
  for try in 1 2 3 4 5; do
    at_terminal "$@"
    if ! grep -q '\.\.\.' typescript; then return; fi
    echo "steps were told in try $try"
  done
  return 1
}
is_told "$stackpack" pack -o packed program || fail "the steps should be told: $(<typescript)"
at_terminal bash slowly 0.1 "$stackpack" pack -q -o packed program
! grep -q '\.\.\.' typescript || fail "--quiet should not tell steps"
bash slowly 0.1 "$stackpack" pack -o packed program >out 2>err
! grep -q '\.\.\.' err || fail "without a terminal, no steps should be told"
is_silent "$stackpack" pack -o packed "$sample" || fail "a small file should not tell steps"
