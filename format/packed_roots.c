/* packed_roots.c - reads the list of global roots: variables that hold references.
 *
 *   i64      the lowest address less the table's own
 *   u8       shift: all addresses are that many times 2 apart
 *   varint   of each: the address less the one before, shifted; of the first: 0
 */
#include "format/packed.h"

enum { ROOTS_HEADER = 9, SHIFTS = 64 };

/* A broken header gives a list that can't be read, and isn't at its end. */
struct packed_roots packed_roots(const struct packed_table *table) {
  struct packed_roots roots = {0};
  if (table->roots_size == 0)
    return roots;
  const bool is_whole = table->roots_size >= ROOTS_HEADER;
  roots.address = table->address + bits_load64(table->roots);
  roots.shift = is_whole ? table->roots[8] : SHIFTS;
  roots.next = table->roots + (is_whole ? ROOTS_HEADER : 0);
  roots.end = table->roots + table->roots_size;
  return roots;
}

bool packed_roots_next(struct packed_roots *roots, uint64_t *address) {
  uint64_t distance;
  if (roots->shift >= SHIFTS || !bits_varint(&roots->next, roots->end, &distance))
    return false;
  roots->address += distance << roots->shift;
  *address = roots->address;
  return true;
}
