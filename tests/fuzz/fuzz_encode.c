/* fuzz_encode.c - attacks the encoder with stack maps that are right in form, and odd in content.
 *
 * Mutated bytes are seldom a readable section. So here the input is a string of choices, of which
 * one is built: functions that overlap or meet, records out of order and at equal addresses, live
 * sets out of a few locations or with limits for values, deopt states, live-outs. Findings: it
 * can't be read, or comes out of the packed table as something else.
 */
#include "fuzz.h"

#include <stdlib.h>

enum {
  FUNCTIONS_MAX = 16,
  RECORDS_MAX = 48, /* of a function */
  CONSTANTS = 4,
  SECTION_MAX = 1 << 18,
};

/* Where choices come from: bytes, then zeros. */
struct choices {
  const uint8_t *next, *end;
};

static uint8_t choose(struct choices *choices) {
  return choices->next < choices->end ? *choices->next++ : 0;
}

static uint32_t choose_below(struct choices *choices, uint32_t limit) {
  return choose(choices) % limit;
}

/* A number that is mostly small, and sometimes a limit. */
static uint64_t choose_number(struct choices *choices) {
  const uint8_t form = choose(choices);
  if (form < 160)
    return form;
  if (form < 224)
    return (uint64_t)choose(choices) << form % 64;
  if (form < 240)
    return ((uint64_t)1 << form % 16 * 4) - choose_below(choices, 3);
  return UINT64_MAX - choose_below(choices, 4);
}

/* The section that is being built. One that would be longer than SECTION_MAX is given up. */
struct section {
  uint8_t bytes[SECTION_MAX];
  size_t size;
};

static void put(struct section *section, uint64_t number, unsigned width) {
  if (section->size + width <= SECTION_MAX)
    memcpy(section->bytes + section->size, &number, width);
  section->size += width;
}

static void put_padding(struct section *section) {
  while (section->size % 8 != 0)
    put(section, 0, 1);
}

static void put_location(struct section *section, unsigned kind, uint64_t size, uint64_t reg,
                         uint64_t value) {
  put(section, kind, 1);
  put(section, 0, 1);
  put(section, size, 2);
  put(section, reg, 2);
  put(section, 0, 2);
  put(section, value, 4);
}

static void put_constant(struct section *section, uint64_t value) {
  put_location(section, LOCATION_CONSTANT, 8, 0, value);
}

static void put_any_location(struct section *section, struct choices *choices) {
  const uint8_t form = choose(choices);
  const unsigned kind = LOCATION_REGISTER + form % 5;
  if (form < 192)
    put_location(section, LOCATION_INDIRECT, 8, 7, (uint64_t)(form % 64) * 8);
  else if (kind == LOCATION_LARGE_CONSTANT)
    put_location(section, kind, 8, 0, choose_below(choices, CONSTANTS));
  else
    put_location(section, kind, form % 2 == 0 ? 8 : choose_number(choices), choose_number(choices),
                 choose_number(choices));
}

static void put_pair(struct section *section, struct choices *choices) {
  const uint64_t base = (uint64_t)choose_below(choices, 96) * 8;
  const uint64_t derived = choose_below(choices, 4) == 0 ? base + 8 : base;
  put_location(section, LOCATION_INDIRECT, 8, 7, base);
  put_location(section, LOCATION_INDIRECT, 8, 7, derived);
}

/* A statepoint's locations; returns how many. */
static unsigned put_statepoint(struct section *section, struct choices *choices) {
  const uint8_t form = choose(choices);
  const unsigned deopt = form < 192 ? 0 : choose_below(choices, 24);
  const unsigned pairs = choose_below(choices, form % 8 == 0 ? 100 : 8);
  const unsigned allocas = form % 16 == 5 ? choose_below(choices, 4) : 0;
  put_constant(section, form % 32 == 1 ? choose_below(choices, 255) : 0);
  put_constant(section, form % 32 == 2 ? choose_below(choices, 4) : 0);
  put_constant(section, deopt);
  for (unsigned i = 0; i < deopt; i++)
    put_any_location(section, choices);
  for (unsigned i = 0; i < pairs; i++)
    put_pair(section, choices);
  for (unsigned i = 0; i < allocas; i++)
    put_location(section, LOCATION_DIRECT, 8, 6, choose(choices));
  return 3 + deopt + 2 * pairs + allocas;
}

static unsigned put_locations(struct section *section, struct choices *choices) {
  const unsigned count = choose_below(choices, 9);
  for (unsigned i = 0; i < count; i++)
    put_any_location(section, choices);
  return count;
}

static void put_live_outs(struct section *section, struct choices *choices) {
  const uint8_t form = choose(choices);
  const unsigned count = form < 224 ? 0 : form % 8;
  put_padding(section);
  put(section, 0, 2);
  put(section, count, 2);
  for (unsigned i = 0; i < count; i++) {
    put(section, choose_number(choices), 2);
    put(section, 0, 1);
    put(section, choose(choices), 1);
  }
  put_padding(section);
}

static void put_record(struct section *section, struct choices *choices, uint64_t offset) {
  const uint8_t form = choose(choices);
  put(section, form < 192 ? 0xabcdef00u : choose_number(choices), 8);
  put(section, offset, 4);
  put(section, 0, 2);
  const size_t count_at = section->size;
  put(section, 0, 2);
  const unsigned count =
      form % 8 == 7 ? put_locations(section, choices) : put_statepoint(section, choices);
  if (count_at + 2 <= SECTION_MAX) {
    section->bytes[count_at] = (uint8_t)count;
    section->bytes[count_at + 1] = (uint8_t)(count >> 8);
  }
  put_live_outs(section, choices);
}

/* The records of a function; returns how many. The last one may be repeated at other addresses. */
static unsigned put_records(struct section *section, struct choices *choices, unsigned wanted) {
  uint64_t offset = 0;
  unsigned count = 0;
  for (; count < wanted; count++) {
    const uint8_t step = choose(choices);
    const struct choices before = *choices;
    offset += step < 240 ? step % 16 : choose_number(choices);
    put_record(section, choices, offset & INT32_MAX);
    if (step % 32 == 31)
      *choices = before;
  }
  return count;
}

struct planned {
  uint64_t address, frame_size;
  unsigned records;
};

static unsigned plan_functions(struct choices *choices, struct planned *functions) {
  const unsigned count = choose_below(choices, FUNCTIONS_MAX + 1);
  uint64_t address = 0x401000;
  for (unsigned i = 0; i < count; i++) {
    const uint8_t form = choose(choices);
    if (form < 208)
      address += form;
    else
      address = form < 240 ? address - choose(choices) : choose_number(choices);
    address &= INT64_MAX; /* with any offset still below 2^64 */
    functions[i].address = address;
    functions[i].frame_size = choose_number(choices);
    functions[i].records = choose_below(choices, RECORDS_MAX);
  }
  return count;
}

static void put_map(struct section *section, struct choices *choices) {
  struct planned functions[FUNCTIONS_MAX];
  const unsigned count = plan_functions(choices, functions);
  unsigned records = 0;
  for (unsigned i = 0; i < count; i++)
    records += functions[i].records;
  put(section, 3, 4);
  put(section, count, 4);
  put(section, CONSTANTS, 4);
  put(section, records, 4);
  for (unsigned i = 0; i < count; i++) {
    put(section, functions[i].address, 8);
    put(section, functions[i].frame_size, 8);
    put(section, functions[i].records, 8);
  }
  for (unsigned i = 0; i < CONSTANTS; i++)
    put(section, UINT64_MAX >> i * 16, 8);
  for (unsigned i = 0; i < count; i++)
    put_records(section, choices, functions[i].records);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static struct section section;
  struct choices choices = {data, data + size};
  const uint8_t form = choose(&choices);
  section.size = 0;
  for (unsigned i = 0; i <= form % 3u; i++)
    put_map(&section, &choices);
  if (section.size <= SECTION_MAX) {
    uint8_t *bytes = exact_block(section.bytes, section.size, section.size);
    if (!check_round_trip(bytes, section.size, form < 192 ? STATEPOINTS_AUTO : STATEPOINTS_NONE))
      finding("a section that keeps to the format can be read", NULL);
    free(bytes);
  }
  return 0;
}
