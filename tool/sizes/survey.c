/* survey.c - see survey.h. */
#include "tool/sizes/survey.h"

#include "format/array.h"
#include "format/packed_write.h"
#include "tool/image/compress.h"
#include "tool/rewrite/rewrite.h"

#include <inttypes.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool no_memory(struct problem *problem) { return problem_set(problem, "not enough memory"); }

/* ---- What the records have ---- */

static void count_record(struct survey *survey, const struct safepoint *record) {
  const struct safepoints *table = &survey->program.loaded.table;
  const struct intern_sequence live = intern_get(&table->live, record->live);
  survey->deopt += intern_get(&table->lists, record->deopt).count;
  survey->live_outs += intern_get(&table->lists, record->live_outs).count;
  if (safepoints_kind(table, record) != SAFEPOINT_STATEPOINT)
    return;
  survey->statepoints++;
  for (uint64_t i = 0; i < live.count; i++) {
    const uint64_t item = live.words[i];
    if (safepoint_item_is_list(item)) {
      survey->allocas += intern_get(&table->lists, safepoint_item_list(item)).count;
    } else {
      survey->pairs++;
      survey->derived += safepoint_item_base(item) != safepoint_item_derived(item);
    }
  }
}

/* Marks what a record has of things with numbers, and counts those that weren't marked. */
static void mark(bool *marks, uint32_t number, uint32_t *count) {
  *count += !marks[number];
  marks[number] = true;
}

static void mark_list(struct survey *survey, uint32_t list, bool *locations) {
  const struct intern_sequence items = intern_get(&survey->program.loaded.table.lists, list);
  for (uint64_t i = 0; i < items.count; i++)
    mark(locations, (uint32_t)items.words[i], &survey->locations);
}

static void mark_record(struct survey *survey, const struct safepoint *record, bool *live_sets,
                        bool *locations) {
  const struct intern_sequence live = intern_get(&survey->program.loaded.table.live, record->live);
  mark_list(survey, record->deopt, locations);
  if (live_sets[record->live])
    return;
  mark(live_sets, record->live, &survey->live_sets);
  for (uint64_t i = 0; i < live.count; i++) {
    if (safepoint_item_is_list(live.words[i])) {
      mark_list(survey, safepoint_item_list(live.words[i]), locations);
    } else {
      mark(locations, safepoint_item_base(live.words[i]), &survey->locations);
      mark(locations, safepoint_item_derived(live.words[i]), &survey->locations);
    }
  }
}

static bool count_records(struct survey *survey, struct problem *problem) {
  const struct safepoints *table = &survey->program.loaded.table;
  bool *live_sets = calloc((size_t)table->live.count + 1, sizeof *live_sets);
  bool *locations = calloc((size_t)table->locations.count + 1, sizeof *locations);
  const bool ok = live_sets != NULL && locations != NULL;
  for (uint32_t i = 0; i < table->record_count && ok; i++) {
    const struct safepoint *record = &table->records[i];
    count_record(survey, record);
    mark_record(survey, record, live_sets, locations);
    survey->repeats +=
        i > 0 && record->function == record[-1].function && record->live == record[-1].live;
  }
  free(live_sets);
  free(locations);
  return ok || no_memory(problem);
}

/* ---- Distributions ---- */

struct values {
  uint64_t *items;
  size_t count, capacity;
  bool failed;
};

static void add_value(struct values *values, uint64_t value) {
  if (array_make_room((void **)&values->items, &values->capacity, values->count + 1,
                      sizeof *values->items))
    values->items[values->count++] = value;
  else
    values->failed = true;
}

/* Sorts the values, and leaves each once. */
static size_t distinct(uint64_t *values, size_t count) {
  size_t kept = 0;
  if (count > 0)
    qsort(values, count, sizeof *values, bits_compare_words);
  for (size_t i = 0; i < count; i++)
    if (kept == 0 || values[kept - 1] != values[i])
      values[kept++] = values[i];
  return kept;
}

/* How many places a record's references are in. */
static uint64_t count_slots(const struct safepoints *table, const struct safepoint *record,
                            struct values *space) {
  const struct intern_sequence live = intern_get(&table->live, record->live);
  space->count = 0;
  for (uint64_t i = 0; i < live.count && !safepoint_item_is_list(live.words[i]); i++) {
    add_value(space, safepoint_item_base(live.words[i]));
    add_value(space, safepoint_item_derived(live.words[i]));
  }
  return distinct(space->items, space->count);
}

static void measure_record(const struct safepoints *table, const struct safepoint *record,
                           struct values *measures, struct values *space) {
  const struct intern_sequence live = intern_get(&table->live, record->live);
  uint64_t pairs = 0, derived = 0;
  for (; pairs < live.count && !safepoint_item_is_list(live.words[pairs]); pairs++)
    derived += safepoint_item_base(live.words[pairs]) != safepoint_item_derived(live.words[pairs]);
  add_value(&measures[SURVEY_SLOTS], count_slots(table, record, space));
  add_value(&measures[SURVEY_PAIRS], pairs);
  add_value(&measures[SURVEY_DERIVED], derived);
}

/* How many different live sets each function's records have: pairs of function and live set are
 * sorted. */
static void measure_live_sets(const struct safepoints *table, struct values *measure,
                              struct values *space) {
  space->count = 0;
  for (uint32_t i = 0; i < table->record_count; i++)
    add_value(space, (uint64_t)table->records[i].function << 32 | table->records[i].live);
  const size_t count = distinct(space->items, space->count);
  uint64_t run = 0;
  for (size_t i = 0; i < count; i++) {
    run++;
    if (i + 1 == count || space->items[i + 1] >> 32 != space->items[i] >> 32) {
      add_value(measure, run);
      run = 0;
    }
  }
}

static void measure_functions(const struct safepoints *table, struct values *measures) {
  for (uint32_t i = 0; i < table->function_count; i++) {
    const struct safepoint_function *function = &table->functions[i];
    if (function->frame_size != SAFEPOINT_FRAME_SIZE_UNKNOWN)
      add_value(&measures[SURVEY_FRAME_SIZES], function->frame_size);
    add_value(&measures[SURVEY_RECORDS], function->records);
  }
}

/* From sorted values to how often each occurs. */
static bool count_values(struct values *values, struct survey_distribution *distribution) {
  distribution->items = calloc(values->count + 1, sizeof *distribution->items);
  if (values->failed || distribution->items == NULL)
    return false;
  if (values->count > 0)
    qsort(values->items, values->count, sizeof *values->items, bits_compare_words);
  for (size_t i = 0; i < values->count; i++) {
    if (i == 0 || values->items[i] != values->items[i - 1])
      distribution->items[distribution->count++].value = values->items[i];
    distribution->items[distribution->count - 1].count++;
  }
  distribution->total = values->count;
  return true;
}

static bool measure(struct survey *survey, struct problem *problem) {
  static const char *const names[SURVEY_MEASURES][2] = {
      [SURVEY_SLOTS] = {"slots", "record"},
      [SURVEY_PAIRS] = {"pairs", "record"},
      [SURVEY_DERIVED] = {"derived pairs", "record"},
      [SURVEY_FRAME_SIZES] = {"frame size", "function"},
      [SURVEY_RECORDS] = {"records", "function"},
      [SURVEY_LIVE_SETS] = {"live sets", "function"},
  };
  const struct safepoints *table = &survey->program.loaded.table;
  struct values measures[SURVEY_MEASURES] = {0}, space = {0};
  for (uint32_t i = 0; i < table->record_count; i++)
    if (safepoints_kind(table, &table->records[i]) == SAFEPOINT_STATEPOINT)
      measure_record(table, &table->records[i], measures, &space);
  measure_live_sets(table, &measures[SURVEY_LIVE_SETS], &space);
  measure_functions(table, measures);
  bool ok = !space.failed;
  for (unsigned i = 0; i < SURVEY_MEASURES; i++) {
    survey->distributions[i].name = names[i][0];
    survey->distributions[i].of = names[i][1];
    ok = count_values(&measures[i], &survey->distributions[i]) && ok;
    free(measures[i].items);
  }
  free(space.items);
  survey->frame_sizes = (uint32_t)survey->distributions[SURVEY_FRAME_SIZES].count;
  return ok || no_memory(problem);
}

uint64_t survey_quantile(const struct survey_distribution *distribution, double part) {
  const double wanted = part * (double)distribution->total;
  uint64_t counted = 0;
  for (size_t i = 0; i < distribution->count; i++) {
    counted += distribution->items[i].count;
    if ((double)counted >= wanted)
      return distribution->items[i].value;
  }
  return 0;
}

double survey_mean(const struct survey_distribution *distribution) {
  double sum = 0;
  for (size_t i = 0; i < distribution->count; i++)
    sum += (double)distribution->items[i].value * (double)distribution->items[i].count;
  return distribution->total == 0 ? 0 : sum / (double)distribution->total;
}

/* ---- Functions and units ---- */

static int compare_text(const char *a, const char *b) {
  if (a == NULL || b == NULL)
    return (a != NULL) - (b != NULL);
  return strcmp(a, b);
}

static int compare_rows(const void *a, const void *b, void *context) {
  const struct survey_row *x = a, *y = b;
  const enum survey_order order = *(const enum survey_order *)context;
  const uint64_t sizes[][2] = {
      {order == SURVEY_BY_RECORDS ? x->records : 0, order == SURVEY_BY_RECORDS ? y->records : 0},
      {order == SURVEY_BY_RAW ? x->raw : 0, order == SURVEY_BY_RAW ? y->raw : 0},
      {x->packed, y->packed},
      {x->raw, y->raw}};
  const int names = compare_text(x->name, y->name);
  if (order == SURVEY_BY_NAME && names != 0)
    return names;
  for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++)
    if (sizes[i][0] != sizes[i][1])
      return sizes[i][0] > sizes[i][1] ? -1 : 1;
  return names != 0 ? names : x->address < y->address ? -1 : x->address > y->address;
}

void survey_add(struct survey_row *sum, const struct survey_row *row) {
  sum->functions += row->functions;
  sum->records += row->records;
  sum->raw += row->raw;
  sum->packed += row->packed;
}

static int compare_units(const void *a, const void *b) {
  const struct survey_row *x = a, *y = b;
  return compare_text(x->unit, y->unit);
}

/* How much of a path is a folder that all units with a path are in. */
static size_t common_folder(const struct survey *survey) {
  const char *first = NULL;
  size_t common = 0;
  for (uint32_t i = 0; i < survey->function_count; i++) {
    const char *unit = survey->functions[i].unit;
    if (unit == NULL || strchr(unit, '/') == NULL)
      continue;
    if (first == NULL) {
      first = unit;
      common = (size_t)(strrchr(unit, '/') - unit) + 1;
    }
    while (common > 0 && (strncmp(first, unit, common) != 0 || first[common - 1] != '/'))
      common--;
  }
  return common == 1 ? 0 : common; /* not just the root */
}

static void shorten_units(struct survey *survey) {
  const size_t common = common_folder(survey);
  for (uint32_t i = 0; i < survey->function_count; i++)
    if (survey->functions[i].unit != NULL && strchr(survey->functions[i].unit, '/') != NULL)
      survey->functions[i].unit += common;
}

static bool list_functions(struct survey *survey, struct problem *problem) {
  const struct safepoints *table = &survey->program.loaded.table;
  survey->functions = calloc((size_t)table->function_count + 1, sizeof *survey->functions);
  if (survey->functions == NULL)
    return no_memory(problem);
  survey->function_count = table->function_count;
  for (uint32_t i = 0; i < table->function_count; i++) {
    const struct safepoint_function *function = &table->functions[i];
    survey->functions[i] = (struct survey_row){
        .name = names_find(&survey->names, function->address),
        .unit = units_find(&survey->unit_names, function->address),
        .address = function->address,
        .frame_size = function->frame_size,
        .functions = 1,
        .records = function->records,
        .raw = survey->has_raw ? survey->raw.functions[i] : 0,
        .packed = survey->packed.functions[i],
    };
  }
  shorten_units(survey);
  return true;
}

/* Leaves the functions that the filter is for. */
static bool filter_functions(struct survey *survey, struct problem *problem) {
  const char *filter = survey->options->filter;
  char text[SURVEY_NAME_SIZE];
  regex_t expression;
  uint32_t kept = 0;
  if (filter == NULL)
    return true;
  if (regcomp(&expression, filter, REG_EXTENDED | REG_NOSUB) != 0)
    return problem_set(problem, "--filter is no regular expression: '%s'", filter);
  for (uint32_t i = 0; i < survey->function_count; i++) {
    const struct survey_row *row = &survey->functions[i];
    if (regexec(&expression, survey_name(row, text), 0, NULL, 0) == 0 ||
        (row->unit != NULL && regexec(&expression, row->unit, 0, NULL, 0) == 0))
      survey->functions[kept++] = *row;
    else
      survey_add(&survey->left_out, row);
  }
  survey->function_count = kept;
  regfree(&expression);
  return true;
}

/* Sums the functions of each unit; NULL is the unit of all that have none. */
static bool list_units(struct survey *survey, struct problem *problem) {
  struct survey_row *units = calloc((size_t)survey->function_count + 1, sizeof *units);
  if (units == NULL)
    return no_memory(problem);
  survey->units = units;
  if (survey->function_count > 0)
    qsort(survey->functions, survey->function_count, sizeof *survey->functions, compare_units);
  for (uint32_t i = 0; i < survey->function_count; i++) {
    const struct survey_row *function = &survey->functions[i];
    if (i == 0 || compare_units(function - 1, function) != 0)
      units[survey->unit_count++].name = function->unit;
    struct survey_row *unit = &units[survey->unit_count - 1];
    survey_add(unit, function);
  }
  return true;
}

static void sort_rows(struct survey *survey) {
  if (survey->function_count > 0) {
    enum survey_order order = survey->options->order;
    qsort_r(survey->functions, survey->function_count, sizeof *survey->functions, compare_rows,
            &order);
    qsort_r(survey->units, survey->unit_count, sizeof *survey->units, compare_rows, &order);
  }
}

const char *survey_name(const struct survey_row *row, char text[SURVEY_NAME_SIZE]) {
  if (row->name != NULL)
    return row->name;
  snprintf(text, SURVEY_NAME_SIZE, "0x%" PRIx64, row->address);
  return text;
}

uint64_t survey_rest(const struct sizes *sizes) {
  uint64_t rest = 0;
  for (unsigned i = 0; i < sizes->part_count; i++)
    rest += sizes->parts[i].bits - sizes->parts[i].owned;
  return rest;
}

/* ---- The whole ---- */

/* How large the packed file would be. */
static void find_file_size(struct survey *survey, size_t table_size) {
  const struct loaded *loaded = &survey->program.loaded;
  const struct rewrite_sections sections = {loaded->raw, loaded->global_roots};
  struct problem ignored = {0};
  if (loaded->raw_count > 1 || !rewrite_check(&survey->program.image, loaded->raw, &ignored) ||
      !rewrite_file_size(&survey->program.image, &sections, table_size, &survey->packed_file_size,
                         &ignored))
    survey->packed_file_size = 0;
}

/* Packs the table in memory; its size doesn't depend on where it will stand. */
static bool pack_in_memory(struct survey *survey, struct problem *problem) {
  const uint64_t address = survey->program.loaded.raw->header.sh_addr & ~(uint64_t)7;
  size_t size;
  const char *error = packed_write(&survey->program.loaded.table, address, compress_block,
                                   &survey->table_bytes, &size);
  if (error != NULL) {
    survey->table_bytes = NULL;
    return problem_set(problem, "%s", error);
  }
  find_file_size(survey, size);
  return packed_open(&survey->table, survey->table_bytes, size, address) == PACKED_OK ||
         problem_set(problem, "the packed table can't be read again");
}

static bool measure_tables(struct survey *survey, const struct survey_options *options,
                           struct problem *problem) {
  struct loaded *loaded = &survey->program.loaded;
  survey->has_raw = loaded->kind == LOAD_RAW;
  if (survey->has_raw && !sizes_of_raw(&survey->raw, &survey->program.image, loaded, problem))
    return false;
  if (!drop_by_policy(survey->path, &survey->program.image, loaded, &options->policy, NULL,
                      &survey->drop, problem))
    return false;
  if (survey->has_raw && !pack_in_memory(survey, problem))
    return false;
  if (!survey->has_raw)
    survey->table = loaded->packed;
  return sizes_of_packed(&survey->packed, &loaded->table, &survey->table, problem);
}

static void note_counts(struct survey *survey) {
  const struct safepoints *table = &survey->program.loaded.table;
  const struct image_section *text = image_section(&survey->program.image, ".text");
  survey->file_size = survey->program.image.size;
  survey->text_size = text == NULL ? 0 : text->header.sh_size;
  debug_names_build_id(survey->program.image.elf, survey->build_id);
  survey->records = table->record_count;
  survey->maps = table->maps;
  survey->functions_discarded = table->functions_discarded;
  survey->records_discarded = table->records_discarded;
  survey->records_repeated = table->records_repeated;
  survey->version = PACKED_VERSION;
}

static bool survey_loaded(struct survey *survey, const struct survey_options *options,
                          struct problem *problem) {
  if (!measure_tables(survey, options, problem))
    return false;
  note_counts(survey);
  names_open(&survey->names, &survey->program.image);
  if (!count_records(survey, problem) || !measure(survey, problem) ||
      !units_open(&survey->unit_names, survey->path, &survey->program.image, problem) ||
      !list_functions(survey, problem) || !filter_functions(survey, problem) ||
      !list_units(survey, problem))
    return false;
  sort_rows(survey);
  return true;
}

bool survey_open(struct survey *survey, const char *path, const struct survey_options *options,
                 struct problem *problem) {
  *survey = (struct survey){.path = path, .options = options};
  if (program_open(&survey->program, path, &options->load, problem) &&
      survey_loaded(survey, options, problem))
    return true;
  survey_close(survey);
  return false;
}

void survey_close(struct survey *survey) {
  for (unsigned i = 0; i < SURVEY_MEASURES; i++)
    free(survey->distributions[i].items);
  free(survey->functions);
  free(survey->units);
  sizes_free(&survey->raw);
  sizes_free(&survey->packed);
  units_close(&survey->unit_names);
  names_close(&survey->names);
  drop_close(&survey->drop);
  free(survey->table_bytes);
  program_close(&survey->program);
}

bool survey_open_or_tell(struct survey *survey, const char *path,
                         const struct survey_options *options) {
  struct problem problem = {0};
  if (survey_open(survey, path, options, &problem)) {
    if (survey->unit_names.is_broken)
      fprintf(stderr,
              "stackpack: %s: warning: the debug information is broken; some functions' "
              "compilation units are missing\n",
              path);
    return true;
  }
  problem_print(&problem, path);
  return false;
}
