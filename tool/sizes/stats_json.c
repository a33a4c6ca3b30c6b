/* stats_json.c - see stats_json.h.
 *
 * Sizes are bytes. A size with odd bits is a number with a fraction: a multiple of 1/8, exact as a
 * floating-point number, so that sums of sizes are exact, too.
 */
#include "tool/sizes/stats_json.h"

#include "runtime/stackpack.h"
#include "tool/print/json.h"

static json_t *size(uint64_t bits) {
  return bits % 8 == 0 ? json_integer((json_int_t)(bits / 8)) : json_real((double)bits / 8);
}

static json_t *number(uint64_t value) { return json_integer((json_int_t)value); }

static json_t *sizes(const struct sizes *sizes) {
  json_t *parts = json_array();
  for (unsigned i = 0; i < sizes->part_count; i++) {
    const struct sizes_part *part = &sizes->parts[i];
    json_array_append_new(parts, json_pack("{so so so}", "name", json_text(part->name), "size",
                                           size(part->bits), "of_functions", size(part->owned)));
  }
  return json_pack("{so so so so}", "size", size(sizes->bits), "parts", parts, "discarded",
                   size(sizes->discarded), "rest", size(survey_rest(sizes)));
}

/* Adds the members that rows of functions, rows of units and their sums have, to a row's own
 * members. */
static json_t *row(const struct survey *survey, const struct survey_row *row, json_t *object) {
  json_object_set_new(object, "records", number(row->records));
  json_object_set_new(object, "raw", survey->has_raw ? size(row->raw) : json_null());
  json_object_set_new(object, "packed", size(row->packed));
  for (unsigned i = 0; i < COLUMNS; i++)
    json_object_set_new(object, survey_columns[i], number(row->columns[i]));
  return object;
}

static json_t *function(const struct survey_row *row) {
  return json_pack(
      "{so so so* so* so so}", "name", json_text(row->name), "address",
      number(piece_offset(row->piece, row->address)), "section",
      row->piece == NULL ? NULL : json_text(row->piece->section), "member",
      row->piece == NULL || row->piece->member == NULL ? NULL : json_text(row->piece->member),
      "unit", json_text(row->unit), "frame_size",
      row->frame_size == SAFEPOINT_FRAME_SIZE_UNKNOWN ? json_null() : number(row->frame_size));
}

static json_t *unit(const struct survey_row *row) {
  return json_pack("{so so}", "name", json_text(row->name), "functions", number(row->functions));
}

/* Adds the rows, and the sum of all others. */
static void add_rows(json_t *object, const char *name, const char *others_name,
                     const struct survey *survey, const struct survey_row *rows, uint32_t count,
                     uint32_t top) {
  json_t *list = json_array();
  const struct survey_row others = survey_others(survey, rows, count, top);
  for (uint32_t i = 0; i < count && i < top; i++)
    json_array_append_new(
        list, row(survey, &rows[i], rows[i].is_unit ? unit(&rows[i]) : function(&rows[i])));
  json_object_set_new(object, name, list);
  json_object_set_new(
      object, others_name,
      row(survey, &others, json_pack("{so}", "functions", number(others.functions))));
}

static json_t *distributions(const struct survey *survey) {
  json_t *list = json_array();
  for (unsigned i = 0; i < SURVEY_MEASURES; i++) {
    const struct survey_distribution *distribution = &survey->distributions[i];
    const struct integers *values = &distribution->values;
    json_t *counts = json_array();
    for (size_t k = 0, end; k < values->count; k = end) {
      end = survey_run(values, k);
      json_array_append_new(counts, json_pack("[oo]", number(values->items[k]), number(end - k)));
    }
    json_array_append_new(list, json_pack("{ss ss so so}", "name", distribution->name, "of",
                                          distribution->of, "total", number(values->count),
                                          "counts", counts));
  }
  return list;
}

static json_t *repetition(const struct survey *survey) {
  const struct safepoints *table = &survey->opened.program.loaded.table;
  const struct sizes_layouts *layouts = &survey->packed.layouts;
  return json_pack(
      "{so so so so so so so so so so}", "live_sets", number(survey->live_sets),
      "records_like_the_one_before", number(survey->repeats), "layouts", number(layouts->count),
      "shared_layouts", number(layouts->shared), "functions_with_shared_layouts",
      number(layouts->functions), "locations", number(survey->locations), "frame_sizes",
      number(survey_distinct(&survey->distributions[SURVEY_FRAME_SIZES].values)),
      "records_repeated", number(table->records_repeated), "records_discarded",
      number(table->records_discarded), "functions_discarded", number(table->functions_discarded));
}

static json_t *blamed(const struct drop_count *items, uint32_t count) {
  json_t *list = json_array();
  for (uint32_t i = 0; i < count; i++)
    json_array_append_new(list,
                          json_pack("{so so so}", "name", json_text(items[i].name), "address",
                                    number(items[i].address), "records", number(items[i].records)));
  return list;
}

static json_t *dropped(const struct drop *drop) {
  if (drop->records == 0)
    return json_null();
  json_t *reasons = json_array();
  for (int verdict = 0; verdict < VERDICTS; verdict++)
    if (drop->verdicts[verdict] > 0)
      json_array_append_new(reasons, json_pack("{sb ss so}", "dropped",
                                               verdict_is_drop((enum verdict)verdict), "reason",
                                               drop_reason((enum verdict)verdict), "records",
                                               number(drop->verdicts[verdict])));
  return json_pack(
      "{so so so so so sb}", "records", number(drop->records), "dropped", number(drop->dropped),
      "reasons", reasons, "indirect_calls", blamed(drop->pointers, drop->pointer_count), "outside",
      blamed(drop->outside, drop->outside_count), "handles_signals", drop->has_handlers);
}

static json_t *counts(const struct survey *survey) {
  const struct survey_distribution *measures = survey->distributions;
  const uint64_t functions = (uint64_t)survey->function_count + survey->left_out.functions;
  json_t *packed_size =
      survey->packed_file_size > 0 ? number(survey->packed_file_size) : NULL; /* left out */
  return json_pack("{so so so* so so so so so so so so so so so so}", "file",
                   json_text(survey->opened.program.path), "file_size", number(survey->opened.size),
                   "packed_file_size", packed_size, "text_size",
                   survey->text_size == 0 ? json_null() : number(survey->text_size), "build_id",
                   json_text(*survey->build_id == 0 ? NULL : survey->build_id), "form",
                   json_text(survey->has_raw ? "raw" : "packed"), "records",
                   number(survey->records), "functions", number(functions), "maps",
                   survey->has_raw ? number(survey->opened.program.loaded.table.maps) : json_null(),
                   "statepoints", number(measures[SURVEY_PAIRS].values.count), "pairs",
                   number(survey_sum(&measures[SURVEY_PAIRS].values)), "derived",
                   number(survey_sum(&measures[SURVEY_DERIVED].values)), "allocas",
                   number(survey->allocas), "deopt_values", number(survey->deopt), "live_outs",
                   number(survey->live_outs));
}

static json_t *options(const struct survey_options *options) {
  json_t *list = json_array();
  for (int i = 0; i < options->argument_count; i++)
    json_array_append_new(list, json_text(options->arguments[i]));
  return list;
}

/* An object with the members that each one begins with. */
static json_t *new_object(const struct survey *survey) {
  return json_pack("{si ss so so}", "json_version", STATS_JSON_VERSION, "stackpack",
                   STACKPACK_VERSION, "options", options(survey->options), "packed_version",
                   number(PACKED_VERSION));
}

json_t *stats_json(const struct survey *survey, uint32_t top) {
  json_t *object = new_object(survey);
  json_object_set_new(object, "counts", counts(survey));
  json_object_set_new(object, "raw", survey->has_raw ? sizes(&survey->raw) : json_null());
  json_object_set_new(object, "packed", sizes(&survey->packed));
  json_object_set_new(object, "drop", dropped(&survey->drop));
  json_object_set_new(object, "repetition", repetition(survey));
  json_object_set_new(object, "distributions", distributions(survey));
  add_rows(object, "units", "other_units", survey, survey->units, survey->unit_count, top);
  add_rows(object, "functions", "other_functions", survey, survey->functions,
           survey->function_count, top);
  return object;
}

/* ---- Growth ---- */

static json_t *growth_rows(const struct growth_rows *rows, uint32_t top) {
  json_t *list = json_array(), *object = json_object();
  for (int kind = 0; kind < GROWTH_KINDS; kind++)
    json_object_set_new(object, growth_kinds[kind], number(rows->counts[kind]));
  json_object_set_new(object, "same", number(rows->same));
  for (uint32_t i = 0; i < rows->count && i < top; i++) {
    const struct growth_row *row = &rows->items[i];
    json_array_append_new(
        list,
        json_pack("{so so so ss so so}", "name", json_text(row->row->name), "address",
                  number(piece_offset(row->row->piece, row->row->address)), "unit",
                  json_text(row->row->is_unit ? row->row->name : row->row->unit), "change",
                  growth_kinds[row->kind], "before", size(row->before), "after", size(row->after)));
  }
  json_object_set_new(object, "changes", list);
  return object;
}

json_t *stats_json_growth(const struct survey *before, const struct survey *after,
                          const struct growth *growth, uint32_t top) {
  json_t *object = new_object(after);
  const struct survey *sides[] = {before, after};
  const char *const names[] = {"before", "after"};
  for (unsigned i = 0; i < 2; i++) {
    json_t *side = json_object();
    json_object_set_new(side, "counts", counts(sides[i]));
    json_object_set_new(side, "raw", sides[i]->has_raw ? sizes(&sides[i]->raw) : json_null());
    json_object_set_new(side, "packed", sizes(&sides[i]->packed));
    json_object_set_new(object, names[i], side);
  }
  json_object_set_new(object, "growth_percent", json_real(growth->percent));
  json_object_set_new(object, "units", growth_rows(&growth->units, top));
  json_object_set_new(object, "functions", growth_rows(&growth->functions, top));
  return object;
}
