/* bits_read.c - the rare cases of the reading side of bits.h. */
#include "format/bits.h"

uint64_t bits_large_numbers_below(const uint8_t *numbers, uint64_t count, unsigned size,
                                  uint64_t value) {
  uint64_t below = 0;
  for (uint64_t i = 0; i < count; i++)
    below += bits_load(numbers + i * size, size) < value;
  return below;
}
