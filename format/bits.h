/* bits.h - numbers of any width in a string of bytes.
 *
 * Bit n of a string is bit n % 8 of its byte n / 8, and a field of w bits that starts at bit n has
 * its lowest bit there: the order in which a little-endian machine sees its own words. So a read is
 * one unaligned load, a shift and a mask, wherever the field lies; the price is that a load may reach
 * up to 8 bytes past the field, so every packed table ends in 8 bytes of padding (BITS_PADDING).
 */
#ifndef STACKPACK_BITS_H
#define STACKPACK_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "LLVM's stack maps and this table are read in place, in the little-endian order they have"
#endif

enum { BITS_PADDING = 8 };

static inline uint64_t bits_low_mask(unsigned width) {
  return width >= 64 ? UINT64_MAX : ((uint64_t)1 << width) - 1;
}

/* The number of bits that hold every number below `count`: 0 for counts of 0 and 1. */
static inline unsigned bits_for_count(uint64_t count) {
  return count <= 1 ? 0 : 64 - (unsigned)__builtin_clzll(count - 1);
}

/* The bytes that `bits` bits take. */
static inline uint64_t bits_to_bytes(uint64_t bits) { return bits / 8 + (bits % 8 != 0); }

static inline uint64_t bits_load64(const uint8_t *bytes) {
  uint64_t word;
  memcpy(&word, bytes, sizeof word);
  return word;
}

static inline uint32_t bits_load32(const uint8_t *bytes) {
  uint32_t word;
  memcpy(&word, bytes, sizeof word);
  return word;
}

static inline uint16_t bits_load16(const uint8_t *bytes) {
  return (uint16_t)(bytes[0] | bytes[1] << 8);
}

/* A number of 1 to 8 bytes; 8 are readable. */
static inline uint64_t bits_load(const uint8_t *bytes, unsigned size) {
  return bits_load64(bytes) & bits_low_mask(size * 8);
}

/* The field of `width` (0 to 57) bits at bit `position`, which the caller knows to be inside. */
static inline uint64_t bits_at(const uint8_t *bytes, uint64_t position, unsigned width) {
  return bits_load64(bytes + position / 8) >> position % 8 & (((uint64_t)1 << width) - 1);
}

/* How many of the first `count` (1 to 8) bytes of a word are less than `value`. All are compared at
 * once: with the highest bit of each byte set in the minuend and cleared in the subtrahend, no
 * byte's difference borrows from the next one, and tells which of the low 7 bits are less. */
static inline unsigned bits_bytes_below(uint64_t word, unsigned count, uint8_t value) {
  const uint64_t ones = 0x0101010101010101u, highs = 0x8080808080808080u;
  const uint64_t values = value * ones;
  const uint64_t differences = (word | highs) - (values & ~highs);
  const uint64_t below = ((~word & values) | (~(word ^ values) & ~differences)) & highs;
  return (unsigned)((below >> 7 & UINT64_MAX >> (64 - count * 8)) * ones >> 56);
}

/* How many of `count` numbers of `size` bytes are less than `value`. All numbers are looked at; a
 * size of 1 is the one that matters. 8 bytes behind the last number are readable. */
static inline uint64_t bits_numbers_below(const uint8_t *numbers, uint64_t count, unsigned size,
                                          uint64_t value) {
  uint64_t below = 0;
  if (value > bits_low_mask(size * 8))
    return count;
  if (size == 1) {
    for (; count > 8; count -= 8, numbers += 8)
      below += bits_bytes_below(bits_load64(numbers), 8, (uint8_t)value);
    return count == 0
               ? below
               : below + bits_bytes_below(bits_load64(numbers), (unsigned)count, (uint8_t)value);
  }
  for (uint64_t i = 0; i < count; i++)
    below += bits_load(numbers + i * size, size) < value;
  return below;
}

/* For qsort: the order of two 64-bit words. */
static inline int bits_compare_words(const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

/* Reads fields one after another, up to an end. A read that would cross the end returns 0 and makes
 * the reader `bad`, once and for all: code that reads hostile bytes runs on with harmless zeros and
 * looks at `bad` once. */
struct bit_reader {
  const uint8_t *bytes;
  uint64_t position, end; /* in bits */
  bool bad;
};

/* The next `width` (0 to 57) bits. */
static inline uint64_t bit_reader_take(struct bit_reader *reader, unsigned width) {
  if (width > reader->end - reader->position) {
    reader->position = reader->end;
    reader->bad = true;
    return 0;
  }
  const uint64_t value = bits_at(reader->bytes, reader->position, width);
  reader->position += width;
  return value;
}

/* Rice's code of a number with a parameter below 32: the number >> parameter in 1s, a 0, then the
 * lowest `parameter` bits. But 16 ones, without a 0, are followed by the number in 32 bits. */
enum { BITS_RICE_UNARY_MAX = 16 };

static inline uint64_t bit_reader_rice(struct bit_reader *reader, unsigned parameter) {
  uint64_t high = 0;
  while (high < BITS_RICE_UNARY_MAX && bit_reader_take(reader, 1) != 0)
    high++;
  if (high == BITS_RICE_UNARY_MAX)
    return bit_reader_take(reader, 32);
  return high << parameter | bit_reader_take(reader, parameter);
}

static inline uint64_t bits_rice_width(uint64_t number, unsigned parameter) {
  const uint64_t high = number >> parameter;
  return high < BITS_RICE_UNARY_MAX ? high + 1 + parameter : BITS_RICE_UNARY_MAX + 32;
}

/* A varint at *bytes, before `end`: 7 bits of the number in a byte, the lowest first; the high bit
 * says that more follow. Moves *bytes on. False: there is none, or it has more than 10 bytes. */
static inline bool bits_varint(const uint8_t **bytes, const uint8_t *end, uint64_t *number) {
  *number = 0;
  for (unsigned shift = 0; shift < 64 && *bytes < end; shift += 7) {
    const uint8_t byte = *(*bytes)++;
    *number |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80)
      return true;
  }
  return false;
}

/* A string of bits that grows. When memory runs out, `failed` is set and it stops growing. */
struct bit_writer {
  uint8_t *bytes; /* owned: free() */
  uint64_t size;  /* in bits */
  uint64_t capacity;
  bool failed;
};

void bit_writer_free(struct bit_writer *writer);
/* Appends the `width` (0 to 64) lowest bits of a value. */
void bit_writer_put(struct bit_writer *writer, uint64_t value, unsigned width);
/* A number below 2^32. */
void bit_writer_rice(struct bit_writer *writer, uint64_t number, unsigned parameter);
/* Appends at a whole byte. */
void bit_writer_varint(struct bit_writer *writer, uint64_t number);
/* Appends zeros up to a whole byte. */
void bit_writer_align(struct bit_writer *writer);
/* Appends all of another string, at a whole byte, and fails if that one has. */
void bit_writer_append(struct bit_writer *writer, const struct bit_writer *other);

#endif
