/* spans.c - see spans.h. */
#include "tool/source/spans.h"

#include "format/array.h"
#include "format/search.h"

#include <stdlib.h>

void spans_add(struct spans *spans, uint64_t start, uint64_t end, uint32_t item) {
  if (start < end)
    (void)ARRAY_ADD(spans->items, spans->count, spans->capacity,
                    (struct span){.start = start, .end = end, .item = item});
}

static int compare_spans(const void *a, const void *b) {
  const struct span *x = a, *y = b;
  ORDER_BY(x, y, start)
  if (x->end != y->end)
    return x->end > y->end ? -1 : 1;
  ORDER_BY(x, y, item)
  return 0;
}

void spans_sort(struct spans *spans) {
  uint64_t reach = 0;
  if (spans->count > 0)
    qsort(spans->items, spans->count, sizeof *spans->items, compare_spans);
  for (size_t i = 0; i < spans->count; i++) {
    reach = spans->items[i].end > reach ? spans->items[i].end : reach;
    spans->items[i].reach = reach;
  }
}

uint32_t spans_find(const struct spans *spans, uint64_t address) {
  size_t i = SEARCH_UP_TO(spans->items, spans->count, start, address);
  for (; i > 0 && spans->items[i - 1].reach > address; i--)
    if (spans->items[i - 1].end > address)
      return spans->items[i - 1].item;
  return SPANS_NONE;
}
