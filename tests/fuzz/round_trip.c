/* round_trip.c - attacks the encoder: the packed content must equal the content read, for each
 * input. */
#include "fuzz.h"

#include "tool/check/answers.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

/* Gives some functions an end, as unwind tables do. Ends depend on the addresses only, so that an
 * input always means the same. */
static void invent_ends(struct safepoints *table) {
  struct code_range *ranges = calloc((size_t)table->function_count + 1, sizeof *ranges);
  size_t count = 0;
  if (ranges == NULL)
    abort();
  for (uint32_t i = 0; i < table->function_count; i++) {
    const uint64_t start = table->functions[i].address;
    uint64_t seed = start;
    const uint64_t length = (uint64_t)1 << random_below(&seed, 40);
    if (random_below(&seed, 4) != 0 && start + length > start)
      ranges[count++] = (struct code_range){start, start + length};
  }
  safepoints_set_ends(table, ranges, count);
  free(ranges);
}

/* Opens a packed table in a block of just its size. */
static uint8_t *open_exact(uint8_t *bytes, size_t size, uint64_t address,
                           struct packed_table *packed) {
  uint8_t *block = exact_block(bytes, size, size);
  free(bytes);
  if (packed_open(packed, block, size, address) != STACKPACK_OK)
    finding("a table that was written can be opened", NULL);
  if (!packed_check(packed))
    finding("a table that was written has the right checksum", NULL);
  return block;
}

static void expect_no_differences(const struct differences *differences, const char *promise) {
  if (differences->count > 0)
    finding(promise, differences->first);
}

/* Equal tables give equal bytes: so an unpacked table must pack to the same. */
static void check_again(const struct safepoints *table, uint64_t address, packed_compress *compress,
                        const uint8_t *expected, size_t expected_size) {
  uint8_t *bytes;
  size_t size;
  const char *error = packed_write(table, address, compress, &bytes, &size);
  if (error != NULL)
    finding("a table that was unpacked can be packed", error);
  if (size != expected_size || memcmp(bytes, expected, size) != 0)
    finding("packing what was unpacked gives the same bytes", NULL);
  free(bytes);
}

static void check_packing(const struct safepoints *table, uint64_t address,
                          packed_compress *compress) {
  struct packed_table packed;
  struct safepoints unpacked = {0};
  struct differences differences = {0};
  uint8_t *bytes;
  size_t size;
  const char *error = packed_write(table, address, compress, &bytes, &size);
  if (error != NULL)
    finding("a table can be packed", error);
  bytes = open_exact(bytes, size, address, &packed);
  if (!packed_unpack(&packed, ZSTD_decompress, &unpacked))
    finding("a table that was written can be unpacked", unpacked.error);
  compare_tables(table, &unpacked, &differences);
  expect_no_differences(&differences, "unpacking gives what was packed");
  answers_all(table, &packed, NULL, 0, &differences);
  expect_no_differences(&differences, "look-ups say what was packed");
  check_again(&unpacked, address, compress, bytes, size);
  safepoints_free(&unpacked);
  free(bytes);
}

bool check_round_trip(const uint8_t *bytes, size_t size, enum statepoint_rule rule) {
  struct safepoints table = {0};
  const bool ok =
      safepoints_add_v3(&table, bytes, size, &(struct statepoint_signs){.rule = rule}) &&
      safepoints_finish(&table);
  if (ok) {
    invent_ends(&table);
    check_packing(&table, 0x400000, rule == STATEPOINTS_AUTO ? compress_block : NULL);
  } else if (table.error == NULL && !table.no_memory) {
    finding("a failure says what is wrong", NULL);
  } else if (table.error != NULL && table.error_position > size) {
    finding("the position of an error is inside the section", NULL);
  }
  safepoints_free(&table);
  return ok;
}
