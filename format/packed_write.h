/* packed_write.h - makes a packed table from a table of safepoints, and a table of safepoints from a packed
 * one. */
#ifndef STACKPACK_PACKED_WRITE_H
#define STACKPACK_PACKED_WRITE_H

#include "format/packed_details.h"
#include "format/safepoints.h"

/* Compresses a block into destination[0..capacity), and returns the size, or 0 on failure. */
typedef size_t packed_compress(void *destination, size_t capacity, const void *source, size_t size);

/* Encodes a finished table into bytes of its own, for a section that will stand at `address`.
 * Without `compress`, the details are stored as they are. Returns NULL, or a text that says what
 * went wrong (static storage). The caller frees *bytes. Equal tables give equal bytes. */
const char *packed_write(const struct safepoints *table, uint64_t address,
                         packed_compress *compress, uint8_t **bytes, size_t *size);

/* Adds all records of a packed table to an empty table of safepoints, and finishes it. False: the packed table is broken (table->error), or there is no memory
 * (table->no_memory). */
bool packed_unpack(const struct packed_table *packed, packed_decompress *decompress,
                   struct safepoints *table);

/* ---- Steps of packed_write ---- */

/* How the locations and lists of a table are numbered. */
struct packed_numbers {
  uint32_t *locations;  /* by number in safepoints.locations; UINT32_MAX: not used */
  uint32_t *lists;      /* by packed_list_key; UINT32_MAX: not used by a live set */
  uint32_t *used_lists; /* keys of the lists that are used, in the order of their new numbers */
  uint32_t location_count, list_count, class_count;
  struct bit_writer classes;
};
/* The key of a list. A list of locations and the same list of allocas have two keys. */
static inline uint32_t packed_list_key(uint64_t item) {
  return safepoint_item_list(item) << 1 | safepoint_item_is_locations(item);
}
/* False without memory, or with more locations than numbers. */
bool packed_number_locations(const struct safepoints *table, struct packed_numbers *numbers);
void packed_numbers_free(struct packed_numbers *numbers);

/* The layouts of functions: which live sets their records have, in order. A sequence of `layouts` is
 * the number of a frame size and then these sets' numbers, or one if all are equal. */
struct packed_layouts {
  struct intern layouts;
  uint64_t *places;       /* filled in: where each stands, in bytes */
  struct bit_writer bits; /* filled in */
};
/* Fills in the header's widths, too. False without memory. */
bool packed_write_layouts(const struct safepoints *table, const struct packed_numbers *numbers,
                          struct packed_header *header, struct packed_layouts *layouts);

/* A stretch of text, as packed.h explains. */
struct packed_written_stretch {
  uint64_t offset; /* where it starts, from the text's start on */
  uint32_t layout; /* in packed_layouts; PACKED_GAP: none */
};
enum { PACKED_GAP = UINT32_MAX };

/* Fills in the header's widths, and appends directory and leaves. False without memory. */
bool packed_write_leaves(const struct safepoints *table, const struct packed_layouts *layouts,
                         const struct packed_written_stretch *stretches,
                         struct packed_header *header, struct bit_writer *directory,
                         struct bit_writer *leaves);

/* Appends two parts, each only if it is needed. False without memory, or if one is too large. */
bool packed_write_details(const struct safepoints *table, packed_compress *compress,
                          struct bit_writer *conventions, struct bit_writer *details);

#endif
