/* bits.c - tests format/bits.h: numbers of every width come back unchanged, and a reader
 * stops at its end.
 */
#include "format/bits.h"
#include "bytes.h"
#include "numbers.h"
#include "suite.h"

#include <stdlib.h>

TEST(widths) {
  ck_assert_uint_eq(bits_low_mask(0), 0);
  ck_assert_uint_eq(bits_low_mask(63), UINT64_MAX >> 1);
  ck_assert_uint_eq(bits_low_mask(64), UINT64_MAX);
  for (unsigned width = 0; width < 64; width++) {
    const uint64_t power = (uint64_t)1 << width;
    ck_assert_uint_eq(bits_for_count(power), width);
    ck_assert_uint_eq(bits_for_count(power + 1), width + 1);
    ck_assert_uint_eq(bits_to_bytes(width), (width + 7) / 8);
  }
  ck_assert_uint_eq(bits_for_count(0), 0);
  ck_assert_uint_eq(bits_for_count(UINT64_MAX), 64);
}

/* Fields of all widths one after another, in a block of just their size and the padding. */
TEST(fields) {
  enum { FIELDS = 2000 };
  struct numbers numbers = {1};
  struct bit_writer writer = {0};
  uint64_t values[FIELDS], at = 0;
  unsigned widths[FIELDS];
  for (unsigned i = 0; i < FIELDS; i++) {
    widths[i] = (unsigned)numbers_below(&numbers, 65);
    values[i] = numbers_of_bits(&numbers, 64) & bits_low_mask(widths[i]);
    bit_writer_put(&writer,
                   numbers_chance(&numbers, 50) ? values[i] : values[i] | ~bits_low_mask(widths[i]),
                   widths[i]);
  }
  bit_writer_align(&writer, 8);
  bit_writer_put(&writer, 0, 64);
  uint8_t *bytes = bytes_exact(writer.bytes, writer.size / 8);
  for (unsigned i = 0; i < FIELDS; i++) {
    const unsigned low = widths[i] < 40 ? widths[i] : 40;
    ck_assert_uint_eq(bits_at(bytes, at, low), values[i] & bits_low_mask(low));
    ck_assert_uint_eq(bits_at(bytes, at + low, widths[i] - low), values[i] >> low);
    at += widths[i];
  }
  free(bytes);
  bit_writer_free(&writer);
}

TEST(varints) {
  struct numbers numbers = {2};
  for (unsigned round = 0; round < 1000; round++) {
    const uint64_t value = numbers_of_bits(&numbers, 64);
    struct bit_writer writer = {0};
    uint64_t read;
    bit_writer_varint(&writer, value);
    for (uint64_t size = 0; size <= writer.size / 8; size++) {
      const uint8_t *at = writer.bytes;
      const bool whole = size == writer.size / 8;
      ck_assert_int_eq(bits_varint(&at, writer.bytes + size, &read), whole);
      ck_assert(!whole || (read == value && at == writer.bytes + size));
    }
    bit_writer_free(&writer);
  }
}

/* Sixteen bytes are compared at once, or 32: with each value, and any bytes after the significant
 * ones. Many larger numbers are halved first. */
TEST(numbers_below_a_value) {
  enum { MOST = 200 };
  struct numbers numbers = {3};
  for (unsigned round = 0; round < 20000; round++) {
    const unsigned size =
        numbers_chance(&numbers, 70) ? 1 : (unsigned)numbers_between(&numbers, 2, 8);
    const unsigned count =
        (unsigned)numbers_below(&numbers, numbers_chance(&numbers, 80) ? 40 : MOST);
    uint64_t value =
        numbers_chance(&numbers, 80) ? numbers_below(&numbers, 256) : numbers_of_bits(&numbers, 64);
    uint64_t ascending[MOST], below = 0;
    uint8_t bytes[MOST * 8 + BITS_PADDING];
    for (unsigned i = 0; i < sizeof bytes; i++)
      bytes[i] = (uint8_t)numbers_next(&numbers);
    for (unsigned i = 0; i < count; i++)
      ascending[i] = numbers_next(&numbers) & bits_low_mask(size * 8);
    qsort(ascending, count, sizeof *ascending, bits_compare_words);
    if (count > 0 && numbers_chance(&numbers, 50)) /* one of them, or near it */
      value = ascending[numbers_below(&numbers, count)] + numbers_below(&numbers, 2);
    for (unsigned i = 0; i < count; i++) {
      memcpy(bytes + i * size, &ascending[i], size);
      below += ascending[i] < value;
    }
    ck_assert_uint_eq(bits_numbers_below(bytes, count, size, value), below);
    if (size == 1 && count <= 32 && value <= UINT8_MAX)
      ck_assert_uint_eq(bits_more_bytes_below(bytes, count, (uint8_t)value), below);
  }
}

TEST(strings_are_joined) {
  struct bit_writer one = {0}, other = {0};
  bit_writer_put(&one, 0x1234, 16);
  bit_writer_put(&other, 5, 3);
  bit_writer_append(&one, &other);
  bit_writer_append(&one, &(struct bit_writer){0});
  bit_writer_put(&one, 1, 8);
  ck_assert_uint_eq(one.size, 32);
  ck_assert_uint_eq(bits_load32(one.bytes), 0x01051234);
  bit_writer_free(&one);
  bit_writer_free(&other);
}
