/* rival_hash.c - the tables that a user would write: return address -> pairs, built when the program starts, from the
 * raw section.
 *
 * An entry of 24 bytes has all but the pairs: these are in one pool, in the order of the records.
 * For speed, entries are in a hash table: open addressing, linear probing, at most half full. In a
 * sorted array they are found by binary search.
 */
#include "rival.h"
#include "v3_sites.h"

#include <stdlib.h>
#include <string.h>

struct entry {
  uint64_t address; /* 0: free */
  uint32_t frame_size, count;
  const struct pair *pairs;
};

static struct entry *entries(const struct contender *contender) {
  return (struct entry *)contender->heap.start;
}

/* The number of records is open until they have been read; a user reads them twice, or lets the
 * table grow, at a higher cost. */
static uint64_t count_sites(const struct subject *subject) {
  struct v3_sites sites = v3_sites_open(subject->raw, subject->raw_size);
  uint64_t count = 0;
  while (v3_sites_next(&sites))
    count++;
  return count;
}

/* The entry that an address has, or may have. */
typedef struct entry *find_entry(struct contender *contender, uint64_t address);

/* Builds a table with room for so many entries. */
static void build(struct contender *contender, uint64_t capacity, find_entry *find) {
  const struct subject *subject = contender->subject;
  struct v3_sites sites = v3_sites_open(subject->raw, subject->raw_size);
  struct pair pairs[V3_PAIRS_MAX];
  const size_t size = capacity * sizeof(struct entry);
  region_reserve(&contender->heap,
                 size + subject->raw_size); /* pairs take less than in the raw section */
  region_take(&contender->heap, size, _Alignof(struct entry));
  while (v3_sites_next(&sites)) {
    struct entry *entry = find(contender, sites.address);
    const uint32_t count = v3_sites_pairs(&sites, pairs);
    if (entry->address != 0)
      continue;
    struct pair *pool = region_take(&contender->heap, count * sizeof *pool, _Alignof(struct pair));
    memcpy(pool, pairs, count * sizeof *pool);
    *entry = (struct entry){sites.address, sites.frame_size, count, pool};
  }
}

static uint64_t visit(const struct entry *entry) {
  uint64_t sum = entry->frame_size;
  for (uint32_t i = 0; i < entry->count; i++)
    sum += visit_pair(entry->pairs[i].base, entry->pairs[i].derived);
  return sum;
}

/* ---- The hash table ---- */

static inline struct entry *hashed(const struct contender *contender, uint64_t address) {
  uint64_t place = hash_address(address, contender->mask);
  while (entries(contender)[place].address != address && entries(contender)[place].address != 0)
    place = (place + 1) & contender->mask;
  return &entries(contender)[place];
}

static struct entry *find_hashed(struct contender *contender, uint64_t address) {
  return hashed(contender, address);
}

static void start_hash(struct contender *contender) {
  contender->mask = mask_for(count_sites(contender->subject), 2);
  build(contender, contender->mask + 1, find_hashed);
}

static uint64_t look_up_hashed(const struct contender *contender, uint64_t address) {
  return visit(hashed(contender, address));
}

const struct rival rival_hash = {
    .name = "hash table",
    .visits = VISITS_PAIRS,
    .start = start_hash,
    .look_up = look_up_hashed,
};

/* ---- The sorted array ---- */

static struct entry *append(struct contender *contender, uint64_t address) {
  (void)address;
  return &entries(contender)[contender->count++];
}

static int compare_entries(const void *a, const void *b) {
  const struct entry *left = a, *right = b;
  return (left->address > right->address) - (left->address < right->address);
}

static void start_sorted(struct contender *contender) {
  contender->count = 0;
  build(contender, count_sites(contender->subject), append);
  qsort(entries(contender), contender->count, sizeof(struct entry), compare_entries);
}

static uint64_t look_up_sorted(const struct contender *contender, uint64_t address) {
  const struct entry *sorted = entries(contender);
  uint64_t from = 0, to = contender->count;
  while (to - from > 1) {
    const uint64_t middle = from + (to - from) / 2;
    if (sorted[middle].address <= address)
      from = middle;
    else
      to = middle;
  }
  return sorted[from].address == address ? visit(&sorted[from]) : 0;
}

const struct rival rival_sorted = {
    .name = "sorted array",
    .visits = VISITS_PAIRS,
    .start = start_sorted,
    .look_up = look_up_sorted,
};
