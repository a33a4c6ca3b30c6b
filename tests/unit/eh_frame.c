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

/* Reads a section and frees it; it must hold this one range. */
static void check_one(struct bytes *section, uint64_t from, uint64_t to) {
  struct code_ranges ranges = read(section);
  ck_assert_uint_eq(ranges.count, 1);
  ck_assert_uint_eq(ranges.items[0].start, from);
  ck_assert_uint_eq(ranges.items[0].end, to);
  code_ranges_free(&ranges);
  bytes_free(section);
}

/* An address as `size` bytes, absolute or as a distance from its place, and a length. */
START_TEST(every_format_of_addresses) {
  static const struct {
    uint8_t encoding, size;
    uint64_t from;
  } cases[] = {
      {0x00, 8, 0x123456789abc},
      {0x02, 2, 0xf000},
      {0x03, 4, 0xfffff000},
      {0x04, 8, 0xffffffff80001000},
      {0x0a, 2, 0x7000},
      {0x0a, 2, 0xffffffffffff8000},
      {0x0b, 4, 0x7ffff000},
      {0x0b, 4, 0xffffffff80000000},
      {0x0c, 8, 0xffffffff80001000},
      {0x10, 8, 0x1000},
      {0x12, 2, ADDRESS + 0x8000},
      {0x13, 4, ADDRESS + 0x80000000},
      {0x14, 8, 0x1000},
      {0x1a, 2, ADDRESS - 0x1000},
      {0x1b, 4, ADDRESS - 0x1000},
      {0x1c, 8, 0x7f0000000000},
  };
  for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct bytes section = {0};
    const size_t cie = add_cie(&section, "zR", &cases[i].encoding, 1);
    const size_t start = start_fde(&section, cie);
    const uint64_t place = cases[i].encoding >= 0x10 ? ADDRESS + section.size : 0;
    const uint64_t numbers[] = {cases[i].from - place, 0x123};
    bytes_add(&section, &numbers[0], cases[i].size);
    bytes_add(&section, &numbers[1], cases[i].size);
    end_entry(&section, start);
    check_one(&section, cases[i].from, cases[i].from + 0x123);
  }
}
END_TEST

/* From version 3 on, the return address register is a LEB128 number, here of two bytes. */
START_TEST(a_cie_of_version_3) {
  static const uint8_t head[] = {3, 'z', 'R', 0, 1, 0xf8, 0x7f, 0x90, 0x00, 1, SDATA4_PLACE};
  struct bytes section = {0};
  const size_t start = start_entry(&section);
  bytes_u32(&section, 0);
  bytes_add(&section, head, sizeof head);
  end_entry(&section, start);
  add_fde(&section, start - 4, 0x20000, 0x10);
  check_one(&section, 0x20000, 0x20010);
}
END_TEST

/* FDEs may refer to any CIE before them, good or not. */
START_TEST(references_to_earlier_cies) {
  static const uint8_t relative = SDATA4_PLACE, none = 0x0f, wide = SDATA8_PLACE;
  struct bytes section = {0};
  const size_t good = add_cie(&section, "zR", &relative, 1);
  const size_t other = add_cie(&section, "zR", &wide, 1);
  const size_t bad = add_cie(&section, "zR", &none, 1);
  for (uint64_t i = 0; i < 10; i++) {
    add_fde(&section, i % 2 == 0 ? good : bad, 0x20000 + 0x100 * i, 0x10);
    const size_t start = start_fde(&section, other);
    bytes_u64(&section, 0x30000 + 0x100 * i - (ADDRESS + section.size));
    bytes_u64(&section, 0x20);
    end_entry(&section, start);
  }
  struct code_ranges ranges = read(&section);
  ck_assert_uint_eq(ranges.count, 15);
  for (uint64_t i = 0; i < 15; i++) {
    const uint64_t from = i < 5 ? 0x20000 + 0x200 * i : 0x30000 + 0x100 * (i - 5);
    ck_assert_uint_eq(ranges.items[i].start, from);
    ck_assert_uint_eq(ranges.items[i].end, from + (i < 5 ? 0x10 : 0x20));
  }
  code_ranges_free(&ranges);
  bytes_free(&section);
}
END_TEST

START_TEST(references_that_lead_nowhere) {
  static const uint8_t encoding = SDATA4_PLACE;
  static const uint32_t references[] = {1, 3, 17, 1000, INT32_MAX, UINT32_MAX};
  for (unsigned i = 0; i < sizeof references / sizeof *references; i++) {
    struct bytes section = {0};
    const size_t cie = add_cie(&section, "zR", &encoding, 1);
    const size_t wrong = section.size;
    add_fde(&section, cie, 0x20000, 0x10);
    bytes_set_u32(&section, wrong + 4, references[i]);
    add_fde(&section, wrong, 0x21000, 0x10); /* to an FDE */
    add_fde(&section, cie, 0x22000, 0x10);
    check_one(&section, 0x22000, 0x22010);
  }
}
END_TEST

START_TEST(an_entry_longer_than_the_section) {
  static const uint8_t encoding = SDATA4_PLACE;
  static const uint32_t lengths[] = {0x1000, INT32_MAX, 0xfffffff0, UINT32_MAX};
  for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    struct bytes section = {0};
    const size_t cie = add_cie(&section, "zR", &encoding, 1);
    add_fde(&section, cie, 0x20000, 0x10);
    const size_t last = section.size;
    add_fde(&section, cie, 0x21000, 0x10);
    bytes_set_u32(&section, last, lengths[i]);
    check_one(&section, 0x20000, 0x20010);
  }
}
END_TEST

/* Any byte may be anything: no more ranges than entries, and nothing outside is read. */
START_TEST(changed_bytes) {
  static const uint8_t data[] = {SDATA4_PLACE, 1, 2, 3, 4, UDATA4_PLACE, SDATA4_PLACE};
  struct bytes section = {0};
  const size_t cie = add_cie(&section, "zPLR", data, sizeof data);
  add_fde(&section, cie, 0x20000, 0x10);
  add_fde(&section, cie, 0x21000, 0x10);
  for (size_t at = 0; at < section.size; at++)
    for (unsigned value = 0; value < 256; value++) {
      const uint8_t before = section.data[at];
      struct code_ranges ranges = {0};
      section.data[at] = (uint8_t)value;
      uint8_t *exact = bytes_exact(section.data, section.size);
      if (!eh_frame_add(&ranges, exact, section.size, ADDRESS) || ranges.count > 2)
        ck_abort_msg("byte %zu is %u", at, value);
      free(exact);
      code_ranges_free(&ranges);
      section.data[at] = before;
    }
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
      every_format_of_addresses, a_cie_of_version_3, references_to_earlier_cies,
      references_that_lead_nowhere, an_entry_longer_than_the_section, changed_bytes,
      truncated_sections, empty_ranges_are_left_out)
