/* answers.h - whether a packed table answers look-ups as it should.
 *
 * The questions are divided into parts, which threads can take up together:
 *
 *   answers_new, in any one thread; answers_compare, in each; when all have returned, answers_close
 */
#ifndef STACKPACK_ANSWERS_H
#define STACKPACK_ANSWERS_H

#include "format/packed.h"
#include "tool/check/compare.h"

struct answers;

/* How many functions a part has: enough that taking one costs nothing. */
enum { ANSWERS_PART = 1024 };

/* What a packed table has to say, given a finished table of safepoints; both must stay. NULL without
 * memory. */
struct answers *answers_new(const struct safepoints *expected, const struct packed_table *packed,
                            uint32_t part_functions);

/* Asks for every record's address, for every function's start and end, and for addresses that have
 * no record: around each function's start and end, and between its records; compares each answer
 * with what the table of safepoints says. Takes part after part until none is left. */
void answers_compare(struct answers *answers);

/* Adds what differs. (NULL: there was no memory to compare.) */
void answers_close(struct answers *answers, struct differences *differences);

/* All of that, in one thread. */
void answers_all(const struct safepoints *expected, const struct packed_table *packed,
                 struct differences *differences);

/* Asks the packed table for addresses whose records were dropped: none is a safepoint, unless the
 * table of safepoints has another record there. */
void answers_dropped(const struct safepoints *expected, const struct packed_table *packed,
                     const uint64_t *addresses, size_t count, struct differences *differences);

#endif
