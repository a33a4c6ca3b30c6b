/* cache.c - remembers look-ups: a table of entries by return address, in the caller's memory.
 *
 * An address has eight places next to each other, from one that a hash of it gives. What comes takes
 * a free one; if there is none, it takes the place of one of the eight, each in its turn. An entry
 * holds the record and its pairs, in steps from a first location (packed_slots.c). Those of many
 * pairs go on in the next entries: an address of 0 is found by nobody, so these stand between the
 * others, and only here is there a difference between them and free ones. Entries of one record come
 * and go together. This is a small hash table of records. Finding an entry again is in stackpack.h,
 * so that it is compiled into the caller; here is what is done when nothing was found.
 */
#include "internal.h"

#include <string.h>

_Static_assert(sizeof(struct stackpack_cache_entry) == 128, "an entry is two cache lines");
_Static_assert(offsetof(struct stackpack_cache_head, caller) ==
                   offsetof(struct stackpack_cache_rest, unused),
               "a walk may write `caller` into any entry");

enum {
  HEAD_PAIRS = sizeof((struct stackpack_cache_head){0}.pairs) / sizeof(struct stackpack_steps),
  REST_PAIRS = sizeof((struct stackpack_cache_rest){0}.pairs) / sizeof(struct stackpack_steps),
  RESTS_MAX = 4, /* entries behind a record's */
  PAIRS_MAX = HEAD_PAIRS + RESTS_MAX * REST_PAIRS,
};

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

/* How many entries a record takes that has so many pairs behind those in its first one. */
static unsigned entries_for(uint32_t rest) { return 1 + (rest + REST_PAIRS - 1) / REST_PAIRS; }

/* Takes an entry out, and all others of its record. */
static void forget(struct stackpack_cache_entry *entry) {
  if (entry->rest.address == 0)
    entry -= entry->rest.distance;
  const unsigned count = entries_for(entry->head.rest);
  for (unsigned i = 0; i < count; i++)
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
 * one of the ways, each in its turn. NULL if the cache is too small. */
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
  first += cache->replaced++ % ways;
  for (uint64_t i = 0; i < count; i++)
    if (!is_free(&first[i]))
      forget(&first[i]);
  return first;
}

/* Writes all pairs as steps, so that they come out in the same order: the last one first. */
static void write_steps(struct stackpack_steps *steps, const struct stackpack_pairs *pairs) {
  memcpy(steps, pairs->pairs, pairs->pair_count * sizeof *steps);
  steps += pairs->pair_count;
  for (uint64_t slots = pairs->slots; slots != 0;) {
    const uint8_t last = (uint8_t)(63 - __builtin_clzll(slots));
    *steps++ = (struct stackpack_steps){last, last};
    slots &= ~((uint64_t)1 << last);
  }
}

/* Writes the pairs behind those in a record's first entry into the next ones. */
static void write_rest(struct stackpack_cache_entry *entry, const struct stackpack_steps *steps,
                       uint32_t rest) {
  for (uint64_t distance = 1; rest > 0; distance++) {
    const uint32_t part = rest < REST_PAIRS ? rest : REST_PAIRS;
    rest -= part;
    entry[distance].rest.address = 0;
    entry[distance].rest.distance = distance;
    memcpy(entry[distance].rest.pairs, steps + rest, part * sizeof *steps);
  }
}

static void remember(struct stackpack_cache *cache, const struct stackpack_record *record,
                     const struct stackpack_pairs *pairs) {
  const uint32_t count = pairs->pair_count + bits_count(pairs->slots);
  const uint32_t rest = count > HEAD_PAIRS ? count - HEAD_PAIRS : 0;
  const bool is_plain =
      count == 0 || (pairs->first.kind == STACKPACK_INDIRECT && pairs->step == sizeof(uint64_t));
  if (pairs->more != 0 || count > PAIRS_MAX)
    return;
  struct stackpack_cache_entry *entry = choose(cache, record->address, entries_for(rest));
  if (entry == NULL)
    return;
  struct stackpack_cache_head *head = &entry->head;
  head->record = *record;
  head->pair_count = (uint8_t)(count - rest);
  head->rest = (uint8_t)rest;
  head->step = pairs->step;
  head->is_plain = is_plain;
  head->caller = 0;
  head->first = pairs->first;
  if (rest == 0) {
    write_steps(head->pairs, pairs);
    return;
  }
  struct stackpack_steps steps[PAIRS_MAX];
  write_steps(steps, pairs);
  memcpy(head->pairs, steps + rest, sizeof head->pairs);
  write_rest(entry, steps, rest);
}

void stackpack_cache_rest_pairs(const struct stackpack_cache_entry *entry,
                                struct stackpack_pairs *pairs) {
  for (uint32_t rest = entry->head.rest, part; rest > 0; rest -= part) {
    entry++;
    part = rest < REST_PAIRS ? rest : REST_PAIRS;
    memcpy(pairs->pairs + rest - part, entry->rest.pairs, part * sizeof pairs->pairs[0]);
  }
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
