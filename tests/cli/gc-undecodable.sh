#!/bin/bash
# Undecodable code may reach everything: it keeps the records of calls to it, is said, and with --strict is
# an error. So does code that another function enters between its instructions. A jump past a prefix is decoded.
. "$TOP/tests/cli/common.sh"

cat >odd.S <<'S'
    .text
    .globl no_call, no_chain, no_tail_call, no_cycle, no_switch, no_computed_goto, no_outside
    .macro function name
    .type \name, @function
\name:
    .endm
    .macro end name
    .size \name, . - \name
    .endm
    function no_call            /* a byte that is no instruction */
    ret
    .byte 0x06
    end no_call
    function no_chain           /* fine, but entered in its middle */
    movl $0xc3c3c3c3, %eax
    ret
    end no_chain
    function no_tail_call       /* does that */
    jmp no_chain + 2
    end no_tail_call
    function no_cycle           /* a jump past a prefix, to code that goes on with a call */
    je 1f
    lock
1:  addl $0, (%rsp)
    call no_outside
    ret
    end no_cycle
    function no_switch          /* hides its target from the branch predictor */
    lea by_call(%rip), %rax
    push %rax
    ret
    end no_switch
    function no_computed_goto   /* runs on into the next one, which calls */
    nop
    end no_computed_goto
    function no_runs_on
    call collect
    ret
    end no_runs_on
    function no_outside
    ret
    end no_outside
    .section .note.GNU-stack, "", @progbits
S
compile_managed "$gc/managed.c" managed.o
"$LLVM/bin/clang" -c odd.S
"$LLVM/bin/clang" -O1 -I"$gc" -c "$gc/native.c" -o native.o
"$LLVM/bin/clang" -O1 -c "$gc/main.c" -o main.o
link_with lld app managed.o odd.o native.o main.o -Wl,--allow-multiple-definition

for function in no_call no_chain no_switch no_computed_goto; do
  expect_verdict kept app managed_$function --gc-entry=collect
done
expect_verdict kept app managed_no_call --gc-entry=collect
expect_output "code that can't be decoded"
expect_verdict kept app managed_no_switch --gc-entry=collect
expect_output 'no_switch jumps by a pointer to'
expect_verdict kept app managed_no_computed_goto --gc-entry=collect
expect_output 'no_computed_goto goes on in no_runs_on'
expect_verdict dropped app managed_no_cycle --gc-entry=collect
expect_output 'no_cycle calls|can reach 2 functions'
expect_verdict dropped app managed_no_outside --gc-entry=collect

expect_status 0 "$stackpack" pack --gc-entry=collect --report -o packed app
grep -q "2 functions have code that can't be decoded" err || { cat err >&2; fail "that should be said"; }
expect_output "kept +[0-9]+  code that can't be decoded"
cp app before
expect_refusal "app: code that can't be decoded, in no_c[a-z]+ at 0x" "$stackpack" pack --strict --gc-entry=collect app
expect_same app before
