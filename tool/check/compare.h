/* compare.h - whether two tables say the same. */
#ifndef STACKPACK_COMPARE_H
#define STACKPACK_COMPARE_H

#include "format/safepoints.h"

#include <stdint.h>

/* What differs first, and how much. */
struct differences {
  uint64_t count;
  char first[256]; /* a sentence */
  bool no_memory;  /* the comparison ended early */
};

/* Adds a difference: what it is, in a sentence. */
void differences_add(struct differences *differences, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Compares all functions' frame sizes, all records by what they say, and the global roots. */
void compare_tables(const struct safepoints *a, const struct safepoints *b,
                    struct differences *differences);

#endif
