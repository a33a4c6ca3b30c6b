/* fuzz_v3.c - attacks the reader of LLVM's stack maps with made-up sections.
 *
 * The input is a section `.llvm_stackmaps`. It is read under each of the three rules for
 * statepoints. Findings: a read outside the section, an error without a message, and a section
 * that is read, but comes out of the packed table as another one.
 */
#include "fuzz.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  uint8_t *section = exact_block(data, size, size);
  check_round_trip(section, size, STATEPOINTS_AUTO);
  check_round_trip(section, size, STATEPOINTS_ALL);
  check_round_trip(section, size, STATEPOINTS_NONE);
  free(section);
  return 0;
}
