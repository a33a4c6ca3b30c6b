/* bits.h - numbers of any width in a string of bytes.
 *
 * Bit n of a string is bit n % 8 of its byte n / 8, and a field of w bits that starts at bit n has
 * its lowest bit there: the order of bits in a little-endian machine's words. So a read is one
 * unaligned load, a shift and a mask, for a field at any bit, and 16 bytes are compared at once.
 * Such a load may reach past the field, so every packed table ends in 16 bytes of padding
 * (BITS_PADDING).
 */
#ifndef STACKPACK_BITS_H
#define STACKPACK_BITS_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined __SSE2__
#include <emmintrin.h>
#elif defined __ARM_NEON
#include <arm_neon.h>
#endif

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "LLVM's stack maps and this table are read in place, in the little-endian order they have"
#endif

enum { BITS_PADDING = 16, BITS_LOADED = 57 /* bits that one load has, at any bit */ };

static inline uint64_t bits_low_mask(unsigned width) {
  return width >= 64 ? UINT64_MAX : ((uint64_t)1 << width) - 1;
}

/* The number of bits that hold every number below `count`: 0 for counts of 0 and 1. */
static inline unsigned bits_for_count(uint64_t count) {
  return count <= 1 ? 0 : 64 - (unsigned)__builtin_clzll(count - 1);
}

/* The same for all numbers up to `number` < 2^63. */
static inline unsigned bits_for_number(uint64_t number) {
  assert(number >> 63 == 0);
  return 63 ^ (unsigned)__builtin_clzll(number << 1 | 1);
}

/* The bytes that hold a number: 1 to 8. */
static inline uint8_t bits_bytes_for(uint64_t number) {
  uint8_t bytes = 1;
  while (number > bits_low_mask(bytes * 8u))
    bytes++;
  return bytes;
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
  assert(size <= 8);
  return bits_load64(bytes) & bits_low_mask(size * 8);
}

/* The 57 bits or more from bit `position` on, which must be inside; zeros above. */
static inline uint64_t bits_from(const uint8_t *bytes, uint64_t position) {
  return bits_load64(bytes + position / 8) >> position % 8;
}

/* The field of `width` (0 to 57) bits at bit `position`. */
static inline uint64_t bits_at(const uint8_t *bytes, uint64_t position, unsigned width) {
  assert(width <= 57);
  return bits_from(bytes, position) & (((uint64_t)1 << width) - 1);
}

/* The number of the first `count` (at most 16) bytes that are less than `value`. They ascend, and
 * all are compared at once. */
static inline unsigned bits_bytes_below(const uint8_t *bytes, unsigned count, uint8_t value) {
  assert(count <= 16);
#if defined __SSE2__
  const __m128i numbers = _mm_loadu_si128((const __m128i *)bytes);
  const __m128i largest = _mm_max_epu8(numbers, _mm_set1_epi8((char)value));
  const unsigned others = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(largest, numbers));
  return (unsigned)__builtin_ctz(others | 1u << count);
#elif defined __ARM_NEON
  const uint8x16_t others = vcgeq_u8(vld1q_u8(bytes), vdupq_n_u8(value));
  const uint8x8_t nibbles = vshrn_n_u16(vreinterpretq_u16_u8(others), 4);
  const uint64_t mask = vget_lane_u64(vreinterpret_u64_u8(nibbles), 0);
  const unsigned below = mask == 0 ? 16 : (unsigned)__builtin_ctzll(mask) / 4;
  return below < count ? below : count;
#else
  unsigned below = 0;
  for (unsigned i = 0; i < count; i++)
    below += bytes[i] < value;
  return below;
#endif
}

/* The same of at most 32 bytes; all 32 must be readable. */
static inline unsigned bits_more_bytes_below(const uint8_t *bytes, unsigned count, uint8_t value) {
  assert(count <= 32);
#if defined __SSE2__
  const __m128i values = _mm_set1_epi8((char)value);
  const __m128i low = _mm_loadu_si128((const __m128i *)bytes);
  const __m128i high = _mm_loadu_si128((const __m128i *)(bytes + 16));
  const unsigned low_others =
      (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_max_epu8(low, values), low));
  const unsigned high_others =
      (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_max_epu8(high, values), high));
  return (unsigned)__builtin_ctzll(low_others | high_others << 16 | (uint64_t)1 << count);
#else
  const unsigned below = bits_bytes_below(bytes, count < 16 ? count : 16, value);
  return below < 16 ? below : 16 + bits_bytes_below(bytes + 16, count - 16, value);
#endif
}

/* The same of larger numbers, or of many: more than BITS_HALVED_TO are halved first. */
enum { BITS_HALVED_TO = 8, BITS_MANY = 256 };
uint64_t bits_large_numbers_below(const uint8_t *numbers, uint64_t count, unsigned size,
                                  uint64_t value);

/* The number of `count` ascending numbers of `size` bytes that are less than `value`. A size of 1
 * is the frequent one. 16 bytes after the last number are readable. */
static inline uint64_t bits_numbers_below(const uint8_t *numbers, uint64_t count, unsigned size,
                                          uint64_t value) {
  uint64_t below = 0;
  if (size != 1 || value > UINT8_MAX || count > BITS_MANY)
    return bits_large_numbers_below(numbers, count, size, value);
  for (; count > 16; count -= 16, numbers += 16)
    below += bits_bytes_below(numbers, 16, (uint8_t)value);
  return below + bits_bytes_below(numbers, (unsigned)count, (uint8_t)value);
}

/* The number of items, of `size` bytes each, whose u32 `at` bytes into it is less than `value`.
 * They are sorted by that. */
static inline uint32_t bits_items_below(const uint8_t *items, uint32_t count, size_t size,
                                        size_t at, uint64_t value) {
  uint32_t from = 0, to = count;
  while (from < to) {
    const uint32_t middle = from + (to - from) / 2;
    if (bits_load32(items + middle * size + at) < value)
      from = middle + 1;
    else
      to = middle;
  }
  return from;
}

/* For qsort: the order of two 64-bit words. */
static inline int bits_compare_words(const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
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

/* Signed numbers as unsigned ones, small for numbers near 0: 0, -1, 1, -2 become 0, 1, 2, 3. */
static inline uint64_t bits_zigzag(uint64_t n) { return n << 1 ^ -(n >> 63); }
static inline uint64_t bits_unzigzag(uint64_t n) { return n >> 1 ^ -(n & 1); }

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
/* Appends at a whole byte. */
void bit_writer_varint(struct bit_writer *writer, uint64_t number);
/* Appends zeros up to a multiple of `unit` bits: 8, 16 or 32; or so that `size` more bits end
 * there. */
void bit_writer_align(struct bit_writer *writer, unsigned unit);
void bit_writer_align_before(struct bit_writer *writer, uint64_t size, unsigned unit);
/* Appends bytes at a whole byte. */
void bit_writer_bytes(struct bit_writer *writer, const void *bytes, uint64_t size);
/* The same for all of another string. Fails if that one has. */
void bit_writer_append(struct bit_writer *writer, const struct bit_writer *other);

#endif
