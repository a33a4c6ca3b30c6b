/* compare.h - whether two tables say the same, and whether a packed one answers as it should. */
#ifndef STACKPACK_COMPARE_H
#define STACKPACK_COMPARE_H

#include "../format/packed.h"
#include "../format/safepoints.h"

#include <stdint.h>

/* What differs first, and how much. */
struct differences {
  uint64_t count;
  char first[256]; /* a sentence */
};

/* Compares all functions' frame sizes, all records by what they say, and the global roots. */
void compare_tables(const struct safepoints *a, const struct safepoints *b,
                    struct differences *differences);

/* Asks the packed table for every record's address, for every function's start and end, and for
 * addresses that have no record: around each function's start and end, and between its records;
 * compares each answer with what the table of safepoints says. */
void compare_answers(const struct safepoints *expected, const struct packed_table *packed,
                     struct differences *differences);

/* Asks the packed table for addresses whose records were dropped: none is a safepoint, unless the
 * table of safepoints has another record there. */
void compare_dropped(const struct safepoints *expected, const struct packed_table *packed,
                     const uint64_t *addresses, size_t count, struct differences *differences);

#endif
