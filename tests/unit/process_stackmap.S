/* A function with two statepoints, never called, and the stack map that LLVM would emit for it. */
	.text
	.globl managed_function, managed_first, managed_second, managed_end
	.hidden managed_function, managed_first, managed_second, managed_end
	.p2align 4
	.skip 16, 0x90
	.type managed_function, @function
managed_function:
	nop
	nop
	nop
managed_first:
	nop
	nop
managed_second:
	nop
	nop
managed_end:
	.size managed_function, managed_end - managed_function
	.skip 16, 0x90

	.macro constant value
	.byte 4, 0
	.short 8, 0, 0
	.long \value
	.endm
	.macro slot offset
	.byte 3, 0
	.short 8, 7, 0
	.long \offset
	.endm
	.macro record label, locations
	.quad 0xabcdef00
	.long \label - managed_function
	.short 0, \locations
	constant 0
	constant 0
	constant 0
	.endm

	/* Writable, so that the program can be position-independent. */
	.section .llvm_stackmaps, "aw", @progbits
	.p2align 3
	.byte 3, 0
	.short 0
	.long 1, 0, 2
	.quad managed_function, 40, 2
	record managed_first, 5
	slot 8
	slot 16
	.p2align 3
	.short 0, 0
	.p2align 3
	record managed_second, 3
	.p2align 3
	.short 0, 0
	.p2align 3
	.section .note.GNU-stack, "", @progbits
