/* context.h - a suspended computation, and the switch from one to another.
 *
 * Two computations that have stacks of their own take turns by a function call: one calls
 * context_switch, and it is the other one that returns from it. To the compiler it is a call like
 * any other. So it expects from it what any call must give: the stack pointer as it was, the
 * registers that a call preserves, and a result. That, and where to return to, is all that has to
 * be kept. It is also all that a collector needs to walk the stack of a suspended computation.
 */
#ifndef FIBERS_CONTEXT_H
#define FIBERS_CONTEXT_H

#include <stdint.h>

/* What context.S reads and writes. Calls also preserve the control words of floating point, which
 * are the same everywhere in this program, and on AArch64 and RISC-V registers for floating point.
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
  uintptr_t pc;            /* where context_switch will return to */
  uintptr_t stack_pointer; /* after that return */
  uintptr_t registers[CONTEXT_REGISTERS];
  uint64_t floats[CONTEXT_FLOATS];
};

enum { CONTEXT_FUNCTION = 1 }; /* of a new fiber: what it runs, and in the end its result */

/* Suspends the caller into *save and goes on with *load, whose call of context_switch returns the
 * value. When somebody goes on with *save, this call returns the value that is passed there. */
uintptr_t context_switch(struct context *save, const struct context *load, uintptr_t value);

#endif
