/* spans.c - see spans.h. */
#include "tool/source/spans.h"

#include "format/array.h"
#include "format/search.h"

#include <assert.h>
#include <stdlib.h>

void spans_add(struct spans *spans, uint64_t start, uint64_t end, uint32_t item) {
  if (start < end)
    (void)ARRAY_ADD(spans->items, spans->count, spans->capacity,
                    (struct span){.start = start, .end = end, .item = item});
}

static int compare_spans(const void *a, const void *b) {
  const struct span *x = a, *y = b;
  ORDER_BY(x, y, start)
  ORDER_BY(y, x, end)
  ORDER_BY(x, y, item)
  return 0;
}

/* The spans that contain a place or end before it, the innermost last; and the pieces up to it. */
struct cutter {
  struct spans pieces;
  struct span *open; /* owned */
  size_t open_count, open_capacity;
  uint64_t place;
};

/* Adds the pieces up to a place. Spans that have ended are passed over once. */
static void cut_up_to(struct cutter *cutter, uint64_t place) {
  assert(cutter->place <= place); /* so that the pieces ascend */
  while (cutter->open_count > 0 && cutter->place < place) {
    const struct span last = cutter->open[cutter->open_count - 1];
    const uint64_t end = last.end < place ? last.end : place;
    spans_add(&cutter->pieces, cutter->place, end, last.item);
    cutter->place = end > cutter->place ? end : cutter->place;
    cutter->open_count -= last.end <= cutter->place;
  }
  cutter->place = place;
}

void spans_sort(struct spans *spans) {
  struct cutter cutter = {.place = 0};
  array_sort(spans->items, spans->count, sizeof *spans->items, compare_spans);
  for (size_t i = 0; i < spans->count; i++) {
    cut_up_to(&cutter, spans->items[i].start);
    (void)ARRAY_ADD(cutter.open, cutter.open_count, cutter.open_capacity, spans->items[i]);
  }
  cut_up_to(&cutter, UINT64_MAX);
  free(cutter.open);
  free(spans->items);
  *spans = cutter.pieces;
}

uint32_t spans_find(const struct spans *spans, uint64_t address) {
  const size_t before = SEARCH_UP_TO(spans->items, spans->count, start, address);
  return before > 0 && address < spans->items[before - 1].end ? spans->items[before - 1].item
                                                              : SPANS_NONE;
}
