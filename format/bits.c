/* bits.c - the growing side of bits.h: strings of bits for the encoder. */
#include "format/bits.h"

#include <stdlib.h>

void bit_writer_free(struct bit_writer *writer) {
  free(writer->bytes);
  *writer = (struct bit_writer){0};
}

/* Makes room for `width` more bits and a whole word behind them; new bytes are zero. */
static bool bit_writer_reserve(struct bit_writer *writer, unsigned width) {
  const uint64_t needed = (writer->size + width) / 8 + 2 * BITS_PADDING;
  if (writer->failed || needed <= writer->capacity)
    return !writer->failed;
  const uint64_t capacity = needed + needed / 2 + 64;
  uint8_t *bytes = realloc(writer->bytes, capacity);
  if (bytes == NULL) {
    writer->failed = true;
    return false;
  }
  memset(bytes + writer->capacity, 0, capacity - writer->capacity);
  writer->bytes = bytes;
  writer->capacity = capacity;
  return true;
}

void bit_writer_append(struct bit_writer *writer, uint64_t value, unsigned width) {
  if (width > 32) {
    bit_writer_append(writer, value & UINT32_MAX, 32);
    bit_writer_append(writer, value >> 32, width - 32);
    return;
  }
  if (bit_writer_reserve(writer, width))
    bit_writer_put(writer, value, width);
}

void bit_writer_gamma(struct bit_writer *writer, uint64_t value) {
  const unsigned zeros = 63 - (unsigned)__builtin_clzll(value + 1);
  bit_writer_put(writer, (uint64_t)1 << zeros, zeros + 1);
  bit_writer_put(writer, value + 1, zeros);
}

void bit_writer_rice(struct bit_writer *writer, uint64_t number, unsigned parameter) {
  const uint64_t unary = number >> parameter;
  if (unary >= BITS_RICE_UNARY_MAX) {
    bit_writer_put(writer, UINT32_MAX, BITS_RICE_UNARY_MAX);
    bit_writer_put(writer, number, 64);
    return;
  }
  bit_writer_put(writer, bits_low_mask((unsigned)unary), (unsigned)unary + 1);
  bit_writer_put(writer, number, parameter);
}

void bit_writer_small(struct bit_writer *writer, uint64_t number, unsigned parameter) {
  const uint64_t high = number >> parameter;
  if (high < BITS_SMALL_UNARY_MAX) {
    bit_writer_put(writer, bits_low_mask((unsigned)high), (unsigned)high + 1);
  } else {
    bit_writer_put(writer, UINT64_MAX, BITS_SMALL_UNARY_MAX);
    bit_writer_gamma(writer, high - BITS_SMALL_UNARY_MAX);
  }
  bit_writer_put(writer, number, parameter);
}

unsigned bits_best_parameter(const struct bits_widths *widths) {
  unsigned best = 0;
  for (unsigned parameter = 1; parameter < BITS_PARAMETERS; parameter++)
    if (widths->sums[parameter] < widths->sums[best])
      best = parameter;
  return best;
}

void bit_writer_align(struct bit_writer *writer) {
  if (writer->size % 8 != 0)
    bit_writer_put(writer, 0, 8 - writer->size % 8);
}

void bit_writer_copy(struct bit_writer *writer, const uint8_t *bytes, uint64_t from,
                     uint64_t count) {
  while (count > 0) {
    const unsigned width = count < 32 ? (unsigned)count : 32;
    bit_writer_put(writer, bits_at(bytes, from, width), width);
    from += width;
    count -= width;
  }
}
