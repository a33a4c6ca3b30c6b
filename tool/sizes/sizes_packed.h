/* sizes_packed.h - what the parts of a packed table share while they are divided: see
 * sizes_packed.c.
 */
#ifndef STACKPACK_SIZES_PACKED_H
#define STACKPACK_SIZES_PACKED_H

#include "tool/sizes/sizes.h"

enum part {
  PART_HEADER,
  PART_DIRECTORY,
  PART_ADDRESSES,
  PART_MARKS,
  PART_REFERENCES,
  PART_SHARED_LAYOUTS,
  PART_OWN_LAYOUTS,
  PART_BARE,
  PART_EXTENTS,
  PART_FRAME_SIZES,
  PART_CLASSES,
  PART_LISTS,
  PART_EXCEPTIONS,
  PART_CONVENTIONS,
  PART_DETAILS,
  PART_ROOTS,
  PART_PADDING,
  PARTS,
};

struct division {
  struct sizes *sizes;
  const struct safepoints *table;
  const struct packed_table *packed;
  uint32_t *functions; /* by number in the packed table: the one in the other */
  uint32_t *owners;    /* by record: its function, in the other table */
  uint64_t *places;    /* by number in the packed table: the bit of the leaves where the function's
                          layout starts, or UINT64_MAX: it has none */
  uint32_t *frames;    /* by number in the packed table: the number of the function's frame size */
  uint64_t *bounds; /* bits of the leaves where a layout or a leaf starts, or the last one ends */
  size_t bound_count;
  struct sizes_shared *shared; /* what is being divided: of the larger of the counts below, and 1 */
  uint32_t *last_users;        /* of each of them: 1 + the function that was counted last */
};

/* Gives bits of a part to a function. */
static inline void division_give(struct division *division, enum part part, uint32_t function,
                                 uint64_t bits) {
  sizes_give(division->sizes, part, function, bits);
}

/* Divides the leaves, and adds what they have to the sizes of parts. */
bool division_of_leaves(struct division *division, struct problem *problem);

/* Counts and divides the layouts; after the leaves. Finds the frame sizes of all functions that
 * have records by the rule. */
bool division_of_layouts(struct division *division, struct problem *problem);

#endif
