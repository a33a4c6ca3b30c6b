/* descriptors.h - frame descriptors, as a user would keep them on the heap: built at start-up from
 * the raw section, and found in a sorted array.
 */
#ifndef STACKPACK_BENCH_DESCRIPTORS_H
#define STACKPACK_BENCH_DESCRIPTORS_H

#include "rival.h"

struct descriptor {
  uint32_t frame_size, count;
  struct pair pairs[];
};

/* From return address to a place in the heap; 0 is none. */
struct descriptor_entry {
  uint64_t address;
  uint64_t descriptor;
};

/* How many records the raw section counts in its maps' headers. */
uint64_t descriptors_count(const struct subject *subject);

/* Takes room for the entries, zeros, at the heap's start, then calls `enter` for every record. */
typedef void descriptors_enter(struct contender *contender, struct descriptor_entry entry);
void descriptors_build(struct contender *contender, uint64_t entries, descriptors_enter *enter);

static inline struct descriptor_entry *descriptor_entries(const struct contender *contender) {
  return (struct descriptor_entry *)contender->heap.start;
}

static inline uint64_t visit_descriptor(const struct contender *contender, uint64_t place) {
  const struct descriptor *descriptor = (const void *)(contender->heap.start + place);
  uint64_t sum = descriptor->frame_size;
  for (uint32_t i = 0; i < descriptor->count; i++)
    sum += visit_pair(descriptor->pairs[i].base, descriptor->pairs[i].derived);
  return sum;
}

#endif
