/* bytes.h - a string of bytes that grows: a buffer for the tests' input.
 *
 * Deliberately not the library's bit_writer: a mistake in that one must show.
 */
#ifndef STACKPACK_TEST_BYTES_H
#define STACKPACK_TEST_BYTES_H

#include <stddef.h>
#include <stdint.h>

/* Empty is all zeros. */
struct bytes {
  uint8_t *data; /* owned: bytes_free */
  size_t size, capacity;
};

void bytes_free(struct bytes *bytes);
void bytes_add(struct bytes *bytes, const void *data, size_t size);
void bytes_zeros(struct bytes *bytes, size_t count);
/* Adds zeros up to a multiple of `alignment`. */
void bytes_align(struct bytes *bytes, size_t alignment);

/* Little-endian numbers. */
void bytes_u8(struct bytes *bytes, uint8_t value);
void bytes_u16(struct bytes *bytes, uint16_t value);
void bytes_u32(struct bytes *bytes, uint32_t value);
void bytes_u64(struct bytes *bytes, uint64_t value);
/* Overwrites the number at a position. */
void bytes_set_u32(struct bytes *bytes, size_t position, uint32_t value);

/* A copy in a block of exactly this size, so that a sanitizer sees every read beyond its end. */
uint8_t *bytes_exact(const void *data, size_t size);
/* The same, followed by so many bytes 0xff: where readers load beyond a part's end. */
uint8_t *bytes_padded(const void *data, size_t size, size_t padding);

/* malloc and realloc that end the program instead of returning NULL. */
void *test_allocate(size_t size);
void *test_reallocate(void *memory, size_t size);

#endif
