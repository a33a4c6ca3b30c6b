/* workload.h - the managed programs, and what they share.
 *
 * Each is the function of a fiber that starts others. Its result is an object that begins with a
 * checksum, which depends on every value and on the order in which the fibers ran, never on an
 * address. So all builds must print the same for the same seed, however often objects moved.
 */
#ifndef FIBERS_WORKLOAD_H
#define FIBERS_WORKLOAD_H

#include "fibers.h"
#include "numbers.h"

reference sort_run(reference argument);
reference fringe_run(reference argument);
reference rows_run(reference argument);

/* The options --fibers and --size. Plain C that doesn't allocate: see FIBERS_LEAVES in rules.mk. */
uint64_t setting_fibers(void);
uint64_t setting_size(void);

#endif
