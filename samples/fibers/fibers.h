/* fibers.h - fibers as managed code sees them.
 *
 * A fiber is a function with a stack of its own. It runs until it waits or ends; then the scheduler
 * chooses the next one. While a fiber waits, other fibers run, and objects move.
 */
#ifndef FIBERS_FIBERS_H
#define FIBERS_FIBERS_H

#include "heap.h"

typedef reference fiber_function(reference argument);

/* Makes a fiber that will run function(argument). Returns its nonzero number. It never collects. */
uint64_t fiber_start(fiber_function *function, reference argument);

/* Waits until the fiber has ended, and returns its result. Each fiber is awaited once: its number
 * is then free for another fiber. */
reference fiber_await(uint64_t fiber);

/* Lets others run. */
void fiber_yield(void);

#endif
