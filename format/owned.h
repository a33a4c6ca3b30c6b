/* owned.h - arrays for one piece of work, freed together at its end: so the steps between can stop
 * anywhere. */
#ifndef STACKPACK_OWNED_H
#define STACKPACK_OWNED_H

#include "format/array.h"

/* All zeros has none. */
struct owned {
  void **items;
  size_t count, capacity;
  bool failed; /* there was no memory for an array */
};

/* An array of count + 1 zeros, so that none is empty; NULL if memory runs out. */
static inline void *owned_array(struct owned *owned, uint64_t count, size_t size) {
  void *array = calloc(count + 1, size);
  if (array != NULL && ARRAY_ADD(owned->items, owned->count, owned->capacity, array))
    return array;
  free(array);
  owned->failed = true;
  return NULL;
}

static inline void owned_free(struct owned *owned) {
  while (owned->count > 0)
    free(owned->items[--owned->count]);
  free(owned->items);
}

#endif
