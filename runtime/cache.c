/* cache.c - what a cache remembers, and how: see cache.h. */
#include "runtime/cache.h"

#include <string.h>

void stackpack_cache_open(struct stackpack_cache *cache, void *memory, size_t size) {
  *cache = (struct stackpack_cache){{0}};
  cache_overlay_of(cache)->entries = memory;
  size_t sets = size / sizeof(struct cache_entry) / CACHE_WAYS;
  for (unsigned shift = 64; sets > 1; sets /= 2)
    cache_overlay_of(cache)->shift = --shift;
}

/* ---- What is remembered ---- */

static void recall_pairs(const struct cache_entry *entry, struct stackpack_pairs *pairs) {
  struct pairs_overlay *own = pairs_of(pairs);
  pairs->is_corrupt = false;
  own->state = PAIRS_CACHED;
  own->first =
      (struct stackpack_location){entry->location_kind, entry->size, entry->reg, entry->value};
  own->step = entry->distance;
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

/* A frame in which no register is lost. */
static struct frame_step take_step(const struct stackpack_record *record) {
  struct frame_step step;
  const struct frame_view view = record_view(record);
  return view.is_known && view.lost == 0 &&
                 frame_step_of(&step, &record_of(record)->table->frames, &view)
             ? step
             : (struct frame_step){0};
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
      .distance = (uint8_t)step,
      .kind = (uint8_t)record->kind,
      .count = (uint8_t)numbered.count,
      .span = (uint8_t)(numbered.high - numbered.low),
      .step = take_step(record),
  };
  for (unsigned i = 0; i < numbered.count; i++)
    entry->pairs[i] = (struct cached_pair){(uint8_t)(numbered.pairs[i].base - numbered.low),
                                           (uint8_t)(numbered.pairs[i].derived - numbered.low)};
  return first.value == entry->value && first.reg == entry->reg && first.size == entry->size &&
         step == entry->distance;
}

/* ---- Looking up ---- */

void cache_forget(struct cache_overlay *cache, uint64_t generation) {
  if (cache->shift > 0)
    memset(cache->entries, 0,
           ((size_t)1 << (64 - cache->shift)) * CACHE_WAYS * sizeof *cache->entries);
  cache->generation = generation;
}

const struct cache_entry *cache_remember(struct stackpack_cache *memory,
                                         const struct stackpack_record *record) {
  struct cache_overlay *cache = cache_overlay_of(memory);
  struct cache_entry entry;
  if (cache->shift == 0 || !fill(&entry, record))
    return NULL;
  struct cache_entry *places = cache_set(cache, record->address), *place = NULL;
  for (unsigned i = 0; i < CACHE_WAYS && place == NULL; i++)
    if (places[i].record.address == 0)
      place = &places[i];
  if (place == NULL)
    place = &places[cache->replaced++ % CACHE_WAYS];
  *place = entry;
  return place;
}

void cache_entry_pairs(const struct cache_entry *entry, const struct stackpack_record *record,
                       struct stackpack_pairs *pairs) {
  if (entry != NULL)
    recall_pairs(entry, pairs);
  else
    *pairs = stackpack_pairs(record);
}

enum stackpack_answer stackpack_table_find_cached(const struct stackpack_table *table,
                                                  struct stackpack_cache *cache, uint64_t address,
                                                  struct stackpack_record *record,
                                                  struct stackpack_pairs *pairs) {
  const struct cache_entry *entry = cache_find(cache, 0, address, record);
  if (entry == NULL) {
    const enum stackpack_answer answer = stackpack_table_find(table, address, record);
    if (answer != STACKPACK_FOUND)
      return answer;
    entry = cache_remember(cache, record);
  }
  cache_entry_pairs(entry, record, pairs);
  return STACKPACK_FOUND;
}
