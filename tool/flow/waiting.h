/* waiting.h - a worklist of numbers, of blocks or functions: the lowest number comes first.
 *
 * Most jumps go forward, so in the order of their addresses most blocks are followed after all
 * their predecessors. It is a heap: jumps back and forth cost only the extra visits.
 */
#ifndef STACKPACK_WAITING_H
#define STACKPACK_WAITING_H

#include "format/array.h"

#include <assert.h>

/* All zeros is empty. */
struct waiting {
  uint32_t *items; /* owned: waiting_free */
  size_t count, capacity;
};

static inline void waiting_free(struct waiting *waiting) {
  free(waiting->items);
  *waiting = (struct waiting){0};
}

static inline void waiting_swap(struct waiting *waiting, size_t a, size_t b) {
  const uint32_t item = waiting->items[a];
  waiting->items[a] = waiting->items[b];
  waiting->items[b] = item;
}

/* A number that is added again is taken again. */
static inline void waiting_add(struct waiting *waiting, uint32_t number) {
  (void)ARRAY_ADD(waiting->items, waiting->count, waiting->capacity, number);
  for (size_t i = waiting->count - 1; i > 0 && waiting->items[i] < waiting->items[(i - 1) / 2];
       i = (i - 1) / 2)
    waiting_swap(waiting, i, (i - 1) / 2);
}

/* Takes out the lowest number; the worklist must have one. */
static inline uint32_t waiting_take(struct waiting *waiting) {
  assert(waiting->count > 0);
  const uint32_t lowest = waiting->items[0];
  waiting->items[0] = waiting->items[--waiting->count];
  for (size_t i = 0, next; (next = 2 * i + 1) < waiting->count; i = next) {
    if (next + 1 < waiting->count && waiting->items[next + 1] < waiting->items[next])
      next++;
    if (waiting->items[i] <= waiting->items[next])
      break;
    waiting_swap(waiting, i, next);
  }
  assert(waiting->count == 0 || lowest <= waiting->items[0]);
  return lowest;
}

#endif
