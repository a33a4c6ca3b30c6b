/* v3_sites.c - see v3_sites.h. The subject's records have been checked before. */
#include "v3_sites.h"

#include "runtime/stackpack.h"

enum { HEADER_LOCATIONS = 3 }; /* calling convention, flags, number of deopt locations */

struct v3_sites v3_sites_open(const void *raw, size_t size) {
  return (struct v3_sites){.reader = stackmap_v3_open(raw, size)};
}

static bool next_function(struct v3_sites *sites) {
  while (sites->functions_left == 0) {
    if (!stackmap_v3_next_map(&sites->reader))
      return false;
    sites->functions_left = sites->reader.functions;
  }
  sites->functions_left--;
  if (!stackmap_v3_next_function(&sites->reader, &sites->function))
    return false;
  sites->records_left = sites->function.records;
  return true;
}

/* Pairs are after the deopt state, and direct locations after them are others. */
static void find_pairs(struct v3_sites *sites) {
  struct stackpack_location location = {0};
  unsigned end = sites->record.locations;
  sites->locations = 0;
  for (unsigned i = 0; i < HEADER_LOCATIONS; i++)
    if (i >= end || !stackmap_v3_location(&sites->reader, &sites->record, i, &location) ||
        location.kind != STACKPACK_CONSTANT)
      return;
  sites->first_location = HEADER_LOCATIONS + (unsigned)location.value;
  while (end > sites->first_location &&
         stackmap_v3_location(&sites->reader, &sites->record, end - 1, &location) &&
         location.kind == STACKPACK_DIRECT)
    end--;
  if (end > sites->first_location)
    sites->locations = end - sites->first_location;
}

bool v3_sites_next(struct v3_sites *sites) {
  do {
    while (sites->records_left == 0)
      if (!next_function(sites))
        return false;
    sites->records_left--;
    if (!stackmap_v3_next_record(&sites->reader, &sites->record))
      return false;
  } while (sites->function.address == 0);
  sites->address = sites->function.address + sites->record.offset;
  sites->frame_size = (uint32_t)sites->function.frame_size;
  find_pairs(sites);
  return true;
}

unsigned v3_sites_pairs(struct v3_sites *sites, struct pair pairs[V3_PAIRS_MAX]) {
  unsigned count = 0;
  for (unsigned i = 0; i + 1 < sites->locations; i += 2) {
    struct stackpack_location base = {0}, derived = {0};
    const unsigned first = sites->first_location + i;
    if (!stackmap_v3_location(&sites->reader, &sites->record, first, &base) ||
        !stackmap_v3_location(&sites->reader, &sites->record, first + 1, &derived))
      break;
    struct pair *pair = &pairs[count];
    slot_of(&pair->base, base.kind, base.reg, base.value);
    slot_of(&pair->derived, derived.kind, derived.reg, derived.value);
    unsigned same = 0;
    while (pairs[same].base != pair->base || pairs[same].derived != pair->derived)
      same++;
    count += same == count;
  }
  return count;
}
