/* array.h - arrays that grow. */
#ifndef STACKPACK_ARRAY_H
#define STACKPACK_ARRAY_H

#include "format/bits.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

/* Makes room for `count` items of `size` bytes in the array *items (owned by the caller: free),
 * with room for *capacity. False if memory runs out; the array is unchanged then. */
static inline bool array_make_room(void **items, size_t *capacity, size_t count, size_t size) {
  assert(size > 0 && (*items != NULL || *capacity == 0));
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

/* Adds an item to an array that is owned, by the lvalues that keep it. False if memory runs out. */
#define ARRAY_ADD(items, count, capacity, ...)                                                     \
  (array_make_room((void **)&(items), &(capacity), (size_t)(count) + 1, sizeof *(items)) &&        \
   ((items)[(count)++] = (__VA_ARGS__), true))

/* Sorts items, unless they are in order already: linkers mostly leave them so. */
static inline void array_sort(void *items, size_t count, size_t size,
                              int (*compare)(const void *, const void *)) {
  const char *item = items;
  for (size_t i = 1; i < count; i++, item += size)
    if (compare(item, item + size) > 0) {
      qsort(items, count, size, compare);
      return;
    }
}

/* In a function for qsort: returns the order of the items *x and *y by a member, if it differs.
 * With y and x, the largest is first. */
#define ORDER_BY(x, y, member)                                                                     \
  if ((x)->member != (y)->member)                                                                  \
    return (x)->member < (y)->member ? -1 : 1;

/* Defines a function for qsort: the order of items of a type by one member, then by another. */
#define ORDER_FUNCTION(name, type, first, second)                                                  \
  static inline int name(const void *a, const void *b) {                                           \
    const type *x = a, *y = b;                                                                     \
    ORDER_BY(x, y, first)                                                                          \
    ORDER_BY(x, y, second)                                                                         \
    return 0;                                                                                      \
  }

/* Keeps each of sorted words once. Returns their number. */
static inline size_t array_unique_words(uint64_t *words, size_t count) {
  size_t kept = 0;
  for (size_t i = 0; i < count; i++)
    if (kept == 0 || words[kept - 1] != words[i])
      words[kept++] = words[i];
  return kept;
}

/* The same, after sorting them. */
static inline size_t array_sort_words(uint64_t *words, size_t count) {
  array_sort(words, count, sizeof *words, bits_compare_words);
  return array_unique_words(words, count);
}

#endif
