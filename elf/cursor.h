/* cursor.h - reads numbers one after another.
 *
 * A read beyond the end gives 0, and marks the cursor as bad: so a reader takes all numbers of an
 * entry, and looks at the mark once.
 */
#ifndef STACKPACK_CURSOR_H
#define STACKPACK_CURSOR_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Bytes of a section, up to `end`: one entry's, say. */
struct cursor {
  const uint8_t *bytes; /* of the section */
  size_t position, end; /* in it */
  uint64_t address;     /* of the section */
  bool bad;             /* a read was beyond the end, or failed; it stays so */
};

static inline struct cursor cursor_open(const uint8_t *bytes, size_t size, uint64_t address) {
  return (struct cursor){bytes, 0, size, address, false};
}

/* A number of so many bytes; 0 where these are beyond the end. */
static inline uint64_t cursor_take(struct cursor *cursor, unsigned size) {
  assert(size <= sizeof(uint64_t) && cursor->position <= cursor->end);
  if (size > cursor->end - cursor->position) {
    cursor->bad = true;
    cursor->position = cursor->end;
    return 0;
  }
  uint64_t value = 0;
  memcpy(&value, cursor->bytes + cursor->position, size);
  cursor->position += size;
  return value;
}

/* A number of a few bytes, perhaps with padding. Its bits beyond 64 are lost, which only hostile
 * files have; more than BYTES_MAX bytes are bad, as a CIE's numbers are read for each FDE. */
static inline uint64_t cursor_take_leb128(struct cursor *cursor, bool is_signed) {
  enum { BYTES_MAX = 32 };
  uint64_t value = 0, byte;
  unsigned shift = 0, bytes = 0;
  do {
    byte = cursor_take(cursor, 1);
    if (shift < 64) {
      value |= (byte & 0x7f) << shift;
      shift += 7;
    }
  } while ((byte & 0x80) != 0 && ++bytes < BYTES_MAX);
  cursor->bad |= bytes == BYTES_MAX;
  if (is_signed && (byte & 0x40) != 0 && shift < 64)
    value |= UINT64_MAX << shift;
  return value;
}

static inline void cursor_skip(struct cursor *cursor, uint64_t size) {
  assert(cursor->position <= cursor->end);
  if (size > cursor->end - cursor->position) {
    cursor->bad = true;
    size = cursor->end - cursor->position;
  }
  cursor->position += (size_t)size;
}

#endif
