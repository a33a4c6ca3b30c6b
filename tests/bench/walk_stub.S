/* walk_stub.S - where the managed code of walk.ll enters walk.c: with its return address, stack pointer and frame pointer. */
	.text
	.globl bench_walk
	.type bench_walk, @function
bench_walk:
	.cfi_startproc
	movq (%rsp), %rdi
	leaq 8(%rsp), %rsi
	movq %rbp, %rdx
	jmp bench_walk_from
	.cfi_endproc
	.size bench_walk, . - bench_walk

	.section .note.GNU-stack, "", @progbits
