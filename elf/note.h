/* note.h - the notes of a program about stack maps: one of them marks a packed table.
 *
 * The packed section starts with an ELF note, and a PT_NOTE program header of its own covers just
 * this note; the table follows. So the table is found in a running process by dl_iterate_phdr, and
 * every tool that copies ELF files (strip, objcopy, patchelf) keeps header and section like all
 * unknown ones. (A program header of an own type is copied, too, but checkers such as eu-elflint
 * call it an error.)
 *
 *   u32 name size = 10, u32 description size = 0, u32 type = 1, "stackpack\0", 2 bytes of padding
 *
 * elf.h's name for a note of type 1 with an empty description is NT_VERSION. (gABI, "Note Section")
 *
 * Notes of other types have the same name, and are the program's own. They stay when it is packed
 * or stripped:
 *
 *   type 2  IDs of the program's statepoints: ranges of u64 first, u64 last (stackpack.h,
 *           STACKPACK_STATEPOINT_IDS)
 *   type 3  libstackpack is linked statically
 *
 * `pack` takes a program with the name of LLVM's section or symbol in its data for a reader of its
 * own stack maps. So here, and in all of the library, these names are in two pieces.
 */
#ifndef STACKPACK_NOTE_H
#define STACKPACK_NOTE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { PACKED_NOTE_SIZE = 24 };
enum note_type { NOTE_PACKED = 1, NOTE_STATEPOINTS = 2, NOTE_READER = 3 };

/* A note with an empty description. */
#define NOTE_OF(type)                                                                              \
  { 10, 0, 0, 0, 0, 0, 0, 0, type, 0, 0, 0, 's', 't', 'a', 'c', 'k', 'p', 'a', 'c', 'k', 0, 0, 0 }

static const uint8_t packed_note[PACKED_NOTE_SIZE] = NOTE_OF(NOTE_PACKED);

/* Whether bytes[0..size) is that note. */
static inline bool packed_note_is(const void *bytes, uint64_t size) {
  return size == PACKED_NOTE_SIZE && memcmp(bytes, packed_note, PACKED_NOTE_SIZE) == 0;
}

#endif
