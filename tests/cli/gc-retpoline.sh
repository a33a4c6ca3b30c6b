#!/bin/bash
# Indirect calls that compilers hide in returns, from processors that guess wrong: they are indirect calls all the same.
. "$TOP/tests/cli/common.sh"

check() { # PROGRAM
  local function
  for function in by_pointer by_pointer_tail by_callback by_chain; do
    expect_verdict kept "$1" managed_$function --gc-entry=collect
  done
  for function in no_call no_chain no_cycle no_outside; do
    expect_verdict dropped "$1" managed_$function --gc-entry=collect
  done
}
make_gc_program app "$LLVM/bin/clang" "-O2 -fno-pie -mretpoline" lld
check app
make_gc_program app gcc "-O2 -fno-pie -mindirect-branch=thunk -fcf-protection=none" bfd
check app

# By hand, with something between the store and the return.
cat >hidden.S <<'S'
    .text
    .globl by_pointer, by_pointer_tail, no_call, no_chain
    .type by_pointer, @function
by_pointer:
    lea by_call(%rip), %rax
    mov %rax, -8(%rsp)
    sub $8, %rsp
    ret
    .size by_pointer, . - by_pointer
    .type by_pointer_tail, @function
by_pointer_tail:
    lea by_call(%rip), %rax
    push %rax
    xor %edx, %edx
    ret
    .size by_pointer_tail, . - by_pointer_tail
    .type no_call, @function
no_call:
    push %rbx
    sub $16, %rsp
    mov %rdi, (%rsp)
    mov (%rsp), %rax
    add $16, %rsp
    pop %rbx
    ret
    .size no_call, . - no_call
    .type no_chain, @function
no_chain:
    push %rbp
    mov %rsp, %rbp
    push %rbx
    call no_call
    pop %rbx
    pop %rbp
    ret
    .size no_chain, . - no_chain
    .section .note.GNU-stack, "", @progbits
S
"$LLVM/bin/clang" -c hidden.S
"$LLVM/bin/clang" -O1 -Dby_pointer=a -Dby_pointer_tail=b -Dno_call=c -Dno_chain=d -I"$gc" -c "$gc/native.c" -o native.o
link_with lld app managed.o native.o main.o hidden.o
check app
