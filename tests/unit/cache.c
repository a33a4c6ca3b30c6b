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
  ck_assert(!stackpack_pairs_corrupt(&a) && !stackpack_pairs_corrupt(&b));
}

static void check_same_record(const struct stackpack_record *a, const struct stackpack_record *b) {
  ck_assert_uint_eq(a->address, b->address);
  ck_assert_uint_eq(a->frame_size, b->frame_size);
  ck_assert_uint_eq(a->index, b->index);
  ck_assert_int_eq(a->kind, b->kind);
  ck_assert_uint_eq(stackpack_record_function(a), stackpack_record_function(b));
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

static void check_visited(const struct stackpack_table *table, struct stackpack_cache *cache,
                          uint64_t address) {
  struct stackpack_record plain, visited;
  struct stackpack_location base, derived;
  struct expected expected = {{0}};
  const enum stackpack_answer answer = stackpack_table_find(table, address, &plain);
  if (answer == STACKPACK_FOUND)
    expected.pairs = stackpack_pairs(&plain);
  ck_assert_int_eq(stackpack_table_visit(table, cache, address, &visited, expect, &expected),
                   answer);
  ck_assert(!stackpack_pairs_next(&expected.pairs, &base, &derived));
  if (answer != STACKPACK_FOUND)
    return;
  check_same_record(&plain, &visited);
  expected.pairs = stackpack_pairs(&plain);
  ck_assert_int_eq(stackpack_record_visit(&visited, expect, &expected), STACKPACK_FOUND);
  ck_assert(!stackpack_pairs_next(&expected.pairs, &base, &derived));
}

START_TEST(the_same_answers_by_way_of_a_cache) {
  static struct stackpack_cache_entry entries[64];
  for (uint64_t seed = 1; seed <= 30; seed++) {
    struct packed_model packed = open_model(seed, 200);
    struct numbers numbers = {seed};
    for (unsigned shift = 3; shift <= 6; shift++) {
      struct stackpack_cache cache;
      stackpack_cache_open(&cache, entries, shift);
      for (unsigned i = 0; i < 500; i++) {
        check_cached(&packed.table, &cache, choose_address(&packed.table, &numbers));
        check_visited(&packed.table, &cache, choose_address(&packed.table, &numbers));
      }
    }
    packed_model_free(&packed);
  }
}
END_TEST

/* Address 0 is what a free entry has: there, nothing is found; or a record, if it says so, which isn't
 * remembered. */
static void check_address_0(const struct stackpack_table *table, enum stackpack_answer answer) {
  static struct stackpack_cache_entry entries[16];
  struct stackpack_cache cache;
  struct stackpack_record record;
  ck_assert_int_eq(stackpack_table_find(table, 0, &record), answer);
  stackpack_cache_open(&cache, entries, 4);
  for (unsigned i = 0; i < 40; i++) {
    check_cached(table, &cache, 0);
    check_visited(table, &cache, 0);
    check_visited(table, &cache, 0x10 * (i + 1));
  }
}

START_TEST(address_0) {
  enum { FUNCTION = 0x1000, OFFSET = 16 };
  const struct model_options moved = {.section_address = 0x200000,
                                      .open_address = 0x200000 - FUNCTION - OFFSET};
  struct packed_model packed = open_model(7, 50);
  struct model model = {0};
  check_address_0(&packed.table, STACKPACK_NOT_MANAGED);
  packed_model_free(&packed);
  model_add_function(&model, FUNCTION, 32, FUNCTION + 0x1000);
  for (uint32_t i = 1; i <= 40; i++)
    model_add_self(model_add_record(&model, OFFSET * i), 8);
  packed = pack_model(&model, &moved);
  check_address_0(&packed.table, STACKPACK_FOUND);
  packed_model_free(&packed);
}
END_TEST

/* What is in a cache is found there: the table isn't looked at. */
START_TEST(a_cache_remembers) {
  static struct stackpack_cache_entry entries[16];
  struct packed_model packed = open_model(7, 50);
  struct stackpack_cache cache;
  struct stackpack_record record, again;
  struct stackpack_pairs pairs;
  stackpack_cache_open(&cache, entries, 4);
  ck_assert_int_eq(stackpack_table_record(&packed.table, 20, &record), STACKPACK_FOUND);
  check_cached(&packed.table, &cache, record.address);
  const struct stackpack_table nothing = {{0}};
  ck_assert_int_eq(stackpack_table_find_cached(&nothing, &cache, record.address, &again, &pairs),
                   STACKPACK_FOUND);
  ck_assert_uint_eq(again.address, record.address);
  stackpack_cache_open(&cache, entries, 4);
  ck_assert_int_ne(stackpack_table_find_cached(&nothing, &cache, record.address, &again, &pairs),
                   STACKPACK_FOUND);
  packed_model_free(&packed);
}
END_TEST

/* Looks up the record of a number; returns its address. */
static uint64_t check_record(const struct stackpack_table *table, struct stackpack_cache *cache,
                             uint32_t index) {
  struct stackpack_record record;
  ck_assert_int_eq(stackpack_table_record(table, index, &record), STACKPACK_FOUND);
  check_visited(table, cache, record.address);
  return record.address;
}

/* A cache with room for all records remembers all, and needs no memory but zeros. Where records come
 * depends on the addresses, which are others in each process: so there is so much room that not one
 * is in the way of another in millions of processes. */
START_TEST(room_for_all) {
  enum { SHIFT = 13, RECORDS = 200 };
  struct stackpack_cache_entry *entries = calloc((size_t)1 << SHIFT, sizeof *entries);
  struct packed_model packed = open_model(8, RECORDS);
  struct stackpack_cache cache;
  ck_assert_ptr_nonnull(entries);
  stackpack_cache_open_zeros(&cache, entries, SHIFT);
  for (unsigned pass = 0; pass < 2; pass++)
    for (uint32_t i = 0; i < stackpack_table_records(&packed.table); i++)
      check_cached(&packed.table, &cache, check_record(&packed.table, &cache, i));
  ck_assert_uint_eq(cache.replaced, 0);
  packed_model_free(&packed);
  free(entries);
}
END_TEST

/* In a cache that is full, what comes mostly takes the first of its places. */
START_TEST(a_full_cache) {
  enum { SHIFT = 6, RECORDS = 400 };
  static struct stackpack_cache_entry entries[1 << SHIFT];
  struct packed_model packed = open_model(9, RECORDS);
  struct stackpack_cache cache;
  uint32_t first = 0, remembered = 0;
  stackpack_cache_open(&cache, entries, SHIFT);
  for (unsigned pass = 0; pass < 2; pass++)
    for (uint32_t i = 0; i < stackpack_table_records(&packed.table); i++) {
      const uint64_t address = check_record(&packed.table, &cache, i);
      const struct stackpack_cache_entry *entry = stackpack_cache_get(&cache, address);
      if (entry == NULL || pass == 0)
        continue;
      remembered++;
      first += entry == stackpack_cache_place(&cache, address);
    }
  ck_assert_uint_gt(remembered, RECORDS / 2);
  ck_assert_uint_gt(first, remembered / 2);
  packed_model_free(&packed);
}
END_TEST

/* Records of one function with 1, 2, 3... pairs; all slots derived from the first one, every other
 * time; from byte 0 on, if not from a register's. */
static struct packed_model open_wide(unsigned records, uint8_t kind, int64_t step) {
  struct model model = {0};
  model_add_function(&model, 0x1000, 4096, 0x1000 + 16 * (records + 1));
  for (unsigned i = 1; i <= records; i++) {
    struct model_record *record = model_add_record(&model, 16 * i);
    for (unsigned slot = 0; slot < i; slot++) {
      const struct stackpack_location location = model_location(kind, 8, 7, slot * step);
      model_add_pair(record, i % 2 == 0 ? model_location(kind, 8, 7, 0) : location, location);
    }
  }
  return pack_model(&model, &options);
}

static bool is_remembered(const struct stackpack_cache *cache, uint64_t address) {
  return stackpack_cache_get(cache, address) != NULL;
}

/* Whether a record is remembered by a cache of so many entries. */
static bool fits(unsigned pairs, unsigned entries) {
  enum { HEAD = 8, REST = 26, RESTS = 9 };
  const unsigned rests = entries - 1 < RESTS ? entries - 1 : RESTS;
  return pairs <= HEAD + rests * REST;
}

static void check_wide(uint8_t kind, int64_t step) {
  enum { RECORDS = 260 };
  static struct stackpack_cache_entry entries[64];
  struct packed_model packed = open_wide(RECORDS, kind, step);
  struct stackpack_cache cache;
  struct numbers numbers = {1};
  for (unsigned shift = 3; shift <= 6; shift++) {
    stackpack_cache_open(&cache, entries, shift);
    for (unsigned i = 1; i <= RECORDS; i++) {
      check_visited(&packed.table, &cache, 0x1000 + 16 * i);
      ck_assert_int_eq(is_remembered(&cache, 0x1000 + 16 * i), fits(i, 1u << shift));
      for (unsigned other = 0; other < 3; other++)
        check_cached(&packed.table, &cache, 0x1000 + 16 * (1 + numbers_below(&numbers, i)));
      for (size_t entry = 0; entry < (size_t)1 << shift; entry++)
        entries[entry].head.caller = 0; /* as a walk might whose frame is forgotten */
      check_visited(&packed.table, &cache, 0x1000 + 16 * i);
    }
  }
  packed_model_free(&packed);
}

/* A record of many pairs takes several entries. */
START_TEST(many_pairs) { check_wide(STACKPACK_INDIRECT, 8); }
END_TEST

/* What isn't in spill slots, or in such that aren't a word apart, is visited in another way. */
START_TEST(unusual_pairs) {
  check_wide(STACKPACK_REGISTER, 8);
  check_wide(STACKPACK_INDIRECT, 16);
  check_wide(STACKPACK_INDIRECT, 4);
}
END_TEST

/* A function of one record, of one pair. Where it is remembered, it comes out as it went in. */
static void check_alone(uint64_t frame_size, struct stackpack_location location, bool remembered) {
  enum { FUNCTION = 0x1000, OFFSET = 8 };
  static struct stackpack_cache_entry entries[16];
  struct model model = {0};
  struct stackpack_cache cache;
  model_add_function(&model, FUNCTION, frame_size, FUNCTION + 64);
  model_add_pair(model_add_record(&model, OFFSET), location, location);
  struct packed_model packed = pack_model(&model, &options);
  stackpack_cache_open(&cache, entries, 4);
  check_visited(&packed.table, &cache, FUNCTION + OFFSET);
  ck_assert_int_eq(is_remembered(&cache, FUNCTION + OFFSET), remembered);
  check_visited(&packed.table, &cache, FUNCTION + OFFSET);
  check_cached(&packed.table, &cache, FUNCTION + OFFSET);
  packed_model_free(&packed);
}

/* An entry's numbers have fewer bits than those of a record and its locations. */
START_TEST(numbers_at_the_limit) {
  const struct stackpack_location slot = model_location(STACKPACK_INDIRECT, 8, 7, 16);
  check_alone(32, slot, true);
  check_alone(STACKPACK_FRAME_SIZE_UNKNOWN, slot, true);
  check_alone(INT32_MAX - 1, slot, true);
  check_alone(INT32_MAX, slot, false);
  check_alone(UINT32_MAX, slot, false);
  check_alone((uint64_t)1 << 32, slot, false);
  check_alone(32, model_location(STACKPACK_INDIRECT, 8, 7, INT32_MAX), true);
  check_alone(32, model_location(STACKPACK_INDIRECT, 8, 7, INT32_MIN), true);
  check_alone(32, model_location(STACKPACK_REGISTER, 255, 255, 0), true);
  check_alone(32, model_location(STACKPACK_REGISTER, 256, 255, 0), false);
  check_alone(32, model_location(STACKPACK_REGISTER, 255, 256, 0), false);
  check_alone(32, model_location(STACKPACK_LARGE_CONSTANT, 8, 0, INT64_MAX), false);
  check_alone(32, model_location(STACKPACK_LARGE_CONSTANT, 8, 0, INT64_MIN), false);
}
END_TEST

START_TEST(many_at_once) {
  enum { MOST = 50 };
  struct numbers numbers = {3};
  for (uint64_t seed = 1; seed <= 30; seed++) {
    struct packed_model packed = open_model(seed, 300);
    for (size_t count = 0; count <= MOST; count += 1 + count / 3) {
      uint64_t addresses[MOST];
      struct stackpack_record records[MOST], record;
      enum stackpack_answer answers[MOST];
      for (size_t i = 0; i < count; i++)
        addresses[i] = numbers_below(&numbers, 10) == 0 ? numbers_next(&numbers)
                                                        : choose_address(&packed.table, &numbers);
      stackpack_table_find_all(&packed.table, addresses, count, records, answers);
      for (size_t i = 0; i < count; i++) {
        ck_assert_int_eq(answers[i], stackpack_table_find(&packed.table, addresses[i], &record));
        if (answers[i] != STACKPACK_FOUND)
          continue;
        check_same_record(&records[i], &record);
        check_same_pairs(stackpack_pairs(&records[i]), stackpack_pairs(&record));
      }
    }
    packed_model_free(&packed);
  }
}
END_TEST

SUITE("cache", the_same_answers_by_way_of_a_cache, address_0, a_cache_remembers, room_for_all,
      a_full_cache, many_pairs, unusual_pairs, numbers_at_the_limit, many_at_once)
