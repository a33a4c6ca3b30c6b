/* rival_packed.c - the packed table, used as it lies in the file. */
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

static slot slot_at(const struct stackpack_location *location) {
  slot slot;
  slot_of(&slot, location->kind, location->reg, location->value);
  return slot;
}

static uint64_t look_up(const struct contender *contender, uint64_t address) {
  struct stackpack_record record;
  struct stackpack_location base, derived;
  if (stackpack_table_find(&contender->table, address, &record) != STACKPACK_FOUND)
    return 0;
  uint64_t sum = (uint32_t)record.frame_size;
  struct stackpack_pairs pairs = stackpack_pairs(&record);
  while (stackpack_pairs_next(&pairs, &base, &derived))
    sum += visit_pair(slot_at(&base), slot_at(&derived));
  return sum;
}

const struct rival rival_packed = {
    .name = "packed",
    .visits = VISITS_PAIRS,
    .prepare = prepare,
    .start = start,
    .look_up = look_up,
};
