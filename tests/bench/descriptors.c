/* descriptors.c - see descriptors.h. */
#include "descriptors.h"

#include "v3_sites.h"

#include <string.h>

uint64_t descriptors_count(const struct subject *subject) {
  struct v3_sites sites = v3_sites_open(subject->raw, subject->raw_size);
  uint64_t count = 0;
  while (v3_sites_next(&sites))
    count++;
  return count;
}

void descriptors_build(struct contender *contender, uint64_t entries, descriptors_enter *enter) {
  const struct subject *subject = contender->subject;
  struct v3_sites sites = v3_sites_open(subject->raw, subject->raw_size);
  struct pair pairs[V3_PAIRS_MAX];
  /* Each record and each location takes less room than in the raw section. */
  region_reserve(&contender->heap, entries * sizeof(struct descriptor_entry) + subject->raw_size);
  region_take(&contender->heap, entries * sizeof(struct descriptor_entry), 16);
  while (v3_sites_next(&sites)) {
    const uint32_t count = v3_sites_pairs(&sites, pairs);
    struct descriptor *descriptor = region_take(
        &contender->heap, sizeof *descriptor + count * sizeof *pairs, _Alignof(struct descriptor));
    descriptor->frame_size = sites.frame_size;
    descriptor->count = count;
    memcpy(descriptor->pairs, pairs, count * sizeof *pairs);
    enter(contender, (struct descriptor_entry){
                         sites.address, (uint64_t)((uint8_t *)descriptor - contender->heap.start)});
  }
}
