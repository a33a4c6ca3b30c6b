/* safepoints_parts.c - tests that a section of stack maps which two threads read is read as by one.
 *
 * Not only must both tables say the same: they must be the same, number by number, wherever the
 * section is split, so that what is made of them can't differ. And of a broken section, the same
 * error must be told. Environment variables: SEED and CASES, as for `property`.
 */
#include "format/safepoints.h"
#include "generator.h"
#include "numbers.h"
#include "suite.h"
#include "v3_writer.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { CASES = 60, SPLITS_MAX = 24 };

/* ---- Ways to do both pieces ----------------------------------------------------------------- */

static void one_by_one(work_piece *piece, void *one, work_piece *other_piece, void *other) {
  piece(one);
  other_piece(other);
}

static void the_other_first(work_piece *piece, void *one, work_piece *other_piece, void *other) {
  other_piece(other);
  piece(one);
}

struct errand {
  work_piece *piece;
  void *context;
};

static void *run_errand(void *context) {
  const struct errand *errand = context;
  errand->piece(errand->context);
  return NULL;
}

static void in_threads(work_piece *piece, void *one, work_piece *other_piece, void *other) {
  struct errand errand = {other_piece, other};
  pthread_t thread;
  ck_assert_int_eq(pthread_create(&thread, NULL, run_errand, &errand), 0);
  piece(one);
  pthread_join(thread, NULL);
}

static work_both *const ways[] = {one_by_one, the_other_first, in_threads};
enum { WAYS = sizeof ways / sizeof *ways };

/* ---- Sameness ------------------------------------------------------------------------------- */

static bool same_bytes(const void *a, const void *b, size_t count, size_t size) {
  return count == 0 || memcmp(a, b, count * size) == 0;
}

static bool same_sequences(const struct intern *a, const struct intern *b) {
  return a->count == b->count &&
         (a->count == 0 || same_bytes(a->starts, b->starts, a->count + 1, sizeof *a->starts)) &&
         (a->count == 0 || same_bytes(a->words, b->words, a->starts[a->count], sizeof *a->words));
}

/* What differs between two tables, or NULL. */
static const char *table_difference(const struct safepoints *a, const struct safepoints *b) {
  if (a->function_count != b->function_count ||
      !same_bytes(a->functions, b->functions, a->function_count, sizeof *a->functions))
    return "functions";
  if (a->record_count != b->record_count ||
      !same_bytes(a->records, b->records, a->record_count, sizeof *a->records))
    return "records";
  if (!same_sequences(&a->locations, &b->locations))
    return "locations";
  if (!same_sequences(&a->lists, &b->lists))
    return "lists";
  if (!same_sequences(&a->live, &b->live))
    return "live sets";
  if (a->has_stackmaps != b->has_stackmaps || a->maps != b->maps ||
      a->functions_discarded != b->functions_discarded ||
      a->records_discarded != b->records_discarded)
    return "counts";
  return NULL;
}

/* A section, and how it is read. */
struct section {
  const uint8_t *bytes;
  size_t size;
  enum statepoint_rule rule;
};

/* What differs when two parts are read rather than the whole, or NULL. Both tables have something
 * before: the section itself, if it can be read. */
static const char *part_difference(const struct section *section, size_t split, work_both *both,
                                   bool is_second_section) {
  struct safepoints whole = {0}, joined = {0};
  if (is_second_section &&
      (!safepoints_add_v3(&whole, section->bytes, section->size, section->rule) ||
       !safepoints_add_v3(&joined, section->bytes, section->size, section->rule))) {
    safepoints_free(&whole);
    safepoints_free(&joined);
    return NULL;
  }
  const bool ok = safepoints_add_v3(&whole, section->bytes, section->size, section->rule);
  const bool parts_ok =
      safepoints_add_v3_by(both, split, &joined, section->bytes, section->size, section->rule);
  const char *difference = NULL;
  if (ok != parts_ok || whole.error != joined.error || whole.no_memory != joined.no_memory)
    difference = "what is wrong with it";
  else if (!ok && whole.error_position != joined.error_position)
    difference = "where it is wrong";
  else if (ok)
    difference = table_difference(&whole, &joined);
  safepoints_free(&whole);
  safepoints_free(&joined);
  return difference;
}

/* ---- Random sections ------------------------------------------------------------------------ */

static uint64_t first_seed(void) { return numbers_setting("SEED", 20260101); }

static void check_splits(const struct section *section, struct numbers *numbers, uint64_t seed) {
  const bool all = section->size / 8 < SPLITS_MAX;
  const size_t count = all ? section->size / 8 + 2 : SPLITS_MAX;
  for (size_t i = 0; i < count; i++) {
    const size_t split = all ? i * 8 : numbers_below(numbers, section->size + 2);
    const size_t way = numbers_below(numbers, WAYS);
    const char *difference =
        part_difference(section, split, ways[way], numbers_chance(numbers, 20));
    if (difference != NULL)
      ck_abort_msg("SEED=%" PRIu64 " CASES=1, split at %zu, way %zu: %s", seed, split, way,
                   difference);
  }
}

/* Changes some bytes, or cuts the section off, so that it is broken, perhaps. */
static void break_section(struct bytes *raw, struct numbers *numbers) {
  if (raw->size == 0)
    return;
  if (numbers_chance(numbers, 30))
    raw->size = numbers_below(numbers, raw->size);
  for (uint64_t i = numbers_below(numbers, 4); i > 0 && raw->size > 0; i--)
    raw->data[numbers_below(numbers, raw->size)] = (uint8_t)numbers_below(numbers, 256);
}

static void check_case(uint64_t seed, bool is_broken) {
  static const enum statepoint_rule rules[] = {STATEPOINTS_AUTO, STATEPOINTS_ALL, STATEPOINTS_NONE};
  struct numbers numbers = {seed};
  struct model model = {0};
  struct bytes raw = {0};
  generate(&model, seed, (uint32_t)numbers_between(&numbers, 1, 100));
  model_write(&model, &raw);
  if (is_broken)
    break_section(&raw, &numbers);
  uint8_t *exact = bytes_exact(raw.data, raw.size);
  const struct section section = {exact, raw.size, rules[numbers_below(&numbers, 3)]};
  check_splits(&section, &numbers, seed);
  free(exact);
  bytes_free(&raw);
  model_free(&model);
}

START_TEST(sound_sections) {
  for (uint64_t i = 0; i < numbers_setting("CASES", CASES); i++)
    check_case(first_seed() + i, false);
}
END_TEST

START_TEST(broken_sections) {
  for (uint64_t i = 0; i < numbers_setting("CASES", CASES); i++)
    check_case(first_seed() + i, true);
}
END_TEST

/* ---- What chance may not meet --------------------------------------------------------------- */

/* One function with a record of two locations, whose numbers are those of live-outs of another. */
static void add_function(struct bytes *bytes, uint64_t address, bool has_live_outs) {
  v3_map(bytes, 1, 0, 1);
  v3_function(bytes, address, 24, 1);
  v3_record(bytes, 1, 16, has_live_outs ? 0 : 2);
  for (int32_t i = 0; !has_live_outs && i < 2; i++)
    v3_location(bytes, V3_INDIRECT, 8, 7, 8 * i);
  v3_live_outs(bytes, has_live_outs ? 2 : 0);
  for (uint8_t i = 0; has_live_outs && i < 2; i++)
    v3_live_out(bytes, 0, i);
  v3_end_record(bytes);
}

/* A list of locations 0 and 1 is the same words as live-outs of register 0 with sizes 0 and 1. In the
 * other part's table, the locations have other numbers. */
START_TEST(lists_that_are_both_locations_and_live_outs) {
  struct bytes bytes = {0};
  v3_map(&bytes, 1, 0, 1);
  v3_function(&bytes, 0x1000, 24, 1);
  v3_record(&bytes, 1, 16, 1);
  v3_location(&bytes, V3_REGISTER, 8, 3, 0);
  v3_live_outs(&bytes, 0);
  v3_end_record(&bytes);
  const size_t split = bytes.size;
  add_function(&bytes, 0x2000, false);
  add_function(&bytes, 0x3000, true);
  add_function(&bytes, 0x4000, false);
  uint8_t *exact = bytes_exact(bytes.data, bytes.size);
  const struct section section = {exact, bytes.size, STATEPOINTS_NONE};
  for (size_t i = 0; i < WAYS; i++)
    ck_assert_ptr_null(part_difference(&section, split, ways[i], false));
  struct safepoints table = {0};
  ck_assert(safepoints_add_v3_by(in_threads, split, &table, exact, bytes.size, STATEPOINTS_NONE));
  ck_assert_uint_eq(table.record_count, 4);
  const struct intern_sequence live = intern_get(&table.live, table.records[1].live);
  const uint32_t list = safepoint_item_list(live.words[0]);
  ck_assert_uint_eq(intern_get(&table.lists, list).words[0], 1);
  ck_assert_uint_ne(table.records[2].live_outs, list);
  ck_assert_uint_eq(intern_get(&table.lists, table.records[2].live_outs).words[0], 0);
  safepoints_free(&table);
  free(exact);
  bytes_free(&bytes);
}
END_TEST

/* Of two errors, the one that comes first in the section is told. */
START_TEST(the_first_error_is_told) {
  struct bytes bytes = {0};
  struct safepoints table = {0};
  v3_map(&bytes, 2, 0, 2);
  v3_function(&bytes, UINT64_MAX, 24, 1);
  v3_function(&bytes, UINT64_MAX, 24, 1);
  size_t positions[2];
  for (size_t i = 0; i < 2; i++) {
    v3_record(&bytes, 1, 16, 0);
    positions[i] = bytes.size;
    v3_live_outs(&bytes, 0);
    v3_end_record(&bytes);
  }
  uint8_t *exact = bytes_exact(bytes.data, bytes.size);
  ck_assert(!safepoints_add_v3_by(the_other_first, positions[1] - 16, &table, exact, bytes.size,
                                  STATEPOINTS_AUTO));
  ck_assert_str_eq(table.error, "a record whose address is beyond 64 bits");
  ck_assert_uint_eq(table.error_position, positions[0]);
  safepoints_free(&table);
  free(exact);
  bytes_free(&bytes);
}
END_TEST

SUITE("safepoints_parts", sound_sections, broken_sections,
      lists_that_are_both_locations_and_live_outs, the_first_error_is_told)
