/* array.h - arrays that grow. */
#ifndef STACKPACK_ARRAY_H
#define STACKPACK_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

/* Makes room for `count` items of `size` bytes in the array *items (owned by the caller: free), of
 * which *capacity fit. False without memory; then the array is as it was. */
static inline bool array_make_room(void **items, size_t *capacity, size_t count, size_t size) {
  if (count <= *capacity)
    return true;
  const size_t larger = count * 2 + 64;
  void *bytes = realloc(*items, larger * size);
  if (bytes == NULL)
    return false;
  *items = bytes;
  *capacity = larger;
  return true;
}

/* Adds an item to an array that is owned, by the lvalues that keep it. False without memory. */
#define ARRAY_ADD(items, count, capacity, ...)                                                     \
  (array_make_room((void **)&(items), &(capacity), (size_t)(count) + 1, sizeof *(items)) &&        \
   ((items)[(count)++] = (__VA_ARGS__), true))

#endif
