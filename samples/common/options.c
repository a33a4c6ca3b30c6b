/* options.c - see options.h. */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 8, FIRST = 256 };

static _Noreturn void fail_usage(const struct option_row *rows) {
  fprintf(stderr, "usage: %s [OPTION]...\n", program_invocation_short_name);
  for (const struct option_row *row = rows; row->name; row++)
    if (row->flag)
      fprintf(stderr, "  --%-12s %s\n", row->name, row->meaning);
    else
      fprintf(stderr, "  --%-10s N %s (default %" PRIu64 ")\n", row->name, row->meaning,
              *row->number);
  exit(2);
}

static bool take_number(const struct option_row *row, const char *text) {
  char *end;
  unsigned long number = strtoul(text, &end, 10);
  *row->number = number;
  return end != text && *end == '\0' && number >= row->least && number <= row->most;
}

void options_take(int argc, char **argv, const struct option_row *rows) {
  struct option names[MOST + 1] = {0};
  for (int i = 0; rows[i].name; i++)
    names[i] = (struct option){rows[i].name, rows[i].flag ? no_argument : required_argument, NULL,
                               FIRST + i};
  for (int option; (option = getopt_long(argc, argv, "", names, NULL)) != -1;) {
    const struct option_row *row = &rows[option - FIRST];
    if (option < FIRST || (!row->flag && !take_number(row, optarg)))
      fail_usage(rows);
    if (row->flag)
      *row->flag = true;
  }
  if (optind != argc)
    fail_usage(rows);
}
