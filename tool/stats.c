/* stats.c - stackpack stats: sizes by part of the table, by compilation unit and by function; of
 * several files, each one's size; with an earlier build, the growth.
 */
#include "tool/commands.h"

#include "tool/sizes/stats_json.h"
#include "tool/sizes/stats_print.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

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

struct stats_options {
  struct survey_options survey;
  enum output_format format;
  const char *before; /* NULL: there is none */
  double max_growth;  /* in percent; below 0: any */
  int64_t top;        /* UINT32_MAX: all; below 0: the format's */
  bool nested;
};

/* Prints an object, and gives it back. A full standard output is reported at the end. */
static void print_json(json_t *object) {
  json_dumpf(object, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
  json_decref(object);
  putchar('\n');
}

static void tell_one(const struct stats_options *options, const struct survey *survey) {
  if (options->format == FORMAT_JSON)
    print_json(stats_json(survey, (uint32_t)options->top));
  else if (options->format == FORMAT_CSV)
    stats_csv(survey, (uint32_t)options->top);
  else
    stats_text(survey, (uint32_t)options->top, options->nested);
}

/* Several files: in text, a row each and the sum of all; in JSON, an array; in CSV, all rows. */
static int tell_files(const struct stats_options *options, char **files, int count) {
  uint64_t sums[STATS_SIZES] = {0};
  const bool as_table = options->format == FORMAT_TEXT && count > 1;
  const bool as_array = options->format == FORMAT_JSON && count > 1;
  int status = EXIT_DONE, told = 0;
  if (options->format == FORMAT_CSV)
    stats_csv_titles();
  if (as_array)
    puts("[");
  if (as_table)
    stats_text_titles();
  for (int i = 0; i < count; i++) {
    struct survey survey;
    if (!survey_open(&survey, files[i], &options->survey)) {
      status = EXIT_UNUSABLE;
      continue;
    }
    if (as_array && told++ > 0)
      puts(",");
    if (as_table)
      stats_text_file(&survey, sums);
    else
      tell_one(options, &survey);
    survey_close(&survey);
  }
  if (as_table)
    stats_text_sums(sums);
  if (as_array)
    puts("]");
  return status;
}

static int tell_growth(const struct stats_options *options, const struct survey *before,
                       const struct survey *after) {
  struct growth growth;
  growth_open(&growth, before, after);
  const bool exceeds = options->max_growth >= 0 && growth.percent > options->max_growth;
  if (options->format == FORMAT_JSON)
    print_json(stats_json_growth(before, after, &growth, (uint32_t)options->top));
  else if (options->format == FORMAT_CSV)
    stats_csv_growth(&growth, (uint32_t)options->top);
  else
    stats_text_growth(before, after, &growth, (uint32_t)options->top);
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

static struct stats_options given = {.max_growth = -1, .top = -1};

static int stats(char **files, int count, struct problem *problem) {
  (void)problem; /* each file's is printed at once */
  if (given.before != NULL && count != 1)
    return usage_error("stats", "--before goes with one file");
  if (given.max_growth >= 0 && given.before == NULL)
    return usage_error("stats", "--max-growth goes with --before");
  if (given.top < 0)
    given.top = given.format == FORMAT_TEXT ? 10 : UINT32_MAX;
  given.survey.argument_count = optind - 1;
  given.survey.arguments = files - given.survey.argument_count;
  return given.before != NULL ? tell_two(&given, *files) : tell_files(&given, files, count);
}

static const struct command_option own[] = {
    {"before", .text = &given.before},
    {"max-growth", .take = take_percent, .context = &given.max_growth},
    {"top", .number = &given.top, .most = UINT32_MAX},
    {"filter", .text = &given.survey.filter},
    {"sort", .words = "packed|raw|records|name", .word = &given.survey.order},
    {"nested", .flag = &given.nested},
    {"format", .words = "text|json|csv", .word = &given.format},
    POLICY_OPTIONS(&given.survey.policy),
    LOAD_OPTIONS(&given.survey.load),
    {0},
};
const struct command command_stats = {"stats",
                                      "count the bytes of each part and function, and their growth",
                                      help,
                                      own,
                                      1,
                                      0,
                                      "there must be a file",
                                      stats};
