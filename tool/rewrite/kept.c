/* kept.c - see kept.h. */
#include "tool/rewrite/kept.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static const char magic[8] = "STPKRAW";

enum {
  VERSION = 2,
  LEVEL = 9,               /* 19 takes 25 times as long for 19 % */
  BLOCK_DECODED = 1 << 17, /* the most that a block decodes to (RFC 8878, "Blocks") */
  BLOCK_LEAST = 4,         /* a header of three bytes, and the byte that is repeated */
};

static uint64_t hash(struct kept_bytes file) { return XXH3_64bits(file.bytes, file.size); }

static bool broken(struct problem *problem, const char *fault) {
  return problem_set(problem, "a broken file of kept stack maps: %s", fault);
}

/* ---- Writing ---- */

/* The window must reach from the original's end back to the prefix's start, as far as Zstandard has
 * windows: in larger files the parts beyond are compressed without the prefix. */
static int window_for(uint64_t size) {
  const ZSTD_bounds bounds = ZSTD_cParam_getBounds(ZSTD_c_windowLog);
  int bits = bounds.lowerBound;
  while (bits < bounds.upperBound && (uint64_t)1 << bits < size)
    bits++;
  return bits;
}

/* Returns the size of the frame; 0 without memory. */
static size_t compress(uint8_t *frame, size_t capacity, struct kept_bytes original,
                       struct kept_bytes prefix) {
  ZSTD_CCtx *context = ZSTD_createCCtx();
  if (context == NULL)
    return 0;
  ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, LEVEL);
  ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, window_for(original.size + prefix.size));
  ZSTD_CCtx_setParameter(context, ZSTD_c_enableLongDistanceMatching, 1);
  ZSTD_CCtx_refPrefix(context, prefix.bytes, prefix.size);
  const size_t written = ZSTD_compress2(context, frame, capacity, original.bytes, original.size);
  ZSTD_freeCCtx(context);
  return ZSTD_isError(written) ? 0 : written;
}

static bool check_written(struct kept_bytes kept, struct kept_bytes packed,
                          struct kept_bytes original, struct problem *problem) {
  struct kept_bytes again;
  if (!kept_read(kept, packed, &again, problem))
    return false;
  const bool same =
      again.size == original.size && memcmp(again.bytes, original.bytes, again.size) == 0;
  free((void *)again.bytes);
  return same || problem_set(problem, "not packed, as it couldn't be unpacked again");
}

bool kept_write(struct kept_bytes original, struct kept_bytes packed, struct kept_bytes *kept,
                struct problem *problem) {
  struct kept_header header = {
      .version = VERSION,
      .header_size = sizeof header,
      .original_size = original.size,
      .original_hash = hash(original),
      .packed_size = packed.size,
      .packed_hash = hash(packed),
  };
  const size_t room = ZSTD_compressBound(original.size);
  uint8_t *bytes = malloc(sizeof header + room);
  const size_t frame = compress(bytes + sizeof header, room, original, packed);
  memcpy(header.magic, magic, sizeof magic);
  memcpy(bytes, &header, sizeof header);
  kept->bytes = bytes;
  kept->size = sizeof header + frame;
  if (frame == 0)
    problem_set(problem, "not enough memory");
  else if (check_written(*kept, packed, original, problem))
    return true;
  free(bytes);
  return false;
}

/* ---- Reading ---- */

static bool check_header(const struct kept_header *header, struct kept_bytes packed,
                         struct problem *problem) {
  if (header->version != VERSION || header->header_size != sizeof *header)
    return problem_set(problem, "kept stack maps by another version of stackpack");
  return (header->packed_size == packed.size && header->packed_hash == hash(packed)) ||
         problem_set(problem, "kept of another program, or of this one before it was changed");
}

static bool decompress(uint8_t *bytes, size_t size, struct kept_bytes frame,
                       struct kept_bytes prefix) {
  ZSTD_DCtx *context = ZSTD_createDCtx();
  if (context == NULL)
    return false;
  ZSTD_DCtx_refPrefix(context, prefix.bytes, prefix.size);
  const size_t decoded = ZSTD_decompressDCtx(context, bytes, size, frame.bytes, frame.size);
  ZSTD_freeDCtx(context);
  return decoded == size;
}

bool kept_read(struct kept_bytes kept, struct kept_bytes packed, struct kept_bytes *original,
               struct problem *problem) {
  struct kept_header header;
  if (kept.size < sizeof header || memcmp(kept.bytes, magic, sizeof magic) != 0)
    return problem_set(problem, "not a file of kept stack maps");
  memcpy(&header, kept.bytes, sizeof header);
  if (!check_header(&header, packed, problem))
    return false;
  const struct kept_bytes frame = {kept.bytes + sizeof header, kept.size - sizeof header};
  const uint64_t size = header.original_size;
  if (ZSTD_getFrameContentSize(frame.bytes, frame.size) != size ||
      size / BLOCK_DECODED > frame.size / BLOCK_LEAST)
    return broken(problem, "a size that can't be");
  uint8_t *bytes = malloc(size + 1);
  *original = (struct kept_bytes){bytes, size};
  if (decompress(bytes, size, frame, packed) && hash(*original) == header.original_hash)
    return true;
  free(bytes);
  return broken(problem, "the original program can't be made of it");
}
