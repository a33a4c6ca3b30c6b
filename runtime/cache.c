/* cache.c - remembers look-ups: a table of entries by return address, in the caller's memory.
 *
 * An address has four places next to each other, from one that a hash of it gives. What comes takes
 * a free one; if there is none, it takes the place of one of the four, each in its turn. An entry
 * holds the record and its pairs, in steps from a first location (packed_slots.c); what doesn't fit
 * isn't remembered. This is a small hash table of records. Finding an entry again is in
 * stackpack.h, so that it is compiled into the caller; here is what is done when nothing was found.
 */
#include "internal.h"

#include <string.h>

_Static_assert(sizeof(struct stackpack_cache_entry) == 192, "an entry is three cache lines");

enum { ENTRY_PAIRS = sizeof((struct stackpack_cache_entry){0}.pairs) / 2 };

void stackpack_cache_open(struct stackpack_cache *cache, struct stackpack_cache_entry *entries,
                          unsigned shift) {
  *cache = (struct stackpack_cache){.entries = entries,
                                    .places = ((uint64_t)1 << shift) - STACKPACK_CACHE_WAYS + 1};
  memset(entries, 0, sizeof *entries << shift);
}

static void forget_all(struct stackpack_cache *cache) {
  for (size_t i = 0; i < cache->places + STACKPACK_CACHE_WAYS - 1; i++)
    cache->entries[i].record.address = 0;
}

/* Writes all pairs as steps, so that they come out in the same order: the last one first. False if
 * there are too many. */
static bool write_steps(struct stackpack_cache_entry *entry, const struct stackpack_pairs *pairs) {
  uint32_t count = pairs->pair_count;
  if (pairs->more != 0 || count + bits_count(pairs->slots) > ENTRY_PAIRS)
    return false;
  memcpy(entry->pairs, pairs->pairs, count * sizeof pairs->pairs[0]);
  for (uint64_t slots = pairs->slots; slots != 0;) {
    const uint8_t last = (uint8_t)(63 - __builtin_clzll(slots));
    entry->pairs[count++] = (struct stackpack_steps){last, last};
    slots &= ~((uint64_t)1 << last);
  }
  entry->pair_count = (uint16_t)count;
  entry->caller = 0;
  entry->first = pairs->first;
  entry->step = pairs->step;
  return true;
}

/* The entry that what comes is written into. */
static struct stackpack_cache_entry *choose(struct stackpack_cache *cache, uint64_t address) {
  struct stackpack_cache_entry *first = stackpack_cache_place(cache, address);
  for (unsigned i = 0; i < STACKPACK_CACHE_WAYS; i++)
    if (first[i].record.address == 0)
      return &first[i];
  return &first[cache->replaced++ % STACKPACK_CACHE_WAYS];
}

static void remember(struct stackpack_cache *cache, const struct stackpack_record *record,
                     const struct stackpack_pairs *pairs) {
  struct stackpack_cache_entry entry;
  if (!write_steps(&entry, pairs))
    return;
  entry.record = *record;
  *choose(cache, record->address) = entry;
}

/* Adds its pairs to what was looked up, and remembers both. */
static void complete(struct stackpack_cache *cache, const struct stackpack_record *record,
                     struct stackpack_pairs *pairs) {
  stackpack_pairs_begin(pairs, record);
  remember(cache, record, pairs);
}

enum stackpack_answer stackpack_table_find_uncached(const struct stackpack_table *table,
                                                    struct stackpack_cache *cache, uint64_t address,
                                                    struct stackpack_record *record,
                                                    struct stackpack_pairs *pairs) {
  const enum stackpack_answer answer = stackpack_table_find(table, address, record);
  if (answer == STACKPACK_FOUND)
    complete(cache, record, pairs);
  return answer;
}

enum stackpack_answer stackpack_find_uncached(const struct stackpack_process *process,
                                              struct stackpack_cache *cache,
                                              uintptr_t return_address,
                                              struct stackpack_record *record,
                                              struct stackpack_pairs *pairs) {
  const uint64_t generation = __atomic_load_n(&process->generation, __ATOMIC_ACQUIRE);
  if (cache->generation != generation) {
    forget_all(cache);
    cache->generation = generation;
  }
  const enum stackpack_answer answer = stackpack_find(process, return_address, record);
  if (answer == STACKPACK_FOUND)
    complete(cache, record, pairs);
  return answer;
}
