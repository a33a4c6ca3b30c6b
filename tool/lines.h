/* lines.h - source lines by address, from DWARF. */
#ifndef STACKPACK_LINES_H
#define STACKPACK_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "report.h"

struct line {
  uint64_t address; /* from here on, up to the next line's address */
  const char *file; /* NULL: no line is known from here on */
  uint64_t number;
};

struct lines {
  struct line *items; /* sorted by address; owned */
  size_t count, capacity;
  char **files; /* owned */
  size_t file_count, file_capacity;
};

/* Reads the line tables of a file. A file without debug information has none. */
bool lines_open(struct lines *lines, const char *path, struct problem *problem);
void lines_close(struct lines *lines);

/* The line of the instruction that contains an address; NULL if it isn't known. */
const struct line *lines_find(const struct lines *lines, uint64_t address);

#endif
