/* cache.h - remembers look-ups: a hash table of records by return address, in the caller's memory.
 *
 * An address has four places next to each other, a set, whose number is a hash of it. A record that comes
 * takes a free one, or that of each of the four in turn. An entry is two cache lines: the record,
 * and its pairs as steps from a first location. Mostly the second line isn't touched.
 *
 * A walk asks it at every frame, so what a hit takes is here, to be compiled into the walk.
 */
#ifndef STACKPACK_CACHE_H
#define STACKPACK_CACHE_H

#include "runtime/internal.h"

struct cache_entry {
  struct packed_record record; /* address 0: the entry is free */
  uint32_t frame_size;         /* all ones: unknown */
  int32_t value;               /* of the first location */
  uint8_t location_kind, reg, size, distance;
  uint8_t kind, count; /* kind: of the record; count: of pairs */
  uint8_t span;        /* how many times `distance` the last location is behind the first */
  struct frame_step step;
  struct cached_pair pairs[CACHED_PAIRS];
};

_Static_assert(sizeof(struct cache_entry) == STACKPACK_CACHE_RECORD, "two cache lines");

enum { CACHE_WAYS = 4 };

static inline struct cache_overlay *cache_overlay_of(struct stackpack_cache *cache) {
  return (struct cache_overlay *)cache->private_;
}

/* The set of places that an address may have, of 2 to the power of 64 - shift. */
static inline struct cache_entry *cache_set(const struct cache_overlay *cache, uint64_t address) {
  const uint64_t hash = address * 0x9e3779b97f4a7c15u; /* 2^64 divided by the golden ratio */
  return &cache->entries[(hash >> cache->shift) * CACHE_WAYS];
}

/* The entry of an address; NULL: there is none. */
static inline const struct cache_entry *cache_entry_of(const struct cache_overlay *cache,
                                                       uint64_t address) {
  if (cache->shift == 0 || address == 0)
    return NULL;
  const struct cache_entry *places = cache_set(cache, address);
  for (unsigned i = 0; i < CACHE_WAYS; i++)
    if (places[i].record.address == address)
      return &places[i];
  return NULL;
}

/* Forgets everything, where modules have come or gone: for another generation of the process. */
void cache_forget(struct cache_overlay *cache, uint64_t generation);

/* Looks up in the cache alone, which is for a generation of the process (0: for a table). NULL: the record
 * isn't there. The entry counts until something else is remembered. */
static inline const struct cache_entry *cache_find(struct stackpack_cache *memory,
                                                   uint64_t generation, uint64_t address,
                                                   struct stackpack_record *record) {
  struct cache_overlay *cache = cache_overlay_of(memory);
  if (cache->generation != generation)
    cache_forget(cache, generation);
  const struct cache_entry *entry = cache_entry_of(cache, address);
  if (entry == NULL)
    return NULL;
  *(struct packed_record *)record = entry->record;
  record->frame_size = entry->frame_size == UINT32_MAX ? UINT64_MAX : entry->frame_size;
  record->kind = (enum stackpack_kind)entry->kind;
  return entry;
}

/* The entry of the record that a walk is at, as long as the cache has it; or NULL. */
static inline const struct cache_entry *walk_entry(const struct stackpack_walk *walk) {
  const struct cache_entry *entry = walk->private_.entry;
  return entry != NULL && entry->record.address == walk->record.address ? entry : NULL;
}

/* Remembers a record that was looked up elsewhere; NULL: there is no room in an entry for it. */
const struct cache_entry *cache_remember(struct stackpack_cache *cache,
                                         const struct stackpack_record *record);

/* The pairs of a record: from its entry, or, if that is NULL, from the table. */
void cache_entry_pairs(const struct cache_entry *entry, const struct stackpack_record *record,
                       struct stackpack_pairs *pairs);

#endif
