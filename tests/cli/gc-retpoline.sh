#!/bin/bash
# Indirect calls that compilers hide in returns, from processors that guess wrong: they are indirect calls all the same.
. "$TOP/tests/cli/common.sh"

check() { # PROGRAM
  local function
  for function in by_pointer by_pointer_tail by_callback by_chain; do
    expect_verdict kept "$1" managed_$function --gc-entry=collect
  done
  for function in no_call no_chain no_cycle no_outside; do
    expect_verdict dropped "$1" managed_$function --gc-entry=collect
  done
}
make_gc_program app "$LLVM/bin/clang" "-O2 -fno-pie -mretpoline" lld
check app
make_gc_program app gcc "-O2 -fno-pie -mindirect-branch=thunk -fcf-protection=none" bfd
check app
