#!/bin/bash
# Frames that have cost collectors their roots, as llc makes them, raw and packed: each walk finds all roots, or says that
# it can't. The sums are right exactly where it does: 7 by the function itself, and 1007 by its caller.
. "$TOP/tests/cli/common.sh"

[[ $(uname -m) == x86_64 ]] || skip "stubs for x86-64"
traps=$TOP/tests/cli/walk

build() { # NAME LLC-OPTION...
  "$LLVM/bin/llc" -O2 -filetype=obj "${@:2}" managed.bc -o "$1.o"
  "$CC" -no-pie -pthread "${flags[@]}" -o "$1" "$1.o" program.o stubs.o "$BUILD/libstackpack.a"
  "$stackpack" pack -q -o "$1.packed" "$1"
}

# The first safepoint's walk, and the sum.
expect_walk() { # PROGRAM WALK FOUND ARGUMENT...
  local program
  for program in "$1" "$1.packed"; do
    expect_status 0 "./$program" "${@:4}"
    if [[ $(head -n 1 out) != "$2" || $(tail -n 1 out) != "found $3" ]]; then
      cat out >&2
      fail "$program ${*:4}: not '$2' and $3"
    fi
  done
}

flags=()
! nm "$BUILD/libstackpack.a" 2>/dev/null | grep __asan_init >/dev/null || flags=(-fsanitize=address,undefined)
"$LLVM/bin/opt" -passes=rewrite-statepoints-for-gc "$traps/managed.ll" -o managed.bc
"$LLVM/bin/clang" -std=c17 -Wall -Wextra -Werror -O2 -fomit-frame-pointer -I"$TOP/runtime" -D_GNU_SOURCE \
  -c "$traps/program.c" -o program.o
"$LLVM/bin/clang" -c "$traps/stubs.S" -o stubs.o
build plain
build pointers --frame-pointer=all
build registers -fixup-allow-gcptr-in-csr -max-registers-for-gc-values=4
build stored --no-x86-call-frame-opt

end='the end of the managed frames'
both="$end, 2 managed frames, 2 forwarded"

# Ordinary frames: by their size, and if they have frame pointers, by these.
expect_walk plain "$both" 1014 plain caller
expect_walk pointers "$both" 1014 plain caller promise
expect_walk pointers "$both" 1014 plain caller pointers
expect_walk plain "the stack's end, 2 managed frames, 2 forwarded" 1014 plain caller exact

# Functions that don't keep a frame pointer, though the walk was told so: found out by the frame size.
contradiction='frame size, frame pointer and unwinder that contradict each other'
expect_walk plain "$contradiction, 1 managed frames, 1 forwarded" -1999993 plain caller promise
expect_walk plain "$contradiction, 1 managed frames, 1 forwarded" -1999993 plain caller pointers

# A stack pointer that moves after the prologue, and slots addressed from %rbp and %rbx. The registers of the youngest frame
# are enough. Without them nothing is guessed.
lost="a root in or by a register that isn't known"
for function in dynamic based; do
  expect_walk plain "$both" 1014 $function caller
  expect_walk pointers "$both" 1014 $function caller pointers
  expect_walk plain "$lost, 1 managed frames, 0 forwarded" -3000000 $function caller no-registers
done

# Roots in registers that calls preserve: found where the stub has stored them, and never passed over where a frame in
# between has saved them.
expect_walk registers "$end, 1 managed frames, 1 forwarded" 7 plain
expect_walk registers "$lost, 2 managed frames, 1 forwarded" -1999993 plain caller
expect_walk registers "$lost, 1 managed frames, 0 forwarded" -1000000 plain no-registers

# Arguments that are pushed before a call aren't part of the frame size, so the walk by size misses the caller. It shows
# where the stack's end was declared, and where there are frame pointers.
expect_status 0 ./plain pushes caller exact
! grep -q "stack's end" out || fail "a frame was missed, and nothing shows it"
expect_walk pointers "$contradiction, 1 managed frames, 1 forwarded" -1999993 pushes caller promise
expect_walk pointers "$contradiction, 1 managed frames, 1 forwarded" -1999993 pushes caller pointers
expect_walk stored "the stack's end, 2 managed frames, 2 forwarded" 1014 pushes caller exact

# C between managed frames, without frame pointers. A walk ends there, and goes on where managed code was left.
expect_walk pointers "$end, 3 managed frames, 2 forwarded" -3000000 out caller
expect_walk pointers "$end, 3 managed frames, 2 forwarded" -3000000 out caller pointers
for program in plain pointers; do
  expect_walk $program "$end, 5 managed frames, 4 forwarded" 1014 out caller resume
done
