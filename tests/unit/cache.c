/* cache.c - tests the promises of stackpack.h on caches: the same answers, records and pairs as
 * without, for each size of the cache and each question.
 */
#include "generator.h"
#include "model_check.h"
#include "numbers.h"
#include "runtime/stackpack.h"
#include "suite.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static const struct model_options options = {.section_address = 0x200000, .open_address = 0x200000};

/* Packs a model that is complete, and frees it. */
static struct packed_model pack_model(struct model *model, const struct model_options *where) {
  model_finish(model);
  const struct packed_model packed = packed_model_open(model, where);
  model_free(model);
  return packed;
}

static struct packed_model open_model(uint64_t seed, uint32_t records) {
  struct model model = {0};
  generate(&model, seed, records);
  return pack_model(&model, &options);
}

/* The address of some record, or next to one. */
static uint64_t choose_address(const struct stackpack_table *table, struct numbers *numbers) {
  struct stackpack_record record;
  const uint64_t count = stackpack_table_records(table);
  const uint32_t index = (uint32_t)numbers_below(numbers, count < 40 ? count : 40);
  ck_assert_int_eq(stackpack_table_record(table, index, &record), STACKPACK_FOUND);
  return numbers_below(numbers, 4) == 0 ? record.address + numbers_below(numbers, 3)
                                        : record.address;
}

static bool same_location(struct stackpack_location a, struct stackpack_location b) {
  return a.kind == b.kind && a.size == b.size && a.reg == b.reg && a.value == b.value;
}

static void check_same_record(const struct stackpack_record *a, const struct stackpack_record *b) {
  ck_assert_uint_eq(a->address, b->address);
  ck_assert_uint_eq(a->frame_size, b->frame_size);
  ck_assert_uint_eq(a->index, b->index);
  ck_assert_int_eq(a->kind, b->kind);
  ck_assert_uint_eq(stackpack_record_function(a), stackpack_record_function(b));
}

/* A visitor that expects these pairs. */
static void expect(void *context, struct stackpack_location base,
                   struct stackpack_location derived) {
  struct stackpack_pairs *expected = context;
  struct stackpack_location next_base, next_derived;
  ck_assert(stackpack_pairs_next(expected, &next_base, &next_derived));
  ck_assert(same_location(base, next_base) && same_location(derived, next_derived));
}

static void expect_none(struct stackpack_pairs *expected) {
  struct stackpack_location base, derived;
  ck_assert(!stackpack_pairs_next(expected, &base, &derived));
  ck_assert(!expected->is_corrupt);
}

static void check_visits(const struct stackpack_table *table, struct stackpack_cache *cache,
                         uint64_t address) {
  struct stackpack_record plain, cached;
  struct stackpack_pairs expected;
  const enum stackpack_answer answer = stackpack_table_find(table, address, &plain);
  if (answer == STACKPACK_FOUND)
    expected = stackpack_pairs(&plain);
  ck_assert_int_eq(stackpack_table_visit(table, cache, address, &cached, expect, &expected),
                   answer);
  if (answer != STACKPACK_FOUND)
    return;
  expect_none(&expected);
  check_same_record(&plain, &cached);
  expected = stackpack_pairs(&plain);
  ck_assert_int_eq(stackpack_record_visit(&cached, expect, &expected), STACKPACK_FOUND);
  expect_none(&expected);
}

static void check_cached(const struct stackpack_table *table, struct stackpack_cache *cache,
                         uint64_t address) {
  check_visits(table, cache, address);
  check_visits(table, NULL, address);
}

enum { SHIFT_MAX = 7 };
static uint64_t memory[(STACKPACK_CACHE_LINE << SHIFT_MAX) / sizeof(uint64_t)];

/* For any former content of the memory. */
static struct stackpack_cache open_cache(unsigned shift) {
  struct stackpack_cache cache;
  memset(memory, 0x11, sizeof memory);
  stackpack_cache_open(&cache, memory, shift);
  return cache;
}

/* Of any size: too small for one record, too. */
TEST(the_same_answers_by_way_of_a_cache) {
  const uint64_t seeds = numbers_few_samples() ? 5 : 30;
  for (uint64_t seed = 1; seed <= seeds; seed++) {
    struct packed_model packed = open_model(seed, 200);
    struct numbers numbers = {seed};
    for (unsigned shift = 0; shift <= SHIFT_MAX; shift++) {
      struct stackpack_cache cache = open_cache(shift);
      for (unsigned i = 0; i < 300; i++)
        check_cached(&packed.table, &cache, choose_address(&packed.table, &numbers));
    }
    packed_model_free(&packed);
  }
}

/* A look-up of address 0 misses; or a record, if the table says so. */
TEST(address_0) {
  for (unsigned there = 0; there < 2; there++) {
    static const struct model_options at_0 = {.section_address = 0x200000,
                                              .open_address = 0x200000 - 0x1010};
    struct model model = {0};
    model_add_function(&model, 0x1000, 24, 0x1100);
    model_add_self(model_add_record(&model, 0x10), 8);
    struct packed_model packed = pack_model(&model, there ? &at_0 : &options);
    struct stackpack_cache cache = open_cache(SHIFT_MAX);
    for (unsigned i = 0; i < 3; i++)
      check_cached(&packed.table, &cache, 0);
    packed_model_free(&packed);
  }
}

/* A record of an ordinary slot and one other location, as both places of a pair. */
static void add_other(struct model *model, uint32_t offset, struct stackpack_location location) {
  struct model_record *record = model_add_record(model, offset);
  model_add_self(record, 8);
  model_add_pair(record, location, location);
}

/* Records of many pairs, of slots far from each other and between words, of registers and of
 * everything outside rows, and an empty record. */
TEST(records_of_all_kinds) {
  struct model model = {0};
  uint32_t offset = 1;
  model_add_function(&model, 0x1000, STACKPACK_FRAME_SIZE_UNKNOWN, 0x3000);
  for (int32_t pairs = 0; pairs < 260; pairs += pairs < 50 ? 1 : 5) {
    struct model_record *record = model_add_record(&model, offset++);
    for (int32_t slot = 0; slot < pairs; slot++)
      model_add_pair(record, model_slot(8 * (slot / 2 % 100)), model_slot(8 * (slot % 200)));
  }
  for (int32_t distance = 215; distance < 260; distance++)
    add_other(&model, offset++, model_slot(8 + 8 * distance));
  for (uint16_t reg = 0; reg < 300; reg = (uint16_t)(reg < 40 ? reg + 1 : reg + 27)) {
    add_other(&model, offset++, model_location(STACKPACK_REGISTER, 8, reg, 0));
    add_other(&model, offset++, model_location(STACKPACK_REGISTER, 4, reg, 0));
    add_other(&model, offset++, model_location(STACKPACK_INDIRECT, 8, reg, 16));
  }
  add_other(&model, offset++, model_location(STACKPACK_REGISTER, 8, 3, 1));
  add_other(&model, offset++, model_location(STACKPACK_INDIRECT, 16, 7, 16));
  add_other(&model, offset++, model_location(STACKPACK_CONSTANT, 8, 0, 0));
  for (int32_t value = -40; value < 40; value += 4)
    add_other(&model, offset++, model_slot(value));
  add_other(&model, offset++, model_slot(INT32_MAX));
  add_other(&model, offset++, model_slot(INT32_MIN));
  struct packed_model packed = pack_model(&model, &options);
  struct stackpack_cache cache = open_cache(SHIFT_MAX);
  for (unsigned round = 0; round < 3; round++)
    for (uint64_t address = 0x1000; address < 0x1000 + offset + 2; address++)
      check_cached(&packed.table, &cache, address);
  for (uint64_t address = 0x1000; address < 0x1000 + offset; address++)
    for (unsigned round = 0; round < 2; round++)
      check_cached(&packed.table, &cache, address);
  packed_model_free(&packed);
}

/* A repeated question is answered from the cache: the table stays unread. */
TEST(a_cache_remembers) {
  struct packed_model packed = open_model(3, 30);
  struct stackpack_cache cache = open_cache(SHIFT_MAX);
  struct stackpack_record record, again;
  static struct stackpack_table no_table;
  ck_assert_int_eq(stackpack_table_record(&packed.table, 0, &record), STACKPACK_FOUND);
  for (unsigned i = 0; i < 2; i++) {
    struct stackpack_pairs expected = stackpack_pairs(&record);
    ck_assert_int_eq(stackpack_table_visit(i == 0 ? &packed.table : &no_table, &cache,
                                           record.address, &again, expect, &expected),
                     STACKPACK_FOUND);
    expect_none(&expected);
  }
  check_same_record(&record, &again);
  packed_model_free(&packed);
}

/* How many of the records the cache has: they are missing in all tables. */
static uint32_t count_remembered(const struct stackpack_table *table,
                                 struct stackpack_cache *cache) {
  static struct stackpack_table no_table;
  uint32_t count = 0;
  for (uint32_t i = 0; i < stackpack_table_records(table); i++) {
    struct stackpack_record record, found;
    ck_assert_int_eq(stackpack_table_record(table, i, &record), STACKPACK_FOUND);
    struct stackpack_pairs expected = stackpack_pairs(&record);
    count += stackpack_table_visit(&no_table, cache, record.address, &found, expect, &expected) ==
             STACKPACK_FOUND;
  }
  return count;
}

static void visit_all(const struct stackpack_table *table, struct stackpack_cache *cache) {
  for (uint32_t i = 0; i < stackpack_table_records(table); i++) {
    struct stackpack_record record;
    ck_assert_int_eq(stackpack_table_record(table, i, &record), STACKPACK_FOUND);
    check_visits(table, cache, record.address);
  }
}

/* Records at addresses of their own, of one pair each. */
static struct packed_model open_plain_model(uint32_t records) {
  struct model model = {0};
  model_add_function(&model, 0x1000, 24, 0x3000);
  for (uint32_t i = 0; i < records; i++)
    model_add_self(model_add_record(&model, i + 1), 8);
  return pack_model(&model, &options);
}

/* A cache with a larger size uses as much memory as the header says, and leaves the memory after it
 * alone. */
TEST(a_cache_of_too_many_lines) {
  enum { LINES_SHIFT = 22, MORE = 8, RECORDS = 40 };
  const size_t size = (size_t)STACKPACK_CACHE_LINE << LINES_SHIFT;
  void *lines =
      mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ck_assert_ptr_ne(lines, MAP_FAILED);
  struct packed_model packed = open_plain_model(RECORDS);
  struct stackpack_cache cache;
  stackpack_cache_open(&cache, lines, LINES_SHIFT + MORE);
  visit_all(&packed.table, &cache);
  ck_assert_uint_eq(count_remembered(&packed.table, &cache), RECORDS);
  packed_model_free(&packed);
  ck_assert_int_eq(munmap(lines, size), 0);
}

/* A cache that is too small for all records keeps its records; but for a time only. */
TEST(a_full_cache) {
  enum { RECORDS = 360 };
  struct packed_model packed = open_plain_model(RECORDS);
  struct stackpack_cache cache = open_cache(SHIFT_MAX);
  struct stackpack_record first, last;
  visit_all(&packed.table, &cache);
  const uint32_t count = count_remembered(&packed.table, &cache);
  ck_assert_uint_gt(count, 56); /* nearly one for two lines */
  ck_assert_uint_lt(count, RECORDS);
  for (unsigned i = 0; i < 2; i++)
    visit_all(&packed.table, &cache);
  ck_assert_uint_eq(count_remembered(&packed.table, &cache), count);

  static struct stackpack_table no_table;
  ck_assert_int_eq(stackpack_table_record(&packed.table, 0, &first), STACKPACK_FOUND);
  ck_assert_int_eq(stackpack_table_record(&packed.table, RECORDS - 1, &last), STACKPACK_FOUND);
  struct stackpack_pairs expected = stackpack_pairs(&first);
  ck_assert_int_eq(
      stackpack_table_visit(&no_table, &cache, first.address, &first, expect, &expected),
      STACKPACK_FOUND);
  for (unsigned i = 0; i < 100 * RECORDS; i++)
    check_visits(&packed.table, &cache, last.address);
  expected = stackpack_pairs(&last);
  ck_assert_int_eq(stackpack_table_visit(&no_table, &cache, last.address, &last, expect, &expected),
                   STACKPACK_FOUND);
  packed_model_free(&packed);
}

/* Where records missing in a full cache are in use, it soon has them. */
TEST(a_full_cache_and_other_addresses) {
  struct packed_model packed;
  struct model model = {0};
  struct stackpack_cache cache = open_cache(SHIFT_MAX);
  static struct stackpack_table no_table;
  enum { RECORDS = 400, HOT = 10, ROUNDS = 20 };
  model_add_function(&model, 0x1000, 24, 0x3000);
  for (uint32_t i = 0; i < RECORDS; i++)
    model_add_self(model_add_record(&model, i + 1), 8);
  packed = pack_model(&model, &options);
  visit_all(&packed.table, &cache);
  for (unsigned round = 0; round <= ROUNDS; round++)
    for (uint32_t i = 0; i < HOT; i++) {
      struct stackpack_record record, found;
      ck_assert_int_eq(stackpack_table_record(&packed.table, RECORDS - 1 - i, &record),
                       STACKPACK_FOUND);
      struct stackpack_pairs expected = stackpack_pairs(&record);
      ck_assert_int_eq(stackpack_table_visit(round == ROUNDS ? &no_table : &packed.table, &cache,
                                             record.address, &found, expect, &expected),
                       STACKPACK_FOUND);
    }
  packed_model_free(&packed);
}
