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
  bool *flag;       /* NULL: the option takes a number */
  uint64_t *number; /* its default, then its value */
  uint64_t least, most;
};

/* Takes the options of a command line. If the command line has anything else, prints the options'
 * meanings and ends the program. The name of the row after the last one is NULL. */
void options_take(int argc, char **argv, const struct option_row *rows);

#ifdef __cplusplus
}
#endif
#endif
