#!/bin/bash
# samples/types: the pass gives indirect calls and functions their types; calls then lead to functions of their type alone.
. "$TOP/tests/cli/common.sh"

[[ -x $LLVM/bin/llvm-config && -e $("$LLVM/bin/llvm-config" --includedir)/llvm/IR/PassManager.h ]] || skip "no headers of LLVM"
read -ra flags < <("$LLVM/bin/llvm-config" --cppflags | sed 's/-I/-isystem /g')
g++ -O1 -fPIC -shared -std=c++17 -fno-rtti -Wall -Wextra -Werror "${flags[@]}" "$TOP/samples/types/types_pass.cpp" -o types.so

cat >program.c <<'C'
#define APART __attribute__((noinline))
static volatile long state;
APART void collect(void) { state++; }
static APART long collects(long x) { collect(); return x; }
static APART double computes(double x) { return x * 3; }
enum choice { ONE };
static APART long chooses(unsigned x) { collect(); return x; }
static long (*volatile of_long)(long) = collects;
static double (*volatile of_double)(double) = computes;
static long (*volatile of_choice)(enum choice) = (long (*)(enum choice))chooses;
static APART void notes(long x) { state = x; collect(); }
static void (*volatile unprototyped)() = (void (*)())notes;
APART long by_long(long x) { return of_long(x) + 1; }
APART long by_choice(long x) { return of_choice(ONE) + x; }
APART long by_unprototyped(long x) { unprototyped(x); return x + 1; }
APART long no_collection(long x) { return (long)of_double((double)x) + 1; }
int main(void) { return (int)(by_long(1) + by_choice(2) + by_unprototyped(3) + no_collection(4)) & 1; }
C
for level in -O0 -O2; do
  "$LLVM/bin/clang" -w -std=c11 $level -Xclang -disable-O0-optnone -fpass-plugin="$PWD/types.so" -S -emit-llvm program.c
  sed -i -E 's/^(define .*@(by|no)_[^{]*) \{$/\1 gc "statepoint-example" {/' program.ll
  "$LLVM/bin/opt" -passes=rewrite-statepoints-for-gc program.ll -o program.bc
  "$LLVM/bin/llc" -relocation-model=pic -filetype=obj program.bc -o program.o
  for layout in -no-pie "-pie -Wl,-z,notext"; do
    # shellcheck disable=SC2086 # a list of words
    link_with lld app program.o $layout
    for function in by_long by_choice by_unprototyped; do expect_verdict kept app $function --gc-entry=collect; done
    expect_verdict dropped app no_collection --gc-entry=collect
  done
done
