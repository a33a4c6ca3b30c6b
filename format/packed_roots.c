/* packed_roots.c - reads the list of global roots: variables that hold references.
 *
 *   i64      the lowest address less the table's own
 *   u8       shift: all addresses are that many times 2 apart
 *   varint   of each: the address less the one before, shifted; of the first: 0
 */
#include "format/packed.h"

enum { ROOTS_HEADER = 9, SHIFT_MAX = 63 };

struct packed_roots packed_roots(const struct packed_table *table) {
  struct packed_roots roots = {0};
  if (table->roots_size == 0)
    return roots;
  roots.bad = table->roots_size < ROOTS_HEADER || table->roots[8] > SHIFT_MAX;
  if (roots.bad)
    return roots;
  roots.address = table->address + bits_load64(table->roots);
  roots.shift = table->roots[8];
  roots.next = table->roots + ROOTS_HEADER;
  roots.end = table->roots + table->roots_size;
  return roots;
}

bool packed_roots_next(struct packed_roots *roots, uint64_t *address) {
  uint64_t distance;
  if (roots->next == roots->end)
    return false;
  if (!bits_varint(&roots->next, roots->end, &distance)) {
    roots->bad = true;
    roots->next = roots->end;
    return false;
  }
  roots->address += distance << roots->shift;
  *address = roots->address;
  return true;
}
