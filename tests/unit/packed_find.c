/* packed_find.c - tests look-ups in texts that are small enough to be asked for every address.
 *
 * The tables are packed from models of code: functions with many calls next to functions without
 * calls, gaps, functions that overlap, several records at one address. What is asked: packed_find
 * against the model, and the short cut against the long way, with the processor's own instructions
 * and without.
 */
#include "format/packed_write.h"
#include "model_check.h"
#include "numbers.h"
#include "runtime/internal.h"
#include "suite.h"

#include <inttypes.h>
#include <stdlib.h>

enum { TEXT = 0x100000, AROUND = 40 };

static const struct model_options options = {.section_address = 0x800000, .open_address = 0x800000};

/* How code is to be. Percentages are of functions. */
struct code {
  unsigned functions, records; /* of a function, at most */
  unsigned stride;             /* between records: 1 << (a number up to this), and multiples */
  unsigned alignment;          /* of functions and records, in bits */
  unsigned bare, gaps, overlaps, repeats; /* repeats: of records */
  unsigned clusters;                      /* percent: with 50 times as many records */
  unsigned alike;  /* percent: functions of one live set, whose layouts are shared */
  uint64_t spread; /* bytes of other code after each function, at most */
};

/* Adds the records of a function, and returns where the last one is. */
static uint64_t add_records(struct model *model, const struct code *code, struct numbers *numbers) {
  const bool is_large = numbers_chance(numbers, code->clusters);
  const bool is_alike = numbers_chance(numbers, code->alike);
  const uint64_t unit = (uint64_t)1 << code->alignment;
  const uint64_t stride = unit << numbers_below(numbers, (uint64_t)code->stride + 1);
  uint64_t offset = numbers_chance(numbers, 10) ? 0 : unit;
  uint64_t count = numbers_between(numbers, 1, code->records) * (is_large ? 50 : 1);
  for (; count > 0; count--) {
    struct model_record *record = model_add_record(model, (uint32_t)offset);
    for (int32_t slot = 0; slot < 6; slot++)
      if (is_alike || numbers_chance(numbers, 50))
        model_add_self(record, 8 * slot);
    if (!numbers_chance(numbers, code->repeats))
      offset += stride * numbers_between(numbers, 1, 2);
  }
  return offset;
}

static void add_code(struct model *model, const struct code *code, struct numbers *numbers) {
  const uint64_t unit = (uint64_t)1 << code->alignment;
  uint64_t address = TEXT;
  for (unsigned i = 0; i < code->functions; i++) {
    const uint32_t function = model->function_count;
    uint64_t size = unit * numbers_between(numbers, 1, 8);
    model_add_function(model, address, 8 + 16 * numbers_below(numbers, 4), 0);
    if (!numbers_chance(numbers, code->bare))
      size += add_records(model, code, numbers);
    size += unit - size % unit;
    if (!numbers_chance(numbers, 10))
      model->functions[function].end = address + size;
    if (numbers_chance(numbers, code->overlaps))
      size = unit * numbers_between(numbers, 1, 1 + size / unit);
    if (numbers_chance(numbers, code->gaps))
      size += unit * numbers_below(numbers, 200);
    if (code->spread > 0)
      size += unit * numbers_below(numbers, code->spread / unit);
    address += size;
  }
}

static uint64_t text_end(const struct model *model) {
  uint64_t end = TEXT;
  for (uint32_t i = 0; i < model->sorted_function_count; i++)
    end = model->reach[i] > end ? model->reach[i] : end;
  for (uint32_t i = 0; i < model->sorted_record_count; i++)
    end = model->sorted_records[i]->address > end ? model->sorted_records[i]->address : end;
  return end;
}

static void check_address(const struct model *model, const struct stackpack_table *table,
                          uint64_t address) {
  struct stackpack_record record;
  const enum stackpack_answer expected = model_answer(model, address);
  const enum stackpack_answer answer = stackpack_table_find(table, address, &record);
  if (answer != expected)
    ck_abort_msg("0x%" PRIx64 ": %d, not %d", address, answer, expected);
  if (answer == STACKPACK_FOUND &&
      (record.address != address || record.index != model_find(model, address)))
    ck_abort_msg("0x%" PRIx64 ": record %" PRIu32 ", not %" PRIu32, address, record.index,
                 model_find(model, address));
}

/* Every address of the text; of a sparse one, those around functions' starts and records. */
static void check_addresses(const struct model *model, const struct stackpack_table *table,
                            bool is_sparse) {
  enum { NEAR = 20 };
  const uint64_t end = is_sparse ? TEXT + AROUND : text_end(model) + AROUND;
  for (uint64_t address = TEXT - AROUND; address < end; address++)
    check_address(model, table, address);
  for (uint32_t i = 0; is_sparse && i < model->sorted_function_count; i++)
    for (uint64_t near = 0; near < 2 * NEAR; near++) {
      check_address(model, table, model->sorted_functions[i].address - NEAR + near);
      check_address(model, table, model->reach[i] - NEAR + near);
    }
  for (uint32_t i = 0; is_sparse && i < model->sorted_record_count; i++)
    for (uint64_t near = 0; near < 2 * NEAR; near++)
      check_address(model, table, model->sorted_records[i]->address - NEAR + near);
}

static void check_code(const struct code *code, uint64_t seed) {
  struct numbers numbers = {seed};
  struct model model = {.seed = seed};
  add_code(&model, code, &numbers);
  model_finish(&model);
  struct packed_model packed = packed_model_open(&model, &options);
  model_check_table(&model, &packed.table, &options);
  check_addresses(&model, &packed.table, code->spread > 0);
  packed_model_free(&packed);
  model_free(&model);
}

static const struct code usual = {
    .functions = 40, .records = 20, .stride = 4, .bare = 10, .gaps = 10, .alike = 20};

TEST(one_record) {
  for (unsigned alignment = 0; alignment < 13; alignment++) {
    struct code code = usual;
    code.functions = code.records = 1;
    code.bare = 0;
    code.alignment = alignment;
    check_code(&code, alignment);
  }
}

TEST(records_at_every_address) {
  struct code code = usual;
  code.stride = 0;
  for (uint64_t seed = 1; seed <= 10; seed++)
    check_code(&code, seed);
}

TEST(functions_of_one_record) {
  struct code code = usual;
  code.functions = 400;
  code.records = 1;
  for (uint64_t seed = 1; seed <= 5; seed++) {
    code.alike = seed % 2 * 100;
    check_code(&code, seed);
  }
}

/* Functions of up to 1000 calls between small ones: leaves of very different sizes. */
TEST(clusters) {
  struct code code = usual;
  code.clusters = 10;
  code.stride = 2;
  for (uint64_t seed = 1; seed <= 6; seed++)
    check_code(&code, seed);
}

TEST(functions_without_records) {
  struct code code = usual;
  code.functions = 150;
  for (unsigned bare = 30; bare <= 100; bare += 10) {
    code.bare = bare;
    check_code(&code, bare);
  }
}

TEST(functions_that_overlap) {
  struct code code = usual;
  for (uint64_t seed = 1; seed <= 8; seed++) {
    code.overlaps = seed * 10;
    check_code(&code, seed);
  }
}

TEST(records_at_one_address) {
  struct code code = usual;
  for (uint64_t seed = 1; seed <= 8; seed++) {
    code.repeats = seed * 12;
    code.clusters = 5;
    check_code(&code, seed);
  }
}

TEST(aligned_code) {
  for (unsigned alignment = 1; alignment <= 6; alignment++) {
    struct code code = usual;
    code.alignment = alignment;
    code.stride = 1;
    code.functions = 60 >> alignment / 2;
    check_code(&code, alignment);
  }
}

/* Kilobytes to gigabytes of other code between functions, of which some have hundreds of calls: long buckets. */
TEST(sparse_code) {
  for (unsigned bits = 10; bits <= 40; bits += 5) {
    struct code code = usual;
    code.spread = (uint64_t)1 << bits;
    code.functions = 60;
    code.clusters = 10;
    code.stride = bits % 4;
    code.repeats = bits % 3 * 10;
    code.alignment = bits % 2 * 2;
    check_code(&code, bits);
  }
}

/* A bucket is as large as a sparse text wants, and its count has two bytes. */
TEST(records_of_one_bucket) {
  enum { MOST = 15 + UINT16_MAX };
  for (uint32_t count = MOST; count <= MOST + 1; count++) {
    struct safepoints table = {.machine = EM_X86_64};
    uint8_t *bytes = NULL;
    uint64_t none;
    size_t size;
    intern_add(&table.lists, NULL, 0);
    const uint32_t live = safepoints_add_live(&table, &none, 0, 0);
    for (unsigned i = 0; i < 2; i++) {
      const uint64_t address = (uint64_t)TEXT << 16 * i;
      ck_assert(safepoints_add_function(&table, (struct safepoint_function){.address = address}));
      for (uint32_t k = 0; k < (i == 0 ? count : 1); k++)
        ck_assert(safepoints_add_record(
            &table, (struct safepoint){.address = address + k + 1, .function = i, .live = live}));
    }
    ck_assert(safepoints_finish(&table));
    const char *error = packed_write(&table, 0, NULL, &bytes, &size);
    ck_assert_msg((error == NULL) == (count == MOST), "%s", error);
    free(bytes);
    safepoints_free(&table);
  }
}
