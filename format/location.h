/* location.h - the place of a value at a safepoint: one location of a stack map.
 *
 * As in LLVM's document, "Stack Map Format", except that a constant replaces its index.
 */
#ifndef STACKPACK_LOCATION_H
#define STACKPACK_LOCATION_H

#include <stdint.h>

enum location_kind {
  LOCATION_REGISTER = 1,
  LOCATION_DIRECT = 2,
  LOCATION_INDIRECT = 3,
  LOCATION_CONSTANT = 4,       /* value: 32 bits, sign-extended */
  LOCATION_LARGE_CONSTANT = 5, /* value: 64 bits, unsigned, out of the range of the kind above */
};

struct location {
  uint8_t kind; /* an enum location_kind */
  uint16_t size;
  uint16_t reg; /* a DWARF register number */
  int64_t value;
};

#endif
