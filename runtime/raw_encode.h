/* raw_encode.h - a table in memory from raw stack maps that were read: the end of each way to read
 * them. */
#ifndef STACKPACK_RAW_ENCODE_H
#define STACKPACK_RAW_ENCODE_H

#include "format/packed_write.h"
#include "runtime/internal.h"

#include <stdlib.h>

/* *memory is to be freed. */
static inline enum stackpack_error raw_encode(const struct safepoints *safepoints, uint64_t bias,
                                              struct stackpack_table *table, void **memory) {
  uint8_t *bytes;
  size_t size;
  if (packed_write_quickly(safepoints, 0, &bytes, &size) != NULL)
    return STACKPACK_NO_MEMORY;
  const enum stackpack_error error = packed_open(table_of(table), bytes, size, bias);
  if (error != STACKPACK_OK) {
    free(bytes);
    return error;
  }
  table_of(table)->is_raw = true;
  *memory = bytes;
  return STACKPACK_OK;
}

#endif
