#!/bin/bash
# Runs every seed and every input that once was a finding (tests/fuzz/regressions/TARGET) once through its fuzzer.
# Needs BUILD, TOP and LLVM in the environment. Skipped (77) where clang lacks a fuzzer runtime.
set -eu

clang=$LLVM/bin/clang
if [[ -z $LLVM || ! -x $clang ]]; then
  echo "no clang"
  exit 77
fi
if ! echo 'int LLVMFuzzerTestOneInput(const char *data, long size) { return data[0] + size == 0; }' |
  "$clang" -fsanitize=fuzzer,address,undefined -x c - -o probe 2>/dev/null; then
  echo "$clang has no fuzzer runtime (libclang-rt-*-dev)"
  exit 77
fi

# This make has other jobs and flags than a make that runs this test.
unset MAKEFLAGS MFLAGS MAKELEVEL
make -s -C "$TOP" -f tests/fuzz/rules.mk -j2 BUILD="$BUILD" LLVM="$LLVM" fuzzers

run_inputs() { # INPUT...
  "$fuzzer" -timeout=10 -rss_limit_mb=2048 -artifact_prefix="$PWD/" "$@" >log 2>&1
}

# One process tries all inputs of a target; where it fails, each has its own, so that failures have names.
failures=0
for fuzzer in "$BUILD"/fuzz/fuzz_*; do
  target=${fuzzer##*/fuzz_}
  seeds=$target
  if [[ $target == file ]]; then seeds=elf; fi # both read ELF files
  if [[ $target == walk ]]; then seeds=packed; fi
  mapfile -t inputs < <(find "$TOP/tests/fuzz/corpus/$seeds" "$TOP/tests/fuzz/regressions/$target" -type f 2>/dev/null | sort)
  ((${#inputs[@]} > 0)) || { echo "fuzz_$target has no inputs"; exit 1; }
  ! run_inputs "${inputs[@]}" || continue
  alone=0
  for input in "${inputs[@]}"; do
    if ! run_inputs "$input"; then
      grep -m 1 -E '^(finding|SUMMARY): |runtime error: ' log || true
      echo "fuzz_$target fails: ${input#"$TOP/"}"
      alone=$((alone + 1))
    fi
  done
  ((alone > 0)) || echo "fuzz_$target fails with all its inputs in one process"
  failures=$((failures + 1))
done
((failures == 0))
