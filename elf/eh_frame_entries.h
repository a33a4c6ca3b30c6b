/* eh_frame_entries.h - goes through the entries of .eh_frame.
 *
 * A CIE (common information entry) has the encoding of its FDEs' addresses, and the first
 * instructions of all of them. An FDE (frame description entry) refers to its CIE, and is about one
 * function.
 *
 * The entries' numbers are read one after another. A read beyond the end gives 0, and marks the
 * cursor as bad: so a reader takes all numbers of an entry, and looks at the mark once.
 */
#ifndef STACKPACK_EH_FRAME_ENTRIES_H
#define STACKPACK_EH_FRAME_ENTRIES_H

#include "format/code_ranges.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* ---- Numbers ---- */

/* DW_EH_PE_*: the encodings of an address. (LSB, "DWARF Exception Header Encoding") */
enum {
  FORMAT_ABSOLUTE = 0x00,
  FORMAT_ULEB128 = 0x01,
  FORMAT_UDATA2 = 0x02,
  FORMAT_UDATA4 = 0x03,
  FORMAT_UDATA8 = 0x04,
  FORMAT_SDATA2 = 0x0a,
  FORMAT_SDATA4 = 0x0b,
  FORMAT_SDATA8 = 0x0c,
  FORMAT_MASK = 0x0f,
  RELATIVE_TO_PLACE = 0x10,
  RELATIVE_MASK = 0x70,
  INDIRECT = 0x80,
  OMITTED = 0xff,
};

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

/* A number of up to 8 bytes; 0 where these are beyond the end. */
static inline uint64_t cursor_take(struct cursor *cursor, unsigned size) {
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
  if (size > cursor->end - cursor->position) {
    cursor->bad = true;
    size = cursor->end - cursor->position;
  }
  cursor->position += (size_t)size;
}

static inline uint64_t cursor_take_encoded(struct cursor *cursor, unsigned format) {
  switch (format & FORMAT_MASK) {
  case FORMAT_ABSOLUTE:
  case FORMAT_UDATA8:
  case FORMAT_SDATA8:
    return cursor_take(cursor, 8);
  case FORMAT_ULEB128:
    return cursor_take_leb128(cursor, false);
  case FORMAT_UDATA4:
    return cursor_take(cursor, 4);
  case FORMAT_SDATA4:
    return (uint64_t)(int64_t)(int32_t)cursor_take(cursor, 4);
  case FORMAT_UDATA2:
    return cursor_take(cursor, 2);
  case FORMAT_SDATA2:
    return (uint64_t)(int64_t)(int16_t)cursor_take(cursor, 2);
  default:
    cursor->bad = true;
    return 0;
  }
}

/* ---- Entries ---- */

/* The facts of a CIE. */
struct cie_facts {
  unsigned encoding, data_encoding; /* data: language-specific ones, named by FDEs */
  uint64_t personality;             /* 0: none, or unknown */
  uint64_t code_alignment, data_alignment;
  uint64_t return_register; /* its rule is the return address's */
  bool has_augmentation;    /* in FDEs, too */
  struct cursor instructions;
};

/* The CIE that was read last: most of the FDEs after it refer to it. */
struct last_cie {
  size_t position; /* SIZE_MAX: none yet */
  struct cie_facts facts;
  bool is_good;
};

/* Goes to the next FDE whose CIE and addresses are readable: *range is its function, and *fde goes
 * on after these addresses. False at the section's end. `section` and `cie` are the walk's state:
 * before the first FDE they are cursor_open's result, and a last_cie with position SIZE_MAX. */
bool eh_frame_next(struct cursor *section, struct last_cie *cie, struct cursor *fde,
                   struct code_range *range);

/* The same for the entry at section.position; false for another entry. */
bool eh_frame_at(struct cursor section, struct last_cie *cie, struct cursor *fde,
                 struct code_range *range);

#endif
