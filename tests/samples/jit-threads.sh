#!/bin/bash
# The jit sample under the thread sanitizer: threads look up and walk while code is added and removed, free of data races.
. "$TOP/tests/samples/common.sh"

[[ -x $programs/jit ]] || skip "no headers of LLVM's C interface"
build_watched samples/jit-raw samples/jit
export TSAN_OPTIONS=halt_on_error=1:exitcode=66
for program in jit-raw jit; do
  expect_status 0 watched/samples/$program --threads 3 --functions 100 --live 32 --depth 6 --stress
done
