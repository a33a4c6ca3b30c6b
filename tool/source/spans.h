/* spans.h - which of many spans of addresses is the innermost one that contains an address.
 *
 * Debug information tells of units, sequences of lines and inlined functions by spans that may lie
 * within each other. Sorted by their starts, the last one that contains an address is the
 * innermost. The search goes back from the last span that starts before it: each span knows how far
 * those up to it reach, so it ends where none of them can contain the address.
 */
#ifndef STACKPACK_SPANS_H
#define STACKPACK_SPANS_H

#include <stddef.h>
#include <stdint.h>

#define SPANS_NONE UINT32_MAX

struct span {
  uint64_t start, end;
  uint64_t reach; /* the largest end of this one and those before it */
  uint32_t item;
};

struct spans {
  struct span *items; /* owned */
  size_t count, capacity;
};

/* Adds [start, end); one that is empty is left out. */
void spans_add(struct spans *spans, uint64_t start, uint64_t end, uint32_t item);

/* To be called once all spans are there, before the first search. */
void spans_sort(struct spans *spans);

/* The innermost span's item: of those that contain the address the one that starts last, else
 * that ends first, else the last item. SPANS_NONE where no span is. */
uint32_t spans_find(const struct spans *spans, uint64_t address);

#endif
