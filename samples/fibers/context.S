/* context.S - the switch between stacks, and the ways by which managed code gets to it.
 *
 * A fiber is suspended where it waits: its managed code calls fiber_await or fiber_yield. These two
 * set the arguments of context_switch and get there by a jump, so that the return address on the
 * stack is still that of their caller. What context_switch saves is then the youngest managed frame
 * itself, for which there is a stack map. Were the switch called by a function of C, the first
 * frame to be found on a suspended stack would be that function's, of which a stack map says
 * nothing.
 *
 * uintptr_t context_switch(struct context *save, const struct context *load, uintptr_t value);
 */
	.text

	.globl context_switch
	.type context_switch, @function
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
 * They hand over to the scheduler what the fiber wants: FIBER_WANTS_YIELD (0), or the number of
 * another fiber. */
	.globl fiber_yield
	.type fiber_yield, @function
fiber_yield:
	.cfi_startproc
	xorl %edi, %edi
	jmp fiber_await
	.cfi_endproc
	.size fiber_yield, . - fiber_yield

	.globl fiber_await
	.type fiber_await, @function
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
 * context, and what the fiber wants is FIBER_WANTS_END (-1). It doesn't get back from that.
 *
 * There is no caller: the undefined return address tells unwinders so. */
	.globl fiber_begin
	.type fiber_begin, @function
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

	.section .note.GNU-stack, "", @progbits
