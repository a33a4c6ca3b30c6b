/* rival_wasmtime.c - the stack map section of wasmtime, used in place.
 *
 * As its source describes the section ELF_WASMTIME_STACK_MAP (wasmtime, "environ/src/compile/
 * stack_map.rs"): the number of stack maps, the program counters in ascending order, and for each
 * the place of its data, all of 32 bits; then the data, in words of 32 bits: the frame size, how
 * many words follow, and a bit for each slot of the frame from the stack pointer up. Equal data of
 * neighbours is there once.
 *
 * A slot has 8 bytes here. Wasmtime lacks pointers into objects, and leaves out calls without live
 * references; they stay here, to tell them from other addresses than safepoints. Slots beyond the
 * bits (of another register, or misaligned) follow as a list, marked in the number of
 * words.
 */
#include "../unit/bytes.h"
#include "rival.h"

#include <stdlib.h>
#include <string.h>

/* Of a site: a bit for every slot of 24 bits, or all the slots that a record can have. */
enum { STACK_POINTER = 7, WORDS_MAX = 1 << 18 };
static const uint32_t listed = (uint32_t)1 << 31;

struct section {
  const uint32_t *counters, *places, *data;
  uint32_t count;
};

static bool has_bit(slot place) {
  return (place & 0xff) == STACK_POINTER && place >> 8 >= 0 && (place >> 8) % 8 == 0;
}

/* Writes a site's data, and returns how many words it has. */
static uint32_t put_data(const struct subject *subject, const struct site *site, uint32_t *words) {
  const slot *slots = &subject->slots[site->first_slot];
  uint32_t count = 0;
  bool bits = true;
  words[0] = site->frame_size;
  for (uint32_t i = 0; i < site->slots; i++)
    bits &= has_bit(slots[i]);
  for (uint32_t i = 0; bits && i < site->slots; i++) {
    const uint32_t bit = (uint32_t)(slots[i] >> 8) / 8;
    for (; count <= bit / 32; count++)
      words[2 + count] = 0;
    words[2 + bit / 32] |= (uint32_t)1 << bit % 32;
  }
  for (; !bits && count < site->slots; count++)
    words[2 + count] = (uint32_t)slots[count];
  words[1] = count | (bits ? 0 : listed);
  return 2 + count;
}

static void prepare(struct contender *contender) {
  const struct subject *subject = contender->subject;
  const uint32_t count = (uint32_t)subject->site_count;
  uint32_t *words = test_allocate(WORDS_MAX * sizeof *words);
  uint32_t used = 0, last = 0, last_size = 0;
  region_reserve(&contender->file, (1 + 2 * (size_t)count) * 4 + (size_t)1 * subject->raw_size);
  uint32_t *counters = region_take(&contender->file, (1 + 2 * (size_t)count) * 4, 4);
  *counters++ = count;
  uint32_t *places = counters + count, *data = places + count;
  for (uint32_t i = 0; i < count; i++) {
    const uint32_t size = put_data(subject, &subject->sites[i], words);
    counters[i] = (uint32_t)(subject->sites[i].address - subject->sites[0].address);
    if (size != last_size || memcmp(data + last, words, size * sizeof *words) != 0) {
      memcpy(region_take(&contender->file, size * sizeof *words, 4), words, size * sizeof *words);
      last = used;
      last_size = size;
      used += size;
    }
    places[i] = last;
  }
  free(words);
}

static struct section section_of(const struct contender *contender) {
  const uint32_t *words = (const uint32_t *)contender->file.start;
  const uint32_t count = words[0];
  return (struct section){words + 1, words + 1 + count, words + 1 + 2 * (size_t)count, count};
}

static uint64_t visit(const uint32_t *data) {
  const uint32_t count = data[1] & ~listed;
  uint64_t sum = data[0];
  if (data[1] & listed) {
    for (uint32_t i = 0; i < count; i++)
      sum += visit_slot((slot)data[2 + i]);
    return sum;
  }
  for (uint32_t i = 0; i < count; i++)
    for (uint32_t bits = data[2 + i]; bits != 0; bits &= bits - 1) {
      const uint32_t bit = i * 32 + (uint32_t)__builtin_ctz(bits);
      sum += visit_slot((slot)((bit * 8) << 8 | STACK_POINTER));
    }
  return sum;
}

static uint64_t look_up(const struct contender *contender, uint64_t address) {
  const struct section section = section_of(contender);
  const uint64_t counter = address - contender->subject->sites[0].address;
  uint32_t from = 0, to = section.count;
  while (to - from > 1) {
    const uint32_t middle = from + (to - from) / 2;
    if (section.counters[middle] <= counter)
      from = middle;
    else
      to = middle;
  }
  return section.counters[from] == counter ? visit(section.data + section.places[from]) : 0;
}

const struct rival rival_wasmtime = {
    .name = "wasmtime stack maps",
    .visits = VISITS_SLOTS,
    .prepare = prepare,
    .look_up = look_up,
};
