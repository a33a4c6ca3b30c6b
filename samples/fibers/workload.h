/* workload.h - the managed programs, and their common declarations.
 *
 * Each is the function of a fiber that starts others. Its result is an object that begins with a
 * checksum, over every value and the order in which the fibers ran, but independent of addresses.
 * So with one seed all builds must print the same, for any number of collections.
 */
#ifndef FIBERS_WORKLOAD_H
#define FIBERS_WORKLOAD_H

#include "fibers.h"
#include "numbers.h"

reference sort_run(reference argument);
reference fringe_run(reference argument);
reference rows_run(reference argument);

/* The options --fibers and --size. GC leaves in plain C: see FIBERS_LEAVES in rules.mk. */
uint64_t setting_fibers(void);
uint64_t setting_size(void);

#endif
