/* cache.c - the contents of a cache, and look-ups through it: see cache.h. */
#include "runtime/cache.h"

#include <assert.h>
#include <string.h>

/* There is a slot for 32 bytes. Entries take more, so that some slots are always free. */
enum { SLOT_SHARE = 32, SHIFT_MIN = 4, SHIFT_MAX = 22 };

/* All entries are forgotten when so many records were refused for each slot; or when the noted
 * addresses that came again soon outnumber the others by so many. Soon: before an eighth as many
 * more records were refused as there are slots. */
enum { REFUSALS = 4, RETURNED_MAX = 4, SOON_SHARE = 8 };

_Static_assert(offsetof(struct cache_entry, row) >= SLOT_SHARE, "an entry takes more");

static size_t slot_count(const struct cache_overlay *cache) {
  return (size_t)1 << (64 - cache->shift);
}

void stackpack_cache_open(struct stackpack_cache *cache, void *memory, unsigned shift) {
  struct cache_overlay *overlay = cache_overlay_of(cache);
  *cache = (struct stackpack_cache){{0}};
  if (shift < SHIFT_MIN)
    return;
  assert((uintptr_t)memory % 8 == 0);
  if (shift > SHIFT_MAX) /* entries' places have 24 bits */
    shift = SHIFT_MAX;
  const uint64_t size = (uint64_t)STACKPACK_CACHE_LINE << shift;
  overlay->slots = memory;
  overlay->shift = 64 - (unsigned)__builtin_ctzll(size / SLOT_SHARE);
  overlay->end = size / CACHE_UNIT;
  cache_forget(overlay, 0);
}

void cache_forget(struct cache_overlay *cache, uint64_t generation) {
  const uint64_t first = slot_count(cache) * sizeof *cache->slots / CACHE_UNIT;
  assert(first < cache->end);
  if (cache->next != first)
    memset(cache->slots, 0, slot_count(cache) * sizeof *cache->slots);
  cache->next = first;
  cache->generation = generation;
  cache->refused = cache->noted = cache->noted_at = cache->returned = 0;
  cache->forgotten++;
}

/* An address had no room. Whether it is time to forget all: most of the addresses that are noted,
 * one at a time, come again soon, so the addresses in use are other than the remembered ones; or
 * very many were refused. */
static bool refuse(struct cache_overlay *cache, uint64_t address) {
  cache->refused++;
  if (cache->noted == 0) {
    cache->noted = address;
    cache->noted_at = cache->refused;
  } else if (cache->noted == address) {
    cache->noted = 0;
    cache->returned++;
  } else if (cache->refused - cache->noted_at > slot_count(cache) / SOON_SHARE) {
    cache->noted = 0;
    cache->returned -= cache->returned > 0;
  }
  return cache->returned == RETURNED_MAX || cache->refused > REFUSALS * slot_count(cache);
}

/* Whether there is room for an entry of any size, or is by now. */
static bool make_room(struct cache_overlay *cache, uint64_t address) {
  if ((cache->end - cache->next) * CACHE_UNIT >= sizeof(struct cache_entry))
    return true;
  if (!refuse(cache, address))
    return false;
  cache_forget(cache, cache->generation);
  return true;
}

_Static_assert((uint64_t)(int64_t)(int32_t)-1 == STACKPACK_FRAME_SIZE_UNKNOWN, "as it is noted");

uint32_t cache_remember(struct stackpack_cache *memory, const struct stackpack_record *record) {
  struct cache_overlay *cache = cache_overlay_of(memory);
  const int32_t frame_size = (int32_t)record->frame_size;
  if (cache->slots == NULL || record->kind != STACKPACK_STATEPOINT ||
      (uint64_t)(int64_t)frame_size != record->frame_size || !make_room(cache, record->address))
    return 0;
  assert(cache->next > 0); /* a slot with 0 is free */
  assert(cache->next >> (32 - SLOT_PAIRS_WIDTH) == 0);
  const uint32_t place = (uint32_t)cache->next << SLOT_PAIRS_WIDTH;
  struct cache_entry *entry = slot_entry(cache, place);
  entry->record = *record_of(record);
  entry->frame_size = frame_size;
  entry->step = (struct step){0};
  for (unsigned i = 0; i < CACHE_CALLERS; i++)
    entry->callers[i] = entry;
  const bool is_row = row_read(&entry->row, record_of(record));
  if (!is_row)
    entry->row.head.count = CACHE_NO_ROW;
  const uint32_t slot = place | entry->row.head.count;
  const unsigned pairs = is_row ? slot_pairs(slot) : 0;
  const bool is_near =
      is_row && row_read_moves(&entry->moves, entry->row.pairs + pairs, record_of(record));
  const unsigned moves = is_near ? entry->moves.count : 0;
  if (!is_near)
    entry->moves.count = ROW_NOT_NEAR;
  uint32_t *own = cache_slot(cache, record->address);
  assert(*own == 0); /* the record wasn't remembered yet */
  *own = slot;
  const size_t size = offsetof(struct cache_entry, row) + row_size(pairs + moves);
  cache->next += (size + CACHE_UNIT - 1) / CACHE_UNIT;
  assert(cache->next <= cache->end && size <= sizeof *entry);
  return slot;
}

/* Visits a row of slots only, as most are: their locations differ in the value only. */
static void visit_slots(const struct row *row, unsigned pairs, stackpack_visitor *visit,
                        void *context) {
  const struct stackpack_location first = row_location(row->head, 0);
  struct stackpack_location base = first, derived = first;
  for (const struct row_pair *pair = row->pairs, *end = pair + pairs; pair < end; pair++) {
    base.value = first.value + pair->base * ROW_WORD;
    derived.value = first.value + pair->derived * ROW_WORD;
    visit(context, base, derived);
  }
}

enum stackpack_answer cache_visit(struct stackpack_cache *cache, uint32_t slot,
                                  const struct stackpack_record *record, stackpack_visitor *visit,
                                  void *context) {
  assert(slot != 0);
  const unsigned pairs = slot_pairs(slot);
  if (pairs == CACHE_NO_ROW)
    return stackpack_record_visit(record, visit, context);
  const struct row *row = &slot_entry(cache_overlay_of(cache), slot)->row;
  if (!row->head.has_registers)
    visit_slots(row, pairs, visit, context);
  else
    for (unsigned i = 0; i < pairs; i++)
      visit(context, row_location(row->head, row->pairs[i].base),
            row_location(row->head, row->pairs[i].derived));
  return STACKPACK_FOUND;
}

enum stackpack_answer cache_visit_new(struct stackpack_cache *cache,
                                      const struct stackpack_record *record,
                                      stackpack_visitor *visit, void *context) {
  const uint32_t slot = cache != NULL ? cache_remember(cache, record) : 0;
  return slot != 0 ? cache_visit(cache, slot, record, visit, context)
                   : stackpack_record_visit(record, visit, context);
}

enum stackpack_answer stackpack_table_visit(const struct stackpack_table *table,
                                            struct stackpack_cache *cache, uint64_t address,
                                            struct stackpack_record *record,
                                            stackpack_visitor *visit, void *context) {
  if (cache != NULL) {
    cache_begin(cache, 0);
    const uint32_t slot = cache_look_up(cache, address, record);
    if (slot != 0)
      return cache_visit(cache, slot, record, visit, context);
  }
  const enum stackpack_answer answer = stackpack_table_find(table, address, record);
  return answer == STACKPACK_FOUND ? cache_visit_new(cache, record, visit, context) : answer;
}
