#!/bin/bash
# An exception may collect on its way: its unwinder calls the program's own personality routine, and destructors at landing
# pads, outside all jumps' targets.
. "$TOP/tests/cli/common.sh"

compile_managed "$gc/managed.c" managed.o
"$LLVM/bin/clang" -O1 -Dby_chain=a -Dby_call=b -Dby_table=c -I"$gc" -c "$gc/native.c" -o native.o
"$LLVM/bin/clang" -O1 -c "$gc/main.c" -o main.o
cat >throws.cc <<'C'
extern "C" {
void collect(void);
long no_call(long x);
long by_chain(long x);
long by_call(long x);
long by_table(long x);
}
struct collects {
  long x;
  ~collects() { collect(); }
};
__attribute__((noinline)) static long throws(long x) {
  if (x > 1000)
    throw x;
  return x + 1;
}
/* The destructor's other call is inlined away: only a landing pad collects. */
long by_call(long x) {
  struct only_then {
    bool done = false;
    ~only_then() { if (!done) collect(); }
  } guard;
  long result = throws(x);
  guard.done = true;
  return result;
}
long by_chain(long x) { return by_call(x) + no_call(x); }
long by_table(long x) { collects guard{x}; return throws(x); }
C
"${CLANGXX:-$LLVM/bin/clang++}" -O2 -c throws.cc 2>log || skip "no C++ compiler: $(head -n 1 log)"
"$LLVM/bin/clang++" -fuse-ld=lld -no-pie -o app managed.o native.o main.o throws.o 2>log || skip "no C++ library: $(head -n 1 log)"
for function in by_call by_chain by_table; do
  expect_verdict kept app managed_$function --gc-entry=collect --no-gc='__*' --no-gc='_Unwind*'
done
expect_verdict dropped app managed_no_call --gc-entry=collect

# A personality routine that the unwind table alone names, directly.
cat >personality.S <<'S'
    .text
    .globl no_call
    .type no_call, @function
no_call:
    .cfi_startproc
    .cfi_personality 0x1b, personality
    call __cxa_rethrow
    ret
    .cfi_endproc
    .size no_call, . - no_call
    .type personality, @function
personality:
    .cfi_startproc
    call collect
    ret
    .cfi_endproc
    .size personality, . - personality
    .section .note.GNU-stack, "", @progbits
S
"$LLVM/bin/clang" -c personality.S
"$LLVM/bin/clang" -O1 -Dno_call=a -Dtaken=by_pointer_taken -I"$gc" -c "$gc/native.c" -o native.o
link_with lld app managed.o native.o main.o personality.o -Wl,--unresolved-symbols=ignore-all
expect_status 0 "$stackpack" callgraph app
expect_output '^0x[0-9a-f]+ personality \(address taken\)$'
