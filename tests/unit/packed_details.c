/* packed_details.c - tests the details of records (packed_details.h): each column by itself and all
 * together, stored and compressed, across blocks, and with a decompressor that is wrong.
 */
#include "format/packed_details.h"
#include "format/packed_write.h"
#include "model_check.h"
#include "numbers.h"
#include "suite.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum { BLOCK = 4096 }; /* how many records a block is likely to have: tests go around it */

static const struct model_options stored = {.section_address = 0x200000, .open_address = 0x200000};
static const struct model_options compressed = {
    .section_address = 0x200000, .open_address = 0x300000, .compressed = true};

/* Gives record number n some details. */
typedef void detailer(struct model_record *record, uint32_t n);

static void build(struct model *model, uint32_t records, detailer *add_details) {
  for (uint32_t i = 0; i < records; i++) {
    if (i % 10 == 0)
      model_add_function(model, 0x1000 + 0x100 * (uint64_t)i, 24, 0);
    struct model_record *record = model_add_record(model, 0x10 + 4 * (i % 10));
    model_add_self(record, (int32_t)(i % 4 * 8));
    add_details(record, i);
  }
  model_finish(model);
}

static void check_model(const struct model *model, const struct model_options *options) {
  struct packed_model packed = packed_model_open(model, options);
  model_check_table(model, &packed.table, options);
  packed_model_free(&packed);
}

/* Every record, or of a large table each seventh (with few samples, each 35th): to get at one, its block
 * is decoded up to it. (The last record of a block, 4095, is among these.) */
static void check(uint32_t records, detailer *add_details) {
  struct model model = {0};
  struct model_options options[] = {stored, compressed};
  build(&model, records, add_details);
  for (unsigned i = 0; i < 2; i++) {
    options[i].details_every = records < BLOCK / 2 ? 1 : numbers_few_samples() ? 35 : 7;
    check_model(&model, &options[i]);
  }
  model_free(&model);
}

static void add_none(struct model_record *record, uint32_t n) {
  (void)record;
  (void)n;
}

static void add_id(struct model_record *record, uint32_t n) {
  static const uint64_t ids[] = {0, 1, UINT64_MAX, (uint64_t)1 << 63, INT64_MAX, MODEL_DEFAULT_ID};
  record->id = n % 3 == 0 ? ids[n / 3 % 6] : n;
}

static void add_convention(struct model_record *record, uint32_t n) {
  record->calling_convention = n % 7 == 0 ? 1023 : (int32_t)(n % 2);
}

static void add_flags(struct model_record *record, uint32_t n) { record->flags = (int32_t)(n % 4); }

static void add_deopt(struct model_record *record, uint32_t n) {
  static const int64_t values[] = {0, -1, INT32_MIN, INT32_MAX, 64};
  for (uint32_t i = 0; i < n % 30; i++) {
    const int64_t value = values[(n + i) % 5];
    model_list_add(&record->deopt,
                   i % 4 == 3
                       ? model_constant((uint64_t)value << 31)
                       : model_location((uint8_t)(STACKPACK_REGISTER + (n + i) % 3),
                                        (uint16_t)(n * i), (uint16_t)(UINT16_MAX - i), value));
  }
}

static void add_live_outs(struct model_record *record, uint32_t n) {
  for (uint32_t i = 0; i < n % 5; i++)
    model_add_live_out(record, (uint16_t)(UINT16_MAX - n * i), (uint8_t)(UINT8_MAX - i));
}

static void add_all(struct model_record *record, uint32_t n) {
  add_id(record, n);
  add_convention(record, n);
  add_flags(record, n);
  add_deopt(record, n);
  add_live_outs(record, n);
}

/* Every third record is no statepoint: it lacks convention, flags and deopt state. */
static void add_plain(struct model_record *record, uint32_t n) {
  if (n % 3 != 0) {
    record->calling_convention = 9;
    record->flags = 2;
  } else {
    record->statepoint = false;
    record->pairs.count = 0;
    model_list_add(&record->locations, model_slot(8));
  }
}

/* ---- Columns -------------------------------------------------------------------------------- */

TEST(ids) { check(100, add_id); }

TEST(conventions) { check(100, add_convention); }

TEST(flags) { check(100, add_flags); }

TEST(deopt_states) { check(100, add_deopt); }

TEST(live_outs) { check(100, add_live_outs); }

TEST(all_columns) { check(100, add_all); }

/* Two conventions in runs: short and long ones, over and at the ends of 1024 records. */
static void add_runs(struct model_record *record, uint32_t n) {
  const uint32_t long_ones = (n + 512) / 1024 % 3, short_ones = n / 5 % 2;
  record->calling_convention = long_ones == 0 ? 0 : long_ones == 1 ? 8 : 8 * (int32_t)short_ones;
}

static void add_one_of_many(struct model_record *record, uint32_t n) {
  record->calling_convention = n == 1024 ? 8 : 0;
}

TEST(runs_of_conventions) {
  static const uint32_t counts[] = {1, 2, 1023, 1024, 1025, 2048, 3 * 1024 + 600};
  for (unsigned i = 0; i < sizeof counts / sizeof *counts; i++) {
    check(counts[i], add_runs);
    check(counts[i], add_one_of_many);
  }
}

TEST(conventions_of_statepoints_only) { check(100, add_plain); }

TEST(blocks) {
  static const uint32_t counts[] = {1, 2, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 3 * BLOCK + 7};
  for (unsigned i = 0; i < sizeof counts / sizeof *counts; i++)
    check(counts[i], add_all);
}

/* Only one record of many differs. */
static void add_last_only(struct model_record *record, uint32_t n) {
  if (n == 2 * BLOCK + 5)
    add_all(record, n);
}

TEST(one_record_differs) { check(2 * BLOCK + 10, add_last_only); }

/* ---- Nothing to keep ------------------------------------------------------------------------ */

/* Values shared by all records take no space, and no decompressor. */
static void check_shared(detailer *add_details) {
  struct model model = {0};
  build(&model, 50, add_details);
  struct packed_model packed = packed_model_open(&model, &compressed);
  struct stackpack_record record;
  struct stackpack_details details;
  ck_assert_uint_eq(stackpack_details_space(&packed.table), 0);
  for (uint32_t i = 0; i < 50; i++) {
    ck_assert_int_eq(stackpack_table_record(&packed.table, i, &record), STACKPACK_FOUND);
    ck_assert(stackpack_record_details(&record, NULL, NULL, &details));
    ck_assert_uint_eq(details.id, model.sorted_records[i]->id);
    ck_assert_int_eq(details.calling_convention, model.sorted_records[i]->calling_convention);
    ck_assert_int_eq(details.flags, model.sorted_records[i]->flags);
    ck_assert_uint_eq(details.deopt_count, 0);
    ck_assert_uint_eq(details.live_out_count, 0);
  }
  packed_model_free(&packed);
  model_free(&model);
}

static void add_same(struct model_record *record, uint32_t n) {
  (void)n;
  record->id = UINT64_MAX;
  record->calling_convention = 1023;
  record->flags = 3;
}

TEST(what_all_records_share) {
  check_shared(add_none);
  check_shared(add_same);
  check_shared(add_plain);
}

/* ---- Sizes ---------------------------------------------------------------------------------- */

static void add_large(struct model_record *record, uint32_t n) {
  struct numbers numbers = {n};
  for (uint32_t i = 0; n == 3 && i < 65530; i++)
    model_list_add(&record->deopt,
                   model_location(STACKPACK_INDIRECT, (uint16_t)numbers_next(&numbers),
                                  (uint16_t)numbers_next(&numbers),
                                  (int32_t)numbers_next(&numbers)));
  for (uint32_t i = 0; n == 4 && i < UINT16_MAX; i++)
    model_add_live_out(record, (uint16_t)numbers_next(&numbers), (uint8_t)i);
}

TEST(the_largest_deopt_state_and_live_outs) { check(6, add_large); }

/* Values at the same index count up, also after the ones that the format remembers. */
static void add_counting(struct model_record *record, uint32_t n) {
  for (uint32_t i = 0; i < 40; i++)
    model_list_add(&record->deopt,
                   model_location(STACKPACK_CONSTANT, 8, 0, (int32_t)(n * (i + 1))));
}

TEST(counting_values) { check(BLOCK + 100, add_counting); }

/* Deopt states of 2000 locations, in which neighbours are far apart: more than 10 bytes each. */
static void add_many(struct model_record *record, uint32_t n) {
  struct numbers numbers = {n};
  for (uint32_t i = 0; i < 2000; i++)
    model_list_add(&record->deopt,
                   model_location(STACKPACK_INDIRECT, 8, 7,
                                  (int32_t)(numbers_below(&numbers, 64) * 0x3ffffff)));
}

/* A block of 1024 such records would be larger than a block may be. */
TEST(large_blocks) {
  const struct model_options options = {.details_every = 97};
  struct model model = {0};
  build(&model, BLOCK + 100, add_many);
  check_model(&model, &options);
  model_free(&model);
}

TEST(constants_of_64_bits) {
  static const uint64_t values[] = {UINT64_MAX, (uint64_t)1 << 63, INT64_MAX, UINT32_MAX,
                                    (uint64_t)1 << 31};
  struct model model = {0};
  model_add_function(&model, 0x1000, 24, 0);
  for (uint32_t i = 0; i < 25; i++) {
    struct model_record *record = model_add_record(&model, i + 1);
    model_list_add(&record->deopt, model_constant(values[i % 5]));
    model_list_add(&record->deopt, model_constant(values[i / 5]));
  }
  model_finish(&model);
  check_model(&model, &stored);
  check_model(&model, &compressed);
  model_free(&model);
}

/* ---- Compressors ---------------------------------------------------------------------------- */

static size_t compress_never(void *destination, size_t capacity, const void *source, size_t size) {
  (void)destination;
  (void)capacity;
  (void)source;
  (void)size;
  return 0;
}

TEST(a_compressor_that_fails) {
  struct model model = {0};
  struct safepoints table = {0};
  uint8_t *bytes = NULL;
  size_t size;
  build(&model, 50, add_all);
  model_read(&model, &table);
  ck_assert_ptr_nonnull(packed_write(&table, 0, compress_never, &bytes, &size));
  ck_assert_ptr_null(bytes);
  safepoints_free(&table);
  model_free(&model);
}

/* A decompressor that says it wrote so many bytes, and writes as many of the right ones as fit. */
static size_t claimed_size;

static size_t decompress_as_claimed(void *destination, size_t capacity, const void *source,
                                    size_t size) {
  uint8_t *whole = test_allocate(capacity);
  const size_t right = ZSTD_decompress(whole, capacity, source, size);
  memset(destination, 0, capacity);
  if (!ZSTD_isError(right))
    memcpy(destination, whole, claimed_size < right ? claimed_size : right);
  free(whole);
  return claimed_size;
}

/* Whether all records' details can be read with a decompressor. */
static bool all_readable(const struct packed_model *packed, stackpack_decompress *decompress) {
  struct stackpack_record record;
  struct stackpack_details details;
  const size_t size = stackpack_details_space(&packed->table);
  void *space = test_allocate(size);
  bool readable = true;
  memset(space, 0, size);
  for (uint32_t i = 0; i < stackpack_table_records(&packed->table); i++) {
    ck_assert_int_eq(stackpack_table_record(&packed->table, i, &record), STACKPACK_FOUND);
    readable &= stackpack_record_details(&record, space, decompress, &details);
  }
  free(space);
  return readable;
}

TEST(wrong_results_of_a_decompressor) {
  struct model model = {0};
  build(&model, 30, add_all);
  struct packed_model packed = packed_model_open(&model, &compressed);
  const size_t largest = stackpack_details_space(&packed.table);
  ck_assert(all_readable(&packed, ZSTD_decompress));
  ck_assert(!all_readable(&packed, NULL));
  for (claimed_size = 0; claimed_size < 1000; claimed_size++)
    ck_assert(!all_readable(&packed, decompress_as_claimed));
  for (claimed_size = largest + 1; claimed_size < largest + 10; claimed_size++)
    ck_assert(!all_readable(&packed, decompress_as_claimed));
  claimed_size = SIZE_MAX;
  ck_assert(!all_readable(&packed, decompress_as_claimed));
  claimed_size = (size_t)-1 - 20;
  ck_assert(!all_readable(&packed, decompress_as_claimed));
  packed_model_free(&packed);
  model_free(&model);
}

/* Random bytes instead of a block: all reads must stay inside it. */
static struct numbers garbage = {77};

static size_t decompress_to_garbage(void *destination, size_t capacity, const void *source,
                                    size_t size) {
  const size_t right = ZSTD_decompress(destination, capacity, source, size);
  uint8_t *bytes = destination;
  for (unsigned i = 0; i < 5; i++)
    bytes[numbers_below(&garbage, right)] = (uint8_t)numbers_next(&garbage);
  return right;
}

TEST(garbage_from_a_decompressor) {
  struct model model = {0};
  unsigned unreadable = 0;
  build(&model, 30, add_all);
  struct packed_model packed = packed_model_open(&model, &compressed);
  for (unsigned i = 0; i < 300; i++)
    unreadable += !all_readable(&packed, decompress_to_garbage);
  ck_assert_uint_gt(unreadable, 0);
  packed_model_free(&packed);
  model_free(&model);
}

/* A stored table needs space for deopt states only, and no decompressor. */
TEST(stored_blocks_need_no_decompressor) {
  struct model model = {0};
  build(&model, 30, add_all);
  struct packed_model packed = packed_model_open(&model, &stored);
  ck_assert(all_readable(&packed, NULL));
  packed_model_free(&packed);
  model_free(&model);
}
