/* stats.c - stackpack stats: what takes the space, by part of the table, by compilation unit and by
 * function; of several files, how much each takes; with an earlier build, what grew.
 */
#include "tool/commands.h"

#include "tool/image/clean.h"
#include "tool/sizes/stats_json.h"

#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "Usage: stackpack stats [OPTION]... FILE...\n"
    "Counts the bytes of a program's stack maps by part, unit and function; of\n"
    "several programs, the bytes of each.\n\n"
    "      --before=FILE         the growth since this build\n"
    "      --max-growth=PERCENT  exit status 1 if the packed size grew by more\n"
    "      --top=N               list N functions and units (10; json and csv: all)\n"
    "      --filter=REGEX        list functions whose name or unit matches\n"
    "      --sort=packed|raw|records|name  the order (packed)\n"
    "      --nested              functions below their units\n"
    "      --format=text|json|csv  default: text\n" COMMON_HELP "\n"
    "Raw stack maps are packed in memory, too; these drop records first:\n" POLICY_HELP;

static double percent(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * (double)part / (double)whole;
}

/* A name may go to a terminal, so it is printed without control characters. */
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
           survey->program.loaded.table.records_repeated,
           survey->program.loaded.table.records_discarded,
           survey->program.loaded.table.functions_discarded);
}

static void print_distributions(const struct survey *survey) {
  printf("\n  %-28s %7s %7s %7s %7s %7s %7s\n", "distribution", "least", "median", "mean", "90 %",
         "99 %", "most");
  for (unsigned i = 0; i < SURVEY_MEASURES; i++) {
    const struct survey_distribution *distribution = &survey->distributions[i];
    const struct survey_values *values = &distribution->values;
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

static void print_row(const struct survey *survey, const struct survey_row *row, const char *name,
                      const char *indent) {
  printf("    %9" PRIu32, row->records);
  if (survey->has_raw)
    printf(" %10" PRIu64, row->raw / 8);
  printf(" %10.1f %6.1f  %s", (double)row->packed / 8, percent(row->packed, survey->packed.bits),
         indent);
  print_name(name);
}

/* The bytes that belong to no function. */
static struct survey_row rest_of(const struct survey *survey) {
  return (struct survey_row){
      .packed = survey_rest(&survey->packed),
      .raw = survey->has_raw ? survey_rest(&survey->raw) + survey->raw.discarded : 0};
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
  const struct survey_row others = survey_others(survey, rows, count, top), rest = rest_of(survey);
  char text[SURVEY_NAME_SIZE];
  printf("\n    %9s", "records");
  if (survey->has_raw)
    printf(" %10s", "raw");
  printf(" %10s %6s  %s\n", "packed", "%", title);
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

static void print_share(const struct survey *survey, const char *name, const struct sizes *sizes) {
  printf("  %s: %" PRIu64 " bytes, %.1f %% of the file", name, sizes->bits / 8,
         percent(sizes->bits / 8, survey->program.image.size));
  if (survey->text_size > 0)
    printf(", %.1f %% of .text", percent(sizes->bits / 8, survey->text_size));
  putchar('\n');
}

static void print_survey(const struct survey *survey, uint32_t top, bool nested) {
  const uint32_t units = survey->unit_count;
  const bool has_units = units > 1 || (units == 1 && survey->units[0].name != NULL);
  clean_print_path(stdout, survey->program.path);
  printf("%" PRIu64 " bytes", survey->program.image.size);
  if (survey->packed_file_size > 0)
    printf(", %" PRIu64 " when it's packed", survey->packed_file_size);
  putchar('\n');
  if (survey->has_raw)
    print_share(survey, "raw", &survey->raw);
  print_share(survey, "packed", &survey->packed);
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
    snprintf(title, sizeof title, "raw, in %" PRIu32 " map%s", survey->program.loaded.table.maps,
             plural(survey->program.loaded.table.maps));
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

/* ---- CSV (RFC 4180) ---- */

static void csv_text(const char *text) {
  char *clean = clean_text(text == NULL ? "" : text);
  putchar('"');
  for (const char *c = clean; *c != 0; c++) {
    if (*c == '"')
      putchar('"');
    putchar(*c);
  }
  putchar('"');
  free(clean);
}

static void csv_row(const struct survey *survey, const char *unit, const char *name,
                    const struct survey_row *row) {
  csv_text(survey->program.path);
  putchar(',');
  csv_text(unit);
  putchar(',');
  csv_text(name);
  printf(",0x%" PRIx64 ",%" PRIu32 ",", row->address, row->records);
  if (survey->has_raw)
    printf("%" PRIu64, row->raw / 8);
  printf(",%.3f\r\n", (double)row->packed / 8);
}

static void csv_survey(const struct survey *survey, uint32_t top) {
  const struct survey_row *functions = survey->functions, rest = rest_of(survey);
  const struct survey_row others = survey_others(survey, functions, survey->function_count, top);
  char text[SURVEY_NAME_SIZE];
  for (uint32_t i = 0; i < survey->function_count && i < top; i++)
    csv_row(survey, functions[i].unit, survey_name(&functions[i], text), &functions[i]);
  if (others.functions > 0)
    csv_row(survey, NULL, "(others)", &others);
  csv_row(survey, NULL, "(the table itself)", &rest);
}

/* ---- Several files ---- */

static void print_file(const char *name, uint32_t records, uint64_t raw, uint64_t packed,
                       uint64_t file, uint64_t text) {
  printf("%10" PRIu32 " %10" PRIu64 " %10" PRIu64 " %7.1f %7.1f  ", records, raw, packed,
         percent(packed, file), percent(packed, text));
  print_name(name);
}

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

static void print_growth_rows(const struct growth_rows *rows, const char *what, uint32_t top) {
  for (int kind = 0; kind < GROWTH_KINDS; kind++) {
    char title[64], text[SURVEY_NAME_SIZE];
    uint32_t printed = 0;
    if (rows->counts[kind] == 0)
      continue;
    snprintf(title, sizeof title, "%s %s: %" PRIu32, growth_kinds[kind], what, rows->counts[kind]);
    print_change_title(title);
    for (uint32_t i = 0; i < rows->count && printed < top; i++)
      if (rows->items[i].kind == (enum growth_kind)kind) {
        print_change(rows->items[i].before, rows->items[i].after,
                     survey_name(rows->items[i].row, text));
        printed++;
      }
  }
}

static void print_growth(const struct survey *before, const struct survey *after,
                         const struct growth *growth, uint32_t top) {
  clean_print(stdout, before->program.path);
  fputs(" -> ", stdout);
  clean_print(stdout, after->program.path);
  putchar('\n');
  printf("  file     %10" PRIu64 " -> %10" PRIu64 " bytes\n", before->program.image.size,
         after->program.image.size);
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

static void csv_growth(const struct growth *growth, uint32_t top) {
  char text[SURVEY_NAME_SIZE];
  printf("unit,function,before,after\r\n");
  for (uint32_t i = 0; i < growth->functions.count && i < top; i++) {
    const struct growth_row *row = &growth->functions.items[i];
    csv_text(row->row->unit);
    putchar(',');
    csv_text(survey_name(row->row, text));
    printf(",%.3f,%.3f\r\n", (double)row->before / 8, (double)row->after / 8);
  }
}

/* ---- The command ---- */

struct stats_options {
  struct survey_options survey;
  enum output_format format;
  const char *before; /* NULL: nothing to compare with */
  double max_growth;  /* in percent; below 0: any */
  uint32_t top;       /* UINT32_MAX: all */
  bool has_top, nested;
};

/* Prints an object, and gives it back. That standard output is full is told at the end. */
static void print_json(json_t *object) {
  json_dumpf(object, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
  json_decref(object);
  putchar('\n');
}

static void tell_one(const struct stats_options *options, const struct survey *survey) {
  if (options->format == FORMAT_JSON)
    print_json(stats_json(survey, options->top));
  else if (options->format == FORMAT_CSV)
    csv_survey(survey, options->top);
  else
    print_survey(survey, options->top, options->nested);
}

/* Several files: in text, a row each and the sum of all; in JSON, an array; in CSV, all rows. */
static int tell_files(const struct stats_options *options, char **files, int count) {
  uint64_t sums[5] = {0}; /* records, raw, packed, files, .text */
  const bool as_table = options->format == FORMAT_TEXT && count > 1;
  int status = EXIT_DONE, told = 0;
  if (options->format == FORMAT_CSV)
    printf("file,unit,function,address,records,raw,packed\r\n");
  if (options->format == FORMAT_JSON && count > 1)
    puts("[");
  if (as_table)
    printf("%10s %10s %10s %7s %7s  file\n", "records", "raw", "packed", "% file", "% .text");
  for (int i = 0; i < count; i++) {
    struct survey survey;
    if (!survey_open(&survey, files[i], &options->survey)) {
      status = EXIT_UNUSABLE;
      continue;
    }
    const uint64_t sizes[] = {survey.records, survey.raw.bits / 8, survey.packed.bits / 8,
                              survey.program.image.size, survey.text_size};
    if (options->format == FORMAT_JSON && told++ > 0)
      puts(",");
    for (unsigned k = 0; k < 5; k++)
      sums[k] += sizes[k];
    if (as_table)
      print_file(files[i], survey.records, sizes[1], sizes[2], sizes[3], sizes[4]);
    else
      tell_one(options, &survey);
    survey_close(&survey);
  }
  if (as_table)
    print_file("(sum)", (uint32_t)sums[0], sums[1], sums[2], sums[3], sums[4]);
  if (options->format == FORMAT_JSON && count > 1)
    puts("]");
  return status;
}

static int tell_growth(const struct stats_options *options, const struct survey *before,
                       const struct survey *after) {
  struct growth growth;
  growth_open(&growth, before, after);
  const bool exceeds = options->max_growth >= 0 && growth.percent > options->max_growth;
  if (options->format == FORMAT_JSON)
    print_json(stats_json_growth(before, after, &growth, options->top));
  else if (options->format == FORMAT_CSV)
    csv_growth(&growth, options->top);
  else
    print_growth(before, after, &growth, options->top);
  if (exceeds && options->format == FORMAT_TEXT)
    printf("\n  grown by %.2f %%, more than %g %%\n", growth.percent, options->max_growth);
  growth_close(&growth);
  return exceeds ? EXIT_DIFFERENCE : EXIT_DONE;
}

static int tell_two(const struct stats_options *options, const char *after_path) {
  struct survey before = {0}, after = {0};
  const int status = survey_open(&before, options->before, &options->survey) &&
                             survey_open(&after, after_path, &options->survey)
                         ? tell_growth(options, &before, &after)
                         : EXIT_UNUSABLE;
  survey_close(&after);
  survey_close(&before);
  return status;
}

static bool take_percent(void *percent, const char *text, struct problem *problem) {
  double *number = percent;
  char *end;
  *number = strtod(text, &end);
  if (end != text && *end == '%')
    end++;
  return (*text >= '0' && *text <= '9' && *end == 0 && isfinite(*number)) ||
         problem_set(problem, "--max-growth takes a percentage, not '%s'", text);
}

static bool take_top(void *context, const char *text, struct problem *problem) {
  struct stats_options *options = context;
  char *end;
  const unsigned long long value = strtoull(text, &end, 10);
  options->top = (uint32_t)value;
  options->has_top = true;
  return (*text >= '0' && *text <= '9' && *end == 0 && value <= UINT32_MAX) ||
         problem_set(problem, "--top takes a number, not '%s'", text);
}

/* arguments[0..count) are the files; the options were before them. */
static int tell(struct stats_options *options, char **arguments, int count) {
  if (options->before != NULL && count != 1)
    return usage_error("stats", "--before goes with one file");
  if (options->max_growth >= 0 && options->before == NULL)
    return usage_error("stats", "--max-growth goes with --before");
  if (!options->has_top)
    options->top = options->format == FORMAT_TEXT ? 10 : UINT32_MAX;
  options->survey.argument_count = (int)(arguments - options->survey.arguments);
  return options->before != NULL ? tell_two(options, *arguments)
                                 : tell_files(options, arguments, count);
}

int command_stats(int argc, char **argv) {
  static const struct command command = {"stats", help, 1, 0, "there must be a file"};
  struct stats_options options = {.max_growth = -1, .survey.arguments = argv + 1};
  const struct command_option own[] = {
      {"before", .text = &options.before},
      {"max-growth", .take = take_percent, .context = &options.max_growth},
      {"top", .take = take_top, .context = &options},
      {"filter", .text = &options.survey.filter},
      {"sort", .words = "packed|raw|records|name", .word = &options.survey.order},
      {"nested", .flag = &options.nested},
      {"format", .words = "text|json|csv", .word = &options.format},
      POLICY_OPTIONS(&options.survey.policy),
      LOAD_OPTIONS(&options.survey.load),
      {0},
  };
  int status;
  if (command_options(&command, own, argc, argv, &status))
    status = tell(&options, argv + optind, argc - optind);
  policy_close(&options.survey.policy);
  return status;
}
