/* rival.h - one way to find the slots that hold references at a return address.
 *
 * A rival has its data in the file (made by `prepare`, off the clock), its data from start-up
 * (`start`), and a look-up. Both kinds of memory are in regions of their own, so that
 * they can be measured, thrown out of the cache, and watched. The few words that say where things
 * are in them lie outside.
 *
 * Rivals from elsewhere are our own code for the layout in their documentation, named in each file.
 * Some of them hold less than a record: they then visit less, or have
 * only a size. See `visits`.
 */
#ifndef STACKPACK_BENCH_RIVAL_H
#define STACKPACK_BENCH_RIVAL_H

#include "subject.h"

/* Memory in pages of its own, given out in parts one after another. */
struct region {
  uint8_t *start;
  size_t size, capacity;
};

/* Room for so much, all unused yet. */
void region_reserve(struct region *region, size_t capacity);
/* The next so many bytes, zeros, at a multiple of `alignment`. */
void *region_take(struct region *region, size_t size, size_t alignment);
void region_free(struct region *region);

struct contender {
  const struct subject *subject;
  struct region file;            /* its data in the file */
  struct region heap;            /* its data from start-up */
  struct stackpack_table table;  /* of the packed one */
  struct stackpack_cache *cache; /* from malloc; its entries are in the heap */
  uint64_t mask;                 /* of hashing rivals: the number of buckets less 1 */
  uint64_t count;                /* of records or buckets, as the rival has it */
};

enum visits {
  VISITS_NOTHING, /* it has a size only */
  VISITS_SLOTS,   /* frame size and slots, but without pairs of base and derived pointer */
  VISITS_PAIRS,
};

struct rival {
  const char *name;
  enum visits visits;
  bool linear; /* its look-up reads all that is in front: it is measured on few addresses */
  void (*prepare)(struct contender *contender);
  void (*start)(struct contender *contender); /* NULL: nothing to do */
  /* Looks up an address that is there, and visits the record's content: the sum of its frame size
   * and of visit_pair or visit_slot. NULL: it has a size only. */
  uint64_t (*look_up)(const struct contender *contender, uint64_t address);
};

extern const struct rival rival_packed, rival_cached, rival_large_cache, rival_raw, rival_sorted,
    rival_hash, rival_chained, rival_ocaml, rival_wasmtime, rival_ark, rival_perry;

/* Hashes an address for a table of mask + 1 buckets. */
static inline uint64_t hash_address(uint64_t address, uint64_t mask) {
  return (address * 0x9e3779b97f4a7c15u >> 24) & mask;
}
static inline uint64_t mask_for(uint64_t count, unsigned buckets_each) {
  uint64_t buckets = 1;
  while (buckets < count * buckets_each)
    buckets *= 2;
  return buckets - 1;
}

#endif
