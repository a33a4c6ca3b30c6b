/* fuzz_kept.c - attacks `stackpack unpack` with a made-up file of kept stack maps.
 *
 * The input is such a file, and after it the packed program, whose size the header says. The hash of
 * the packed program would stop all but the right one, so it is made to fit. Findings: a read or write
 * outside the bytes, a refusal without a reason, and an original of another size than the
 * header's.
 */
#include "fuzz.h"

#include "tool/rewrite/kept.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct kept_header header = {0};
  struct problem problem = {0};
  struct kept_bytes original;
  size_t packed_size = 0;
  if (size >= sizeof header) {
    memcpy(&header, data, sizeof header);
    if (header.packed_size <= size - sizeof header)
      packed_size = (size_t)header.packed_size;
  }
  const size_t file_size = size - packed_size;
  uint8_t *file = exact_block(data, file_size, file_size);
  uint8_t *packed = exact_block(data + file_size, packed_size, packed_size);
  if (size >= sizeof header) {
    header.packed_hash = XXH3_64bits(packed, packed_size);
    memcpy(file, &header, sizeof header);
  }
  if (!kept_read((struct kept_bytes){file, file_size}, (struct kept_bytes){packed, packed_size},
                 &original, &problem)) {
    if (problem.text[0] == 0)
      finding("a failure says what is wrong", NULL);
  } else {
    if (original.size != header.original_size)
      finding("the original has the size that the header says", NULL);
    free((void *)original.bytes);
  }
  free(packed);
  free(file);
  return 0;
}
