/* spans.h - which of many spans of addresses is the innermost one that contains an address.
 *
 * Debug information tells of units, sequences of lines and inlined functions by spans that may lie
 * within each other. They are flattened once, into pieces that begin where another span becomes the
 * innermost: of two that overlap that is the one which starts later, else which ends earlier, else
 * which was added later. Then an address is found by bisection.
 */
#ifndef STACKPACK_SPANS_H
#define STACKPACK_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPANS_NONE UINT32_MAX

struct span {
  uint64_t start, end;
  uint32_t item, order;
};

struct span_piece {
  uint64_t start;
  uint32_t item; /* SPANS_NONE: no span */
};

struct spans {
  struct span *items; /* owned; until they are flattened */
  size_t count, capacity;
  struct span_piece *pieces; /* owned; by address */
  size_t piece_count, piece_capacity;
};

/* Adds [start, end); one that is empty is left out. False without memory. */
bool spans_add(struct spans *spans, uint64_t start, uint64_t end, uint32_t item);
bool spans_flatten(struct spans *spans);

/* The innermost span's item; SPANS_NONE where no span is. */
uint32_t spans_find(const struct spans *spans, uint64_t address);

#endif
