/* packed_broken.c - tests that hostile bytes are survived: a table that is cut, changed, or whose
 * header lies is refused, or answers with all reads inside its bytes. (Sanitizers see those:
 * each table is in a block of exactly its size.)
 */
#include "format/packed_write.h"
#include "generator.h"
#include "model_check.h"
#include "numbers.h"
#include "suite.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

static const struct model_options stored = {.section_address = 0x200000, .open_address = 0x200000};
static const struct model_options compressed = {
    .section_address = 0x200000, .open_address = 0x200000, .compressed = true};

static struct packed_model generated(uint64_t seed, uint32_t records) {
  struct model model = {0};
  generate(&model, seed, records);
  model_finish(&model);
  const struct packed_model packed =
      packed_model_open(&model, seed % 2 == 0 ? &compressed : &stored);
  model_free(&model);
  return packed;
}

static uint16_t header_size_of(const struct packed_model *packed) {
  return bits_load16(packed->bytes + offsetof(struct packed_header, header_size));
}

static void count_visit(void *context, struct stackpack_location base,
                        struct stackpack_location derived) {
  (void)base;
  (void)derived;
  ++*(size_t *)context;
}

/* Asks a table for all that it has to say of a record. The number of its answer. */
static size_t read_record(const struct stackpack_record *record, void *space) {
  size_t count = 0;
  struct stackpack_location base, derived;
  struct stackpack_pairs pairs = stackpack_pairs(record);
  while (stackpack_pairs_next(&pairs, &base, &derived))
    count++;
  size_t visited = 0;
  stackpack_record_visit(record, count_visit, &visited);
  ck_assert_uint_eq(visited, count);
  struct stackpack_locations list = stackpack_locations(record);
  while (stackpack_locations_next(&list, &base))
    count++;
  struct stackpack_details details;
  if (!stackpack_record_details(record, space, ZSTD_decompress, &details))
    return count;
  for (size_t i = 0; i < details.deopt_count; i++)
    count += details.deopt[i].kind > 0;
  for (size_t i = 0; i < details.live_out_count; i++)
    count += details.live_outs[i].size > 0;
  return count;
}

/* Asks for every record by number, up to some, and for addresses in and around the text. */
static void read_table(const struct stackpack_table *table) {
  enum { MOST = 200 };
  struct stackpack_record record;
  const size_t space_size = stackpack_details_space(table);
  void *space = malloc(space_size + 1);
  struct numbers numbers = {1};
  uint64_t address = 0x200000;
  if (space == NULL)
    return;
  for (size_t i = 0; i < stackpack_table_records(table) && i < MOST; i++) {
    if (stackpack_table_record(table, (uint32_t)i, &record) != STACKPACK_FOUND)
      continue;
    address = record.address;
    read_record(&record, space);
    for (unsigned k = 0; k < 10 && stackpack_record_next(&record); k++)
      address = record.address;
  }
  for (unsigned i = 0; i < MOST; i++) {
    const uint64_t near = address - 100 + 8 * i;
    const uint64_t anywhere = address + numbers_of_bits(&numbers, 64);
    if (stackpack_table_find(table, i % 2 == 0 ? near : anywhere, &record) == STACKPACK_FOUND)
      read_record(&record, space);
  }
  free(space);
}

/* Opens a copy of the packed bytes that somebody has changed, and reads it if it can be opened. */
static enum stackpack_error open_and_read(const uint8_t *bytes, size_t size) {
  struct stackpack_table table;
  uint8_t *exact = bytes_exact(bytes, size);
  const enum stackpack_error error = stackpack_table_open(&table, exact, size, 0x200000);
  if (error == STACKPACK_OK)
    read_table(&table);
  free(exact);
  return error;
}

/* Reads a table whose body has been damaged: it may be refused, for this reason alone. */
static void read_damaged(const struct packed_model *packed) {
  const enum stackpack_error error = open_and_read(packed->bytes, packed->size);
  ck_assert(error == STACKPACK_OK || error == STACKPACK_BAD_TABLE);
}

TEST(cut_anywhere) {
  struct packed_model packed = generated(1, 20);
  for (size_t size = 0; size < packed.size; size++)
    ck_assert_int_eq(open_and_read(packed.bytes, size), STACKPACK_BAD_TABLE);
  ck_assert_int_eq(open_and_read(packed.bytes, packed.size), STACKPACK_OK);
  packed_model_free(&packed);
}

/* A section may be longer than its table. */
TEST(bytes_after_the_table) {
  struct packed_model packed = generated(1, 20);
  struct bytes longer = {0};
  struct stackpack_table table;
  bytes_add(&longer, packed.bytes, packed.size);
  bytes_zeros(&longer, 1000);
  ck_assert_int_eq(stackpack_table_open(&table, longer.data, longer.size, 0), STACKPACK_OK);
  ck_assert(stackpack_table_check(&table));
  bytes_free(&longer);
  packed_model_free(&packed);
}

TEST(any_bit_of_the_header) {
  struct packed_model packed = generated(2, 20);
  const size_t header_size = header_size_of(&packed);
  for (size_t bit = 0; bit < 8 * header_size; bit++) {
    packed.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    ck_assert_msg(open_and_read(packed.bytes, packed.size) != STACKPACK_OK, "bit %zu", bit);
    packed.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
  }
  packed_model_free(&packed);
}

/* The header leaves the bytes after it open, but the table's checksum covers them. */
TEST(bits_after_the_header) {
  enum { BITS = 400 };
  struct packed_model packed = generated(3, 20);
  struct numbers numbers = {3};
  for (unsigned i = 0; i < BITS; i++) {
    const uint64_t body = header_size_of(&packed);
    const uint64_t bit = numbers_between(&numbers, 8 * body, 8 * packed.size - 1);
    packed.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    ck_assert(!stackpack_table_check(&packed.table));
    read_damaged(&packed);
    packed.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
  }
  ck_assert(stackpack_table_check(&packed.table));
  packed_model_free(&packed);
}

TEST(many_changed_bytes) {
  struct numbers numbers = {4};
  for (uint64_t seed = 1; seed <= 60; seed++) {
    struct packed_model packed = generated(seed, 100);
    const size_t header_size = header_size_of(&packed);
    const size_t body = packed.size - header_size;
    for (unsigned round = 0; round < 20; round++) {
      for (unsigned i = (unsigned)numbers_between(&numbers, 1, 20); i > 0; i--)
        packed.bytes[header_size + numbers_below(&numbers, body)] = (uint8_t)numbers_next(&numbers);
      read_damaged(&packed);
    }
    packed_model_free(&packed);
  }
}

TEST(a_body_of_equal_bytes) {
  static const uint8_t values[] = {0, 1, 0x55, 0x80, 0xaa, 0xff};
  for (uint64_t seed = 1; seed <= 30; seed++) {
    struct packed_model packed = generated(seed, 100);
    for (unsigned i = 0; i < sizeof values; i++) {
      const size_t header_size = header_size_of(&packed);
      memset(packed.bytes + header_size, values[i], packed.size - header_size);
      read_damaged(&packed);
    }
    packed_model_free(&packed);
  }
}

/* ---- Headers with a right checksum ---------------------------------------------------------- */

/* Opens the table with its header changed in memory, and the checksum made right. */
static enum stackpack_error open_with(const struct packed_model *packed, const uint8_t *header,
                                      size_t header_size) {
  uint8_t *bytes = bytes_exact(packed->bytes, packed->size);
  memcpy(bytes, header, header_size);
  const uint32_t checksum = packed_header_checksum(bytes, header_size);
  memcpy(bytes + offsetof(struct packed_header, header_checksum), &checksum, sizeof checksum);
  const enum stackpack_error error = open_and_read(bytes, packed->size);
  free(bytes);
  return error;
}

enum { HEADER_MAX = PACKED_HEADER_SIZE + PACKED_PARTS * PACKED_ENTRY_SIZE };

TEST(other_magic_numbers_and_versions) {
  struct packed_model packed = generated(5, 20);
  const uint16_t size = header_size_of(&packed);
  uint8_t header[HEADER_MAX];
  memcpy(header, packed.bytes, size);
  ck_assert_int_eq(open_with(&packed, header, size), STACKPACK_OK);
  header[0]++;
  ck_assert_int_eq(open_with(&packed, header, size), STACKPACK_BAD_TABLE);
  header[0]--;
  header[4]++;
  ck_assert_int_eq(open_with(&packed, header, size), STACKPACK_UNSUPPORTED);
  packed_model_free(&packed);
}

/* An unknown mandatory part is refused; another one is passed over. */
TEST(unknown_parts) {
  struct packed_model packed = generated(5, 20);
  const uint16_t size = header_size_of(&packed);
  uint8_t header[HEADER_MAX];
  for (uint32_t number = 0; number < 100; number++) {
    uint32_t last;
    uint8_t *entry = header + size - PACKED_ENTRY_SIZE;
    memcpy(header, packed.bytes, size);
    memcpy(&last, entry, sizeof last);
    memcpy(entry, &number, sizeof number);
    const enum stackpack_error error = open_with(&packed, header, size);
    if (number >= PACKED_PARTS_KNOWN && number < PACKED_PARTS_OPTIONAL)
      ck_assert_int_eq(error, STACKPACK_UNSUPPORTED);
    else if (number == last)
      ck_assert_int_eq(error, STACKPACK_OK);
  }
  packed_model_free(&packed);
}

/* Any word of the header may hold anything: one at a time, and several. */
static void change_header(struct numbers *numbers, uint8_t *bytes, size_t header_size) {
  static const uint64_t words[] = {0,          1,          UINT8_MAX,           UINT16_MAX,
                                   INT32_MAX,  UINT32_MAX, (uint64_t)1 << 49,   (uint64_t)1 << 63,
                                   UINT64_MAX, 64,         (uint64_t)INT64_MAX, 31};
  static const size_t sizes[] = {1, 2, 4, 8};
  const size_t size = sizes[numbers_below(numbers, 4)];
  const size_t place = numbers_below(numbers, header_size / size) * size;
  uint64_t word = numbers_chance(numbers, 50) ? words[numbers_below(numbers, 12)]
                                              : numbers_of_bits(numbers, 64);
  if (numbers_chance(numbers, 40)) {
    memcpy(&word, bytes + place, size);
    word += numbers_between(numbers, 0, 4) - 2;
  }
  memcpy(bytes + place, &word, size);
}

TEST(headers_that_lie) {
  struct numbers numbers = {6};
  unsigned opened = 0;
  for (uint64_t seed = 1; seed <= 40; seed++) {
    struct packed_model packed = generated(seed, 60);
    const uint16_t size = header_size_of(&packed);
    for (unsigned round = 0; round < 80; round++) {
      uint8_t header[HEADER_MAX];
      memcpy(header, packed.bytes, size);
      for (uint64_t i = numbers_between(&numbers, 1, 3); i > 0; i--)
        change_header(&numbers, header, size);
      memcpy(header, packed.bytes, 8); /* magic number, version, size */
      opened += open_with(&packed, header, size) == STACKPACK_OK;
    }
    packed_model_free(&packed);
  }
  ck_assert_uint_gt(opened, 0);
}

TEST(random_bytes) {
  struct numbers numbers = {7};
  uint8_t bytes[512];
  for (unsigned round = 0; round < 1000; round++) {
    for (unsigned i = 0; i < sizeof bytes; i++)
      bytes[i] = (uint8_t)numbers_next(&numbers);
    ck_assert_int_eq(open_and_read(bytes, sizeof bytes), STACKPACK_BAD_TABLE);
  }
}
