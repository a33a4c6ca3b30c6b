/* rival_packed.c - the packed table, used in the file's form.
 *
 * It is asked in three ways: as it is; by way of a small cache of look-ups; a collector would have
 * one for each of its threads; and by way of one that has room for the whole program, if there is
 * memory to spare.
 */
#include "../unit/bytes.h"
#include "rival.h"

#include <stdlib.h>
#include <string.h>

static void prepare(struct contender *contender) {
  const struct section_bytes *packed = &contender->subject->packed;
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

static void prepare_cached(struct contender *contender) {
  prepare(contender);
  contender->cache = test_allocate(sizeof *contender->cache);
}

static void start_with_cache(struct contender *contender, unsigned shift) {
  const size_t size = (size_t)STACKPACK_CACHE_LINE << shift;
  start(contender);
  region_reserve(&contender->heap, size);
  stackpack_cache_open(contender->cache, region_take(&contender->heap, size, 64), shift);
}

static void start_cached(struct contender *contender) { start_with_cache(contender, 11); }

/* Room for all records. */
static void start_large_cache(struct contender *contender) {
  unsigned shift = 4;
  while ((size_t)1 << shift < 2 * (size_t)contender->subject->record_count)
    shift++;
  start_with_cache(contender, shift);
}

static uint64_t look_up_cached(const struct contender *contender, uint64_t address) {
  struct stackpack_record record;
  uint64_t sum = 0;
  if (stackpack_table_visit(&contender->table, contender->cache, address, &record, visit, &sum) !=
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
    .prepare = prepare_cached,
    .start = start_cached,
    .look_up = look_up_cached,
};

const struct rival rival_large_cache = {
    .name = "packed, with large cache",
    .visits = VISITS_PAIRS,
    .prepare = prepare_cached,
    .start = start_large_cache,
    .look_up = look_up_cached,
};
