/* stackmap_v3.c - tests format/stackmap_v3.h on maps that are put together by hand: every field and
 * location kind, the padding rules, several maps, and every error with its position.
 */
#include "format/stackmap_v3.h"
#include "suite.h"
#include "v3_writer.h"

#include <stdlib.h>
#include <string.h>

/* A section in memory of exactly its size, and a reader of it. */
struct section {
  uint8_t *bytes;
  struct stackmap_v3_reader reader;
};

static struct section section_of(const struct bytes *bytes, size_t size) {
  struct section section = {.bytes = bytes_exact(bytes->data, size)};
  section.reader = stackmap_v3_open(section.bytes, size);
  return section;
}

static struct section section_open(struct bytes *bytes) {
  const struct section section = section_of(bytes, bytes->size);
  bytes_free(bytes);
  return section;
}

static void section_close(struct section *section) { free(section->bytes); }

/* Reads all there is, every location included. True without an error. */
static bool read_all(struct stackmap_v3_reader *reader) {
  struct stackmap_v3_function function;
  struct stackmap_v3_record record;
  struct stackpack_location location;
  while (stackmap_v3_next_map(reader))
    while (stackmap_v3_next_function(reader, &function))
      for (uint64_t i = 0; i < function.records; i++) {
        if (!stackmap_v3_next_record(reader, &record))
          return false;
        for (unsigned n = 0; n < record.locations; n++)
          if (!stackmap_v3_location(reader, &record, n, &location))
            return false;
        for (unsigned n = 0; n < record.live_outs; n++)
          stackmap_v3_live_out(reader, &record, n);
      }
  return reader->error == NULL;
}

static void check_error(struct bytes *bytes, const char *part, size_t position) {
  struct section section = section_open(bytes);
  ck_assert(!read_all(&section.reader));
  ck_assert_ptr_nonnull(section.reader.error);
  ck_assert_msg(strstr(section.reader.error, part) != NULL, "%s", section.reader.error);
  ck_assert_uint_eq(section.reader.error_position, position);
  ck_assert(!stackmap_v3_next_map(&section.reader));
  section_close(&section);
}

static void check_readable(struct bytes *bytes, bool readable) {
  struct section section = section_open(bytes);
  ck_assert(read_all(&section.reader) == readable);
  section_close(&section);
}

/* The first record of the first function. */
static struct section section_at_record(struct bytes *bytes, struct stackmap_v3_record *record) {
  struct section section = section_open(bytes);
  struct stackmap_v3_function function;
  ck_assert(stackmap_v3_next_map(&section.reader));
  ck_assert(stackmap_v3_next_function(&section.reader, &function));
  ck_assert(stackmap_v3_next_record(&section.reader, record));
  return section;
}

/* The section ends here, and is valid. */
static void section_end(struct section *section) {
  ck_assert(!stackmap_v3_next_map(&section->reader));
  ck_assert_ptr_null(section->reader.error);
  section_close(section);
}

/* A map of one function with one record, whose locations and live-outs follow. */
static void begin_one(struct bytes *bytes, uint16_t locations) {
  v3_map(bytes, 1, 0, 1);
  v3_function(bytes, 0x1000, 24, 1);
  v3_record(bytes, 7, 0x10, locations);
}

static void end_one(struct bytes *bytes) {
  v3_live_outs(bytes, 0);
  v3_end_record(bytes);
}

/* The whole map, without locations. */
static void whole_one(struct bytes *bytes) {
  begin_one(bytes, 0);
  end_one(bytes);
}

/* ---- What is there -------------------------------------------------------------------------- */

TEST(an_empty_section) {
  struct section section = section_open(&(struct bytes){0});
  section_end(&section);
}

TEST(a_section_of_zeros) {
  for (size_t size = 1; size < 40; size++) {
    struct bytes bytes = {0};
    bytes_zeros(&bytes, size);
    check_readable(&bytes, true);
  }
}

TEST(a_map_without_functions) {
  struct bytes bytes = {0};
  v3_map(&bytes, 0, 2, 0);
  v3_constant(&bytes, 1);
  v3_constant(&bytes, 2);
  struct section section = section_open(&bytes);
  struct stackmap_v3_function function;
  ck_assert(stackmap_v3_next_map(&section.reader));
  ck_assert_uint_eq(section.reader.constants, 2);
  ck_assert(!stackmap_v3_next_function(&section.reader, &function));
  section_end(&section);
}

TEST(fields_of_functions_and_records) {
  struct bytes bytes = {0};
  v3_map(&bytes, 2, 0, 1);
  v3_function(&bytes, 0x123456789abcdef0, UINT64_MAX, 0);
  v3_function(&bytes, UINT64_MAX, 0, 1);
  v3_record(&bytes, 0xfedcba9876543210, UINT32_MAX, 0);
  end_one(&bytes);
  struct section section = section_open(&bytes);
  struct stackmap_v3_function function;
  struct stackmap_v3_record record;
  ck_assert(stackmap_v3_next_map(&section.reader));
  ck_assert(stackmap_v3_next_function(&section.reader, &function));
  ck_assert_uint_eq(function.address, 0x123456789abcdef0);
  ck_assert_uint_eq(function.frame_size, STACKMAP_V3_FRAME_SIZE_UNKNOWN);
  ck_assert_uint_eq(function.records, 0);
  ck_assert_uint_eq(function.position, 16);
  ck_assert(stackmap_v3_next_function(&section.reader, &function));
  ck_assert_uint_eq(function.address, UINT64_MAX);
  ck_assert_uint_eq(function.frame_size, 0);
  ck_assert_uint_eq(function.position, 40);
  ck_assert(stackmap_v3_next_record(&section.reader, &record));
  ck_assert_uint_eq(record.id, 0xfedcba9876543210);
  ck_assert_uint_eq(record.offset, UINT32_MAX);
  ck_assert(!stackmap_v3_next_function(&section.reader, &function));
  section_end(&section);
}

static void check_location(struct section *section, const struct stackmap_v3_record *record,
                           unsigned n, struct stackpack_location expected) {
  struct stackpack_location location;
  ck_assert(stackmap_v3_location(&section->reader, record, n, &location));
  ck_assert_uint_eq(location.kind, expected.kind);
  ck_assert_uint_eq(location.size, expected.size);
  ck_assert_uint_eq(location.reg, expected.reg);
  ck_assert_int_eq(location.value, expected.value);
}

TEST(every_location_kind) {
  static const struct stackpack_location expected[] = {
      {STACKPACK_REGISTER, 8, 3, 4},
      {STACKPACK_DIRECT, 0, UINT16_MAX, INT32_MIN},
      {STACKPACK_INDIRECT, UINT16_MAX, 7, INT32_MAX},
      {STACKPACK_CONSTANT, 8, 0, -1},
      {STACKPACK_CONSTANT, 8, 0, INT32_MIN},
      {STACKPACK_LARGE_CONSTANT, 8, 0, (int64_t)INT32_MAX + 1},
      {STACKPACK_LARGE_CONSTANT, 8, 0, -1},
      {STACKPACK_LARGE_CONSTANT, 4, 0, INT64_MIN},
  };
  struct bytes bytes = {0};
  v3_map(&bytes, 1, 3, 1);
  v3_function(&bytes, 0x1000, 24, 1);
  for (unsigned i = 5; i < 8; i++)
    v3_constant(&bytes, (uint64_t)expected[i].value);
  v3_record(&bytes, 7, 0x10, 8);
  for (unsigned i = 0; i < 3; i++)
    v3_location(&bytes, V3_REGISTER + i, expected[i].size, expected[i].reg,
                (int32_t)expected[i].value);
  v3_location(&bytes, V3_CONSTANT, 8, 99, -1);
  v3_location(&bytes, V3_CONSTANT, 8, 0, INT32_MIN);
  v3_location(&bytes, V3_CONSTANT_INDEX, 8, 99, 0);
  v3_location(&bytes, V3_CONSTANT_INDEX, 8, 0, 1);
  v3_location(&bytes, V3_CONSTANT_INDEX, 4, 0, 2);
  end_one(&bytes);
  struct stackmap_v3_record record;
  struct section section = section_at_record(&bytes, &record);
  ck_assert_uint_eq(record.locations, 8);
  for (unsigned i = 0; i < 8; i++)
    check_location(&section, &record, i, expected[i]);
  section_close(&section);
}

/* LLVM writes these in place, but another producer's pooled value is the same constant. */
TEST(small_constants_in_the_pool) {
  static const uint64_t values[] = {0, 1, INT32_MAX};
  struct bytes bytes = {0};
  v3_map(&bytes, 1, 3, 1);
  v3_function(&bytes, 0x1000, 24, 1);
  for (unsigned i = 0; i < 3; i++)
    v3_constant(&bytes, values[i]);
  v3_record(&bytes, 7, 0x10, 3);
  for (int i = 0; i < 3; i++)
    v3_location(&bytes, V3_CONSTANT_INDEX, 8, 0, i);
  end_one(&bytes);
  struct stackmap_v3_record record;
  struct section section = section_at_record(&bytes, &record);
  for (unsigned i = 0; i < 3; i++)
    check_location(&section, &record, i,
                   (struct stackpack_location){STACKPACK_CONSTANT, 8, 0, (int64_t)values[i]});
  section_close(&section);
}

TEST(live_outs) {
  struct bytes bytes = {0};
  begin_one(&bytes, 1);
  v3_location(&bytes, V3_REGISTER, 8, 0, 0);
  v3_live_outs(&bytes, 3);
  v3_live_out(&bytes, 7, 8);
  v3_live_out(&bytes, UINT16_MAX, UINT8_MAX);
  v3_live_out(&bytes, 0, 0);
  v3_end_record(&bytes);
  struct stackmap_v3_record record;
  struct section section = section_at_record(&bytes, &record);
  ck_assert_uint_eq(record.live_outs, 3);
  ck_assert_uint_eq(stackmap_v3_live_out(&section.reader, &record, 0).reg, 7);
  ck_assert_uint_eq(stackmap_v3_live_out(&section.reader, &record, 0).size, 8);
  ck_assert_uint_eq(stackmap_v3_live_out(&section.reader, &record, 1).reg, UINT16_MAX);
  ck_assert_uint_eq(stackmap_v3_live_out(&section.reader, &record, 1).size, UINT8_MAX);
  ck_assert_uint_eq(stackmap_v3_live_out(&section.reader, &record, 2).reg, 0);
  section_end(&section);
}

/* ---- Padding -------------------------------------------------------------------------------- */

/* Locations take 12 bytes and live-outs 4: the parts of a record end at every multiple of 4, and
 * the next record must be found after each. */
TEST(padding_in_records) {
  for (uint16_t locations = 0; locations < 5; locations++)
    for (uint16_t live_outs = 0; live_outs < 5; live_outs++) {
      struct bytes bytes = {0};
      v3_map(&bytes, 1, 0, 2);
      v3_function(&bytes, 0x1000, 24, 2);
      v3_record(&bytes, 1, 0, locations);
      for (unsigned i = 0; i < locations; i++)
        v3_location(&bytes, V3_REGISTER, 8, (uint16_t)i, 0);
      v3_live_outs(&bytes, live_outs);
      for (unsigned i = 0; i < live_outs; i++)
        v3_live_out(&bytes, (uint16_t)i, 8);
      v3_end_record(&bytes);
      v3_record(&bytes, 0x5eed, 4, 0);
      end_one(&bytes);
      struct stackmap_v3_record record = {0};
      struct section section = section_at_record(&bytes, &record);
      ck_assert(stackmap_v3_next_record(&section.reader, &record));
      ck_assert_uint_eq(record.id, 0x5eed);
      section_end(&section);
    }
}

TEST(many_maps_and_padding_between_them) {
  for (size_t padding = 0; padding <= 64; padding += 8) {
    struct bytes bytes = {0};
    for (unsigned map = 0; map < 10; map++) {
      bytes_zeros(&bytes, padding);
      whole_one(&bytes);
    }
    bytes_zeros(&bytes, padding / 3);
    struct section section = section_open(&bytes);
    struct stackmap_v3_function function;
    struct stackmap_v3_record record;
    unsigned maps = 0;
    while (stackmap_v3_next_map(&section.reader)) {
      maps++;
      ck_assert(stackmap_v3_next_function(&section.reader, &function));
      ck_assert_uint_eq(function.address, 0x1000);
      ck_assert(stackmap_v3_next_record(&section.reader, &record));
      ck_assert_uint_eq(record.id, 7);
    }
    ck_assert_ptr_null(section.reader.error);
    ck_assert_uint_eq(maps, 10);
    section_close(&section);
  }
}

/* A constant index counts in its own map's pool. */
TEST(every_map_has_its_own_constants) {
  struct bytes bytes = {0};
  for (uint64_t map = 0; map < 3; map++) {
    v3_map(&bytes, 1, 1, 1);
    v3_function(&bytes, 0x1000, 24, 1);
    v3_constant(&bytes, UINT32_MAX + map);
    v3_record(&bytes, 7, 0x10, 1);
    v3_location(&bytes, V3_CONSTANT_INDEX, 8, 0, 0);
    end_one(&bytes);
  }
  struct section section = section_open(&bytes);
  struct stackmap_v3_function function;
  struct stackmap_v3_record record;
  for (int map = 0; map < 3; map++) {
    ck_assert(stackmap_v3_next_map(&section.reader));
    ck_assert(stackmap_v3_next_function(&section.reader, &function));
    ck_assert(stackmap_v3_next_record(&section.reader, &record));
    check_location(
        &section, &record, 0,
        (struct stackpack_location){STACKPACK_LARGE_CONSTANT, 8, 0, (int64_t)UINT32_MAX + map});
  }
  section_close(&section);
}

TEST(the_most_locations_and_live_outs) {
  struct bytes bytes = {0};
  begin_one(&bytes, UINT16_MAX);
  for (unsigned i = 0; i < UINT16_MAX; i++)
    v3_location(&bytes, V3_REGISTER, 8, (uint16_t)i, 0);
  v3_live_outs(&bytes, UINT16_MAX);
  for (unsigned i = 0; i < UINT16_MAX; i++)
    v3_live_out(&bytes, (uint16_t)i, 8);
  v3_end_record(&bytes);
  struct stackmap_v3_record record;
  struct section section = section_at_record(&bytes, &record);
  check_location(&section, &record, UINT16_MAX - 1,
                 (struct stackpack_location){STACKPACK_REGISTER, 8, UINT16_MAX - 1, 0});
  ck_assert_uint_eq(stackmap_v3_live_out(&section.reader, &record, UINT16_MAX - 1).reg,
                    UINT16_MAX - 1);
  section_close(&section);
}

/* ---- Errors --------------------------------------------------------------------------------- */

TEST(other_versions) {
  for (unsigned version = 1; version < 256; version++) {
    struct bytes bytes = {0};
    whole_one(&bytes);
    const size_t second = bytes.size;
    whole_one(&bytes);
    bytes.data[second] = (uint8_t)version;
    if (version == 3)
      check_readable(&bytes, true);
    else
      check_error(&bytes, "version", second);
  }
}

TEST(bytes_between_maps) {
  for (size_t at = 1; at < 8; at++) {
    struct bytes bytes = {0};
    whole_one(&bytes);
    const size_t end = bytes.size;
    bytes_zeros(&bytes, 8);
    bytes.data[end + at] = 3;
    check_error(&bytes, "between", end + at);
  }
}

/* Two functions, each with a record, the first one's with locations and live-outs. */
enum {
  FIRST_FUNCTION = 16,
  SECOND_FUNCTION = 40,
  CONSTANTS = 64,
  RECORD = 72,
  LOCATIONS = 88,
  LIVE_OUTS = 128,
  SECOND_RECORD = 144,
  SECOND_LIVE_OUTS = 160,
  END = 168
};

static struct bytes usual_map(void) {
  struct bytes bytes = {0};
  v3_map(&bytes, 2, 1, 2);
  v3_function(&bytes, 0x1000, 24, 1);
  v3_function(&bytes, 0x2000, 24, 1);
  v3_constant(&bytes, 5);
  v3_record(&bytes, 7, 0x10, 3);
  v3_location(&bytes, V3_CONSTANT_INDEX, 8, 0, 0);
  v3_location(&bytes, V3_REGISTER, 8, 1, 0);
  v3_location(&bytes, V3_REGISTER, 8, 1, 0);
  v3_live_outs(&bytes, 2);
  v3_live_out(&bytes, 1, 8);
  v3_live_out(&bytes, 2, 8);
  v3_end_record(&bytes);
  v3_record(&bytes, 7, 0x10, 0);
  end_one(&bytes);
  ck_assert_uint_eq(bytes.size, END);
  return bytes;
}

/* Cut anywhere: an error, unless only zeros are missing. */
TEST(truncated_anywhere) {
  struct bytes bytes = usual_map();
  for (size_t size = 1; size < bytes.size; size++) {
    struct section section = section_of(&bytes, size);
    ck_assert_msg(!read_all(&section.reader), "cut at %zu", size);
    ck_assert_ptr_nonnull(section.reader.error);
    ck_assert_uint_le(section.reader.error_position, size);
    section_close(&section);
  }
  check_readable(&bytes, true);
}

TEST(truncated_parts) {
  static const struct {
    size_t size;
    const char *part;
  } cases[] = {
      {END + 15, "header"}, {SECOND_LIVE_OUTS, "live-outs"}, {SECOND_LIVE_OUTS + 4, "padding"}};
  for (unsigned i = 0; i < 3; i++) {
    struct bytes bytes = usual_map();
    bytes_u8(&bytes, 3);
    bytes_zeros(&bytes, 14);
    bytes.size = cases[i].size;
    check_error(&bytes, cases[i].part, i == 0 ? END : cases[i].size);
  }
}

/* Numbers that promise more than there is, by one and by very much. */
TEST(wrong_numbers) {
  static const struct {
    size_t at, size;
    uint64_t value;
    const char *part;
    size_t position;
  } cases[] = {
      {4, 4, (END - FIRST_FUNCTION) / 24 + 1, "functions", FIRST_FUNCTION},
      {4, 4, 1000, "functions", FIRST_FUNCTION},
      {4, 4, INT32_MAX, "functions", FIRST_FUNCTION},
      {4, 4, UINT32_MAX, "functions", FIRST_FUNCTION},
      {8, 4, (END - CONSTANTS) / 8 + 1, "constants", CONSTANTS},
      {8, 4, 1000, "constants", CONSTANTS},
      {8, 4, INT32_MAX, "constants", CONSTANTS},
      {8, 4, UINT32_MAX, "constants", CONSTANTS},
      {12, 4, 3, "more records", END},
      {SECOND_FUNCTION + 16, 8, 2, "more records", SECOND_FUNCTION},
      {SECOND_FUNCTION + 16, 8, UINT32_MAX, "more records", SECOND_FUNCTION},
      {SECOND_FUNCTION + 16, 8, UINT64_MAX, "more records", SECOND_FUNCTION},
      {RECORD + 14, 2, (END - LOCATIONS) / 12 + 1, "locations", LOCATIONS},
      {LIVE_OUTS + 2, 2, (END - LIVE_OUTS - 4) / 4 + 1, "live-outs", LIVE_OUTS + 4},
      {LOCATIONS + 8, 4, 1, "constant", LOCATIONS},
      {LOCATIONS + 8, 4, 2, "constant", LOCATIONS},
      {LOCATIONS + 8, 4, INT32_MAX, "constant", LOCATIONS},
      {LOCATIONS + 8, 4, (uint32_t)INT32_MIN, "constant", LOCATIONS},
      {LOCATIONS + 8, 4, UINT32_MAX, "constant", LOCATIONS},
  };
  for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct bytes bytes = usual_map();
    memcpy(bytes.data + cases[i].at, &cases[i].value, cases[i].size);
    check_error(&bytes, cases[i].part, cases[i].position);
  }
}

TEST(unknown_location_kinds) {
  for (unsigned kind = 0; kind < 256; kind++) {
    struct bytes bytes = usual_map();
    bytes.data[LOCATIONS + 12] = (uint8_t)kind;
    if (kind >= V3_REGISTER && kind <= V3_CONSTANT_INDEX)
      check_readable(&bytes, true);
    else
      check_error(&bytes, "kind", LOCATIONS + 12);
  }
}

/* For a caller that asks for more records than its functions have. */
TEST(a_record_too_many) {
  struct bytes bytes = {0};
  whole_one(&bytes);
  v3_record(&bytes, 7, 0x10, 0);
  end_one(&bytes);
  struct stackmap_v3_record record;
  struct section section = section_at_record(&bytes, &record);
  ck_assert(!stackmap_v3_next_record(&section.reader, &record));
  ck_assert_ptr_nonnull(strstr(section.reader.error, "more records"));
  section_close(&section);
}
