/* kept.h - the file of `pack --keep-raw`, for `unpack` to restore the original program.
 *
 * The original and the packed program have nearly everything in common but the raw stack maps. So
 * the original is compressed with the packed program as its prefix, as `zstd --patch-from` does:
 * all that the two share is a reference into the packed program, and the rest takes a few KB. For
 * instance, CPython's 11.6 MB, with 5.6 MB of stack maps, are 230 KB here.
 *
 *   u8[8]  magic          "STPKRAW" and 0
 *   u32    version        2
 *   u32    header size    48
 *   u64    original size  u64 XXH3 of the original program
 *   u64    packed size    u64 XXH3 of the packed program
 *   a Zstandard frame (RFC 8878)
 *
 * All numbers are little-endian. A packed program of other bytes is refused: it is another one, or
 * was changed (stripped, say) after it was packed, and then so is the prefix.
 */
#ifndef STACKPACK_KEPT_H
#define STACKPACK_KEPT_H

#include "tool/image/problem.h"

#include <stddef.h>
#include <stdint.h>

struct kept_header {
  char magic[8];
  uint32_t version, header_size;
  uint64_t original_size, original_hash;
  uint64_t packed_size, packed_hash;
};
_Static_assert(sizeof(struct kept_header) == 48, "as it stands in the file");

struct kept_bytes {
  const uint8_t *bytes;
  size_t size;
};

/* Makes the file, and tries whether the original comes back. kept->bytes is to be freed. */
bool kept_write(struct kept_bytes original, struct kept_bytes packed, struct kept_bytes *kept,
                struct problem *problem);

/* Gives back the original; its bytes are to be freed. Asks for as much memory as the frame can fill
 * at most. */
bool kept_read(struct kept_bytes kept, struct kept_bytes packed, struct kept_bytes *original,
               struct problem *problem);

#endif
