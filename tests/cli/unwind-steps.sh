#!/bin/bash
# Signals at each instruction of random programs, on x86-64: see unwind/steps.c. GCC's unwind tables are wrong at the ends of functions
# that align their stack; a caller's frame pointer shows it, or %r13. `make campaign-unwinding` tries more programs, and musl.
. "$TOP/tests/cli/common.sh"

[[ $(uname -m) == x86_64 ]] || skip "the trap flag is x86-64's"
here=$TOP/tests/cli/unwind
build_plain_library
# A seed, a compiler and options. Number 12 has a function that realigns by %r13. For the K8, GCC's functions save registers below the stack
# pointer first. Where Clang's ways with and without a frame meet, and at the start of a part, its rules describe a frame.
# Rules omit what two do instead of a return, and words that the last two push for a moment.
for build in "1 gcc -O0" "1 gcc -O2 -fno-omit-frame-pointer" "12 gcc -O2 -mstackrealign" "1 gcc -Os" "23 gcc -O2 -mtune=k8" \
  "11 $LLVM/bin/clang -O2 -fzero-call-used-regs=all" "12 $LLVM/bin/clang -O2 -fbasic-block-sections=all" \
  "1 gcc -O2 -mfunction-return=thunk -fcf-protection=none" "1 $LLVM/bin/clang -O2 -mlvi-cfi" \
  "101 gcc -Oz" "101 gcc -O2 -mindirect-branch=thunk -mfunction-return=thunk-inline -fcf-protection=none"; do
  sampled 2 || continue
  read -r seed compiler options <<<"$build"
  python3 "$here/steps.py" "$seed" >random.c
  # shellcheck disable=SC2086 # options
  "$compiler" -std=gnu17 -D_GNU_SOURCE -w $options -fPIE -fasynchronous-unwind-tables -c random.c
  gcc -std=c17 -D_GNU_SOURCE -O2 -w -I"$TOP/runtime" random.o "$here/steps.c" plain/libstackpack.a -o steps
  expect_status 0 ./steps
  echo "$build: $(cat out)"
  expect_output 'frames [1-9][0-9]* others [0-9]+ returns [1-9][0-9]* wrong 0$'
done

for level in "-O0" "-O1 -fno-omit-frame-pointer" "-O2"; do
  # shellcheck disable=SC2086 # options
  g++ $level -fno-toplevel-reorder -fno-reorder-blocks-and-partition -I"$TOP/runtime" "$here/landing.cc" plain/libstackpack.a -o landing
  expect_status 0 ./landing
  echo "landing $level: $(cat out)"
done

for level in "-O0" "-O1 -fno-omit-frame-pointer" "-O2"; do
  for program in switch jump; do
    # shellcheck disable=SC2086 # options
    gcc -std=c17 -D_GNU_SOURCE $level -fno-toplevel-reorder -I"$TOP/runtime" "$here/$program.c" plain/libstackpack.a -o "$program"
    expect_status 0 "./$program"
    echo "$program $level: $(cat out)"
  done
done

for level in "-O0" "-O2"; do
  "$LLVM/bin/clang" -std=c17 -D_GNU_SOURCE $level -fno-omit-frame-pointer -mno-red-zone -I"$TOP/runtime" "$here/preserving.c" plain/libstackpack.a -o preserving
  expect_status 0 ./preserving
  echo "preserving $level: $(cat out)"
done
