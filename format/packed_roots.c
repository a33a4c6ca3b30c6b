/* packed_roots.c - the addresses of global roots in a packed table: writes them, and reads them.
 *
 * A global root is a variable that holds a reference. Its address is all there is to know. A program
 * lists them as an array of 8 bytes each; in a position-independent one, each has a dynamic
 * relocation of 24 bytes, too. As variables lie close to each other, their sorted distances from the
 * lowest take a few bits each. The part is the last one of the table, and only tables with the
 * feature PACKED_GLOBAL_ROOTS have it; its size is what the other parts leave of the table's.
 *
 *   +0   u32  count      1 or more
 *   +4   u32  shift      addresses are multiples of 1 << shift from the lowest
 *   +8   i64  start      the lowest address less the table's
 *   +16  u64  span       the highest address less the lowest
 *   +24  sorted sequence of count numbers up to span >> shift, sampled for MONOTONE_GET
 */
#include "format/packed_write.h"

#include <stdlib.h>

enum { COUNT_AT = 0, SHIFT_AT = 4, START_AT = 8, SPAN_AT = 16, SEQUENCE_AT = 24, SHIFT_MAX = 31 };

bool packed_roots_write(const struct safepoints *table, uint64_t address, struct bit_writer *out) {
  const uint32_t count = table->global_root_count;
  if (count == 0)
    return true;
  const uint64_t lowest = table->global_roots[0];
  const uint64_t span = table->global_roots[count - 1] - lowest;
  uint64_t *numbers = malloc(count * sizeof *numbers);
  uint64_t bits = (uint64_t)1 << SHIFT_MAX;
  if (numbers == NULL)
    return false;
  for (uint32_t i = 0; i < count; i++)
    bits |= table->global_roots[i] - lowest;
  const unsigned shift = (unsigned)__builtin_ctzll(bits);
  for (uint32_t i = 0; i < count; i++)
    numbers[i] = (table->global_roots[i] - lowest) >> shift;
  bit_writer_put(out, count, 32);
  bit_writer_put(out, shift, 32);
  bit_writer_put(out, lowest - address, 64);
  bit_writer_put(out, span, 64);
  monotone_write(out, numbers, count, span >> shift, MONOTONE_GET);
  free(numbers);
  return true;
}

bool packed_roots(const struct packed_table *table, struct packed_roots *roots) {
  const uint8_t *bytes = table->roots;
  struct monotone_shape shape;
  *roots = (struct packed_roots){0};
  if (bytes == NULL)
    return true;
  if (table->roots_size < SEQUENCE_AT)
    return false;
  const uint32_t count = bits_load32(bytes + COUNT_AT), shift = bits_load32(bytes + SHIFT_AT);
  if (count == 0 || shift > SHIFT_MAX ||
      !monotone_shape(&shape, count, bits_load64(bytes + SPAN_AT) >> shift, MONOTONE_GET) ||
      monotone_size(&shape) != table->roots_size - SEQUENCE_AT)
    return false;
  roots->numbers = monotone_open(bytes + SEQUENCE_AT, &shape);
  roots->start = table->address + bits_load64(bytes + START_AT);
  roots->shift = (uint8_t)shift;
  roots->next = monotone_get(&roots->numbers, 0, MONOTONE_GET);
  return true;
}

bool packed_roots_next(struct packed_roots *roots, uint64_t *address) {
  if (roots->next.index >= roots->numbers.count)
    return false;
  *address = roots->start + (monotone_value(&roots->numbers, roots->next) << roots->shift);
  roots->next = monotone_next(&roots->numbers, roots->next);
  return true;
}
