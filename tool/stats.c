/* stats.c - stackpack stats: what takes the space, by part of the table, by compilation unit and by
 * function; of two builds, what grew.
 */
#include "tool/commands.h"

#include "tool/print/json.h"
#include "tool/sizes/growth.h"
#include "tool/sizes/stats_json.h"
#include "tool/sizes/survey.h"

#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char help[] =
    "Usage: stackpack stats [OPTION]... FILE\n"
    "  or:  stackpack stats [OPTION]... BEFORE AFTER\n"
    "Tells what takes the space of a program's stack maps; of two builds, what grew.\n\n"
    "      --top=N               list N functions and units (10; with json, all)\n"
    "      --max-growth=PERCENT  exit status 1 if the packed size grew by more\n"
    "      --format=text|json    default: text\n" COMMON_HELP "\n"
    "Raw stack maps are packed in memory, too; these drop records first:\n" POLICY_HELP;

static double percent(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * (double)part / (double)whole;
}

/* A name goes to a terminal, maybe, which control characters are not for. */
static void print_name(const char *name) {
  char *clean = names_clean(name);
  puts(clean != NULL ? clean : "?");
  free(clean);
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
  printf("\n  what repeats\n");
  printf("    %10" PRIu32 " live sets, of %" PRIu32 " records; %" PRIu32
         " have that of the one before\n",
         survey->live_sets, survey->records, survey->repeats);
  printf("    %10" PRIu32 " layouts, of %" PRIu32 " functions; %" PRIu32 " serve %" PRIu32
         " of these\n",
         survey->packed.layouts.count, survey->function_count, survey->packed.layouts.shared,
         survey->packed.layouts.functions);
  printf("    %10" PRIu32 " locations, in %" PRIu64 " pairs, %" PRIu64 " allocas, %" PRIu64
         " deopt values\n",
         survey->locations, survey->pairs, survey->allocas, survey->deopt);
  printf("    %10" PRIu32 " frame sizes\n", survey->frame_sizes);
  if (survey->has_raw)
    printf("    %10" PRIu32 " records left out, as they repeat others; %" PRIu32 " of %" PRIu32
           " discarded functions\n",
           survey->records_repeated, survey->records_discarded, survey->functions_discarded);
}

static void print_distributions(const struct survey *survey) {
  printf("\n  %-28s %7s %7s %7s %7s %7s %7s\n", "distribution", "least", "median", "mean", "90 %",
         "99 %", "most");
  for (unsigned i = 0; i < SURVEY_MEASURES; i++) {
    const struct survey_distribution *distribution = &survey->distributions[i];
    if (distribution->total == 0)
      continue;
    char name[40];
    snprintf(name, sizeof name, "%s of a %s", distribution->name, distribution->of);
    printf("    %-26s %7" PRIu64 " %7" PRIu64 " %7.1f %7" PRIu64 " %7" PRIu64 " %7" PRIu64 "\n",
           name, survey_quantile(distribution, 0), survey_quantile(distribution, 0.5),
           survey_mean(distribution), survey_quantile(distribution, 0.9),
           survey_quantile(distribution, 0.99), survey_quantile(distribution, 1));
  }
}

static void print_row(const struct survey *survey, const struct survey_row *row, const char *name) {
  printf("    %9" PRIu32, row->records);
  if (survey->has_raw)
    printf(" %10" PRIu64, row->raw / 8);
  printf(" %10.1f %6.1f  ", (double)row->packed / 8, percent(row->packed, survey->packed.bits));
  print_name(name);
}

/* Prints the first rows, and the sum of the others. */
static void print_rows(const struct survey *survey, const char *title,
                       const struct survey_row *rows, uint32_t count, uint32_t top) {
  struct survey_row others = {0};
  char text[SURVEY_NAME_SIZE], last[64];
  const bool are_units = rows == survey->units;
  printf("\n    %9s", "records");
  if (survey->has_raw)
    printf(" %10s", "raw");
  printf(" %10s %6s  %s\n", "packed", "%", title);
  for (uint32_t i = 0; i < count; i++) {
    if (i < top) {
      print_row(survey, &rows[i],
                are_units ? rows[i].name != NULL ? rows[i].name : "(unknown)"
                          : survey_name(&rows[i], text));
      continue;
    }
    others.records += rows[i].records;
    others.raw += rows[i].raw;
    others.packed += rows[i].packed;
  }
  if (count > top) {
    snprintf(last, sizeof last, "(%" PRIu32 " others)", count - top);
    print_row(survey, &others, last);
  }
  others = (struct survey_row){.packed = survey_rest(&survey->packed)};
  if (survey->has_raw)
    others.raw = survey_rest(&survey->raw) + survey->raw.discarded;
  print_row(survey, &others, "(the table itself)");
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

static void print_survey(const struct survey *survey, uint32_t top) {
  const uint32_t units = survey->unit_count;
  printf("%s: %" PRIu64 " bytes", survey->path, survey->file_size);
  if (survey->packed_file_size > 0)
    printf(", %" PRIu64 " when it's packed", survey->packed_file_size);
  putchar('\n');
  printf("  %" PRIu32 " records of %" PRIu32 " functions; %" PRIu64 " statepoints, %" PRIu64
         " pairs, %" PRIu64 " of them derived",
         survey->records, survey->function_count, survey->statepoints, survey->pairs,
         survey->derived);
  printf(survey->live_outs > 0 ? "; %" PRIu64 " live-outs\n" : "\n", survey->live_outs);
  print_drop(survey);
  if (survey->has_raw) {
    char title[40];
    snprintf(title, sizeof title, "raw, in %" PRIu32 " map%s", survey->maps,
             survey->maps == 1 ? "" : "s");
    print_sizes(title, &survey->raw,
                survey->drop.records > 0 ? survey->drop.records : survey->records);
  }
  print_sizes(survey->has_raw ? "packed, by `pack`" : "packed", &survey->packed, survey->records);
  print_repetition(survey);
  print_distributions(survey);
  if (units > 1 || (units == 1 && survey->units[0].name != NULL))
    print_rows(survey, "compilation unit", survey->units, units, top);
  print_rows(survey, "function", survey->functions, survey->function_count, top);
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
  static const char *const titles[GROWTH_KINDS] = {[GROWTH_NEW] = "new",
                                                   [GROWTH_GROWN] = "grown",
                                                   [GROWTH_SHRUNK] = "shrunk",
                                                   [GROWTH_GONE] = "gone"};
  for (int kind = 0; kind < GROWTH_KINDS; kind++) {
    char title[64], text[SURVEY_NAME_SIZE];
    uint32_t printed = 0;
    if (rows->counts[kind] == 0)
      continue;
    snprintf(title, sizeof title, "%s %s: %" PRIu32, titles[kind], what, rows->counts[kind]);
    print_change_title(title);
    for (uint32_t i = 0; i < rows->count && printed < top; i++)
      if (rows->items[i].kind == (enum growth_kind)kind) {
        print_change(rows->items[i].before, rows->items[i].after,
                     growth_name(&rows->items[i], text));
        printed++;
      }
  }
}

static void print_growth(const struct survey *before, const struct survey *after,
                         const struct growth *growth, uint32_t top) {
  printf("%s -> %s\n", before->path, after->path);
  printf("  file     %10" PRIu64 " -> %10" PRIu64 " bytes\n", before->file_size, after->file_size);
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

/* ---- The command ---- */

struct stats_options {
  struct survey_options survey;
  double max_growth; /* in percent; below 0: any */
  uint32_t top;
  bool json, has_top;
};

static int tell_one(const struct stats_options *options, const char *path) {
  struct problem problem = {0};
  struct survey survey;
  bool ok = true;
  if (!survey_open_or_tell(&survey, path, &options->survey))
    return EXIT_UNUSABLE;
  if (options->json)
    ok = stats_json_print(&survey, options->has_top ? options->top : UINT32_MAX, &problem);
  else
    print_survey(&survey, options->top);
  if (!ok)
    problem_print(&problem, path);
  survey_close(&survey);
  return ok ? EXIT_DONE : EXIT_UNUSABLE;
}

static int tell_growth(const struct stats_options *options, const struct survey *before,
                       const struct survey *after) {
  struct problem problem = {0};
  struct growth growth;
  if (!growth_open(&growth, before, after, &problem)) {
    problem_print(&problem, after->path);
    return EXIT_UNUSABLE;
  }
  const bool exceeds = options->max_growth >= 0 && growth.percent > options->max_growth;
  bool ok = true;
  if (options->json)
    ok = stats_json_print_growth(before, after, &growth,
                                 options->has_top ? options->top : UINT32_MAX, &problem);
  else
    print_growth(before, after, &growth, options->top);
  if (!ok)
    problem_print(&problem, after->path);
  if (ok && exceeds && !options->json)
    printf("\n  grown by %.2f %%, more than %g %%\n", growth.percent, options->max_growth);
  growth_close(&growth);
  return !ok ? EXIT_UNUSABLE : exceeds ? EXIT_DIFFERENCE : EXIT_DONE;
}

static int tell_two(const struct stats_options *options, const char *before_path,
                    const char *after_path) {
  struct survey before, after;
  if (!survey_open_or_tell(&before, before_path, &options->survey))
    return EXIT_UNUSABLE;
  int status = EXIT_UNUSABLE;
  if (survey_open_or_tell(&after, after_path, &options->survey)) {
    status = tell_growth(options, &before, &after);
    survey_close(&after);
  }
  survey_close(&before);
  return status;
}

static bool parse_percent(const char *text, double *number) {
  char *end;
  *number = strtod(text, &end);
  if (end != text && *end == '%')
    end++;
  return *text >= '0' && *text <= '9' && *end == 0 && isfinite(*number);
}

static bool parse_count(const char *text, uint32_t *number) {
  char *end;
  const unsigned long long value = strtoull(text, &end, 10);
  *number = (uint32_t)value;
  return *text >= '0' && *text <= '9' && *end == 0 && value <= UINT32_MAX;
}

static int parse_and_tell(struct stats_options *options, int argc, char **argv) {
  static const struct command command = {"stats", help};
  enum { OPTION_TOP = OPTION_OWN, OPTION_MAX_GROWTH, OPTION_FORMAT };
  static const struct option long_options[] = {
      {"top", required_argument, NULL, OPTION_TOP},
      {"max-growth", required_argument, NULL, OPTION_MAX_GROWTH},
      {"format", required_argument, NULL, OPTION_FORMAT},
      POLICY_LONG_OPTIONS,
      COMMON_OPTIONS,
      {0},
  };
  struct problem problem = {0};
  int status = EXIT_DONE;
  opterr = 0;
  for (int option; (option = getopt_long(argc, argv, "", long_options, NULL)) != -1;) {
    switch (option) {
    case OPTION_TOP:
      options->has_top = true;
      if (!parse_count(optarg, &options->top))
        return usage_error("stats", "--top takes a number, not '%s'", optarg);
      break;
    case OPTION_MAX_GROWTH:
      if (!parse_percent(optarg, &options->max_growth))
        return usage_error("stats", "--max-growth takes a percentage, not '%s'", optarg);
      break;
    case OPTION_FORMAT:
      if (!json_take_format(optarg, &options->json, &problem))
        return usage_error("stats", "%s", problem.text);
      break;
    default:
      if (!policy_or_common_option(&command, option, argv[optind - 1], &options->survey.policy,
                                   &options->survey.load, &status))
        return status;
    }
  }
  if (argc - optind != 1 && argc - optind != 2)
    return usage_error("stats", "there must be one file, or two to compare");
  if (options->max_growth >= 0 && argc - optind != 2)
    return usage_error("stats", "--max-growth goes with two files");
  return argc - optind == 1 ? tell_one(options, argv[optind])
                            : tell_two(options, argv[optind], argv[optind + 1]);
}

int command_stats(int argc, char **argv) {
  struct stats_options options = {.top = 10, .max_growth = -1};
  const int status = parse_and_tell(&options, argc, argv);
  policy_close(&options.survey.policy);
  return status;
}
