/* global_roots.c - the variables that hold references: from the packed table, or from the program's
 * own array of their addresses.
 */
#include "runtime/internal.h"

#include <string.h>

/* One of the two: `array` is NULL for a packed list. */
struct global_roots {
  const uint8_t *array, *end;
  struct packed_roots packed;
};

_Static_assert(sizeof(struct global_roots) <= sizeof(struct stackpack_global_roots),
               "room for global roots");

struct stackpack_global_roots stackpack_global_roots(const struct stackpack_table *table,
                                                     const void *start, const void *stop) {
  const struct packed_table *packed = const_table_of(table);
  struct stackpack_global_roots roots = {0};
  struct global_roots *own = (struct global_roots *)roots.private_;
  if (packed->roots != NULL) {
    own->packed = packed_roots(packed);
  } else {
    own->array = start;
    own->end = stop;
  }
  return roots;
}

bool stackpack_global_roots_next(struct stackpack_global_roots *roots, uint64_t *address) {
  struct global_roots *own = (struct global_roots *)roots->private_;
  if (own->array == NULL) {
    const bool is_one = packed_roots_next(&own->packed, address);
    roots->is_corrupt = own->packed.bad;
    return is_one;
  }
  while ((size_t)(own->end - own->array) >= sizeof *address) {
    memcpy(address, own->array, sizeof *address);
    own->array += sizeof *address;
    if (*address != 0)
      return true;
  }
  return false;
}
