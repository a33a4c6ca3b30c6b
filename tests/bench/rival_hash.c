/* rival_hash.c - the hash table that a user who wants speed would write: return address -> pairs.
 *
 * Open addressing, linear probing, at most half full. An entry of 24 bytes has all but the pairs, which
 * are in one pool, in the order of the records. It is built when the program starts, from the raw
 * section.
 */
#include "descriptors.h"
#include "v3_sites.h"

#include <string.h>

struct entry {
  uint64_t address; /* 0: free */
  uint32_t frame_size, count;
  const struct pair *pairs;
};

/* The entry of an address, or the free one that it may have. */
static inline struct entry *entry_of(const struct contender *contender, uint64_t address) {
  struct entry *entries = (struct entry *)contender->heap.start;
  uint64_t place = hash_address(address, contender->mask);
  while (entries[place].address != address && entries[place].address != 0)
    place = (place + 1) & contender->mask;
  return &entries[place];
}

/* The number of records isn't known before they have been read; a user reads them twice, or lets
 * the table grow, which costs more. */
static void start(struct contender *contender) {
  const struct subject *subject = contender->subject;
  struct v3_sites sites = v3_sites_open(subject->raw, subject->raw_size);
  struct pair pairs[V3_PAIRS_MAX];
  contender->mask = mask_for(descriptors_count(subject), 2);
  const size_t size = (contender->mask + 1) * sizeof(struct entry);
  region_reserve(&contender->heap,
                 size + subject->raw_size); /* pairs take less than in the raw section */
  region_take(&contender->heap, size, _Alignof(struct entry));
  while (v3_sites_next(&sites)) {
    struct entry *entry = entry_of(contender, sites.address);
    const uint32_t count = v3_sites_pairs(&sites, pairs);
    if (entry->address != 0)
      continue;
    struct pair *pool = region_take(&contender->heap, count * sizeof *pool, _Alignof(struct pair));
    memcpy(pool, pairs, count * sizeof *pool);
    *entry = (struct entry){sites.address, sites.frame_size, count, pool};
  }
}

static uint64_t look_up(const struct contender *contender, uint64_t address) {
  const struct entry *entry = entry_of(contender, address);
  uint64_t sum = entry->frame_size;
  for (uint32_t i = 0; i < entry->count; i++)
    sum += visit_pair(entry->pairs[i].base, entry->pairs[i].derived);
  return sum;
}

const struct rival rival_hash = {
    .name = "hash table",
    .visits = VISITS_PAIRS,
    .prepare = NULL,
    .start = start,
    .look_up = look_up,
};
