/* eh_frame.c - tests the reader of unwind tables: hand-made CIEs and FDEs of the usual encodings,
 * and of broken ones: these cost at most the ranges they hold.
 */
#include "elf/eh_frame.h"
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

/* The CIE that compilers write: addresses are distances from their own places, in 4 bytes. */
static size_t add_usual_cie(struct bytes *section) {
  return add_cie(section, "zR", &(uint8_t){SDATA4_PLACE}, 1);
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
  ck_assert(eh_frame_add(&ranges, &(struct section_bytes){exact, section->size, ADDRESS}));
  free(exact);
  return ranges;
}

/* Reads a section and frees it; it must hold these ranges. */
static void check_ranges(struct bytes *section, const struct code_range *expected, size_t count) {
  struct code_ranges ranges = read(section);
  ck_assert_uint_eq(ranges.count, count);
  for (size_t i = 0; i < count; i++) {
    ck_assert_uint_eq(ranges.items[i].start, expected[i].start);
    ck_assert_uint_eq(ranges.items[i].end, expected[i].end);
  }
  code_ranges_free(&ranges);
  bytes_free(section);
}

static void check_one(struct bytes *section, uint64_t from, uint64_t to) {
  check_ranges(section, &(struct code_range){from, to}, 1);
}

TEST(relative_addresses) {
  struct bytes section = {0};
  const size_t cie = add_usual_cie(&section);
  add_fde(&section, cie, 0x20000, 0x80);
  add_fde(&section, cie, 0x8000, 0x10); /* before the section: a negative distance */
  bytes_u32(&section, 0);               /* the end */
  check_ranges(&section, (struct code_range[]){{0x8000, 0x8010}, {0x20000, 0x20080}}, 2);
}

/* Linkers put a terminator at the end, but leave others where they join sections that had one.
 * Where the section's end is unknown, the first one is it. */
TEST(terminators_in_the_middle) {
  struct bytes section = {0};
  const size_t cie = add_usual_cie(&section), first = section.size;
  add_fde(&section, cie, 0x20000, 0x80);
  const size_t end = section.size;
  ck_assert_uint_eq(eh_frame_size(section.data, section.size), end);
  bytes_u32(&section, 0);
  bytes_u32(&section, 0);
  ck_assert_uint_eq(eh_frame_size(section.data, section.size), end);
  add_fde(&section, cie, 0x30000, 0x10);
  ck_assert_uint_eq(eh_frame_size(section.data, section.size), end);
  ck_assert_uint_eq(eh_frame_size(section.data, end - 1), first);
  check_ranges(&section, (struct code_range[]){{0x20000, 0x20080}, {0x30000, 0x30010}}, 2);
}

TEST(absolute_and_wide_addresses) {
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
  check_ranges(&section,
               (struct code_range[]){{0x40000, 0x40040}, {0x700000000000, 0x700000000123}}, 2);
}

/* A personality routine and language-specific data precede the encoding, as in C++. */
TEST(augmentations_before_the_encoding) {
  static const uint8_t data[] = {SDATA4_PLACE, 1, 2, 3, 4, UDATA4_PLACE, SDATA4_PLACE};
  static const uint8_t signal[] = {SDATA4_PLACE};
  struct bytes section = {0};
  const size_t cie = add_cie(&section, "zPLR", data, sizeof data);
  add_fde(&section, cie, 0x20000, 0x10);
  const size_t frame = add_cie(&section, "zRS", signal, sizeof signal);
  add_fde(&section, frame, 0x21000, 0x10);
  check_ranges(&section, (struct code_range[]){{0x20000, 0x20010}, {0x21000, 0x21010}}, 2);
}

/* A length of all ones says that 64 bits of length follow. */
TEST(long_entries) {
  struct bytes section = {0};
  const size_t cie = add_usual_cie(&section);
  bytes_u32(&section, UINT32_MAX);
  bytes_u64(&section, 16);
  bytes_u32(&section, (uint32_t)(section.size - cie));
  bytes_u32(&section, (uint32_t)(0x20000 - (ADDRESS + section.size)));
  bytes_u32(&section, 0x10);
  bytes_u32(&section, 0);
  check_one(&section, 0x20000, 0x20000 + 0x10);
}

/* Unreadable entries are passed over: the entries around it count. */
TEST(unknown_encodings_are_passed_over) {
  static const uint8_t encodings[] = {INDIRECT | SDATA4_PLACE, 0x2b /* relative to text */,
                                      0x0f /* no format */};
  struct bytes section = {0};
  for (size_t i = 0; i < sizeof encodings; i++) {
    const size_t cie = add_cie(&section, "zR", &encodings[i], 1);
    add_fde(&section, cie, 0x20000, 0x10);
  }
  const size_t unknown = add_cie(&section, "zQ", &(uint8_t){SDATA4_PLACE}, 1);
  add_fde(&section, unknown, 0x21000, 0x10);
  const size_t cie = add_usual_cie(&section);
  add_fde(&section, cie, 0x22000, 0x10);
  check_one(&section, 0x22000, 0x22000 + 0x10);
}

/* An address as `size` bytes, absolute or as a distance from its place, and a length. */
TEST(every_format_of_addresses) {
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

/* From version 3 on, the return address register is a LEB128 number, here of two bytes. */
TEST(a_cie_of_version_3) {
  static const uint8_t head[] = {3, 'z', 'R', 0, 1, 0xf8, 0x7f, 0x90, 0x00, 1, SDATA4_PLACE};
  struct bytes section = {0};
  const size_t start = start_entry(&section);
  bytes_u32(&section, 0);
  bytes_add(&section, head, sizeof head);
  end_entry(&section, start);
  add_fde(&section, start - 4, 0x20000, 0x10);
  check_one(&section, 0x20000, 0x20010);
}

/* From version 4 on, sizes of an address and of a segment selector precede the alignments. */
TEST(a_cie_of_version_4) {
  static const uint8_t heads[][13] = {
      {4, 'z', 'R', 0, 8, 0, 1, 0xf8, 0x7f, 0x90, 0x00, 1, SDATA4_PLACE},
      {4, 'z', 'R', 0, 4, 0, 1, 0xf8, 0x7f, 0x90, 0x00, 1, SDATA4_PLACE},
      {4, 'z', 'R', 0, 8, 2, 1, 0xf8, 0x7f, 0x90, 0x00, 1, SDATA4_PLACE},
      {2, 'z', 'R', 0, 8, 0, 1, 0xf8, 0x7f, 0x90, 0x00, 1, SDATA4_PLACE}};
  for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
    struct bytes section = {0};
    const size_t start = start_entry(&section);
    bytes_u32(&section, 0);
    bytes_add(&section, heads[i], sizeof heads[i]);
    end_entry(&section, start);
    add_fde(&section, start - 4, 0x20000, 0x10);
    if (i == 0)
      check_one(&section, 0x20000, 0x20010);
    else
      check_ranges(&section, NULL, 0);
  }
}

/* FDEs may refer to any CIE before them, good or not. */
TEST(references_to_earlier_cies) {
  static const uint8_t none = 0x0f, wide = SDATA8_PLACE;
  struct bytes section = {0};
  const size_t good = add_usual_cie(&section);
  const size_t other = add_cie(&section, "zR", &wide, 1);
  const size_t bad = add_cie(&section, "zR", &none, 1);
  for (uint64_t i = 0; i < 10; i++) {
    add_fde(&section, i % 2 == 0 ? good : bad, 0x20000 + 0x100 * i, 0x10);
    const size_t start = start_fde(&section, other);
    bytes_u64(&section, 0x30000 + 0x100 * i - (ADDRESS + section.size));
    bytes_u64(&section, 0x20);
    end_entry(&section, start);
  }
  struct code_range expected[15];
  for (uint64_t i = 0; i < 15; i++) {
    const uint64_t from = i < 5 ? 0x20000 + 0x200 * i : 0x30000 + 0x100 * (i - 5);
    expected[i] = (struct code_range){from, from + (i < 5 ? 0x10 : 0x20)};
  }
  check_ranges(&section, expected, 15);
}

TEST(references_that_lead_nowhere) {
  static const uint32_t references[] = {1, 3, 17, 1000, INT32_MAX, UINT32_MAX};
  for (unsigned i = 0; i < sizeof references / sizeof *references; i++) {
    struct bytes section = {0};
    const size_t cie = add_usual_cie(&section);
    const size_t wrong = section.size;
    add_fde(&section, cie, 0x20000, 0x10);
    bytes_set_u32(&section, wrong + 4, references[i]);
    add_fde(&section, wrong, 0x21000, 0x10); /* to an FDE */
    add_fde(&section, cie, 0x22000, 0x10);
    check_one(&section, 0x22000, 0x22010);
  }
}

TEST(an_entry_longer_than_the_section) {
  static const uint32_t lengths[] = {0x1000, INT32_MAX, 0xfffffff0, UINT32_MAX};
  for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    struct bytes section = {0};
    const size_t cie = add_usual_cie(&section);
    add_fde(&section, cie, 0x20000, 0x10);
    const size_t last = section.size;
    add_fde(&section, cie, 0x21000, 0x10);
    bytes_set_u32(&section, last, lengths[i]);
    check_one(&section, 0x20000, 0x20010);
  }
}

/* Any byte may be anything: at most as many ranges as entries, and all reads stay inside. */
TEST(changed_bytes) {
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
      const struct section_bytes frames = {exact, section.size, ADDRESS};
      if (!eh_frame_add(&ranges, &frames) || ranges.count > 2)
        ck_abort_msg("byte %zu is %u", at, value);
      free(exact);
      code_ranges_free(&ranges);
      section.data[at] = before;
    }
  bytes_free(&section);
}

/* Cut anywhere, a section gives a part of its ranges, and all reads stay before its end. */
TEST(truncated_sections) {
  struct bytes section = {0};
  const size_t cie = add_usual_cie(&section);
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

TEST(empty_ranges_are_left_out) {
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

/* ---- Facts of frames ---- */

enum { CODE = 0x20000, CODE_SIZE = 0x200, RSP = 7, RBP = 6, RBX = 3, RETURN = 16 };

/* The facts at an address; all zeros if they are unknown. */
struct rule {
  bool is_known;
  struct frame_facts facts;
};

/* A CIE of the usual augmentation with instructions. */
static size_t add_cie_code(struct bytes *section, uint8_t code_alignment, const uint8_t *code,
                           size_t size) {
  static const uint8_t augmentation[] = {1, 'z', 'R', 0};
  const uint8_t rest[] = {code_alignment, 0x78 /* data alignment: -8 */, 16, 1, SDATA4_PLACE};
  const size_t start = start_entry(section);
  bytes_u32(section, 0);
  bytes_add(section, augmentation, sizeof augmentation);
  bytes_add(section, rest, sizeof rest);
  bytes_add(section, code, size);
  end_entry(section, start);
  return start - 4;
}

static void add_fde_code(struct bytes *section, size_t cie, uint64_t from, const uint8_t *code,
                         size_t size) {
  const size_t start = start_fde(section, cie);
  bytes_u32(section, (uint32_t)(from - (ADDRESS + section->size)));
  bytes_u32(section, CODE_SIZE);
  bytes_u8(section, 2); /* augmentation size */
  bytes_u16(section, 0xffff);
  bytes_add(section, code, size);
  end_entry(section, start);
}

/* def_cfa rsp + 8; offset of the return address: the common start of CIEs for x86-64. */
static const uint8_t usual_cie[] = {0x0c, RSP, 8, 0x90, 1};

/* Reads one FDE's rules at addresses relative to the function. */
static void read_rules(const struct bytes *section, struct rule *rules, const uint64_t *offsets,
                       size_t count) {
  uint64_t *addresses = test_allocate(count * sizeof *addresses);
  uint32_t *numbers = test_allocate(count * sizeof *numbers);
  uint8_t *exact = bytes_exact(section->data, section->size);
  struct intern set = {0};
  for (size_t i = 0; i < count; i++) {
    addresses[i] = CODE + offsets[i];
    numbers[i] = 0;
  }
  const struct section_bytes frames = {exact, section->size, ADDRESS};
  ck_assert(eh_frame_facts(&set, numbers, addresses, count, NULL, &frames));
  for (size_t i = 0; i < count; i++) {
    rules[i] = (struct rule){.is_known = numbers[i] != 0};
    if (numbers[i] != 0)
      rules[i].facts = frame_facts_get(&set, numbers[i]);
  }
  intern_free(&set);
  free(exact);
  free(numbers);
  free(addresses);
}

/* A section of the usual CIE and one FDE. */
static struct bytes section_of(const uint8_t *code, size_t size) {
  struct bytes section = {0};
  add_fde_code(&section, add_cie_code(&section, 1, usual_cie, sizeof usual_cie), CODE, code, size);
  return section;
}

static struct rule rule_at(const uint8_t *code, size_t size, uint64_t offset) {
  struct bytes section = section_of(code, size);
  struct rule rule;
  read_rules(&section, &rule, &offset, 1);
  bytes_free(&section);
  return rule;
}

static void check_rule(struct rule rule, uint64_t cfa_register, int64_t offset) {
  ck_assert(rule.is_known);
  ck_assert_uint_eq(rule.facts.cfa_register, cfa_register);
  ck_assert_int_eq(rule.facts.cfa_offset, offset);
}

/* The place of %rbx, by facts on it and the return address alone. */
static void check_saved(struct rule rule, int32_t offset) {
  ck_assert(rule.is_known);
  ck_assert_uint_eq(rule.facts.saved, 1u << RBX | 1u << RETURN);
  ck_assert_uint_eq(rule.facts.lost, 0);
  ck_assert_int_eq(rule.facts.offsets[RBX], offset);
}

static void check_lost(struct rule rule, uint32_t saved, uint32_t lost) {
  ck_assert(rule.is_known);
  ck_assert_uint_eq(rule.facts.saved, saved);
  ck_assert_uint_eq(rule.facts.lost, lost);
}

#define RULE_AT(OFFSET, ...)                                                                       \
  rule_at((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}), OFFSET)

/* A rule holds from the place where it is given, to the function's end. */
TEST(rules_by_place) {
  static const uint8_t code[] = {0x41, 0x0e, 16, 0x4f, 0x0e, 48, 0x41, 0x0e, 16};
  static const uint64_t offsets[] = {0, 0, 1, 15, 16, 17, CODE_SIZE - 1, CODE_SIZE, CODE_SIZE + 9};
  static const uint64_t expected[] = {8, 8, 16, 16, 48, 16, 16, 0, 0};
  enum { COUNT = sizeof offsets / sizeof *offsets };
  struct rule rules[COUNT];
  struct bytes section = {0};
  const size_t cie = add_cie_code(&section, 1, usual_cie, sizeof usual_cie);
  add_fde_code(&section, cie, CODE + 0x1000, NULL, 0);
  add_fde_code(&section, cie, CODE, code, sizeof code);
  read_rules(&section, rules, offsets, COUNT);
  for (unsigned i = 0; i < COUNT; i++) {
    ck_assert(rules[i].is_known == (expected[i] != 0));
    ck_assert_int_eq(rules[i].facts.cfa_offset, (int64_t)expected[i]);
  }
  bytes_free(&section);
}

TEST(every_way_to_advance) {
  static const uint8_t code[] = {0x43, 0x0e, 16};
  static const uint64_t offsets[] = {11, 12};
  struct rule rules[2];
  check_rule(RULE_AT(0, 0x40, 0x0e, 16), RSP, 16); /* by 0 */
  check_rule(RULE_AT(0x80, 0x02, 0x80, 0x0e, 16), RSP, 16);
  check_rule(RULE_AT(0x7f, 0x02, 0x80, 0x0e, 16), RSP, 8);
  check_rule(RULE_AT(0x101, 0x03, 0x01, 0x01, 0x0e, 16), RSP, 16);
  check_rule(RULE_AT(0x100, 0x03, 0x01, 0x01, 0x0e, 16), RSP, 8);
  check_rule(RULE_AT(0x102, 0x04, 0x02, 0x01, 0, 0, 0x0e, 16), RSP, 16);
  check_rule(RULE_AT(0x101, 0x04, 0x02, 0x01, 0, 0, 0x0e, 16), RSP, 8);
  struct bytes section = {0};
  const size_t cie = add_cie_code(&section, 4, usual_cie, sizeof usual_cie);
  add_fde_code(&section, cie, CODE, code, sizeof code);
  read_rules(&section, rules, offsets, 2);
  check_rule(rules[0], RSP, 8);
  check_rule(rules[1], RSP, 16);
  bytes_free(&section);
}

/* DW_CFA_set_loc has an address as the FDE has, here relative to its place. */
TEST(a_location_that_is_set) {
  static const uint64_t offsets[] = {0x4f, 0x50};
  struct rule rules[2];
  struct bytes section = {0};
  const size_t cie = add_cie_code(&section, 1, usual_cie, sizeof usual_cie);
  const size_t start = start_fde(&section, cie);
  bytes_u32(&section, (uint32_t)(CODE - (ADDRESS + section.size)));
  bytes_u32(&section, CODE_SIZE);
  bytes_u16(&section, 0x0100); /* no augmentation; DW_CFA_set_loc */
  bytes_u32(&section, (uint32_t)(CODE + 0x50 - (ADDRESS + section.size)));
  bytes_u16(&section, 0x200e);
  end_entry(&section, start);
  read_rules(&section, rules, offsets, 2);
  check_rule(rules[0], RSP, 8);
  check_rule(rules[1], RSP, 32);
  bytes_free(&section);
}

TEST(every_way_to_define_the_cfa) {
  check_rule(RULE_AT(0, 0x0c, RBP, 0x90, 0x01), RBP, 0x90);
  check_rule(RULE_AT(0, 0x0d, RBP), RBP, 8);
  check_rule(RULE_AT(0, 0x0e, 0x80, 0x80, 0x04), RSP, 0x10000);
  check_rule(RULE_AT(0, 0x12, RBP, 0x7e), RBP, 16);
  check_rule(RULE_AT(0, 0x13, 0x7c), RSP, 32);
  check_rule(RULE_AT(0, 0x13, 0x02), RSP, -16);
  check_rule(RULE_AT(0, 0x0f, 2, 0x77, 0x08), FRAME_NO_REGISTER, 0);
  /* A register outside the known ones; an offset that is too large. */
  check_rule(RULE_AT(0, 0x0c, 40, 16), FRAME_NO_REGISTER, 0);
  check_rule(RULE_AT(0, 0x0e, 0x80, 0x80, 0x80, 0x80, 0x10), FRAME_NO_REGISTER, 0);
  check_rule(RULE_AT(0, 0x0f, 2, 0x77, 0x08, 0x0c, RBP, 16), RBP, 16);
}

TEST(remembered_rules) {
  check_rule(RULE_AT(5, 0x41, 0x0e, 16, 0x0a, 0x41, 0x0c, RBP, 24, 0x41, 0x0b), RSP, 16);
  check_rule(RULE_AT(2, 0x41, 0x0e, 16, 0x0a, 0x41, 0x0c, RBP, 24, 0x41, 0x0b), RBP, 24);
  check_rule(RULE_AT(5, 0x0a, 0x0e, 16, 0x0a, 0x0e, 24, 0x0b, 0x41, 0x0b), RSP, 8);
  /* Nothing to restore: rows after it are unknown, and rows before it known. */
  ck_assert(!RULE_AT(1, 0x41, 0x0b).is_known);
  check_rule(RULE_AT(0, 0x41, 0x0b), RSP, 8);
}

/* Operands that look like instructions; and the arguments' size, skipped. */
TEST(rules_of_other_registers) {
  check_rule(RULE_AT(0, 0x83, 0x8e, 0x0e, 0xc3, 0x00, 0x0e, 16), RSP, 16);
  check_rule(RULE_AT(0, 0x05, 0x83, 0x0e, 0x0e, 0x0e, 24), RSP, 24);
  check_rule(RULE_AT(0, 0x06, 0x0e, 0x07, 0x0e, 0x08, 0x0e, 0x0e, 16), RSP, 16);
  check_rule(RULE_AT(0, 0x09, 0x0e, 0x0e, 0x11, 0x0e, 0x7e, 0x0e, 16), RSP, 16);
  check_rule(RULE_AT(0, 0x14, 0x0e, 0x0e, 0x15, 0x0e, 0x0e, 0x0e, 16), RSP, 16);
  check_rule(RULE_AT(0, 0x10, 0x0e, 2, 0x0e, 99, 0x16, 0x0e, 1, 0x0e, 0x0e, 16), RSP, 16);
  check_rule(RULE_AT(0, 0x2f, 0x0e, 0x0e, 0x0e, 16), RSP, 16);
  check_rule(RULE_AT(0, 0x2e, 0xa0, 0x01, 0x0e, 16), RSP, 16);
}

TEST(every_way_to_save_a_register) {
  check_saved(RULE_AT(0, 0x83, 2), -16);
  check_saved(RULE_AT(0, 0x83, 0x80, 0x01), -1024);
  check_saved(RULE_AT(0, 0x05, RBX, 3), -24);
  check_saved(RULE_AT(0, 0x11, RBX, 0x7e), 16);
  check_saved(RULE_AT(0, 0x2f, RBX, 2), 16);
  check_saved(RULE_AT(0, 0x83, 2, 0x83, 3), -24);
  check_saved(RULE_AT(0, 0x07, RBX, 0x83, 2), -16);
  ck_assert_uint_eq(RULE_AT(0, 0x83, 2).facts.return_register, RETURN);
  ck_assert_int_eq(RULE_AT(0, 0x83, 2).facts.offsets[RETURN], -8);
}

/* As the function found it; as the CIE says; or in a place out of the format's reach. */
TEST(registers_that_arent_saved) {
  const uint32_t rbx = 1u << RBX, back = 1u << RETURN;
  check_lost(RULE_AT(0, 0x83, 2, 0x08, RBX), back, 0);
  check_lost(RULE_AT(0, 0x83, 2, 0xc3), back, 0);
  check_lost(RULE_AT(0, 0x83, 2, 0x06, RBX), back, 0);
  check_lost(RULE_AT(0, 0x07, RBX), back, rbx);
  check_lost(RULE_AT(0, 0x83, 2, 0x07, RBX), back, rbx);
  check_lost(RULE_AT(0, 0x09, RBX, 0), back, rbx);
  check_lost(RULE_AT(0, 0x14, RBX, 2), back, rbx);
  check_lost(RULE_AT(0, 0x15, RBX, 2), back, rbx);
  check_lost(RULE_AT(0, 0x10, RBX, 1, 0x77), back, rbx);
  check_lost(RULE_AT(0, 0x16, RBX, 1, 0x77), back, rbx);
  check_lost(RULE_AT(0, 0x83, 0x80, 0x80, 0x80, 0x80, 0x08), back, rbx); /* too far away */
  check_lost(RULE_AT(0, 0x90, 5, 0xc0 | RETURN), back, 0);
  ck_assert_int_eq(RULE_AT(0, 0x90, 5, 0xc0 | RETURN).facts.offsets[RETURN], -8);
  check_lost(RULE_AT(0, 0x05, 40, 2, 0x07, 41, 0x06, 42, 0x08, 43), back, 0); /* not told of */
  check_lost(RULE_AT(0, 0x0a, 0x83, 2, 0x0b), back, 0);
}

TEST(signed_return_addresses) {
  ck_assert(RULE_AT(0, 0x2d).facts.is_signed);
  ck_assert(RULE_AT(0, 0x2c).facts.is_signed); /* also with the place where it was signed */
  ck_assert(!RULE_AT(0, 0x2c, 0x2c).facts.is_signed);
  ck_assert(!RULE_AT(0, 0x2d, 0x2d).facts.is_signed);
  ck_assert(RULE_AT(0, 0x2d, 0x0a, 0x2d, 0x0b).facts.is_signed);
}

TEST(instructions_that_cant_be_read) {
  static const uint8_t unknown[] = {0x17, 0x1c, 0x1d, 0x30, 0x3f};
  for (unsigned i = 0; i < sizeof unknown; i++) {
    check_rule(RULE_AT(0, 0x41, 0x0e, 16, 0x41, unknown[i], 0x0e, 24), RSP, 8);
    check_rule(RULE_AT(1, 0x41, 0x0e, 16, 0x41, unknown[i], 0x0e, 24), RSP, 16);
    ck_assert(!RULE_AT(2, 0x41, 0x0e, 16, 0x41, unknown[i], 0x0e, 24).is_known);
  }
  /* An offset to an expression; and operands longer than the entry: a block, and numbers in its
   * last bytes, without padding after. */
  ck_assert(!RULE_AT(0, 0x0f, 1, 0x77, 0x0e, 16).is_known);
  ck_assert(!RULE_AT(0, 0x10, 3, 0xff, 0xff, 0xff, 0xff, 0x0f).is_known);
  ck_assert(!RULE_AT(0, 0x0e, 0xff, 0xff, 0xff, 0xff).is_known);
  ck_assert(!RULE_AT(0, 0x00, 0x00, 0x04, 0xff, 0xff).is_known);
}

/* Deeper than any compiler goes: the FDE isn't read on. */
TEST(too_much_to_remember) {
  uint8_t code[100];
  memset(code, 0x0a, sizeof code);
  ck_assert(!rule_at(code, sizeof code, 0).is_known);
  check_rule(rule_at(code, 10, 0), RSP, 8);
}

/* CIEs without a rule for the CFA, and with endless ones. */
TEST(cies_without_rules) {
  static const uint64_t offset = 0;
  uint8_t code[1000] = {0x0c, RSP, 8};
  for (size_t size = 0; size <= sizeof code; size += sizeof code) {
    struct rule rule;
    struct bytes section = {0};
    const size_t cie = add_cie_code(&section, 1, code, size);
    add_fde_code(&section, cie, CODE, NULL, 0);
    read_rules(&section, &rule, &offset, 1);
    ck_assert(!rule.is_known);
    bytes_free(&section);
  }
}

/* The CFA's offsets at places in a function, 0 where it is unknown. */
static void check_offsets(struct bytes *section, const int64_t *expected, size_t count) {
  static const uint64_t offsets[] = {0, 0x3f, 0x40, 0x7f, 0x80, 0xff};
  struct rule rules[sizeof offsets / sizeof *offsets];
  read_rules(section, rules, offsets, count);
  for (size_t i = 0; i < count; i++) {
    ck_assert(rules[i].is_known == (expected[i] != 0));
    ck_assert_int_eq(rules[i].facts.cfa_offset, expected[i]);
  }
  bytes_free(section);
}

/* Where FDEs overlap, the facts are the ones on which all agree: an unwinder's choice depends on
 * its index. An unreadable one is ignored. */
TEST(overlapping_functions) {
  static const uint8_t code[] = {0x02, 0x80, 0x0e, 16}, all_24[] = {0x0e, 24};
  static const uint8_t same[] = {0x02, 0x40, 0x0e, 8, 0x02, 0x40, 0x0e, 16};
  static const uint8_t first_24[] = {0x0e, 24, 0x02, 0x40, 0x0e, 8, 0x02, 0x40, 0x0e, 16};
  static const uint8_t broken[] = {0x02, 0x40, 0x3f};
  static const struct {
    const uint8_t *code;
    size_t size;
    int64_t expected[6];
  } others[] = {
      {code, sizeof code, {8, 8, 8, 8, 16, 16}},
      {same, sizeof same, {8, 8, 8, 8, 16, 16}},
      {all_24, sizeof all_24, {0, 0, 0, 0, 0, 0}},
      {first_24, sizeof first_24, {0, 0, 8, 8, 16, 16}},
      {broken, sizeof broken, {8, 8, 0, 0, 0, 0}},
  };
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    for (unsigned is_first = 0; is_first < 2; is_first++) {
      struct bytes section = {0};
      const size_t cie = add_cie_code(&section, 1, usual_cie, sizeof usual_cie);
      if (is_first)
        add_fde_code(&section, cie, CODE, others[i].code, others[i].size);
      add_fde_code(&section, cie, CODE, code, sizeof code);
      if (!is_first)
        add_fde_code(&section, cie, CODE, others[i].code, others[i].size);
      check_offsets(&section, others[i].expected, 6);
    }
}

/* An FDE may reach into the next function, and a return address's register may be one without a
 * rule. */
TEST(functions_that_overlap_in_part) {
  static const uint8_t other[] = {0x0e, 24};
  static const uint8_t odd_cie[] = {0,    0,   0, 0, 1, 'z', 'R', 0, 1, 0x78, 40, 1, SDATA4_PLACE,
                                    0x0c, RSP, 8};
  struct bytes section = {0};
  const size_t cie = add_cie_code(&section, 1, usual_cie, sizeof usual_cie);
  add_fde_code(&section, cie, CODE - CODE_SIZE + 0x40, other, sizeof other);
  add_fde_code(&section, cie, CODE, NULL, 0);
  const size_t start = start_entry(&section), odd = start - 4;
  bytes_add(&section, odd_cie, sizeof odd_cie);
  end_entry(&section, start);
  add_fde_code(&section, odd, CODE + 0x80, NULL, 0);
  check_offsets(&section, (const int64_t[]){0, 0, 8, 8, 0, 0}, 6);
}

/* Repetitions take bounded time for it: at some point, it counts as broken. */
TEST(functions_that_overlap_many_times) {
  enum { COUNT = CODE_SIZE, REPEATED = 20000 };
  static const uint8_t code[] = {0x02, 0x80, 0x0e, 16};
  static uint64_t offsets[COUNT];
  static struct rule rules[COUNT];
  struct bytes section = {0};
  const size_t cie = add_cie_code(&section, 1, usual_cie, sizeof usual_cie);
  for (unsigned i = 0; i < REPEATED; i++)
    add_fde_code(&section, cie, CODE, code, sizeof code);
  for (unsigned i = 0; i < COUNT; i++)
    offsets[i] = i;
  read_rules(&section, rules, offsets, COUNT);
  for (unsigned i = 0; i < COUNT; i++)
    ck_assert(!rules[i].is_known);
  bytes_free(&section);
}

/* Cut anywhere, or with any byte changed, all reads stay before the section's end. */
TEST(damaged_instructions) {
  static const uint8_t code[] = {0x41, 0x0e, 16, 0x83, 2,    0x0a, 0x02, 3,    0x0c, RBP,  16, 0x2e,
                                 32,   0x10, 3,  2,    0x77, 8,    0x0b, 0x0f, 2,    0x77, 8};
  static const uint64_t offsets[] = {0, 1, 2, 3, 4, 5, 100};
  enum { COUNT = sizeof offsets / sizeof *offsets };
  struct rule rules[COUNT];
  struct bytes section = section_of(code, sizeof code);
  for (size_t size = 0; size < section.size; size++) {
    const struct bytes cut = {section.data, size, size};
    read_rules(&cut, rules, offsets, COUNT);
    ck_assert(!rules[0].is_known);
  }
  for (size_t at = 0; at < section.size; at++)
    for (unsigned change = 1; change < 256; change++) {
      section.data[at] ^= (uint8_t)change;
      read_rules(&section, rules, offsets, COUNT);
      section.data[at] ^= (uint8_t)change;
    }
  read_rules(&section, rules, offsets, COUNT);
  check_rule(rules[1], RSP, 16);
  check_rule(rules[3], RSP, 16);
  bytes_free(&section);
}

/* ---- Personality routines ---- */

TEST(personality_routines) {
  static const struct {
    const char *augmentation;
    uint8_t encoding;
    uint32_t value;
    uint64_t expected; /* 0: none; from the section's start where it is relative */
  } cases[] = {
      {"zPR", 0x03, 0x30000, 0x30000},
      {"zPR", SDATA4_PLACE, 0x1000, ADDRESS + 18 + 0x1000},
      {"zPR", SDATA4_PLACE, -0x1000u, ADDRESS + 18 - 0x1000},
      {"zSPR", 0x03, 0x30000, 0x30000}, /* of a signal handler */
      {"zBPR", 0x03, 0x30000, 0x30000},
      {"zGPR", 0x03, 0x30000, 0x30000},
      {"zQPR", 0x03, 0x30000, 0},
      {"zPR", 0x03, 0, 0},
      {"zPR", INDIRECT | SDATA4_PLACE, 0x1000, 0},
      {"zPR", 0x2b, 0x1000, 0},
  };
  for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct bytes data = {0}, section = {0};
    struct code_ranges ranges = {0};
    bytes_u8(&data, cases[i].encoding);
    bytes_u32(&data, cases[i].value);
    bytes_u8(&data, SDATA4_PLACE);
    const size_t cie = add_cie(&section, cases[i].augmentation, data.data, (uint8_t)data.size);
    add_fde(&section, cie, 0x20000, 0x10);
    const struct section_bytes frames = {section.data, section.size, ADDRESS};
    ck_assert(eh_frame_add_personalities(&ranges, &frames));
    ck_assert_uint_eq(ranges.count, cases[i].expected != 0);
    if (ranges.count > 0) {
      ck_assert_uint_eq(ranges.items[0].start, cases[i].expected);
      ck_assert_uint_eq(ranges.items[0].end, cases[i].expected + 1);
    }
    code_ranges_free(&ranges);
    bytes_free(&section);
    bytes_free(&data);
  }
}

/* ---- Landing pads ---- */

enum { TABLES = 0x40000, VISITS_MAX = 8 };

struct visits {
  struct {
    struct code_range calls;
    uint64_t landing;
  } items[VISITS_MAX];
  unsigned count;
};

static void note_visit(void *context, struct code_range function, struct code_range calls,
                       uint64_t landing) {
  struct visits *visits = context;
  ck_assert_uint_eq(function.start, CODE);
  ck_assert_uint_eq(function.end, CODE + CODE_SIZE);
  ck_assert_uint_lt(visits->count, VISITS_MAX);
  visits->items[visits->count].calls = calls;
  visits->items[visits->count++].landing = landing;
}

/* An FDE whose language-specific data are at an address: as a distance, or as it is. */
static void add_fde_with_data(struct bytes *section, uint8_t encoding, uint64_t data) {
  const uint8_t encodings[] = {encoding, SDATA4_PLACE};
  const size_t cie = add_cie(section, "zLR", encodings, sizeof encodings);
  const size_t start = start_fde(section, cie);
  bytes_u32(section, (uint32_t)(CODE - (ADDRESS + section->size)));
  bytes_u32(section, CODE_SIZE);
  bytes_u8(section, 8);
  if ((encoding & 0x70) != 0 && data != 0)
    data -= ADDRESS + section->size;
  bytes_u64(section, data);
  end_entry(section, start);
}

/* The landing pads of so many functions with the same data. */
static bool landings(const uint8_t *table, size_t size, uint8_t encoding, uint64_t data,
                     unsigned functions, struct visits *visits) {
  struct bytes section = {0};
  *visits = (struct visits){0};
  for (unsigned i = 0; i < functions; i++)
    add_fde_with_data(&section, encoding, data);
  uint8_t *exact = bytes_exact(table, size);
  const struct section_bytes frames = {section.data, section.size, ADDRESS};
  const struct section_bytes tables = {exact, size, TABLES};
  const bool ok = eh_frame_landings(&frames, &tables, note_visit, visits);
  free(exact);
  bytes_free(&section);
  return ok;
}

static void check_visit(const struct visits *visits, unsigned number, uint64_t start, uint64_t end,
                        uint64_t landing) {
  ck_assert_uint_lt(number, visits->count);
  ck_assert_uint_eq(visits->items[number].calls.start, CODE + start);
  ck_assert_uint_eq(visits->items[number].calls.end, CODE + end);
  ck_assert_uint_eq(visits->items[number].landing, landing);
}

/* A table's calls: at 0x10, with a landing pad at `base` + 0x40, and at 0x20, with none. */
#define CALLS 0x10, 4, 0x40, 1, 0x20, 8, 0, 0

TEST(landing_pads) {
  static const struct {
    uint8_t bytes[24];
    uint64_t base; /* 0: the table is unreadable from the start */
  } cases[] = {
      {{0xff, 0xff, 0x01, 8, CALLS}, CODE},
      {{0xff, 0x9b, 0x7f, 0x01, 8, CALLS}, CODE}, /* with types */
      {{0x00, 0, 0, 3, 0, 0, 0, 0, 0, 0xff, 0x01, 8, CALLS}, 0x30000},
      {{0x03, 0, 0, 3, 0, 0xff, 0x01, 8, CALLS}, 0x30000},
      {{0x13, 0, 1, 0, 0, 0xff, 0x01, 8, CALLS}, TABLES + 1 + 0x100},
      {{0x1b, 0, 0xff, 0xff, 0xff, 0xff, 0x01, 8, CALLS}, TABLES + 1 - 0x100},
      {{0x2b, 0, 0, 0, 0, 0xff, 0x01, 8, CALLS}, 0},
      {{0x83, 0, 0, 0, 0, 0xff, 0x01, 8, CALLS}, 0},
      {{0x9b, 0, 0, 0, 0, 0xff, 0x01, 8, CALLS}, 0}, /* through a word, relative to the place */
      {{0xff, 0xff, 0x11, 8, CALLS}, 0},
      {{0xff, 0xff, 0x0f, 8, CALLS}, 0},
      {{0xff, 0xff, 0x01, 21, CALLS}, 0}, /* 20 bytes are left */
  };
  struct visits visits;
  for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
    ck_assert(landings(cases[i].bytes, sizeof cases[i].bytes, SDATA4_PLACE, TABLES, 1, &visits));
    ck_assert_uint_eq(visits.count, 1);
    if (cases[i].base == 0)
      check_visit(&visits, 0, 0, CODE_SIZE, LANDING_UNKNOWN);
    else
      check_visit(&visits, 0, 0x10, 0x14, cases[i].base + 0x40);
  }
}

/* Calls in another format; and one that is cut, by the table's end or by its own. */
TEST(landing_pads_of_more_calls) {
  static const uint8_t wide[] = {0xff, 0xff, 0x02, 14, 0x10, 0, 4, 0, 0x40,
                                 0,    1,    0x20, 0,  8,    0, 0, 1, 0};
  static const uint8_t cut[] = {0xff, 0xff, 0x01, 6, 0x10, 4, 0x40, 1, 0x20, 8, 0x50, 1};
  struct visits visits;
  ck_assert(landings(wide, sizeof wide, SDATA4_PLACE, TABLES, 1, &visits));
  ck_assert_uint_eq(visits.count, 2);
  check_visit(&visits, 0, 0x10, 0x14, CODE + 0x40);
  check_visit(&visits, 1, 0x20, 0x28, CODE + 0x100);
  ck_assert(landings(cut, sizeof cut, SDATA4_PLACE, TABLES, 1, &visits));
  ck_assert_uint_eq(visits.count, 2);
  check_visit(&visits, 1, 0, CODE_SIZE, LANDING_UNKNOWN);
}

/* Where an FDE says its function's data are: somewhere, nowhere, or in an unreadable way. */
TEST(places_of_landing_pads) {
  static const uint8_t table[] = {0xff, 0xff, 0x01, 8, CALLS};
  static const struct {
    uint8_t encoding;
    uint64_t data;
    unsigned count;
    bool is_known;
  } cases[] = {
      {SDATA4_PLACE, TABLES, 1, true},
      {SDATA8_PLACE, TABLES, 1, true},
      {ABSOLUTE, TABLES, 1, true},
      {0x03, TABLES, 1, true},
      {ABSOLUTE, 0, 0, false},
      {SDATA4_PLACE, 0, 0, false},
      {0xff, TABLES, 0, false}, /* omitted */
      {0x2b, TABLES, 1, false},
      {INDIRECT, TABLES, 1, false},
      {SDATA4_PLACE, TABLES - 1, 1, false},
      {SDATA4_PLACE, TABLES + sizeof table, 1, false},
  };
  struct visits visits;
  for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
    ck_assert(landings(table, sizeof table, cases[i].encoding, cases[i].data, 1, &visits));
    ck_assert_uint_eq(visits.count, cases[i].count);
    if (cases[i].is_known)
      check_visit(&visits, 0, 0x10, 0x14, CODE + 0x40);
    else if (cases[i].count > 0)
      check_visit(&visits, 0, 0, CODE_SIZE, LANDING_UNKNOWN);
  }
}

TEST(landing_pads_without_data) {
  struct bytes section = {0};
  struct visits visits = {0};
  add_fde(&section, add_usual_cie(&section), CODE, CODE_SIZE);
  const struct section_bytes frames = {section.data, section.size, ADDRESS}, tables = {0};
  ck_assert(eh_frame_landings(&frames, &tables, note_visit, &visits));
  ck_assert_uint_eq(visits.count, 0);
  bytes_free(&section);
}

/* Data that many functions share would be read again for each. */
TEST(shared_landing_pads) {
  static const uint8_t table[] = {0xff, 0xff, 0x01, 8, CALLS};
  struct visits visits;
  ck_assert(landings(table, sizeof table, SDATA4_PLACE, TABLES, 4, &visits));
  ck_assert_uint_eq(visits.count, 4);
  ck_assert(!landings(table, sizeof table, SDATA4_PLACE, TABLES, 5, &visits));
}
