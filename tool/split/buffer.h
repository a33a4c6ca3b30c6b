/* buffer.h - bytes that are put together one after another. */
#ifndef STACKPACK_SPLIT_BUFFER_H
#define STACKPACK_SPLIT_BUFFER_H

#include "format/array.h"

#include <stdint.h>
#include <string.h>

struct buffer {
  uint8_t *bytes; /* owned: free; NULL: there are none */
  size_t size, capacity;
};

static inline void buffer_add(struct buffer *buffer, const void *bytes, size_t size) {
  array_make_room((void **)&buffer->bytes, &buffer->capacity, buffer->size + size, 1);
  if (size > 0)
    memcpy(buffer->bytes + buffer->size, bytes, size);
  buffer->size += size;
}

/* Adds zeros up to a multiple of `alignment`, a power of two up to 64. */
static inline void buffer_align(struct buffer *buffer, size_t alignment) {
  static const uint8_t zeros[64];
  assert(alignment > 0 && alignment <= sizeof zeros && (alignment & (alignment - 1)) == 0);
  buffer_add(buffer, zeros, -buffer->size & (alignment - 1));
}

#endif
