#!/bin/bash
# A record is kept exactly if its call can reach the GC entry: by calls, tail calls, pointers, callbacks and
# cycles, and with jump tables and computed gotos, which stay within a function. By two compilers, at two optimisation levels,
# linked at a fixed address or position-independent, with and without procedure linkage table.
. "$TOP/tests/cli/common.sh"

mapfile -t can < <(functions_that can)
mapfile -t cant < <(functions_that cant)
((${#can[@]} >= 9 && ${#cant[@]} >= 7)) || fail "the lists in functions.h can't be read"

# Clang without optimisation keeps the label to go to in memory, which the analysis skips: that is kept.
check() { # PROGRAM
  local function
  for function in "${can[@]}" collect; do expect_verdict kept "$1" "managed_$function" --gc-entry=collect; done
  for function in "${cant[@]}"; do
    [[ $function == no_computed_goto && $memory == yes ]] || expect_verdict dropped "$1" "managed_$function" --gc-entry=collect
  done
  expect_status 0 "$stackpack" pack --always --gc-entry=collect --report -o packed "$1"
  expect_output ' dropped [0-9]+ of [0-9]+ records '
  expect_same_run "$1" packed
  expect_status 0 "$stackpack" verify --gc-entry=collect "$1" packed
}

for compiler in "$LLVM/bin/clang" gcc; do
  for level in -O0 -O2; do
    memory=no
    [[ $compiler$level != *clang-O0 ]] || memory=yes
    # GCC uses the registers that its own functions preserve; the analysis doesn't.
    [[ $compiler$level != gcc-O2 ]] || level='-O2 -fno-ipa-ra'
    make_gc_program fixed $compiler "$level -fno-pie" lld
    check fixed
    make_gc_program pie $compiler "$level -fPIE" lld -pie -Wl,-z,notext
    check pie
  done
  memory=no registers=
  [[ $compiler != gcc ]] || registers=-fno-ipa-ra
  make_gc_program gnu $compiler "-O2 -fno-pie $registers" bfd -z lazy
  check gnu
  make_gc_program no-plt $compiler "-O2 $registers -fPIE -fno-plt -fcf-protection" bfd -pie
  check no-plt
done
