/* checksum.c - hash functions: see checksum.h. */
#include "format/checksum.h"

#define XXH_INLINE_ALL
#include <string.h>
#include <sys/auxv.h>
#include <xxhash.h>

uint64_t checksum64(const void *bytes, size_t size) { return XXH3_64bits(bytes, size); }

/* The kernel gives each run 16 random bytes (getauxval(3)). */
uint64_t checksum_seed(void) {
  const void *random = (const void *)getauxval(AT_RANDOM);
  uint64_t seed = 0;
  if (random != NULL)
    memcpy(&seed, random, sizeof seed);
  return seed | 1;
}

uint64_t checksum64_seeded(const void *bytes, size_t size, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes, size, seed);
}

uint32_t checksum32_around_zeros(const void *bytes, size_t size, const void *others,
                                 size_t other_size) {
  static const uint8_t zeros[4];
  XXH32_state_t state;
  XXH32_reset(&state, 0);
  XXH32_update(&state, bytes, size);
  XXH32_update(&state, zeros, sizeof zeros);
  XXH32_update(&state, others, other_size);
  return XXH32_digest(&state);
}
