/* packed_frames.c - tests the part of a packed table on frames: the written facts are read again,
 * for any functions and records; and reads of broken bytes stay inside.
 */
#include "bytes.h"
#include "format/bits.h"
#include "format/frames_find.h"
#include "numbers.h"
#include "suite.h"

#include <stdlib.h>
#include <string.h>

enum { RSP = 7, RBP = 6, RBX = 3, RETURN = 16, WORD = 8, PADDING = BITS_PADDING };

static const struct frame_machine x86_64 = {RSP, RETURN, 8};

/* Functions with some records each, in order. */
struct program {
  struct intern set;
  uint32_t *functions, *numbers;
  uint64_t *sizes;
  uint32_t function_count, record_count;
};

static void program_open(struct program *program, uint32_t functions, uint32_t records) {
  *program = (struct program){.function_count = functions, .record_count = records};
  program->functions = test_allocate(records * sizeof *program->functions);
  program->numbers = test_allocate(records * sizeof *program->numbers);
  program->sizes = test_allocate(functions * sizeof *program->sizes);
  for (uint32_t i = 0; i < records; i++)
    program->numbers[i] = program->functions[i] = 0;
  for (uint32_t i = 0; i < functions; i++)
    program->sizes[i] = 24;
}

static void program_close(struct program *program) {
  intern_free(&program->set);
  free(program->functions);
  free(program->numbers);
  free(program->sizes);
}

static void set_facts(struct program *program, uint32_t record, const struct frame_facts *facts) {
  program->numbers[record] = frame_facts_add(&program->set, facts);
}

/* Functions vary that have a known size, and some larger frame. */
static void check_varying(const struct program *program, const bool *varies) {
  bool *is_larger = test_allocate(program->function_count * sizeof *is_larger);
  memset(is_larger, 0, program->function_count * sizeof *is_larger);
  for (uint32_t k = 0; k < program->record_count; k++) {
    if (program->numbers[k] == 0)
      continue;
    const uint64_t size = program->sizes[program->functions[k]];
    const struct frame_facts facts = frame_facts_get(&program->set, program->numbers[k]);
    is_larger[program->functions[k]] |= facts.cfa_register == RSP && size != UINT64_MAX &&
                                        frames_has_room(&x86_64, size, &facts) &&
                                        (uint64_t)facts.cfa_offset > size + WORD;
  }
  ck_assert_mem_eq(varies, is_larger, program->function_count * sizeof *varies);
  free(is_larger);
}

/* The part's bytes with their padding, exactly as many as are allocated. */
static uint8_t *write_part(const struct program *program, size_t *size) {
  const struct frames_input input = {
      x86_64,           program->function_count, program->record_count, program->functions,
      program->numbers, program->sizes,          &program->set};
  struct bit_writer part = {0};
  bool *varies = test_allocate(program->function_count * sizeof *varies);
  memset(varies, 0, program->function_count * sizeof *varies);
  ck_assert(frames_write(&input, varies, &part));
  check_varying(program, varies);
  free(varies);
  *size = part.size / 8;
  uint8_t *padded = bytes_padded(part.bytes, *size, PADDING);
  bit_writer_free(&part);
  return padded;
}

static void check_record(const struct program *program, const struct frames_part *part,
                         uint32_t record, bool is_known) {
  const uint32_t function = program->functions[record];
  const uint64_t size = program->sizes[function];
  const struct frame_view view = frames_find(
      part, function, record, size == UINT64_MAX ? size : size + frames_extra(part, record));
  ck_assert(view.is_known == is_known);
  if (!is_known)
    return;
  const struct frame_facts facts = frames_facts(part, &view);
  const struct frame_facts expected = frame_facts_get(&program->set, program->numbers[record]);
  ck_assert(memcmp(&facts, &expected, sizeof facts) == 0);
  if (facts.cfa_register == RSP && size != UINT64_MAX)
    ck_assert_uint_eq(size + frames_extra(part, record) + 8, (uint64_t)facts.cfa_offset);
}

/* Facts of a function that saves `count` of its registers, one below the other. */
static struct frame_facts usual(uint64_t size, unsigned count) {
  static const uint8_t order[] = {RETURN, RBP, 15, 14, 13, 12, RBX};
  struct frame_facts facts = {
      .cfa_register = RSP, .return_register = RETURN, .cfa_offset = (int32_t)size + WORD};
  for (unsigned i = 0; i <= count; i++) {
    facts.saved |= 1u << order[i];
    facts.offsets[order[i]] = -WORD * (int32_t)(i + 1);
  }
  return facts;
}

static void check_all(const struct program *program, bool is_known) {
  struct frames_part part;
  size_t size;
  uint8_t *bytes = write_part(program, &size);
  ck_assert(frames_open(&part, bytes, size, program->function_count, program->record_count));
  for (uint32_t i = 0; i < program->record_count; i++)
    check_record(program, &part, i, is_known && program->numbers[i] != 0);
  free(bytes);
}

TEST(nothing_known_takes_nothing) {
  struct program program;
  size_t size;
  program_open(&program, 3, 10);
  free(write_part(&program, &size));
  ck_assert_uint_eq(size, 0);
  program_close(&program);
}

TEST(one_shape_takes_no_bits) {
  struct program program;
  size_t size, twice;
  for (uint32_t count = 100; count <= 100000; count *= 1000) {
    program_open(&program, count, count);
    for (uint32_t i = 0; i < count; i++) {
      const struct frame_facts facts = usual(program.sizes[i], 2);
      program.functions[i] = i;
      set_facts(&program, i, &facts);
    }
    check_all(&program, true);
    free(write_part(&program, count == 100 ? &size : &twice));
    program_close(&program);
  }
  ck_assert_uint_eq(size, twice);
}

/* Any facts that compilers might make: sizes, shapes, frame pointers, lost registers, pushed arguments,
 * unknown frames, functions without records. */
static struct frame_facts any_facts(struct numbers *numbers, uint64_t size, unsigned variety) {
  struct frame_facts facts =
      usual(size == UINT64_MAX ? 0 : size, (unsigned)numbers_below(numbers, variety));
  if (size == UINT64_MAX || numbers_below(numbers, 10) == 0) {
    facts.cfa_register = numbers_below(numbers, 4) == 0 ? RBX : RBP;
    facts.cfa_offset = 16 + WORD * (int32_t)numbers_below(numbers, 3);
  } else if (numbers_below(numbers, 20) == 0) {
    facts.cfa_offset += WORD * (int32_t)numbers_below(numbers, 5);
  }
  if (numbers_below(numbers, 20) == 0)
    facts.lost = 1u << numbers_below(numbers, 3);
  facts.is_signed = variety == 7 && numbers_below(numbers, 3) == 0;
  if (numbers_below(numbers, 30) == 0) {
    facts.saved |= 1u << 31;
    facts.offsets[31] = -WORD * (int32_t)(20 + numbers_below(numbers, 5));
  }
  return facts;
}

static void make_any(struct program *program, struct numbers *numbers) {
  const uint32_t functions = 1 + (uint32_t)numbers_below(numbers, 400);
  const uint32_t records = 1 + (uint32_t)numbers_below(numbers, 2000);
  const unsigned variety = 1 + (unsigned)numbers_below(numbers, 7);
  const bool is_mixed = numbers_below(numbers, 3) == 0;
  program_open(program, functions, records);
  for (uint32_t i = 0; i < functions; i++)
    program->sizes[i] =
        numbers_below(numbers, 20) == 0 ? UINT64_MAX : numbers_below(numbers, 20) * WORD;
  uint32_t function = 0;
  struct frame_facts facts = any_facts(numbers, program->sizes[0], variety);
  for (uint32_t i = 0; i < records; i++) {
    const bool is_next = function + 1 < functions && numbers_below(numbers, 4) == 0;
    function += is_next;
    program->functions[i] = function;
    if (is_next || (is_mixed && numbers_below(numbers, 10) == 0))
      facts = any_facts(numbers, program->sizes[function], variety);
    if (!is_mixed || numbers_below(numbers, 10) > 0)
      set_facts(program, i, &facts);
  }
}

TEST(any_program) {
  struct numbers numbers = {1};
  for (unsigned round = 0; round < 300; round++) {
    struct program program;
    size_t size;
    make_any(&program, &numbers);
    free(write_part(&program, &size));
    if (size > 0)
      check_all(&program, true);
    program_close(&program);
  }
}

/* Facts beyond the form's limits become unknown, never wrong. */
TEST(facts_without_room) {
  const struct frame_facts good = usual(24, 2);
  struct frame_facts bad[] = {good, good, good, good, good, good, good, good, good};
  bad[0].cfa_register = FRAME_NO_REGISTER;
  bad[1].cfa_offset -= WORD; /* less than LLVM says */
  bad[2].cfa_offset += 4;
  bad[3].offsets[RBP] = -20;
  bad[4].offsets[RBP] = 16;
  bad[5].offsets[RBP] = -WORD * 300;
  bad[6].return_register = 30;
  bad[7].cfa_register = RBP;
  bad[7].cfa_offset = WORD * 256;
  bad[8].offsets[RBP] = -WORD; /* where the return address is */
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    struct program program;
    program_open(&program, 2, 2);
    program.functions[1] = 1;
    set_facts(&program, 0, &good);
    set_facts(&program, 1, &bad[i]);
    struct frames_part part;
    size_t size;
    uint8_t *bytes = write_part(&program, &size);
    ck_assert(frames_open(&part, bytes, size, 2, 2));
    check_record(&program, &part, 0, true);
    check_record(&program, &part, 1, false);
    free(bytes);
    program_close(&program);
  }
}

/* The largest, and the least, that the form has room for; and some that are just beyond. */
TEST(limits_of_facts) {
  static const struct {
    uint8_t cfa_register;
    int32_t cfa_offset, rbp;
    bool has_room;
  } cases[] = {
      {RBP, 0, -16, true}, /* as on RISC-V, where the frame pointer is the CFA */
      {RBP, -WORD, -16, false},      {RBP, 4, -16, false},
      {RBP, WORD * 255, -16, true},  {RBP, WORD * 256, -16, false},
      {RSP, 32, -16, true}, /* LLVM's size */
      {RSP, 24, -16, false},         {RSP, 40, -16, true},
      {RSP, 32, 0, false},           {RSP, 32, -WORD * 254, true},
      {RSP, 32, -WORD * 255, false}, {FRAME_REGISTERS, 32, -16, false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct frame_facts facts = usual(24, 2);
    facts.cfa_register = cases[i].cfa_register;
    facts.cfa_offset = cases[i].cfa_offset;
    facts.offsets[RBP] = cases[i].rbp;
    ck_assert_msg(frames_has_room(&x86_64, 24, &facts) == cases[i].has_room, "%zu", i);
  }
}

/* A place may be of no register: nothing is saved there. */
TEST(places_of_other_registers) {
  static const uint8_t places[] = {RETURN, FRAME_REGISTERS, RBX, UINT8_MAX};
  const struct frames_part part = {.machine = x86_64};
  const struct frame_view view = {
      .is_known = true, .cfa_register = RSP, .places = places, .place_count = sizeof places};
  const struct frame_facts facts = frames_facts(&part, &view);
  ck_assert_uint_eq(facts.saved, 1u << RETURN | 1u << RBX);
  ck_assert_int_eq(facts.offsets[RETURN], -WORD);
  ck_assert_int_eq(facts.offsets[RBX], -3 * WORD);
}

/* Everything read from broken bytes is inside. */
static void read_all(const uint8_t *bytes, size_t size, uint32_t functions, uint32_t records) {
  struct frames_part part;
  volatile uint64_t sum = 0;
  if (!frames_open(&part, bytes, size, functions, records))
    return;
  for (uint32_t i = 0; i < records; i += 7) {
    const struct frame_view view = frames_find(&part, i % functions, i, 24);
    const struct frame_facts facts = frames_facts(&part, &view);
    sum += facts.saved + frames_extra(&part, i);
    for (unsigned k = 0; k < view.place_count; k++)
      sum += view.places[k];
  }
  (void)sum;
}

TEST(broken_bytes) {
  struct numbers numbers = {2};
  for (unsigned round = 0; round < 20; round++) {
    struct program program;
    size_t size;
    make_any(&program, &numbers);
    uint8_t *bytes = write_part(&program, &size);
    for (size_t cut = 0; cut < size; cut += 1 + size / 50) {
      uint8_t *exact = bytes_exact(bytes, cut + PADDING);
      read_all(exact, cut, program.function_count, program.record_count);
      free(exact);
    }
    for (unsigned change = 0; change < 300 && size > 0; change++) {
      const size_t at = numbers_below(&numbers, change % 2 == 0 ? (size < 40 ? size : 40) : size);
      const uint8_t before = bytes[at];
      bytes[at] = (uint8_t)numbers_below(&numbers, 256);
      read_all(bytes, size, program.function_count, program.record_count);
      bytes[at] = before;
    }
    free(bytes);
    program_close(&program);
  }
}

/* A look-up finds exceptions only where they are in order: others are computed from these. */
TEST(exceptions_out_of_order) {
  struct program program;
  struct frames_part part;
  size_t size;
  program_open(&program, 1, 1000);
  for (uint32_t i = 0; i < 1000; i++) {
    struct frame_facts facts = usual(program.sizes[0], 2);
    facts.cfa_offset += i % 100 == 0 ? WORD : 0;
    set_facts(&program, i, &facts);
  }
  uint8_t *bytes = write_part(&program, &size);
  ck_assert(frames_open(&part, bytes, size, 1, 1000));
  ck_assert_uint_eq(part.exception_count, 10);
  ck_assert(frames_are_in_order(&part));
  uint8_t *numbers = bytes + (part.numbers - bytes), *starts = bytes + (part.starts - bytes);
  for (unsigned i = 0; i < 3; i++) { /* 0, 100 and 200 are in the first block */
    const uint8_t before = numbers[i];
    numbers[i] = i == 0 ? 100 : numbers[i - 1];
    ck_assert(!frames_are_in_order(&part));
    numbers[i] = before;
  }
  for (uint32_t bit = 0; bit < 5u * part.start_width; bit++) {
    starts[bit / 8] ^= (uint8_t)(1u << bit % 8);
    ck_assert(!frames_are_in_order(&part));
    starts[bit / 8] ^= (uint8_t)(1u << bit % 8);
  }
  ck_assert(frames_are_in_order(&part));
  free(bytes);
  program_close(&program);
}
