/* spans.c - see spans.h. */
#include "tool/source/spans.h"

#include "format/array.h"
#include "format/search.h"

#include <stdlib.h>

bool spans_add(struct spans *spans, uint64_t start, uint64_t end, uint32_t item) {
  if (start >= end)
    return true;
  if (!array_make_room((void **)&spans->items, &spans->capacity, spans->count + 1,
                       sizeof *spans->items))
    return false;
  spans->items[spans->count] = (struct span){start, end, item, (uint32_t)spans->count};
  spans->count++;
  return true;
}

static int compare_spans(const void *a, const void *b) {
  const struct span *x = a, *y = b;
  if (x->start != y->start)
    return x->start < y->start ? -1 : 1;
  if (x->end != y->end)
    return x->end > y->end ? -1 : 1;
  return x->order < y->order ? -1 : x->order > y->order;
}

/* From `start` on, `item` is the innermost. */
static bool add_piece(struct spans *spans, uint64_t start, uint32_t item) {
  if (spans->piece_count > 0 && spans->pieces[spans->piece_count - 1].start == start) {
    spans->pieces[spans->piece_count - 1].item = item;
    return true;
  }
  if (!array_make_room((void **)&spans->pieces, &spans->piece_capacity, spans->piece_count + 1,
                       sizeof *spans->pieces))
    return false;
  spans->pieces[spans->piece_count++] = (struct span_piece){start, item};
  return true;
}

/* Takes the spans that end up to `address` off the stack of those that were entered. */
static bool leave(struct spans *spans, const struct span **entered, size_t *depth,
                  uint64_t address) {
  while (*depth > 0 && entered[*depth - 1]->end <= address) {
    const uint64_t end = entered[--*depth]->end;
    while (*depth > 0 && entered[*depth - 1]->end <= end)
      --*depth;
    if (!add_piece(spans, end, *depth > 0 ? entered[*depth - 1]->item : SPANS_NONE))
      return false;
  }
  return true;
}

bool spans_flatten(struct spans *spans) {
  const struct span **entered = calloc(spans->count + 1, sizeof *entered);
  size_t depth = 0;
  bool ok = entered != NULL;
  if (spans->count > 0)
    qsort(spans->items, spans->count, sizeof *spans->items, compare_spans);
  for (size_t i = 0; i < spans->count && ok; i++) {
    ok = leave(spans, entered, &depth, spans->items[i].start) &&
         add_piece(spans, spans->items[i].start, spans->items[i].item);
    if (ok)
      entered[depth++] = &spans->items[i];
  }
  ok = ok && leave(spans, entered, &depth, UINT64_MAX);
  free(entered);
  free(spans->items);
  spans->items = NULL;
  spans->count = spans->capacity = 0;
  return ok;
}

uint32_t spans_find(const struct spans *spans, uint64_t address) {
  const size_t from = SEARCH_UP_TO(spans->pieces, spans->piece_count, start, address);
  return from == 0 ? SPANS_NONE : spans->pieces[from - 1].item;
}
