/* model_check.c - see model_check.h. */
#include "model_check.h"

#include "format/packed_write.h"
#include "runtime/internal.h"
#include "suite.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

/* Ends the test. */
__attribute__((format(printf, 2, 3))) static _Noreturn void differ(const struct model *model,
                                                                   const char *format, ...) {
  char text[300];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  ck_abort_msg("seed %" PRIu64 ": %s", model->seed, text);
}

size_t test_compress(void *destination, size_t capacity, const void *source, size_t size) {
  const size_t result = ZSTD_compress(destination, capacity, source, size, 1);
  return ZSTD_isError(result) ? 0 : result;
}

/* ---- Packing -------------------------------------------------------------------------------- */

static int compare_ranges(const void *a, const void *b) {
  const struct code_range *x = a, *y = b;
  if (x->start != y->start)
    return x->start < y->start ? -1 : 1;
  return x->end < y->end ? -1 : x->end > y->end;
}

static void set_ends(const struct model *model, struct safepoints *table) {
  size_t count = 0;
  struct code_range *ranges = test_allocate(model->function_count * sizeof *ranges);
  for (uint32_t i = 0; i < model->function_count; i++)
    if (model->functions[i].address != 0 && model->functions[i].end != 0)
      ranges[count++] = (struct code_range){model->functions[i].address, model->functions[i].end};
  qsort(ranges, count, sizeof *ranges, compare_ranges);
  safepoints_set_ends(table, ranges, count);
  free(ranges);
}

void model_read(const struct model *model, struct safepoints *table) {
  struct bytes raw = {0};
  model_write(model, &raw);
  uint8_t *exact = bytes_exact(raw.data, raw.size);
  const bool ok = safepoints_add_v3(table, exact, raw.size,
                                    &(struct statepoint_signs){.rule = STATEPOINTS_AUTO});
  free(exact);
  bytes_free(&raw);
  if (!ok)
    differ(model, "the stack map can't be read: %s, at %" PRIu64,
           table->error != NULL ? table->error : "no memory", table->error_position);
  if (!safepoints_finish(table))
    differ(model, "the records can't be sorted");
  set_ends(model, table);
  if (table->maps != model->map_count + 1 ||
      table->functions_discarded != model->discarded_functions ||
      table->records_discarded != model->discarded_records ||
      table->records_repeated != model->repeated_records)
    differ(model, "%u maps, %u functions and %u records discarded, %u repeated; not %u, %u, %u, %u",
           table->maps, table->functions_discarded, table->records_discarded,
           table->records_repeated, model->map_count + 1, model->discarded_functions,
           model->discarded_records, model->repeated_records);
}

struct packed_model packed_model_open(const struct model *model,
                                      const struct model_options *options) {
  struct packed_model packed = {0};
  struct safepoints table = {0};
  uint8_t *bytes;
  model_read(model, &table);
  if (options->tell_frames != NULL)
    options->tell_frames(&table);
  const char *problem =
      packed_write(&table, options->section_address, options->compressed ? test_compress : NULL,
                   &bytes, &packed.size);
  if (problem != NULL)
    differ(model, "packing fails: %s", problem);
  safepoints_free(&table);
  packed.bytes = bytes_exact(bytes, packed.size);
  free(bytes);
  const enum stackpack_error error =
      stackpack_table_open(&packed.table, packed.bytes, packed.size, options->open_address);
  if (error != STACKPACK_OK)
    differ(model, "opening fails: %s", stackpack_error_text(error));
  if (!stackpack_table_check(&packed.table))
    differ(model, "the checksum differs");
  return packed;
}

void packed_model_free(struct packed_model *packed) {
  free(packed->bytes);
  *packed = (struct packed_model){0};
}

/* ---- Reading a record's contents ------------------------------------------------------------ */

struct contents {
  struct model_list set, locations;
};

static void contents_clear(struct contents *contents) {
  contents->set.count = contents->locations.count = 0;
}

static void contents_free(struct contents *contents) {
  free(contents->set.items);
  free(contents->locations.items);
}

static void read_locations(struct stackpack_locations locations, struct model_list *list) {
  struct stackpack_location location;
  while (stackpack_locations_next(&locations, &location))
    model_list_add(list, location);
}

/* False if a pair comes twice, or the table says that it's damaged. */
static bool read_contents(const struct stackpack_record *record, struct contents *contents) {
  contents_clear(contents);
  struct stackpack_pairs pairs = stackpack_pairs(record);
  struct stackpack_location base, derived;
  while (stackpack_pairs_next(&pairs, &base, &derived)) {
    model_list_add(&contents->set, base);
    model_list_add(&contents->set, derived);
  }
  const size_t count = contents->set.count;
  model_sort_pairs(&contents->set);
  read_locations(stackpack_locations(record), &contents->locations);
  return contents->set.count == count && !pairs.is_corrupt;
}

static bool same_contents(const struct model_record *expected, const struct contents *contents) {
  return model_same_list(&contents->set, &expected->set) &&
         model_same_list(&contents->locations, &expected->locations);
}

static bool same_details(const struct model_record *expected,
                         const struct stackpack_details *details) {
  if (details->id != expected->id || details->calling_convention != expected->calling_convention ||
      details->flags != expected->flags || details->deopt_count != expected->deopt.count ||
      details->live_out_count != expected->live_out_count)
    return false;
  for (size_t i = 0; i < details->deopt_count; i++)
    if (model_compare_locations(details->deopt[i], expected->deopt.items[i]) != 0)
      return false;
  for (size_t i = 0; i < details->live_out_count; i++) {
    const struct stackpack_live_out live_out = details->live_outs[i];
    if (live_out.reg != expected->live_outs[i].reg || live_out.size != expected->live_outs[i].size)
      return false;
  }
  return true;
}

/* ---- Comparing ------------------------------------------------------------------------------ */

struct checker {
  const struct model *model;
  const struct stackpack_table *table;
  const struct model_options *options;
  uint64_t bias;
  struct contents contents;
  void *space; /* for details */
};

static bool same_place(const struct checker *checker, const struct model_record *expected,
                       const struct stackpack_record *record) {
  const struct model_function *function = &checker->model->functions[expected->function];
  return record->address == expected->address + checker->bias &&
         stackpack_record_function(record) == function->address + checker->bias &&
         record->frame_size == function->frame_size &&
         (record->kind == STACKPACK_STATEPOINT) == expected->statepoint;
}

/* Whether a record, its contents read, equals the model's. A lone one, recognisable without
 * details, is asked for them at times only. */
static bool same_record(const struct checker *checker, const struct model_record *expected,
                        const struct stackpack_record *record, bool lone) {
  if (!same_place(checker, expected, record) || !same_contents(expected, &checker->contents))
    return false;
  const unsigned every = checker->options->details_every;
  if (lone && every > 1 && record->index % every != 0)
    return true;
  struct stackpack_details details;
  return stackpack_record_details(record, checker->space, ZSTD_decompress, &details) &&
         same_details(expected, &details);
}

/* Checks a record of the table that is one of the model's [from, to): these have its address.
 * `taken` marks the ones found before. */
static void check_record(struct checker *checker, const struct stackpack_record *record,
                         uint32_t from, uint32_t to, bool *taken) {
  const struct model *model = checker->model;
  const uint64_t address = model->sorted_records[from]->address;
  struct stackpack_record again;
  if (stackpack_table_record(checker->table, record->index, &again) != STACKPACK_FOUND ||
      again.index != record->index || again.address != record->address ||
      stackpack_record_function(&again) != stackpack_record_function(record) ||
      again.frame_size != record->frame_size || again.kind != record->kind)
    differ(model, "record %" PRIu32 " by number isn't the one at 0x%" PRIx64, record->index,
           address);
  if (!read_contents(record, &checker->contents))
    differ(model, "the live set at 0x%" PRIx64 " is broken", address);
  uint32_t i = from;
  while (i < to && (taken[i - from] ||
                    !same_record(checker, model->sorted_records[i], record, to - from == 1)))
    i++;
  if (i == to)
    differ(model, "record %" PRIu32 " at 0x%" PRIx64 " (model: %" PRIu32 " of them) differs",
           record->index, address, to - from);
  taken[i - from] = true;
}

/* Checks the model's records [from, to), all at one address. */
static void check_group(struct checker *checker, uint32_t from, uint32_t to) {
  const struct model *model = checker->model;
  const uint64_t address = model->sorted_records[from]->address;
  struct stackpack_record record;
  if (stackpack_table_find(checker->table, address + checker->bias, &record) != STACKPACK_FOUND)
    differ(model, "the record at 0x%" PRIx64 " isn't found", address);
  if (record.index != from)
    differ(model, "the record at 0x%" PRIx64 " has number %" PRIu32 ", not %" PRIu32, address,
           record.index, from);
  bool *taken = test_allocate(to - from);
  memset(taken, 0, to - from);
  for (uint32_t i = from; i < to; i++) {
    if (i > from && (!stackpack_record_next(&record) || record.index != i))
      differ(model, "not all records at 0x%" PRIx64 " are there", address);
    check_record(checker, &record, from, to, taken);
  }
  free(taken);
  if (stackpack_record_next(&record))
    differ(model, "there is a record too many at 0x%" PRIx64, address);
}

static void check_records(struct checker *checker) {
  const struct model *model = checker->model;
  for (uint32_t from = 0, to; from < model->sorted_record_count; from = to) {
    for (to = from + 1; to < model->sorted_record_count &&
                        model->sorted_records[to]->address == model->sorted_records[from]->address;)
      to++;
    check_group(checker, from, to);
  }
}

static void check_answer(const struct checker *checker, uint64_t address) {
  struct stackpack_record record;
  const enum stackpack_answer expected = model_answer(checker->model, address);
  const enum stackpack_answer answer =
      stackpack_table_find(checker->table, address + checker->bias, &record);
  if (answer != expected)
    differ(checker->model, "the answer for 0x%" PRIx64 " is %d, not %d", address, answer, expected);
  if (answer == STACKPACK_FOUND && record.address != address + checker->bias)
    differ(checker->model, "0x%" PRIx64 " is found at another address", address);
}

static void check_around(const struct checker *checker, uint64_t address) {
  const unsigned around = checker->options->around;
  for (unsigned i = 0; i <= 2 * around; i++)
    check_answer(checker, address - around + i);
}

static void check_answers(const struct checker *checker) {
  const struct model *model = checker->model;
  for (uint32_t i = 0; i < model->sorted_record_count; i++)
    check_around(checker, model->sorted_records[i]->address);
  for (uint32_t i = 0; i < model->sorted_function_count; i++) {
    check_around(checker, model->sorted_functions[i].address);
    check_around(checker, model->sorted_functions[i].end);
  }
  check_answer(checker, 0);
  check_answer(checker, UINT64_MAX);
}

void model_check_table(const struct model *model, const struct stackpack_table *table,
                       const struct model_options *options) {
  if (stackpack_table_records(table) != model->sorted_record_count)
    differ(model, "%zu records, not %" PRIu32, stackpack_table_records(table),
           model->sorted_record_count);
  struct checker checker = {.model = model,
                            .table = table,
                            .options = options,
                            .bias = options->open_address - options->section_address,
                            .space = test_allocate(stackpack_details_space(table))};
  check_records(&checker);
  check_answers(&checker);
  contents_free(&checker.contents);
  free(checker.space);
}

void model_check(struct model *model, const struct model_options *options) {
  model_finish(model);
  struct packed_model packed = packed_model_open(model, options);
  model_check_table(model, &packed.table, options);
  packed_model_free(&packed);
}
