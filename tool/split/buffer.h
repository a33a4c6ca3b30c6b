/* buffer.h - bytes that are put together one after another.
 *
 * A failed allocation is remembered: whoever fills a buffer asks once, at the end.
 */
#ifndef STACKPACK_SPLIT_BUFFER_H
#define STACKPACK_SPLIT_BUFFER_H

#include "format/array.h"

#include <stdint.h>
#include <string.h>

struct buffer {
  uint8_t *bytes; /* owned: free */
  size_t size, capacity;
  bool failed;
};

static inline void buffer_add(struct buffer *buffer, const void *bytes, size_t size) {
  buffer->failed = buffer->failed || !array_make_room((void **)&buffer->bytes, &buffer->capacity,
                                                      buffer->size + size, 1);
  if (buffer->failed || size == 0)
    return;
  memcpy(buffer->bytes + buffer->size, bytes, size);
  buffer->size += size;
}

/* Adds zeros up to a multiple of `alignment`, a power of two up to 64. */
static inline void buffer_align(struct buffer *buffer, size_t alignment) {
  static const uint8_t zeros[64];
  buffer_add(buffer, zeros, -buffer->size & (alignment - 1));
}

#endif
