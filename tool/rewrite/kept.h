/* kept.h - the file of `pack --keep-raw`: what packing takes out of a program, and how to put it
 * back.
 *
 * Whoever packs a release may want the original again: to compare, to look at with LLVM's own
 * tools, or to stop using stackpack. The raw section is most of what is needed, but not all:
 * relocations were taken out, program headers and sections have moved. So the file holds two
 * Zstandard frames (RFC 8878). The first is the raw section. The second is the original file,
 * compressed with the packed file and the raw section before it as a prefix, as `zstd --patch-from`
 * does: all that the two have in common is a reference into them, so that a few KB say the rest.
 *
 *   u8[8]  magic             "STPKRAW" and 0
 *   u32    version           1
 *   u32    header size       80
 *   u64    checksum          XXH3 of all that follows it in the file
 *   u64    original size     u64 XXH3 of the original file
 *   u64    packed size       u64 XXH3 of the packed file
 *   u64    table             the packed table's checksums, which tell programs apart
 *   u64    raw size
 *   u64    first frame size  the second frame is the rest of the file
 *
 * All numbers are little-endian. A packed file of other bytes is refused: it is another program's,
 * or was changed (stripped, say) after it was packed, and then so is the prefix.
 */
#ifndef STACKPACK_KEPT_H
#define STACKPACK_KEPT_H

#include "tool/image/image.h"
#include "tool/rewrite/rewrite.h"

enum { KEPT_VERSION = 1 };

struct kept_header {
  char magic[8];
  uint32_t version, header_size;
  uint64_t checksum;
  uint64_t original_size, original_hash;
  uint64_t packed_size, packed_hash;
  uint64_t table;
  uint64_t raw_size;
  uint64_t raw_frame_size;
};
_Static_assert(sizeof(struct kept_header) == 80, "as it stands in the file");

/* A kept file whose header has been checked. */
struct kept {
  struct kept_header header;
  const uint8_t *raw_frame, *original_frame; /* in the file's bytes */
  size_t original_frame_size;
};

/* Bytes that a function makes: free(). */
struct kept_bytes {
  uint8_t *bytes;
  size_t size;
};

/* Makes the file for an image and what it was rewritten to, and tries whether the image comes back.
 * `table` is the packed table's packed_identity. */
bool kept_write(const struct image *original, const struct image_section *raw,
                const struct rewritten *packed, uint64_t table, struct kept_bytes *kept,
                struct problem *problem);

/* Opens bytes that stay where they are. Nothing is to be closed. */
bool kept_open(struct kept *kept, const uint8_t *bytes, size_t size, struct problem *problem);

/* Whether this packed file is the one that the kept file goes with; `table` as above. */
bool kept_check_packed(const struct kept *kept, const uint8_t *packed, size_t size, uint64_t table,
                       struct problem *problem);

/* Gives back the original file. Needs kept_check_packed. */
bool kept_original(const struct kept *kept, const uint8_t *packed, struct kept_bytes *original,
                   struct problem *problem);

/* The checksum that belongs into the header of a kept file, which has room for a header. */
uint64_t kept_checksum(const uint8_t *bytes, size_t size);

#endif
