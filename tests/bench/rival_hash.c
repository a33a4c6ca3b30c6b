/* rival_hash.c - the hash table that a user would write: return address -> frame descriptor.
 *
 * Open addressing, linear probing, at most half full; one entry of 16 bytes is one load. It is
 * built when the program starts, from the raw section.
 */
#include "descriptors.h"

static void enter(struct contender *contender, struct descriptor_entry entry) {
  struct descriptor_entry *entries = descriptor_entries(contender);
  uint64_t place = hash_address(entry.address, contender->mask);
  while (entries[place].address != 0) {
    if (entries[place].address == entry.address)
      return;
    place = (place + 1) & contender->mask;
  }
  entries[place] = entry;
}

/* The number of records isn't known before they have been read; a user reads them twice, or lets
 * the table grow, which costs more. */
static void start(struct contender *contender) {
  contender->mask = mask_for(descriptors_count(contender->subject), 2);
  descriptors_build(contender, contender->mask + 1, enter);
}

static uint64_t look_up(const struct contender *contender, uint64_t address) {
  const struct descriptor_entry *entries = descriptor_entries(contender);
  uint64_t place = hash_address(address, contender->mask);
  while (entries[place].address != address) {
    if (entries[place].address == 0)
      return 0;
    place = (place + 1) & contender->mask;
  }
  return visit_descriptor(contender, entries[place].descriptor);
}

const struct rival rival_hash = {
    .name = "hash table",
    .visits = VISITS_PAIRS,
    .prepare = NULL,
    .start = start,
    .look_up = look_up,
};
