/* compare.h - compares two tables of safepoints. */
#ifndef STACKPACK_COMPARE_H
#define STACKPACK_COMPARE_H

#include "format/safepoints.h"

#include <stdint.h>

/* The number of differences, and the first one. */
struct differences {
  uint64_t count;
  char first[256]; /* a sentence */
};

/* Adds a difference; the text describes it. */
void differences_add(struct differences *differences, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Compares all functions' addresses and frame sizes, all records by their contents, and the global
 * roots. */
void compare_tables(const struct safepoints *a, const struct safepoints *b,
                    struct differences *differences);

/* Compares the positions in the source of records at the same addresses. */
void compare_positions(const struct safepoints *a, const struct safepoints *b,
                       struct differences *differences);

#endif
