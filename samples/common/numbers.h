/* numbers.h - checksums and pseudo-random numbers. The functions are GC leaves: they never
 * allocate. */
#ifndef SAMPLES_NUMBERS_H
#define SAMPLES_NUMBERS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The checksum with one more value. */
uint64_t checksum_add(uint64_t checksum, uint64_t value);

/* The next number of a fixed pseudo-random sequence, after a nonzero one. */
uint64_t random_next(uint64_t number);

#ifdef __cplusplus
}
#endif
#endif
