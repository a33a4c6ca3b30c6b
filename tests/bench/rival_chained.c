/* rival_chained.c - buckets of frames, in the manner of llvm-statepoint-utils.
 *
 * As that library's interface and documentation describe it (Kavon Farvardin, llvm-statepoint-utils,
 * "src/include/api.h" and README): the section is parsed at start-up into a hash table. A bucket has
 * the number of its frames, their size in bytes, and a pointer to them, 24 bytes; there is a bucket
 * for each record. A frame has its return address, its size, and the number of its slots, 24 bytes
 * with padding, and then for each slot 8 bytes: its offset, and a base pointer's mark or the number
 * of the slot whose object it points into. A base that is in no pair of its own gets a slot, so
 * that it has a number.
 */
#include "rival.h"
#include "v3_sites.h"

#include <string.h>

struct frame_slot {
  int32_t base; /* -1: it is one */
  slot place;
};

struct frame {
  uint64_t address, frame_size;
  uint16_t slots;
  struct frame_slot slot[];
};

struct bucket {
  uint16_t frames;
  uint64_t size;
  uint8_t *first;
};

/* A slot's number; a missing slot is added. A slot that is both a base and derived from
 * another one is kept as a base only. */
static int32_t number_of(struct frame_slot *slots, unsigned *count, slot place, int32_t base) {
  for (unsigned i = 0; i < *count; i++)
    if (slots[i].place == place)
      return (int32_t)i;
  slots[*count] = (struct frame_slot){base, place};
  return (int32_t)(*count)++;
}

/* All bases come first. */
static unsigned slots_of(const struct pair *pairs, unsigned count, struct frame_slot *slots) {
  unsigned made = 0;
  for (unsigned i = 0; i < count; i++)
    number_of(slots, &made, pairs[i].base, -1);
  for (unsigned i = 0; i < count; i++)
    number_of(slots, &made, pairs[i].derived, number_of(slots, &made, pairs[i].base, -1));
  return made;
}

static struct bucket *bucket_of(const struct contender *contender, uint64_t address) {
  return &((struct bucket *)contender->heap.start)[hash_address(address, contender->mask)];
}

/* Counts the frames' room, or puts them there: buckets' frames must lie together. */
static void go_through(struct contender *contender, bool put) {
  const struct subject *subject = contender->subject;
  struct v3_sites sites = v3_sites_open(subject->raw, subject->raw_size);
  struct pair pairs[V3_PAIRS_MAX];
  struct frame_slot slots[2 * V3_PAIRS_MAX];
  while (v3_sites_next(&sites)) {
    const unsigned count = slots_of(pairs, v3_sites_pairs(&sites, pairs), slots);
    struct bucket *bucket = bucket_of(contender, sites.address);
    const size_t size = sizeof(struct frame) + count * sizeof *slots;
    if (put) {
      struct frame *frame = (struct frame *)(bucket->first + bucket->size);
      *frame = (struct frame){sites.address, sites.frame_size, (uint16_t)count};
      memcpy(frame->slot, slots, count * sizeof *slots);
    }
    bucket->size += size;
    bucket->frames++;
  }
}

static void give_room(struct contender *contender) {
  struct bucket *buckets = (struct bucket *)contender->heap.start;
  for (uint64_t i = 0; i <= contender->mask; i++) {
    buckets[i].first = region_take(&contender->heap, buckets[i].size, 8);
    buckets[i].size = 0;
    buckets[i].frames = 0;
  }
}

static void start(struct contender *contender) {
  const struct subject *subject = contender->subject;
  contender->mask = mask_for(subject->record_count, 1);
  const size_t buckets = (contender->mask + 1) * sizeof(struct bucket);
  region_reserve(&contender->heap, buckets + 2 * subject->raw_size);
  region_take(&contender->heap, buckets, 8);
  go_through(contender, false);
  give_room(contender);
  go_through(contender, true);
}

static uint64_t visit_frame(const struct frame *frame) {
  uint64_t sum = (uint32_t)frame->frame_size;
  for (unsigned i = 0; i < frame->slots; i++)
    sum += visit_slot(frame->slot[i].place);
  return sum;
}

static uint64_t look_up(const struct contender *contender, uint64_t address) {
  const struct bucket *bucket = bucket_of(contender, address);
  const uint8_t *place = bucket->first;
  for (unsigned i = 0; i < bucket->frames; i++) {
    const struct frame *frame = (const struct frame *)place;
    if (frame->address == address)
      return visit_frame(frame);
    place += sizeof *frame + frame->slots * sizeof *frame->slot;
  }
  return 0;
}

const struct rival rival_chained = {
    .name = "llvm-statepoint-utils",
    .visits = VISITS_SLOTS,
    .start = start,
    .look_up = look_up,
};
