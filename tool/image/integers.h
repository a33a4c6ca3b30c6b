/* integers.h - a list of integers that grows. */
#ifndef STACKPACK_INTEGERS_H
#define STACKPACK_INTEGERS_H

#include "format/array.h"

/* All zeros is empty. */
struct integers {
  uint64_t *items; /* owned: free */
  size_t count, capacity;
};

static inline void integers_add(struct integers *integers, uint64_t integer) {
  (void)ARRAY_ADD(integers->items, integers->count, integers->capacity, integer);
}

/* Sorts them, and keeps each once. Returns how many are left. */
static inline size_t integers_sort(struct integers *integers) {
  return integers->count = array_sort_words(integers->items, integers->count);
}

#endif
