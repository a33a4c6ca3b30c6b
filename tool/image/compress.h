/* compress.h - how blocks of details are compressed. */
#ifndef STACKPACK_COMPRESS_H
#define STACKPACK_COMPRESS_H

#include <stddef.h>
#include <zstd.h>

/* ZSTD_compress, with the level that is chosen once for all: a file is packed once and read for
 * years. */
static inline size_t compress_block(void *destination, size_t capacity, const void *source,
                                    size_t size) {
  const size_t result = ZSTD_compress(destination, capacity, source, size, 19);
  return ZSTD_isError(result) ? 0 : result;
}

#endif
