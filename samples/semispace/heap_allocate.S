/* heap_allocate.S - where managed code enters the collector.
 *
 * A stack walk starts with the youngest managed frame: that of the function which called the
 * allocator. Two numbers describe it: the address in that function to which the call will return,
 * and its stack pointer, as it will be after that return. At the first instruction of the callee
 * both are certain, whatever compiler made the caller: `call` has just pushed the return address,
 * so it lies at the stack pointer, and the caller's stack pointer is the address behind it. One
 * instruction later a C compiler may have pushed registers and moved the stack pointer by an amount
 * that only it knows. So the two are taken here and handed on as two more arguments. The jump
 * leaves the stack as it is: the C function returns straight to the managed caller, and there is no
 * frame in between.
 *
 * No registers are saved for the collector to look at. At a statepoint LLVM keeps every reference
 * in a spill slot of the frame, unless it is told otherwise (llc's -max-registers-for-gc-values),
 * so neither the registers that the callee may use freely nor those that it must preserve hold one.
 * A collector for code with references in registers would store the latter here, in a block whose
 * address it passes on, and follow them from frame to frame with the unwind tables.
 *
 * reference heap_allocate(uint64_t data_bytes, uint64_t references);
 */
	.text
	.globl heap_allocate
	.type heap_allocate, @function
heap_allocate:
	.cfi_startproc
	movq (%rsp), %rdx    /* the third argument: the return address */
	leaq 8(%rsp), %rcx   /* the fourth: the stack pointer after the return */
	jmp heap_allocate_for_frame
	.cfi_endproc
	.size heap_allocate, . - heap_allocate

	.section .note.GNU-stack, "", @progbits
