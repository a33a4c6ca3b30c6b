#!/bin/bash
# One object of a program has lost its local symbols, and has no unwind tables: code between two functions is the only sign of a
# copy of a GC entry. The other objects have theirs.
. "$TOP/tests/cli/common.sh"

cat >native.c <<'C'
volatile long state;
__attribute__((noinline)) void collect(void) { state++; }
static __attribute__((noinline, used)) void copy(long x) __asm__("collect.constprop.0");
static void copy(long x) { state += x; }
__attribute__((noinline)) long no_call(long x) { copy(x); return state + 1; }
__attribute__((noinline)) long leaf(long x) { return state += x; }
C
cat >managed.c <<'C'
long no_call(long x), leaf(long x);
__attribute__((noinline)) long managed_no_call(long x) { return no_call(x) + 1; }
__attribute__((noinline)) long managed_leaf(long x) { return leaf(x) + 1; }
C
compile_managed managed.c managed.o
echo 'long managed_no_call(long), managed_leaf(long); static __attribute__((noinline)) long of_main(long x) { return managed_leaf(x); }
int main(void) { return managed_no_call(1) + of_main(2) == 1; }' >main.c
"$LLVM/bin/clang" -O1 -c main.c
for options in -fasynchronous-unwind-tables -fno-asynchronous-unwind-tables; do
  "$LLVM/bin/clang" -O1 $options -c native.c
  strip -x -o lost.o native.o
  for linker in lld bfd; do
    link_with $linker app managed.o main.o lost.o
    expect_verdict kept app managed_no_call --gc-entry=collect
    expect_verdict dropped app managed_leaf --gc-entry=collect
    expect_status 0 "$stackpack" pack --always --gc-entry=collect -o packed app
    grep -q 'warning: some functions have no symbol, so a part of a GC entry may have no name: 1 records are kept' err ||
      { cat err; fail "$linker $options: not told"; }
    echo complete >policy
    expect_verdict dropped app managed_no_call --gc-entry=collect --policy=policy
  done
done
