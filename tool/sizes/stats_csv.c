/* stats_csv.c - see stats_print.h: CSV is in the form of RFC 4180. */
#include "tool/sizes/stats_print.h"

#include "tool/image/clean.h"

#include <inttypes.h>
#include <stdio.h>

static void csv_text(const char *text) { clean_print_quoted(text == NULL ? "" : text, "\"", '"'); }

static void csv_row(const struct survey *survey, const char *unit, const char *name,
                    const struct survey_row *row) {
  csv_text(survey->opened.program.path);
  putchar(',');
  csv_text(unit);
  putchar(',');
  csv_text(name);
  printf(",0x%" PRIx64 ",%" PRIu32 ",", piece_offset(row->piece, row->address), row->records);
  if (survey->has_raw)
    printf("%" PRIu64, row->raw / 8);
  printf(",%.3f", (double)row->packed / 8);
  for (unsigned i = 0; i < COLUMNS; i++)
    printf(",%" PRIu64, row->columns[i]);
  printf("\r\n");
}

void stats_csv_titles(void) {
  printf("file,unit,function,address,records,raw,packed");
  for (unsigned i = 0; i < COLUMNS; i++)
    printf(",%s", survey_columns[i]);
  printf("\r\n");
}

void stats_csv(const struct survey *survey, uint32_t top) {
  const struct survey_row *functions = survey->functions, rest = survey_rest_row(survey);
  const struct survey_row others = survey_others(survey, functions, survey->function_count, top);
  char text[SURVEY_NAME_SIZE];
  for (uint32_t i = 0; i < survey->function_count && i < top; i++)
    csv_row(survey, functions[i].unit, survey_name(&functions[i], text), &functions[i]);
  if (others.functions > 0)
    csv_row(survey, NULL, "(others)", &others);
  csv_row(survey, NULL, "(the table itself)", &rest);
}

void stats_csv_growth(const struct growth *growth, uint32_t top) {
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
