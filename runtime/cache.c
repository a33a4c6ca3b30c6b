/* cache.c - what a cache remembers, and look-ups by way of it: see cache.h. */
#include "runtime/cache.h"

#include <string.h>

/* A slot for 32 bytes at most, and for 64 at least: entries take more, so that some are always free. */
enum { SLOT_SHARE = 32, SIZE_MIN = 1024 };

static size_t slot_count(const struct cache_overlay *cache) {
  return (size_t)1 << (64 - cache->shift);
}

void stackpack_cache_open(struct stackpack_cache *cache, void *memory, size_t size) {
  struct cache_overlay *overlay = cache_overlay_of(cache);
  *cache = (struct stackpack_cache){{0}};
  if (size < SIZE_MIN)
    return;
  overlay->slots = memory;
  overlay->shift = 64;
  for (size_t slots = size / SLOT_SHARE; slots > 1; slots /= 2)
    overlay->shift--;
  overlay->end = size / CACHE_UNIT < UINT32_MAX ? size / CACHE_UNIT : UINT32_MAX;
  cache_forget(overlay, 0);
}

void cache_forget(struct cache_overlay *cache, uint64_t generation) {
  const uint64_t first = slot_count(cache) * sizeof *cache->slots / CACHE_UNIT;
  if (cache->next != first)
    memset(cache->slots, 0, slot_count(cache) * sizeof *cache->slots);
  cache->next = first;
  cache->generation = generation;
  cache->forgotten++;
}

struct cache_entry *cache_remember(struct stackpack_cache *memory,
                                   const struct stackpack_record *record) {
  struct cache_overlay *cache = cache_overlay_of(memory);
  if (cache->slots == NULL)
    return NULL;
  if ((cache->end - cache->next) * CACHE_UNIT < sizeof(struct cache_entry))
    cache_forget(cache, cache->generation);
  struct cache_entry *entry = cache_entry_at(cache, (uint32_t)cache->next);
  entry->record = *record;
  entry->step.place_count = 0;
  entry->has_row = row_read(&entry->row, record_of(record));
  *cache_slot(cache, record->address) = (uint32_t)cache->next;
  cache->next +=
      (offsetof(struct cache_entry, row) + row_size(&entry->row) + CACHE_UNIT - 1) / CACHE_UNIT;
  return entry;
}

/* Visits a row of slots only, as most are: their locations differ in the value only. */
static void visit_slots(const struct row *row, stackpack_visitor *visit, void *context) {
  const struct stackpack_location first = row_location(row, 0);
  struct stackpack_location base = first, derived = first;
  for (const struct row_pair *pair = row->pairs, *end = pair + row->count; pair < end; pair++) {
    base.value = first.value + pair->base * ROW_WORD;
    derived.value = first.value + pair->derived * ROW_WORD;
    visit(context, base, derived);
  }
}

enum stackpack_answer cache_visit(const struct cache_entry *entry,
                                  const struct stackpack_record *record, stackpack_visitor *visit,
                                  void *context) {
  if (entry == NULL || !entry->has_row)
    return stackpack_record_visit(record, visit, context);
  const struct row *row = &entry->row;
  if (row->registers == 0)
    visit_slots(row, visit, context);
  else
    for (unsigned i = 0; i < row->count; i++)
      visit(context, row_location(row, row->pairs[i].base),
            row_location(row, row->pairs[i].derived));
  return STACKPACK_FOUND;
}

enum stackpack_answer stackpack_table_visit(const struct stackpack_table *table,
                                            struct stackpack_cache *cache, uint64_t address,
                                            struct stackpack_record *record,
                                            stackpack_visitor *visit, void *context) {
  const struct cache_entry *entry = NULL;
  if (cache != NULL) {
    cache_begin(cache, 0);
    entry = cache_find(cache, address, record);
  }
  if (entry == NULL) {
    const enum stackpack_answer answer = stackpack_table_find(table, address, record);
    if (answer != STACKPACK_FOUND)
      return answer;
    if (cache != NULL)
      entry = cache_remember(cache, record);
  }
  return cache_visit(entry, record, visit, context);
}
