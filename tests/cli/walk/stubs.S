/* stubs.S - the ways between managed code and the program: see program.c. */
	.text

/* A safepoint. The block of registers is a struct stackpack_registers of 136 bytes, at the stack pointer. */
	.macro safepoint name
	.globl \name
	.type \name, @function
\name:
	.cfi_startproc
	movq (%rsp), %rdi
	leaq 8(%rsp), %rsi
	subq $136, %rsp
	.cfi_adjust_cfa_offset 136
	movq %rbx, 24(%rsp)
	movq %rbp, 48(%rsp)
	movq %r12, 96(%rsp)
	movq %r13, 104(%rsp)
	movq %r14, 112(%rsp)
	movq %r15, 120(%rsp)
	movq $0xf048, 128(%rsp)
	movq %rsp, %rdx
	call collect_at
	movq 24(%rsp), %rbx
	movq 48(%rsp), %rbp
	movq 96(%rsp), %r12
	movq 104(%rsp), %r13
	movq 112(%rsp), %r14
	movq 120(%rsp), %r15
	addq $136, %rsp
	.cfi_adjust_cfa_offset -136
	ret
	.cfi_endproc
	.size \name, . - \name
	.endm

	safepoint collect
	safepoint take /* with ten unread arguments */

/* Calls C, and notes the managed frame: on the stack, in the list `calls_out`, are the caller's return address and stack
 * pointer, and the entry before. */
	.globl call_native
	.type call_native, @function
call_native:
	.cfi_startproc
	movq (%rsp), %rax
	leaq 8(%rsp), %rcx
	pushq %rcx
	.cfi_adjust_cfa_offset 8
	pushq %rax
	.cfi_adjust_cfa_offset 8
	pushq calls_out(%rip)
	.cfi_adjust_cfa_offset 8
	movq %rsp, calls_out(%rip)
	call native
	popq calls_out(%rip)
	.cfi_adjust_cfa_offset -8
	addq $16, %rsp
	.cfi_adjust_cfa_offset -16
	ret
	.cfi_endproc
	.size call_native, . - call_native

/* call_managed(function, n, callee): calls function(n, callee), and notes in `managed_end` where its frame ends. */
	.globl call_managed
	.type call_managed, @function
call_managed:
	.cfi_startproc
	subq $8, %rsp
	.cfi_adjust_cfa_offset 8
	movq %rsp, managed_end(%rip)
	movq %rdi, %rax
	movq %rsi, %rdi
	movq %rdx, %rsi
	call *%rax
	addq $8, %rsp
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.size call_managed, . - call_managed

	.section .note.GNU-stack, "", @progbits
