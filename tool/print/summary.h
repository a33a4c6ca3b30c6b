/* summary.h - the result of `pack` for a file, in lines and as a JSON object. */
#ifndef STACKPACK_SUMMARY_H
#define STACKPACK_SUMMARY_H

#include "tool/image/load.h"

#include <stdio.h>

enum { SUMMARY_WHY_SIZE = 400 };

struct summary {
  const char *path;
  const char *why; /* the reason why the file stays unchanged: only `path` counts, too; or NULL */
  const struct loaded *loaded; /* the stack maps that were packed */
  uint64_t packed_size, file_before, file_after;
  uint32_t dropped;
  bool is_dry_run;
  const char *raw_reader; /* where the program reads its raw stack maps itself; or NULL */
};

void summary_print(FILE *out, const struct summary *summary);
/* A line. False on a full stream. */
bool summary_print_json(FILE *out, const struct summary *summary);

#endif
