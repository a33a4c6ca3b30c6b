/* report.c - stackpack report: a page that shows what the stack maps of a program take, and why.
 *
 * The page is one file, which asks for nothing else: its style and its script are in it, and its
 * Content Security Policy lets no other run. What it looks like is in report_page.html, .css and
 * .js; here the template's {{names}} are filled in. All but the map is drawn here, and is there
 * without a script.
 */
#include "tool/commands.h"

#include "tool/image/output.h"
#include "tool/sizes/growth.h"
#include "tool/sizes/page_data.h"
#include "tool/sizes/page_plots.h"
#include "tool/sizes/page_write.h"
#include "tool/sizes/survey.h"

#include "runtime/stackpack.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "Usage: stackpack report -o PAGE.html [OPTION]... [BEFORE] FILE\n"
    "Writes a page for a browser: who takes the space of a program's stack maps, and\n"
    "what was dropped; with an earlier build, also what grew.\n\n"
    "  -o, --output=PAGE.html    the page; it is one file, and needs no network\n" COMMON_HELP "\n"
    "Raw stack maps are packed in memory, too; these drop records first:\n" POLICY_HELP;

/* The texts of report_page.S. */
extern const char report_page_html[], report_page_css[], report_page_js[];
extern const char report_page_css_hash[], report_page_js_hash[];

struct page {
  const struct survey *survey, *before; /* before: NULL without an earlier build */
  const struct growth *growth;          /* NULL likewise */
  const char *title;
  bool failed; /* without memory */
};

enum { ROWS_MAX = 25, REASONS_MAX = 10 };

/* ---- Tables ---- */

static void open_table(FILE *out, const char *caption) {
  fprintf(
      out,
      "<div class=\"scroll\"><table><caption>%s</caption>\n<thead><tr><th scope=\"col\">Name</th>",
      caption);
}

static void column(FILE *out, const char *title) {
  fprintf(out, "<th scope=\"col\" class=\"number\">%s</th>", title);
}

static void wide_column(FILE *out, const char *title) {
  fprintf(out, "<th scope=\"col\" class=\"number wide\">%s</th>", title);
}

static void open_rows(FILE *out) { fputs("</tr></thead>\n<tbody>\n", out); }

static void close_table(FILE *out) { fputs("</tbody></table></div>\n", out); }

static void number_cell(FILE *out, uint64_t number, bool is_wide) {
  fprintf(out, "<td class=\"number%s\">", is_wide ? " wide" : "");
  page_number(out, number);
  fputs("</td>", out);
}

static void size_cell(FILE *out, uint64_t bits) {
  fputs("<td class=\"number\">", out);
  page_size(out, bits);
  fputs("</td>", out);
}

static void percent_cell(FILE *out, uint64_t part, uint64_t whole, bool is_wide) {
  fprintf(out, "<td class=\"number%s\">", is_wide ? " wide" : "");
  page_percent(out, part, whole);
  fputs("</td>", out);
}

/* ---- In short ---- */

static void lead(FILE *out, const struct page *page) {
  const struct survey *survey = page->survey;
  page_number(out, survey->records);
  fputs(" records of ", out);
  page_number(out, survey->function_count);
  fputs(" functions", out);
  if (survey->has_raw) {
    fputs("; packed, they take ", out);
    page_percent(out, survey->packed.bits, survey->raw.bits);
    fputs(" of what they take now", out);
  }
  putc('.', out);
}

static void figure(FILE *out, const char *name) {
  fprintf(out, "<div><dt>%s</dt><dd class=\"value\">", name);
}

static void end_figure(FILE *out) { fputs("</dd></div>\n", out); }

static void figures(FILE *out, const struct page *page) {
  const struct survey *survey = page->survey;
  if (survey->has_raw) {
    figure(out, "Raw");
    page_short_size(out, survey->raw.bits / 8);
    fputs("</dd><dd class=\"more\">", out);
    page_percent(out, survey->raw.bits / 8, survey->file_size);
    fputs(" of the file", out);
    end_figure(out);
  }
  figure(out, "Packed");
  page_short_size(out, survey->packed.bits / 8);
  fputs("</dd><dd class=\"more\">", out);
  if (survey->has_raw && survey->packed.bits > 0)
    fprintf(out, "1/%.0f of raw", (double)survey->raw.bits / (double)survey->packed.bits);
  else
    fprintf(out, "format version %u", survey->version);
  end_figure(out);
  figure(out, "A record");
  fprintf(out, "%.2f&nbsp;bytes</dd><dd class=\"more\">",
          survey->records == 0 ? 0 : (double)survey->packed.bits / 8 / survey->records);
  if (survey->has_raw)
    fprintf(out, "raw: %.1f",
            (double)survey->raw.bits / 8 /
                (survey->drop.records > 0 ? survey->drop.records
                 : survey->records > 0    ? survey->records
                                          : 1));
  else
    fputs("packed", out);
  end_figure(out);
  figure(out, "References");
  page_number(out, survey->pairs);
  fputs("</dd><dd class=\"more\">", out);
  page_percent(out, survey->derived, survey->pairs);
  fputs(" derived", out);
  end_figure(out);
  if (survey->drop.records > 0) {
    figure(out, "Dropped");
    page_percent(out, survey->drop.dropped, survey->drop.records);
    fputs("</dd><dd class=\"more\">", out);
    page_number(out, survey->drop.dropped);
    fputs(" records", out);
    end_figure(out);
  }
}

static void navigation(FILE *out, const struct page *page) {
  static const char *const links[][2] = {
      {"growth", "What changed"},
      {"where", "Who takes the space"},
      {"parts", "Parts"},
      {"repeats", "What repeats"},
      {"distributions", "Distributions"},
      {"dropped", "What was dropped"},
  };
  for (unsigned i = page->growth == NULL; i < sizeof links / sizeof *links; i++)
    fprintf(out, "<li><a href=\"#%s\">%s</a></li>\n", links[i][0], links[i][1]);
}

/* ---- Who takes the space ---- */

static void largest_row(FILE *out, const struct survey *survey, const struct survey_row *row,
                        bool is_unit) {
  char text[SURVEY_NAME_SIZE];
  fputs("<tr><th scope=\"row\" class=\"name\">", out);
  page_name(out, is_unit && row->name == NULL ? "(file unknown)" : survey_name(row, text));
  if (!is_unit && row->unit != NULL) {
    fputs("<span class=\"unit name\">", out);
    page_name(out, row->unit);
    fputs("</span>", out);
  }
  fputs("</th>", out);
  number_cell(out, row->records, true);
  if (survey->has_raw)
    size_cell(out, row->raw);
  size_cell(out, row->packed);
  percent_cell(out, row->packed, survey->packed.bits, false);
  fputs("</tr>\n", out);
}

static void largest_rows(FILE *out, const struct survey *survey, const struct survey_row *rows,
                         uint32_t count) {
  const bool are_units = rows == survey->units;
  const char *what = are_units ? "files" : "functions";
  char caption[64];
  if (count > ROWS_MAX)
    snprintf(caption, sizeof caption, "The %d largest %s", ROWS_MAX, what);
  else
    snprintf(caption, sizeof caption, "All %s", what);
  open_table(out, caption);
  wide_column(out, "Records");
  if (survey->has_raw)
    column(out, "Raw");
  column(out, "Packed");
  column(out, "Share");
  open_rows(out);
  for (uint32_t i = 0; i < count && i < ROWS_MAX; i++)
    largest_row(out, survey, &rows[i], are_units);
  close_table(out);
}

static void largest(FILE *out, const struct page *page) {
  const struct survey *survey = page->survey;
  fputs("<div class=\"columns\">\n", out);
  if (survey->unit_count > 1)
    largest_rows(out, survey, survey->units, survey->unit_count);
  largest_rows(out, survey, survey->functions, survey->function_count);
  fputs("</div>\n", out);
}

/* ---- Parts ---- */

_Static_assert((int)SIZES_PARTS_MAX <= (int)PAGE_SHARES_MAX, "a strip has room for all parts");

static unsigned shares_of(const struct sizes *sizes, struct page_share *shares) {
  unsigned count = 0;
  for (unsigned i = 0; i < sizes->part_count; i++)
    if (sizes->parts[i].bits > 0)
      shares[count++] = (struct page_share){sizes->parts[i].name, sizes->parts[i].bits};
  return count;
}

static void size_parts(FILE *out, const struct sizes *sizes, uint64_t records, const char *title) {
  struct page_share shares[PAGE_SHARES_MAX] = {0};
  unsigned colours[PAGE_SHARES_MAX];
  const unsigned count = shares_of(sizes, shares);
  page_colours(shares, count, colours);
  fprintf(out, "<div><h3>%s</h3>\n", title);
  page_strip(out, shares, count, title);
  open_table(out, "In bytes");
  column(out, "Bytes");
  column(out, "Share");
  column(out, "A record");
  open_rows(out);
  for (unsigned i = 0; i < count; i++) {
    fputs("<tr><th scope=\"row\">", out);
    page_swatch(out, colours[i]);
    fprintf(out, "%s</th>", shares[i].name);
    size_cell(out, shares[i].size);
    percent_cell(out, shares[i].size, sizes->bits, false);
    fprintf(out, "<td class=\"number\">%.2f</td></tr>\n",
            records == 0 ? 0 : (double)shares[i].size / 8 / (double)records);
  }
  fputs("</tbody>\n<tfoot><tr><th scope=\"row\">Sum</th>", out);
  size_cell(out, sizes->bits);
  percent_cell(out, sizes->bits, sizes->bits, false);
  fprintf(out, "<td class=\"number\">%.2f</td></tr></tfoot></table></div></div>\n",
          records == 0 ? 0 : (double)sizes->bits / 8 / (double)records);
}

/* Both tables on one scale. */
static void scale(FILE *out, const struct survey *survey) {
  const double packed =
      1000 * (double)survey->packed.bits / (double)(survey->raw.bits == 0 ? 1 : survey->raw.bits);
  fputs("<p>On one scale, raw above packed:</p>\n", out);
  for (int i = 0; i < 2; i++)
    fprintf(out,
            "<svg class=\"strip scale\" viewBox=\"0 0 1000 14\" preserveAspectRatio=\"none\" "
            "role=\"img\" aria-label=\"%s: %" PRIu64 " bytes\"><rect class=\"p%d\" x=\"0\" y=\"0\" "
            "width=\"%.1f\" height=\"14\"/></svg>\n",
            i == 0 ? "raw" : "packed", (i == 0 ? survey->raw.bits : survey->packed.bits) / 8,
            i == 0 ? 7 : 0, i == 0 ? 1000 : packed);
}

static void parts(FILE *out, const struct page *page) {
  const struct survey *survey = page->survey;
  if (survey->has_raw)
    scale(out, survey);
  fputs("<div class=\"columns\">\n", out);
  if (survey->has_raw)
    size_parts(out, &survey->raw, survey->drop.records > 0 ? survey->drop.records : survey->records,
               "Raw, as LLVM writes them");
  size_parts(out, &survey->packed, survey->records, "Packed");
  fputs("</div>\n", out);
}

/* ---- What repeats ---- */

static void repeats_row(FILE *out, const char *name, uint64_t distinct, uint64_t all,
                        const char *of) {
  if (all == 0)
    return;
  fprintf(out, "<tr><th scope=\"row\">%s</th>", name);
  number_cell(out, distinct, false);
  fputs("<td class=\"number\">", out);
  page_number(out, all);
  fprintf(out, " %s</td>", of);
  percent_cell(out, distinct, all, true);
  fputs("</tr>\n", out);
}

static void repeats(FILE *out, const struct page *page) {
  const struct survey *survey = page->survey;
  open_table(out, "Different ones, and how many there are of them");
  column(out, "Different");
  column(out, "Of");
  wide_column(out, "Share");
  open_rows(out);
  repeats_row(out, "Live sets", survey->live_sets, survey->records, "records");
  repeats_row(out, "Layouts of functions", survey->packed.layouts.count, survey->function_count,
              "functions");
  repeats_row(out, "Frame sizes", survey->frame_sizes,
              survey->distributions[SURVEY_FRAME_SIZES].total, "functions");
  repeats_row(out, "Locations", survey->locations, survey->pairs, "pairs");
  close_table(out);
  fputs("<p>", out);
  page_number(out, survey->repeats);
  fputs(" records have the live set of the one before in their function. ", out);
  page_number(out, survey->packed.layouts.shared);
  fputs(" layouts serve ", out);
  page_number(out, survey->packed.layouts.functions);
  fputs(" functions.", out);
  if (survey->records_discarded + survey->functions_discarded + survey->records_repeated > 0) {
    fputs(" Left out were ", out);
    page_number(out, survey->records_discarded);
    fputs(" records of ", out);
    page_number(out, survey->functions_discarded);
    fputs(" functions that the linker had discarded, and ", out);
    page_number(out, survey->records_repeated);
    fputs(" records that repeated others.", out);
  }
  fputs("</p>\n", out);
}

/* ---- What was dropped ---- */

static void blamed(FILE *out, const char *caption, const struct drop_count *counts,
                   uint32_t count) {
  if (count == 0)
    return;
  open_table(out, caption);
  column(out, "Records");
  open_rows(out);
  for (uint32_t i = 0; i < count && i < REASONS_MAX; i++) {
    fputs("<tr><th scope=\"row\" class=\"name\">", out);
    if (counts[i].name != NULL)
      page_name(out, counts[i].name);
    else
      fprintf(out, "0x%" PRIx64, counts[i].address);
    fputs("</th>", out);
    number_cell(out, counts[i].records, false);
    fputs("</tr>\n", out);
  }
  close_table(out);
}

static unsigned verdict_shares(const struct drop *drop, struct page_share *shares,
                               enum verdict *verdicts) {
  unsigned count = 0;
  for (int step = 0; step < 2; step++)
    for (int verdict = 0; verdict < VERDICTS; verdict++)
      if (verdict_is_drop((enum verdict)verdict) == (step == 0) && drop->verdicts[verdict] > 0) {
        verdicts[count] = (enum verdict)verdict;
        shares[count++] =
            (struct page_share){drop_reason((enum verdict)verdict), drop->verdicts[verdict]};
      }
  return count;
}

static void verdicts(FILE *out, const struct drop *drop) {
  struct page_share shares[VERDICTS] = {0};
  enum verdict which[VERDICTS];
  unsigned colours[VERDICTS];
  const unsigned count = verdict_shares(drop, shares, which);
  page_colours(shares, count, colours);
  page_strip(out, shares, count, "Records by what became of them");
  fputs(
      "<div class=\"scroll\"><table><caption>Records, and why they were dropped or kept</caption>\n"
      "<thead><tr><th scope=\"col\">Reason</th>",
      out);
  column(out, "Records");
  column(out, "Share");
  open_rows(out);
  for (unsigned i = 0; i < count; i++) {
    fputs("<tr><th scope=\"row\">", out);
    page_swatch(out, colours[i]);
    fprintf(out, "%s: %s</th>", verdict_is_drop(which[i]) ? "dropped" : "kept", shares[i].name);
    number_cell(out, shares[i].size, false);
    percent_cell(out, shares[i].size, drop->records, false);
    fputs("</tr>\n", out);
  }
  close_table(out);
}

static void dropped(FILE *out, const struct page *page) {
  const struct drop *drop = &page->survey->drop;
  if (drop->records == 0) {
    fputs("<p>Nothing: no policy was given. Where the functions are named in which a thread may be "
          "when a collection happens, the records of calls that can’t lead there are left "
          "out:</p>\n<pre class=\"code\">stackpack report --gc-entry=FUNCTION -o PAGE.html ",
          out);
    page_name(out, page->title);
    fputs("</pre>\n", out);
    return;
  }
  fputs("<p>", out);
  page_number(out, drop->dropped);
  fputs(" of ", out);
  page_number(out, drop->records);
  fputs(" records (", out);
  page_percent(out, drop->dropped, drop->records);
  fputs(") were dropped: no collection can happen while a function waits there.</p>\n", out);
  verdicts(out, drop);
  fputs("<div class=\"columns\">\n", out);
  blamed(out, "Functions whose indirect calls keep most", drop->pointers, drop->pointer_count);
  blamed(out, "Functions elsewhere that keep most", drop->outside, drop->outside_count);
  fputs("</div>\n", out);
  if (drop->has_handlers)
    fputs("<p class=\"note\">The program handles signals. A handler must not collect, nor wait for "
          "a collection, before the thread is in a GC entry.</p>\n",
          out);
}

/* ---- Two builds ---- */

static void change_cells(FILE *out, uint64_t before, uint64_t after) {
  size_cell(out, before);
  size_cell(out, after);
  fputs("<td class=\"number\">", out);
  page_change(out, before, after);
  fputs("</td><td class=\"number wide\">", out);
  page_change_percent(out, before, after);
  fputs("</td></tr>\n", out);
}

static void open_changes(FILE *out, const char *caption) {
  open_table(out, caption);
  column(out, "Before");
  column(out, "After");
  column(out, "Change");
  wide_column(out, "%");
  open_rows(out);
}

static void changed_sums(FILE *out, const struct page *page) {
  const struct sizes *before = &page->before->packed, *after = &page->survey->packed;
  open_changes(out, "By part, packed");
  for (unsigned i = 0; i < after->part_count; i++)
    if (before->parts[i].bits + after->parts[i].bits > 0) {
      fprintf(out, "<tr><th scope=\"row\">%s</th>", after->parts[i].name);
      change_cells(out, before->parts[i].bits, after->parts[i].bits);
    }
  fputs("<tr><th scope=\"row\">Sum</th>", out);
  change_cells(out, before->bits, after->bits);
  close_table(out);
}

static void changed_rows(FILE *out, const struct growth_rows *rows, const char *what) {
  static const char *const titles[GROWTH_KINDS] = {[GROWTH_NEW] = "New",
                                                   [GROWTH_GROWN] = "Grown",
                                                   [GROWTH_SHRUNK] = "Shrunk",
                                                   [GROWTH_GONE] = "Gone"};
  for (int kind = 0; kind < GROWTH_KINDS; kind++) {
    char caption[64], text[SURVEY_NAME_SIZE];
    uint32_t written = 0;
    if (rows->counts[kind] == 0)
      continue;
    snprintf(caption, sizeof caption, "%s %s: %" PRIu32, titles[kind], what, rows->counts[kind]);
    open_changes(out, caption);
    for (uint32_t i = 0; i < rows->count && written < REASONS_MAX; i++) {
      if (rows->items[i].kind != (enum growth_kind)kind)
        continue;
      fputs("<tr><th scope=\"row\" class=\"name\">", out);
      page_name(out, growth_name(&rows->items[i], text));
      fputs("</th>", out);
      change_cells(out, rows->items[i].before, rows->items[i].after);
      written++;
    }
    close_table(out);
  }
}

static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash == NULL ? path : slash + 1;
}

static void growth(FILE *out, const struct page *page) {
  if (page->growth == NULL)
    return;
  fputs("<section id=\"growth\">\n<h2>What changed</h2>\n<p>Packed, the stack maps of <strong "
        "class=\"name\">",
        out);
  page_name(out, base_name(page->before->path));
  fputs("</strong> take ", out);
  page_number(out, page->before->packed.bits / 8);
  fputs(" bytes, and those of <strong class=\"name\">", out);
  page_name(out, page->title);
  fputs("</strong> ", out);
  page_number(out, page->survey->packed.bits / 8);
  if (page->growth->percent != 0) {
    fputs(": ", out);
    page_change_percent(out, page->before->packed.bits, page->survey->packed.bits);
  }
  fputs(".</p>\n<div class=\"flow\">\n", out);
  changed_sums(out, page);
  if (page->survey->unit_count > 1 || page->before->unit_count > 1)
    changed_rows(out, &page->growth->units, "files");
  changed_rows(out, &page->growth->functions, "functions");
  fputs("</div>\n</section>\n", out);
}

/* ---- The page ---- */

static void plots(FILE *out, const struct page *page) {
  for (unsigned i = 0; i < SURVEY_MEASURES; i++)
    page_plot(out, &page->survey->distributions[i], i);
}

static void title(FILE *out, const struct page *page) { page_name(out, page->title); }

static void parts_title(FILE *out, const struct page *page) {
  fputs(page->survey->has_raw ? "Before and after packing" : "Parts of the packed table", out);
}

static void footer(FILE *out, const struct page *page) {
  (void)page;
  fputs("Written by <code>stackpack report</code>, version " STACKPACK_VERSION ".", out);
}

static void fill(FILE *out, const char *name, void *context) {
  static const struct {
    const char *name;
    void (*write)(FILE *out, const struct page *page);
    const char *text;
  } pieces[] = {
      {"title", title, NULL},
      {"lead", lead, NULL},
      {"navigation", navigation, NULL},
      {"figures", figures, NULL},
      {"growth", growth, NULL},
      {"largest", largest, NULL},
      {"parts_title", parts_title, NULL},
      {"parts", parts, NULL},
      {"repeats", repeats, NULL},
      {"plots", plots, NULL},
      {"dropped", dropped, NULL},
      {"footer", footer, NULL},
      {"style", NULL, report_page_css},
      {"style_hash", NULL, report_page_css_hash},
      {"script", NULL, report_page_js},
      {"script_hash", NULL, report_page_js_hash},
  };
  struct page *page = context;
  for (unsigned i = 0; i < sizeof pieces / sizeof *pieces; i++) {
    if (strcmp(pieces[i].name, name) != 0)
      continue;
    if (pieces[i].text != NULL)
      fputs(pieces[i].text, out);
    else
      pieces[i].write(out, page);
    return;
  }
  page->failed |= !page_data(out, page->survey, page->title); /* {{data}} */
}

static bool write_page(struct page *page, const char *path, struct problem *problem) {
  char *bytes = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&bytes, &size);
  if (out == NULL)
    return problem_set(problem, "not enough memory");
  page_template(out, report_page_html, fill, page);
  page->failed |= ferror(out) != 0;
  page->failed |= fclose(out) != 0;
  const struct new_file file = {path, page->survey->path, true, (const uint8_t *)bytes, size};
  const bool ok = page->failed ? problem_set(problem, "not enough memory")
                               : output_replace(&file, 1, NULL, problem);
  free(bytes);
  return ok;
}

/* ---- The command ---- */

struct page_options {
  struct survey_options survey;
  const char *output;
};

static bool report_growth(const struct page_options *options, const struct survey *before,
                          const struct survey *survey, struct problem *problem) {
  struct growth growth;
  if (before == NULL) {
    struct page page = {.survey = survey, .title = base_name(survey->path)};
    return write_page(&page, options->output, problem);
  }
  if (!growth_open(&growth, before, survey, problem))
    return false;
  struct page page = {
      .survey = survey, .before = before, .growth = &growth, .title = base_name(survey->path)};
  const bool ok = write_page(&page, options->output, problem);
  growth_close(&growth);
  return ok;
}

static int report_file(const struct page_options *options, const struct survey *before,
                       const char *path) {
  struct problem problem = {0};
  struct survey survey;
  if (!survey_open_or_tell(&survey, path, &options->survey))
    return EXIT_UNUSABLE;
  const bool ok = output_same(options->output, path)
                      ? problem_set(&problem, "--output names the program itself")
                      : report_growth(options, before, &survey, &problem);
  if (!ok)
    problem_print(&problem, path);
  survey_close(&survey);
  return ok ? EXIT_DONE : EXIT_UNUSABLE;
}

static int report_files(const struct page_options *options, int count, char **files) {
  struct survey before;
  if (options->output == NULL)
    return usage_error("report", "no page given: -o PAGE.html");
  if (count != 1 && count != 2)
    return usage_error("report", "there must be one file, or two to compare");
  if (count == 1)
    return report_file(options, NULL, files[0]);
  if (output_same(options->output, files[0]))
    return usage_error("report", "--output names a program");
  if (!survey_open_or_tell(&before, files[0], &options->survey))
    return EXIT_UNUSABLE;
  const int status = report_file(options, &before, files[1]);
  survey_close(&before);
  return status;
}

static int parse_and_report(struct page_options *options, int argc, char **argv) {
  static const struct command command = {"report", help};
  static const struct option long_options[] = {
      {"output", required_argument, NULL, 'o'},
      POLICY_LONG_OPTIONS,
      COMMON_OPTIONS,
      {0},
  };
  int status = EXIT_DONE;
  opterr = 0;
  for (int option; (option = getopt_long(argc, argv, "o:", long_options, NULL)) != -1;) {
    if (option == 'o')
      options->output = optarg;
    else if (!policy_or_common_option(&command, option, argv[optind - 1], &options->survey.policy,
                                      &options->survey.load, &status))
      return status;
  }
  return report_files(options, argc - optind, argv + optind);
}

int command_report(int argc, char **argv) {
  struct page_options options = {0};
  const int status = parse_and_report(&options, argc, argv);
  policy_close(&options.survey.policy);
  return status;
}
