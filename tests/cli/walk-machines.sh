#!/bin/bash
# AArch64 and RISC-V, by qemu: frames missing from unwind tables, with code that hides their size. A walk passes frames with a
# frame pointer at LLVM's size; a larger frame, by vectors of the processor's size, or a frame that lacks a frame pointer, is a
# stop: else the caller's slots would be sought in wrong places, or the caller be passed over.
. "$TOP/tests/cli/common.sh"

# The sum is 1007: 7 by `inner`, 1000 by its caller.
cat >managed.ll <<'IR'
declare void @collect()
declare ptr addrspace(1) @allocate(i64) "gc-leaf-function"
declare void @touch(ptr) "gc-leaf-function"

define i64 @inner() noinline #0 gc "statepoint-example" {
  %p = call ptr addrspace(1) @allocate(i64 7)
  call void @collect()
  %value = load i64, ptr addrspace(1) %p
  ret i64 %value
}
define i64 @vectors() noinline #0 VECTORS gc "statepoint-example" {
  %vector = alloca <vscale x 4 x i32>
  call void @touch(ptr %vector)
  %p = call ptr addrspace(1) @allocate(i64 7)
  call void @collect()
  call void @touch(ptr %vector)
  %value = load i64, ptr addrspace(1) %p
  ret i64 %value
}
define i64 @outer(ptr %callee) noinline #0 gc "statepoint-example" {
  %p = call ptr addrspace(1) @allocate(i64 1000)
  %inner = call i64 %callee()
  %value = load i64, ptr addrspace(1) %p
  %sum = add i64 %value, %inner
  ret i64 %sum
}
; It makes the stack maps large enough for the notes that have to move.
define void @unused(ptr addrspace(1) %p) #0 gc "statepoint-example" {
  call void @collect()
  call void @collect()
  call void @collect()
  ret void
}
IR
cat >collector.c <<'C'
#include "moving.h"

void touch(void *p) { (void)p; }

void collect_at(uintptr_t pc, uintptr_t stack_pointer, uintptr_t frame_pointer) {
  struct stackpack_context context = stackpack_context_at_call(pc, stack_pointer, NULL);
  stackpack_context_set(&context, STACKPACK_FRAME_POINTER, frame_pointer);
  move_objects(&context);
}

long inner(void), vectors(void), outer(long (*callee)(void));

int main(int argc, char **argv) {
  (void)argv;
  open_process();
  printf("%ld\n", outer(argc > 1 ? vectors : inner));
  return 0;
}
C
echo '#include "enter.inc"
ENTER collect, collect_at, ARGUMENT_0, ARGUMENT_1, ARGUMENT_2' >stub.S

# Sets the compiler and the emulator for a machine.
choose_machine() { # MACHINE
  machine=$1 llc=(-mtriple="$1-linux-gnu" -filetype=obj -O2)
  emulator=("qemu-$1" -cpu max -L "/usr/$1-linux-gnu")
  vectors='"target-features"="+sve"'
  [[ $1 == aarch64 ]] || {
    emulator=("qemu-$1" -cpu rv64,v=true,vext_spec=v1.0 -L "/usr/$1-linux-gnu")
    vectors='"target-features"="+m,+a,+f,+d,+c,+v"'
    llc+=(-mattr=+m,+a,+f,+d,+c -target-abi=lp64d)
  }
}

build() { # NAME ATTRIBUTES
  sed "s/#0/$2/; s/VECTORS/$vectors/" managed.ll >"$1.ll"
  "$LLVM/bin/opt" -passes=rewrite-statepoints-for-gc "$1.ll" -o "$1.bc"
  "$LLVM/bin/llc" "${llc[@]}" "$1.bc" -o "$1.o"
  "$machine-linux-gnu-gcc" -O2 -fno-omit-frame-pointer -no-pie -static -I"$TOP/runtime" -I"$TOP/tests/cli/walk" -I"$TOP/samples/common" "$1.o" \
    collector.c stub.S "$machine/libstackpack.a" -o "$1"
  expect_status 0 "$stackpack" pack --always -q -o "$1.packed" "$1"
}

expect_walk() { # PROGRAM ANSWER SUM [vectors]
  local program
  for program in "$1" "$1.packed"; do
    expect_status 0 "${emulator[@]}" "./$program" "${@:4}"
    [[ $(head -n 1 out) == "$2" && $(tail -n 1 out) == "$3" ]] ||
      { cat out; fail "$machine, $program ${*:4}: not '$2' and $3"; }
  done
}

# Either stops at the first frame, or takes the frames from the code, and has the right sum.
expect_stop_or_sum() { # PROGRAM [vectors]
  local program
  for program in "$1" "$1.packed"; do
    expect_status 0 "${emulator[@]}" "./$program" "${@:2}"
    [[ $(head -n 1 out) == "$stop, 1 frames" || ($(head -n 1 out) == "$end, 2 frames" && $(tail -n 1 out) == 1007) ]] ||
      { cat out; fail "$machine, $program ${*:2}: neither '$stop' nor the right sum"; }
  done
}

tried=
for machine in "${other_machines[@]}"; do
  can_run "$machine" || continue
  choose_machine "$machine"
  build_for "$machine" "$machine" "" libstackpack.a
  end='native code; frames above it were not looked at'
  stop="a frame of unknown or uncertain size, which needs unwind tables"
  build tables 'uwtable "frame-pointer"="none"'
  build pointers 'nounwind "frame-pointer"="all"'
  build both 'uwtable "frame-pointer"="all"'
  build neither 'nounwind "frame-pointer"="none"'
  for program in tables pointers both; do
    expect_walk $program "$end, 2 frames" 1007
  done
  expect_walk both "$end, 2 frames" 1007 vectors
  for program in tables pointers neither; do
    expect_stop_or_sum $program vectors
  done
  expect_stop_or_sum neither
  tried+=" $machine"
done
[[ -n $tried ]] || skip "no qemu, or no compiler, for another machine"
echo "tried:$tried"
