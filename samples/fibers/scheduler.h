/* scheduler.h - the fibers as the program around managed code sees them.
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
  FIBER_SUSPENDED, /* its context is that of the managed frame that waits */
  FIBER_RUNNING,   /* its context is an old one */
  FIBER_ENDED,     /* nothing is on its stack any more */
};

struct fiber {
  struct context context;
  struct stackpack_stack stack;
  enum fiber_state state;
  /* A root: what the fiber gets when it goes on (its argument, or the result that it has waited
   * for), and in the end its own result. 0 if nothing. */
  uintptr_t value;
  uint64_t number;
  struct fiber *waiter; /* who waits for its end */
  void *fake_stack;     /* AddressSanitizer's */
};

/* What a fiber may want when it switches to the scheduler: to yield, to end, or else to wait for
 * the fiber of that number. context.S has these, too. */
#define FIBER_WANTS_YIELD 0
#define FIBER_WANTS_END UINT64_MAX

/* Runs a fiber with the given managed function until it has ended; all that it started must have
 * ended, too. Returns its result. The next to run is chosen by pseudo-random numbers that begin
 * with the seed. Calls `between` before each. */
uintptr_t scheduler_run(void *function, uint64_t seed, void (*between)(void));
void scheduler_close(void);

/* All fibers, some of which may be free: 0 <= index < scheduler_fibers(). */
size_t scheduler_fibers(void);
struct fiber *scheduler_fiber(size_t index);

/* How often a fiber was gone on with. */
uint64_t scheduler_switches(void);

#endif
