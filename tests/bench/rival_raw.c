/* rival_raw.c - the section as LLVM writes it, read from its start for every look-up.
 *
 * This is the shortest way: a map's length follows only from reading all of its records.
 */
#include "rival.h"
#include "v3_sites.h"

#include <string.h>

static void prepare(struct contender *contender) {
  const struct subject *subject = contender->subject;
  region_reserve(&contender->file, subject->raw_size);
  memcpy(region_take(&contender->file, subject->raw_size, 8), subject->raw, subject->raw_size);
}

static uint64_t look_up(const struct contender *contender, uint64_t address) {
  struct v3_sites sites = v3_sites_open(contender->file.start, contender->file.size);
  struct pair pairs[V3_PAIRS_MAX];
  while (v3_sites_next(&sites)) {
    if (sites.address != address)
      continue;
    uint64_t sum = sites.frame_size;
    const unsigned count = v3_sites_pairs(&sites, pairs);
    for (unsigned i = 0; i < count; i++)
      sum += visit_pair(pairs[i].base, pairs[i].derived);
    return sum;
  }
  return 0;
}

const struct rival rival_raw = {
    .name = "raw v3, read through",
    .visits = VISITS_PAIRS,
    .linear = true,
    .prepare = prepare,
    .look_up = look_up,
};
