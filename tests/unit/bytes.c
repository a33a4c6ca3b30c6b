/* bytes.c - see bytes.h. */
#include "bytes.h"

#include <stdlib.h>
#include <string.h>

void *test_reallocate(void *memory, size_t size) {
  void *larger = realloc(memory, size > 0 ? size : 1);
  if (larger == NULL)
    abort();
  return larger;
}

void *test_allocate(size_t size) { return test_reallocate(NULL, size); }

void bytes_free(struct bytes *bytes) {
  free(bytes->data);
  *bytes = (struct bytes){0};
}

static uint8_t *extend(struct bytes *bytes, size_t size) {
  if (bytes->size + size > bytes->capacity) {
    bytes->capacity = (bytes->size + size) * 2;
    bytes->data = test_reallocate(bytes->data, bytes->capacity);
  }
  bytes->size += size;
  return bytes->data + bytes->size - size;
}

void bytes_add(struct bytes *bytes, const void *data, size_t size) {
  if (size > 0)
    memcpy(extend(bytes, size), data, size);
}

void bytes_zeros(struct bytes *bytes, size_t count) {
  if (count > 0)
    memset(extend(bytes, count), 0, count);
}

void bytes_align(struct bytes *bytes, size_t alignment) {
  bytes_zeros(bytes, (alignment - bytes->size % alignment) % alignment);
}

static void add_number(struct bytes *bytes, uint64_t value, unsigned size) {
  uint8_t *place = extend(bytes, size);
  for (unsigned i = 0; i < size; i++)
    place[i] = (uint8_t)(value >> (8 * i));
}

void bytes_u8(struct bytes *bytes, uint8_t value) { add_number(bytes, value, 1); }
void bytes_u16(struct bytes *bytes, uint16_t value) { add_number(bytes, value, 2); }
void bytes_u32(struct bytes *bytes, uint32_t value) { add_number(bytes, value, 4); }
void bytes_u64(struct bytes *bytes, uint64_t value) { add_number(bytes, value, 8); }

void bytes_set_u32(struct bytes *bytes, size_t position, uint32_t value) {
  for (unsigned i = 0; i < 4; i++)
    bytes->data[position + i] = (uint8_t)(value >> (8 * i));
}

uint8_t *bytes_exact(const void *data, size_t size) { return bytes_padded(data, size, 0); }

uint8_t *bytes_padded(const void *data, size_t size, size_t padding) {
  uint8_t *copy = test_allocate(size + padding);
  if (size > 0)
    memcpy(copy, data, size);
  if (padding > 0)
    memset(copy + size, 0xff, padding);
  return copy;
}
