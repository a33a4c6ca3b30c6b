/* safepoints.c - tests format/safepoints.h: the recognition of statepoints among records, the order
 * of functions and records, merged and omitted ones, and the functions' ends.
 */
#include "format/safepoints.h"

#include "elf/eh_frame.h"
#include "format/packed_write.h"
#include "suite.h"
#include "v3_writer.h"

#include <stdlib.h>
#include <string.h>

/* Adds the section in `bytes`, and frees them. */
static bool add(struct safepoints *table, struct bytes *bytes, enum statepoint_rule rule) {
  uint8_t *exact = bytes_exact(bytes->data, bytes->size);
  const bool ok =
      safepoints_add_v3(table, exact, bytes->size, &(struct statepoint_signs){.rule = rule});
  free(exact);
  bytes_free(bytes);
  return ok;
}

/* ---- The form of a statepoint --------------------------------------------------------------- */

/* The reading of a record: counts of locations. */
struct form {
  enum safepoint_kind kind;
  unsigned deopt, pairs, list;
};

static const struct form REFUSED = {(enum safepoint_kind) - 1, 0, 0, 0};

/* Location number n of a record, by a letter: R, D, I, C (-1), L (a large constant), or a digit, a
 * constant. */
static void add_letter(struct bytes *bytes, char letter, unsigned n) {
  switch (letter) {
  case 'R':
    v3_location(bytes, V3_REGISTER, 8, (uint16_t)n, 0);
    break;
  case 'D':
    v3_location(bytes, V3_DIRECT, 8, 7, (int32_t)(8 * n));
    break;
  case 'I':
    v3_location(bytes, V3_INDIRECT, 8, 7, (int32_t)(8 * n));
    break;
  case 'L':
    v3_location(bytes, V3_CONSTANT_INDEX, 8, 0, 0);
    break;
  default:
    v3_location(bytes, V3_CONSTANT, 8, 0, letter == 'C' ? -1 : letter - '0');
    break;
  }
}

/* Takes apart how the only record of a table was read. */
static struct form form_of(const struct safepoints *table) {
  const struct safepoint *record = &table->records[0];
  const struct intern_sequence live = intern_get(&table->live, record->live);
  struct form form = {.kind = safepoints_kind(table, record)};
  form.deopt = (unsigned)intern_get(&table->lists, record->deopt).count;
  for (uint64_t i = 0; i < live.count; i++) {
    const uint64_t item = live.words[i];
    if (safepoint_item_is_list(item))
      form.list = (unsigned)intern_get(&table->lists, safepoint_item_list(item)).count;
    else
      form.pairs++;
  }
  return form;
}

/* Reads one record with these locations. */
static struct form read_form(const char *letters, enum statepoint_rule rule) {
  struct bytes bytes = {0};
  struct safepoints table = {0};
  v3_map(&bytes, 1, 1, 1);
  v3_function(&bytes, 0x1000, 24, 1);
  v3_constant(&bytes, UINT64_MAX);
  v3_record(&bytes, 7, 0x10, (uint16_t)strlen(letters));
  for (unsigned i = 0; letters[i] != 0; i++)
    add_letter(&bytes, letters[i], i);
  v3_live_outs(&bytes, 0);
  v3_end_record(&bytes);
  const bool ok = add(&table, &bytes, rule) && safepoints_finish(&table);
  const struct form form = ok ? form_of(&table) : REFUSED;
  ck_assert(ok == (table.error == NULL));
  safepoints_free(&table);
  return form;
}

static void check_form(const char *letters, enum statepoint_rule rule, struct form expected) {
  const struct form form = read_form(letters, rule);
  ck_assert_msg(form.kind == expected.kind && form.deopt == expected.deopt &&
                    form.pairs == expected.pairs && form.list == expected.list,
                "%s: kind %d, %u deopt, %u pairs, %u in a list", letters, (int)form.kind,
                form.deopt, form.pairs, form.list);
}

static void check_statepoint(const char *letters, unsigned deopt, unsigned pairs,
                             unsigned allocas) {
  const struct form expected = {SAFEPOINT_STATEPOINT, deopt, pairs, allocas};
  check_form(letters, STATEPOINTS_AUTO, expected);
  check_form(letters, STATEPOINTS_ALL, expected);
}

/* Another kind than a statepoint, for every option. */
static void check_plain(const char *letters) {
  const struct form expected = {SAFEPOINT_STACKMAP, 0, 0, (unsigned)strlen(letters)};
  check_form(letters, STATEPOINTS_AUTO, expected);
  check_form(letters, STATEPOINTS_NONE, expected);
  check_form(letters, STATEPOINTS_ALL, REFUSED);
}

TEST(statepoints_by_their_form) {
  check_statepoint("000", 0, 0, 0);
  check_statepoint("000II", 0, 1, 0);
  check_statepoint("000IIII", 0, 2, 0);
  check_statepoint("900", 0, 0, 0);
  check_statepoint("033IIIII", 3, 1, 0);
  check_statepoint("002RL", 2, 0, 0);
  check_statepoint("002RLII", 2, 1, 0);
  check_statepoint("000RR", 0, 1, 0);
  check_statepoint("000CL", 0, 1, 0);
}

TEST(allocas_are_the_direct_locations_at_the_end) {
  check_statepoint("000D", 0, 0, 1);
  check_statepoint("000DDD", 0, 0, 3);
  check_statepoint("000IID", 0, 1, 1);
  check_statepoint("000IIDD", 0, 1, 2);
  check_statepoint("001DIID", 1, 1, 1);
  check_statepoint("001DD", 1, 0, 1);
  check_statepoint("002DD", 2, 0, 0);
}

/* A direct location may be a derived reference: then one less is an alloca. */
TEST(a_direct_location_in_the_last_pair) {
  check_statepoint("000ID", 0, 1, 0);
  check_statepoint("000IIID", 0, 2, 0);
  check_statepoint("000IDD", 0, 1, 1);
  check_statepoint("000IDDD", 0, 1, 2);
  check_statepoint("000DIII", 0, 2, 0);
  check_statepoint("000DI", 0, 1, 0);
  check_statepoint("000DIDD", 0, 1, 2);
}

static bool may_return(const void *code, uint64_t address) {
  (void)code, (void)address;
  return true;
}

static bool may_not_return(const void *code, uint64_t address) {
  (void)code, (void)address;
  return false;
}

/* Of an unknown ID: the place decides, and then the slots' register. */
TEST(statepoints_by_their_place) {
  enum { RSP = 7 };
  static const struct {
    const char *letters;
    uint64_t id;
    uint32_t offset;
    bool may_return;
    uint16_t stack_pointer;
    uint64_t frame_size, unlike;
    enum safepoint_kind kind;
    unsigned doubtful;
  } cases[] = {
      {"000II", 7, 0x10, true, RSP, 24, 0, SAFEPOINT_STATEPOINT, 0},
      {"000II", 7, 0x10, false, RSP, 24, 0x1010, SAFEPOINT_STACKMAP, 0},
      {"000II", 7, 0, true, RSP, 24, 0x1000, SAFEPOINT_STACKMAP, 0},
      {"000II", SAFEPOINT_USUAL_ID, 0x10, false, RSP, 24, 0, SAFEPOINT_STATEPOINT, 0},
      {"000II", 7, 0x10, true, 0, 24, 0, SAFEPOINT_STACKMAP, 1},
      {"000II", 7, 0x10, true, RSP, SAFEPOINT_FRAME_SIZE_UNKNOWN, 0, SAFEPOINT_STACKMAP, 1},
      {"000RR", 7, 0x10, true, RSP, 24, 0, SAFEPOINT_STACKMAP, 1},
      {"000", 7, 0x10, true, 0, 24, 0, SAFEPOINT_STATEPOINT, 0},
  };
  for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
    const struct statepoint_signs signs = {.rule = STATEPOINTS_AUTO,
                                           .may_return_to =
                                               cases[i].may_return ? may_return : may_not_return,
                                           .stack_pointer = cases[i].stack_pointer};
    struct bytes bytes = {0};
    struct safepoints table = {0};
    v3_map(&bytes, 1, 0, 1);
    v3_function(&bytes, 0x1000, cases[i].frame_size, 1);
    v3_record(&bytes, cases[i].id, cases[i].offset, (uint16_t)strlen(cases[i].letters));
    for (unsigned k = 0; cases[i].letters[k] != 0; k++)
      add_letter(&bytes, cases[i].letters[k], k);
    v3_live_outs(&bytes, 0);
    v3_end_record(&bytes);
    ck_assert(safepoints_add_v3(&table, bytes.data, bytes.size, &signs));
    ck_assert_int_eq(safepoints_kind(&table, &table.records[0]), cases[i].kind);
    ck_assert_uint_eq(table.functions[0].unlike, cases[i].unlike);
    ck_assert_uint_eq(table.records_doubtful, cases[i].doubtful);
    safepoints_free(&table);
    bytes_free(&bytes);
  }
}

TEST(records_that_are_no_statepoints) {
  check_plain("");
  check_plain("0");
  check_plain("00");
  check_plain("000I");
  check_plain("000III");
  check_plain("001");
  check_plain("003II");
  check_plain("00C");
  check_plain("I00");
  check_plain("0I0");
  check_plain("00I");
  check_plain("00L");
  check_plain("L00");
  check_plain("R");
  check_plain("DDD");
}

/* Constants that no compiler writes for a statepoint; but the user may know better. */
TEST(senseless_constants) {
  static const char *const letters[] = {"C00", "0C0", "040II", "090"};
  for (unsigned i = 0; i < 4; i++) {
    const struct form plain = {SAFEPOINT_STACKMAP, 0, 0, (unsigned)strlen(letters[i])};
    check_form(letters[i], STATEPOINTS_AUTO, plain);
    check_form(letters[i], STATEPOINTS_NONE, plain);
    check_form(letters[i], STATEPOINTS_ALL,
               (struct form){SAFEPOINT_STATEPOINT, 0, (unsigned)strlen(letters[i]) / 2 - 1, 0});
  }
}

TEST(no_statepoints_at_all) {
  check_form("000", STATEPOINTS_NONE, (struct form){SAFEPOINT_STACKMAP, 0, 0, 3});
  check_form("000II", STATEPOINTS_NONE, (struct form){SAFEPOINT_STACKMAP, 0, 0, 5});
}

TEST(calling_conventions_and_flags) {
  static const struct {
    int32_t convention, flags;
    enum safepoint_kind kind;
  } cases[] = {
      {0, 0, SAFEPOINT_STATEPOINT},       {1023, 3, SAFEPOINT_STATEPOINT},
      {1024, 0, SAFEPOINT_STACKMAP},      {0, 4, SAFEPOINT_STACKMAP},
      {-1, 0, SAFEPOINT_STACKMAP},        {0, -1, SAFEPOINT_STACKMAP},
      {INT32_MIN, 0, SAFEPOINT_STACKMAP}, {INT32_MAX, 0, SAFEPOINT_STACKMAP},
  };
  for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct bytes bytes = {0};
    struct safepoints table = {0};
    v3_map(&bytes, 1, 0, 1);
    v3_function(&bytes, 0x1000, 24, 1);
    v3_record(&bytes, 7, 0x10, 3);
    v3_location(&bytes, V3_CONSTANT, 8, 0, cases[i].convention);
    v3_location(&bytes, V3_CONSTANT, 8, 0, cases[i].flags);
    v3_location(&bytes, V3_CONSTANT, 8, 0, 0);
    v3_live_outs(&bytes, 0);
    v3_end_record(&bytes);
    ck_assert(add(&table, &bytes, STATEPOINTS_AUTO));
    ck_assert_int_eq(safepoints_kind(&table, &table.records[0]), cases[i].kind);
    const bool statepoint = cases[i].kind == SAFEPOINT_STATEPOINT;
    ck_assert_int_eq(table.records[0].calling_convention, statepoint ? cases[i].convention : 0);
    ck_assert_int_eq(table.records[0].flags, statepoint ? cases[i].flags : 0);
    safepoints_free(&table);
  }
}

/* ---- Signs beside the form ------------------------------------------------------------------ */

static bool no_code(const void *code, uint64_t address) {
  (void)code;
  (void)address;
  return true;
}

/* The kind of a record with these locations and so many live-outs, by signs of a machine whose stack
 * pointer is register 7. */
static enum safepoint_kind kind_by_signs(const char *letters, uint16_t live_outs,
                                         const struct statepoint_ids *ids) {
  const struct statepoint_signs signs = {
      .rule = STATEPOINTS_AUTO, .may_return_to = no_code, .ids = ids, .stack_pointer = 7};
  struct bytes bytes = {0};
  struct safepoints table = {0};
  v3_map(&bytes, 1, 0, 1);
  v3_function(&bytes, 0x1000, 24, 1);
  v3_record(&bytes, 9, 0x10, (uint16_t)strlen(letters));
  for (unsigned i = 0; letters[i] != 0; i++)
    add_letter(&bytes, letters[i], i);
  v3_live_outs(&bytes, live_outs);
  for (unsigned i = 0; i < live_outs; i++)
    v3_live_out(&bytes, 1, 8);
  v3_end_record(&bytes);
  ck_assert(safepoints_add_v3(&table, bytes.data, bytes.size, &signs));
  const enum safepoint_kind kind = safepoints_kind(&table, &table.records[0]);
  ck_assert_uint_eq(table.records_doubtful,
                    kind == SAFEPOINT_STACKMAP && live_outs + (ids != NULL) == 0);
  safepoints_free(&table);
  bytes_free(&bytes);
  return kind;
}

/* Slots of the stack pointer are a statepoint's; two registers leave a record in doubt; one without
 * pairs isn't in doubt. */
TEST(operands_decide_without_an_id) {
  ck_assert_int_eq(kind_by_signs("000II", 0, NULL), SAFEPOINT_STATEPOINT);
  ck_assert_int_eq(kind_by_signs("000RR", 0, NULL), SAFEPOINT_STACKMAP);
  ck_assert_int_eq(kind_by_signs("000", 0, NULL), SAFEPOINT_STATEPOINT);
  ck_assert_int_eq(kind_by_signs("001R", 0, NULL), SAFEPOINT_STATEPOINT);
}

/* Only patch points have live-outs. */
TEST(live_outs_decide) { ck_assert_int_eq(kind_by_signs("000II", 1, NULL), SAFEPOINT_STACKMAP); }

TEST(a_list_of_ids_decides) {
  struct statepoint_range ranges[] = {{5, 8}, {9, 9}};
  struct statepoint_ids ids = {.items = ranges, .count = 1};
  ck_assert_int_eq(kind_by_signs("000II", 0, &ids), SAFEPOINT_STACKMAP);
  ids.count = 2;
  ck_assert_int_eq(kind_by_signs("000RR", 0, &ids), SAFEPOINT_STATEPOINT);
}

/* ---- Locations ------------------------------------------------------------------------------ */

TEST(locations_come_back) {
  static const struct stackpack_location locations[] = {
      {STACKPACK_REGISTER, 0, 0, 0},
      {STACKPACK_REGISTER, UINT16_MAX, UINT16_MAX, INT32_MIN},
      {STACKPACK_DIRECT, 1, 2, INT32_MAX},
      {STACKPACK_INDIRECT, 2, 1, -8},
      {STACKPACK_CONSTANT, 8, 0, -1},
      {STACKPACK_LARGE_CONSTANT, 8, 0, -1},
      {STACKPACK_LARGE_CONSTANT, 8, 0, INT64_MIN},
  };
  enum { COUNT = sizeof locations / sizeof *locations };
  struct safepoints table = {0};
  for (uint32_t i = 0; i < COUNT; i++)
    ck_assert_uint_eq(safepoints_add_location(&table, locations[i]), i);
  for (uint32_t i = 0; i < COUNT; i++) {
    ck_assert_uint_eq(safepoints_add_location(&table, locations[i]), i);
    for (uint32_t k = 0; k < COUNT; k++)
      ck_assert((safepoint_location_compare(safepoints_location(&table, i), locations[k]) == 0) ==
                (i == k));
  }
  safepoints_free(&table);
}

TEST(the_order_of_locations) {
  static const struct stackpack_location ascending[] = {
      {STACKPACK_REGISTER, 8, 9, 9},         {STACKPACK_DIRECT, 0, 0, 0},
      {STACKPACK_DIRECT, 9, 1, -5},          {STACKPACK_DIRECT, 8, 1, 5},
      {STACKPACK_DIRECT, 9, 1, 5},           {STACKPACK_INDIRECT, 0, 0, INT64_MIN},
      {STACKPACK_INDIRECT, 0, 0, INT64_MAX},
  };
  for (int i = 0; i < 7; i++)
    for (int k = 0; k < 7; k++) {
      const int order = safepoint_location_compare(ascending[i], ascending[k]);
      ck_assert_int_eq((order > 0) - (order < 0), (i > k) - (i < k));
    }
}

/* Pairs are a set: their order and repetitions are irrelevant. */
TEST(live_sets_are_sets) {
  struct safepoints table = {0};
  uint64_t slots[3], items[8];
  for (uint64_t i = 0; i < 3; i++)
    slots[i] = safepoints_add_location(
        &table, (struct stackpack_location){STACKPACK_INDIRECT, 8, 7, (int64_t)(80 - 8 * i)});
  for (unsigned i = 0; i < 3; i++)
    items[i] = slots[i] << 32 | slots[i];
  const uint32_t first = safepoints_add_live(&table, items, 3, 0);
  items[0] = items[3] = slots[0] << 32 | slots[0];
  items[1] = items[4] = slots[2] << 32 | slots[2];
  items[2] = slots[1] << 32 | slots[1];
  ck_assert_uint_eq(safepoints_add_live(&table, items, 5, 0), first);
  items[0] = slots[0] << 32 | slots[1];
  ck_assert_uint_ne(safepoints_add_live(&table, items, 1, 0), first);
  items[0] = slots[1] << 32 | slots[0];
  ck_assert_uint_ne(safepoints_add_live(&table, items, 1, 0), first);
  safepoints_free(&table);
}

TEST(large_live_sets_are_sorted_too) {
  enum { PAIRS = 1000 };
  struct safepoints table = {0};
  static uint64_t items[2 * PAIRS];
  for (uint64_t i = 0; i < 2 * PAIRS; i++) {
    const uint64_t slot = safepoints_add_location(
        &table, (struct stackpack_location){STACKPACK_INDIRECT, 8, 7, (int64_t)(i * 7919 % PAIRS)});
    items[i] = slot << 32 | slot;
  }
  const uint32_t live = safepoints_add_live(&table, items, 2 * PAIRS, 0);
  const struct intern_sequence set = intern_get(&table.live, live);
  ck_assert_uint_eq(set.count, PAIRS);
  for (uint64_t i = 0; i < PAIRS; i++)
    ck_assert_int_eq(safepoints_location(&table, safepoint_item_base(set.words[i])).value, i);
  safepoints_free(&table);
}

/* ---- Order and merging ---------------------------------------------------------------------- */

/* Adds a function with one plain record, whose only location is a constant. */
static void add_function(struct bytes *bytes, uint64_t address, uint64_t frame_size,
                         uint32_t offset, int32_t constant) {
  v3_map(bytes, 1, 0, 1);
  v3_function(bytes, address, frame_size, 1);
  v3_record(bytes, 7, offset, 1);
  v3_location(bytes, V3_CONSTANT, 8, 0, constant);
  v3_live_outs(bytes, 0);
  v3_end_record(bytes);
}

/* Adds and finishes the section in `bytes`. */
static void finish(struct safepoints *table, struct bytes *bytes) {
  ck_assert(add(table, bytes, STATEPOINTS_AUTO));
  ck_assert(safepoints_finish(table));
}

TEST(functions_and_records_are_sorted) {
  struct bytes bytes = {0};
  struct safepoints table = {0};
  add_function(&bytes, 0x3000, 8, 0x10, 1);
  add_function(&bytes, 0x1000, 8, 0x4000, 2);
  add_function(&bytes, 0x2000, 16, 0x10, 3);
  add_function(&bytes, 0x2000, 8, 0x10, 4);
  finish(&table, &bytes);
  static const uint64_t functions[] = {0x1000, 0x2000, 0x2000, 0x3000};
  static const uint64_t records[] = {0x2010, 0x2010, 0x3010, 0x5000};
  static const uint32_t owners[] = {1, 2, 3, 0};
  ck_assert_uint_eq(table.function_count, 4);
  ck_assert_uint_eq(table.record_count, 4);
  for (uint32_t i = 0; i < 4; i++) {
    ck_assert_uint_eq(table.functions[i].address, functions[i]);
    ck_assert_uint_eq(table.records[i].address, records[i]);
    ck_assert_uint_eq(table.records[i].function, owners[i]);
    ck_assert_uint_eq(table.functions[i].records, 1);
    ck_assert_uint_eq(table.functions[owners[i]].first_record, i);
  }
  ck_assert_uint_eq(table.functions[1].frame_size, 8);
  ck_assert_uint_eq(table.functions[2].frame_size, 16);
  ck_assert_uint_eq(table.maps, 4);
  safepoints_free(&table);
}

TEST(equal_functions_and_records_are_merged) {
  struct bytes bytes = {0};
  struct safepoints table = {0};
  for (unsigned i = 0; i < 3; i++)
    add_function(&bytes, 0x1000, 8, 0x10, 1);
  add_function(&bytes, 0x1000, 8, 0x10, 2);
  add_function(&bytes, 0x1000, 8, 0x20, 1);
  finish(&table, &bytes);
  ck_assert_uint_eq(table.function_count, 1);
  ck_assert_uint_eq(table.functions[0].records, 3);
  ck_assert_uint_eq(table.record_count, 3);
  ck_assert_uint_eq(table.records_repeated, 2);
  safepoints_free(&table);
}

/* Records differ if they differ in anything. */
TEST(what_makes_records_different) {
  struct safepoints table = {0};
  uint64_t item;
  ck_assert(safepoints_add_function(&table, (struct safepoint_function){.address = 0x1000}));
  ck_assert_uint_eq(intern_add(&table.lists, NULL, 0), 0);
  const uint32_t empty = safepoints_add_live(&table, &item, 0, 0);
  item = safepoints_add_location(&table, (struct stackpack_location){STACKPACK_REGISTER, 8, 1, 0});
  const uint32_t live = safepoints_add_live(&table, &item, 1, 0);
  const uint32_t list = intern_add(&table.lists, &item, 1);
  const struct safepoint first = {.address = 0x1010, .live = empty};
  struct safepoint others[9];
  for (unsigned i = 0; i < 9; i++)
    others[i] = first;
  others[1].id = 1;
  others[2].calling_convention = 1;
  others[3].flags = 1;
  others[4].live = live;
  others[5].deopt = list;
  others[6].live_outs = list;
  others[7].address = 0x1011;
  for (unsigned i = 0; i < 9; i++)
    ck_assert(safepoints_add_record(&table, others[8 - i]));
  ck_assert(safepoints_finish(&table));
  ck_assert_uint_eq(table.record_count, 8);
  ck_assert_uint_eq(table.records_repeated, 1);
  ck_assert_uint_eq(table.records[7].address, 0x1011);
  safepoints_free(&table);
}

/* The order of records at one address follows their contents rather than the section. */
TEST(order_does_not_depend_on_the_input) {
  for (int turned = 0; turned < 2; turned++) {
    struct bytes bytes = {0};
    struct safepoints table = {0};
    add_function(&bytes, 0x1000, 8, 0x10, turned ? 5 : -3);
    add_function(&bytes, 0x1000, 8, 0x10, turned ? -3 : 5);
    finish(&table, &bytes);
    for (uint32_t i = 0; i < 2; i++) {
      const uint64_t item = intern_get(&table.live, table.records[i].live).words[0];
      const struct intern_sequence list = intern_get(&table.lists, safepoint_item_list(item));
      ck_assert_int_eq(safepoints_location(&table, (uint32_t)list.words[0]).value, i == 0 ? -3 : 5);
    }
    safepoints_free(&table);
  }
}

TEST(discarded_functions) {
  struct bytes bytes = {0};
  struct safepoints table = {0};
  add_function(&bytes, 0, 8, 0x10, 1);
  add_function(&bytes, 0x1000, 8, 0x10, 1);
  add_function(&bytes, 0, 16, 0x20, 1);
  finish(&table, &bytes);
  ck_assert_uint_eq(table.functions_discarded, 2);
  ck_assert_uint_eq(table.records_discarded, 2);
  ck_assert_uint_eq(table.function_count, 1);
  ck_assert_uint_eq(table.record_count, 1);
  ck_assert_uint_eq(table.records[0].address, 0x1010);
  ck_assert_uint_eq(table.maps, 3);
  safepoints_free(&table);
}

TEST(functions_without_records) {
  struct bytes bytes = {0};
  struct safepoints table = {0};
  v3_map(&bytes, 2, 0, 0);
  v3_function(&bytes, 0x2000, 8, 0);
  v3_function(&bytes, 0x1000, 8, 0);
  finish(&table, &bytes);
  ck_assert_uint_eq(table.function_count, 2);
  ck_assert_uint_eq(table.functions[0].address, 0x1000);
  ck_assert_uint_eq(table.functions[0].records, 0);
  safepoints_free(&table);
}

TEST(nothing) {
  struct bytes bytes = {0};
  struct safepoints table = {0};
  finish(&table, &bytes);
  ck_assert_uint_eq(table.maps, 0);
  ck_assert_uint_eq(table.function_count, 0);
  ck_assert_uint_eq(table.record_count, 0);
  safepoints_set_ends(&table, NULL, 0);
  safepoints_free(&table);
}

/* Several sections go into one table. */
TEST(two_sections) {
  struct bytes bytes = {0};
  struct safepoints table = {0};
  add_function(&bytes, 0x2000, 8, 0x10, 1);
  ck_assert(add(&table, &bytes, STATEPOINTS_AUTO));
  add_function(&bytes, 0x1000, 8, 0x10, 1);
  finish(&table, &bytes);
  ck_assert_uint_eq(table.maps, 2);
  ck_assert_uint_eq(table.function_count, 2);
  ck_assert_uint_eq(table.records[0].address, 0x1010);
  ck_assert_uint_eq(table.records[0].function, 0);
  ck_assert_uint_eq(table.records[1].function, 1);
  safepoints_free(&table);
}

/* ---- Errors --------------------------------------------------------------------------------- */

static void check_error(struct bytes *bytes, enum statepoint_rule rule, const char *part,
                        uint64_t position) {
  struct safepoints table = {0};
  ck_assert(!add(&table, bytes, rule));
  ck_assert(!table.no_memory);
  ck_assert_ptr_nonnull(table.error);
  ck_assert_msg(strstr(table.error, part) != NULL, "%s", table.error);
  ck_assert_uint_eq(table.error_position, position);
  safepoints_free(&table);
}

TEST(addresses_beyond_64_bits) {
  struct bytes bytes = {0};
  struct safepoints table = {0};
  add_function(&bytes, UINT64_MAX - 15, 8, 16, 1);
  check_error(&bytes, STATEPOINTS_AUTO, "beyond", 56);
  add_function(&bytes, UINT64_MAX - 15, 8, 15, 1);
  finish(&table, &bytes);
  ck_assert_uint_eq(table.records[0].address, UINT64_MAX);
  safepoints_free(&table);
}

TEST(errors_of_the_reader) {
  struct bytes bytes = {0};
  add_function(&bytes, 0x1000, 8, 16, 1);
  const size_t end = bytes.size;
  bytes_u64(&bytes, 4);
  check_error(&bytes, STATEPOINTS_AUTO, "version", end);
  add_function(&bytes, 0x1000, 8, 16, 1);
  bytes.data[56] = 17;
  check_error(&bytes, STATEPOINTS_AUTO, "kind", 56);
}

TEST(a_record_that_is_no_statepoint_where_all_are) {
  struct bytes bytes = {0};
  add_function(&bytes, 0x1000, 8, 16, 1);
  check_error(&bytes, STATEPOINTS_ALL, "statepoint", 56);
}

/* ---- Ends ----------------------------------------------------------------------------------- */

/* A table of functions at these addresses. */
static void add_functions(struct safepoints *table, const uint64_t *addresses, unsigned count) {
  for (unsigned i = 0; i < count; i++)
    ck_assert(safepoints_add_function(table, (struct safepoint_function){.address = addresses[i]}));
  ck_assert(safepoints_finish(table));
}

TEST(ends_come_from_ranges) {
  static const uint64_t addresses[] = {0xfff, 0x1000, 0x1010, 0x10ff, 0x1100, 0x2000, 0x3000};
  static const uint64_t ends[] = {0, 0x1100, 0x1100, 0x1100, 0, 0x2001, 0};
  static const struct code_range ranges[] = {{0x1000, 0x1100}, {0x2000, 0x2001}};
  struct safepoints table = {0};
  add_functions(&table, addresses, 7);
  safepoints_set_ends(&table, ranges, 2);
  for (unsigned i = 0; i < 7; i++)
    ck_assert_uint_eq(table.functions[i].end, ends[i]);
  safepoints_free(&table);
}

TEST(known_ends_stay) {
  static const uint64_t addresses[] = {0x1000, 0x2000};
  static const struct code_range unwound = {0x1000, 0x1100};
  static const struct code_range named[] = {{0x1000, 0x1f00}, {0x2000, 0x2f00}};
  struct safepoints table = {0};
  add_functions(&table, addresses, 2);
  safepoints_set_ends(&table, &unwound, 1);
  safepoints_set_ends(&table, named, 2);
  ck_assert_uint_eq(table.functions[0].end, 0x1100);
  ck_assert_uint_eq(table.functions[1].end, 0x2f00);
  safepoints_free(&table);
}

/* Symbols lie inside each other: a label of its own size within a function, for one. */
TEST(ends_from_nested_ranges) {
  static const uint64_t address = 0x1080;
  static const struct code_range ranges[] = {{0x1000, 0x1100}, {0x1010, 0x1020}};
  struct safepoints table = {0};
  add_functions(&table, &address, 1);
  safepoints_set_ends(&table, ranges, 2);
  ck_assert_uint_eq(table.functions[0].end, 0x1100);
  safepoints_free(&table);
}

/* ---- Padding after functions ---------------------------------------------------------------- */

static void close_gaps(struct safepoints *table, struct code_range *unwound, size_t unwound_count,
                       struct code_range *named, size_t named_count) {
  const struct code_ranges first = {.items = unwound, .count = unwound_count};
  const struct code_ranges second = {.items = named, .count = named_count};
  safepoints_set_ends(table, unwound, unwound_count);
  safepoints_set_ends(table, named, named_count);
  safepoints_close_gaps(table, &first, &second);
}

/* Functions at multiples of 16: the first ends 15 bytes before the next one's start, this one 16
 * bytes before the third, where another function fits in, and the third just where the last starts:
 * this one's end is unknown. */
TEST(gaps_that_no_function_fits_in_are_closed) {
  struct safepoints table = {0};
  struct bytes bytes = {0};
  struct code_range ranges[] = {{0x1000, 0x1011}, {0x1020, 0x1040}, {0x1050, 0x1090}, {0x1090, 0}};
  v3_map(&bytes, 4, 0, 0);
  for (unsigned i = 0; i < 4; i++)
    v3_function(&bytes, ranges[i].start, 8, 0);
  finish(&table, &bytes);
  close_gaps(&table, ranges, 3, NULL, 0);
  ck_assert_uint_eq(table.functions[0].end, 0x1020);
  ck_assert_uint_eq(table.functions[1].end, 0x1040);
  ck_assert_uint_eq(table.functions[2].end, 0x1090);
  ck_assert_uint_eq(table.functions[3].end, 0);
  safepoints_free(&table);
}

/* Two functions 64 bytes apart, by chance, and two unaligned ones. */
TEST(other_gaps_stay) {
  static const uint64_t distances[] = {0x40, 0x21}, gaps[] = {16, 1};
  for (unsigned i = 0; i < 2; i++) {
    struct safepoints table = {0};
    struct bytes bytes = {0};
    const uint64_t second = 0x1000 + distances[i];
    struct code_range range = {0x1000, second - gaps[i]};
    v3_map(&bytes, 2, 0, 0);
    v3_function(&bytes, 0x1000, 8, 0);
    v3_function(&bytes, second, 8, 0);
    finish(&table, &bytes);
    close_gaps(&table, &range, 1, NULL, 0);
    ck_assert_uint_eq(table.functions[0].end, range.end);
    safepoints_free(&table);
  }
}

/* A small, unaligned function without stack maps is in the gap: only the unwind table has it, or
 * only the symbols do. Its frames are native. */
TEST(gaps_with_other_code_stay) {
  for (unsigned known = 0; known < 2; known++) {
    struct safepoints table = {0};
    struct bytes bytes = {0};
    struct code_range ranges[] = {{0x1000, 0x1013}, {0x1015, 0x101d}, {0x1020, 0x1040}};
    v3_map(&bytes, 2, 0, 0);
    v3_function(&bytes, 0x1000, 8, 0);
    v3_function(&bytes, 0x1020, 8, 0);
    finish(&table, &bytes);
    close_gaps(&table, ranges, known == 0 ? 3 : 1, ranges, 3);
    ck_assert_uint_eq(table.functions[0].end, 0x1013);
    ck_assert_uint_eq(table.functions[1].end, 0x1040);
    safepoints_free(&table);
  }
}

/* ---- Taking records out --------------------------------------------------------------------- */

/* Two functions with three records each, and one with none: as pack would have them. */
static void make_for_removal(struct safepoints *table) {
  struct bytes bytes = {0};
  static const struct code_range ranges[] = {{0x1000, 0x1030}, {0x1030, 0x1100}};
  v3_map(&bytes, 2, 0, 6);
  v3_function(&bytes, 0x1000, 8, 3);
  v3_function(&bytes, 0x1030, 8, 3);
  for (unsigned i = 0; i < 6; i++) {
    v3_record(&bytes, i, 0x10 * (i % 3 + 1), 0);
    v3_live_outs(&bytes, 0);
    v3_end_record(&bytes);
  }
  finish(table, &bytes);
  safepoints_set_ends(table, ranges, 2);
}

/* The answers of a packed table of these records. */
static enum stackpack_answer answer(const struct safepoints *table, uint64_t address) {
  struct packed_table packed;
  struct packed_record record;
  uint8_t *bytes;
  size_t size;
  ck_assert_ptr_null(packed_write(table, 0x400000, NULL, &bytes, &size));
  ck_assert_int_eq(packed_open(&packed, bytes, size, 0x400000), STACKPACK_OK);
  const enum stackpack_answer result = packed_find(&packed, address, &record);
  free(bytes);
  return result;
}

TEST(removed_records_are_no_safepoints) {
  struct safepoints table = {0};
  static const bool is_removed[6] = {false, true, false, true, true, true};
  make_for_removal(&table);
  safepoints_remove(&table, is_removed);
  ck_assert_uint_eq(table.record_count, 2);
  ck_assert_uint_eq(table.function_count, 2);
  ck_assert_uint_eq(table.functions[0].records, 2);
  ck_assert_uint_eq(table.functions[1].records, 0);
  ck_assert_int_eq(answer(&table, 0x1010), STACKPACK_FOUND);
  ck_assert_int_eq(answer(&table, 0x1020), STACKPACK_NOT_SAFEPOINT);
  ck_assert_int_eq(answer(&table, 0x1030), STACKPACK_FOUND);
  ck_assert_int_eq(answer(&table, 0x1040), STACKPACK_NOT_SAFEPOINT);
  ck_assert_int_eq(answer(&table, 0x1060), STACKPACK_NOT_SAFEPOINT);
  ck_assert_int_eq(answer(&table, 0x1100), STACKPACK_NOT_MANAGED);
  safepoints_free(&table);
}

/* A record at a function's end, or of one with an unknown end, takes its address with it. */
TEST(removed_records_stay_inside_their_functions) {
  struct safepoints table = {0};
  static const bool all[6] = {true, true, true, true, true, true};
  make_for_removal(&table);
  table.functions[1].end = 0;
  safepoints_remove(&table, all);
  ck_assert_uint_eq(table.record_count, 0);
  ck_assert_int_eq(answer(&table, 0x1030), STACKPACK_NOT_SAFEPOINT);
  ck_assert_int_eq(answer(&table, 0x1060), STACKPACK_NOT_SAFEPOINT);
  ck_assert_int_eq(answer(&table, 0x1061), STACKPACK_NOT_MANAGED);
  safepoints_free(&table);
}
