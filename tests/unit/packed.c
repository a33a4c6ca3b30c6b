/* packed.c - tests the packed table (packed_write.h, packed.h): every form that the encoder chooses
 * from, every layout of functions and records, and the three answers.
 *
 * A test gives the table's expected content as a model, and model_check asks for all of it. Where a
 * test is for a form, it looks whether the encoder took it.
 */
#include "format/packed_write.h"
#include "generator.h"
#include "model_check.h"
#include "numbers.h"
#include "suite.h"

#include <stdlib.h>
#include <string.h>

static const struct model_options plain = {
    .section_address = 0x200000, .open_address = 0x200000, .around = 40};
static const struct model_options moved = {
    .section_address = 0x200000, .open_address = 0x7f1234567000, .compressed = true, .around = 3};

/* Packs the model, asks for everything, and frees it. */
static void check(struct model *model) {
  model_check(model, &plain);
  struct packed_model packed = packed_model_open(model, &moved);
  model_check_table(model, &packed.table, &moved);
  packed_model_free(&packed);
  model_free(model);
}

/* ---- Locations of a layout ------------------------------------------------------------------ */

/* A function at 0x1000 that uses slots 0 to 199, for others to choose from. */
static void add_all_slots(struct model *model) {
  model_add_function(model, 0x1000, 24, 0x1100);
  struct model_record *record = model_add_record(model, 0x10);
  for (int32_t slot = 0; slot < 200; slot++)
    model_add_self(record, 8 * slot);
}

/* A function at 0x2000 whose only record lists these slots. */
static void add_some_slots(struct model *model, const uint8_t *slots, unsigned count) {
  model_add_function(model, 0x2000, 40, 0x2100);
  struct model_record *record = model_add_record(model, 0x10);
  for (unsigned i = 0; i < count; i++)
    model_add_self(record, 8 * slots[i]);
}

static void check_slots(const uint8_t *slots, unsigned count) {
  struct model model = {0};
  add_all_slots(&model);
  add_some_slots(&model, slots, count);
  check(&model);
}

TEST(consecutive_locations) {
  static const uint8_t slots[] = {77, 78, 79, 80, 81};
  check_slots(slots, 5);
  check_slots(slots, 1);
}

TEST(scattered_locations) {
  static const uint8_t far[] = {0, 100, 150, 199};
  uint8_t slots[100];
  for (unsigned i = 0; i < 100; i++)
    slots[i] = (uint8_t)(2 * i);
  for (unsigned count = 2; count <= 100; count++)
    check_slots(slots, count);
  for (unsigned count = 2; count <= 4; count++)
    check_slots(far, count);
}

TEST(no_locations) {
  struct model model = {0};
  model_add_function(&model, 0x1000, 24, 0x1100);
  for (uint32_t offset = 1; offset < 20; offset++)
    model_add_record(&model, offset);
  check(&model);
}

/* ---- Numbers of locations ------------------------------------------------------------------- */

/* Classes of one member, steps of all kinds, and gaps that end a class. */
TEST(location_classes) {
  static const int32_t values[] = {INT32_MIN, INT32_MIN + 1, -70000, -64,      -56, -48, -8, 0, 1,
                                   2,         1000,          66535,  INT32_MAX};
  struct model model = {0};
  model_add_function(&model, 0x1000, 24, 0x1100);
  struct model_record *record = model_add_record(&model, 0x10);
  for (unsigned reg = 0; reg < 3; reg++)
    for (unsigned size = 1; size < 4; size++)
      for (unsigned i = 0; i < sizeof values / sizeof *values; i++)
        for (uint8_t kind = STACKPACK_REGISTER; kind <= STACKPACK_INDIRECT; kind++) {
          const struct stackpack_location location =
              model_location(kind, (uint16_t)(size * 30000), (uint16_t)(reg * 32000), values[i]);
          model_add_pair(record, location, location);
        }
  model_add_self(record, 8);
  check(&model);
}

TEST(large_constants_in_pairs) {
  static const uint64_t values[] = {
      0, 1, INT32_MAX, (uint64_t)INT32_MAX + 1, (uint64_t)1 << 63, UINT64_MAX};
  struct model model = {0};
  model_add_function(&model, 0x1000, 24, 0x1100);
  struct model_record *record = model_add_record(&model, 0x10);
  for (unsigned i = 0; i < 6; i++)
    model_add_pair(record, model_constant(values[i]), model_slot(8));
  check(&model);
}

/* ---- Pairs ---------------------------------------------------------------------------------- */

TEST(derived_pairs) {
  struct model model = {0};
  model_add_function(&model, 0x1000, 24, 0x1100);
  struct model_record *record = model_add_record(&model, 0x10);
  model_add_self(record, 8);
  model_add_pair(record, model_slot(8), model_slot(16));
  model_add_pair(record, model_slot(16), model_slot(8));
  model_add_pair(record, model_slot(24), model_slot(8));
  record = model_add_record(&model, 0x20);
  model_add_pair(record, model_slot(8), model_slot(16));
  check(&model);
}

/* A slot with any number of bases: their count is in unary, and their state in so many bits. */
TEST(many_bases) {
  static const uint32_t counts[] = {1, 2, 3, 4, 7, 8, 55, 56, 57, 58, 111, 112, 113, 300};
  for (unsigned i = 0; i < sizeof counts / sizeof *counts; i++) {
    struct model model = {0};
    model_add_function(&model, 0x1000, 24, 0x1000 + 16 * counts[i]);
    for (uint32_t n = 0; n < counts[i]; n++) {
      struct model_record *record = model_add_record(&model, 4 + 8 * n);
      model_add_pair(record, model_slot((int32_t)(16 + 8 * n)), model_slot(8));
      model_add_pair(record, model_slot(16), model_slot((int32_t)(16 + 8 * (n / 2))));
    }
    check(&model);
  }
}

TEST(derived_pairs_only) {
  struct model model = {0};
  model_add_function(&model, 0x1000, 24, 0x1100);
  struct model_record *record = model_add_record(&model, 0x10);
  for (int32_t slot = 0; slot < 100; slot++)
    model_add_pair(record, model_slot(8 * slot), model_slot(8 * slot + 800));
  check(&model);
}

/* Slots of every second one only are bases of themselves: more than 56 marks. */
TEST(some_self_pairs) {
  struct model model = {0};
  model_add_function(&model, 0x1000, 24, 0x1100);
  for (uint32_t i = 0; i < 20; i++) {
    struct model_record *record = model_add_record(&model, 16 * i);
    for (int32_t slot = 0; slot < 200; slot += 1 + (int32_t)(i % 3))
      if (slot % 2 == 0)
        model_add_self(record, 8 * slot);
      else
        model_add_pair(record, model_slot(8 * slot - 8), model_slot(8 * slot));
  }
  check(&model);
}

/* A location that is the base of another one, without being an ordinary reference itself: at the
 * only record, at two of one live set, where it is one at another record, and where it is derived. */
TEST(locations_that_only_are_bases) {
  for (unsigned kind = 0; kind < 5; kind++) {
    struct model model = {0};
    model_add_function(&model, 0x1000, 24, 0x1100);
    for (uint32_t i = 0; i <= kind; i++) {
      struct model_record *record = model_add_record(&model, 0x10 + 16 * i);
      model_add_pair(record, model_slot(16), model_slot(8));
      if (kind == 2 && i == 0)
        model_add_self(record, 24);
      if (kind > 2 && i == 1)
        model_add_self(record, 16);
      if (kind > 3 && i == 2)
        model_add_pair(record, model_slot(8), model_slot(16));
    }
    /* Others share the layout of the first two, and have more records. */
    model_add_function(&model, 0x2000, 24, 0x2100);
    for (uint32_t i = 0; i < 5; i++)
      model_add_pair(model_add_record(&model, 0x10 + 16 * i), model_slot(16), model_slot(8));
    check(&model);
  }
}

/* ---- Lists ---------------------------------------------------------------------------------- */

static void add_alloca(struct model_record *record, int32_t offset) {
  model_list_add(&record->locations, model_location(STACKPACK_DIRECT, 8, 7, offset));
}

TEST(allocas_keep_their_order) {
  struct model model = {0};
  model_add_function(&model, 0x1000, 24, 0x1100);
  for (uint32_t i = 0; i < 10; i++) {
    struct model_record *record = model_add_record(&model, 0x10 + i);
    model_add_self(record, 8);
    for (uint32_t k = 0; k < i; k++)
      add_alloca(record, (int32_t)(k * 7919 % 11 * 16));
    if (i > 3)
      add_alloca(record, 0);
  }
  check(&model);
}

TEST(stack_maps_keep_all_locations) {
  struct model model = {0};
  model_add_function(&model, 0x1000, 24, 0x1100);
  for (uint32_t i = 0; i < 10; i++) {
    struct model_record *record = model_add_record(&model, 0x10 + i);
    record->statepoint = false;
    for (uint32_t k = 0; k < i; k++)
      model_list_add(&record->locations, model_slot((int32_t)(k % 3 * 8)));
  }
  struct model_record *record = model_add_record(&model, 0x30);
  add_alloca(record, 16);
  check(&model);
}

/* The same locations as a statepoint's allocas and as a stack map's: different kinds. */
TEST(one_list_in_two_kinds) {
  struct model model = {0};
  model_add_function(&model, 0x1000, 24, 0x1100);
  for (uint32_t i = 0; i < 4; i++) {
    struct model_record *record = model_add_record(&model, 0x10 + i / 2);
    record->statepoint = i % 2 == 0;
    add_alloca(record, 16);
    add_alloca(record, 32);
  }
  check(&model);
}

TEST(the_largest_records) {
  struct model model = {0};
  model_add_function(&model, 0x1000, 24, 0x1100);
  struct model_record *record = model_add_record(&model, 0x10);
  for (int32_t i = 0; i < 32766; i++)
    model_add_self(record, i * 7919 % 32768);
  record = model_add_record(&model, 0x20);
  for (int32_t i = 0; i < 65532; i++)
    add_alloca(record, i * 7919 % 65536);
  record = model_add_record(&model, 0x30);
  record->statepoint = false;
  for (int32_t i = 0; i < UINT16_MAX; i++)
    model_list_add(&record->locations, model_slot(i % 100));
  check(&model);
}

/* ---- Live sets ------------------------------------------------------------------------------ */

/* Whether item `item` is in set `set`. */
typedef bool membership(unsigned set, unsigned item);

static bool is_in_all(unsigned set, unsigned item) { return set + item + 1 > 0; }
static bool is_in_turn(unsigned set, unsigned item) { return (item >> set % 8 & 1) != 0; }
static bool is_own_one(unsigned set, unsigned item) { return item == set; }
static bool is_below(unsigned set, unsigned item) { return item < set; }
static bool is_all_but_own(unsigned set, unsigned item) { return item != set; }
static bool is_mixed(unsigned set, unsigned item) {
  return (set * 2654435761u ^ item * 40503u) % 7 < 3;
}

/* A function with these sets, one record each, and then all of them again. */
static void add_sets(struct model *model, unsigned sets, unsigned items, membership *is_member) {
  model_add_function(model, 0x1000, 24, 0x1000 + 16 * sets);
  for (unsigned i = 0; i < 2 * sets; i++) {
    struct model_record *record = model_add_record(model, 4 + 8 * i);
    for (unsigned item = 0; item < items; item++)
      if (is_member(i % sets, item))
        model_add_self(record, (int32_t)(8 * item));
  }
}

static void check_sets(unsigned sets, unsigned items, membership *is_member) {
  struct model model = {0};
  add_sets(&model, sets, items, is_member);
  check(&model);
}

TEST(one_set_has_all_locations) {
  static const unsigned counts[] = {0, 1, 2, 63, 64, 65, 128, 129, 1000};
  for (unsigned i = 0; i < sizeof counts / sizeof *counts; i++)
    check_sets(1, counts[i], is_in_all);
}

TEST(few_and_many_sets) {
  static const unsigned items[] = {1, 8, 55, 56, 57, 112, 113, 130};
  for (unsigned i = 0; i < sizeof items / sizeof *items; i++)
    for (unsigned sets = 1; sets < 20; sets += 1 + sets / 6) {
      check_sets(sets, items[i], is_below);
      check_sets(sets, items[i], is_mixed);
      check_sets(sets, items[i], is_all_but_own);
    }
}

/* Slot i is, at record r, derived from one of many bases: the pairs of r and r + 1 differ in many
 * slots, or in few. */
static void add_derived_sets(struct model *model, unsigned records, unsigned slots, unsigned step) {
  model_add_function(model, 0x1000, 24, 0x1000 + 16 * records);
  for (unsigned r = 0; r < records; r++) {
    struct model_record *record = model_add_record(model, 4 + 8 * r);
    for (unsigned i = 0; i < slots; i++) {
      const int32_t slot = (int32_t)(8 * i);
      if (step == 0 ? i == r % slots : i % step == r % step)
        model_add_pair(record, model_slot((int32_t)(8 * slots + 8 * (r % 23))), model_slot(slot));
      else
        model_add_self(record, slot);
    }
  }
}

TEST(sets_of_derived_references) {
  static const unsigned slots[] = {1, 20, 56, 57, 90};
  for (unsigned i = 0; i < sizeof slots / sizeof *slots; i++)
    for (unsigned step = 0; step < 6; step++) {
      struct model model = {0};
      add_derived_sets(&model, 100, slots[i], step);
      check(&model);
    }
}

/* Forms that LLVM never writes: a slot in two pairs of one record, as the derived one. */
TEST(one_location_derived_twice) {
  struct model model = {0};
  model_add_function(&model, 0x1000, 24, 0x1200);
  for (uint32_t i = 0; i < 40; i++) {
    struct model_record *record = model_add_record(&model, 4 + 8 * i);
    for (int32_t base = 0; base < 6; base++)
      if ((i + (uint32_t)base) % 3 != 0)
        model_add_pair(record, model_slot(8 * base), model_slot(8 * (base % 2)));
    if (i % 4 == 0)
      model_add_self(record, 8);
  }
  check(&model);
}

TEST(very_many_sets) {
  check_sets(1300, 1300, is_own_one);
  check_sets(1300, 20, is_mixed);
}

TEST(sets_of_few_items_in_many) {
  check_sets(3, 3000, is_own_one);
  check_sets(8, 3000, is_in_turn);
  check_sets(70, 70, is_mixed);
}

/* Pairs, derived pairs and lists in the sets of one function. */
TEST(mixed_items) {
  struct model model = {0};
  model_add_function(&model, 0x1000, 24, 0x3000);
  for (uint32_t i = 0; i < 300; i++) {
    struct model_record *record = model_add_record(&model, 8 * i);
    record->statepoint = i % 5 != 4;
    if (i % 3 == 0)
      add_alloca(record, (int32_t)(16 * (i % 7)));
    for (uint32_t item = 0; item < 40 && record->statepoint; item++)
      if (is_mixed(i % 50, item))
        model_add_pair(record, model_slot((int32_t)(8 * item)),
                       model_slot((int32_t)(8 * (item + item % 4))));
  }
  check(&model);
}

/* Disjoint sets: to find groups of slots must be fast. */
TEST(bases_without_a_pattern) {
  struct model model = {0};
  uint64_t seed = 1;
  model_add_function(&model, 0x1000, 24, 0x9000);
  for (uint32_t i = 0; i < 3000; i++) {
    struct model_record *record = model_add_record(&model, 1 + 8 * i);
    for (uint32_t slot = 0; slot < 40; slot++) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      if ((seed >> 40 & 1) != 0)
        model_add_pair(record, model_slot((int32_t)(8 * (seed >> 41 & 63))),
                       model_slot((int32_t)(8 * slot)));
    }
  }
  check(&model);
}

/* ---- Places of functions and records -------------------------------------------------------- */

/* Adds a statepoint with a distinct slot. */
static struct model_record *add_marked(struct model *model, uint32_t offset) {
  const int32_t mark = (int32_t)(8 * model->record_count);
  struct model_record *record = model_add_record(model, offset);
  model_add_self(record, mark);
  return record;
}

static void add_marked_function(struct model *model, uint64_t address, uint64_t end,
                                const uint32_t *offsets, unsigned count) {
  model_add_function(model, address, 24, end);
  for (unsigned i = 0; i < count; i++)
    add_marked(model, offsets[i]);
}

TEST(a_return_address_where_the_next_function_starts) {
  static const uint32_t offsets[] = {5, 0x20};
  struct model model = {0};
  add_marked_function(&model, 0x1000, 0x1020, offsets, 2);
  add_marked_function(&model, 0x1020, 0x1040, offsets, 2);
  add_marked_function(&model, 0x1040, 0x1060, offsets, 2);
  check(&model);
}

TEST(a_record_at_a_functions_first_byte) {
  static const uint32_t offsets[] = {0, 5, 0x20};
  struct model model = {0};
  add_marked_function(&model, 0x1000, 0x1020, offsets, 2);
  add_marked_function(&model, 0x1020, 0x1040, offsets, 1);
  add_marked_function(&model, 0x1050, 0x1070, offsets, 1);
  check(&model);
}

/* The end of one function and the first byte of the next: two records, one address. */
TEST(records_of_two_functions_at_one_address) {
  static const uint32_t offsets[] = {0, 5, 0x20};
  struct model model = {0};
  for (uint64_t i = 0; i < 50; i++)
    add_marked_function(&model, 0x1000 + 0x20 * i, 0x1020 + 0x20 * i, offsets, 3);
  check(&model);
}

TEST(different_records_at_one_address) {
  static const uint32_t offsets[] = {5, 5, 5, 6, 6};
  struct model model = {0};
  add_marked_function(&model, 0x1000, 0x1020, offsets, 5);
  add_marked_function(&model, 0x1000, 0x1020, offsets, 5);
  check(&model);
}

TEST(interleaved_functions) {
  static const uint32_t offsets[] = {0, 0x10, 0x20, 0x30, 0x40, 0x50, 0x60};
  struct model model = {0};
  add_marked_function(&model, 0x1000, 0x1080, offsets, 7);
  add_marked_function(&model, 0x1018, 0x1038, offsets, 7);
  add_marked_function(&model, 0x1020, 0x1028, offsets, 7);
  add_marked_function(&model, 0x1050, 0x10a0, offsets, 7);
  check(&model);
}

/* The first function's records are all after the start of the others. */
TEST(records_far_after_their_function) {
  static const uint32_t offsets[] = {0x5000, 0x5001, 0x6000, UINT32_MAX};
  struct model model = {0};
  for (uint64_t i = 0; i < 10; i++)
    add_marked_function(&model, 0x1000 + 0x100 * i, 0x1080 + 0x100 * i, offsets, 4);
  check(&model);
}

TEST(functions_with_one_start) {
  static const uint32_t offsets[] = {0, 8, 0x10};
  struct model model = {0};
  for (uint64_t i = 0; i < 5; i++) {
    model_add_function(&model, 0x1000, 8 * (4 - i), 0x1000 + 16 * i);
    for (unsigned k = 0; k < 3; k++)
      add_marked(&model, offsets[k]);
  }
  model_add_function(&model, 0x1000, STACKPACK_FRAME_SIZE_UNKNOWN, 0);
  check(&model);
}

TEST(functions_without_records) {
  static const uint32_t offset = 0x10;
  struct model model = {0};
  for (uint64_t i = 0; i < 40; i++)
    add_marked_function(&model, 0x1000 + 0x100 * i, 0x1020 + 0x100 * i, &offset, i % 3 == 0);
  check(&model);
}

TEST(aligned_and_odd_addresses) {
  for (unsigned shift = 0; shift < 20; shift++) {
    struct model model = {0};
    for (uint64_t i = 0; i < 30; i++) {
      model_add_function(&model, 0x100000 + ((i * 5) << shift), 24,
                         0x100000 + ((i * 5 + 3) << shift));
      for (uint32_t k = 1; k < 4; k++)
        add_marked(&model, k << shift);
    }
    check(&model);
  }
}

/* Functions of shared and own layouts. */
TEST(numbers_of_functions) {
  static const uint64_t counts[] = {31, 32, 33, 63, 64, 65, 511, 512, 513, 1025};
  for (unsigned c = 0; c < sizeof counts / sizeof *counts; c++) {
    struct model model = {0};
    for (uint64_t i = 0; i < counts[c]; i++) {
      model_add_function(&model, 0x1000 + 0x100 * i, 24, 0x1020 + 0x100 * i + i % 77);
      struct model_record *record = model_add_record(&model, 0x10);
      model_add_self(record, (int32_t)(8 * (i % 5 < 3 ? i % 5 : i)));
    }
    check(&model);
  }
}

TEST(all_functions_are_alike) {
  struct model model = {0};
  for (uint64_t i = 0; i < 2000; i++) {
    model_add_function(&model, 0x1000 + 0x40 * i, 24, 0x1030 + 0x40 * i);
    model_add_self(model_add_record(&model, 0x10), 8);
    model_add_self(model_add_record(&model, 0x20), 16);
  }
  check(&model);
}

/* Functions whose live sets are the first ones of another function's have that function's layout. Of the
 * first two there are two continuations: they have the shorter one's. */
TEST(starts_of_longer_layouts) {
  static const struct {
    uint32_t records, other_from, layout_of; /* from record `other_from` on, sets are others */
  } functions[] = {{2, 9, 4}, {0, 9, 4}, {7, 9, 2}, {7, 9, 2},
                   {3, 2, 4}, {3, 9, 2}, {1, 9, 4}, {6, 9, 2}};
  enum { COUNT = sizeof functions / sizeof *functions };
  struct model model = {0};
  for (uint32_t i = 0; i < COUNT; i++) {
    model_add_function(&model, 0x1000 + 0x100 * i, 24, 0x1100 + 0x100 * i);
    for (uint32_t k = 0; k < functions[i].records; k++)
      model_add_self(model_add_record(&model, 0x10 * (k + 1)),
                     (int32_t)(8 * k + (k < functions[i].other_from ? 0 : 800)));
  }
  model_finish(&model);
  struct packed_model packed = packed_model_open(&model, &plain);
  struct packed_table table;
  ck_assert_int_eq(packed_open(&table, packed.bytes, packed.size, 0), STACKPACK_OK);
  struct packed_stretch stretches[COUNT];
  for (uint32_t i = 0; i < COUNT; i++)
    ck_assert(packed_stretch(&table, i, &stretches[i]));
  for (uint32_t i = 0; i < COUNT; i++)
    ck_assert_uint_eq(stretches[i].layout, stretches[functions[i].layout_of].layout);
  ck_assert_uint_ne(stretches[2].layout, stretches[4].layout);
  model_check_table(&model, &packed.table, &(struct model_options){0});
  packed_model_free(&packed);
  model_free(&model);
}

/* More records in a bucket of 256 bytes than a nibble counts; up to one at each address. */
TEST(full_buckets) {
  static const uint32_t counts[] = {14, 15, 16, 17, 100, 255, 256, 300, 1000};
  for (unsigned i = 0; i < sizeof counts / sizeof *counts; i++) {
    struct model model = {0};
    model_add_function(&model, 0x1000, 24, 0x9000);
    for (uint32_t n = 0; n < counts[i]; n++)
      add_marked(&model, 1 + (n % 3) * 0x200 + n / 3);
    model_add_function(&model, 0x9000, 24, 0x9400);
    for (uint32_t n = 0; n < counts[i]; n++)
      add_marked(&model, 1 + n % 2); /* many at one address */
    check(&model);
  }
}

/* More layouts than two bytes can number. */
TEST(layouts_at_even_places) {
  for (uint32_t functions = 4000; functions <= 16000; functions *= 2) {
    struct model model = {0};
    for (uint32_t i = 0; i < functions; i++) {
      model_add_function(&model, 0x1000 + 0x40 * i, 24, 0x1030 + 0x40 * i);
      struct model_record *record = model_add_record(&model, 0x10);
      for (uint32_t slot = 0; slot < 64; slot++)
        if (slot == 0 || slot == 63 || (i >> slot % 16 & 1) != 0)
          model_add_self(record, (int32_t)(8 * slot));
    }
    model_finish(&model);
    struct packed_model packed = packed_model_open(&model, &plain);
    model_check_table(&model, &packed.table, &(struct model_options){0});
    packed_model_free(&packed);
    model_free(&model);
  }
}

/* Few layouts in excess of the others' widths. */
TEST(long_heads) {
  struct model model = {0};
  for (uint32_t i = 0; i < 300; i++) {
    model_add_function(&model, 0x1000 + 0x100 * i, i % 100 == 99 ? 8 * i : 24, 0x1080 + 0x100 * i);
    for (uint32_t k = 0; k < (i % 50 == 49 ? 40 : 1); k++)
      model_add_self(model_add_record(&model, 1 + k), (int32_t)(i % 60 == 59 ? 8 * (i + k) : k));
  }
  check(&model);
}

/* ---- The three answers ---------------------------------------------------------------------- */

TEST(ends_that_are_unknown) {
  static const uint32_t offsets[] = {8, 0x30};
  struct model model = {0};
  add_marked_function(&model, 0x1000, 0, offsets, 2);
  add_marked_function(&model, 0x1100, 0, offsets, 0);
  add_marked_function(&model, 0x1200, 0, offsets, 1);
  check(&model);
}

TEST(ends_before_the_last_record) {
  static const uint32_t offsets[] = {8, 0x30};
  struct model model = {0};
  add_marked_function(&model, 0x1000, 0x1010, offsets, 2);
  add_marked_function(&model, 0x1100, 0x1130, offsets, 2);
  check(&model);
}

/* A function's code may reach over the next ones. */
TEST(code_over_other_functions) {
  static const uint32_t offsets[] = {8, 0x30};
  struct model model = {0};
  add_marked_function(&model, 0x1000, 0x1250, offsets, 2);
  add_marked_function(&model, 0x1100, 0x1140, offsets, 2);
  add_marked_function(&model, 0x1200, 0x1240, offsets, 2);
  add_marked_function(&model, 0x1300, 0x1340, offsets, 2);
  check(&model);
}

TEST(ends_at_all_distances) {
  static const uint32_t offset = 8;
  struct model model = {0};
  uint64_t address = 0x1000;
  for (unsigned bits = 0; bits < 62; bits++) {
    const uint64_t length = (uint64_t)1 << bits;
    add_marked_function(&model, address, address + offset + length, &offset, 1);
    address += offset + length + 64;
  }
  check(&model);
}

TEST(functions_far_from_each_other) {
  static const uint32_t offset = 8;
  struct model model = {0};
  for (uint64_t i = 0; i < 200; i++)
    add_marked_function(&model, 0x100000000 * i + 0x1000,
                        0x100000000 * i + (i % 50 == 49 ? 0x80001008 : 0x1010), &offset, 1);
  check(&model);
}

TEST(the_ends_of_the_address_space) {
  static const uint32_t offsets[] = {0, 1, 14};
  struct model model = {0};
  add_marked_function(&model, 1, 16, offsets, 3);
  add_marked_function(&model, UINT64_MAX - 14, UINT64_MAX, offsets, 3);
  check(&model);
}

TEST(more_than_four_gigabytes_of_code) {
  static const uint32_t offsets[] = {0x7fffffff, 0x80000000, UINT32_MAX - 1, UINT32_MAX};
  struct model model = {0};
  for (uint64_t i = 0; i < 20; i++)
    add_marked_function(&model, 0x1000 + (i << 33), 0x2000 + (i << 33), offsets, 4);
  check(&model);
}

/* ---- Frame sizes ---------------------------------------------------------------------------- */

TEST(frame_sizes_of_all_widths) {
  for (unsigned bits = 1; bits <= 64; bits++) {
    const uint64_t most = bits_low_mask(bits);
    const uint64_t sizes[] = {0, 1, most - 1, most, most / 2, STACKPACK_FRAME_SIZE_UNKNOWN};
    struct model model = {0};
    for (unsigned i = 0; i < 6; i++) {
      model_add_function(&model, 0x1000 + 0x100 * i, sizes[i], 0x1080 + 0x100 * i);
      add_marked(&model, 8);
    }
    check(&model);
  }
}

TEST(unknown_frame_sizes_only) {
  struct model model = {0};
  for (unsigned i = 0; i < 3; i++) {
    model_add_function(&model, 0x1000 + 0x100 * i, STACKPACK_FRAME_SIZE_UNKNOWN, 0);
    model_add_self(model_add_record(&model, 8), 8);
  }
  check(&model);
}

/* ---- Little and nothing --------------------------------------------------------------------- */

TEST(no_functions) {
  struct model model = {0};
  check(&model);
}

TEST(discarded_functions_only) {
  static const uint32_t offset = 8;
  struct model model = {0};
  add_marked_function(&model, 0, 0, &offset, 1);
  check(&model);
}

TEST(no_records) {
  struct model model = {0};
  model_add_function(&model, 0x1000, 24, 0x1100);
  model_add_function(&model, 0x2000, STACKPACK_FRAME_SIZE_UNKNOWN, 0);
  check(&model);
}

TEST(one_record) {
  for (uint32_t offset = 0; offset < 3; offset++) {
    struct model model = {0};
    model_add_function(&model, 0x1000, 0, 0);
    model_add_record(&model, offset);
    check(&model);
  }
}

/* ---- The bytes ------------------------------------------------------------------------------ */

/* The same functions, from the last to the first, each in a map of its own. */
static void copy_backwards(const struct model *from, struct model *to) {
  for (uint32_t i = from->function_count; i > 0; i--) {
    const struct model_function *function = &from->functions[i - 1];
    model_add_map(to);
    model_add_function(to, function->address, function->frame_size, function->end);
    for (uint32_t k = function->records; k > 0; k--) {
      const struct model_record *record = &from->records[function->first_record + k - 1];
      struct model_record *copy = model_add_record(to, record->offset);
      copy->id = record->id;
      copy->statepoint = record->statepoint;
      copy->calling_convention = record->calling_convention;
      copy->flags = record->flags;
      for (size_t n = 0; n < record->deopt.count; n++)
        model_list_add(&copy->deopt, record->deopt.items[n]);
      for (size_t n = 0; n < record->pairs.count; n++)
        model_list_add(&copy->pairs, record->pairs.items[n]);
      for (size_t n = 0; n < record->locations.count; n++)
        model_list_add(&copy->locations, record->locations.items[n]);
      for (size_t n = 0; n < record->live_out_count; n++)
        model_add_live_out(copy, record->live_outs[n].reg, record->live_outs[n].size);
    }
  }
}

/* The content decides on the bytes, independent of the order of adding it. */
TEST(equal_contents_give_equal_bytes) {
  for (uint64_t seed = 1; seed <= 60; seed++) {
    struct model model = {0}, backwards = {0};
    generate(&model, seed, 50);
    copy_backwards(&model, &backwards);
    model_finish(&model);
    model_finish(&backwards);
    struct packed_model packed = packed_model_open(&model, &plain);
    struct packed_model again = packed_model_open(&backwards, &plain);
    ck_assert_msg(packed.size == again.size && memcmp(packed.bytes, again.bytes, packed.size) == 0,
                  "seed %d", (int)seed);
    packed_model_free(&packed);
    packed_model_free(&again);
    model_free(&model);
    model_free(&backwards);
  }
}
