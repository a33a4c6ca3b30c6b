/* steps.h - the steps of a chain of calls. Each adds a cell to a list, and calls native code, which
 * chooses and calls the next one.
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

/* Native: chooses a step, and calls it. Exported, because compiled functions refer to it by
 * name. */
__attribute__((visibility("default"))) step next_step;

/* The value of the cell behind `number` others; UINT64_MAX: the list is shorter. A GC leaf. */
uint64_t list_take(list_ref list, uint64_t number);

#endif
