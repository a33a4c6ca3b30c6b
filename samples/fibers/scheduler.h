/* scheduler.h - the fibers' interface for the program around managed code.
 *
 * The scheduler has the program's own stack, and each fiber another one. A fiber is suspended by
 * switching to the scheduler, never directly to another fiber, so that at most one fiber runs and
 * all others have their contexts saved.
 */
#ifndef FIBERS_SCHEDULER_H
#define FIBERS_SCHEDULER_H

#include "context.h"
#include "stackpack.h"

#include <stddef.h>

enum fiber_state {
  FIBER_FREE,      /* ended and awaited: a number and a stack for the next one */
  FIBER_NEW,       /* its context is fiber_begin's, and its stack is empty */
  FIBER_SUSPENDED, /* its context is the waiting managed frame's */
  FIBER_RUNNING,   /* its context is out of date */
  FIBER_ENDED,     /* its stack is empty */
};

struct fiber {
  struct context context;
  struct stackpack_stack stack;
  enum fiber_state state;
  /* A root: the value for the fiber when it is resumed (its argument, or the awaited result), and
   * in the end its own result. 0: none. */
  uintptr_t value;
  uint64_t number;
  struct fiber *waiter; /* the one that waits for its end */
  void *fake_stack;     /* AddressSanitizer's */
};

/* A fiber's requests when it switches to the scheduler: to yield, or to end. Any other number is
 * the fiber to wait for. context.S has these, too. */
#define FIBER_WANTS_YIELD 0
#define FIBER_WANTS_END UINT64_MAX

/* Runs a fiber with the given managed function until it has ended; by then all other fibers must
 * have been awaited. Returns its result. Pseudo-random numbers, from the seed on, choose the next
 * fiber. Calls `between` before each switch. */
uintptr_t scheduler_run(void *function, uint64_t seed, void (*between)(void));
void scheduler_close(void);

/* All fibers, some of which may be free: 0 <= index < scheduler_fibers(). */
size_t scheduler_fibers(void);
struct fiber *scheduler_fiber(size_t index);

/* The number of switches to fibers. */
uint64_t scheduler_switches(void);

#endif
