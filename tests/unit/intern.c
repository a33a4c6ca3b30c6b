/* intern.c - tests format/intern.h: equal sequences are interned as one number, different ones as
 * different numbers, in the order of their coming, and all stay when the set grows.
 */
#include "format/intern.h"
#include "numbers.h"
#include "suite.h"

#include <stdlib.h>
#include <string.h>

/* rules.mk has the linker call this one: it fails once, after so many calls. */
static int calls_left = -1;
void *__real_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size) {
  void *grown = calls_left-- == 0 ? NULL : __real_realloc(memory, size);
  if (memory == NULL && grown != NULL)
    memset(grown, 0xff, size);
  return grown;
}

TEST(numbers_go_up_from_zero) {
  struct intern set = {0};
  static const uint64_t a[] = {1, 2}, b[] = {2, 1}, c[] = {1};
  ck_assert_uint_eq(intern_add(&set, a, 2), 0);
  ck_assert_uint_eq(intern_add(&set, b, 2), 1);
  ck_assert_uint_eq(intern_add(&set, c, 1), 2);
  ck_assert_uint_eq(intern_add(&set, b, 2), 1);
  ck_assert_uint_eq(intern_add(&set, a, 2), 0);
  ck_assert_uint_eq(set.count, 3);
  intern_free(&set);
}

TEST(the_empty_sequence) {
  struct intern set = {0};
  static const uint64_t zero[] = {0};
  ck_assert_uint_eq(intern_add(&set, NULL, 0), 0);
  ck_assert_uint_eq(intern_add(&set, zero, 1), 1);
  ck_assert_uint_eq(intern_add(&set, zero, 0), 0);
  ck_assert_uint_eq(intern_get(&set, 0).count, 0);
  ck_assert_uint_eq(intern_get(&set, 1).count, 1);
  ck_assert_uint_eq(intern_get(&set, 1).words[0], 0);
  intern_free(&set);
}

/* A sequence and its beginnings are all different. */
TEST(beginnings_are_sequences_of_their_own) {
  struct intern set = {0};
  uint64_t words[100] = {0};
  for (uint32_t count = 0; count <= 100; count++)
    ck_assert_uint_eq(intern_add(&set, words, count), count);
  for (uint32_t count = 0; count <= 100; count++)
    ck_assert_uint_eq(intern_get(&set, count).count, count);
  intern_free(&set);
}

TEST(many_sequences) {
  enum { COUNT = 100000 };
  struct intern set = {0};
  bool right = true;
  for (uint64_t i = 0; i < COUNT; i++) {
    const uint64_t words[3] = {i, i * i, ~i};
    right &= intern_add(&set, words, 1 + i % 3) == i;
  }
  for (uint64_t i = 0; i < COUNT; i++) {
    const uint64_t words[3] = {i, i * i, ~i};
    const struct intern_sequence sequence = intern_get(&set, (uint32_t)i);
    right &= intern_add(&set, words, 1 + i % 3) == i && sequence.count == 1 + i % 3 &&
             memcmp(sequence.words, words, sequence.count * sizeof *words) == 0;
  }
  ck_assert(right);
  ck_assert_uint_eq(set.count, COUNT);
  intern_free(&set);
}

TEST(a_long_sequence) {
  enum { COUNT = 65535 };
  static uint64_t words[COUNT];
  struct intern set = {0};
  struct numbers numbers = {1};
  for (unsigned i = 0; i < COUNT; i++)
    words[i] = numbers_next(&numbers);
  ck_assert_uint_eq(intern_add(&set, words, 1), 0);
  ck_assert_uint_eq(intern_add(&set, words, COUNT), 1);
  ck_assert_int_eq(memcmp(intern_get(&set, 1).words, words, sizeof words), 0);
  words[COUNT - 1]++;
  ck_assert_uint_eq(intern_add(&set, words, COUNT), 2);
  intern_free(&set);
}

TEST(freeing_leaves_an_empty_set) {
  struct intern set = {0};
  static const uint64_t word[] = {7};
  intern_free(&set);
  intern_add(&set, word, 1);
  intern_free(&set);
  ck_assert_uint_eq(set.count, 0);
  ck_assert_uint_eq(intern_add(&set, word, 1), 0);
  intern_free(&set);
}

/* A sequence that got no memory isn't in the set; the next one is. */
TEST(memory_that_runs_out) {
  static const uint64_t words[] = {7, 8};
  for (int calls = 0; calls < 2; calls++) {
    struct intern set = {0};
    calls_left = calls;
    ck_assert_uint_eq(intern_add(&set, words, 2), INTERN_FAILED);
    ck_assert_uint_eq(intern_add(&set, words, 2), 0);
    ck_assert_uint_eq(intern_get(&set, 0).count, 2);
    intern_free(&set);
  }
}

/* Small sets and large ones start again with 0. */
TEST(cleared_sets) {
  struct intern set = {0};
  intern_clear(&set);
  for (uint32_t count = 1; count < 3000; count = count * 3 / 2 + 1) {
    for (int time = 0; time < 2; time++) {
      for (uint64_t i = 0; i < count; i++)
        ck_assert_uint_eq(intern_add(&set, &i, i % 2), i % 2 == 1 ? (i + 1) / 2 : 0);
      ck_assert_uint_eq(set.count, 1 + count / 2);
      intern_clear(&set);
      ck_assert_uint_eq(set.count, 0);
    }
  }
  intern_free(&set);
}
