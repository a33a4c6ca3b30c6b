/* cache.c - remembers look-ups: a table of entries by return address, in the caller's memory.
 *
 * An address has two places next to each other, given by a hash of it. What comes takes the first,
 * what was there moves to the second, and what was in the second is forgotten. An entry holds the
 * record and its pairs in their short form (packed_slots.c), with a byte for each location; what
 * doesn't fit isn't remembered. This is a small hash table of records, and finding an entry again
 * costs about as much as in a large one.
 */
#include "internal.h"

#include <string.h>

enum { PAIRS_MAX = 38 };

struct entry {
  uint64_t address; /* 0: free */
  struct stackpack_record record;
  uint64_t slots, step;
  struct stackpack_location first;
  uint32_t pair_count;
  struct short_pair {
    uint8_t base, derived;
  } pairs[PAIRS_MAX];
};

_Static_assert(sizeof(struct entry) == sizeof(struct stackpack_cache_entry),
               "an entry fills its room");

/* The first of the two places of an address. */
static struct entry *places_of(const struct stackpack_cache *cache, uint64_t address) {
  const uint64_t hash = address * 0x9e3779b97f4a7c15u; /* 2^64 divided by the golden ratio */
  return (struct entry *)&cache->entries[hash >> 32 >> (32 - (cache->shift - 1)) << 1];
}

/* The entry of an address, NULL if it isn't remembered. */
static struct entry *entry_of(const struct stackpack_cache *cache, uint64_t address) {
  struct entry *first = places_of(cache, address), *second = first + 1;
  if (address == 0)
    return NULL;
  return first->address == address ? first : second->address == address ? second : NULL;
}

void stackpack_cache_open(struct stackpack_cache *cache, struct stackpack_cache_entry *entries,
                          unsigned shift) {
  *cache = (struct stackpack_cache){.entries = entries, .shift = shift};
  memset(entries, 0, sizeof *entries << shift);
}

static void forget_all(struct stackpack_cache *cache) {
  for (size_t i = 0; i < (size_t)1 << cache->shift; i++)
    ((struct entry *)&cache->entries[i])->address = 0;
}

static void recall(const struct entry *entry, struct stackpack_record *record,
                   struct stackpack_pairs *pairs) {
  *record = entry->record;
  pairs->slots = entry->slots;
  pairs->step = entry->step;
  pairs->first = entry->first;
  pairs->pair_count = entry->pair_count;
  pairs->more = 0;
  for (uint32_t i = 0; i < entry->pair_count; i++) {
    pairs->pairs[i].base = entry->pairs[i].base;
    pairs->pairs[i].derived = entry->pairs[i].derived;
  }
}

/* Whether a record's pairs fit into an entry. */
static bool fits(const struct stackpack_pairs *pairs) {
  if (pairs->more != 0 || pairs->pair_count > PAIRS_MAX)
    return false;
  for (uint32_t i = 0; i < pairs->pair_count; i++)
    if (pairs->pairs[i].base > UINT8_MAX || pairs->pairs[i].derived > UINT8_MAX)
      return false;
  return true;
}

static void remember(const struct stackpack_cache *cache, uint64_t address,
                     const struct stackpack_record *record, const struct stackpack_pairs *pairs) {
  struct entry *entry = places_of(cache, address);
  if (!fits(pairs))
    return;
  entry[1] = entry[0];
  entry->address = address;
  entry->record = *record;
  entry->slots = pairs->slots;
  entry->step = pairs->step;
  entry->first = pairs->first;
  entry->pair_count = pairs->pair_count;
  for (uint32_t i = 0; i < entry->pair_count; i++)
    entry->pairs[i] =
        (struct short_pair){(uint8_t)pairs->pairs[i].base, (uint8_t)pairs->pairs[i].derived};
}

const struct stackpack_record *cache_recall(const struct stackpack_process *process,
                                            const struct stackpack_cache *cache, uint64_t address) {
  const struct entry *entry = entry_of(cache, address);
  const bool is_current = process == NULL || cache->private_[0] == process_generation(process);
  return entry != NULL && is_current ? &entry->record : NULL;
}

enum stackpack_answer stackpack_table_find_cached(const struct stackpack_table *table,
                                                  struct stackpack_cache *cache, uint64_t address,
                                                  struct stackpack_record *record,
                                                  struct stackpack_pairs *pairs) {
  const struct entry *entry = entry_of(cache, address);
  if (entry != NULL) {
    recall(entry, record, pairs);
    return STACKPACK_FOUND;
  }
  const enum stackpack_answer answer = stackpack_table_find(table, address, record);
  if (answer == STACKPACK_FOUND) {
    *pairs = stackpack_pairs(record);
    remember(cache, address, record, pairs);
  }
  return answer;
}

enum stackpack_answer stackpack_find_cached(const struct stackpack_process *process,
                                            struct stackpack_cache *cache, uintptr_t return_address,
                                            struct stackpack_record *record,
                                            struct stackpack_pairs *pairs) {
  const uint64_t generation = process_generation(process);
  if (cache->private_[0] != generation) {
    forget_all(cache);
    cache->private_[0] = generation;
  }
  const struct entry *entry = entry_of(cache, return_address);
  if (entry != NULL) {
    recall(entry, record, pairs);
    return STACKPACK_FOUND;
  }
  const enum stackpack_answer answer = stackpack_find(process, return_address, record);
  if (answer == STACKPACK_FOUND) {
    *pairs = stackpack_pairs(record);
    remember(cache, return_address, record, pairs);
  }
  return answer;
}
