#!/bin/bash
# A table of pointers stands right behind a jump table, and the code refers to a place before its start, as one does that
# counts from 2. Its functions' addresses are taken all the same.
. "$TOP/tests/cli/common.sh"

compile_managed "$gc/managed.c" managed.o
"$LLVM/bin/clang" -O1 -Dno_switch=a -Dby_table=b -Dtaken=c -I"$gc" -c "$gc/native.c" -o native.o
"$LLVM/bin/clang" -O1 -c "$gc/main.c" -o main.o
cat >tables.S <<'S'
    .text
    .globl no_switch, by_table
    .type no_switch, @function
no_switch:
    and $1, %edi
    jmp *jumps(,%rdi,8)
1:  mov $1, %eax
    ret
2:  mov $2, %eax
    ret
    .size no_switch, . - no_switch
    .type by_table, @function
by_table:
    push %rax
    mov $2, %edi
    call *pointers-16(,%rdi,8)
    pop %rcx
    ret
    .size by_table, . - by_table
    .type only_in_table, @function
only_in_table:
    call collect
    ret
    .size only_in_table, . - only_in_table
    .section .rodata
    .p2align 3
jumps:
    .quad 1b, 2b
pointers:
    .quad only_in_table
    .section .note.GNU-stack, "", @progbits
S
"$LLVM/bin/clang" -c tables.S
link_with lld app managed.o native.o main.o tables.o
expect_verdict kept app managed_by_table --gc-entry=collect
expect_status 0 "$stackpack" callgraph app
expect_output '^[0-9a-f]+ only_in_table \(address taken\)$'
