/* survey.c - see survey.h. */
#include "tool/sizes/survey.h"

#include "format/array.h"
#include "format/packed_write.h"
#include "tool/image/compress.h"
#include "tool/rewrite/rewrite.h"
#include "tool/source/positions.h"

#include <assert.h>
#include <inttypes.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Functions and units ---- */

int survey_compare_text(const char *a, const char *b) {
  if (a == NULL || b == NULL)
    return (a != NULL) - (b != NULL);
  return strcmp(a, b);
}

/* Larger ones come first. */
static int compare_sizes(uint64_t x, uint64_t y) { return (x < y) - (x > y); }

static int compare_rows(const void *a, const void *b, void *context) {
  const struct survey_row *x = a, *y = b;
  const enum survey_order order = *(const enum survey_order *)context;
  const int names = survey_compare_text(x->name, y->name);
  int result = order == SURVEY_BY_NAME      ? names
               : order == SURVEY_BY_RECORDS ? compare_sizes(x->records, y->records)
               : order == SURVEY_BY_RAW     ? compare_sizes(x->raw, y->raw)
                                            : 0;
  result = result != 0 ? result : compare_sizes(x->packed, y->packed);
  result = result != 0 ? result : compare_sizes(x->raw, y->raw);
  result = result != 0 ? result : names;
  return result != 0 ? result : compare_sizes(y->address, x->address);
}

void survey_add(struct survey_row *sum, const struct survey_row *row) {
  sum->functions += row->functions;
  sum->records += row->records;
  sum->raw += row->raw;
  sum->packed += row->packed;
  for (unsigned i = 0; i < COLUMNS; i++)
    sum->columns[i] += row->columns[i];
}

struct survey_row survey_others(const struct survey *survey, const struct survey_row *rows,
                                uint32_t count, uint32_t top) {
  struct survey_row others = survey->left_out;
  for (uint32_t i = top; i < count; i++)
    survey_add(&others, &rows[i]);
  return others;
}

static int compare_units(const void *a, const void *b) {
  const struct survey_row *x = a, *y = b;
  return survey_compare_text(x->unit, y->unit);
}

/* The length of the folder that all units with a path share. */
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
  return common == 1 ? 0 : common; /* more than the root */
}

static void shorten_units(struct survey *survey) {
  const size_t common = common_folder(survey);
  for (uint32_t i = 0; i < survey->function_count; i++)
    if (survey->functions[i].unit != NULL && strchr(survey->functions[i].unit, '/') != NULL)
      survey->functions[i].unit += common;
}

static void list_functions(struct survey *survey) {
  const struct safepoints *table = &survey->opened.program.loaded.table;
  survey->functions = calloc((size_t)table->function_count + 1, sizeof *survey->functions);
  survey->function_count = table->function_count;
  for (uint32_t i = 0; i < table->function_count; i++) {
    const struct safepoint_function *function = &table->functions[i];
    const struct source_frame told = positions_function(table, function);
    const char *name = names_find(&survey->names, function->address);
    survey->functions[i] = (struct survey_row){
        .name = name != NULL ? name : told.function,
        .unit = units_find(&survey->unit_names, function->address, told.file),
        .address = function->address,
        .piece = pieces_find(&survey->opened.pieces, function->address),
        .frame_size = function->frame_size,
        .functions = 1,
        .records = function->records,
        .raw = survey->has_raw ? survey->raw.functions[i] : 0,
        .packed = survey->packed.functions[i],
    };
    memcpy(survey->functions[i].columns, survey->columns[i], sizeof survey->columns[i]);
  }
  shorten_units(survey);
}

/* Goes to the end of a list of characters in brackets; its first may be a bracket. */
static const char *after_list(const char *c) {
  c += c[1] == '^' ? 2 : 1;
  c += *c == ']';
  return c + strcspn(c, "]");
}

/* Whether a pattern has a back-reference (\1), as POSIX has it in basic expressions alone, and the
 * C library in these, too: a match may take forever then. */
static bool has_back_reference(const char *c) {
  for (; *c != 0; c++) {
    if (*c == '[')
      c = after_list(c);
    else if (*c == '\\' && c[1] >= '1' && c[1] <= '9')
      return true;
    else if (*c == '\\')
      c++;
    if (*c == 0)
      break;
  }
  return false;
}

/* Compiles a pattern. The C library tries a match from each character on, in the square of a name's
 * length; so the pattern itself gets a prefix that matches any text. It takes stack for each
 * parenthesis and star in a row; so a pattern may not be very long. */
static bool compile_filter(regex_t *expression, const char *filter, struct problem *problem) {
  enum { FILTER_MOST = 4096 };
  char *whole;
  if (strlen(filter) > FILTER_MOST)
    return problem_set(problem, "--filter is longer than %d bytes", FILTER_MOST);
  if (regcomp(expression, filter, REG_EXTENDED | REG_NOSUB) != 0)
    return problem_set(problem, "--filter is no regular expression: '%s'", filter);
  regfree(expression);
  if (has_back_reference(filter))
    return problem_set(problem, "--filter has a back-reference, which may take forever: '%s'",
                       filter);
  const bool ok = asprintf(&whole, "^.*(%s)", filter) >= 0 &&
                  regcomp(expression, whole, REG_EXTENDED | REG_NOSUB) == 0;
  free(whole);
  return ok || problem_set(problem, "--filter is no regular expression: '%s'", filter);
}

/* Leaves the functions that the filter is for. */
static bool filter_functions(struct survey *survey, struct problem *problem) {
  const char *filter = survey->options->filter;
  char text[SURVEY_NAME_SIZE];
  regex_t expression;
  uint32_t kept = 0;
  if (filter == NULL)
    return true;
  if (!compile_filter(&expression, filter, problem))
    return false;
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

/* Sums the functions of each unit; NULL is the unit of all others. */
static void list_units(struct survey *survey) {
  struct survey_row *units = calloc((size_t)survey->function_count + 1, sizeof *units);
  survey->units = units;
  qsort(survey->functions, survey->function_count, sizeof *survey->functions, compare_units);
  for (uint32_t i = 0; i < survey->function_count; i++) {
    const struct survey_row *function = &survey->functions[i];
    if (i == 0 || compare_units(function - 1, function) != 0)
      units[survey->unit_count++] = (struct survey_row){.name = function->unit, .is_unit = true};
    struct survey_row *unit = &units[survey->unit_count - 1];
    survey_add(unit, function);
  }
}

static void sort_rows(struct survey *survey) {
  enum survey_order order = survey->options->order;
  qsort_r(survey->functions, survey->function_count, sizeof *survey->functions, compare_rows,
          &order);
  qsort_r(survey->units, survey->unit_count, sizeof *survey->units, compare_rows, &order);
}

const char *survey_name(const struct survey_row *row, char text[SURVEY_NAME_SIZE]) {
  if (row->name != NULL || row->is_unit)
    return row->name != NULL ? row->name : "(unknown)";
  const uint64_t address = piece_offset(row->piece, row->address);
  snprintf(text, SURVEY_NAME_SIZE, "%.96s%s0x%" PRIx64,
           row->piece == NULL ? "" : row->piece->section, row->piece == NULL ? "" : "+", address);
  return text;
}

uint64_t survey_rest(const struct sizes *sizes) {
  uint64_t rest = 0;
  for (unsigned i = 0; i < sizes->part_count; i++) {
    assert(sizes->parts[i].owned <= sizes->parts[i].bits);
    rest += sizes->parts[i].bits - sizes->parts[i].owned;
  }
  return rest;
}

struct survey_row survey_rest_row(const struct survey *survey) {
  return (struct survey_row){
      .packed = survey_rest(&survey->packed),
      .raw = survey->has_raw ? survey_rest(&survey->raw) + survey->raw.discarded : 0};
}

/* ---- The whole ---- */

/* The size of the packed file. */
static void find_file_size(struct survey *survey, size_t table_size) {
  const struct loaded *loaded = &survey->opened.program.loaded;
  struct problem ignored = {0};
  struct plan plan;
  if (survey->opened.objects == NULL &&
      rewrite_check(&survey->opened.program.image, loaded, &ignored) &&
      plan_make(&plan, &survey->opened.program.image, loaded, table_size, &ignored))
    survey->packed_file_size = plan.file_size;
}

/* Packs the table in memory; its size is the same for each address. */
static bool pack_in_memory(struct survey *survey, struct problem *problem) {
  const uint64_t address = survey->opened.program.loaded.raw->header.sh_addr & ~(uint64_t)7;
  size_t size;
  const char *error = packed_write(&survey->opened.program.loaded.table, address, compress_block,
                                   &survey->table_bytes, &size);
  if (error != NULL)
    return problem_set(problem, "%s", error);
  find_file_size(survey, size);
  return packed_open(&survey->table, survey->table_bytes, size, address) == STACKPACK_OK ||
         problem_set(problem, "the packed table can't be read again");
}

static bool measure_tables(struct survey *survey, struct problem *problem) {
  struct loaded *loaded = &survey->opened.program.loaded;
  survey->has_raw = loaded->kind == LOAD_RAW;
  if (survey->has_raw &&
      !sizes_of_raw(&survey->raw, &survey->opened.program.image, loaded, problem))
    return false;
  if (!drop_by_policy(survey->opened.program.path, &survey->opened.program.image, loaded,
                      &survey->options->policy, NULL, &survey->drop, problem))
    return false;
  if (survey->has_raw && !pack_in_memory(survey, problem))
    return false;
  if (!survey->has_raw)
    survey->table = loaded->packed;
  return sizes_of_packed(&survey->packed, &loaded->table, &survey->table, problem);
}

static bool survey_loaded(struct survey *survey, struct problem *problem) {
  if (!measure_tables(survey, problem))
    return false;
  const struct image_section *text = image_section(&survey->opened.program.image, ".text");
  survey->text_size = text == NULL ? 0 : text->header.sh_size;
  survey->records = survey->opened.program.loaded.table.record_count;
  debug_names_build_id(survey->opened.program.image.elf, survey->build_id);
  survey_measure(survey);
  names_open(&survey->names, &survey->opened.program.image);
  units_open(&survey->unit_names, survey->opened.program.path, &survey->opened.program.image);
  list_functions(survey);
  if (!filter_functions(survey, problem))
    return false;
  list_units(survey);
  sort_rows(survey);
  return true;
}

void survey_close(struct survey *survey) {
  for (unsigned i = 0; i < SURVEY_MEASURES; i++)
    free(survey->distributions[i].values.items);
  free(survey->columns);
  free(survey->functions);
  free(survey->units);
  sizes_free(&survey->raw);
  sizes_free(&survey->packed);
  units_close(&survey->unit_names);
  names_close(&survey->names);
  drop_close(&survey->drop);
  free(survey->table_bytes);
  opened_close(&survey->opened);
  *survey = (struct survey){0};
}

bool survey_open(struct survey *survey, const char *path, const struct survey_options *options) {
  struct problem problem = {0};
  *survey = (struct survey){.options = options};
  if (!opened_open(&survey->opened, path, &options->load, &problem) ||
      !survey_loaded(survey, &problem)) {
    survey_close(survey);
    problem_print(&problem, path);
    return false;
  }
  if (survey->unit_names.problem.text[0] != 0)
    problem_warn(path, "%s; some functions' compilation units are missing",
                 survey->unit_names.problem.text);
  return true;
}
