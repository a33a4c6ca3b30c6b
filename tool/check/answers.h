/* answers.h - compares a packed table's answers to look-ups with the records that it was made
 * of. */
#ifndef STACKPACK_ANSWERS_H
#define STACKPACK_ANSWERS_H

#include "format/packed.h"
#include "tool/check/compare.h"

/* Asks the packed table for every record's address, for every function's start and end, and for
 * addresses without a record: around each function's start and end, and between its records; and
 * for dropped[0..count), whose records were dropped: none is a safepoint, unless the table of
 * safepoints has another record there. Adds the differences from the finished table of
 * safepoints. */
void answers_all(const struct safepoints *expected, const struct packed_table *packed,
                 const uint64_t *dropped, size_t count, struct differences *differences);

#endif
