/* cache.c - tests what stackpack.h promises of caches and of look-ups of many addresses at once: the
 * same answers, records and pairs as without, however small the cache and whatever is asked.
 */
#include "generator.h"
#include "model_check.h"
#include "numbers.h"
#include "runtime/stackpack.h"
#include "suite.h"

#include <stdlib.h>
#include <string.h>

static const struct model_options options = {.section_address = 0x200000, .open_address = 0x200000};

/* Packs a model that is complete, and frees it. */
static struct packed_model pack_model(struct model *model, const struct model_options *where) {
  struct packed_model packed;
  struct difference difference;
  model_finish(model);
  if (!packed_model_open(&packed, model, where, &difference))
    ck_abort_msg("%s", difference.text);
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

static void check_same_pairs(struct stackpack_pairs a, struct stackpack_pairs b) {
  struct stackpack_location base_a, derived_a, base_b, derived_b;
  while (stackpack_pairs_next(&a, &base_a, &derived_a)) {
    ck_assert(stackpack_pairs_next(&b, &base_b, &derived_b));
    ck_assert(same_location(base_a, base_b) && same_location(derived_a, derived_b));
  }
  ck_assert(!stackpack_pairs_next(&b, &base_b, &derived_b));
  ck_assert(!a.is_corrupt && !b.is_corrupt);
}

static void check_same_record(const struct stackpack_record *a, const struct stackpack_record *b) {
  ck_assert_uint_eq(a->address, b->address);
  ck_assert_uint_eq(a->frame_size, b->frame_size);
  ck_assert_uint_eq(a->index, b->index);
  ck_assert_int_eq(a->kind, b->kind);
  ck_assert_uint_eq(stackpack_record_function(a), stackpack_record_function(b));
}

/* The pairs that a visitor still expects. */
struct expected {
  struct stackpack_pairs pairs;
};

static void expect(void *context, struct stackpack_location base,
                   struct stackpack_location derived) {
  struct expected *expected = context;
  struct stackpack_location next_base, next_derived;
  ck_assert(stackpack_pairs_next(&expected->pairs, &next_base, &next_derived));
  ck_assert(same_location(base, next_base) && same_location(derived, next_derived));
}

static void check_visited(const struct stackpack_record *record, struct stackpack_pairs pairs) {
  struct stackpack_location base, derived;
  struct expected expected = {pairs};
  ck_assert_int_eq(stackpack_pairs_visit(&pairs, expect, &expected), STACKPACK_FOUND);
  ck_assert(!stackpack_pairs_next(&expected.pairs, &base, &derived));
  expected.pairs = stackpack_pairs(record);
  pairs = expected.pairs;
  ck_assert_int_eq(stackpack_pairs_visit(&pairs, expect, &expected), STACKPACK_FOUND);
  ck_assert(!stackpack_pairs_next(&expected.pairs, &base, &derived));
}

static void check_cached(const struct stackpack_table *table, struct stackpack_cache *cache,
                         uint64_t address) {
  struct stackpack_record plain, cached;
  struct stackpack_pairs pairs;
  const enum stackpack_answer answer = stackpack_table_find(table, address, &plain);
  ck_assert_int_eq(stackpack_table_find_cached(table, cache, address, &cached, &pairs), answer);
  if (answer != STACKPACK_FOUND)
    return;
  check_same_record(&plain, &cached);
  check_same_pairs(stackpack_pairs(&plain), pairs);
  check_visited(&cached, pairs);
}

enum { RECORDS_MAX = 64 };
static uint64_t memory[RECORDS_MAX * STACKPACK_CACHE_RECORD / sizeof(uint64_t)];

static struct stackpack_cache open_cache(size_t size) {
  struct stackpack_cache cache;
  memset(memory, 0, sizeof memory);
  stackpack_cache_open(&cache, memory, size);
  return cache;
}

/* Of any size: too small for one record, too, or for all but a part of the last one. */
START_TEST(the_same_answers_by_way_of_a_cache) {
  for (uint64_t seed = 1; seed <= 30; seed++) {
    struct packed_model packed = open_model(seed, 200);
    struct numbers numbers = {seed};
    for (size_t size = 0; size <= sizeof memory; size += 40 + size / 2) {
      struct stackpack_cache cache = open_cache(size);
      for (unsigned i = 0; i < 300; i++)
        check_cached(&packed.table, &cache, choose_address(&packed.table, &numbers));
    }
    packed_model_free(&packed);
  }
}
END_TEST

/* Address 0 is what a free place has: there, nothing is found; or a record, if the table says so. */
START_TEST(address_0) {
  for (unsigned there = 0; there < 2; there++) {
    static const struct model_options at_0 = {.section_address = 0x200000,
                                              .open_address = 0x200000 - 0x1010};
    struct model model = {0};
    model_add_function(&model, 0x1000, 24, 0x1100);
    model_add_self(model_add_record(&model, 0x10), 8);
    struct packed_model packed = pack_model(&model, there ? &at_0 : &options);
    struct stackpack_cache cache = open_cache(sizeof memory);
    for (unsigned i = 0; i < 3; i++)
      check_cached(&packed.table, &cache, 0);
    packed_model_free(&packed);
  }
}
END_TEST

/* Records of more pairs than an entry has room for, of locations far from each other, of registers that
 * a byte can't tell, and of no pairs. */
START_TEST(records_of_all_kinds) {
  struct model model = {0};
  uint32_t offset = 1;
  model_add_function(&model, 0x1000, STACKPACK_FRAME_SIZE_UNKNOWN, 0x3000);
  for (int32_t pairs = 0; pairs < 50; pairs++) {
    struct model_record *record = model_add_record(&model, offset++);
    for (int32_t slot = 0; slot < pairs; slot++)
      model_add_pair(record, model_slot(8 * (slot / 2)), model_slot(8 * slot));
  }
  for (int32_t distance = 250; distance < 260; distance++) {
    struct model_record *record = model_add_record(&model, offset++);
    model_add_self(record, 0);
    model_add_self(record, 8 * distance);
  }
  for (uint16_t reg = 254; reg < 258; reg++) {
    struct model_record *record = model_add_record(&model, offset++);
    const struct stackpack_location location = model_location(STACKPACK_REGISTER, 8, reg, 0);
    model_add_pair(record, location, location);
    model_add_self(record, 8);
  }
  struct packed_model packed = pack_model(&model, &options);
  struct stackpack_cache cache = open_cache(sizeof memory);
  for (unsigned round = 0; round < 3; round++)
    for (uint64_t address = 0x1000; address < 0x1000 + offset + 2; address++)
      check_cached(&packed.table, &cache, address);
  packed_model_free(&packed);
}
END_TEST

/* What was asked for is remembered: the table isn't read again. */
START_TEST(a_cache_remembers) {
  struct packed_model packed = open_model(3, 30);
  struct stackpack_cache cache = open_cache(sizeof memory);
  struct stackpack_record record, again;
  struct stackpack_pairs pairs;
  static struct stackpack_table no_table;
  ck_assert_int_eq(stackpack_table_record(&packed.table, 0, &record), STACKPACK_FOUND);
  for (unsigned i = 0; i < 2; i++)
    ck_assert_int_eq(stackpack_table_find_cached(i == 0 ? &packed.table : &no_table, &cache,
                                                 record.address, &again, &pairs),
                     STACKPACK_FOUND);
  check_same_record(&record, &again);
  packed_model_free(&packed);
}
END_TEST

SUITE("cache", the_same_answers_by_way_of_a_cache, address_0, records_of_all_kinds,
      a_cache_remembers)
