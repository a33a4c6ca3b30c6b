/* code_ranges.c - see code_ranges.h. */
#include "format/code_ranges.h"

#include "format/array.h"

#include <stdlib.h>

void code_ranges_free(struct code_ranges *ranges) {
  free(ranges->items);
  *ranges = (struct code_ranges){0};
}

bool code_ranges_add(struct code_ranges *ranges, uint64_t start, uint64_t end) {
  return end <= start ||
         ARRAY_ADD(ranges->items, ranges->count, ranges->capacity, (struct code_range){start, end});
}

static int compare_ranges(const void *a, const void *b) {
  const struct code_range *x = a, *y = b;
  ORDER_BY(start)
  ORDER_BY(end)
  return 0;
}

void code_ranges_sort(struct code_ranges *ranges) {
  if (ranges->count > 0)
    qsort(ranges->items, ranges->count, sizeof *ranges->items, compare_ranges);
}
