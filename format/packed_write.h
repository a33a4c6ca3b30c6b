/* packed_write.h - makes a packed table from a table of safepoints, and a table of safepoints
 * from a packed one. */
#ifndef STACKPACK_PACKED_WRITE_H
#define STACKPACK_PACKED_WRITE_H

#include "format/packed_details.h"
#include "format/safepoints.h"

/* Compresses a block into destination[0..capacity), and returns the size, or 0 on failure. */
typedef size_t packed_compress(void *destination, size_t capacity, const void *source, size_t size);

/* Encodes a finished table into bytes of its own, for a section at `address`. `compress` may be
 * NULL: the details are stored uncompressed then. Returns NULL, or an error's text (static
 * storage). The caller frees *bytes. Equal tables give equal bytes. */
const char *packed_write(const struct safepoints *table, uint64_t address,
                         packed_compress *compress, uint8_t **bytes, size_t *size);

/* The same for a table that stays in memory: in a fraction of the time, and somewhat larger. */
const char *packed_write_quickly(const struct safepoints *table, uint64_t address, uint8_t **bytes,
                                 size_t *size);

/* Adds all records of a packed table to an empty table of safepoints, and finishes it. False: the
 * packed table is broken (table->error), or memory has run out (table->no_memory). */
bool packed_unpack(const struct packed_table *packed, stackpack_decompress *decompress,
                   struct safepoints *table);

#endif
