/* bits.c - the growing side of bits.h: strings of bits for the encoder. */
#include "format/bits.h"

#include <assert.h>
#include <stdlib.h>

void bit_writer_free(struct bit_writer *writer) {
  free(writer->bytes);
  *writer = (struct bit_writer){0};
}

static __attribute__((noinline)) bool bit_writer_grow(struct bit_writer *writer, uint64_t needed) {
  const uint64_t capacity = needed + needed / 2 + 64;
  uint8_t *grown = realloc(writer->bytes, capacity);
  if (grown == NULL) {
    writer->failed = true;
    return false;
  }
  memset(grown + writer->capacity, 0, capacity - writer->capacity);
  writer->bytes = grown;
  writer->capacity = capacity;
  return true;
}

/* Makes room for `bytes` more bytes and the padding after them; new bytes are zero. */
static bool bit_writer_reserve(struct bit_writer *writer, uint64_t bytes) {
  const uint64_t needed = writer->size / 8 + bytes + 2 * BITS_PADDING;
  if (writer->failed || needed <= writer->capacity)
    return !writer->failed;
  return bit_writer_grow(writer, needed);
}

void bit_writer_put(struct bit_writer *writer, uint64_t value, unsigned width) {
  assert(width <= 64);
  if (width > 56) {
    bit_writer_put(writer, value & UINT32_MAX, 32);
    bit_writer_put(writer, value >> 32, width - 32);
    return;
  }
  if (!bit_writer_reserve(writer, sizeof value))
    return;
  uint8_t *at = writer->bytes + writer->size / 8;
  assert(bits_load64(at) >> writer->size % 8 == 0);
  const uint64_t word = bits_load64(at) | (value & bits_low_mask(width)) << writer->size % 8;
  memcpy(at, &word, sizeof word);
  writer->size += width;
}

void bit_writer_varint(struct bit_writer *writer, uint64_t number) {
  assert(writer->size % 8 == 0);
  for (; number >= 0x80; number >>= 7)
    bit_writer_put(writer, number | 0x80, 8);
  bit_writer_put(writer, number, 8);
}

void bit_writer_align_before(struct bit_writer *writer, uint64_t size, unsigned unit) {
  assert(unit == 8 || unit == 16 || unit == 32);
  bit_writer_put(writer, 0, (unsigned)(-(writer->size + size) % unit));
}

void bit_writer_align(struct bit_writer *writer, unsigned unit) {
  bit_writer_align_before(writer, 0, unit);
}

void bit_writer_bytes(struct bit_writer *writer, const void *bytes, uint64_t size) {
  assert(writer->size % 8 == 0);
  if (size == 0 || !bit_writer_reserve(writer, size))
    return;
  memcpy(writer->bytes + writer->size / 8, bytes, size);
  writer->size += size * 8;
}

void bit_writer_append(struct bit_writer *writer, const struct bit_writer *other) {
  assert(other != writer);
  writer->failed |= other->failed;
  bit_writer_bytes(writer, other->bytes, bits_to_bytes(other->size));
}
