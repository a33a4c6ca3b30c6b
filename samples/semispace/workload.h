/* workload.h - the managed programs, and their common declarations.
 *
 * Each workload builds and changes a data structure, and reduces it to a checksum over every value
 * and their order, independent of addresses. So all builds of the sample must print the same, for
 * any number of collections. `size` scales the work: 1 is the least.
 *
 * Their loops step through arrays by pointer, and hold the pointer while they allocate, as in
 * optimised code: this makes derived references.
 */
#ifndef SEMISPACE_WORKLOAD_H
#define SEMISPACE_WORKLOAD_H

#include "numbers.h"

#include <stdint.h>

uint64_t trees_run(uint64_t size);
uint64_t lists_run(uint64_t size);
uint64_t arrays_run(uint64_t size);
uint64_t words_run(uint64_t size);

#endif
