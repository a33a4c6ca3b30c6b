/* cache.c - remembers look-ups: a hash table of records by return address, in the caller's memory.
 *
 * An address has four places next to each other, from one that a hash of it gives. A record that comes
 * takes a free one, or that of each of the four in turn. An entry is two cache lines: the record,
 * and its pairs as steps from a first location. Mostly the second line isn't touched.
 */
#include "runtime/internal.h"

#include <string.h>

struct cache_entry {
  struct packed_record record; /* address 0: the entry is free */
  uint32_t frame_size;         /* all ones: unknown */
  int32_t value;               /* of the first location */
  uint8_t location_kind, reg, size, step;
  uint8_t kind, count; /* kind: of the record; count: of pairs */
  struct cached_frame frame;
  struct cached_pair pairs[CACHED_PAIRS];
};

_Static_assert(sizeof(struct cache_entry) == STACKPACK_CACHE_RECORD, "two cache lines");

enum { WAYS = 4 };

static struct cache_overlay *overlay_of(struct stackpack_cache *cache) {
  return (struct cache_overlay *)cache->private_;
}

void stackpack_cache_open(struct stackpack_cache *cache, void *memory, size_t size) {
  *cache = (struct stackpack_cache){{0}};
  overlay_of(cache)->entries = memory;
  overlay_of(cache)->count = size / sizeof(struct cache_entry);
}

/* The first of the places that an address may have. The hash is spread over them without a mask, by a
 * multiplication (Lemire, "Fast Random Integer Generation in an Interval", 2019). */
static struct cache_entry *first_place(const struct cache_overlay *cache, uint64_t address) {
  const uint64_t hash = address * 0x9e3779b97f4a7c15u; /* 2^64 divided by the golden ratio */
  return &cache->entries[(hash >> 32) * (cache->count - WAYS + 1) >> 32];
}

/* ---- What is remembered ---- */

static void recall(const struct cache_entry *entry, struct stackpack_record *record) {
  *(struct packed_record *)record = entry->record;
  record->frame_size = entry->frame_size == UINT32_MAX ? UINT64_MAX : entry->frame_size;
  record->kind = (enum stackpack_kind)entry->kind;
}

static void recall_pairs(const struct cache_entry *entry, struct stackpack_pairs *pairs) {
  struct pairs_overlay *own = pairs_of(pairs);
  pairs->is_corrupt = false;
  own->state = PAIRS_CACHED;
  own->first =
      (struct stackpack_location){entry->location_kind, entry->size, entry->reg, entry->value};
  own->step = entry->step;
  own->next = 0;
  own->count = entry->count;
  memcpy(own->pairs, entry->pairs, sizeof own->pairs);
}

/* Pairs by their locations' numbers, and the range that these are in. */
struct numbered {
  struct packed_pair pairs[CACHED_PAIRS];
  uint32_t count, low, high;
};

static void widen(struct numbered *numbered, uint32_t number) {
  numbered->low = number < numbered->low ? number : numbered->low;
  numbered->high = number > numbered->high ? number : numbered->high;
}

/* Takes all pairs. False: they are too many, too far from each other, or not all of one class. */
static bool take_pairs(struct packed_pairs pairs, struct numbered *numbered) {
  struct packed_pair pair;
  *numbered = (struct numbered){.low = UINT32_MAX};
  while (packed_pairs_next(&pairs, &pair)) {
    if (numbered->count == CACHED_PAIRS)
      return false;
    numbered->pairs[numbered->count++] = pair;
    widen(numbered, pair.base);
    widen(numbered, pair.derived);
  }
  if (numbered->count == 0)
    numbered->low = 0;
  return !pairs.bad && numbered->high - numbered->low <= UINT8_MAX &&
         packed_location_class(pairs.table, numbered->low) ==
             packed_location_class(pairs.table, numbered->high);
}

static struct cached_frame take_frame(const struct stackpack_record *record) {
  unsigned return_register;
  const struct frame_view view = record_view(record, &return_register);
  const uint64_t words = (uint64_t)view.cfa_offset / sizeof(uint64_t);
  if (!view.is_known || view.lost != 0 || view.cfa_offset % (int64_t)sizeof(uint64_t) != 0 ||
      words > UINT16_MAX)
    return (struct cached_frame){0};
  return (struct cached_frame){
      .places = (uint32_t)(view.places - record_of(record)->table->frames.shapes),
      .cfa_words = (uint16_t)words,
      .cfa_register = view.cfa_register,
      .place_count = view.place_count,
  };
}

/* Fills in an entry. False: the record can't be told in one. */
static bool fill(struct cache_entry *entry, const struct stackpack_record *record) {
  const struct packed_record *packed = record_of(record);
  struct packed_pairs pairs;
  struct numbered numbered;
  packed_pairs(&pairs, packed->table, packed->layout, packed->position);
  if (record->address == 0 ||
      (record->frame_size >= UINT32_MAX && record->frame_size != UINT64_MAX) ||
      !take_pairs(pairs, &numbered))
    return false;
  const struct location first = packed_location(packed->table, numbered.low);
  uint64_t step = 0;
  if (numbered.high > numbered.low)
    step = (uint64_t)packed_location(packed->table, numbered.low + 1).value - (uint64_t)first.value;
  *entry = (struct cache_entry){
      .record = *packed,
      .frame_size = (uint32_t)record->frame_size,
      .value = (int32_t)first.value,
      .location_kind = first.kind,
      .reg = (uint8_t)first.reg,
      .size = (uint8_t)first.size,
      .step = (uint8_t)step,
      .kind = (uint8_t)record->kind,
      .count = (uint8_t)numbered.count,
      .frame = take_frame(record),
  };
  for (unsigned i = 0; i < numbered.count; i++)
    entry->pairs[i] = (struct cached_pair){(uint8_t)(numbered.pairs[i].base - numbered.low),
                                           (uint8_t)(numbered.pairs[i].derived - numbered.low)};
  return first.value == entry->value && first.reg == entry->reg && first.size == entry->size &&
         step == entry->step;
}

/* ---- Looking up ---- */

/* The entry of an address; NULL: there is none. */
static inline const struct cache_entry *find_entry(const struct cache_overlay *cache,
                                                   uint64_t address) {
  if (cache->count < WAYS || address == 0)
    return NULL;
  const struct cache_entry *places = first_place(cache, address);
  for (unsigned i = 0; i < WAYS; i++)
    if (places[i].record.address == address)
      return &places[i];
  return NULL;
}

static void forget_all(struct cache_overlay *cache) {
  if (cache->count > 0)
    memset(cache->entries, 0, cache->count * sizeof *cache->entries);
}

const struct cache_entry *cache_find(struct stackpack_cache *memory, uint64_t generation,
                                     uint64_t address, struct stackpack_record *record,
                                     struct cached_frame *frame) {
  struct cache_overlay *cache = overlay_of(memory);
  if (cache->generation != generation)
    forget_all(cache);
  cache->generation = generation;
  const struct cache_entry *entry = find_entry(cache, address);
  if (entry != NULL) {
    recall(entry, record);
    *frame = entry->frame;
  }
  return entry;
}

const struct cache_entry *cache_remember(struct stackpack_cache *memory,
                                         const struct stackpack_record *record) {
  struct cache_overlay *cache = overlay_of(memory);
  struct cache_entry entry;
  if (cache->count < WAYS || !fill(&entry, record))
    return NULL;
  struct cache_entry *places = first_place(cache, record->address), *place = NULL;
  for (unsigned i = 0; i < WAYS && place == NULL; i++)
    if (places[i].record.address == 0)
      place = &places[i];
  if (place == NULL)
    place = &places[cache->replaced++ % WAYS];
  *place = entry;
  return place;
}

void cache_entry_pairs(const struct cache_entry *entry, const struct stackpack_record *record,
                       struct stackpack_pairs *pairs) {
  if (entry != NULL && entry->record.index == record->index)
    recall_pairs(entry, pairs);
  else
    *pairs = stackpack_pairs(record);
}

void cache_pairs(struct stackpack_cache *cache, const struct stackpack_record *record,
                 struct stackpack_pairs *pairs) {
  cache_entry_pairs(find_entry(overlay_of(cache), record->address), record, pairs);
}

enum stackpack_answer stackpack_table_find_cached(const struct stackpack_table *table,
                                                  struct stackpack_cache *cache, uint64_t address,
                                                  struct stackpack_record *record,
                                                  struct stackpack_pairs *pairs) {
  struct cached_frame frame;
  const struct cache_entry *entry = cache_find(cache, 0, address, record, &frame);
  if (entry == NULL) {
    const enum stackpack_answer answer = stackpack_table_find(table, address, record);
    if (answer != STACKPACK_FOUND)
      return answer;
    entry = cache_remember(cache, record);
  }
  cache_entry_pairs(entry, record, pairs);
  return STACKPACK_FOUND;
}
