/* options.h - the options of the samples, as a table: a number each, or a flag. */
#ifndef SAMPLES_OPTIONS_H
#define SAMPLES_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct option_row {
  const char *name;
  const char *meaning;
  bool *flag;       /* NULL: the option has a number, which is */
  uint64_t *number; /* put here, in the place of its default, */
  uint64_t least, most;
};

/* Takes the options of a command line. Ends the program, and prints what the options mean, where it
 * has anything else. The row after the last one has no name. */
void options_take(int argc, char **argv, const struct option_row *rows);

#ifdef __cplusplus
}
#endif
#endif
