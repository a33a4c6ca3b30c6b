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
 * are the same everywhere in this program. */
struct context {
  uintptr_t pc;            /* where context_switch will return to */
  uintptr_t stack_pointer; /* after that return */
  uintptr_t rbp, rbx, r12, r13, r14, r15;
};

/* Suspends the caller into *save and goes on with *load, whose call of context_switch returns the
 * value. When somebody goes on with *save, this call returns the value that is passed there. */
uintptr_t context_switch(struct context *save, const struct context *load, uintptr_t value);

#endif
