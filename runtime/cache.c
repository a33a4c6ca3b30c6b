/* cache.c - remembers look-ups: a table of entries by return address, in the caller's memory.
 *
 * An address has eight places next to each other, from one that a hash of it gives. What comes takes
 * a free one; if there is none, it takes the place of one of the eight: mostly of the first one, where
 * it is found again soonest, but now and then of another, so that two that are wanted again and again
 * don't drive each other out for ever.
 *
 * An entry is one cache line: the record, and its pairs, in steps from a first location
 * (packed_slots.c). Those of many pairs go on in the next entries: an address of 0 is found by nobody,
 * so these stand between the others, and only here is there a difference between them and free ones.
 * Entries of one record come and go together. This is a small hash table of records. Finding an entry
 * again is in stackpack.h, so that it is compiled into the caller; here is what is done when nothing
 * was found.
 */
#include "runtime/internal.h"

#include <string.h>

_Static_assert(sizeof(struct stackpack_cache_entry) == 64, "an entry is a cache line");
_Static_assert(offsetof(struct packed_record, layout) ==
                       offsetof(struct stackpack_record, private_[3]) &&
                   offsetof(struct packed_record, position) ==
                       offsetof(struct stackpack_record, private_[5]),
               "stackpack_cache_record knows where these are");
_Static_assert(offsetof(struct stackpack_cache_head, caller) ==
                   offsetof(struct stackpack_cache_rest, unused),
               "a walk may write `caller` into any entry");

enum {
  HEAD_PAIRS = sizeof((struct stackpack_cache_head){0}.pairs) / sizeof(struct stackpack_steps),
  REST_PAIRS = sizeof((struct stackpack_cache_rest){0}.pairs) / sizeof(struct stackpack_steps),
  RESTS_MAX = 9, /* entries behind a record's */
  PAIRS_MAX = HEAD_PAIRS + RESTS_MAX * REST_PAIRS,
};

_Static_assert(HEAD_PAIRS < 16 && RESTS_MAX < 16, "an entry counts them in four bits each");
_Static_assert(PAIRS_MAX <=
                   sizeof((struct stackpack_pairs){0}.pairs) / sizeof(struct stackpack_steps),
               "what is remembered has room in stackpack_pairs");

/* From any place, there are as many entries up to the end as a record in the last way takes; but in
 * the smallest caches. */
void stackpack_cache_open_zeros(struct stackpack_cache *cache,
                                struct stackpack_cache_entry *entries, unsigned shift) {
  const uint64_t room = STACKPACK_CACHE_WAYS + RESTS_MAX, size = (uint64_t)1 << shift;
  *cache = (struct stackpack_cache){
      .entries = entries, .size = size, .places = size < room ? 1 : size - room + 1};
}

static void forget_all(struct stackpack_cache *cache) {
  memset(cache->entries, 0, cache->size * sizeof *cache->entries);
}

void stackpack_cache_open(struct stackpack_cache *cache, struct stackpack_cache_entry *entries,
                          unsigned shift) {
  stackpack_cache_open_zeros(cache, entries, shift);
  forget_all(cache);
}

/* ---- Remembering ---- */

/* How many entries a record takes behind its first one that has so many pairs. */
static unsigned rests_for(uint32_t pairs) {
  return pairs <= HEAD_PAIRS ? 0 : (pairs - HEAD_PAIRS + REST_PAIRS - 1) / REST_PAIRS;
}

/* Takes an entry out, and all others of its record. */
static void forget(struct stackpack_cache_entry *entry) {
  if (entry->rest.address == 0)
    entry -= entry->rest.distance;
  const unsigned rests = entry->head.rest_count;
  for (unsigned i = 0; i <= rests; i++)
    entry[i].rest.address = entry[i].rest.distance = 0;
}

static bool is_free(const struct stackpack_cache_entry *entry) {
  return entry->rest.address == 0 && entry->rest.distance == 0;
}

static bool are_free(const struct stackpack_cache_entry *entries, uint64_t count) {
  for (uint64_t i = 0; i < count; i++)
    if (!is_free(&entries[i]))
      return false;
  return true;
}

/* `count` entries, next to each other, into which what comes is written: free ones, or else those of
 * one of the ways: of the first one three times in four, of the next one three times in four of what
 * is left, and so on. NULL if the cache is too small. */
static struct stackpack_cache_entry *choose(struct stackpack_cache *cache, uint64_t address,
                                            uint64_t count) {
  struct stackpack_cache_entry *first = stackpack_cache_place(cache, address);
  const uint64_t room = (uint64_t)(cache->entries + cache->size - first);
  if (room < count)
    return NULL;
  const uint64_t ways =
      room - count < STACKPACK_CACHE_WAYS ? room - count + 1 : STACKPACK_CACHE_WAYS;
  for (uint64_t i = 0; i < ways; i++)
    if (are_free(&first[i], count))
      return &first[i];
  first += (unsigned)__builtin_ctzll(++cache->replaced) / 2 % ways;
  for (uint64_t i = 0; i < count; i++)
    if (!is_free(&first[i]))
      forget(&first[i]);
  return first;
}

/* Writes all pairs as steps, so that they come out in the same order: the last one first. How many
 * they are. */
static uint32_t write_steps(struct stackpack_steps *steps, const struct stackpack_pairs *pairs) {
  uint32_t count = pairs->pair_count;
  memcpy(steps, pairs->pairs, count * sizeof *steps);
  for (uint64_t slots = pairs->slots; slots != 0;) {
    const uint8_t last = (uint8_t)(63 - __builtin_clzll(slots));
    steps[count++] = (struct stackpack_steps){last, last};
    slots &= ~((uint64_t)1 << last);
  }
  return count;
}

/* Writes the pairs into a record's entries: those that are taken first into the first one. */
static void write_pairs(struct stackpack_cache_entry *entry, const struct stackpack_steps *steps,
                        uint32_t count) {
  const uint32_t first = count < HEAD_PAIRS ? count : HEAD_PAIRS;
  entry->head.rest_count = rests_for(count);
  entry->head.pair_count = first;
  count -= first;
  memcpy(entry->head.pairs, steps + count, first * sizeof *steps);
  for (uint8_t distance = 1; count > 0; distance++) {
    struct stackpack_cache_rest *rest = &entry[distance].rest;
    rest->address = 0;
    rest->distance = distance;
    rest->pair_count = (uint8_t)(count < REST_PAIRS ? count : REST_PAIRS);
    count -= rest->pair_count;
    memcpy(rest->pairs, steps + count, rest->pair_count * sizeof *steps);
  }
}

/* Whether an entry has room for the numbers of a record and its locations. An address of 0 means that
 * none starts there. */
static bool has_room(const struct stackpack_record *record, const struct stackpack_pairs *pairs) {
  const struct stackpack_location *first = &pairs->first;
  return record->address != 0 && record_of(record)->layout / 8 <= UINT32_MAX &&
         record->frame_size + 1 <= INT32_MAX && first->value == (int32_t)first->value &&
         first->reg <= UINT8_MAX && first->size <= UINT8_MAX && pairs->step <= UINT8_MAX;
}

static void write_head(struct stackpack_cache_head *head, const struct stackpack_record *record,
                       const struct stackpack_pairs *pairs) {
  *head = (struct stackpack_cache_head){
      .address = record->address,
      .index = record->index,
      .private_ = {record->private_[0], record->private_[1], record->private_[2]},
      .layout = (uint32_t)(record_of(record)->layout / 8),
      .position = record_of(record)->position,
      .frame_size = (int32_t)record->frame_size,
      .kind = (uint8_t)record->kind,
      .value = (int32_t)pairs->first.value,
      .location_kind = pairs->first.kind,
      .reg = (uint8_t)pairs->first.reg,
      .size = (uint8_t)pairs->first.size,
      .step = (uint8_t)pairs->step,
  };
  if (pairs->slots == 0 && pairs->pair_count == 0) { /* then it is plain: see stackpack.h */
    head->location_kind = STACKPACK_INDIRECT;
    head->step = sizeof(uint64_t);
  }
}

static void remember(struct stackpack_cache *cache, const struct stackpack_record *record,
                     const struct stackpack_pairs *pairs) {
  struct stackpack_steps steps[64 + sizeof pairs->pairs / sizeof pairs->pairs[0]];
  if (pairs->more != 0 || !has_room(record, pairs))
    return;
  const uint32_t count = write_steps(steps, pairs);
  struct stackpack_cache_entry *entry =
      count > PAIRS_MAX ? NULL : choose(cache, record->address, 1 + rests_for(count));
  if (entry == NULL)
    return;
  write_head(&entry->head, record, pairs);
  write_pairs(entry, steps, count);
}

void stackpack_cache_rest_pairs(const struct stackpack_cache_entry *entry,
                                struct stackpack_pairs *pairs) {
  const unsigned rests = entry->head.rest_count;
  uint32_t count = 0;
  for (unsigned i = rests; i > 0; i--) {
    memcpy(pairs->pairs + count, entry[i].rest.pairs, sizeof entry[i].rest.pairs);
    count += entry[i].rest.pair_count;
  }
  memcpy(pairs->pairs + count, entry->head.pairs, sizeof entry->head.pairs);
  pairs->pair_count = (uint16_t)(count + entry->head.pair_count);
}

/* ---- Looking up ---- */

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

enum stackpack_answer stackpack_table_visit_other(const struct stackpack_table *table,
                                                  struct stackpack_cache *cache, uint64_t address,
                                                  struct stackpack_record *record,
                                                  stackpack_visitor *visit, void *context) {
  struct stackpack_pairs pairs;
  const enum stackpack_answer answer =
      stackpack_table_find_cached(table, cache, address, record, &pairs);
  return answer == STACKPACK_FOUND ? stackpack_pairs_visit(&pairs, visit, context) : answer;
}

enum stackpack_answer stackpack_visit_other(const struct stackpack_process *process,
                                            struct stackpack_cache *cache, uintptr_t return_address,
                                            struct stackpack_record *record,
                                            stackpack_visitor *visit, void *context) {
  struct stackpack_pairs pairs;
  const enum stackpack_answer answer =
      stackpack_find_cached(process, cache, return_address, record, &pairs);
  return answer == STACKPACK_FOUND ? stackpack_pairs_visit(&pairs, visit, context) : answer;
}
