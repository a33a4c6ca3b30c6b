/* walk_stub.S - where the managed code of walk.ll enters walk.c: with its return address, its stack pointer, and
 * the registers that it expects to find unchanged. */
	.text
	.globl bench_walk
	.type bench_walk, @function
bench_walk:
	.cfi_startproc
	subq $136, %rsp
	.cfi_adjust_cfa_offset 136
	movq %rbx, 8*3(%rsp)
	movq %rbp, 8*6(%rsp)
	movq %r12, 8*12(%rsp)
	movq %r13, 8*13(%rsp)
	movq %r14, 8*14(%rsp)
	movq %r15, 8*15(%rsp)
	movq $0xf048, 8*16(%rsp)
	movq 136(%rsp), %rdi
	leaq 144(%rsp), %rsi
	movq %rsp, %rdx
	call bench_walk_from
	movq 8*3(%rsp), %rbx
	movq 8*6(%rsp), %rbp
	movq 8*12(%rsp), %r12
	movq 8*13(%rsp), %r13
	movq 8*14(%rsp), %r14
	movq 8*15(%rsp), %r15
	addq $136, %rsp
	.cfi_adjust_cfa_offset -136
	ret
	.cfi_endproc
	.size bench_walk, . - bench_walk

	.section .note.GNU-stack, "", @progbits
