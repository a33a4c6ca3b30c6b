/* packed_write.h - makes a packed table from a table of safepoints. The other direction, too. */
#ifndef STACKPACK_PACKED_WRITE_H
#define STACKPACK_PACKED_WRITE_H

#include "format/bits.h"
#include "format/packed_details.h"
#include "format/safepoints.h"

/* Compresses a block into destination[0..capacity), and returns the size, or 0 on failure. */
typedef size_t packed_compress(void *destination, size_t capacity, const void *source, size_t size);

/* Encodes a finished table into bytes of its own, for a section that will stand at `address`.
 * Without `compress`, the details are stored as they are. Returns NULL, or what went wrong (static
 * storage). The caller frees *bytes. Equal tables give equal bytes. */
const char *packed_write(const struct safepoints *table, uint64_t address,
                         packed_compress *compress, uint8_t **bytes, size_t *size);

/* The other direction: adds all that a packed table says to an empty table of safepoints, and
 * finishes it. False: the packed table is broken (table->error), or there is no memory
 * (table->no_memory). */
bool packed_unpack(const struct packed_table *packed, packed_decompress *decompress,
                   struct safepoints *table);

/* ---- Steps of packed_write ---- */

/* How the locations and lists of a table are numbered. */
struct packed_numbers {
  uint32_t *locations;  /* by number in safepoints.locations; UINT32_MAX: not used */
  uint32_t *lists;      /* by number in safepoints.lists; UINT32_MAX: not used by a live set */
  uint32_t *used_lists; /* the lists that are used, in the order of their new numbers */
  uint32_t location_count, list_count, class_count;
  struct bit_writer classes;
};
/* False without memory, or with more locations than numbers. */
bool packed_number_locations(const struct safepoints *table, struct packed_numbers *numbers);
void packed_numbers_free(struct packed_numbers *numbers);

/* All pairs of a table's live sets, sorted: a pair's number is its place. */
struct packed_pairs {
  uint64_t *keys;    /* what they are: packed_layouts.c */
  uint32_t *by_item; /* by place in safepoints.live.words: the number of the pair that is there */
  uint32_t count;
};
bool packed_number_pairs(const struct safepoints *table, const struct packed_numbers *numbers,
                         struct packed_pairs *pairs);
void packed_pairs_free(struct packed_pairs *pairs);

/* What a layout starts with. */
struct packed_layout {
  uint64_t frame; /* the number of a frame size */
  uint64_t sets, locations;
  uint64_t first; /* the lowest location's number; 0 if there is none */
  bool any_derived;
};

/* The records that a layout is for, in order. */
struct layout_records {
  const uint64_t *live; /* numbers in safepoints.live */
  uint64_t telling;     /* of these: one for each record, or one for all, or none */
  uint64_t count;
};

/* Appends one layout but for what it starts with, and fills in the latter, without the frame. */
struct layout_writer;
struct layout_writer *layout_writer_new(const struct safepoints *table,
                                        const struct packed_numbers *numbers,
                                        const struct packed_pairs *pairs);
void layout_writer_free(struct layout_writer *writer);
bool layout_write(struct layout_writer *writer, struct bit_writer *bits, struct packed_layout *head,
                  struct layout_records records);

/* A run, and the layouts of all runs and exceptions. */
struct packed_run {
  uint32_t first; /* record */
  uint32_t layout;
};
struct packed_layouts {
  struct bit_writer bits;
  uint64_t *starts; /* where each starts in bits, in bytes; and where the last one ends */
  uint32_t *uses;   /* how many runs have it */
  uint64_t *places; /* filled in: where each stands in the leaves, in bytes */
  uint32_t count, shared_count;
};
/* Fills in the header's fields of the leaves, and appends directory and leaves, for a text that
 * starts at `text_start`. False without memory. */
bool packed_write_leaves(const struct safepoints *table, uint64_t text_start,
                         struct packed_header *header, const struct packed_run *runs,
                         struct packed_layouts *layouts, struct bit_writer *directory,
                         struct bit_writer *leaves);

/* Fills in the header's fields of the details, and appends their parts. */
bool packed_write_details(const struct safepoints *table, packed_compress *compress,
                          struct packed_header *header, struct bit_writer *conventions,
                          struct bit_writer *block_ends, struct bit_writer *blocks);

/* Appends which records have the second convention, of a table that has some, and fills in the header's
 * field. False without memory, or if that is too much. */
bool packed_conventions_write(const bool *seconds, uint32_t records, struct packed_header *header,
                              struct bit_writer *out);

/* Appends the global roots, if there are any, for a table at `address`. False without memory. */
bool packed_roots_write(const struct safepoints *table, uint64_t address, struct bit_writer *out);

#endif
