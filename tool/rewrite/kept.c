/* kept.c - see kept.h. */
#include "tool/rewrite/kept.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static const char magic[8] = "STPKRAW";

enum {
  RAW_LEVEL = 15,     /* 19 takes twelve times as long for 5 % */
  ORIGINAL_LEVEL = 3, /* what is left to compress is little */
  BLOCK_SIZE_MAX = 1 << 17,
  BLOCK_SIZE_MIN = 4, /* compressed: a header of three bytes, and the byte that is repeated */
};

static bool no_memory(struct problem *problem) { return problem_set(problem, "not enough memory"); }

uint64_t kept_checksum(const uint8_t *bytes, size_t size) {
  const size_t start = offsetof(struct kept_header, checksum) + sizeof(uint64_t);
  return XXH3_64bits(bytes + start, size - start);
}

/* The packed file and the raw section, one behind the other, with room for the latter. */
static bool make_prefix(struct kept_bytes *prefix, const uint8_t *packed, size_t packed_size,
                        size_t raw_size, struct problem *problem) {
  prefix->size = packed_size + raw_size;
  prefix->bytes = raw_size > SIZE_MAX - packed_size ? NULL : malloc(prefix->size + 1);
  if (prefix->bytes == NULL)
    return no_memory(problem);
  memcpy(prefix->bytes, packed, packed_size);
  return true;
}

/* ---- Writing ---- */

/* The window must reach from the original's end back to the prefix's start. */
static int window_for(uint64_t size) {
  const ZSTD_bounds bounds = ZSTD_cParam_getBounds(ZSTD_c_windowLog);
  int bits = bounds.lowerBound;
  while (bits < bounds.upperBound && (uint64_t)1 << bits < size)
    bits++;
  return bits;
}

static size_t compress(uint8_t *frame, size_t capacity, const uint8_t *bytes, size_t size,
                       const struct kept_bytes *prefix) {
  ZSTD_CCtx *context = ZSTD_createCCtx();
  if (context == NULL)
    return 0;
  ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel,
                         prefix == NULL ? RAW_LEVEL : ORIGINAL_LEVEL);
  if (prefix != NULL) {
    ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, window_for(size + prefix->size));
    ZSTD_CCtx_setParameter(context, ZSTD_c_enableLongDistanceMatching, 1);
    ZSTD_CCtx_refPrefix(context, prefix->bytes, prefix->size);
  }
  const size_t written = ZSTD_compress2(context, frame, capacity, bytes, size);
  ZSTD_freeCCtx(context);
  return ZSTD_isError(written) ? 0 : written;
}

static bool write_frames(const struct image *original, const struct kept_bytes *prefix,
                         struct kept_header *header, struct kept_bytes *kept,
                         struct problem *problem) {
  const size_t room = ZSTD_compressBound(header->raw_size) + ZSTD_compressBound(original->size);
  kept->bytes = malloc(sizeof *header + room);
  if (kept->bytes == NULL)
    return no_memory(problem);
  uint8_t *frame = kept->bytes + sizeof *header;
  const size_t raw =
      compress(frame, room, prefix->bytes + header->packed_size, header->raw_size, NULL);
  const size_t rest = compress(frame + raw, room - raw, original->bytes, original->size, prefix);
  if (raw == 0 || rest == 0)
    return no_memory(problem);
  header->raw_frame_size = raw;
  kept->size = sizeof *header + raw + rest;
  memcpy(kept->bytes, header, sizeof *header);
  header->checksum = kept_checksum(kept->bytes, kept->size);
  memcpy(kept->bytes, header, sizeof *header);
  return true;
}

static bool check_written(const struct kept_bytes *bytes, const struct image *original,
                          const struct rewritten *packed, uint64_t table, struct problem *problem) {
  struct kept kept;
  struct kept_bytes again;
  if (!kept_open(&kept, bytes->bytes, bytes->size, problem) ||
      !kept_check_packed(&kept, packed->bytes, packed->size, table, problem) ||
      !kept_original(&kept, packed->bytes, &again, problem))
    return false;
  const bool same =
      again.size == original->size && memcmp(again.bytes, original->bytes, again.size) == 0;
  free(again.bytes);
  return same || problem_set(problem, "not packed, as it couldn't be unpacked again");
}

bool kept_write(const struct image *original, const struct image_section *raw,
                const struct rewritten *packed, uint64_t table, struct kept_bytes *kept,
                struct problem *problem) {
  struct kept_header header = {
      .version = KEPT_VERSION,
      .header_size = sizeof header,
      .original_size = original->size,
      .original_hash = XXH3_64bits(original->bytes, original->size),
      .packed_size = packed->size,
      .packed_hash = XXH3_64bits(packed->bytes, packed->size),
      .table = table,
      .raw_size = raw->header.sh_size,
  };
  struct kept_bytes prefix;
  memcpy(header.magic, magic, sizeof magic);
  *kept = (struct kept_bytes){0};
  if (!make_prefix(&prefix, packed->bytes, packed->size, header.raw_size, problem))
    return false;
  memcpy(prefix.bytes + packed->size, original->bytes + raw->header.sh_offset, header.raw_size);
  const bool ok = write_frames(original, &prefix, &header, kept, problem) &&
                  check_written(kept, original, packed, table, problem);
  free(prefix.bytes);
  if (!ok)
    free(kept->bytes);
  return ok;
}

/* ---- Reading ---- */

static bool broken(struct problem *problem, const char *what) {
  return problem_set(problem, "a broken file of kept stack maps: %s", what);
}

/* Whether a frame says that it decodes to so many bytes, and could: memory is asked for only then.
 * (RFC 8878, "Blocks") */
static bool is_frame_of(const uint8_t *frame, size_t size, uint64_t decoded) {
  return ZSTD_getFrameContentSize(frame, size) == decoded &&
         decoded / BLOCK_SIZE_MAX <= size / BLOCK_SIZE_MIN;
}

bool kept_open(struct kept *kept, const uint8_t *bytes, size_t size, struct problem *problem) {
  struct kept_header *header = &kept->header;
  if (size < sizeof *header || memcmp(bytes, magic, sizeof magic) != 0)
    return problem_set(problem, "not a file of kept stack maps");
  memcpy(header, bytes, sizeof *header);
  if (header->version != KEPT_VERSION || header->header_size != sizeof *header)
    return problem_set(problem, "kept stack maps by another version of stackpack");
  if (header->checksum != kept_checksum(bytes, size))
    return broken(problem, "its checksum differs");
  if (header->raw_frame_size > size - sizeof *header)
    return broken(problem, "a frame beyond its end");
  kept->raw_frame = bytes + sizeof *header;
  kept->original_frame = kept->raw_frame + header->raw_frame_size;
  kept->original_frame_size = size - sizeof *header - header->raw_frame_size;
  if (!is_frame_of(kept->raw_frame, header->raw_frame_size, header->raw_size) ||
      !is_frame_of(kept->original_frame, kept->original_frame_size, header->original_size))
    return broken(problem, "a size that can't be");
  return true;
}

bool kept_check_packed(const struct kept *kept, const uint8_t *packed, size_t size, uint64_t table,
                       struct problem *problem) {
  if (kept->header.table != table)
    return problem_set(problem, "the stack maps of another program");
  if (kept->header.packed_size != size || kept->header.packed_hash != XXH3_64bits(packed, size))
    return problem_set(problem, "the packed program isn't as it was when they were kept");
  return true;
}

static bool decompress(uint8_t *bytes, size_t size, const uint8_t *frame, size_t frame_size,
                       const struct kept_bytes *prefix) {
  ZSTD_DCtx *context = ZSTD_createDCtx();
  if (context == NULL)
    return false;
  if (prefix != NULL)
    ZSTD_DCtx_refPrefix(context, prefix->bytes, prefix->size);
  const size_t decoded = ZSTD_decompressDCtx(context, bytes, size, frame, frame_size);
  ZSTD_freeDCtx(context);
  return decoded == size;
}

static bool read_original(const struct kept *kept, struct kept_bytes *prefix,
                          const struct kept_bytes *original, struct problem *problem) {
  const struct kept_header *header = &kept->header;
  if (!decompress(prefix->bytes + header->packed_size, header->raw_size, kept->raw_frame,
                  header->raw_frame_size, NULL))
    return broken(problem, "its stack maps can't be decompressed");
  if (!decompress(original->bytes, original->size, kept->original_frame, kept->original_frame_size,
                  prefix))
    return broken(problem, "the original file can't be decompressed");
  return XXH3_64bits(original->bytes, original->size) == header->original_hash ||
         broken(problem, "the original file comes out wrong");
}

bool kept_original(const struct kept *kept, const uint8_t *packed, struct kept_bytes *original,
                   struct problem *problem) {
  const struct kept_header *header = &kept->header;
  struct kept_bytes prefix;
  if (!make_prefix(&prefix, packed, header->packed_size, header->raw_size, problem))
    return false;
  original->size = header->original_size;
  original->bytes = malloc(original->size + 1);
  const bool ok = original->bytes == NULL ? no_memory(problem)
                                          : read_original(kept, &prefix, original, problem);
  if (!ok)
    free(original->bytes);
  free(prefix.bytes);
  return ok;
}
