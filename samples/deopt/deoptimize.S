/* deoptimize.S - the way out of the deoptimiser.
 *
 * LLVM calls __llvm_deoptimize for llvm.experimental.deoptimize, and emits no code after the call:
 * it must never return.
 *
 * void return_to(uint64_t result, const uintptr_t *registers, uintptr_t pc, uintptr_t stack_pointer);
 *
 * Returns from a frame further up: continues at pc with the callee-saved registers of its caller.
 */
	.text
	.globl return_to
	.type return_to, %function
return_to:
#if defined __x86_64__
	movq %rdi, %rax
	movq 8*3(%rsi), %rbx
	movq 8*6(%rsi), %rbp
	movq 8*12(%rsi), %r12
	movq 8*13(%rsi), %r13
	movq 8*14(%rsi), %r14
	movq 8*15(%rsi), %r15
	movq %rcx, %rsp
	jmpq *%rdx
#elif defined __aarch64__
	ldp x19, x20, [x1, 8*19]
	ldp x21, x22, [x1, 8*21]
	ldp x23, x24, [x1, 8*23]
	ldp x25, x26, [x1, 8*25]
	ldp x27, x28, [x1, 8*27]
	ldr x29, [x1, 8*29]
	mov sp, x3
	ret x2
#elif defined __riscv
	ld s0, 8*8(a1)
	ld s1, 8*9(a1)
	ld s2, 8*18(a1)
	ld s3, 8*19(a1)
	ld s4, 8*20(a1)
	ld s5, 8*21(a1)
	ld s6, 8*22(a1)
	ld s7, 8*23(a1)
	ld s8, 8*24(a1)
	ld s9, 8*25(a1)
	ld s10, 8*26(a1)
	ld s11, 8*27(a1)
	mv sp, a3
	jr a2
#endif
	.size return_to, . - return_to

	.section .note.GNU-stack, "", %progbits
