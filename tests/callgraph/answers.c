/* Prints how a file's stack maps answer for the addresses (hexadecimal, one a line) that come on stdin: the
 * answers to a collector that met them. */
#include <inttypes.h>
#include <stdio.h>

#include "stackpack.h"

int main(int count, char **arguments) {
  static const char *const texts[] = {
      [STACKPACK_FOUND] = "found",
      [STACKPACK_NOT_MANAGED] = "not managed",
      [STACKPACK_NOT_SAFEPOINT] = "not a safepoint",
      [STACKPACK_CORRUPT] = "corrupt",
  };
  struct stackpack_file file;
  uint64_t address;
  if (count != 2 || stackpack_file_open(&file, arguments[1]) != STACKPACK_OK)
    return 1;
  while (scanf("%" SCNx64, &address) == 1) {
    struct stackpack_record record;
    puts(texts[stackpack_table_find(&file.table, address, &record)]);
  }
  stackpack_file_close(&file);
  return 0;
}
