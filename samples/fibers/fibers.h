/* fibers.h - fibers as managed code sees them.
 *
 * A fiber is a function with a stack of its own, which runs until it waits or ends; then the
 * scheduler chooses who goes on. While it waits, anything may happen: other fibers run, and objects
 * move.
 */
#ifndef FIBERS_FIBERS_H
#define FIBERS_FIBERS_H

#include "heap.h"

typedef reference fiber_function(reference argument);

/* A new fiber, which will run function(argument) some time. Returns its number, which isn't 0. It
 * doesn't collect. */
uint64_t fiber_start(fiber_function *function, reference argument);

/* Waits until the fiber has ended, and returns its result. Each fiber is awaited once: then its
 * number may become another one's. */
reference fiber_await(uint64_t fiber);

/* Lets others run. */
void fiber_yield(void);

#endif
