#!/bin/bash
# Frames that have cost collectors their roots, as llc makes them, raw and packed: each walk finds all roots, or reports
# failure. The sums are right exactly where it does: 7 by the function itself, and 1007 by its caller.
. "$TOP/tests/cli/common.sh"

[[ $(uname -m) == x86_64 ]] || skip "stubs for x86-64"
traps=$TOP/tests/cli/walk

build() { # NAME LLC-OPTION...
  "$LLVM/bin/llc" -O2 -filetype=obj "${@:2}" managed.bc -o "$1.o"
  link_and_pack "$1"
}

link_and_pack() { # NAME
  "$CC" -no-pie -pthread "${flags[@]}" -o "$1" "$1.o" program.o stubs.o "$BUILD/libstackpack.a"
  "$stackpack" pack --always -q -o "$1.packed" "$1"
}

without_tables() { # NAME BUILT
  "$LLVM/bin/llvm-objcopy" --remove-section=.eh_frame --remove-section=.rela.eh_frame "$2.o" "$1.o"
  link_and_pack "$1"
}

# The first safepoint's walk, and the sum.
expect_one() { # PROGRAM WALK FOUND ARGUMENT...
  expect_status 0 "./$1" "${@:4}"
  if [[ $(head -n 1 out) != "$2" || $(tail -n 1 out) != "found $3" ]]; then
    cat out >&2
    fail "$1 ${*:4}: not '$2' and $3"
  fi
}
expect_walk() { # PROGRAM WALK FOUND ARGUMENT...
  expect_one "$@"
  expect_one "$1.packed" "${@:2}"
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
without_tables bare plain
without_tables bare-registers registers

end='native code; frames above it were not looked at'
both="$end, 2 managed frames, 2 forwarded"
unsure="a frame of unknown or uncertain size, which needs unwind tables"

# Ordinary frames, with and without frame pointers.
for program in plain pointers stored bare; do
  [[ $program == bare ]] || expect_walk $program "$both" 1014 plain caller
  expect_walk $program "the stack's end, 2 managed frames, 2 forwarded" 1014 plain caller exact
done

# Without unwind tables, `pack` takes sizes from the code. A raw program has LLVM's, unchecked: so an apparent native frame may
# be another one.
expect_one bare.packed "$both" 1014 plain caller
expect_one bare "$unsure, 2 managed frames, 2 forwarded" 1014 plain caller

# A stack pointer that moves after the prologue, and slots addressed from %rbp and %rbx. The registers of the youngest frame
# are enough. Without them nothing is guessed.
lost="an unknown register that a root or a frame's end depends on"
for function in dynamic based; do
  for program in plain pointers; do
    expect_walk $program "$both" 1014 $function caller
  done
  expect_one bare.packed "$both" 1014 $function caller
  expect_one bare "$unsure, 2 managed frames, 2 forwarded" 1014 $function caller
  expect_walk plain "$lost, 1 managed frames, 0 forwarded" -3000000 $function caller no-registers
done

# Roots in registers that calls preserve: found where the stub has stored them, and where a frame in between has saved
# them. Without unwind tables the place is unknown; they are never passed over.
expect_walk registers "$end, 1 managed frames, 1 forwarded" 7 plain
expect_walk registers "$both" 1014 plain caller
expect_walk registers "$lost, 1 managed frames, 0 forwarded" -1000000 plain no-registers
expect_one bare-registers "$lost, 2 managed frames, 1 forwarded" -1999993 plain caller
expect_one bare-registers.packed "$both" 1014 plain caller # the code tells where registers are saved

# Arguments that are pushed before a call are missing in LLVM's frame size, but included in the sizes from unwind tables and the
# code. Where both are ignored, the caller is missed, and the walk reports its doubt.
for program in plain pointers stored; do
  expect_walk $program "the stack's end, 2 managed frames, 2 forwarded" 1014 pushes caller exact
done
expect_one bare.packed "the stack's end, 2 managed frames, 2 forwarded" 1014 pushes caller exact
for option in caller exact; do
  expect_status 0 ./bare pushes caller $option
  [[ $(head -n 1 out) == "$unsure, 1 managed frames, 1 forwarded" ]] || { cat out >&2; fail "a frame was missed, and nothing shows it"; }
done

# C between managed frames, without frame pointers. A walk ends there, and goes on where managed code was left.
expect_walk pointers "$end, 3 managed frames, 2 forwarded" -3000000 out caller
# A frame with a frame pointer ends by that: where managed code was left, it must have been noted, too.
expect_walk plain "$end, 5 managed frames, 4 forwarded" 1014 out caller resume
expect_walk pointers "$lost, 4 managed frames, 3 forwarded" -1999993 out caller resume
