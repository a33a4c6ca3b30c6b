/* fuzz_kept.c - attacks `stackpack unpack` with a file of kept stack maps that `pack` didn't write.
 *
 * The input is such a file, and behind it the packed program, whose size the header says. Checksums
 * would stop all but the one right file, so they are made to fit. Findings: a read or write outside
 * the bytes, a refusal that doesn't say why, and an original of another size than the header's.
 */
#include "fuzz.h"

#include "tool/rewrite/kept.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static void unpack(const uint8_t *file, size_t size, const uint8_t *packed, size_t packed_size) {
  struct problem problem = {0};
  struct kept_bytes original;
  struct kept kept;
  if (!kept_open(&kept, file, size, &problem) ||
      !kept_check_packed(&kept, packed, packed_size, kept.header.table, &problem) ||
      !kept_original(&kept, packed, &original, &problem)) {
    if (problem.text[0] == 0)
      finding("a failure says what is wrong", NULL);
    return;
  }
  if (original.size != kept.header.original_size)
    finding("the original has the size that the header says", NULL);
  free(original.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct kept_header header;
  size_t packed_size = 0;
  if (size >= sizeof header) {
    memcpy(&header, data, sizeof header);
    if (header.packed_size <= size - sizeof header)
      packed_size = (size_t)header.packed_size;
  }
  uint8_t *file = exact_block(data, size - packed_size, size - packed_size);
  uint8_t *packed = exact_block(data + size - packed_size, packed_size, packed_size);
  if (size >= sizeof header) {
    header.packed_hash = XXH3_64bits(packed, packed_size);
    memcpy(file, &header, sizeof header);
    header.checksum = kept_checksum(file, size - packed_size);
    memcpy(file, &header, sizeof header);
  }
  unpack(file, size - packed_size, packed, packed_size);
  free(packed);
  free(file);
  return 0;
}
