/* numbers.c - checksums and pseudo-random numbers for the samples.
 *
 * This stands for the part of a language's runtime that handles no references: it is compiled by
 * any C compiler, and no collection can start in it. Its functions are GC leaves: the compiler may
 * keep references in registers across calls to them, and no stack map has to say where.
 *
 * The checksum is FNV-1a over words. The random numbers are the xorshift sequence with the shifts
 * 13, 7, 17, which never reaches 0 from another number.
 */
#include "numbers.h"

uint64_t checksum_add(uint64_t checksum, uint64_t value) {
  return (checksum ^ value) * UINT64_C(0x100000001b3);
}

uint64_t random_next(uint64_t number) {
  number ^= number << 13;
  number ^= number >> 7;
  number ^= number << 17;
  return number;
}
