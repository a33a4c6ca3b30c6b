/* nearest.c - the record at or after an address, for runtimes that place their records themselves:
 * stack maps without calls. */
#include "runtime/internal.h"

enum stackpack_answer stackpack_table_from(const struct stackpack_table *table, uint64_t address,
                                           struct stackpack_record *record) {
  uint32_t low = 0, high = const_table_of(table)->record_count;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (stackpack_table_record(table, middle, record) != STACKPACK_FOUND)
      return STACKPACK_CORRUPT;
    if (record->address < address)
      low = middle + 1;
    else
      high = middle;
  }
  return low < const_table_of(table)->record_count ? stackpack_table_record(table, low, record)
                                                   : STACKPACK_NOT_MANAGED;
}
