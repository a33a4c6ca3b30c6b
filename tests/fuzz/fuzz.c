/* fuzz.c - see fuzz.h. */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

void finding(const char *promise, const char *detail) {
  fprintf(stderr, "finding: %s%s%s\n", promise, detail == NULL ? "" : ": ",
          detail == NULL ? "" : detail);
  abort();
}

uint8_t *exact_block(const uint8_t *bytes, size_t copied, size_t size) {
  uint8_t *block = malloc(size > 0 ? size : 1);
  if (block == NULL)
    abort();
  if (copied > 0)
    memcpy(block, bytes, copied);
  if (size > copied)
    memset(block + copied, 0, size - copied);
  return block;
}

size_t compress_block(void *destination, size_t capacity, const void *source, size_t size) {
  const size_t result = ZSTD_compress(destination, capacity, source, size, 1);
  return ZSTD_isError(result) ? 0 : result;
}

/* Knuth's linear congruential generator (MMIX), its high bits. */
uint32_t next_random(uint64_t *seed) {
  *seed = *seed * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*seed >> 33);
}

uint32_t random_below(uint64_t *seed, uint32_t limit) { return next_random(seed) % limit; }

static uint64_t odd_number(unsigned width, uint64_t old, uint64_t hint, uint64_t *seed) {
  const unsigned bits = width * 8;
  const uint64_t around = (uint64_t)random_below(seed, 17) - 8;
  switch (random_below(seed, 7)) {
  case 0:
    return random_below(seed, 3);
  case 1:
    return UINT64_MAX - random_below(seed, 3);
  case 2:
    return ((uint64_t)1 << random_below(seed, bits)) + (uint64_t)random_below(seed, 3) - 1;
  case 3:
    return old + around;
  case 4:
    return hint + around;
  case 5:
    return old ^ (uint64_t)1 << random_below(seed, bits);
  default:
    return random_below(seed, 256);
  }
}

void mutate_number(uint8_t *bytes, unsigned width, uint64_t hint, uint64_t *seed) {
  uint64_t number = 0;
  memcpy(&number, bytes, width);
  number = odd_number(width, number, hint, seed);
  memcpy(bytes, &number, width);
}

size_t repair_header(uint8_t *bytes, size_t size, size_t most) {
  struct packed_header header;
  uint64_t place;
  memcpy(&header, bytes, sizeof header);
  header.magic = PACKED_MAGIC;
  header.version = PACKED_VERSION;
  if (header.part_count > (size - sizeof header) / PACKED_ENTRY_SIZE ||
      header.part_count >= PACKED_PARTS)
    return 0;
  header.header_size = (uint16_t)(sizeof header + header.part_count * PACKED_ENTRY_SIZE);
  place = header.header_size;
  for (unsigned i = 0; i < header.part_count; i++)
    place += bits_load32(bytes + sizeof header + i * PACKED_ENTRY_SIZE + 4);
  header.size = place + BITS_PADDING;
  memcpy(bytes, &header, sizeof header);
  header.header_checksum = packed_header_checksum(bytes, header.header_size);
  memcpy(bytes, &header, sizeof header);
  return header.size <= most ? header.size : 0;
}
