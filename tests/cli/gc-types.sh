#!/bin/bash
# Where .llvm.callgraph tells the types of functions and pointers, an indirect call leads to functions of its type alone,
# and to those without a known type.
. "$TOP/tests/cli/common.sh"

cat >types.c <<'C'
#define NOINLINE __attribute__((noinline))
void collect(void);
static NOINLINE long collects(long x) { collect(); return x; }
static NOINLINE double computes(double x) { return x * 3; }
static long (*volatile of_long)(long) = collects;
static double (*volatile of_double)(double) = computes;

NOINLINE long by_call(long x) { return of_long(x) + 1; }
NOINLINE long no_call(long x) { return (long)of_double((double)x) + 1; }
NOINLINE long by_chain(long x) { return (long)of_double((double)x) + of_long(x) + 1; }
NOINLINE long no_tail_call(long x) { return (long)of_double((double)x); }
C
option=-fexperimental-call-graph-section
"$LLVM/bin/clang" $option -c types.c 2>/dev/null || skip "this LLVM writes no .llvm.callgraph"
compile_managed "$gc/managed.c" managed.o
# The runtime's functions of the same names get others.
"$LLVM/bin/clang" -O1 $option -Dby_call=a -Dno_call=b -Dby_chain=c -Dno_tail_call=d -I"$gc" -c "$gc/native.c" -o native.o
"$LLVM/bin/clang" -O1 $option -c "$gc/main.c" -o main.o
for layout in -no-pie "-pie -Wl,-z,notext"; do
  "$LLVM/bin/clang" -O1 -fPIE $option -c types.c
  # shellcheck disable=SC2086 # a list of words
  link_with lld app managed.o types.o native.o main.o $layout
  has_section app .llvm.callgraph || fail "no .llvm.callgraph"
  for function in by_call by_chain; do expect_verdict kept app managed_$function --gc-entry=collect; done
  for function in no_call no_tail_call; do expect_verdict dropped app managed_$function --gc-entry=collect; done
  expect_verdict kept app managed_by_call --gc-entry=collect
  expect_output 'by_call calls by a pointer any function of a type'

  # A function without a type may be meant by any pointer.
  "$LLVM/bin/clang" -O1 -fPIE -c types.c
  # shellcheck disable=SC2086
  link_with lld app managed.o types.o native.o main.o $layout
  expect_verdict kept app managed_no_call --gc-entry=collect
done
