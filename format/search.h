/* search.h - finds a place in an array that is sorted by a number. */
#ifndef STACKPACK_SEARCH_H
#define STACKPACK_SEARCH_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The number of the count items with at most `key` in the uint64_t at `offset` of each. They have
 * `size` bytes and are sorted by that number. */
static inline size_t search_up_to(const void *items, size_t count, size_t size, size_t offset,
                                  uint64_t key) {
  size_t from = 0, to = count;
  assert(offset + sizeof key <= size);
  while (from < to) {
    const size_t middle = from + (to - from) / 2;
    uint64_t value;
    memcpy(&value, (const char *)items + middle * size + offset, sizeof value);
    if (value <= key)
      from = middle + 1;
    else
      to = middle;
  }
  return from;
}

/* For assertions: whether the items are sorted by the uint64_t at `offset` of each. */
static inline bool search_is_sorted(const void *items, size_t count, size_t size, size_t offset) {
  uint64_t last = 0;
  for (size_t i = 0; i < count; i++) {
    uint64_t value;
    memcpy(&value, (const char *)items + i * size + offset, sizeof value);
    if (value < last)
      return false;
    last = value;
  }
  return true;
}

/* The same by a member's name; and the number of items with less than `key` there. */
#define SEARCH_UP_TO(items, count, member, key)                                                    \
  search_up_to(items, count, sizeof *(items), offsetof(__typeof__(*(items)), member), key)
#define SEARCH_BELOW(items, count, member, key)                                                    \
  ((key) == 0 ? 0 : SEARCH_UP_TO(items, count, member, (key)-1))

#define IS_SORTED(items, count, member)                                                            \
  search_is_sorted(items, count, sizeof *(items), offsetof(__typeof__(*(items)), member))

/* The number of sorted words less than `key`. */
static inline size_t search_words_below(const uint64_t *words, size_t count, uint64_t key) {
  return key == 0 ? 0 : search_up_to(words, count, sizeof *words, 0, key - 1);
}

#endif
