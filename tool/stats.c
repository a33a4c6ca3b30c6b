/* stats.c - stackpack stats: what takes the space, by part of the table, by compilation unit and by
 * function; with an earlier build, what grew.
 */
#include "tool/commands.h"

#include "tool/sizes/stats_json.h"
#include "tool/sizes/stats_text.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char help[] =
    "Usage: stackpack stats [OPTION]... FILE\n"
    "Counts the bytes of a program's stack maps by part, unit and function.\n\n"
    "      --before=FILE         the growth since this build\n"
    "      --max-growth=PERCENT  exit status 1 if the packed size grew by more\n"
    "      --top=N               list N functions and units (10; json: all)\n"
    "      --format=text|json    default: text\n" COMMON_HELP "\n"
    "Raw stack maps are packed in memory, too; these drop records first:\n" POLICY_HELP;

struct stats_options {
  struct survey_options survey;
  enum output_format format;
  const char *before; /* NULL: nothing to compare with */
  double max_growth;  /* in percent; below 0: any */
  uint32_t top;       /* UINT32_MAX: all */
  bool has_top;
};

/* Prints an object, and gives it back. That standard output is full is told at the end. */
static void print_json(json_t *object) {
  json_dumpf(object, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
  json_decref(object);
  putchar('\n');
}

static int tell_one(const struct stats_options *options, const char *path) {
  struct survey survey;
  if (!survey_open(&survey, path, &options->survey))
    return EXIT_UNUSABLE;
  if (options->format == FORMAT_JSON)
    print_json(stats_json(&survey, options->top));
  else
    stats_text(&survey, options->top);
  survey_close(&survey);
  return EXIT_DONE;
}

static int tell_growth(const struct stats_options *options, const struct survey *before,
                       const struct survey *after) {
  struct growth growth;
  growth_open(&growth, before, after);
  const bool exceeds = options->max_growth >= 0 && growth.percent > options->max_growth;
  if (options->format == FORMAT_JSON)
    print_json(stats_json_growth(before, after, &growth, options->top));
  else
    stats_text_growth(before, after, &growth, options->top);
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

static int tell(struct stats_options *options, const char *path) {
  if (options->max_growth >= 0 && options->before == NULL)
    return usage_error("stats", "--max-growth goes with --before");
  if (!options->has_top)
    options->top = options->format == FORMAT_TEXT ? 10 : UINT32_MAX;
  return options->before != NULL ? tell_two(options, path) : tell_one(options, path);
}

int command_stats(int argc, char **argv) {
  static const struct command command = {"stats", help, 1, 1, "there must be one file"};
  struct stats_options options = {.max_growth = -1, .survey.arguments = argv + 1};
  const struct command_option own[] = {
      {"before", .text = &options.before},
      {"max-growth", .take = take_percent, .context = &options.max_growth},
      {"top", .take = take_top, .context = &options},
      {"format", .words = "text|json", .word = &options.format},
      POLICY_OPTIONS(&options.survey.policy),
      LOAD_OPTIONS(&options.survey.load),
      {0},
  };
  int status;
  if (command_options(&command, own, argc, argv, &status)) {
    options.survey.argument_count = optind - 1;
    status = tell(&options, argv[optind]);
  }
  policy_close(&options.survey.policy);
  return status;
}
