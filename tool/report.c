/* report.c - stackpack report: a page of the sizes of a program's stack maps, with reasons.
 *
 * The page is one file with its style, its script and its numbers, and its Content Security Policy
 * blocks all other scripts. It draws itself (report_page.js) from the object of `stats
 * --format=json`, put here in place of {{data}}.
 */
#include "tool/commands.h"

#include "tool/image/output.h"
#include "tool/sizes/stats_json.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "Usage: stackpack report -o PAGE.html [OPTION]... FILE\n"
    "Writes a page for a browser: the bytes of a program's stack maps by part,\n"
    "unit and function, the records dropped, and the growth since an earlier build.\n\n"
    "  -o, --output=PAGE.html    the page: one file, for use offline\n"
    "      --before=FILE         compare with an earlier build\n" COMMON_HELP "\n"
    "Raw stack maps are packed in memory, too; these drop records first:\n" POLICY_HELP;

extern const char report_page[]; /* report_page.S */

enum { FUNCTIONS_MOST = 20000 }; /* in a page: each is about 150 bytes */

struct page {
  struct survey_options survey;
  const char *output, *before; /* before: NULL without an earlier build */
};

/* Writes an object for a script element: "</script" would end it (HTML, "Restrictions for contents
 * of script elements"). In JSON, "<" is only in strings. Returns where it ends. */
static char *put_object(char *out, const char *object) {
  for (const char *c = object; *c != 0; c++)
    if (*c == '<' || *c == '>' || *c == '&')
      out += sprintf(out, "\\u%04x", *c);
    else
      *out++ = *c;
  return out;
}

static bool write_page(const struct page *page, const json_t *data, const char *like,
                       struct problem *problem) {
  static const char mark[] = "{{data}}";
  enum { ESCAPE_SIZE = 6 };
  char *object = json_dumps(data, JSON_COMPACT | JSON_ENSURE_ASCII);
  char *bytes = malloc(strlen(report_page) + strlen(object) * ESCAPE_SIZE + 1);
  const char *const place = strstr(report_page, mark);
  char *end = put_object(mempcpy(bytes, report_page, (size_t)(place - report_page)), object);
  end = stpcpy(end, place + strlen(mark));
  const struct new_file file = {.path = page->output,
                                .like = like,
                                .is_data = true,
                                .bytes = (const uint8_t *)bytes,
                                .size = (size_t)(end - bytes)};
  const bool ok = output_replace(&file, 1, NULL, problem);
  free(object);
  free(bytes);
  return ok;
}

/* The growth since the earlier build; null if there is none. */
static json_t *growth_of(const struct survey *before, const struct survey *survey) {
  struct growth growth;
  if (before->opened.program.path == NULL)
    return json_null();
  growth_open(&growth, before, survey);
  json_t *object = stats_json_growth(before, survey, &growth, UINT32_MAX);
  growth_close(&growth);
  return object;
}

static struct page given;

static int report(char **arguments, int count, struct problem *problem) {
  const char *path = arguments[0];
  struct survey before = {0}, survey = {0};
  int status = EXIT_UNUSABLE;
  (void)count;
  given.survey.argument_count = optind - 1;
  given.survey.arguments = arguments - given.survey.argument_count;
  if (given.output == NULL)
    return usage_error("report", "no page given: -o PAGE.html");
  if (given.before != NULL && output_same(given.output, given.before))
    return usage_error("report", "--output names a program");
  if ((given.before == NULL || survey_open(&before, given.before, &given.survey)) &&
      survey_open(&survey, path, &given.survey)) {
    json_t *data = json_pack("{so so}", "stats", stats_json(&survey, FUNCTIONS_MOST), "growth",
                             growth_of(&before, &survey));
    if (output_same(given.output, path))
      problem_set(problem, "--output names the program itself");
    else if (write_page(&given, data, path, problem))
      status = EXIT_DONE;
    json_decref(data);
  }
  survey_close(&survey);
  survey_close(&before);
  return status;
}

static const struct command_option own[] = {
    {"output", 'o', .text = &given.output},
    {"before", .text = &given.before},
    POLICY_OPTIONS(&given.survey.policy),
    LOAD_OPTIONS(&given.survey.load),
    {0},
};
const struct command command_report = {"report",
                                       "make a page of these sizes, for a browser",
                                       help,
                                       own,
                                       1,
                                       1,
                                       "there must be one file",
                                       report};
