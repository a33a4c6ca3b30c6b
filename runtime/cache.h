/* cache.h - remembers look-ups: a hash table of records by return address, in the caller's memory.
 *
 *   slots      each has an entry's place and how many pairs its row has, or 0; a power of 2 of them
 *   entries    one after the other, in the order of their look-ups: how a walk gets to the caller's
 *              frame, the entries of the latest callers, the record, and its live set as a row
 *
 * The hash of an address is a slot's number; its entry's slot is the first one from there on that
 * was free. A processor can't predict the number of pairs, and goes on when it has loaded the
 * number: so the slot has it, and the next look-up goes on before the entry is loaded. When there
 * is no room for another entry, all are forgotten; but not before others are in use: a cache that
 * is too small for the addresses in use serves a part of them, instead of being filled all the
 * time.
 *
 * A walk asks it at every frame, so the code of a hit is here, to be compiled into the walk.
 */
#ifndef STACKPACK_CACHE_H
#define STACKPACK_CACHE_H

#include "runtime/row.h"

/* How a walk gets from a frame to its caller's. The words below the frame's end (the CFA) are
 * numbered from 1 on. */
struct step {
  const uint8_t *places; /* of each word, the register saved there: see frames.h */
  int32_t cfa_offset;    /* from the value of cfa_register */
  uint32_t saved;        /* bit n: register n is in one of the places */
  uint32_t kept;         /* bit n: register n, if it isn't, has its value still */
  uint8_t words;         /* the frame has so many at least. 0: no step */
  uint8_t cfa_register;
  uint8_t return_word; /* with the return address. 0: that is in a register */
  uint8_t first_word;  /* with a register */
};

enum { CACHE_CALLERS = 2 };

struct cache_entry {
  struct step step;
  struct cache_entry *callers[CACHE_CALLERS]; /* the latest ones; at first, this entry */
  struct packed_record record;                /* a statepoint's */
  struct row_moves moves; /* count ROW_NOT_NEAR: its live set isn't updated so */
  int32_t frame_size;     /* -1: unknown */
  struct row row;         /* cut off after its pairs and the moves' pairs */
};

enum { CACHE_UNIT = 16, CACHE_NO_ROW = UINT8_MAX /* as a count of pairs */ };

struct cache_overlay {
  uint32_t *slots;     /* where the memory starts, too; NULL: it is too small */
  uint64_t shift;      /* there are 2 to the power of 64 - shift slots */
  uint64_t generation; /* of the process */
  uint64_t next, end;  /* of the memory's units: the first free one, and where they end */
  uint64_t refused;    /* how many records there was no room for */
  uint64_t noted, noted_at, returned; /* see refuse */
  uint64_t forgotten; /* how many times all were: entries found before that don't count */
};

_Static_assert(sizeof(struct cache_overlay) <= sizeof(struct stackpack_cache), "room for a cache");

static inline struct cache_overlay *cache_overlay_of(struct stackpack_cache *cache) {
  return (struct cache_overlay *)cache->private_;
}

/* A slot: an entry's place, in units, above the number of pairs. */
enum { SLOT_PAIRS_WIDTH = 8 };

static inline unsigned slot_pairs(uint32_t slot) {
  return slot & (((uint32_t)1 << SLOT_PAIRS_WIDTH) - 1);
}

/* A slot's entry. */
static inline struct cache_entry *slot_entry(const struct cache_overlay *cache, uint32_t slot) {
  const size_t place = (size_t)(slot >> SLOT_PAIRS_WIDTH) * CACHE_UNIT;
  return (struct cache_entry *)(void *)((char *)cache->slots + place);
}

/* The slot of an address: its entry's slot, or else the free one for its entry. (There are more
 * slots than entries.) */
static inline uint32_t *cache_slot(const struct cache_overlay *cache, uint64_t address) {
  const uint64_t hash = address * 0x9e3779b97f4a7c15u; /* 2^64 divided by the golden ratio */
  uint64_t number = hash >> cache->shift;
  while (cache->slots[number] != 0 &&
         slot_entry(cache, cache->slots[number])->record.address != address)
    number = (number + 1) & UINT64_MAX >> cache->shift;
  return &cache->slots[number];
}

/* Empties the cache, for a generation of the process (0: for a table). */
void cache_forget(struct cache_overlay *cache, uint64_t generation);

/* Begins a look-up, or a walk: modules may have come or gone. */
static inline void cache_begin(struct stackpack_cache *memory, uint64_t generation) {
  struct cache_overlay *cache = cache_overlay_of(memory);
  if (cache->generation != generation && cache->slots != NULL)
    cache_forget(cache, generation);
}

/* The entry of the caller's record, at the return address of a frame of another entry's record; or
 * NULL. Mostly it is one of that entry's latest callers, and a guess of it can go on before the
 * address is loaded. */
static inline struct cache_entry *cache_find_caller(struct stackpack_cache *memory,
                                                    struct cache_entry *entry, uint64_t address) {
  const struct cache_overlay *cache = cache_overlay_of(memory);
  for (unsigned i = 0; i < CACHE_CALLERS; i++) {
    struct cache_entry *caller = entry->callers[i];
    if (caller->record.address == address)
      return caller;
  }
  const uint32_t slot = *cache_slot(cache, address);
  if (slot == 0)
    return NULL;
  for (unsigned i = CACHE_CALLERS - 1; i > 0; i--)
    entry->callers[i] = entry->callers[i - 1];
  entry->callers[0] = slot_entry(cache, slot);
  return slot_entry(cache, slot);
}

static inline void cache_record(const struct cache_entry *entry, struct stackpack_record *record) {
  *(struct packed_record *)record = entry->record;
  record->frame_size = (uint64_t)(int64_t)entry->frame_size;
  record->kind = STACKPACK_STATEPOINT;
}

/* The slot of an address, by value, and its record; or 0. */
static inline uint32_t cache_look_up(struct stackpack_cache *memory, uint64_t address,
                                     struct stackpack_record *record) {
  const struct cache_overlay *cache = cache_overlay_of(memory);
  const uint32_t slot = cache->slots != NULL ? *cache_slot(cache, address) : 0;
  if (slot != 0)
    cache_record(slot_entry(cache, slot), record);
  return slot;
}

/* Remembers a record that was looked up elsewhere. 0: there is no room for it. */
uint32_t cache_remember(struct stackpack_cache *cache, const struct stackpack_record *record);

/* Visits the pairs of a record by its slot. */
enum stackpack_answer cache_visit(struct stackpack_cache *cache, uint32_t slot,
                                  const struct stackpack_record *record, stackpack_visitor *visit,
                                  void *context);

/* The same of a record that was looked up elsewhere, and remembers it, if there is a cache. */
enum stackpack_answer cache_visit_new(struct stackpack_cache *cache,
                                      const struct stackpack_record *record,
                                      stackpack_visitor *visit, void *context);

/* ---- For a walk ---- */

/* Notes the entry of the record that a walk is at, or that there is none. */
static inline void walk_set_entry(struct stackpack_walk *walk, struct cache_entry *entry) {
  walk->private_.entry = entry;
  if (entry != NULL)
    walk->private_.forgotten = cache_overlay_of(walk->private_.walker->cache)->forgotten;
}

/* The same by a slot, or 0. */
static inline void walk_set_slot(struct stackpack_walk *walk, uint32_t slot) {
  struct stackpack_cache *cache = walk->private_.walker->cache;
  walk_set_entry(walk, slot != 0 ? slot_entry(cache_overlay_of(cache), slot) : NULL);
}

/* The entry, as long as the cache has it; or NULL. */
static inline struct cache_entry *walk_entry(const struct stackpack_walk *walk) {
  struct cache_entry *entry = walk->private_.entry;
  return entry != NULL && cache_overlay_of(walk->private_.walker->cache)->forgotten ==
                              walk->private_.forgotten
             ? entry
             : NULL;
}

/* Its row, or NULL: there is no entry, or its live set isn't a row. */
static inline const struct row *walk_row(const struct stackpack_walk *walk) {
  const struct cache_entry *entry = walk_entry(walk);
  return entry != NULL && entry->row.head.count != CACHE_NO_ROW ? &entry->row : NULL;
}

#endif
