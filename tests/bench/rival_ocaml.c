/* rival_ocaml.c - OCaml's frame descriptors, and the hash table over them.
 *
 * As the OCaml 4 runtime describes them ("runtime/caml/stack.h", "runtime/backtrace_nat.c"): the
 * compiler emits for each call the return address (64 bits), the frame size (16), the number of
 * live slots (16), and for each its offset from the stack pointer (16, an odd one for a register),
 * aligned to 8 bytes; without debug information. At start-up the runtime puts pointers to all of
 * them into a hash table, by return address, at most half full.
 *
 * Pointers into objects are missing there: a slot is a slot. Offsets are in units of a byte as in
 * OCaml; frames with slots relative to another register than the stack pointer, missing in OCaml,
 * and frames of 64 KB and more, in a longer form there, have numbers of 32 bits here.
 */
#include "rival.h"

enum { LONG_FRAME = 0xffff, STACK_POINTER = 7 };

struct frame {
  uint64_t address;
  uint16_t frame_size; /* LONG_FRAME: all numbers after it have 32 bits */
  uint16_t slots;
  uint16_t slot[];
};

static bool is_long(const struct subject *subject, const struct site *site) {
  bool is = site->frame_size >= LONG_FRAME || site->slots > UINT16_MAX;
  for (uint32_t i = 0; i < site->slots; i++) {
    const slot place = subject->slots[site->first_slot + i];
    is |= (place & 0xff) != STACK_POINTER || place >> 8 < 0 || place >> 8 > UINT16_MAX;
  }
  return is;
}

static void put_long(struct contender *contender, const struct site *site) {
  struct frame *frame = region_take(&contender->file, offsetof(struct frame, slot), 8);
  frame->address = site->address;
  frame->frame_size = LONG_FRAME;
  uint32_t *words = region_take(&contender->file, (2 + site->slots) * sizeof *words, 4);
  words[0] = site->frame_size;
  words[1] = site->slots;
  for (uint32_t i = 0; i < site->slots; i++)
    words[2 + i] = (uint32_t)contender->subject->slots[site->first_slot + i];
}

static void put_short(struct contender *contender, const struct site *site) {
  struct frame *frame =
      region_take(&contender->file, sizeof(uint64_t) + (2 + site->slots) * sizeof(uint16_t), 8);
  frame->address = site->address;
  frame->frame_size = (uint16_t)site->frame_size;
  frame->slots = (uint16_t)site->slots;
  for (uint32_t i = 0; i < site->slots; i++)
    frame->slot[i] = (uint16_t)(contender->subject->slots[site->first_slot + i] >> 8);
}

static void prepare(struct contender *contender) {
  const struct subject *subject = contender->subject;
  region_reserve(&contender->file, subject->site_count * 32 + subject->slot_count * 4);
  for (size_t i = 0; i < subject->site_count; i++) {
    const struct site *site = &subject->sites[i];
    if (is_long(subject, site))
      put_long(contender, site);
    else
      put_short(contender, site);
  }
}

static const uint32_t *long_words(const struct frame *frame) {
  return (const uint32_t *)(((uintptr_t)(frame->slot) + 3) & ~(uintptr_t)3);
}

static size_t size_of(const struct frame *frame) {
  if (frame->frame_size == LONG_FRAME)
    return (size_t)((const uint8_t *)(long_words(frame) + 2 + long_words(frame)[1]) -
                    (const uint8_t *)frame);
  return sizeof(uint64_t) + (2 + (size_t)frame->slots) * sizeof(uint16_t);
}

static void start(struct contender *contender) {
  const uint8_t *place = contender->file.start;
  contender->mask = mask_for(contender->subject->site_count, 2);
  region_reserve(&contender->heap, (contender->mask + 1) * sizeof(void *));
  const struct frame **table =
      region_take(&contender->heap, (contender->mask + 1) * sizeof *table, 8);
  while (place < contender->file.start + contender->file.size) {
    const struct frame *frame = (const struct frame *)place;
    uint64_t bucket = hash_address(frame->address, contender->mask);
    while (table[bucket] != NULL)
      bucket = (bucket + 1) & contender->mask;
    table[bucket] = frame;
    place += (size_of(frame) + 7) / 8 * 8;
  }
}

static uint64_t visit_long(const struct frame *frame) {
  const uint32_t *words = long_words(frame);
  uint64_t sum = words[0];
  for (uint32_t i = 0; i < words[1]; i++)
    sum += visit_slot((slot)words[2 + i]);
  return sum;
}

static uint64_t look_up(const struct contender *contender, uint64_t address) {
  const struct frame *const *table = (const void *)contender->heap.start;
  uint64_t bucket = hash_address(address, contender->mask);
  while (table[bucket] != NULL && table[bucket]->address != address)
    bucket = (bucket + 1) & contender->mask;
  const struct frame *frame = table[bucket];
  if (frame == NULL)
    return 0;
  if (frame->frame_size == LONG_FRAME)
    return visit_long(frame);
  uint64_t sum = frame->frame_size;
  for (uint32_t i = 0; i < frame->slots; i++)
    sum += visit_slot((slot)((uint32_t)frame->slot[i] << 8 | STACK_POINTER));
  return sum;
}

const struct rival rival_ocaml = {
    .name = "OCaml frame descriptors",
    .visits = VISITS_SLOTS,
    .prepare = prepare,
    .start = start,
    .look_up = look_up,
};
