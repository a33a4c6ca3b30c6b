/* fuzz_encode.c - attacks the encoder with stack maps that are right in form, and odd in content.
 *
 * Mutated bytes are seldom a readable section. So here the input is a string of choices, and one
 * map is built from them: functions that overlap or meet, records out of order and at equal
 * addresses, live sets out of a few locations or with limits for values, deopt states, live-outs.
 * Findings: it is unreadable, or comes out of the packed table as something else.
 */
#include "fuzz.h"
#include "tests/unit/v3_writer.h"

#include <stdlib.h>

enum {
  FUNCTIONS_MAX = 16,
  RECORDS_MAX = 48, /* of a function */
  CONSTANTS = 4,
  SECTION_MAX = 1 << 18, /* one that is longer is given up */
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

static void put_constant(struct bytes *section, uint64_t value) {
  v3_location(section, V3_CONSTANT, 8, 0, (int32_t)value);
}

static void put_any_location(struct bytes *section, struct choices *choices) {
  const uint8_t form = choose(choices);
  const uint8_t kind = V3_REGISTER + form % 5;
  if (form < 192) {
    v3_location(section, V3_INDIRECT, 8, 7, form % 64 * 8);
  } else if (kind == V3_CONSTANT_INDEX) {
    v3_location(section, kind, 8, 0, (int32_t)choose_below(choices, CONSTANTS));
  } else {
    const uint64_t size = form % 2 == 0 ? 8 : choose_number(choices), reg = choose_number(choices);
    v3_location(section, kind, (uint16_t)size, (uint16_t)reg, (int32_t)choose_number(choices));
  }
}

static void put_pair(struct bytes *section, struct choices *choices) {
  const int32_t base = (int32_t)choose_below(choices, 96) * 8;
  v3_location(section, V3_INDIRECT, 8, 7, base);
  v3_location(section, V3_INDIRECT, 8, 7, choose_below(choices, 4) == 0 ? base + 8 : base);
}

/* A statepoint's locations; returns how many. */
static unsigned put_statepoint(struct bytes *section, struct choices *choices) {
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
    v3_location(section, V3_DIRECT, 8, 6, choose(choices));
  return 3 + deopt + 2 * pairs + allocas;
}

static unsigned put_locations(struct bytes *section, struct choices *choices) {
  const unsigned count = choose_below(choices, 9);
  for (unsigned i = 0; i < count; i++)
    put_any_location(section, choices);
  return count;
}

static void put_live_outs(struct bytes *section, struct choices *choices) {
  const uint8_t form = choose(choices), count = form < 224 ? 0 : form % 8;
  v3_live_outs(section, count);
  for (unsigned i = 0; i < count; i++) {
    const uint16_t reg = (uint16_t)choose_number(choices);
    v3_live_out(section, reg, choose(choices));
  }
  v3_end_record(section);
}

static void put_record(struct bytes *section, struct choices *choices, uint32_t offset) {
  const uint8_t form = choose(choices);
  v3_record(section, form < 192 ? 0xabcdef00u : choose_number(choices), offset, 0);
  const size_t count_at = section->size - sizeof(uint16_t);
  const unsigned count =
      form % 8 == 7 ? put_locations(section, choices) : put_statepoint(section, choices);
  section->data[count_at] = (uint8_t)count;
  section->data[count_at + 1] = (uint8_t)(count >> 8);
  put_live_outs(section, choices);
}

/* The records of a function; returns how many. The last one may be repeated at other addresses. */
static unsigned put_records(struct bytes *section, struct choices *choices, unsigned wanted) {
  uint64_t offset = 0;
  unsigned count = 0;
  for (; count < wanted; count++) {
    const uint8_t step = choose(choices);
    const struct choices before = *choices;
    offset += step < 240 ? step % 16 : choose_number(choices);
    put_record(section, choices, (uint32_t)(offset & INT32_MAX));
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

static void put_map(struct bytes *section, struct choices *choices) {
  struct planned functions[FUNCTIONS_MAX];
  const unsigned count = plan_functions(choices, functions);
  unsigned records = 0;
  for (unsigned i = 0; i < count; i++)
    records += functions[i].records;
  v3_map(section, count, CONSTANTS, records);
  for (unsigned i = 0; i < count; i++)
    v3_function(section, functions[i].address, functions[i].frame_size, functions[i].records);
  for (unsigned i = 0; i < CONSTANTS; i++)
    v3_constant(section, UINT64_MAX >> i * 16);
  for (unsigned i = 0; i < count; i++)
    put_records(section, choices, functions[i].records);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct bytes section = {0};
  struct choices choices = {data, data + size};
  const uint8_t form = choose(&choices);
  for (unsigned i = 0; i <= form % 3u; i++)
    put_map(&section, &choices);
  if (section.size <= SECTION_MAX) {
    uint8_t *bytes = bytes_exact(section.data, section.size);
    if (!check_round_trip(bytes, section.size, form < 192 ? STATEPOINTS_AUTO : STATEPOINTS_NONE))
      finding("a section that keeps to the format can be read", NULL);
    free(bytes);
  }
  bytes_free(&section);
  return 0;
}
