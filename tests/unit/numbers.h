/* numbers.h - random numbers that a seed repeats: splitmix64 (Steele, Lea, Flood: "Fast splittable
 * pseudorandom number generators").
 */
#ifndef STACKPACK_TEST_NUMBERS_H
#define STACKPACK_TEST_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

struct numbers {
  uint64_t state; /* the seed */
};

uint64_t numbers_next(struct numbers *numbers);
/* From 0 to count - 1; count is at least 1. */
uint64_t numbers_below(struct numbers *numbers, uint64_t count);
/* From `from` to `to`, both included. */
uint64_t numbers_between(struct numbers *numbers, uint64_t from, uint64_t to);
/* True in so many of a hundred cases. */
bool numbers_chance(struct numbers *numbers, unsigned percent);
/* A number of up to `bits` bits (1 to 64), each length as often as any other. */
uint64_t numbers_of_bits(struct numbers *numbers, unsigned bits);

/* Whether a test of many cases of one kind tries some of them only (SAMPLING=few: see tests/run). */
bool numbers_few_samples(void);

/* The value of an environment variable, or a default. */
uint64_t numbers_setting(const char *name, uint64_t without);

#endif
