/* numbers.c - checksums and pseudo-random numbers for the samples.
 *
 * This is an example of runtime code that handles no references: any C compiler compiles it, and it
 * never starts a collection. Its functions are GC leaves: the compiler may keep references in
 * registers across calls to them, and the calls need no stack map.
 *
 * The checksum is FNV-1a over words. The random numbers are the xorshift sequence with the shifts
 * 13, 7, 17. A nonzero number has only nonzero successors.
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
