/* code_ranges.h - where code is, from unwind tables or symbols. */
#ifndef STACKPACK_CODE_RANGES_H
#define STACKPACK_CODE_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct code_range {
  uint64_t start, end;
};

/* Ranges that are being collected. All zeros is empty. */
struct code_ranges {
  struct code_range *items; /* owned: code_ranges_free */
  size_t count, capacity;
};

void code_ranges_free(struct code_ranges *ranges);
/* False without memory. Empty ranges are not added. */
bool code_ranges_add(struct code_ranges *ranges, uint64_t start, uint64_t end);
/* By start, then by end. */
void code_ranges_sort(struct code_ranges *ranges);

#endif
