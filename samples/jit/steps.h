/* steps.h - the steps of a chain of calls. Each makes a list longer by one cell, and calls the next
 * one by way of native code, which chooses it.
 */
#ifndef JIT_STEPS_H
#define JIT_STEPS_H

#include "heap.h"

typedef struct list REF *list_ref;
struct list {
  uint64_t value;
  list_ref next;
};

typedef list_ref step(list_ref list, uint64_t depth);

/* Compiled ahead of time. Its cell has the value depth * AHEAD. */
enum { AHEAD = 1000003 };
step step_ahead;

/* Native: chooses a step, and calls it. It is exported: compiled functions find it by its name. */
__attribute__((visibility("default"))) step next_step;

/* The value of the cell behind `number` others; UINT64_MAX: there is none. A GC leaf. */
uint64_t list_take(list_ref list, uint64_t number);

#endif
