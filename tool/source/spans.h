/* spans.h - finds the innermost one among the spans of addresses that contain an address.
 *
 * Debug information describes units, sequences of lines and inlined functions by spans, perhaps
 * within each other. Sorted by their starts, the last one that contains an address is the
 * innermost. Once they are sorted, they are cut where another one becomes the innermost: of these
 * pieces, at most twice as many, at most one contains an address.
 */
#ifndef STACKPACK_SPANS_H
#define STACKPACK_SPANS_H

#include <stddef.h>
#include <stdint.h>

#define SPANS_NONE UINT32_MAX

struct span {
  uint64_t start, end;
  uint32_t item;
};

struct spans {
  struct span *items; /* owned */
  size_t count, capacity;
};

/* Adds [start, end); one that is empty is left out. */
void spans_add(struct spans *spans, uint64_t start, uint64_t end, uint32_t item);

/* To be called once all spans are there, before the first search: leaves the pieces. */
void spans_sort(struct spans *spans);

/* The innermost span's item: among the spans that contain the address, the last start decides, then
 * the first end, then the last item. SPANS_NONE outside all spans. */
uint32_t spans_find(const struct spans *spans, uint64_t address);

#endif
