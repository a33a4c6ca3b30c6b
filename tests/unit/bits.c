/* bits.c - tests format/bits.h: fields of every width at every bit come back as they were written,
 * and a reader stops at its end.
 */
#include "format/bits.h"
#include "bytes.h"
#include "numbers.h"
#include "suite.h"

#include <inttypes.h>
#include <stdlib.h>

START_TEST(masks) {
  ck_assert_uint_eq(bits_low_mask(0), 0);
  ck_assert_uint_eq(bits_low_mask(1), 1);
  ck_assert_uint_eq(bits_low_mask(63), UINT64_MAX >> 1);
  ck_assert_uint_eq(bits_low_mask(64), UINT64_MAX);
}
END_TEST

START_TEST(widths_for_counts) {
  ck_assert_uint_eq(bits_for_count(0), 0);
  ck_assert_uint_eq(bits_for_count(1), 0);
  ck_assert_uint_eq(bits_for_count(2), 1);
  ck_assert_uint_eq(bits_for_count(3), 2);
  ck_assert_uint_eq(bits_for_count(256), 8);
  ck_assert_uint_eq(bits_for_count(257), 9);
  ck_assert_uint_eq(bits_for_count((uint64_t)1 << 63), 63);
  ck_assert_uint_eq(bits_for_count(UINT64_MAX), 64);
}
END_TEST

START_TEST(counting_and_selecting_bits) {
  struct numbers numbers = {4};
  const bool quick = bits_processor_is_quick();
  for (unsigned round = 0; round < 20000; round++) {
    const uint64_t other = numbers_next(&numbers);
    uint64_t word = numbers_next(&numbers);
    for (unsigned i = round % 7; i > 0; i--)
      word = round % 2 == 0 ? word & numbers_next(&numbers) : word | numbers_next(&numbers);
    unsigned ones = 0;
    bool right = true;
    for (unsigned place = 0; place < 64; place++)
      if ((word >> place & 1) != 0)
        right &= bits_select(word, ones++) == place;
    if (!right || bits_count(word) != ones)
      ck_abort_msg("word 0x%" PRIx64, word);
    if (bits_quick_count(word, quick) != ones ||
        (ones > 0 && bits_quick_select(word, ones - 1, quick) != bits_select(word, ones - 1)) ||
        bits_quick_deposit(other, word, quick) != bits_deposit(other, word))
      ck_abort_msg("word 0x%" PRIx64 " and 0x%" PRIx64 ", on this processor", word, other);
  }
  ck_assert_uint_eq(bits_count(0), 0);
  ck_assert_uint_eq(bits_count(UINT64_MAX), 64);
  ck_assert_uint_eq(bits_select(UINT64_MAX, 63), 63);
  ck_assert_uint_eq(bits_select((uint64_t)1 << 63, 0), 63);
  ck_assert_uint_eq(bits_deposit(5, 0x8000000000001010u), 0x8000000000000010u);
  ck_assert_uint_eq(bits_deposit(UINT64_MAX, 0xf0), 0xf0);
}
END_TEST

/* What is moved to the places of the 1s in a map comes back; and each bit is where it should be. */
START_TEST(extracting_bits) {
  struct numbers numbers = {5};
  const bool quick = bits_processor_is_quick();
  for (unsigned round = 0; round < 20000; round++) {
    const uint64_t bits = numbers_next(&numbers);
    uint64_t map = numbers_next(&numbers), expected = 0;
    unsigned ones = 0;
    for (unsigned i = round % 7; i > 0; i--)
      map = round % 2 == 0 ? map & numbers_next(&numbers) : map | numbers_next(&numbers);
    for (unsigned place = 0; place < 64; place++)
      if ((map >> place & 1) != 0)
        expected |= (bits >> place & 1) << ones++;
    if (bits_extract(bits, map) != expected || bits_quick_extract(bits, map, quick) != expected ||
        bits_quick_extract(bits, map, false) != expected)
      ck_abort_msg("0x%" PRIx64 " of 0x%" PRIx64, map, bits);
    if (bits_deposit(bits_extract(bits, map), map) != (bits & map) ||
        bits_extract(bits_deposit(bits, map), map) != (bits & bits_low_mask(ones)))
      ck_abort_msg("0x%" PRIx64 " of 0x%" PRIx64 ", there and back", map, bits);
  }
  ck_assert_uint_eq(bits_extract(UINT64_MAX, 0), 0);
  ck_assert_uint_eq(bits_extract(0, UINT64_MAX), 0);
  ck_assert_uint_eq(bits_extract(UINT64_MAX, UINT64_MAX), UINT64_MAX);
  ck_assert_uint_eq(bits_extract(0x8000000000000010u, 0x8000000000001010u), 5);
  ck_assert_uint_eq(bits_extract((uint64_t)1 << 63, (uint64_t)1 << 63), 1);
}
END_TEST

START_TEST(bytes_for_bits) {
  ck_assert_uint_eq(bits_to_bytes(0), 0);
  ck_assert_uint_eq(bits_to_bytes(1), 1);
  ck_assert_uint_eq(bits_to_bytes(64), 8);
  ck_assert_uint_eq(bits_to_bytes(65), 9);
  ck_assert_uint_eq(bits_to_bytes(UINT64_MAX), (uint64_t)1 << 61);
}
END_TEST

START_TEST(loads_of_unaligned_words) {
  static const uint8_t bytes[] = {0xff, 1, 2, 3, 4, 5, 6, 7, 0x88};
  ck_assert_uint_eq(bits_load16(bytes + 1), 0x0201);
  ck_assert_uint_eq(bits_load32(bytes + 1), 0x04030201);
  ck_assert_uint_eq(bits_load64(bytes + 1), 0x8807060504030201);
  ck_assert_uint_eq(bits_load16(bytes + 7), 0x8807);
}
END_TEST

/* A written string as an array, copied so that nothing behind the padding is readable. */
static struct bit_array written(struct bit_writer *writer) {
  ck_assert(!writer->failed);
  const size_t size = (size_t)((writer->size + 7) / 8);
  struct bytes bytes = {0};
  bytes_add(&bytes, writer->bytes, size);
  bytes_zeros(&bytes, BITS_PADDING);
  const struct bit_array array = {bytes_exact(bytes.data, bytes.size), writer->size};
  bytes_free(&bytes);
  bit_writer_free(writer);
  return array;
}

START_TEST(every_width_at_every_bit) {
  struct numbers numbers = {1};
  for (unsigned width = 0; width <= 64; width++)
    for (unsigned start = 0; start < 64; start++) {
      const uint64_t value = numbers_next(&numbers);
      struct bit_writer writer = {0};
      bit_writer_put(&writer, UINT64_MAX, start);
      bit_writer_put(&writer, value, width);
      bit_writer_put(&writer, UINT64_MAX, 7);
      ck_assert_uint_eq(writer.size, start + width + 7);
      const struct bit_array array = written(&writer);
      struct bit_reader reader = bit_reader_at(array, start);
      const bool right =
          bits_at_wide(array.bytes, start, width) == (value & bits_low_mask(width)) &&
          bit_reader_take(&reader, width) == (value & bits_low_mask(width)) &&
          bit_reader_take(&reader, 7) == 0x7f && !reader.bad;
      free((void *)(uintptr_t)array.bytes);
      ck_assert_msg(right, "width %u at bit %u", width, start);
    }
}
END_TEST

START_TEST(fields_of_mixed_widths) {
  enum { FIELDS = 10000 };
  struct numbers numbers = {2};
  struct bit_writer writer = {0};
  for (unsigned i = 0; i < FIELDS; i++) {
    const unsigned width = (unsigned)numbers_below(&numbers, 65);
    bit_writer_put(&writer, numbers_next(&numbers), width);
  }
  const struct bit_array array = written(&writer);
  struct bit_reader reader = bit_reader_at(array, 0);
  numbers = (struct numbers){2};
  bool right = true;
  for (unsigned i = 0; i < FIELDS; i++) {
    const unsigned width = (unsigned)numbers_below(&numbers, 65);
    right &= bit_reader_take(&reader, width) == (numbers_next(&numbers) & bits_low_mask(width));
  }
  ck_assert(right);
  ck_assert(!reader.bad);
  ck_assert_uint_eq(reader.position, array.size);
  free((void *)(uintptr_t)array.bytes);
}
END_TEST

START_TEST(copies_from_any_bit) {
  struct numbers numbers = {3};
  struct bit_writer source = {0};
  for (unsigned i = 0; i < 8; i++)
    bit_writer_put(&source, numbers_next(&numbers), 64);
  const struct bit_array array = written(&source);
  for (unsigned from = 0; from < 70; from++)
    for (unsigned count = 0; count < 140; count += 3) {
      struct bit_writer writer = {0};
      bit_writer_put(&writer, 0, from % 13);
      bit_writer_copy(&writer, array.bytes, from, count);
      ck_assert_uint_eq(writer.size, from % 13 + count);
      const struct bit_array copy = written(&writer);
      bool right = true;
      for (unsigned i = 0; i < count; i++)
        right &= bits_at(copy.bytes, from % 13 + i, 1) == bits_at(array.bytes, from + i, 1);
      free((void *)(uintptr_t)copy.bytes);
      ck_assert_msg(right, "%u bits from %u", count, from);
    }
  free((void *)(uintptr_t)array.bytes);
}
END_TEST

START_TEST(gamma_code) {
  static const uint64_t values[] = {
      0, 1, 2, 3, 6, 7, 62, 63, 64, 1000, 65535, 1 << 20, BITS_GAMMA_MAX - 1, BITS_GAMMA_MAX};
  enum { VALUES = sizeof values / sizeof *values };
  for (unsigned start = 0; start < 9; start++) {
    struct bit_writer writer = {0};
    uint64_t size = start;
    bit_writer_put(&writer, UINT64_MAX, start);
    for (unsigned i = 0; i < VALUES; i++) {
      bit_writer_gamma(&writer, values[i]);
      size += bits_gamma_width(values[i]);
      ck_assert_uint_eq(writer.size, size);
    }
    const struct bit_array array = written(&writer);
    struct bit_reader reader = bit_reader_at(array, start);
    for (unsigned i = 0; i < VALUES; i++)
      ck_assert_uint_eq(bit_reader_gamma(&reader), values[i]);
    ck_assert(!reader.bad);
    ck_assert_uint_eq(reader.position, size);
    free((void *)(uintptr_t)array.bytes);
  }
  ck_assert_uint_eq(bits_gamma_width(0), 1);
  ck_assert_uint_eq(bits_gamma_width(2), 3);
  ck_assert_uint_eq(bits_gamma_width(3), 5);
}
END_TEST

/* Numbers around those where one more bit is taken, and large ones. */
START_TEST(rice_and_small_codes) {
  static const uint64_t values[] = {0,  1,  2,   7,   8,    15,   16,        17,
                                    31, 32, 511, 512, 1000, 4095, (1 << 28), BITS_GAMMA_MAX};
  enum { VALUES = sizeof values / sizeof *values };
  for (unsigned parameter = 0; parameter < 32; parameter++) {
    struct bit_writer writer = {0};
    uint64_t size = 0;
    for (unsigned i = 0; i < VALUES; i++) {
      bit_writer_rice(&writer, values[i], parameter);
      size += bits_rice_width(values[i], parameter);
      ck_assert_uint_eq(writer.size, size);
      bit_writer_small(&writer, values[i], parameter);
      size += bits_small_width(values[i], parameter);
      ck_assert_uint_eq(writer.size, size);
    }
    bit_writer_rice(&writer, UINT64_MAX, parameter);
    const struct bit_array array = written(&writer);
    struct bit_reader reader = bit_reader_at(array, 0);
    for (unsigned i = 0; i < VALUES; i++) {
      ck_assert_uint_eq(bit_reader_rice(&reader, parameter), values[i]);
      ck_assert_uint_eq(bit_reader_small(&reader, parameter), values[i]);
    }
    ck_assert_uint_eq(reader.position, size);
    ck_assert_uint_eq(bit_reader_rice(&reader, parameter), UINT64_MAX);
    ck_assert(!reader.bad);
    bit_reader_small(&reader, parameter);
    ck_assert(reader.bad);
    free((void *)(uintptr_t)array.bytes);
  }
  ck_assert_uint_eq(bits_small_width(15, 0), 16);
  ck_assert_uint_eq(bits_small_width(16, 0), 17);
  ck_assert_uint_eq(bits_small_width(17, 0), 19);
}
END_TEST

START_TEST(the_best_parameter) {
  for (uint64_t number = 0; number < 5000; number += 1 + number / 5) {
    struct bits_widths rice = {{0}}, small = {{0}};
    for (uint64_t i = 0; i < 3; i++) {
      bits_add_rice(&rice, number + i);
      bits_add_small(&small, number + i);
    }
    const unsigned best_rice = bits_best_parameter(&rice), best = bits_best_parameter(&small);
    for (unsigned parameter = 0; parameter < 24; parameter++) {
      uint64_t sums[2] = {0, 0};
      for (uint64_t i = 0; i < 3; i++) {
        sums[0] += bits_rice_width(number + i, parameter);
        sums[1] += bits_small_width(number + i, parameter);
      }
      ck_assert_uint_ge(sums[0], rice.sums[best_rice]);
      ck_assert_uint_ge(sums[1], small.sums[best]);
    }
  }
}
END_TEST

/* 40 bits, all set, and their padding. */
static struct bit_array forty_ones(void) {
  struct bit_writer writer = {0};
  bit_writer_put(&writer, UINT64_MAX, 40);
  return written(&writer);
}

START_TEST(a_reader_ends_at_the_end) {
  const struct bit_array array = forty_ones();
  struct bit_reader reader = bit_reader_at(array, 38);
  ck_assert_uint_eq(bit_reader_take(&reader, 2), 3);
  ck_assert(!reader.bad);
  ck_assert_uint_eq(bit_reader_take(&reader, 0), 0);
  ck_assert(!reader.bad);
  ck_assert_uint_eq(bit_reader_take(&reader, 1), 0);
  ck_assert(reader.bad);
  free((void *)(uintptr_t)array.bytes);
}
END_TEST

START_TEST(a_bad_reader_stays_bad) {
  const struct bit_array array = forty_ones();
  struct bit_reader reader = bit_reader_at(array, 0);
  ck_assert_uint_eq(bit_reader_take(&reader, 41), 0);
  ck_assert(reader.bad);
  ck_assert_uint_eq(bit_reader_take(&reader, 1), 0);
  ck_assert_uint_eq(bit_reader_gamma(&reader), 0);
  ck_assert(reader.bad);
  free((void *)(uintptr_t)array.bytes);
}
END_TEST

START_TEST(a_reader_may_start_at_the_end_only) {
  const struct bit_array array = forty_ones();
  struct bit_reader reader = bit_reader_at(array, 40);
  ck_assert(!reader.bad);
  reader = bit_reader_at(array, 41);
  ck_assert(reader.bad);
  ck_assert_uint_eq(bit_reader_take(&reader, 8), 0);
  reader = bit_reader_at(array, UINT64_MAX);
  ck_assert(reader.bad);
  free((void *)(uintptr_t)array.bytes);
}
END_TEST

START_TEST(skipping) {
  const struct bit_array array = forty_ones();
  struct bit_reader reader = bit_reader_at(array, 0);
  bit_reader_skip(&reader, 3, 13);
  ck_assert_uint_eq(reader.position, 39);
  bit_reader_skip(&reader, UINT64_MAX, 0);
  ck_assert(!reader.bad);
  bit_reader_skip(&reader, UINT64_MAX, 64);
  ck_assert(reader.bad);
  reader = bit_reader_at(array, 0);
  bit_reader_skip(&reader, 41, 1);
  ck_assert(reader.bad);
  reader = bit_reader_at(array, 0);
  bit_reader_skip(&reader, ((uint64_t)1 << 60) + 1, 16);
  ck_assert(reader.bad);
  free((void *)(uintptr_t)array.bytes);
}
END_TEST

/* Reads a gamma code from `zeros` 0 bits, a 1 and `rest` more bits. */
static bool gamma_is_bad(unsigned zeros, unsigned rest) {
  struct bit_writer writer = {0};
  bit_writer_put(&writer, 0, zeros);
  bit_writer_put(&writer, 1, 1);
  bit_writer_put(&writer, 0, rest);
  const struct bit_array array = written(&writer);
  struct bit_reader reader = bit_reader_at(array, 0);
  bit_reader_gamma(&reader);
  free((void *)(uintptr_t)array.bytes);
  return reader.bad;
}

START_TEST(gamma_codes_that_are_none) {
  ck_assert(!gamma_is_bad(27, 27));
  ck_assert(gamma_is_bad(27, 26));
  ck_assert(gamma_is_bad(28, 28));
  ck_assert(gamma_is_bad(60, 60));
  ck_assert(gamma_is_bad(1, 0));
  ck_assert(!gamma_is_bad(0, 0));
}
END_TEST

START_TEST(gamma_of_zeros_only) {
  struct bit_writer writer = {0};
  bit_writer_put(&writer, 0, 64);
  const struct bit_array array = written(&writer);
  struct bit_reader reader = bit_reader_at(array, 0);
  ck_assert_uint_eq(bit_reader_gamma(&reader), 0);
  ck_assert(reader.bad);
  free((void *)(uintptr_t)array.bytes);
}
END_TEST

START_TEST(an_empty_writer) {
  struct bit_writer writer = {0};
  bit_writer_put(&writer, 0, 0);
  bit_writer_copy(&writer, NULL, 0, 0);
  ck_assert_uint_eq(writer.size, 0);
  ck_assert(!writer.failed);
  bit_writer_free(&writer);
  ck_assert_ptr_null(writer.bytes);
}
END_TEST

SUITE("bits", masks, widths_for_counts, counting_and_selecting_bits, extracting_bits,
      bytes_for_bits, loads_of_unaligned_words, every_width_at_every_bit, fields_of_mixed_widths,
      copies_from_any_bit, gamma_code, rice_and_small_codes, the_best_parameter,
      a_reader_ends_at_the_end, a_bad_reader_stays_bad, a_reader_may_start_at_the_end_only,
      skipping, gamma_codes_that_are_none, gamma_of_zeros_only, an_empty_writer)
