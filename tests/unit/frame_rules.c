/* frame_rules.c - tests the rows of an FDE's instructions: each rule of a register, and of the CFA; and where rows start and
 * end.
 */
#include "elf/frame_rules.h"
#include "bytes.h"
#include "suite.h"

#include <stdlib.h>

enum { CODE = 0x20000, CODE_SIZE = 0x200, RBX = 3, RSP = 7, ROWS_MAX = 8 };

struct rows {
  struct frame_rules rules[ROWS_MAX];
  struct code_range ranges[ROWS_MAX];
  unsigned count, limit; /* that many are wanted */
  bool ok;
};

static bool visit(void *context, struct frame_rules *rules, struct code_range range) {
  struct rows *rows = context;
  ck_assert_uint_lt(rows->count, ROWS_MAX);
  rows->rules[rows->count] = *rules;
  rows->ranges[rows->count] = range;
  return ++rows->count < rows->limit;
}

/* def_cfa rsp + 8, and rbx at CFA - 16. */
static const uint8_t usual[] = {0x0c, RSP, 8, 0x83, 2};

static struct rows run_after(const uint8_t *start, size_t start_size, const uint8_t *code,
                             size_t size) {
  struct rows rows = {.limit = ROWS_MAX};
  uint8_t *exact = bytes_exact(code, size);
  const struct cie_facts cie = {.encoding = FORMAT_UDATA4,
                                .code_alignment = 2,
                                .data_alignment = (uint64_t)-8,
                                .instructions = cursor_open(start, start_size, 0)};
  rows.ok = frame_rules_run(&cie, cursor_open(exact, size, 0),
                            (struct code_range){CODE, CODE + CODE_SIZE}, visit, &rows);
  free(exact);
  return rows;
}

#define BYTES(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})
#define RUN(...) run_after(usual, sizeof usual, BYTES(__VA_ARGS__))

/* ---- Places ---- */

TEST(rows_in_order) {
  struct rows rows = RUN(0x41, 0x0e, 16, 0x42, 0x0e, 24); /* advance, def_cfa_offset; twice */
  static const uint64_t starts[] = {0, 2, 6, CODE_SIZE};
  ck_assert(rows.ok);
  ck_assert_uint_eq(rows.count, 3);
  for (unsigned i = 0; i < 3; i++) {
    ck_assert_uint_eq(rows.ranges[i].start, CODE + starts[i]);
    ck_assert_uint_eq(rows.ranges[i].end, CODE + starts[i + 1]);
    ck_assert_int_eq(rows.rules[i].cfa, RULE_REGISTER);
    ck_assert_uint_eq(rows.rules[i].cfa_register, RSP);
    ck_assert_int_eq(rows.rules[i].cfa_value, 8 * (int32_t)(i + 1));
  }
}

/* set_loc goes on, not back. */
TEST(places_that_are_set) {
  struct rows rows = RUN(0x01, 0x10, 0, 2, 0, 0x0e, 16);
  ck_assert(rows.ok);
  ck_assert_uint_eq(rows.count, 2);
  ck_assert_uint_eq(rows.ranges[1].start, CODE + 0x10);
  rows = RUN(0x01, 0x10, 0, 2, 0, 0x0e, 16, 0x01, 0x0e, 0, 2, 0);
  ck_assert(!rows.ok);
  ck_assert_uint_eq(rows.count, 1);
}

TEST(rows_behind_the_end_are_cut) {
  struct rows rows = RUN(0x03, 0x80, 0, 0x0e, 16, 0x03, 0xff, 0, 0x0e, 24); /* advance_loc2 */
  ck_assert(!rows.ok);                                                      /* the end is behind */
  ck_assert_uint_eq(rows.count, 2);
  ck_assert_uint_eq(rows.ranges[1].end, CODE + CODE_SIZE);
}

TEST(a_visitor_ends_the_run) {
  struct rows rows = {.limit = 1};
  const uint8_t code[] = {0x41, 0x0e, 16, 0x42};
  const struct cie_facts cie = {.code_alignment = 1, .instructions = cursor_open(usual, 3, 0)};
  ck_assert(!frame_rules_run(&cie, cursor_open(code, sizeof code, 0),
                             (struct code_range){CODE, CODE + CODE_SIZE}, visit, &rows));
  ck_assert_uint_eq(rows.count, 1);
}

/* Rows need a rule of the CFA. */
TEST(no_cfa) {
  const struct rows rows = run_after(NULL, 0, BYTES(0x41, 0x0c, RSP, 8));
  ck_assert(!rows.ok);
  ck_assert_uint_eq(rows.count, 0);
}

/* ---- Registers ---- */

TEST(rules_of_a_register) {
  static const struct {
    uint8_t code[8], size;
    enum frame_rule rule;
    int32_t value;
  } ways[] = {
      {{0}, 1, RULE_AT, -16},                           /* as the CIE has it */
      {{0x08, RBX}, 2, RULE_SAME, 0},                   /* same_value */
      {{0x07, RBX}, 2, RULE_LOST, 0},                   /* undefined */
      {{0x07, RBX, 0x06, RBX}, 4, RULE_AT, -16},        /* restore_extended */
      {{0x07, RBX, 0xc3}, 3, RULE_AT, -16},             /* restore */
      {{0x83, 5}, 2, RULE_AT, -40},                     /* offset */
      {{0x05, RBX, 3}, 3, RULE_AT, -24},                /* offset_extended */
      {{0x11, RBX, 0x7d}, 3, RULE_AT, 24},              /* offset_extended_sf */
      {{0x2f, RBX, 3}, 3, RULE_AT, 24},                 /* GNU_negative_offset_extended */
      {{0x14, RBX, 3}, 3, RULE_IS, -24},                /* val_offset */
      {{0x15, RBX, 0x7d}, 3, RULE_IS, 24},              /* val_offset_sf */
      {{0x09, RBX, 12}, 3, RULE_REGISTER, 12},          /* register */
      {{0x10, RBX, 1, 0x30}, 4, RULE_AT_EXPRESSION, 2}, /* expression */
      {{0x16, RBX, 1, 0x30}, 4, RULE_IS_EXPRESSION, 2}, /* val_expression */
  };
  for (unsigned i = 0; i < sizeof ways / sizeof *ways; i++) {
    const struct rows rows = run_after(usual, sizeof usual, ways[i].code, ways[i].size);
    ck_assert_msg(rows.ok, "%u", i);
    ck_assert_uint_eq(rows.count, 1);
    ck_assert_msg(rows.rules[0].kinds[RBX] == ways[i].rule, "%u", i);
    ck_assert_msg(rows.rules[0].values[RBX] == ways[i].value, "%u: %d", i,
                  rows.rules[0].values[RBX]);
    ck_assert_int_eq(rows.rules[0].kinds[RBX + 1], RULE_SAME);
  }
}

TEST(instructions_without_an_effect) {
  const struct rows rows =
      RUN(0, 0x2d, 0x2c, 0x2e, 0x90, 1); /* nop, negate_ra_state, GNU_args_size */
  ck_assert(rows.ok);
  ck_assert_int_eq(rows.rules[0].kinds[RBX], RULE_AT);
  ck_assert_int_eq(rows.rules[0].cfa_value, 8);
}

TEST(instructions_that_cant_be_read) {
  ck_assert(!RUN(0x3f).ok);
  ck_assert(!RUN(0x0e).ok);
  ck_assert(!RUN(0x83).ok);
  ck_assert(!RUN(0x02).ok);
  ck_assert(!RUN(0x10, RBX, 2, 0x30).ok);
  ck_assert(!RUN(0x0b).ok); /* restore_state, of none */
}

/* ---- The CFA ---- */

TEST(rules_of_the_cfa) {
  static const struct {
    uint8_t code[8], size;
    enum frame_rule rule;
    uint32_t reg;
    int32_t value;
  } ways[] = {
      {{0x0c, 6, 16}, 3, RULE_REGISTER, 6, 16},           /* def_cfa */
      {{0x12, 6, 0x7e}, 3, RULE_REGISTER, 6, 16},         /* def_cfa_sf */
      {{0x0d, 6}, 2, RULE_REGISTER, 6, 8},                /* def_cfa_register */
      {{0x0e, 24}, 2, RULE_REGISTER, RSP, 24},            /* def_cfa_offset */
      {{0x13, 0x7d}, 2, RULE_REGISTER, RSP, 24},          /* def_cfa_offset_sf */
      {{0x0f, 1, 0x30}, 3, RULE_IS_EXPRESSION, 0, 1},     /* def_cfa_expression */
      {{0x0a, 0x0e, 24, 0x0b}, 4, RULE_REGISTER, RSP, 8}, /* remember_state, restore_state */
  };
  for (unsigned i = 0; i < sizeof ways / sizeof *ways; i++) {
    const struct rows rows = run_after(usual, sizeof usual, ways[i].code, ways[i].size);
    ck_assert_msg(rows.ok, "%u", i);
    ck_assert_uint_eq(rows.count, 1);
    ck_assert_msg(rows.rules[0].cfa == ways[i].rule, "%u", i);
    ck_assert_msg(rows.rules[0].cfa_register == ways[i].reg, "%u", i);
    ck_assert_msg(rows.rules[0].cfa_value == ways[i].value, "%u", i);
  }
  ck_assert(!RUN(0x0f, 1, 0x30, 0x0e, 16).ok); /* the offset of an expression */
  ck_assert(run_after(BYTES(0x0d, RSP), BYTES(0x0e, 16)).ok);
  ck_assert(!run_after(NULL, 0, BYTES(0x0e, 16)).ok);
}
