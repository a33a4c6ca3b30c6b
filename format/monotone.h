/* monotone.h - a sorted sequence of numbers in about 2 + log2(gap) bits each (Elias-Fano).
 *
 * Each number is split. Its low `low_width` bits stand in an array of fixed-width fields. The rest,
 * the bucket number, is written in unary into a bit vector: for each bucket in turn a 1 for each
 * number in it, then a 0. With low_width = log2(range / count) there are about as many buckets as
 * numbers, and the vector has two to three bits a number.
 *
 *   numbers 1, 3, 9, 10, 15 with low_width 2:    buckets   0     1   2     3
 *   high:                                                  1 1 0 0   1 1 0 1 0
 *   low:                                                   1 3       1 2   3
 *
 * To find x, go to the place where its bucket starts, which is behind the 0 that closes the bucket
 * before: that place less the 0s before it is the number of smaller elements up to there. Every
 * 2^shift-th such place is stored, in as many bits as the largest needs, and from there 0s are
 * counted a word at a time. To get element i, the same is done with the 1s. A sequence has the
 * samples that its use needs: FIND or GET.
 */
#ifndef STACKPACK_MONOTONE_H
#define STACKPACK_MONOTONE_H

#include "format/bits.h"

enum monotone_use { MONOTONE_FIND, MONOTONE_GET };

/* 2^shift buckets (FIND) or elements (GET) share a sample. */
enum { MONOTONE_FIND_SHIFT = 7, MONOTONE_GET_SHIFT = 5 };

/* How the parts of a sequence lie: all follows from its count and range. Sizes in bytes. */
struct monotone_shape {
  uint64_t count;
  uint64_t buckets;
  uint64_t high_bits;
  uint64_t samples;
  unsigned low_width, sample_width;
  uint64_t low_size, high_size, sample_size; /* in this order in memory */
};

/* Fills in the shape of `count` numbers from 0 to `maximum`. False for more high bits than 32-bit
 * indices can count. */
bool monotone_shape(struct monotone_shape *shape, uint64_t count, uint64_t maximum,
                    enum monotone_use use);

static inline uint64_t monotone_size(const struct monotone_shape *shape) {
  return shape->low_size + shape->high_size + shape->sample_size;
}

/* Appends the parts of the sequence to a writer, which stands at a whole byte. */
void monotone_write(struct bit_writer *writer, const uint64_t *numbers, uint64_t count,
                    uint64_t maximum, enum monotone_use use);

/* A sequence as it lies in memory. */
struct monotone {
  const uint8_t *low, *high, *samples;
  uint64_t count, buckets, high_bits;
  uint64_t near_words; /* words of `high` that may be read, even if they are beyond its end */
  uint8_t low_width, sample_width;
  uint8_t low_skip, sample_skip; /* bits of the first byte that are before the fields */
  bool quick;                    /* bits_processor_is_quick */
};

/* bytes[0..monotone_size) is readable, and BITS_PADDING bytes behind it. */
struct monotone monotone_open(const uint8_t *bytes, const struct monotone_shape *shape);

/* Whether counts and samples are those of the bits. For tools that go through all of a sequence:
 * with wrong samples, every step could take as long as all. */
bool monotone_check(const struct monotone *sequence, enum monotone_use use);

/* A place in a sequence: element `index`, which stands at bit `place` of the high bits. Past the
 * last element, index is count. */
struct monotone_cursor {
  uint64_t index;
  uint64_t place;
};

/* The first element that is at least x (for MONOTONE_FIND). */
struct monotone_cursor monotone_find(const struct monotone *sequence, uint64_t x);

/* Element number `index` < count: in few steps for MONOTONE_GET, else by bisecting the samples. */
struct monotone_cursor monotone_get(const struct monotone *sequence, uint64_t index,
                                    enum monotone_use use);

/* The value under a cursor whose index is below count. */
static inline uint64_t monotone_value(const struct monotone *sequence,
                                      struct monotone_cursor cursor) {
  const unsigned width = sequence->low_width;
  return (cursor.place - cursor.index) << width |
         bits_at_wide(sequence->low, sequence->low_skip + cursor.index * width, width);
}

/* The next element, from an index below count. */
struct monotone_cursor monotone_next(const struct monotone *sequence,
                                     struct monotone_cursor cursor);

#endif
