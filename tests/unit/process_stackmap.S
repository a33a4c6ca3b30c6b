/* process_stackmap.S - two functions with a stack map made by hand, for process.c,
 * file.c and memory.c.
 *
 *   void *managed_outer(void *reference, void (*callback)(void));
 *
 * managed_outer keeps the reference in a slot over the call to managed_inner, and managed_inner
 * does the same over the call to the callback. Each returns its slot's value afterwards; the
 * outer one's return value is the sum of both.
 */
	.text
	.globl	managed_outer, managed_outer_return, managed_inner, managed_inner_return, managed_end, managed_maps
	.hidden	managed_outer, managed_outer_return, managed_inner, managed_inner_return, managed_end, managed_maps

	.p2align 4
	.type	managed_outer, %function
managed_outer:
	.cfi_startproc
#ifdef __x86_64__
	subq	$24, %rsp
	.cfi_adjust_cfa_offset 24
	movq	%rdi, 8(%rsp)
	call	managed_inner
managed_outer_return:
	addq	8(%rsp), %rax
	addq	$24, %rsp
	.cfi_adjust_cfa_offset -24
	ret
#else
	.zero	16
managed_outer_return:
	.zero	16
#endif
	.cfi_endproc
	.size	managed_outer, . - managed_outer

	.p2align 4
	.type	managed_inner, %function
managed_inner:
	.cfi_startproc
#ifdef __x86_64__
	subq	$40, %rsp
	.cfi_adjust_cfa_offset 40
	movq	%rdi, 16(%rsp)
	call	*%rsi
managed_inner_return:
	movq	16(%rsp), %rax
	addq	$40, %rsp
	.cfi_adjust_cfa_offset -40
	ret
#else
	.zero	16
managed_inner_return:
	.zero	16
#endif
	.cfi_endproc
	.size	managed_inner, . - managed_inner
managed_end:
	.zero	64

/* A statepoint's record: three constants and one pair of a slot with itself. */
	.macro	statepoint function, return, slot
	.quad	0xabcdef00
	.long	\return - \function
	.short	0, 5
	.rept	3
	.byte	4, 0
	.short	8, 0, 0
	.long	0
	.endr
	.rept	2
	.byte	3, 0
	.short	8, 7, 0
	.long	\slot
	.endr
	.p2align 3
	.short	0, 0
	.p2align 3
	.endm

	.section .llvm_stackmaps, "a", %progbits
	.p2align 3
managed_maps: /* MANAGED_MAPS_SIZE of memory.c */
	.byte	3, 0
	.short	0
	.long	2, 0, 2
	.quad	managed_outer, 24, 1
	.quad	managed_inner, 40, 1
	statepoint managed_outer, managed_outer_return, 8
	statepoint managed_inner, managed_inner_return, 16

	.section .note.GNU-stack, "", %progbits
