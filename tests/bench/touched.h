/* touched.h - the cache lines and pages of a rival's memory that a look-up touches, exactly.
 *
 * All pages of the memory are forbidden. An access faults; the fault has its address, the page is
 * allowed, and the processor traps after this one instruction (the trap flag of x86-64), when the
 * page is forbidden again. So every instruction's access is seen, independent of caches and
 * prefetchers. An access is counted for the line of its first byte.
 */
#ifndef STACKPACK_BENCH_TOUCHED_H
#define STACKPACK_BENCH_TOUCHED_H

#include "rival.h"

struct touched {
  size_t lines, pages; /* different ones */
};

/* From begin to end, accesses to the contender's regions are watched; one contender at a time. */
void touched_begin(const struct contender *contender);
struct touched touched_end(void);

/* Whether this processor can do that. */
bool touched_works(void);

#endif
