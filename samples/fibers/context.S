/* context.S - the switch between stacks, and the ways by which managed code gets to it.
 *
 * A fiber is suspended where it waits: its managed code calls fiber_await or fiber_yield. These two
 * set the arguments of context_switch and jump to it, so that the return address is still their
 * caller's. context_switch then saves the youngest managed frame itself, which has a stack map. If
 * a C function called the switch, a walk of a suspended stack would start at that function's frame,
 * without a stack map.
 *
 * uintptr_t context_switch(struct context *save, const struct context *load, uintptr_t value);
 */
#if defined __x86_64__
	.text

	.globl context_switch
	.type context_switch, %function
context_switch:
	.cfi_startproc
	movq (%rsp), %rax      /* the return address: pc */
	leaq 8(%rsp), %rcx     /* the stack pointer after the return */
	movq %rax, 0(%rdi)
	movq %rcx, 8(%rdi)
	movq %rbp, 16(%rdi)
	movq %rbx, 24(%rdi)
	movq %r12, 32(%rdi)
	movq %r13, 40(%rdi)
	movq %r14, 48(%rdi)
	movq %r15, 56(%rdi)
	movq 8(%rsi), %rsp
	movq 16(%rsi), %rbp
	movq 24(%rsi), %rbx
	movq 32(%rsi), %r12
	movq 40(%rsi), %r13
	movq 48(%rsi), %r14
	movq 56(%rsi), %r15
	movq %rdx, %rax        /* the result */
	jmp *0(%rsi)
	.cfi_endproc
	.size context_switch, . - context_switch

/* void fiber_yield(void);
 * reference fiber_await(uint64_t fiber);
 *
 * They pass the fiber's request to the scheduler: FIBER_WANTS_YIELD (0), or the number of another
 * fiber. */
	.globl fiber_yield
	.type fiber_yield, %function
fiber_yield:
	.cfi_startproc
	xorl %edi, %edi
	jmp fiber_await
	.cfi_endproc
	.size fiber_yield, . - fiber_yield

	.globl fiber_await
	.type fiber_await, %function
fiber_await:
	.cfi_startproc
	movq %rdi, %rdx
	movq scheduler_running(%rip), %rdi
	leaq scheduler_context(%rip), %rsi
	jmp context_switch
	.cfi_endproc
	.size fiber_await, . - fiber_await

/* Where a new fiber begins, on an empty stack. The function is in %rbx, and its argument is the
 * value handed over. In the end its result stays in %rbx, where the scheduler finds it in the saved
 * context, and its request is FIBER_WANTS_END (-1). That call never returns.
 *
 * It has no caller: the undefined return address ends an unwinder's walk. */
	.globl fiber_begin
	.type fiber_begin, %function
fiber_begin:
	.cfi_startproc
	.cfi_undefined %rip
	movq %rax, %rdi
	callq *%rbx
	movq %rax, %rbx
	movq $-1, %rdi         /* FIBER_WANTS_END */
	callq fiber_await
	ud2
	.cfi_endproc
	.size fiber_begin, . - fiber_begin
#elif defined __aarch64__
	.text

	.globl context_switch
	.type context_switch, %function
context_switch:
	.cfi_startproc
	mov x9, sp
	stp x30, x9, [x0]      /* the return address: pc; the stack pointer */
	stp x29, x19, [x0, 16]
	stp x20, x21, [x0, 32]
	stp x22, x23, [x0, 48]
	stp x24, x25, [x0, 64]
	stp x26, x27, [x0, 80]
	str x28, [x0, 96]
	stp d8, d9, [x0, 104]
	stp d10, d11, [x0, 120]
	stp d12, d13, [x0, 136]
	stp d14, d15, [x0, 152]
	ldp x30, x9, [x1]
	mov sp, x9
	ldp x29, x19, [x1, 16]
	ldp x20, x21, [x1, 32]
	ldp x22, x23, [x1, 48]
	ldp x24, x25, [x1, 64]
	ldp x26, x27, [x1, 80]
	ldr x28, [x1, 96]
	ldp d8, d9, [x1, 104]
	ldp d10, d11, [x1, 120]
	ldp d12, d13, [x1, 136]
	ldp d14, d15, [x1, 152]
	mov x0, x2             /* the result */
	ret
	.cfi_endproc
	.size context_switch, . - context_switch

	.globl fiber_yield
	.type fiber_yield, %function
fiber_yield:
	.cfi_startproc
	mov x0, 0
	b fiber_await
	.cfi_endproc
	.size fiber_yield, . - fiber_yield

	.globl fiber_await
	.type fiber_await, %function
fiber_await:
	.cfi_startproc
	mov x2, x0
	adrp x0, scheduler_running
	ldr x0, [x0, :lo12:scheduler_running]
	adrp x1, scheduler_context
	add x1, x1, :lo12:scheduler_context
	b context_switch
	.cfi_endproc
	.size fiber_await, . - fiber_await

/* Where a new fiber begins: the function is in x19. */
	.globl fiber_begin
	.type fiber_begin, %function
fiber_begin:
	.cfi_startproc
	.cfi_undefined x30
	blr x19
	mov x19, x0
	mov x0, -1             /* FIBER_WANTS_END */
	bl fiber_await
	udf 0
	.cfi_endproc
	.size fiber_begin, . - fiber_begin
#elif defined __riscv
	.text

	.globl context_switch
	.type context_switch, %function
context_switch:
	.cfi_startproc
	sd ra, 0(a0)           /* the return address: pc */
	sd sp, 8(a0)
	sd s0, 16(a0)
	sd s1, 24(a0)
	sd s2, 32(a0)
	sd s3, 40(a0)
	sd s4, 48(a0)
	sd s5, 56(a0)
	sd s6, 64(a0)
	sd s7, 72(a0)
	sd s8, 80(a0)
	sd s9, 88(a0)
	sd s10, 96(a0)
	sd s11, 104(a0)
	fsd fs0, 112(a0)
	fsd fs1, 120(a0)
	fsd fs2, 128(a0)
	fsd fs3, 136(a0)
	fsd fs4, 144(a0)
	fsd fs5, 152(a0)
	fsd fs6, 160(a0)
	fsd fs7, 168(a0)
	fsd fs8, 176(a0)
	fsd fs9, 184(a0)
	fsd fs10, 192(a0)
	fsd fs11, 200(a0)
	ld ra, 0(a1)
	ld sp, 8(a1)
	ld s0, 16(a1)
	ld s1, 24(a1)
	ld s2, 32(a1)
	ld s3, 40(a1)
	ld s4, 48(a1)
	ld s5, 56(a1)
	ld s6, 64(a1)
	ld s7, 72(a1)
	ld s8, 80(a1)
	ld s9, 88(a1)
	ld s10, 96(a1)
	ld s11, 104(a1)
	fld fs0, 112(a1)
	fld fs1, 120(a1)
	fld fs2, 128(a1)
	fld fs3, 136(a1)
	fld fs4, 144(a1)
	fld fs5, 152(a1)
	fld fs6, 160(a1)
	fld fs7, 168(a1)
	fld fs8, 176(a1)
	fld fs9, 184(a1)
	fld fs10, 192(a1)
	fld fs11, 200(a1)
	mv a0, a2              /* the result */
	ret
	.cfi_endproc
	.size context_switch, . - context_switch

	.globl fiber_yield
	.type fiber_yield, %function
fiber_yield:
	.cfi_startproc
	li a0, 0
	tail fiber_await
	.cfi_endproc
	.size fiber_yield, . - fiber_yield

	.globl fiber_await
	.type fiber_await, %function
fiber_await:
	.cfi_startproc
	mv a2, a0
	ld a0, scheduler_running
	la a1, scheduler_context
	tail context_switch
	.cfi_endproc
	.size fiber_await, . - fiber_await

/* Where a new fiber begins: the function is in s1. */
	.globl fiber_begin
	.type fiber_begin, %function
fiber_begin:
	.cfi_startproc
	.cfi_undefined ra
	jalr s1
	mv s1, a0
	li a0, -1              /* FIBER_WANTS_END */
	call fiber_await
	unimp
	.cfi_endproc
	.size fiber_begin, . - fiber_begin
#endif

	.section .note.GNU-stack, "", %progbits
