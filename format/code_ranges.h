/* code_ranges.h - the extents of code, from unwind tables or symbols. */
#ifndef STACKPACK_CODE_RANGES_H
#define STACKPACK_CODE_RANGES_H

#include "format/array.h"

struct code_range {
  uint64_t start, end;
};

/* Ranges that are being collected. All zeros is empty. */
struct code_ranges {
  struct code_range *items; /* owned: code_ranges_free */
  size_t count, capacity;
};

static inline void code_ranges_free(struct code_ranges *ranges) {
  free(ranges->items);
  *ranges = (struct code_ranges){0};
}

/* False if memory runs out. Empty ranges are left out. */
static inline bool code_ranges_add(struct code_ranges *ranges, uint64_t start, uint64_t end) {
  return end <= start ||
         ARRAY_ADD(ranges->items, ranges->count, ranges->capacity, (struct code_range){start, end});
}

ORDER_FUNCTION(code_ranges_compare, struct code_range, start, end)

/* By start, then by end. */
static inline void code_ranges_sort(struct code_ranges *ranges) {
  array_sort(ranges->items, ranges->count, sizeof *ranges->items, code_ranges_compare);
}

/* Adds a range that starts at or after those before it: to the last one, if they overlap or touch,
 * so that the ends ascend, too. False if memory runs out. */
static inline bool code_ranges_append(struct code_ranges *ranges, struct code_range range) {
  struct code_range *last = ranges->count == 0 ? NULL : &ranges->items[ranges->count - 1];
  assert(range.start <= range.end && (last == NULL || last->start <= range.start));
  if (last == NULL || last->end < range.start)
    return ARRAY_ADD(ranges->items, ranges->count, ranges->capacity, range);
  last->end = last->end < range.end ? range.end : last->end;
  return true;
}

/* Sorts ranges, and makes one of those that overlap or touch. */
static inline void code_ranges_merge(struct code_ranges *ranges) {
  const size_t count = ranges->count;
  code_ranges_sort(ranges);
  ranges->count = 0;
  for (size_t i = 0; i < count; i++)
    (void)code_ranges_append(ranges, ranges->items[i]);
}

#endif
