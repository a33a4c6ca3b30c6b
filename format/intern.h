/* intern.h - a set of distinct sequences of numbers. A sequence's own number is the count of others
 * before it.
 *
 * Stack maps repeat themselves: CPython's 41,881 records have 2,947 different live sets. So
 * locations, live sets, deopt states and whole function layouts are kept once, in one of these, and
 * named by their number. A sequence is any number of 64-bit words, the empty one included.
 */
#ifndef STACKPACK_INTERN_H
#define STACKPACK_INTERN_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct intern {
  uint64_t *words;  /* all sequences, one after another */
  uint32_t *starts; /* count + 1 of them: the start of each in words */
  uint64_t *slots;  /* hash table: a sequence's hash << 32 | (1 + its number), or 0 */
  uint64_t seed;    /* of the hashes */
  size_t words_capacity, starts_capacity;
  uint32_t count, slot_mask;
};

struct intern_sequence {
  const uint64_t *words;
  uint64_t count;
};

static inline bool intern_equal(struct intern_sequence x, struct intern_sequence y) {
  return x.count == y.count &&
         (x.count == 0 || memcmp(x.words, y.words, x.count * sizeof *x.words) == 0);
}

enum { INTERN_FAILED = UINT32_MAX };

/* An empty set is all zeros. It owns its memory. */
void intern_free(struct intern *set);

/* Takes all sequences out. A small set keeps its memory, for the next ones. */
void intern_clear(struct intern *set);

/* The number of the sequence words[0..count), added if it is new; INTERN_FAILED if memory runs out.
 * words must be outside the set itself. */
uint32_t intern_add(struct intern *set, const uint64_t *words, uint64_t count);

/* Sequence `number` < set->count; valid until the next intern_add. */
static inline struct intern_sequence intern_get(const struct intern *set, uint32_t number) {
  assert(number < set->count && set->starts[number] <= set->starts[number + 1]);
  const uint64_t start = set->starts[number];
  return (struct intern_sequence){set->words + start, set->starts[number + 1] - start};
}

#endif
