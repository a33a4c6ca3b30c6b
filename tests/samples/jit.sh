#!/bin/bash
# The jit sample: while threads walk stacks of compiled, packed and native frames, code comes and goes. It finds wrong values, lost
# references and unknown frames by itself.
. "$TOP/tests/samples/common.sh"

[[ -x $programs/jit ]] || skip "no headers of LLVM's C interface"
for program in jit-raw jit; do
  for options in "--stress --functions 40 --depth 6" "--functions 100 --live 32 --heap 16"; do
    # shellcheck disable=SC2086 # a list of words
    "$programs/$program" --threads 2 --statistics $options >output 2>statistics || fail "$program $options: $(<statistics)"
    grep -q 'functions compiled and freed' output || fail "$program: it says nothing"
    ! grep -E ': 0$' statistics || fail "$program $options: the run shows too little"
  done
done
