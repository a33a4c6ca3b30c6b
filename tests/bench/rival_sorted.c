/* rival_sorted.c - the same descriptors, found by binary search in a sorted array. */
#include "descriptors.h"

#include <stdlib.h>

static int compare_entries(const void *a, const void *b) {
  const struct descriptor_entry *left = a, *right = b;
  return (left->address > right->address) - (left->address < right->address);
}

static void enter(struct contender *contender, struct descriptor_entry entry) {
  descriptor_entries(contender)[contender->count++] = entry;
}

static void start(struct contender *contender) {
  contender->count = 0;
  descriptors_build(contender, descriptors_count(contender->subject), enter);
  qsort(descriptor_entries(contender), contender->count, sizeof(struct descriptor_entry),
        compare_entries);
}

static uint64_t look_up(const struct contender *contender, uint64_t address) {
  const struct descriptor_entry *entries = descriptor_entries(contender);
  uint64_t from = 0, to = contender->count;
  while (to - from > 1) {
    const uint64_t middle = from + (to - from) / 2;
    if (entries[middle].address <= address)
      from = middle;
    else
      to = middle;
  }
  return entries[from].address == address ? visit_descriptor(contender, entries[from].descriptor)
                                          : 0;
}

const struct rival rival_sorted = {
    .name = "sorted array",
    .visits = VISITS_PAIRS,
    .start = start,
    .look_up = look_up,
};
