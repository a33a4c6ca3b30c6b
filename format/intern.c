/* intern.c - an open-addressing hash table over consecutive sequences. */
#include "format/intern.h"

#include "format/array.h"
#include "format/checksum.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void intern_free(struct intern *set) {
  free(set->words);
  free(set->starts);
  free(set->slots);
  *set = (struct intern){0};
}

void intern_clear(struct intern *set) {
  enum { SLOTS_KEPT = 1 << 10 }; /* more take longer to clear than to allocate */
  if (set->slot_mask >= SLOTS_KEPT)
    intern_free(set);
  else if (set->count > 0)
    memset(set->slots, 0, ((size_t)set->slot_mask + 1) * sizeof *set->slots);
  set->count = 0;
}

static uint32_t intern_hash(const struct intern *set, const uint64_t *words, uint64_t count) {
  return (uint32_t)checksum64_seeded(words, count * sizeof *words, set->seed);
}

/* A slot has the hash, too: so a look-up passes over most other sequences by their slots alone, and
 * the table grows by the slots alone. */
static uint64_t slot_of(uint32_t hash, uint32_t number) {
  return (uint64_t)hash << 32 | (number + 1);
}
static uint32_t slot_hash(uint64_t slot) { return (uint32_t)(slot >> 32); }
static uint32_t slot_number(uint64_t slot) { return (uint32_t)slot - 1; }

/* Doubles the hash table when three quarters of it are full. */
static bool intern_grow_slots(struct intern *set) {
  const uint64_t old_count = set->slots == NULL ? 0 : (uint64_t)set->slot_mask + 1;
  if ((uint64_t)set->count * 4 < old_count * 3)
    return true;
  const uint64_t new_count = old_count == 0 ? 64 : old_count * 2;
  assert((new_count & (new_count - 1)) == 0);
  uint64_t *slots = calloc(new_count, sizeof *slots);
  if (slots == NULL)
    return false;
  const uint32_t mask = (uint32_t)(new_count - 1);
  for (uint64_t i = 0; i < old_count; i++) {
    uint32_t place = slot_hash(set->slots[i]) & mask;
    if (set->slots[i] == 0)
      continue;
    while (slots[place] != 0)
      place = (place + 1) & mask;
    slots[place] = set->slots[i];
  }
  free(set->slots);
  set->slots = slots;
  set->slot_mask = mask;
  return true;
}

/* Makes room for a sequence of `count` words. */
static bool intern_grow(struct intern *set, uint64_t count) {
  const bool is_first = set->count == 0;
  const uint64_t used = is_first ? 0 : set->starts[set->count];
  if (set->count + 2 >= INTERN_FAILED || count > UINT32_MAX - used ||
      !array_make_room((void **)&set->starts, &set->starts_capacity, (size_t)set->count + 2,
                       sizeof *set->starts) ||
      !array_make_room((void **)&set->words, &set->words_capacity, used + count + 1,
                       sizeof *set->words))
    return false;
  if (is_first) {
    set->starts[0] = 0;
    set->seed = checksum_seed();
  }
  return true;
}

uint32_t intern_add(struct intern *set, const uint64_t *words, uint64_t count) {
  if (!intern_grow_slots(set) || !intern_grow(set, count))
    return INTERN_FAILED;
  assert(set->count <= set->slot_mask); /* a slot is free, so that the search ends */
  assert(count == 0 || words + count <= set->words || words >= set->words + set->words_capacity);
  const uint32_t hash = intern_hash(set, words, count);
  uint32_t place = hash & set->slot_mask;
  for (; set->slots[place] != 0; place = (place + 1) & set->slot_mask) {
    const uint64_t slot = set->slots[place];
    if (slot_hash(slot) == hash &&
        intern_equal(intern_get(set, slot_number(slot)), (struct intern_sequence){words, count}))
      return slot_number(slot);
  }
  const uint64_t start = set->starts[set->count];
  assert(start + count <= UINT32_MAX);
  if (count > 0)
    memcpy(set->words + start, words, count * sizeof *words);
  set->slots[place] = slot_of(hash, set->count++);
  set->starts[set->count] = (uint32_t)(start + count);
  return set->count - 1;
}
