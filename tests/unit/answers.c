/* answers.c - tests tool/check/answers.h: `pack`'s own look-ups find every fault in a packed
 * table's answers.
 *
 * A table is packed with a fault: a function that ends elsewhere, a record that is missing, moved, or
 * has another live set. Whether some address then has another answer is found by asking for all of
 * them, in a text so small that this is possible. Just then, the comparison must say so, though it
 * asks for a few addresses only; another live set, reading the table back must show. The functions lie in every way: side by side, with gaps and within
 * each other, with and without records, also at a function's very end.
 */
#include "tool/check/answers.h"

#include "format/packed_write.h"
#include "numbers.h"
#include "suite.h"

#include <stdlib.h>

enum {
  FUNCTIONS_MAX = 6,
  RECORDS_MAX = 24,
  TEXT = 0x1000,
  TABLE = 0x8000,
  ROUNDS = 20000,
  AROUND = 8, /* addresses that are asked for before the text and after it */
};

/* A program, before it is a table. */
struct program {
  struct safepoint_function functions[FUNCTIONS_MAX];
  struct {
    uint32_t function;
    uint64_t address;
    uint64_t slots; /* bit n: slot n is live */
  } records[RECORDS_MAX];
  uint32_t function_count, record_count;
};

static struct program random_program(struct numbers *numbers) {
  struct program program = {.function_count = 1 + (uint32_t)numbers_below(numbers, FUNCTIONS_MAX)};
  const uint64_t alignment = numbers_below(numbers, 2) == 0 ? 1 : 16;
  uint64_t address = TEXT;
  for (uint32_t i = 0; i < program.function_count; i++) {
    const uint64_t size = 2 + numbers_below(numbers, 40);
    const bool is_known = numbers_below(numbers, 8) != 0;
    program.functions[i] = (struct safepoint_function){
        .address = address,
        .end = is_known ? address + size : 0,
        .frame_size = 8 * numbers_below(numbers, 3),
    };
    for (uint64_t offset = 1 + numbers_below(numbers, size);
         offset <= size && program.record_count < RECORDS_MAX && numbers_below(numbers, 5) != 0;
         offset += 1 + numbers_below(numbers, 9)) {
      program.records[program.record_count].function = i;
      program.records[program.record_count].address = address + offset;
      program.records[program.record_count++].slots = numbers_below(numbers, 16);
    }
    address += numbers_below(numbers, 3) == 0 ? 1 + numbers_below(numbers, 60) : size;
    address = (address + alignment - 1) / alignment * alignment;
  }
  return program;
}

static struct safepoints table_of(const struct program *program) {
  struct safepoints table = {0};
  ck_assert_uint_eq(intern_add(&table.lists, NULL, 0), 0);
  for (uint32_t i = 0; i < program->function_count; i++)
    ck_assert(safepoints_add_function(&table, program->functions[i]));
  for (uint32_t i = 0; i < program->record_count; i++) {
    uint64_t items[65];
    unsigned count = 0;
    for (uint64_t left = program->records[i].slots; left != 0; left &= left - 1) {
      const struct stackpack_location slot = {
          .kind = STACKPACK_INDIRECT, .reg = 7, .size = 8, .value = 8 * __builtin_ctzll(left)};
      const uint64_t number = safepoints_add_location(&table, slot);
      items[count++] = number << 32 | number;
    }
    ck_assert(safepoints_add_record(
        &table, (struct safepoint){.address = program->records[i].address,
                                   .function = program->records[i].function,
                                   .live = safepoints_add_live(&table, items, count, 0)}));
  }
  ck_assert(safepoints_finish(&table));
  return table;
}

/* A table, packed and opened. */
struct packed {
  uint8_t *bytes;
  struct packed_table table;
};

static struct packed pack(const struct safepoints *table) {
  struct packed packed;
  size_t size;
  ck_assert_ptr_null(packed_write(table, TABLE, NULL, &packed.bytes, &size));
  ck_assert_int_eq(packed_open(&packed.table, packed.bytes, size, TABLE), STACKPACK_OK);
  return packed;
}

/* Puts a fault into a program. True: some answer is sure to be another one. */
static bool spoil(struct program *program, struct numbers *numbers) {
  const uint32_t function = (uint32_t)numbers_below(numbers, program->function_count);
  const uint32_t record =
      program->record_count == 0 ? 0 : (uint32_t)numbers_below(numbers, program->record_count);
  switch (program->record_count == 0 ? 0 : numbers_below(numbers, 4)) {
  case 0:
    program->functions[function].end =
        program->functions[function].address + numbers_below(numbers, 60);
    return false;
  case 1:
    program->records[record].address += numbers_below(numbers, 2) == 0 ? 1 : (uint64_t)-1;
    return false;
  case 2:
    program->records[record] = program->records[--program->record_count];
    return false;
  default:
    program->records[record].slots ^= (uint64_t)1 << numbers_below(numbers, 6);
    return true;
  }
}

/* Whether any address has another kind of answer, or any function another extent. */
static bool answers_differ(const struct packed *a, const struct packed *b) {
  for (uint32_t i = 0; i < a->table.stretch_count || i < b->table.stretch_count; i++) {
    struct packed_stretch x, y;
    if (!packed_stretch(&a->table, i, &x) || !packed_stretch(&b->table, i, &y) ||
        x.start != y.start || x.end != y.end || x.is_gap != y.is_gap)
      return true;
  }
  for (uint64_t address = TEXT - AROUND; address < TEXT + FUNCTIONS_MAX * 100 + AROUND; address++) {
    struct packed_record record;
    if (packed_find(&a->table, address, &record) != packed_find(&b->table, address, &record))
      return true;
  }
  return false;
}

/* With records at one address, the spoiled one may stay hidden. */
static bool has_repeated_address(const struct safepoints *table) {
  for (uint32_t i = 1; i < table->record_count; i++)
    if (table->records[i].address == table->records[i - 1].address)
      return true;
  return false;
}

static struct differences differences_of(const struct safepoints *expected,
                                         const struct packed *packed) {
  struct differences differences = {0};
  answers_all(expected, &packed->table, NULL, 0, &differences);
  return differences;
}

/* The faults that reading the table back shows. */
static struct differences contents_of(const struct safepoints *expected,
                                      const struct packed *packed) {
  struct differences differences = {0};
  struct safepoints table = {0};
  ck_assert(packed_unpack(&packed->table, NULL, &table));
  compare_tables(expected, &table, &differences);
  safepoints_free(&table);
  return differences;
}

TEST(every_fault_is_found) {
  struct numbers numbers = {.state = 1};
  uint32_t found = 0;
  for (unsigned round = 0; round < ROUNDS; round++) {
    struct program program = random_program(&numbers);
    struct safepoints right = table_of(&program);
    const bool is_sure = spoil(&program, &numbers);
    struct safepoints wrong = table_of(&program);
    const struct packed packed = pack(&right), spoiled = pack(&wrong);
    const struct differences none = differences_of(&right, &packed);
    const struct differences some = differences_of(&right, &spoiled);
    ck_assert_msg(none.count == 0, "%s", none.first);
    const bool another_set = is_sure && !has_repeated_address(&right);
    if (answers_differ(&packed, &spoiled))
      ck_assert_msg(some.count > 0, "round %u", round);
    if (another_set)
      ck_assert_msg(contents_of(&right, &spoiled).count > 0, "round %u", round);
    found += another_set || answers_differ(&packed, &spoiled);
    free(packed.bytes);
    free(spoiled.bytes);
    safepoints_free(&right);
    safepoints_free(&wrong);
  }
  ck_assert_uint_gt(found, ROUNDS / 2);
}
