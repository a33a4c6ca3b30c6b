/* monotone.c - tests format/monotone.h: a sequence must answer as the plain sorted array does from
 * which it was made, for both uses, whatever the gaps are.
 */
#include "format/monotone.h"
#include "bytes.h"
#include "numbers.h"
#include "suite.h"

#include <inttypes.h>
#include <stdlib.h>

/* A sequence and the array that it was made from. */
struct subject {
  const uint64_t *numbers;
  uint64_t count, maximum;
  enum monotone_use use;
  struct monotone sequence;
  uint8_t *bytes;
};

static void subject_open(struct subject *subject) {
  struct monotone_shape shape;
  struct bit_writer writer = {0};
  ck_assert(monotone_shape(&shape, subject->count, subject->maximum, subject->use));
  monotone_write(&writer, subject->numbers, subject->count, subject->maximum, subject->use);
  ck_assert(!writer.failed);
  ck_assert_uint_eq(writer.size, monotone_size(&shape) * 8);
  bit_writer_put(&writer, 0, 8 * BITS_PADDING);
  subject->bytes = bytes_exact(writer.bytes, writer.size / 8);
  bit_writer_free(&writer);
  subject->sequence = monotone_open(subject->bytes, &shape);
}

/* The first element that is at least x, by bisecting the array. */
static uint64_t first_at_least(const struct subject *subject, uint64_t x) {
  uint64_t from = 0, to = subject->count;
  while (from < to) {
    const uint64_t middle = from + (to - from) / 2;
    if (subject->numbers[middle] < x)
      from = middle + 1;
    else
      to = middle;
  }
  return from;
}

static bool is_element(const struct subject *subject, struct monotone_cursor cursor, uint64_t i) {
  return cursor.index == i &&
         (i == subject->count || monotone_value(&subject->sequence, cursor) == subject->numbers[i]);
}

static void check_find(const struct subject *subject, uint64_t x) {
  const uint64_t expected = first_at_least(subject, x);
  if (!is_element(subject, monotone_find(&subject->sequence, x), expected))
    ck_abort_msg("find %" PRIu64 " in %" PRIu64 " numbers", x, subject->count);
}

/* Element i and the next one. */
static bool is_right_at(const struct subject *subject, uint64_t i) {
  const struct monotone *sequence = &subject->sequence;
  const struct monotone_cursor cursor = monotone_get(sequence, i, subject->use);
  return is_element(subject, cursor, i) &&
         is_element(subject, monotone_next(sequence, cursor), i + 1);
}

static void check_elements(const struct subject *subject, uint64_t step) {
  for (uint64_t i = 0; i < subject->count; i += step)
    if (!is_right_at(subject, i))
      ck_abort_msg("element %" PRIu64 " of %" PRIu64, i, subject->count);
  if (subject->count > 0)
    ck_assert(is_right_at(subject, subject->count - 1));
}

/* Going through all. */
static void check_walks(const struct subject *subject) {
  if (subject->count == 0)
    return;
  struct monotone_cursor cursor = monotone_get(&subject->sequence, 0, subject->use);
  bool right = true;
  for (uint64_t i = 0; i < subject->count; i++) {
    right &= is_element(subject, cursor, i);
    cursor = monotone_next(&subject->sequence, cursor);
  }
  ck_assert(right && cursor.index == subject->count);
}

static void check_finds(const struct subject *subject, uint64_t step) {
  struct numbers random = {subject->count};
  for (uint64_t i = 0; i < subject->count; i += step) {
    check_find(subject, subject->numbers[i]);
    check_find(subject, subject->numbers[i] - 1);
    check_find(subject, subject->numbers[i] + 1);
    check_find(subject, numbers_of_bits(&random, 64));
  }
  check_find(subject, 0);
  check_find(subject, subject->maximum);
  check_find(subject, subject->maximum + 1);
  check_find(subject, UINT64_MAX);
}

static void check_all(const struct subject *subject, uint64_t step) {
  if (subject->use == MONOTONE_FIND)
    check_finds(subject, step);
  check_elements(subject, step);
  check_walks(subject);
}

/* Asks for every step-th element, in both uses, on this processor and as on any. */
static void check_every(const uint64_t *numbers, uint64_t count, uint64_t maximum, uint64_t step) {
  for (enum monotone_use use = MONOTONE_FIND; use <= MONOTONE_GET; use++) {
    struct subject subject = {.numbers = numbers, .count = count, .maximum = maximum, .use = use};
    subject_open(&subject);
    check_all(&subject, step);
    subject.sequence.quick = false;
    check_all(&subject, step);
    free(subject.bytes);
  }
}

static void check(const uint64_t *numbers, uint64_t count, uint64_t maximum) {
  check_every(numbers, count, maximum, 1);
}

/* `count` numbers, of which each is up to `gap` more than the one before; with maxima that are the
 * last one, one more, and far more. */
static void check_gaps(uint64_t count, uint64_t gap, uint64_t seed) {
  struct numbers random = {seed};
  uint64_t *numbers = test_allocate(count * sizeof *numbers);
  uint64_t value = numbers_below(&random, gap + 1);
  for (uint64_t i = 0; i < count; i++) {
    numbers[i] = value;
    value += numbers_below(&random, gap + 1);
  }
  const uint64_t last = count == 0 ? 0 : numbers[count - 1];
  check(numbers, count, last);
  check(numbers, count, last + 1);
  check(numbers, count, last * 5 + 1000);
  free(numbers);
}

START_TEST(no_elements) {
  check(NULL, 0, 0);
  check(NULL, 0, 1000);
  check(NULL, 0, UINT64_MAX);
}
END_TEST

START_TEST(one_element) {
  static const uint64_t values[] = {0, 1, 63, 64, 1000, UINT32_MAX, (uint64_t)1 << 63, UINT64_MAX};
  for (unsigned i = 0; i < sizeof values / sizeof *values; i++) {
    check(&values[i], 1, values[i]);
    check(&values[i], 1, UINT64_MAX);
  }
}
END_TEST

START_TEST(the_example_of_the_header) {
  static const uint64_t numbers[] = {5, 7, 18, 19, 30};
  struct monotone_shape shape;
  ck_assert(monotone_shape(&shape, 5, 31, MONOTONE_FIND));
  check(numbers, 5, 31);
}
END_TEST

START_TEST(two_ends_of_the_range) {
  static const uint64_t numbers[] = {0, UINT64_MAX};
  static const uint64_t top[] = {UINT64_MAX - 2, UINT64_MAX - 1, UINT64_MAX - 1, UINT64_MAX};
  check(numbers, 2, UINT64_MAX);
  check(top, 4, UINT64_MAX);
}
END_TEST

START_TEST(dense) {
  for (uint64_t count = 1; count < 300; count++) {
    check_gaps(count, 1, count);
    check_gaps(count, 2, count);
  }
}
END_TEST

START_TEST(every_number) {
  enum { COUNT = 1000 };
  uint64_t numbers[COUNT];
  for (uint64_t i = 0; i < COUNT; i++)
    numbers[i] = i;
  check(numbers, COUNT, COUNT - 1);
}
END_TEST

START_TEST(sparse) {
  for (unsigned bits = 3; bits < 56; bits++)
    check_gaps(200, (uint64_t)1 << bits, bits);
}
END_TEST

START_TEST(around_the_sample_distance) {
  for (uint64_t count = 120; count < 140; count++)
    for (uint64_t gap = 1; gap < 40; gap += 6)
      check_gaps(count, gap, count * gap);
  for (uint64_t count = 250; count < 260; count++)
    check_gaps(count, 7, count);
}
END_TEST

START_TEST(duplicates) {
  enum { COUNT = 1000 };
  uint64_t numbers[COUNT];
  for (uint64_t i = 0; i < COUNT; i++)
    numbers[i] = 1 + i / 300 * 1000;
  check(numbers, COUNT, 3001);
  check(numbers, COUNT, 100000);
  for (uint64_t i = 0; i < COUNT; i++)
    numbers[i] = 0;
  check(numbers, COUNT, 0);
  check(numbers, COUNT, 1);
  for (uint64_t i = 0; i < COUNT; i++)
    numbers[i] = UINT64_MAX;
  check(numbers, COUNT, UINT64_MAX);
}
END_TEST

/* Clusters of neighbours, far from each other. */
START_TEST(clusters) {
  enum { CLUSTERS = 20, EACH = 100 };
  static const unsigned distances[] = {10, 20, 32, 40, 58};
  uint64_t numbers[CLUSTERS * EACH];
  for (unsigned d = 0; d < sizeof distances / sizeof *distances; d++) {
    for (uint64_t i = 0; i < CLUSTERS * EACH; i++)
      numbers[i] = (i / EACH << distances[d]) + i % EACH;
    check(numbers, CLUSTERS * EACH, numbers[CLUSTERS * EACH - 1]);
    check(numbers, CLUSTERS * EACH, UINT64_MAX);
  }
}
END_TEST

/* One number far behind many: most buckets are empty. */
START_TEST(a_huge_gap) {
  enum { COUNT = 3000 };
  uint64_t numbers[COUNT];
  for (uint64_t i = 0; i < COUNT; i++)
    numbers[i] = i;
  numbers[COUNT - 1] = UINT64_MAX - 5;
  check(numbers, COUNT, UINT64_MAX);
  for (uint64_t i = 1; i < COUNT; i++)
    numbers[i] = UINT64_MAX - COUNT + i;
  check(numbers, COUNT, UINT64_MAX);
}
END_TEST

START_TEST(many) {
  enum { COUNT = 300000 };
  uint64_t *numbers = test_allocate(COUNT * sizeof *numbers);
  struct numbers random = {5};
  uint64_t value = 0;
  for (uint64_t i = 0; i < COUNT; i++)
    numbers[i] = value += numbers_of_bits(&random, 12);
  check_every(numbers, COUNT, value, 7);
  free(numbers);
}
END_TEST

START_TEST(appending_behind_other_words) {
  static const uint64_t numbers[] = {3, 9, 400};
  struct monotone_shape shape;
  struct bit_writer writer = {0};
  bit_writer_put(&writer, UINT64_MAX, 64);
  monotone_write(&writer, numbers, 3, 400, MONOTONE_FIND);
  bit_writer_put(&writer, UINT64_MAX, 64);
  ck_assert(monotone_shape(&shape, 3, 400, MONOTONE_FIND));
  ck_assert_uint_eq(writer.size, 128 + 8 * monotone_size(&shape));
  const struct monotone sequence = monotone_open(writer.bytes + 8, &shape);
  for (uint64_t i = 0; i < 3; i++)
    ck_assert_uint_eq(monotone_value(&sequence, monotone_get(&sequence, i, MONOTONE_FIND)),
                      numbers[i]);
  bit_writer_free(&writer);
}
END_TEST

START_TEST(too_many_for_samples) {
  struct monotone_shape shape;
  ck_assert(!monotone_shape(&shape, (uint64_t)UINT32_MAX + 1, UINT64_MAX, MONOTONE_GET));
  ck_assert(!monotone_shape(&shape, UINT32_MAX, UINT32_MAX, MONOTONE_FIND));
  ck_assert(monotone_shape(&shape, 1000000000, 1000000000, MONOTONE_FIND));
}
END_TEST

/* Cursors that broken bytes lead to must stay inside, and every step must end. */
START_TEST(random_bytes_stay_inside) {
  struct numbers random = {9};
  for (unsigned round = 0; round < 300; round++) {
    struct monotone_shape shape;
    const uint64_t count = numbers_between(&random, 1, 400);
    const enum monotone_use use = round % 2 == 0 ? MONOTONE_FIND : MONOTONE_GET;
    ck_assert(monotone_shape(&shape, count, numbers_of_bits(&random, 40), use));
    const size_t size = (size_t)monotone_size(&shape) + BITS_PADDING;
    uint8_t *bytes = test_allocate(size);
    for (size_t i = 0; i < size; i++)
      bytes[i] = (uint8_t)numbers_next(&random);
    const struct monotone sequence = monotone_open(bytes, &shape);
    bool inside = true;
    for (unsigned i = 0; i < 200; i++) {
      struct monotone_cursor cursor =
          use == MONOTONE_FIND ? monotone_find(&sequence, numbers_of_bits(&random, 64))
                               : monotone_get(&sequence, numbers_below(&random, count), use);
      inside &=
          cursor.index <= count && cursor.index <= cursor.place && cursor.place <= shape.high_bits;
      if (cursor.index < count) {
        cursor = monotone_next(&sequence, cursor);
        inside &= cursor.index <= count && cursor.index <= cursor.place;
      }
    }
    free(bytes);
    ck_assert(inside);
  }
}
END_TEST

SUITE("monotone", no_elements, one_element, the_example_of_the_header, two_ends_of_the_range, dense,
      every_number, sparse, around_the_sample_distance, duplicates, clusters, a_huge_gap, many,
      appending_behind_other_words, too_many_for_samples, random_bytes_stay_inside)
