/* rival_packed.c - the packed table, used as it lies in the file; and the same with a small cache of
 * look-ups, as a collector would have one for each of its threads. */
#include "rival.h"

#include <stdlib.h>
#include <string.h>

static void prepare(struct contender *contender) {
  const struct packed_place *packed = &contender->subject->packed;
  region_reserve(&contender->file, packed->size);
  memcpy(region_take(&contender->file, packed->size, 8), packed->bytes, packed->size);
}

static void start(struct contender *contender) {
  if (stackpack_table_open(&contender->table, contender->file.start, contender->file.size,
                           contender->subject->packed.address) != STACKPACK_OK)
    abort();
}

static inline uint64_t visit_location(struct stackpack_location location) {
  return visit_place(slot_place(location.kind, location.reg), location.value);
}

static inline void visit(void *sum, struct stackpack_location base,
                         struct stackpack_location derived) {
  *(uint64_t *)sum += visit_location(base) * 3 + visit_location(derived);
}

static uint64_t look_up(const struct contender *contender, uint64_t address) {
  struct stackpack_record record;
  if (stackpack_table_find(&contender->table, address, &record) != STACKPACK_FOUND)
    return 0;
  uint64_t sum = 0;
  if (stackpack_record_visit(&record, visit, &sum) != STACKPACK_FOUND)
    return 0;
  return sum + (uint32_t)record.frame_size;
}

enum { CACHE_SHIFT = 10 }; /* 1024 entries of 128 bytes */

static void start_cached(struct contender *contender) {
  const size_t size = sizeof(struct stackpack_cache_entry) << CACHE_SHIFT;
  start(contender);
  region_reserve(&contender->heap, size + sizeof(struct stackpack_cache));
  struct stackpack_cache *cache = region_take(&contender->heap, sizeof(struct stackpack_cache), 64);
  stackpack_cache_open(cache, region_take(&contender->heap, size, 64), CACHE_SHIFT);
}

static uint64_t look_up_cached(const struct contender *contender, uint64_t address) {
  struct stackpack_cache *cache = (struct stackpack_cache *)(void *)contender->heap.start;
  struct stackpack_record record;
  uint64_t sum = 0;
  if (stackpack_table_visit(&contender->table, cache, address, &record, visit, &sum) !=
      STACKPACK_FOUND)
    return 0;
  return sum + (uint32_t)record.frame_size;
}

const struct rival rival_packed = {
    .name = "packed",
    .visits = VISITS_PAIRS,
    .prepare = prepare,
    .start = start,
    .look_up = look_up,
};

const struct rival rival_cached = {
    .name = "packed, with cache",
    .visits = VISITS_PAIRS,
    .prepare = prepare,
    .start = start_cached,
    .look_up = look_up_cached,
};
