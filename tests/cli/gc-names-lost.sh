#!/bin/bash
# One object of a program has lost its local symbols, and has no unwind tables: code between two functions is the only sign of a
# copy of a GC entry. The other objects have theirs. Code in assembly has a label there that isn't the copy's name, or no function's
# end before it; and a promise for what is in front of it isn't for the copy.
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

# A global function in assembly.
define() { # NAME CODE
  echo ".globl $1; .type $1, @function; $1: $2; .size $1, . - $1"
}

# What comes before the copy, and the way into it.
check_assembly() { # BEFORE WAY
  cat >native.S <<S
    .text
    .globl before
    .type before, @function
before: ret
$1
copy: incl state(%rip)
    ret
    $(define no_call "$2")
    $(define leaf 'mov $1, %eax; ret')
    $(define collect 'incl state(%rip); ret')
    .local state
    .comm state, 4
    .section .note.GNU-stack, "", @progbits
S
  "$LLVM/bin/clang" -c native.S
  strip -x -o lost.o native.o
  link_with lld app managed.o main.o lost.o
  expect_verdict kept app managed_no_call --gc-entry=collect --no-gc=before --no-gc='before_*'
  expect_verdict dropped app managed_leaf --gc-entry=collect
}
for way in 'jmp copy' 'push %rax; call copy; pop %rcx; ret'; do
  check_assembly '' "$way"
  check_assembly '.size before, . - before; .globl before_end; before_end:' "$way"
done

# Start-up code that only jumps to `main` has a label alone (RISC-V's in glibc 2.41). The program's first function takes its address.
# An address that another function takes may be a copy's.
echo 'long managed_no_call(long); int main(void) { return managed_no_call(1) == 1; }' >main.c
"$LLVM/bin/clang" -O1 -c main.c
check_start() { # kept|dropped FIRST OTHER: what they do
  cat >native.S <<S
    .text
    $(define _start "$2; hlt")
start_main: jmp main
    .p2align 4
    $(define no_call 'jmp *pointer(%rip)')
    $(define leaf 'mov $1, %eax; ret')
    $(define other "$3; ret")
    $(define collect 'mov other@GOTPCREL(%rip), %rax; ret')
    .data
pointer: .quad leaf
    .section .note.GNU-stack, "", @progbits
S
  "$LLVM/bin/clang" -c native.S
  link_with lld app -nostdlib managed.o main.o native.o
  expect_verdict "$1" app managed_no_call --gc-entry=collect
}
check_start dropped 'lea start_main(%rip), %rdi; call *%rdi' nop
check_start kept 'call main' 'lea start_main(%rip), %rax'
