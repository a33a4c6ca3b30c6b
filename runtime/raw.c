/* raw.c - serves a raw section as if it had been packed.
 *
 * A program that wasn't packed gives the same answers through the same functions: its stack maps
 * are read once and encoded, as `stackpack pack` would, into memory. That costs what every parser
 * of
 * `.llvm_stackmaps` costs, at start-up; and there is one look-up to test, not two.
 */
#include "../format/eh_frame.h"
#include "../format/packed_write.h"
#include "internal.h"

#include <stdlib.h>

static enum stackpack_error encode(const struct safepoints *safepoints,
                                   struct stackpack_table *table, void **memory) {
  uint8_t *bytes;
  size_t size;
  if (packed_write(safepoints, 0, NULL, &bytes, &size) != NULL)
    return STACKPACK_NO_MEMORY;
  const enum packed_error error = packed_open(table_of(table), bytes, size, 0);
  if (error != PACKED_OK) {
    free(bytes);
    return table_error(error);
  }
  *memory = bytes;
  return STACKPACK_OK;
}

enum stackpack_error raw_open(struct stackpack_table *table, const uint8_t *bytes, size_t size,
                              struct code_ranges *unwound, struct code_ranges *named,
                              void **memory) {
  struct safepoints safepoints = {0};
  enum stackpack_error error = STACKPACK_OK;
  if (safepoints_add_v3(&safepoints, bytes, size, STATEPOINTS_AUTO) &&
      safepoints_finish(&safepoints)) {
    code_ranges_sort(unwound);
    code_ranges_sort(named);
    safepoints_set_ends(&safepoints, unwound->items, unwound->count);
    safepoints_set_ends(&safepoints, named->items, named->count);
    error = encode(&safepoints, table, memory);
  } else {
    error = safepoints.no_memory ? STACKPACK_NO_MEMORY : STACKPACK_BAD_STACK_MAP;
  }
  safepoints_free(&safepoints);
  return error;
}
