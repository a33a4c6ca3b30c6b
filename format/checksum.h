/* checksum.h - hash functions of the xxHash family, in one file, as its header makes large
 * inline code. */
#ifndef STACKPACK_CHECKSUM_H
#define STACKPACK_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* XXH3 (64 bits). */
uint64_t checksum64(const void *bytes, size_t size);

/* The same with a seed. */
uint64_t checksum64_seeded(const void *bytes, size_t size, uint64_t seed);

/* A random odd number, another in each run: a seed for hash tables, so that no file can have keys
 * that were chosen to collide. No result depends on it. */
uint64_t checksum_seed(void);

/* XXH32 of two strings, one after the other, with four bytes of 0 between them. */
uint32_t checksum32_around_zeros(const void *bytes, size_t size, const void *others,
                                 size_t other_size);

#endif
