/* managed_call.S - see managed_call.h. The counterpart of enter.inc: here the stack's managed frames end.
 *
 * This function's frame has a fixed size, so the stack pointer at the call equals the one after the
 * return, and a walk of the oldest managed frame arrives at it.
 */
	.text
	.globl managed_call
	.type managed_call, %function
managed_call:
	.cfi_startproc
#if defined __x86_64__
	pushq %rbp             /* the stack is aligned for the call */
	.cfi_adjust_cfa_offset 8
	movq %rsp, (%rsi)
	movq %rdi, %rax
	movq %rdx, %rdi
	movq %rcx, %rsi
	movq %r8, %rdx
	movq %r9, %rcx
	callq *%rax
	popq %rbp
	.cfi_adjust_cfa_offset -8
	ret
#elif defined __aarch64__
	hint 34 /* BTI c */
	stp x29, x30, [sp, -16]!
	.cfi_adjust_cfa_offset 16
	.cfi_offset 29, -16
	.cfi_offset 30, -8
	mov x9, sp
	str x9, [x1]
	mov x9, x0
	mov x0, x2
	mov x1, x3
	mov x2, x4
	mov x3, x5
	blr x9
	ldp x29, x30, [sp], 16
	.cfi_restore 29
	.cfi_restore 30
	.cfi_adjust_cfa_offset -16
	ret
#elif defined __riscv
	addi sp, sp, -16
	.cfi_adjust_cfa_offset 16
	sd ra, 8(sp)
	.cfi_offset ra, -8
	sd sp, (a1)
	mv t0, a0
	mv a0, a2
	mv a1, a3
	mv a2, a4
	mv a3, a5
	jalr t0
	ld ra, 8(sp)
	.cfi_restore ra
	addi sp, sp, 16
	.cfi_adjust_cfa_offset -16
	ret
#endif
	.cfi_endproc
	.size managed_call, . - managed_call

	.section .note.GNU-stack, "", %progbits
