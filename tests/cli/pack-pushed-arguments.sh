#!/bin/bash
# LLVM pushes arguments in excess of the registers, and its frame sizes leave them out: the table has the true sizes, as far as
# unwind tables have them.
. "$TOP/tests/cli/common.sh"

[[ $(uname -m) == x86_64 ]] || skip "pushes of x86-64"

# Three calls push where unwind tables show it; in `guarded`, `pointer` and `dynamic`, they go by the frame pointer.
cat >pushes.ll <<'IR'
declare ptr addrspace(1) @allocate(i64)
declare void @few(i64, i64, i64, i64, i64, i64)
declare void @many(i64, i64, i64, i64, i64, i64, i64, i64, i64, i64)
declare i32 @__gcc_personality_v0(...)

define i64 @run(i64 %n) noinline gc "statepoint-example" {
  %p = call ptr addrspace(1) @allocate(i64 16)
  call void @few(i64 1, i64 2, i64 3, i64 4, i64 5, i64 6)
  %value = load i64, ptr addrspace(1) %p
  ret i64 %value
}

define i64 @once(i64 %n) noinline gc "statepoint-example" {
  %p = call ptr addrspace(1) @allocate(i64 16)
  call void @many(i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7, i64 8, i64 9, i64 10)
  %value = load i64, ptr addrspace(1) %p
  ret i64 %value
}

define i64 @twice(i64 %n) noinline gc "statepoint-example" {
  %p = call ptr addrspace(1) @allocate(i64 16)
  call void @many(i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7, i64 8, i64 9, i64 10)
  call void @many(i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7, i64 8, i64 9, i64 %n)
  call void @few(i64 1, i64 2, i64 3, i64 4, i64 5, i64 %n)
  %value = load i64, ptr addrspace(1) %p
  ret i64 %value
}

define i64 @guarded(i64 %n) noinline "frame-pointer"="all" gc "statepoint-example"
    personality ptr @__gcc_personality_v0 {
  %p = call ptr addrspace(1) @allocate(i64 16)
  invoke void @many(i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7, i64 8, i64 9, i64 10) to label %normal unwind label %caught

normal:
  call void @few(i64 1, i64 2, i64 3, i64 4, i64 5, i64 %n)
  %value = load i64, ptr addrspace(1) %p
  ret i64 %value

caught:
  %pad = landingpad token cleanup
  %sum = load i64, ptr addrspace(1) %p
  ret i64 %sum
}

define i64 @pointer(i64 %n) noinline "frame-pointer"="all" gc "statepoint-example" {
  %p = call ptr addrspace(1) @allocate(i64 16)
  call void @many(i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7, i64 8, i64 9, i64 10)
  %value = load i64, ptr addrspace(1) %p
  ret i64 %value
}

define i64 @dynamic(i64 %n) noinline gc "statepoint-example" {
  %array = alloca i64, i64 %n
  store i64 %n, ptr %array
  call void @many(i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7, i64 8, i64 9, i64 10)
  %value = load volatile i64, ptr %array
  ret i64 %value
}
IR
cat >native.c <<'C'
void few(long a, long b, long c, long d, long e, long f) { (void)(a + b + c + d + e + f); }
void many(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j) {
  few(a, b, c, d + g, e + h, f + i + j);
}
C
compile_main main.o
"$LLVM/bin/clang" -O1 -c native.c -o native.o

build() { # OUTPUT LLC-OPTION...
  compile ./pushes.ll "$1.o" -O2 "${@:2}"
  link_with lld "$1" main.o native.o "$1.o"
}

build pushing
build storing -no-x86-call-frame-opt

# The first is where `once` calls `many`.
first=$(objdump -d --no-show-raw-insn pushing | awk '/^[0-9a-f]+ <.*>:$/ { in_once = $2 == "<once>:" }
  is_next { sub(/:$/, "", $1); print "0x" $1 }
  { is_next = in_once && /call .*<many>/ }')
[[ $(objdump -d --no-show-raw-insn pushing | sed -n '/<once>:$/,/^$/p' | grep -c 'push ') -ge 4 ]] || fail "nothing is pushed"
frame_size() { # PROGRAM: what a look-up says of that address
  "$stackpack" lookup --format=json "$1" "$first" | python3 -c 'import json, sys; print(json.load(sys.stdin)["records"][0]["frame_size"])'
}

# A packed table and a raw one say how large the frame is with the 32 bytes that are pushed.
expect_status 0 "$stackpack" pack --always -o packed pushing
! grep -q 'no unwind table' out || { cat out >&2; fail "frames that aren't known"; }
expect_status 0 "$stackpack" verify pushing packed
expect_status 0 "$stackpack" pack --always -o stored storing
for program in pushing packed; do
  (($(frame_size $program) >= 32 + 8)) || fail "$program: the arguments aren't in the frame's size"
done

# In the absence of unwind tables, the code shows it, also for a frame of variable size: it ends at the frame pointer.
objcopy --rename-section .eh_frame=.other pushing unknown
expect_status 0 "$stackpack" pack --always -o packed unknown
! grep -q 'neither unwind tables nor the code' out || { cat out >&2; fail "frames that aren't known without unwind tables"; }
(($(frame_size packed) >= 32 + 8)) || fail "the arguments aren't in the frame's size"
expect_status 0 "$stackpack" pack --always --quiet --reader=elsewhere -o packed unknown
[[ ! -s out && ! -s err ]] || fail "--quiet isn't quiet"

# LLVM pushes a register by which a function finds its frame or its slots, before a call that leaves another value in it. The stack
# map omits that: the collector would read the callee's value.
cat >lost.ll <<'IR'
declare ptr addrspace(1) @allocate(i64)
declare void @touch(ptr) "gc-leaf-function"
declare CONVENTION i64 @callee(i64)

define i64 @run(i64 %n) noinline uwtable gc "statepoint-example" {
  %p = call ptr addrspace(1) @allocate(i64 16)
  %aligned = alloca i64, align 64
  %array = alloca i64, i64 %n
  call void @touch(ptr %aligned)
  call void @touch(ptr %array)
  %sum = call CONVENTION i64 @callee(i64 %n)
  %value = load i64, ptr addrspace(1) %p
  %both = add i64 %value, %sum
  ret i64 %both
}
IR
cat >callee.s <<'ASSEMBLY'
.globl main, allocate, touch, callee
main: allocate: touch: callee: ret
ASSEMBLY
for convention in ccc preserve_nonecc ghccc; do
  sed "s/CONVENTION/$convention/" lost.ll >one.ll
  compile ./one.ll one.o
  link_with lld lost one.o callee.s -no-pie
  if [[ $convention == ccc ]]; then
    expect_status 0 "$stackpack" pack --always -o packed lost
    continue
  fi
  expect_refusal 'lost: conflicting .* of run: the call loses a register .*; call by another convention, or .*--conflicts=omit' "$stackpack" pack lost
  address=$(sed -n 's/.* as at \(0x[0-9a-f]*\) .*/\1/p' err)
  expect_status 0 "$stackpack" pack --always --conflicts=omit -o packed lost
  for program in lost packed; do
    expect_status 1 "$stackpack" lookup $program "$address"
    expect_output 'not a safepoint'
  done
done
