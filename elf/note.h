/* note.h - the note by which a packed table is found.
 *
 * The packed section starts with an ELF note, and a PT_NOTE program header of its own covers just
 * this note; the table follows. So the table is found in a running process by dl_iterate_phdr, and
 * every tool that copies ELF files (strip, objcopy, patchelf) keeps header and section, without
 * knowing them. (A program header of an own type is copied, too, but checkers such as eu-elflint
 * call it an error.)
 *
 *   u32 name size = 10, u32 description size = 0, u32 type = 1, "stackpack\0", 2 bytes of padding
 *
 * elf.h's name for a note of type 1 without a description is NT_VERSION. (gABI, "Note Section")
 */
#ifndef STACKPACK_NOTE_H
#define STACKPACK_NOTE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { PACKED_NOTE_SIZE = 24 };

static const uint8_t packed_note[PACKED_NOTE_SIZE] = {
    10, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 's', 't', 'a', 'c', 'k', 'p', 'a', 'c', 'k', 0, 0, 0,
};

/* Whether bytes[0..size) is that note. */
static inline bool packed_note_is(const void *bytes, uint64_t size) {
  return size == PACKED_NOTE_SIZE && memcmp(bytes, packed_note, PACKED_NOTE_SIZE) == 0;
}

#endif
