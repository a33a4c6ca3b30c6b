/* summary.h - the result of `pack` for a file, in lines and as a JSON object. */
#ifndef STACKPACK_SUMMARY_H
#define STACKPACK_SUMMARY_H

#include "format/safepoints.h"

#include <stdio.h>

enum { SUMMARY_WHY_SIZE = 400 };

struct summary {
  const char *path;
  const char *why; /* the reason why the file stays unchanged: only `path` counts, too; or NULL */
  const struct safepoints *table; /* the table that was packed */
  uint64_t raw_size, packed_size, file_before, file_after;
  uint32_t dropped;
  size_t left_out, conflicts; /* functions of other code than is there; addresses */
  bool is_dry_run;
  const char *raw_reader; /* where the program reads its raw stack maps itself; or NULL */
};

void summary_print(FILE *out, const struct summary *summary);
/* A line. False on a full stream. */
bool summary_print_json(FILE *out, const struct summary *summary);

#endif
