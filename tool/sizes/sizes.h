/* sizes.h - how much of a table of stack maps, raw or packed, belongs to each function: to the bit.
 *
 * A table's bytes are divided among functions so that each one is counted exactly once:
 *
 *   - Bytes about one function, or about one of its records, belong to that function alone.
 *   - Bytes that several functions share (a layout, a frame size, a list of locations) are divided
 *     among them in equal parts, and bytes that several records share (of a leaf) among these.
 *     If there is a remainder, the first ones get a bit more.
 *   - Bytes about the table as a whole (headers, padding) belong to no function: they are the rest
 *     of their part.
 *
 * So the sizes of all functions, and the rest of all parts, add up to the table's size exactly.
 * Sizes are in bits, as packed numbers end between bytes.
 */
#ifndef STACKPACK_SIZES_H
#define STACKPACK_SIZES_H

#include "tool/image/load.h"

/* A part of a table: of `bits`, `owned` are functions'. */
struct sizes_part {
  const char *name; /* static storage */
  uint64_t bits, owned;
};

enum { SIZES_PARTS_MAX = 17 };

/* Counts a packed table's layouts, the shared ones among them, and the functions that these
 * serve. */
struct sizes_layouts {
  uint32_t count, shared, functions;
};

struct sizes {
  struct sizes_part parts[SIZES_PARTS_MAX];
  unsigned part_count;
  uint64_t *functions;          /* by number in the table of safepoints: owned */
  uint64_t discarded;           /* raw: of functions that the linker discarded, outside the table */
  uint64_t bits;                /* of all parts */
  struct sizes_layouts layouts; /* packed */
};

/* Of an image's raw stack maps, in all of their sections, as read by `load`. sizes_free in any
 * case. */
bool sizes_of_raw(struct sizes *sizes, const struct image *image, const struct loaded *loaded,
                  struct problem *problem);

/* The same of a packed table with the records of the table of safepoints. */
bool sizes_of_packed(struct sizes *sizes, const struct safepoints *table,
                     const struct packed_table *packed, struct problem *problem);

void sizes_free(struct sizes *sizes);

/* ---- For the two of them ---- */

void sizes_open(struct sizes *sizes, uint32_t functions);

/* Gives bits of a part to a function. */
static inline void sizes_give(struct sizes *sizes, unsigned part, uint32_t function,
                              uint64_t bits) {
  sizes->parts[part].owned += bits;
  sizes->functions[function] += bits;
}

#endif
