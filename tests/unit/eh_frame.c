/* eh_frame.c - tests the reader of unwind tables: hand-made CIEs and FDEs of the usual encodings,
 * and of broken ones, which must cost no more than the ranges they hold.
 */
#include "../../format/eh_frame.h"
#include "bytes.h"
#include "suite.h"

#include <stdlib.h>
#include <string.h>

enum {
  ADDRESS = 0x10000, /* of the section */
  ABSOLUTE = 0x00,
  SDATA4_PLACE = 0x1b,
  UDATA4_PLACE = 0x13,
  SDATA8_PLACE = 0x1c,
  UDATA2 = 0x02,
  INDIRECT = 0x80,
};

/* Starts an entry: its length is filled in by end_entry. */
static size_t start_entry(struct bytes *section) {
  bytes_u32(section, 0);
  return section->size;
}

static void end_entry(struct bytes *section, size_t start) {
  bytes_align(section, 4);
  bytes_set_u32(section, start - 4, (uint32_t)(section->size - start));
}

/* A CIE with an augmentation such as "zR", whose data is given. Returns where it is. */
static size_t add_cie(struct bytes *section, const char *augmentation, const uint8_t *data,
                      uint8_t size) {
  const size_t start = start_entry(section);
  bytes_u32(section, 0);
  bytes_u8(section, 1);
  bytes_add(section, augmentation, strlen(augmentation) + 1);
  bytes_u8(section, 1);    /* code alignment */
  bytes_u8(section, 0x78); /* data alignment: -8 */
  bytes_u8(section, 16);   /* return address register */
  if (augmentation[0] == 'z')
    bytes_u8(section, size);
  bytes_add(section, data, size);
  end_entry(section, start);
  return start - 4;
}

/* Starts an FDE of a CIE; the addresses follow. */
static size_t start_fde(struct bytes *section, size_t cie) {
  const size_t start = start_entry(section);
  bytes_u32(section, (uint32_t)(start - cie));
  return start;
}

/* An FDE whose start is stored as a distance from its own place, in 4 bytes. */
static void add_fde(struct bytes *section, size_t cie, uint64_t from, uint32_t length) {
  const size_t start = start_fde(section, cie);
  bytes_u32(section, (uint32_t)(from - (ADDRESS + section->size)));
  bytes_u32(section, length);
  bytes_u8(section, 0); /* augmentation size */
  end_entry(section, start);
}

static struct code_ranges read(const struct bytes *section) {
  struct code_ranges ranges = {0};
  uint8_t *exact = bytes_exact(section->data, section->size);
  ck_assert(eh_frame_add(&ranges, exact, section->size, ADDRESS));
  free(exact);
  code_ranges_sort(&ranges);
  return ranges;
}

START_TEST(relative_addresses) {
  static const uint8_t encoding = SDATA4_PLACE;
  struct bytes section = {0};
  const size_t cie = add_cie(&section, "zR", &encoding, 1);
  add_fde(&section, cie, 0x20000, 0x80);
  add_fde(&section, cie, 0x8000, 0x10); /* before the section: a negative distance */
  bytes_u32(&section, 0);               /* the end */
  add_fde(&section, cie, 0x30000, 0x10);
  struct code_ranges ranges = read(&section);
  ck_assert_uint_eq(ranges.count, 2);
  ck_assert_uint_eq(ranges.items[0].start, 0x8000);
  ck_assert_uint_eq(ranges.items[0].end, 0x8010);
  ck_assert_uint_eq(ranges.items[1].start, 0x20000);
  ck_assert_uint_eq(ranges.items[1].end, 0x20080);
  code_ranges_free(&ranges);
  bytes_free(&section);
}
END_TEST

START_TEST(absolute_and_wide_addresses) {
  static const uint8_t wide = SDATA8_PLACE;
  struct bytes section = {0};
  const size_t plain = add_cie(&section, "", NULL, 0);
  size_t start = start_fde(&section, plain);
  bytes_u64(&section, 0x700000000000);
  bytes_u64(&section, 0x123);
  end_entry(&section, start);
  const size_t cie = add_cie(&section, "zR", &wide, 1);
  start = start_fde(&section, cie);
  bytes_u64(&section, 0x40000 - (ADDRESS + section.size));
  bytes_u64(&section, 0x40);
  end_entry(&section, start);
  struct code_ranges ranges = read(&section);
  ck_assert_uint_eq(ranges.count, 2);
  ck_assert_uint_eq(ranges.items[0].start, 0x40000);
  ck_assert_uint_eq(ranges.items[0].end, 0x40040);
  ck_assert_uint_eq(ranges.items[1].start, 0x700000000000);
  ck_assert_uint_eq(ranges.items[1].end, 0x700000000123);
  code_ranges_free(&ranges);
  bytes_free(&section);
}
END_TEST

/* A personality routine and language-specific data stand before the encoding, as C++ has them. */
START_TEST(augmentations_before_the_encoding) {
  static const uint8_t data[] = {SDATA4_PLACE, 1, 2, 3, 4, UDATA4_PLACE, SDATA4_PLACE};
  static const uint8_t signal[] = {SDATA4_PLACE};
  struct bytes section = {0};
  const size_t cie = add_cie(&section, "zPLR", data, sizeof data);
  add_fde(&section, cie, 0x20000, 0x10);
  const size_t frame = add_cie(&section, "zRS", signal, sizeof signal);
  add_fde(&section, frame, 0x21000, 0x10);
  struct code_ranges ranges = read(&section);
  ck_assert_uint_eq(ranges.count, 2);
  ck_assert_uint_eq(ranges.items[0].start, 0x20000);
  ck_assert_uint_eq(ranges.items[1].start, 0x21000);
  code_ranges_free(&ranges);
  bytes_free(&section);
}
END_TEST

/* A length of all ones says that 64 bits of length follow. */
START_TEST(long_entries) {
  static const uint8_t encoding = SDATA4_PLACE;
  struct bytes section = {0};
  const size_t cie = add_cie(&section, "zR", &encoding, 1);
  bytes_u32(&section, UINT32_MAX);
  bytes_u64(&section, 16);
  bytes_u32(&section, (uint32_t)(section.size - cie));
  bytes_u32(&section, (uint32_t)(0x20000 - (ADDRESS + section.size)));
  bytes_u32(&section, 0x10);
  bytes_u32(&section, 0);
  struct code_ranges ranges = read(&section);
  ck_assert_uint_eq(ranges.count, 1);
  ck_assert_uint_eq(ranges.items[0].start, 0x20000);
  code_ranges_free(&ranges);
  bytes_free(&section);
}
END_TEST

/* What can't be read is passed over: the entries around it count. */
START_TEST(unknown_encodings_are_passed_over) {
  static const uint8_t encodings[] = {INDIRECT | SDATA4_PLACE, 0x2b /* relative to text */,
                                      0x0f /* no format */};
  static const uint8_t good = SDATA4_PLACE;
  struct bytes section = {0};
  for (size_t i = 0; i < sizeof encodings; i++) {
    const size_t cie = add_cie(&section, "zR", &encodings[i], 1);
    add_fde(&section, cie, 0x20000, 0x10);
  }
  const size_t unknown = add_cie(&section, "zQ", &good, 1);
  add_fde(&section, unknown, 0x21000, 0x10);
  const size_t cie = add_cie(&section, "zR", &good, 1);
  add_fde(&section, cie, 0x22000, 0x10);
  struct code_ranges ranges = read(&section);
  ck_assert_uint_eq(ranges.count, 1);
  ck_assert_uint_eq(ranges.items[0].start, 0x22000);
  code_ranges_free(&ranges);
  bytes_free(&section);
}
END_TEST

/* Cut anywhere, a section gives a part of its ranges, and nothing is read behind its end. */
START_TEST(truncated_sections) {
  static const uint8_t encoding = SDATA4_PLACE;
  struct bytes section = {0};
  const size_t cie = add_cie(&section, "zR", &encoding, 1);
  add_fde(&section, cie, 0x20000, 0x80);
  add_fde(&section, cie, 0x30000, 0x80);
  for (size_t size = 0; size < section.size; size++) {
    const struct bytes cut = {section.data, size, size};
    struct code_ranges ranges = read(&cut);
    ck_assert_uint_lt(ranges.count, 2);
    code_ranges_free(&ranges);
  }
  bytes_free(&section);
}
END_TEST

START_TEST(empty_ranges_are_left_out) {
  struct code_ranges ranges = {0};
  ck_assert(code_ranges_add(&ranges, 5, 5));
  ck_assert(code_ranges_add(&ranges, 6, 5));
  ck_assert_uint_eq(ranges.count, 0);
  ck_assert(code_ranges_add(&ranges, 7, 9));
  ck_assert(code_ranges_add(&ranges, 1, 3));
  code_ranges_sort(&ranges);
  ck_assert_uint_eq(ranges.count, 2);
  ck_assert_uint_eq(ranges.items[0].start, 1);
  code_ranges_free(&ranges);
}
END_TEST

SUITE("eh_frame", relative_addresses, absolute_and_wide_addresses,
      augmentations_before_the_encoding, long_entries, unknown_encodings_are_passed_over,
      truncated_sections, empty_ranges_are_left_out)
