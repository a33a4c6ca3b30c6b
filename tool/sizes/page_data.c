/* page_data.c - see page_data.h. */
#include "tool/sizes/page_data.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { FUNCTIONS_MAX = 20000 }; /* in a page: each is about 50 bytes */

static json_t *clean(const char *name) {
  char *text = name == NULL ? NULL : names_clean(name);
  json_t *string = text == NULL ? json_null() : json_string(text);
  free(text);
  return string;
}

static json_t *row(json_t *name, const struct survey_row *row) {
  return json_pack("[oIIII]", name, (json_int_t)row->records, (json_int_t)(row->raw / 8),
                   (json_int_t)row->packed, (json_int_t)row->functions);
}

static void add(struct survey_row *sum, const struct survey_row *row) {
  sum->functions += row->functions;
  sum->records += row->records;
  sum->raw += row->raw;
  sum->packed += row->packed;
}

static int compare_units(const void *a, const void *b) {
  const struct survey_row *x = *(const struct survey_row *const *)a;
  const struct survey_row *y = *(const struct survey_row *const *)b;
  if (x->unit != y->unit) {
    const int units = x->unit == NULL ? -1 : y->unit == NULL ? 1 : strcmp(x->unit, y->unit);
    if (units != 0)
      return units;
  }
  return x < y ? -1 : x > y; /* as they are sorted: the largest first */
}

/* The functions of a unit, which are [from, to); `last` is the first that is too small. */
static json_t *unit(const struct survey_row **rows, uint32_t from, uint32_t to,
                    const struct survey_row *last) {
  json_t *functions = json_array();
  struct survey_row others = {0};
  char text[SURVEY_NAME_SIZE];
  for (uint32_t i = from; i < to; i++)
    if (rows[i] < last)
      json_array_append_new(functions, row(clean(survey_name(rows[i], text)), rows[i]));
    else
      add(&others, rows[i]);
  if (others.functions > 0)
    json_array_append_new(functions, row(json_string("(smaller functions)"), &others));
  return json_pack("[oo]", clean(rows[from]->unit), functions);
}

static json_t *units(const struct survey *survey) {
  const uint32_t count = survey->function_count;
  const struct survey_row *last =
      survey->functions + (count < FUNCTIONS_MAX ? count : (uint32_t)FUNCTIONS_MAX);
  const struct survey_row **rows = calloc((size_t)count + 1, sizeof *rows);
  json_t *list = json_array();
  for (uint32_t i = 0; i < count && rows != NULL; i++)
    rows[i] = &survey->functions[i];
  if (rows != NULL && count > 0)
    qsort(rows, count, sizeof *rows, compare_units);
  for (uint32_t i = 0, end; i < count && rows != NULL; i = end) {
    for (end = i + 1; end < count; end++)
      if (rows[i]->unit != rows[end]->unit && (rows[i]->unit == NULL || rows[end]->unit == NULL ||
                                               strcmp(rows[i]->unit, rows[end]->unit) != 0))
        break;
    json_array_append_new(list, unit(rows, i, end, last));
  }
  const bool ok = rows != NULL;
  free(rows);
  if (ok)
    return list;
  json_decref(list);
  return NULL;
}

bool page_data(FILE *page, const struct survey *survey, const char *name) {
  json_t *list = units(survey);
  const uint64_t raw = survey->has_raw ? survey_rest(&survey->raw) + survey->raw.discarded : 0;
  json_t *object =
      json_pack("{so sb so s[II]}", "name", clean(name), "hasRaw", survey->has_raw, "units", list,
                "rest", (json_int_t)(raw / 8), (json_int_t)survey_rest(&survey->packed));
  char *text = object == NULL ? NULL : json_dumps(object, JSON_COMPACT | JSON_ENSURE_ASCII);
  /* What is in a script element ends at "</script": HTML, "Restrictions for contents of script
   * elements". In JSON, "<" stands only in strings. */
  for (const char *c = text; c != NULL && *c != 0; c++)
    if (*c == '<' || *c == '>' || *c == '&')
      fprintf(page, "\\u%04x", *c);
    else
      putc(*c, page);
  const bool ok = text != NULL;
  free(text);
  json_decref(object);
  return ok;
}
