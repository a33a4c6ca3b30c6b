/* note.c - tests elf/note.h: the note for finding a table is a well-formed ELF note, and all
 * others are passed over.
 */
#include "elf/note.h"
#include "suite.h"

#include <elf.h>

TEST(is_a_well_formed_note) {
  Elf64_Nhdr header;
  memcpy(&header, packed_note, sizeof header);
  ck_assert_uint_eq(header.n_namesz, sizeof "stackpack");
  ck_assert_uint_eq(header.n_descsz, 0);
  ck_assert_uint_eq(header.n_type, 1);
  ck_assert_str_eq((const char *)packed_note + sizeof header, "stackpack");
  ck_assert_uint_eq(sizeof header + (header.n_namesz + 3) / 4 * 4, PACKED_NOTE_SIZE);
}

/* The table after it must be 8-aligned if the note is. */
TEST(keeps_the_alignment) { ck_assert_uint_eq(PACKED_NOTE_SIZE % 8, 0); }

TEST(is_itself) {
  ck_assert(packed_note_is(packed_note, PACKED_NOTE_SIZE));
  ck_assert(!packed_note_is(packed_note, PACKED_NOTE_SIZE - 1));
  ck_assert(!packed_note_is(packed_note, PACKED_NOTE_SIZE + 1));
  ck_assert(!packed_note_is(packed_note, 0));
}

TEST(is_nothing_else) {
  for (unsigned bit = 0; bit < 8 * PACKED_NOTE_SIZE; bit++) {
    uint8_t other[PACKED_NOTE_SIZE];
    memcpy(other, packed_note, sizeof other);
    other[bit / 8] ^= (uint8_t)(1 << bit % 8);
    ck_assert(!packed_note_is(other, sizeof other));
  }
}
