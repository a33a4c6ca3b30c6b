#!/bin/bash
# Where a frontend gives the functions' types in .stackpack.types, and the statepoint of an indirect call its type as ID, calls
# reach functions of the type, functions of types that it includes (.stackpack.subtypes), and untyped functions alone. LLVM's
# own section .llvm.callgraph narrows nothing: it lacks the calls' types.
. "$TOP/tests/cli/common.sh"

cat >types.ll <<'LL'
declare void @collect()
@collecting = global ptr @collects
@computing = global ptr @computes
define internal i64 @collects(i64 %x) {
  call void @collect()
  ret i64 %x
}
define internal i64 @computes(i64 %x) {
  ret i64 %x
}
define i64 @managed_typed(i64 %x) gc "statepoint-example" {
  %p = load volatile ptr, ptr @computing
  %r = call i64 %p(i64 %x) "statepoint-id"="1002"
  ret i64 %r
}
define i64 @managed_of_other_type(i64 %x) gc "statepoint-example" {
  %p = load volatile ptr, ptr @collecting
  %r = call i64 %p(i64 %x) "statepoint-id"="1001"
  ret i64 %r
}
define i64 @managed_without_functions(i64 %x) gc "statepoint-example" {
  %p = load volatile ptr, ptr @collecting
  %r = call i64 %p(i64 %x) "statepoint-id"="1003"
  ret i64 %r
}
define i64 @managed_untyped(i64 %x) gc "statepoint-example" {
  %p = load volatile ptr, ptr @computing
  %r = call i64 %p(i64 %x)
  ret i64 %r
}
define i64 @managed_of_unknown_type(i64 %x) gc "statepoint-example" {
  %p = load volatile ptr, ptr @computing
  %r = call i64 %p(i64 %x) "statepoint-id"="1004"
  ret i64 %r
}
define i64 @managed_direct(i64 %x) gc "statepoint-example" {
  %r = call i64 @collects(i64 %x) "statepoint-id"="1002"
  ret i64 %r
}
LL
for type in including_other including_by_another including_same; do
  cat >>types.ll <<LL
define i64 @managed_$type(i64 %x) gc "statepoint-example" {
  %p = load volatile ptr, ptr @collecting
  %r = call i64 %p(i64 %x) "statepoint-id"="$((2000 + ${#type}))"
  ret i64 %r
}
LL
done
# A pointer in a function that names another one's address may be a sum, but for the frontend's types.
cat >>types.ll <<'LL'
@any = global ptr null
define i64 @managed_typed_beside_address(i64 %x) gc "statepoint-example" {
  store volatile ptr @computes, ptr @any
  %p = load volatile ptr, ptr @computing
  %r = call i64 %p(i64 %x) "statepoint-id"="1002"
  ret i64 %r
}
LL
cat >types.S <<'S'
    .section .stackpack.types, "", @progbits
    .quad collects, 1001
    .quad computes, 1002
    .quad 0, 1003
    .quad main, 1000
    .section .stackpack.subtypes, "", @progbits
    .quad 2015, 1001 # including_other
    .quad 2020, 2015 # including_by_another
    .quad 2014, 1002 # including_same
    .quad 2014, 2014
    .quad 2014, 3000 # of which nothing is said
S
compile_managed "$gc/managed.c" managed.o
"$LLVM/bin/clang" -O1 -I"$gc" -c "$gc/native.c" -o native.o
"$LLVM/bin/clang" -O1 -c "$gc/main.c" -o main.o
sed -i 's/internal i64 @co/i64 @co/' types.ll
compile ./types.ll types.o -relocation-model=pic
"$LLVM/bin/clang" -c types.S -o said.o
for layout in -no-pie "-pie -Wl,-z,notext"; do
  # `taken` and others of native.c are untyped: any pointer may call them. So they must not collect here.
  "$LLVM/bin/clang" -O1 -fPIE -Dcollect=not_collect -I"$gc" -c "$gc/native.c" -o native.o
  echo 'static volatile long sink; void collect(void) { sink++; }' >collect.c
  "$LLVM/bin/clang" -O1 -fPIE -c collect.c
  # shellcheck disable=SC2086 # a list of words
  link_with lld app managed.o types.o said.o native.o collect.o main.o $layout
  for function in of_other_type untyped of_unknown_type direct including_other including_by_another; do expect_verdict kept app managed_$function --gc-entry=collect; done
  for function in typed without_functions including_same typed_beside_address; do expect_verdict dropped app managed_$function --gc-entry=collect; done
  expect_verdict kept app managed_of_other_type --gc-entry=collect
  expect_output 'calls by a pointer any function of a type'
  expect_status 0 "$stackpack" callgraph --format=dot app
  expect_output 'any function of a type'

  # A library that is loaded may store any of its functions.
  echo 'void *dlopen(const char *, int); void *load(void) { return dlopen("library.so", 1); }' >load.c
  "$LLVM/bin/clang" -O1 -fPIE -c load.c
  # shellcheck disable=SC2086
  link_with lld app managed.o types.o said.o native.o collect.o main.o load.o $layout
  expect_verdict kept app managed_typed --gc-entry=collect

  # Numbers of 64 bits with zeros below are no distances from the global offset table. (It has the C library's start function.)
  echo 'volatile long sink_of_numbers; void numbers(void) { sink_of_numbers = 0x3ff0000000000000; sink_of_numbers = 0x3b9aca0000000000; }' >numbers.c
  "$LLVM/bin/clang" -O1 -fPIE -c numbers.c
  # shellcheck disable=SC2086
  link_with lld app managed.o types.o said.o native.o collect.o main.o numbers.o $layout
  expect_verdict dropped app managed_typed --gc-entry=collect

  # A function without a type may be meant by any pointer.
  "$LLVM/bin/clang" -O1 -fPIE -I"$gc" -c "$gc/native.c" -o native.o
  # shellcheck disable=SC2086
  link_with lld app managed.o types.o said.o native.o main.o $layout
  expect_verdict kept app managed_typed --gc-entry=collect
done

# The section stays in the file, outside memory; a broken one is ignored.
has_section app .stackpack.types || fail "no .stackpack.types"
printf '\0' >byte
"$LLVM/bin/llvm-objcopy" --remove-section=.stackpack.types --add-section=.stackpack.types=byte app broken
expect_verdict kept broken managed_without_functions --gc-entry=collect
"$LLVM/bin/llvm-objcopy" --remove-section=.stackpack.subtypes --add-section=.stackpack.subtypes=byte app broken
expect_verdict kept broken managed_without_functions --gc-entry=collect

# The C library's address-taken functions are untyped: functions that are called by their words alone aren't.
cat >library.c <<'C'
#include <stdlib.h>
#include <string.h>
void collect(void);
char text[8];
static int compare(const void *a, const void *b) { collect(); return *(const char *)a - *(const char *)b; }
int (*volatile comparison)(const void *, const void *) = compare;
long no_call(long x) { strcpy(text, x > 3 ? "a" : "b"); return x; }
long sorts(long x) { qsort(text, 4, 1, comparison); return x; }
C
cat >>types.S <<'S'
    .section .stackpack.types, "", @progbits
    .quad compare, 3001
S
sed 's/^static int compare/int compare/' library.c >shared.c
"$LLVM/bin/clang" -c types.S -o said.o
"$LLVM/bin/clang" -O1 -fPIE -Dcollect=not_collect -Dno_call=without -I"$gc" -c "$gc/native.c" -o native.o
program=(managed.o types.o said.o native.o collect.o main.o shared.o)
for options in "" -fno-plt; do
  # shellcheck disable=SC2086 # may be empty
  "$LLVM/bin/clang" -O1 $options -fno-builtin -fPIE -c shared.c
  link_with bfd app "${program[@]}"
  expect_verdict dropped app managed_typed --gc-entry=collect
done

# Without symbols and unwind tables, several functions are one: one that has a type, one that has another, and one that has none.
cat >merged.S <<'S'
    .globl first
first:
    ret
    .skip 24, 0x90
second:
    call collect
    ret
    .skip 24, 0x90
third:
    ret
    .skip 24, 0x90
    .data
    .globl computing, collecting
    .quad first, third
computing: .quad first
collecting: .quad second
    .section .stackpack.types, "", @progbits
    .quad second, 1001
    .quad first, 1002
    .quad main, 1000, collect, 1000, managed_of_other_type, 1000
    .section .note.GNU-stack, "", @progbits
S
sed 's/^@\(collecting\|computing\) = global .*/@\1 = external global ptr/' types.ll >alone.ll
"$LLVM/bin/clang" -c merged.S collect.c
compile ./alone.ll alone.o -relocation-model=pic
cat >start.c <<'C'
long managed_typed(long), managed_of_other_type(long), managed_without_functions(long);
int main(void) { return managed_typed(1) + managed_of_other_type(1); }
C
"$LLVM/bin/clang" -O1 -c start.c
link_with lld merged start.o alone.o merged.o collect.o -Wl,--export-dynamic-symbol=collect,--export-dynamic-symbol=managed_of_other_type,--defsym=collects=collect,--defsym=computes=main
strip merged
expect_verdict kept merged managed_of_other_type --gc-entry=collect

# A typed call beside one without prototype, whose type LLVM's section lacks: it keeps all targets.
cat >unprototyped.c <<'C'
void collect(void);
static __attribute__((noinline)) long collects(long x) { collect(); return x; }
static double computes(double x) { return x * 3; }
static long (*volatile unprototyped)() = (long (*)())collects;
static double (*volatile typed)(double) = computes;
long no_call(long x) { return (long)typed((double)x) + unprototyped(x) + 1; }
C
option=-fexperimental-call-graph-section
"$LLVM/bin/clang" -O1 -w -std=c11 $option -c unprototyped.c 2>/dev/null || exit 0 # an LLVM that doesn't write it
"$LLVM/bin/clang" -O1 $option -Dno_call=without -I"$gc" -c "$gc/native.c" -o native.o
link_with lld app managed.o unprototyped.o native.o main.o
has_section app .llvm.callgraph || fail "no .llvm.callgraph"
expect_verdict kept app managed_no_call --gc-entry=collect
