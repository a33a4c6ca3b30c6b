/* context.h - a suspended computation, and the switch from one to another.
 *
 * Two computations with stacks of their own take turns by a function call: one calls
 * context_switch, and the other one returns from it. The compiler sees an ordinary call, after
 * which it expects the same stack pointer, the same callee-saved registers, and a result. These,
 * and the return address, are a suspended computation's context. A collector walks the stack from
 * the same values.
 */
#ifndef FIBERS_CONTEXT_H
#define FIBERS_CONTEXT_H

#include <stdint.h>

/* context.S reads and writes it. On AArch64 and RISC-V it includes the callee-saved floating-point
 * registers. Calls also preserve the floating-point control words: this program never changes them.
 *
 *   registers   [0]            [1]             [2], ...
 *   x86-64      rbp            rbx             r12 to r15
 *   AArch64     x29            x19             x20 to x28
 *   RISC-V      s0             s1              s2 to s11 */
#if defined __x86_64__
enum { CONTEXT_REGISTERS = 6, CONTEXT_FLOATS = 0 };
#elif defined __aarch64__
enum { CONTEXT_REGISTERS = 11, CONTEXT_FLOATS = 8 };
#elif defined __riscv
enum { CONTEXT_REGISTERS = 12, CONTEXT_FLOATS = 12 };
#endif
struct context {
  uintptr_t pc;            /* the return address of context_switch */
  uintptr_t stack_pointer; /* after that return */
  uintptr_t registers[CONTEXT_REGISTERS];
  uint64_t floats[CONTEXT_FLOATS];
};

enum { CONTEXT_FUNCTION = 1 }; /* a new fiber's function, and in the end its result */

/* Suspends the caller into *save and resumes *load, whose call of context_switch returns the value.
 * This call returns when *save is resumed, with the value passed then. */
uintptr_t context_switch(struct context *save, const struct context *load, uintptr_t value);

#endif
