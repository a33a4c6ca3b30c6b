/* numbers.c - see numbers.h. */
#include "numbers.h"

#include <stdlib.h>
#include <string.h>

uint64_t numbers_next(struct numbers *numbers) {
  uint64_t n = numbers->state += 0x9e3779b97f4a7c15u;
  n = (n ^ n >> 30) * 0xbf58476d1ce4e5b9u;
  n = (n ^ n >> 27) * 0x94d049bb133111ebu;
  return n ^ n >> 31;
}

uint64_t numbers_below(struct numbers *numbers, uint64_t count) {
  return numbers_next(numbers) % count;
}

uint64_t numbers_between(struct numbers *numbers, uint64_t from, uint64_t to) {
  return from + numbers_below(numbers, to - from + 1);
}

bool numbers_chance(struct numbers *numbers, unsigned percent) {
  return numbers_below(numbers, 100) < percent;
}

uint64_t numbers_of_bits(struct numbers *numbers, unsigned bits) {
  return numbers_next(numbers) >> (64 - numbers_between(numbers, 1, bits));
}

bool numbers_few_samples(void) {
  const char *samples = getenv("SAMPLING");
  return samples != NULL && strcmp(samples, "few") == 0;
}

uint64_t numbers_setting(const char *name, uint64_t without) {
  const char *text = getenv(name);
  return text == NULL ? without : strtoull(text, NULL, 0);
}
