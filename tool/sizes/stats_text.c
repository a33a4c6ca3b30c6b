/* stats_text.c - see stats_print.h. */
#include "tool/sizes/stats_print.h"

#include "tool/image/clean.h"

#include <inttypes.h>
#include <stdio.h>

static double percent(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * (double)part / (double)whole;
}

/* A name may go to a terminal, so control characters are escaped. */
static void print_name(const char *name) {
  clean_print(stdout, name);
  putchar('\n');
}

/* ---- One file ---- */

static void print_sizes(const char *title, const struct sizes *sizes, uint64_t records) {
  printf("\n  %-24s %10s %7s %10s\n", title, "bytes", "%", "a record");
  for (unsigned i = 0; i < sizes->part_count; i++) {
    const struct sizes_part *part = &sizes->parts[i];
    if (part->bits > 0)
      printf("    %-22s %10" PRIu64 " %7.1f %10.3f\n", part->name, part->bits / 8,
             percent(part->bits, sizes->bits),
             records == 0 ? 0 : (double)part->bits / 8 / (double)records);
  }
  printf("    %-22s %10" PRIu64 " %7.1f %10.3f\n", "sum", sizes->bits / 8, 100.0,
         records == 0 ? 0 : (double)sizes->bits / 8 / (double)records);
}

static void print_repetition(const struct survey *survey) {
  const struct survey_distribution *measures = survey->distributions;
  printf("\n  what repeats\n");
  printf("    %10" PRIu32 " live sets, of %" PRIu32 " records; %" PRIu32
         " have that of the one before\n",
         survey->live_sets, survey->records, survey->repeats);
  printf("    %10" PRIu32 " layouts, of %" PRIu32 " functions; %" PRIu32 " serve %" PRIu32
         " of these\n",
         survey->packed.layouts.count, survey->function_count + survey->left_out.functions,
         survey->packed.layouts.shared, survey->packed.layouts.functions);
  printf("    %10" PRIu32 " locations, in %" PRIu64 " pairs, %" PRIu64 " allocas, %" PRIu64
         " deopt values\n",
         survey->locations, survey_sum(&measures[SURVEY_PAIRS].values), survey->allocas,
         survey->deopt);
  printf("    %10zu frame sizes\n", survey_distinct(&measures[SURVEY_FRAME_SIZES].values));
  if (survey->has_raw)
    printf("    %10" PRIu32 " records left out, as they repeat others; %" PRIu32 " of %" PRIu32
           " discarded functions\n",
           survey->opened.program.loaded.table.records_repeated,
           survey->opened.program.loaded.table.records_discarded,
           survey->opened.program.loaded.table.functions_discarded);
}

static void print_distributions(const struct survey *survey) {
  printf("\n  %-28s %7s %7s %7s %7s %7s %7s\n", "distribution", "least", "median", "mean", "90 %",
         "99 %", "most");
  for (unsigned i = 0; i < SURVEY_MEASURES; i++) {
    const struct survey_distribution *distribution = &survey->distributions[i];
    const struct integers *values = &distribution->values;
    char name[40];
    snprintf(name, sizeof name, "%s of a %s", distribution->name, distribution->of);
    if (values->count == 0)
      continue;
    printf("    %-26s %7" PRIu64 " %7" PRIu64 " %7.1f %7" PRIu64 " %7" PRIu64 " %7" PRIu64 "\n",
           name, survey_quantile(values, 0), survey_quantile(values, 0.5),
           (double)survey_sum(values) / (double)values->count, survey_quantile(values, 0.9),
           survey_quantile(values, 0.99), survey_quantile(values, 1));
  }
}

static const char *const column_titles[] = {"pairs", "derived", "sets", "slots"};
static const int column_widths[] = {7, 7, 5, 5};
_Static_assert(sizeof column_titles / sizeof *column_titles == COLUMNS, "each has a title");
_Static_assert(sizeof column_widths / sizeof *column_widths == COLUMNS, "each has a width");

static void print_row(const struct survey *survey, const struct survey_row *row, const char *name,
                      const char *indent) {
  printf("    %9" PRIu32, row->records);
  if (survey->has_raw)
    printf(" %10" PRIu64, row->raw / 8);
  printf(" %10.1f %6.1f", (double)row->packed / 8, percent(row->packed, survey->packed.bits));
  for (unsigned i = 0; i < COLUMNS; i++)
    printf(" %*" PRIu64, column_widths[i], row->columns[i]);
  printf("  %s", indent);
  print_name(name);
}

static void print_others(const struct survey *survey, const struct survey_row *others,
                         uint32_t count, const char *indent) {
  char name[64];
  snprintf(name, sizeof name, "(%" PRIu32 " other%s)", count, count == 1 ? "" : "s");
  if (count > 0)
    print_row(survey, others, name, indent);
}

/* The first functions of a unit, and the sum of its others. */
static void print_functions_of(const struct survey *survey, const struct survey_row *unit,
                               uint32_t top) {
  struct survey_row others = {0};
  uint32_t printed = 0;
  char text[SURVEY_NAME_SIZE];
  for (uint32_t i = 0; i < survey->function_count; i++) {
    const struct survey_row *function = &survey->functions[i];
    if (survey_compare_text(function->unit, unit->name) != 0)
      continue;
    if (printed++ < top)
      print_row(survey, function, survey_name(function, text), "  ");
    else
      survey_add(&others, function);
  }
  print_others(survey, &others, others.functions, "  ");
}

/* Prints the first rows, and the sum of the others. */
static void print_rows(const struct survey *survey, const char *title,
                       const struct survey_row *rows, uint32_t count, uint32_t top, bool nested) {
  const struct survey_row others = survey_others(survey, rows, count, top),
                          rest = survey_rest_row(survey);
  char text[SURVEY_NAME_SIZE];
  printf("\n    %9s", "records");
  if (survey->has_raw)
    printf(" %10s", "raw");
  printf(" %10s %6s", "packed", "%");
  for (unsigned i = 0; i < COLUMNS; i++)
    printf(" %*s", column_widths[i], column_titles[i]);
  printf("  %s\n", title);
  for (uint32_t i = 0; i < count && i < top; i++) {
    print_row(survey, &rows[i], survey_name(&rows[i], text), "");
    if (nested)
      print_functions_of(survey, &rows[i], top);
  }
  const bool are_units = rows == survey->units && survey->left_out.functions == 0;
  print_others(survey, &others, !are_units ? others.functions : top < count ? count - top : 0, "");
  print_row(survey, &rest, "(the table itself)", "");
}

static void print_drop(const struct survey *survey) {
  const struct drop *drop = &survey->drop;
  if (drop->records == 0)
    return;
  printf("\n  dropped %" PRIu32 " of %" PRIu32 " records (%.1f %%)\n", drop->dropped, drop->records,
         percent(drop->dropped, drop->records));
  for (int verdict = 0; verdict < VERDICTS; verdict++)
    if (drop->verdicts[verdict] > 0)
      printf("    %-7s %10" PRIu32 "  %s\n",
             verdict_is_drop((enum verdict)verdict) ? "dropped" : "kept", drop->verdicts[verdict],
             drop_reason((enum verdict)verdict));
}

/* Where records were dropped, raw and packed sizes are of different ones: each says its number. */
static void print_share(const struct survey *survey, const char *name, const struct sizes *sizes,
                        uint32_t records) {
  printf("  %s: ", name);
  if (survey->drop.dropped > 0)
    printf("%" PRIu32 " record%s, %.2f bytes each, ", records, plural(records),
           records == 0 ? 0 : (double)sizes->bits / 8 / records);
  printf("%" PRIu64 " bytes, %.1f %% of the file", sizes->bits / 8,
         percent(sizes->bits / 8, survey->opened.size));
  if (survey->text_size > 0)
    printf(", %.1f %% of .text", percent(sizes->bits / 8, survey->text_size));
  putchar('\n');
}

void stats_text(const struct survey *survey, uint32_t top, bool nested) {
  const uint32_t units = survey->unit_count;
  const bool has_units = units > 1 || (units == 1 && survey->units[0].name != NULL);
  clean_print_path(stdout, survey->opened.program.path);
  printf("%" PRIu64 " bytes", survey->opened.size);
  if (survey->packed_file_size > 0)
    printf(", %" PRIu64 " when it's packed", survey->packed_file_size);
  putchar('\n');
  if (survey->has_raw)
    print_share(survey, "raw", &survey->raw, survey->drop.records);
  print_share(survey, "packed", &survey->packed, survey->records);
  const struct survey_distribution *measures = survey->distributions;
  const uint64_t functions = survey->function_count + survey->left_out.functions;
  const uint64_t statepoints = measures[SURVEY_PAIRS].values.count;
  const uint64_t pairs = survey_sum(&measures[SURVEY_PAIRS].values);
  printf("  %" PRIu32 " record%s of %" PRIu64 " function%s; %" PRIu64 " statepoint%s, %" PRIu64
         " pair%s, %" PRIu64 " of them derived",
         survey->records, plural(survey->records), functions, plural(functions), statepoints,
         plural(statepoints), pairs, plural(pairs), survey_sum(&measures[SURVEY_DERIVED].values));
  if (survey->live_outs > 0)
    printf("; %" PRIu64 " live-out%s", survey->live_outs, plural(survey->live_outs));
  printf("\n  packed format %d, build ID %s\n", PACKED_VERSION,
         *survey->build_id == 0 ? "none" : survey->build_id);
  print_drop(survey);
  if (survey->has_raw) {
    char title[40];
    snprintf(title, sizeof title, "raw, in %" PRIu32 " map%s",
             survey->opened.program.loaded.table.maps,
             plural(survey->opened.program.loaded.table.maps));
    print_sizes(title, &survey->raw,
                survey->drop.records > 0 ? survey->drop.records : survey->records);
  }
  print_sizes(survey->has_raw ? "packed, by `pack`" : "packed", &survey->packed, survey->records);
  print_repetition(survey);
  print_distributions(survey);
  if (has_units)
    print_rows(survey, nested ? "compilation unit, and its functions" : "compilation unit",
               survey->units, units, top, nested);
  if (!has_units || !nested)
    print_rows(survey, "function", survey->functions, survey->function_count, top, false);
}

/* ---- Several files ---- */

static void print_sums(const uint64_t sizes[STATS_SIZES], const char *name) {
  printf("%10" PRIu64 " %10" PRIu64 " %10" PRIu64 " %7.1f %7.1f  ", sizes[STATS_RECORDS],
         sizes[STATS_RAW], sizes[STATS_PACKED], percent(sizes[STATS_PACKED], sizes[STATS_FILE]),
         percent(sizes[STATS_PACKED], sizes[STATS_TEXT]));
  print_name(name);
}

void stats_text_titles(void) {
  printf("%10s %10s %10s %7s %7s  file\n", "records", "raw", "packed", "% file", "% .text");
}

void stats_text_file(const struct survey *survey, uint64_t sums[STATS_SIZES]) {
  const uint64_t sizes[STATS_SIZES] = {
      [STATS_RECORDS] = survey->records,        [STATS_RAW] = survey->raw.bits / 8,
      [STATS_PACKED] = survey->packed.bits / 8, [STATS_FILE] = survey->opened.size,
      [STATS_TEXT] = survey->text_size,
  };
  for (unsigned i = 0; i < STATS_SIZES; i++)
    sums[i] += sizes[i];
  print_sums(sizes, survey->opened.program.path);
}

void stats_text_sums(const uint64_t sums[STATS_SIZES]) { print_sums(sums, "(sum)"); }

/* ---- Two builds ---- */

static void print_change(uint64_t before, uint64_t after, const char *name) {
  const int64_t change = (int64_t)(after - before);
  printf("    %10.1f %10.1f %+10.1f", (double)before / 8, (double)after / 8, (double)change / 8);
  if (before > 0)
    printf(" %+7.1f  ", 100.0 * (double)change / (double)before);
  else
    printf(" %7s  ", "");
  print_name(name);
}

static void print_change_title(const char *title) {
  printf("\n    %10s %10s %10s %7s  %s\n", "before", "after", "change", "%", title);
}

static void print_growth_parts(const char *title, const struct sizes *before,
                               const struct sizes *after) {
  print_change_title(title);
  for (unsigned i = 0; i < after->part_count; i++)
    if (before->parts[i].bits + after->parts[i].bits > 0)
      print_change(before->parts[i].bits, after->parts[i].bits, after->parts[i].name);
  print_change(before->bits, after->bits, "sum");
}

static void print_growth_rows(const struct growth_rows *rows, const char *noun, uint32_t top) {
  for (int kind = 0; kind < GROWTH_KINDS; kind++) {
    char title[64], text[SURVEY_NAME_SIZE];
    uint32_t printed = 0;
    if (rows->counts[kind] == 0)
      continue;
    snprintf(title, sizeof title, "%s %s: %" PRIu32, growth_kinds[kind], noun, rows->counts[kind]);
    print_change_title(title);
    for (uint32_t i = 0; i < rows->count && printed < top; i++)
      if (rows->items[i].kind == (enum growth_kind)kind) {
        print_change(rows->items[i].before, rows->items[i].after,
                     survey_name(rows->items[i].row, text));
        printed++;
      }
  }
}

void stats_text_growth(const struct survey *before, const struct survey *after,
                       const struct growth *growth, uint32_t top) {
  clean_print(stdout, before->opened.program.path);
  fputs(" -> ", stdout);
  clean_print(stdout, after->opened.program.path);
  putchar('\n');
  printf("  file     %10" PRIu64 " -> %10" PRIu64 " bytes\n", before->opened.size,
         after->opened.size);
  printf("  records  %10" PRIu32 " -> %10" PRIu32 "\n", before->records, after->records);
  printf("  packed   %10" PRIu64 " -> %10" PRIu64 " bytes (%+.2f %%)\n", before->packed.bits / 8,
         after->packed.bits / 8, growth->percent);
  if (before->has_raw && after->has_raw)
    print_growth_parts("raw", &before->raw, &after->raw);
  print_growth_parts("packed", &before->packed, &after->packed);
  if (after->unit_count > 1 || before->unit_count > 1)
    print_growth_rows(&growth->units, "compilation units", top);
  print_growth_rows(&growth->functions, "functions", top);
}
