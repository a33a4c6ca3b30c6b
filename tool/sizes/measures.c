/* measures.c - counts the contents of the records of a survey, and how often they repeat. */
#include "tool/sizes/survey.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

const char *const survey_columns[COLUMNS] = {"pairs", "derived", "live_sets", "slots"};

/* Marks the locations of a list. Returns how many it has. */
static uint64_t use_list(const struct safepoints *table, uint32_t list, bool *is_used) {
  const struct intern_sequence locations = intern_get(&table->lists, list);
  for (uint64_t i = 0; i < locations.count; i++)
    is_used[locations.words[i]] = true;
  return locations.count;
}

/* is_used: by location: the record's live set or deopt state has it. */
static void measure_record(struct survey *survey, const struct safepoint *record,
                           struct integers *space, bool *is_used) {
  const struct safepoints *table = &survey->opened.program.loaded.table;
  const struct intern_sequence live = intern_get(&table->live, record->live);
  const bool is_statepoint = safepoints_kind(table, record) == SAFEPOINT_STATEPOINT;
  struct survey_distribution *measures = survey->distributions;
  uint64_t pairs = 0, derived = 0, listed = 0;
  survey->deopt += use_list(table, record->deopt, is_used);
  survey->live_outs += intern_get(&table->lists, record->live_outs).count;
  space->count = 0;
  for (uint64_t i = 0; i < live.count; i++) {
    const uint64_t item = live.words[i];
    if (safepoint_item_is_list(item)) {
      listed += use_list(table, safepoint_item_list(item), is_used);
      continue;
    }
    const uint32_t base = safepoint_item_base(item), reference = safepoint_item_derived(item);
    is_used[base] = is_used[reference] = true;
    pairs++;
    derived += base != reference;
    integers_add(space, base);
    integers_add(space, reference);
  }
  if (!is_statepoint)
    return;
  survey->allocas += listed;
  integers_add(&measures[SURVEY_SLOTS].values, integers_sort(space));
  integers_add(&measures[SURVEY_PAIRS].values, pairs);
  integers_add(&measures[SURVEY_DERIVED].values, derived);
  survey->columns[record->function][COLUMN_PAIRS] += pairs;
  survey->columns[record->function][COLUMN_DERIVED] += derived;
}

static void measure_functions(struct survey *survey) {
  const struct safepoints *table = &survey->opened.program.loaded.table;
  for (uint32_t i = 0; i < table->function_count; i++) {
    const struct safepoint_function *function = &table->functions[i];
    if (function->frame_size != SAFEPOINT_FRAME_SIZE_UNKNOWN)
      integers_add(&survey->distributions[SURVEY_FRAME_SIZES].values, function->frame_size);
    integers_add(&survey->distributions[SURVEY_RECORDS].values, function->records);
  }
}

/* Adds the locations of a live set's pairs. */
static void add_slots(struct integers *slots, const struct safepoints *table, uint32_t set) {
  const struct intern_sequence live = intern_get(&table->live, set);
  for (uint64_t i = 0; i < live.count; i++)
    if (!safepoint_item_is_list(live.words[i])) {
      integers_add(slots, safepoint_item_base(live.words[i]));
      integers_add(slots, safepoint_item_derived(live.words[i]));
    }
}

/* Counts the different live sets of each function's records, and of all: sorts pairs of function
 * and live set. */
static void measure_live_sets(struct survey *survey, struct integers *space) {
  const struct safepoints *table = &survey->opened.program.loaded.table;
  space->count = 0;
  for (uint32_t i = 0; i < table->record_count; i++)
    integers_add(space, (uint64_t)table->records[i].function << 32 | table->records[i].live);
  struct integers slots = {0};
  uint64_t run = 0;
  integers_sort(space);
  for (size_t i = 0; i < space->count; i++) {
    const uint64_t function = space->items[i] >> 32;
    run++;
    add_slots(&slots, table, (uint32_t)space->items[i]);
    if (i + 1 == space->count || space->items[i + 1] >> 32 != function) {
      integers_add(&survey->distributions[SURVEY_LIVE_SETS].values, run);
      survey->columns[function][COLUMN_LIVE_SETS] = run;
      survey->columns[function][COLUMN_SLOTS] = integers_sort(&slots);
      slots.count = 0;
      run = 0;
    }
  }
  assert(run == 0 && slots.count == 0);
  for (size_t i = 0; i < space->count; i++)
    space->items[i] = (uint32_t)space->items[i];
  survey->live_sets = (uint32_t)integers_sort(space);
  free(slots.items);
}

void survey_measure(struct survey *survey) {
  static const struct survey_distribution empty[SURVEY_MEASURES] = {
      [SURVEY_SLOTS] = {.name = "slots", .of = "record"},
      [SURVEY_PAIRS] = {.name = "pairs", .of = "record"},
      [SURVEY_DERIVED] = {.name = "derived pairs", .of = "record"},
      [SURVEY_FRAME_SIZES] = {.name = "frame size", .of = "function"},
      [SURVEY_RECORDS] = {.name = "records", .of = "function"},
      [SURVEY_LIVE_SETS] = {.name = "live sets", .of = "function"},
  };
  const struct safepoints *table = &survey->opened.program.loaded.table;
  struct integers space = {0};
  bool *is_used = calloc((size_t)table->locations.count + 1, sizeof *is_used);
  survey->columns = calloc((size_t)table->function_count + 1, sizeof *survey->columns);
  memcpy(survey->distributions, empty, sizeof empty);
  for (uint32_t i = 0; i < table->record_count; i++) {
    const struct safepoint *record = &table->records[i];
    measure_record(survey, record, &space, is_used);
    survey->repeats +=
        i > 0 && record->function == record[-1].function && record->live == record[-1].live;
  }
  measure_functions(survey);
  measure_live_sets(survey, &space);
  for (uint32_t i = 0; i < table->locations.count; i++)
    survey->locations += is_used[i];
  for (unsigned i = 0; i < SURVEY_MEASURES; i++) {
    struct integers *values = &survey->distributions[i].values;
    array_sort(values->items, values->count, sizeof *values->items, bits_compare_words);
  }
  free(space.items);
  free(is_used);
}

/* ---- Distributions ---- */

size_t survey_run(const struct integers *values, size_t first) {
  size_t end = first + 1;
  assert(first < values->count);
  while (end < values->count && values->items[end] == values->items[first])
    end++;
  return end;
}

size_t survey_distinct(const struct integers *values) {
  size_t count = 0;
  for (size_t i = 0; i < values->count; i = survey_run(values, i))
    count++;
  return count;
}

uint64_t survey_quantile(const struct integers *values, double part) {
  const double wanted = part * (double)values->count;
  const size_t whole = (size_t)wanted,
               place = whole > 0 && (double)whole == wanted ? whole - 1 : whole;
  assert(values->count == 0 || place < values->count);
  return values->count == 0 ? 0 : values->items[place];
}

uint64_t survey_sum(const struct integers *values) {
  uint64_t sum = 0;
  for (size_t i = 0; i < values->count; i++)
    sum += values->items[i];
  return sum;
}
