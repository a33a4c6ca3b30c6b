/* v3_sites.h - goes through the statepoints of a raw section: the work of every parser at start-up.
 * */
#ifndef STACKPACK_BENCH_V3_SITES_H
#define STACKPACK_BENCH_V3_SITES_H

#include "format/stackmap_v3.h"
#include "subject.h"

struct v3_sites {
  struct stackmap_v3_reader reader;
  struct stackmap_v3_function function;
  struct stackmap_v3_record record;
  uint64_t functions_left, records_left;
  /* The current one. */
  uint64_t address;
  uint32_t frame_size;
  unsigned locations, first_location; /* of pairs, repeated ones included */
};

struct v3_sites v3_sites_open(const void *raw, size_t size);
/* Moves to the next record of a function that is there; false after the last. */
bool v3_sites_next(struct v3_sites *sites);
/* Writes the different pairs of the current one, and returns how many there are. */
enum { V3_PAIRS_MAX = 32768 };
unsigned v3_sites_pairs(struct v3_sites *sites, struct pair pairs[V3_PAIRS_MAX]);

#endif
