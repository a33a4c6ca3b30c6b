/* table.c - tests the functions of stackpack.h for one table: their promises beyond the answers;
 * packed.c and property.c compare these.
 */
#include "format/packed_write.h"
#include "generator.h"
#include "model_check.h"
#include "numbers.h"
#include "runtime/stackpack.h"
#include "suite.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

static const struct model_options options = {.section_address = 0x200000, .open_address = 0x200000};

/* Two functions: a statepoint with pairs and allocas and deopt state; a stack map and a statepoint
 * at one address; and an empty statepoint. */
static struct packed_model example(void) {
  struct model model = {0};
  model_add_function(&model, 0x1000, 24, 0x1100);
  struct model_record *record = model_add_record(&model, 0x10);
  model_add_self(record, 8);
  model_add_pair(record, model_slot(8), model_slot(16));
  model_list_add(&record->locations, model_location(STACKPACK_DIRECT, 8, 7, 32));
  model_list_add(&record->deopt, model_location(STACKPACK_CONSTANT, 8, 0, -5));
  model_add_live_out(record, 3, 8);
  record->id = 77;
  record->calling_convention = 8;
  record->flags = 1;
  record = model_add_record(&model, 0x20);
  record->statepoint = false;
  model_list_add(&record->locations, model_location(STACKPACK_REGISTER, 4, 3, 0));
  model_add_record(&model, 0x20);
  model_add_function(&model, 0x2000, STACKPACK_FRAME_SIZE_UNKNOWN, 0x2040);
  model_add_record(&model, 0x30);
  model_finish(&model);
  const struct packed_model packed = packed_model_open(&model, &options);
  model_free(&model);
  return packed;
}

static struct stackpack_record find(const struct packed_model *packed, uint64_t address) {
  struct stackpack_record record;
  ck_assert_int_eq(stackpack_table_find(&packed->table, address, &record), STACKPACK_FOUND);
  return record;
}

TEST(error_texts) {
  for (unsigned i = 0; i <= STACKPACK_RANGE_TAKEN + 5; i++) {
    const char *text = stackpack_error_text((enum stackpack_error)i);
    ck_assert_ptr_nonnull(text);
    ck_assert_uint_gt(strlen(text), 0);
    ck_assert_int_ne(text[strlen(text) - 1], '.');
    for (unsigned k = 0; k < i && i <= STACKPACK_RANGE_TAKEN; k++)
      ck_assert_str_ne(text, stackpack_error_text((enum stackpack_error)k));
  }
}

TEST(counts) {
  struct packed_model packed = example();
  ck_assert_uint_eq(stackpack_table_records(&packed.table), 4);
  ck_assert(stackpack_table_check(&packed.table));
  packed_model_free(&packed);
}

TEST(fields_of_a_record) {
  struct packed_model packed = example();
  const struct stackpack_record record = find(&packed, 0x1010);
  ck_assert_uint_eq(record.address, 0x1010);
  ck_assert_uint_eq(stackpack_record_function(&record), 0x1000);
  ck_assert_uint_eq(record.frame_size, 24);
  ck_assert_int_eq(record.kind, STACKPACK_STATEPOINT);
  ck_assert_uint_eq(record.index, 0);
  ck_assert_uint_eq(find(&packed, 0x2030).frame_size, STACKPACK_FRAME_SIZE_UNKNOWN);
  packed_model_free(&packed);
}

TEST(a_record_is_written_only_if_found) {
  struct packed_model packed = example();
  struct stackpack_record record, before;
  memset(&record, 0x5a, sizeof record);
  before = record;
  ck_assert_int_eq(stackpack_table_find(&packed.table, 0x1011, &record), STACKPACK_NOT_SAFEPOINT);
  ck_assert_int_eq(stackpack_table_find(&packed.table, 0x1800, &record), STACKPACK_NOT_MANAGED);
  ck_assert_int_eq(stackpack_table_record(&packed.table, 4, &record), STACKPACK_CORRUPT);
  ck_assert_int_eq(stackpack_table_record(&packed.table, UINT32_MAX, &record), STACKPACK_CORRUPT);
  ck_assert_int_eq(memcmp(&record, &before, sizeof record), 0);
  packed_model_free(&packed);
}

TEST(records_by_number) {
  struct packed_model packed = example();
  static const uint64_t addresses[] = {0x1010, 0x1020, 0x1020, 0x2030};
  for (uint32_t i = 0; i < 4; i++) {
    struct stackpack_record record;
    ck_assert_int_eq(stackpack_table_record(&packed.table, i, &record), STACKPACK_FOUND);
    ck_assert_uint_eq(record.address, addresses[i]);
    ck_assert_uint_eq(record.index, i);
  }
  packed_model_free(&packed);
}

TEST(the_next_record_at_an_address) {
  struct packed_model packed = example();
  struct stackpack_record record = find(&packed, 0x1010), before = record;
  ck_assert(!stackpack_record_next(&record));
  ck_assert_int_eq(memcmp(&record, &before, sizeof record), 0);
  record = find(&packed, 0x1020);
  ck_assert_uint_eq(record.index, 1);
  const enum stackpack_kind first = record.kind;
  ck_assert(stackpack_record_next(&record));
  ck_assert_uint_eq(record.index, 2);
  ck_assert_uint_eq(record.address, 0x1020);
  ck_assert_int_ne(record.kind, first);
  ck_assert(!stackpack_record_next(&record));
  record = find(&packed, 0x2030);
  ck_assert(!stackpack_record_next(&record));
  packed_model_free(&packed);
}

static unsigned count_pairs(struct stackpack_pairs pairs) {
  struct stackpack_location base, derived;
  unsigned count = 0;
  while (stackpack_pairs_next(&pairs, &base, &derived))
    count++;
  ck_assert(!pairs.is_corrupt);
  ck_assert(!stackpack_pairs_next(&pairs, &base, &derived));
  return count;
}

static unsigned count_locations(struct stackpack_locations locations) {
  struct stackpack_location location;
  unsigned count = 0;
  while (stackpack_locations_next(&locations, &location))
    count++;
  ck_assert(!stackpack_locations_next(&locations, &location));
  return count;
}

TEST(lists_of_each_kind_of_record) {
  struct packed_model packed = example();
  struct stackpack_record record = find(&packed, 0x1010);
  ck_assert_uint_eq(count_pairs(stackpack_pairs(&record)), 2);
  ck_assert_uint_eq(count_locations(stackpack_locations(&record)), 1);
  record = find(&packed, 0x1020);
  for (unsigned i = 0; i < 2; i++) {
    const bool plain = record.kind == STACKPACK_STACKMAP;
    ck_assert_uint_eq(count_pairs(stackpack_pairs(&record)), 0);
    ck_assert_uint_eq(count_locations(stackpack_locations(&record)), plain);
    ck_assert(stackpack_record_next(&record) == (i == 0));
  }
  packed_model_free(&packed);
}

/* Structures may be copied, and a copy goes its own way. */
TEST(copies) {
  struct packed_model packed = example();
  struct stackpack_record record = find(&packed, 0x1010), copy = record;
  memset(&record, 0, sizeof record);
  struct stackpack_pairs pairs = stackpack_pairs(&copy);
  struct stackpack_location base, derived;
  ck_assert(stackpack_pairs_next(&pairs, &base, &derived));
  ck_assert_uint_eq(count_pairs(pairs), 1);
  ck_assert_uint_eq(count_pairs(pairs), 1);
  ck_assert(stackpack_pairs_next(&pairs, &base, &derived));
  ck_assert(!stackpack_pairs_next(&pairs, &base, &derived));
  const struct stackpack_locations allocas = stackpack_locations(&copy);
  ck_assert_uint_eq(count_locations(allocas), 1);
  ck_assert_uint_eq(count_locations(allocas), 1);
  packed_model_free(&packed);
}

TEST(details) {
  struct packed_model packed = example();
  void *space = test_allocate(stackpack_details_space(&packed.table));
  struct stackpack_details details;
  struct stackpack_record record = find(&packed, 0x1010);
  ck_assert(stackpack_record_details(&record, space, ZSTD_decompress, &details));
  ck_assert_uint_eq(details.id, 77);
  ck_assert_int_eq(details.calling_convention, 8);
  ck_assert_int_eq(details.flags, 1);
  ck_assert_uint_eq(details.deopt_count, 1);
  ck_assert_int_eq(details.deopt[0].kind, STACKPACK_CONSTANT);
  ck_assert_int_eq(details.deopt[0].value, -5);
  ck_assert_uint_eq(details.live_out_count, 1);
  ck_assert_uint_eq(details.live_outs[0].reg, 3);
  ck_assert_uint_eq(details.live_outs[0].size, 8);
  record = find(&packed, 0x2030);
  ck_assert(stackpack_record_details(&record, space, ZSTD_decompress, &details));
  ck_assert_uint_eq(details.id, MODEL_DEFAULT_ID);
  ck_assert_int_eq(details.calling_convention, 0);
  ck_assert_uint_eq(details.deopt_count, 0);
  free(space);
  packed_model_free(&packed);
}

TEST(errno_is_left_alone) {
  struct packed_model packed = example();
  struct stackpack_table table;
  errno = ENOTTY;
  struct stackpack_record record = find(&packed, 0x1010);
  count_pairs(stackpack_pairs(&record));
  count_locations(stackpack_locations(&record));
  stackpack_table_find(&packed.table, 0x1800, &record);
  stackpack_table_open(&table, packed.bytes, 10, 0);
  stackpack_table_check(&packed.table);
  ck_assert_int_eq(errno, ENOTTY);
  packed_model_free(&packed);
}

/* The same bytes answer at any address. */
TEST(opened_at_any_address) {
  static const uint64_t addresses[] = {0, 8, 0x200000, 0x7fffffffff00, UINT64_MAX - 7};
  struct packed_model packed = example();
  for (unsigned i = 0; i < 5; i++) {
    struct stackpack_table table;
    struct stackpack_record record;
    const uint64_t bias = addresses[i] - options.section_address;
    ck_assert_int_eq(stackpack_table_open(&table, packed.bytes, packed.size, addresses[i]),
                     STACKPACK_OK);
    ck_assert_int_eq(stackpack_table_find(&table, 0x1010 + bias, &record), STACKPACK_FOUND);
    ck_assert_uint_eq(stackpack_record_function(&record), 0x1000 + bias);
    ck_assert_int_eq(stackpack_table_find(&table, 0x1011 + bias, &record), STACKPACK_NOT_SAFEPOINT);
    ck_assert_int_eq(stackpack_table_find(&table, 0xfff + bias, &record), STACKPACK_NOT_MANAGED);
  }
  packed_model_free(&packed);
}

/* A damaged live set ends early, and says so. */
TEST(damage_is_told) {
  struct model model = {0};
  struct numbers numbers = {1};
  unsigned told = 0;
  generate(&model, 4, 100);
  model_finish(&model);
  struct packed_model packed = packed_model_open(&model, &options);
  for (unsigned round = 0; round < 300; round++) {
    const size_t place = numbers_between(&numbers, bits_load16(packed.bytes + 6), packed.size - 1);
    const uint8_t before = packed.bytes[place];
    packed.bytes[place] = (uint8_t)numbers_next(&numbers);
    for (uint32_t i = 0; i < stackpack_table_records(&packed.table); i++) {
      struct stackpack_record record;
      struct stackpack_location base, derived;
      if (stackpack_table_record(&packed.table, i, &record) != STACKPACK_FOUND)
        continue;
      struct stackpack_pairs pairs = stackpack_pairs(&record);
      while (stackpack_pairs_next(&pairs, &base, &derived))
        ;
      told += pairs.is_corrupt;
    }
    packed.bytes[place] = before;
  }
  ck_assert_uint_gt(told, 0);
  packed_model_free(&packed);
  model_free(&model);
}

TEST(records_from_an_address) {
  struct packed_model packed = example();
  struct stackpack_record record;
  const struct {
    uint64_t address, found;
    uint32_t index;
  } expected[] = {{0, 0x1010, 0},      {0x1010, 0x1010, 0}, {0x1011, 0x1020, 1},
                  {0x1020, 0x1020, 1}, {0x1021, 0x2030, 3}, {0x2030, 0x2030, 3}};
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
    ck_assert_int_eq(stackpack_table_from(&packed.table, expected[i].address, &record),
                     STACKPACK_FOUND);
    ck_assert_uint_eq(record.address, expected[i].found);
    ck_assert_uint_eq(record.index, expected[i].index);
  }
  ck_assert_int_eq(stackpack_table_from(&packed.table, 0x2031, &record), STACKPACK_NOT_MANAGED);
  ck_assert_int_eq(stackpack_table_from(&packed.table, UINT64_MAX, &record), STACKPACK_NOT_MANAGED);
  packed_model_free(&packed);
}
