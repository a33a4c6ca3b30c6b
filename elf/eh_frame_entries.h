/* eh_frame_entries.h - goes through the entries of .eh_frame.
 *
 * A CIE (common information entry) has the encoding of its FDEs' addresses, and the first
 * instructions of all of them. An FDE (frame description entry) refers to its CIE, and is about one
 * function.
 *
 * The entries' numbers are read one after another: see cursor.h.
 */
#ifndef STACKPACK_EH_FRAME_ENTRIES_H
#define STACKPACK_EH_FRAME_ENTRIES_H

#include "elf/cursor.h"
#include "format/code_ranges.h"

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

/* A number, and the address that it is relative to: its own place, or 0. False where it is
 * unreadable, or relative to something else. */
static inline bool cursor_take_relative(struct cursor *cursor, unsigned encoding, uint64_t *base,
                                        uint64_t *value) {
  const unsigned relation = encoding & (RELATIVE_MASK | INDIRECT);
  *base = relation == RELATIVE_TO_PLACE ? cursor->address + cursor->position : 0;
  *value = cursor_take_encoded(cursor, encoding);
  return !cursor->bad && (relation == 0 || relation == RELATIVE_TO_PLACE);
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

/* An FDE, and the way to those after it. */
struct eh_frame_entry {
  struct cursor section; /* behind the entry */
  struct last_cie cie;
  struct cursor fde; /* after the function's addresses */
  struct code_range function;
};

/* Before the first entry of a section. */
static inline struct eh_frame_entry eh_frame_open(const uint8_t *bytes, size_t size,
                                                  uint64_t address) {
  return (struct eh_frame_entry){.section = cursor_open(bytes, size, address),
                                 .cie.position = SIZE_MAX};
}

/* Goes to the next FDE whose CIE and addresses are readable. False at the section's end. */
bool eh_frame_next(struct eh_frame_entry *entry);

/* The same for the next entry alone; false for another one than such an FDE. */
bool eh_frame_take(struct eh_frame_entry *entry);

#endif
