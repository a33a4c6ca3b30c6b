/* workload.h - the programs whose references the collector must find, and what they share.
 *
 * Each workload builds and changes a data structure of its own and boils it down to a checksum that
 * depends on every value and on the order of values, never on an address. So all builds of the
 * sample must print the same, however often objects moved. `size` scales the work: 1 is the least.
 *
 * They are written as a compiler would like to have them, with loops that step through an array by
 * pointer and hold that pointer while they allocate, because that is what makes derived references.
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
