/* rival_ark.c - the size of ArkCompiler's table.
 *
 * As its source describes it (OpenHarmony, arkcompiler ets_runtime, "ecmascript/stackmap/
 * ark_stackmap.h"): a header of 8 bytes; for each call site 16 bytes, sorted by the first: its
 * offset in the text, where its stack map and its deopt state are, and how many entries they have;
 * then the stack maps: a slot is a signed LEB128 number of the offset in words with two
 * bits for the register, and a pair is two slots.
 */
#include "rival.h"

static size_t signed_leb128_size(int64_t value) {
  size_t size = 1;
  for (; value < -64 || value > 63; value >>= 7)
    size++;
  return size;
}

static size_t slot_size(slot place) { return signed_leb128_size((int64_t)(place >> 8) / 8 * 4); }

static void prepare(struct contender *contender) {
  const struct subject *subject = contender->subject;
  size_t size = 8 + 16 * subject->record_count;
  for (size_t i = 0; i < subject->pair_count; i++)
    size += slot_size(subject->pairs[i].base) + slot_size(subject->pairs[i].derived);
  region_reserve(&contender->file, size);
  region_take(&contender->file, size, 1);
}

const struct rival rival_ark = {
    .name = "ArkCompiler (size)",
    .visits = VISITS_NOTHING,
    .prepare = prepare,
};
