/* elf_image.h - finds the parts of a file, or of a loaded module, that are about stack maps.
 * Bounded; needs no library.
 *
 * The runtime needs of an ELF file (gABI, "ELF Header", "Section Header", "Program Header") only
 * this: the note before a packed table, and for an unpacked file, the raw section, the unwind table
 * and the symbols. Each count or offset of the file is checked before its use.
 */
#ifndef STACKPACK_ELF_IMAGE_H
#define STACKPACK_ELF_IMAGE_H

#include "elf/eh_frame.h"

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* More segments to load than linkers make: an address is looked for in each of them. */
enum { ELF_IMAGE_LOADS_MAX = 256 };

/* A file's bytes. For a loaded module, the contents of segments are memory's, and the file gives
 * only section headers and symbols, which memory lacks. Without a file there are none, and `bytes`
 * is NULL. */
struct elf_image {
  const uint8_t *bytes;
  size_t size;
  Elf64_Ehdr header;
  const Elf64_Phdr *loaded; /* the module's header.e_phnum program headers; NULL on disk */
  uint64_t bias;            /* of a loaded module: its addresses less the link-time ones */
  uint16_t loads[ELF_IMAGE_LOADS_MAX]; /* the program headers of type PT_LOAD, by number */
  unsigned load_count;
  Elf64_Phdr dynamic; /* the program header of type PT_DYNAMIC; zeros: there is none */
};

/* Returns NULL, or an error's text (static storage): it must be a little-endian ELF64 file, and its
 * header tables inside. The program headers may still be unread: see elf_image_index. */
const char *elf_image_open(struct elf_image *image, const void *bytes, size_t size);

/* Finds the segments to load, for look-ups of addresses in the image, and the dynamic section: as
 * soon as its program headers are read. Returns NULL, or an error's text (static storage): a file
 * that has more of them than ELF_IMAGE_LOADS_MAX, or a second dynamic section, would have its bytes
 * read again and again. */
const char *elf_image_index(struct elf_image *image);

/* Program header n < header.e_phnum, and section header n < header.e_shnum. */
Elf64_Phdr elf_image_segment(const struct elf_image *image, unsigned n);
Elf64_Shdr elf_image_section(const struct elf_image *image, unsigned n);

/* The bytes of the segment that has a link-time address, from there on; NULL if none has, or it is
 * unreadable. */
const uint8_t *elf_image_at(const struct elf_image *image, uint64_t address, uint64_t *size);

/* The string at an offset of a string table's section; NULL if it is outside. */
const char *elf_image_string(const struct elf_image *image, uint32_t section, uint32_t offset);

/* Finds a packed table: the bytes from the end of its note (note.h) to the segment's end. False if
 * there is none. */
bool elf_image_find_packed(const struct elf_image *image, struct section_bytes *packed);

/* The link-time address of the last executable segment's end; 0 without one. */
uint64_t elf_image_code_end(const struct elf_image *image);

/* The notes of the program headers that have stackpack's name (note.h). */
struct elf_notes {
  const struct elf_image *image;
  unsigned segment;    /* the next one */
  const uint8_t *next; /* in the one that is read */
  uint64_t left;       /* of that one, in bytes */
  uint64_t budget;     /* the number of reads that are left: a hostile file may have many of both */
};
struct elf_notes elf_notes(const struct elf_image *image);
/* Goes to the next note of a type (enum note_type): returns its description, of *size bytes; NULL
 * if there is none. */
const uint8_t *elf_notes_next(struct elf_notes *notes, uint32_t type, uint64_t *size);

/* The next section with stack maps of LLVM's after number *number, which moves on; false if there
 * is none. */
bool elf_image_next_raw(const struct elf_image *image, unsigned *number, Elf64_Shdr *section);

/* A section's bytes, in memory if it is loaded; NULL if they are missing. */
const uint8_t *elf_image_contents(const struct elf_image *image, const Elf64_Shdr *section);

/* The first section of that name, with its bytes; false if there is none. */
bool elf_image_find_section(const struct elf_image *image, const char *name, Elf64_Shdr *section);

/* The number of the dynamic section's entries with a tag (gABI, "Dynamic Section"), and the first
 * one's value; 0 without one. */
unsigned elf_image_dynamic(const struct elf_image *image, Elf64_Sxword tag, uint64_t *value);

/* Applies to bytes[0..section->sh_size), a copy of a section, the relocations that the dynamic
 * section names, for link-time addresses: as if the file were loaded where it was linked. A
 * symbol's value is this file's own definition, even if it resolves elsewhere at run time.
 * (Relocations in DT_RELR have their addends in place already.) False, and *unknown set to the type
 * of an unknown relocation, or of one out of bounds; or to 0, where the relocations are
 * unreadable. */
bool elf_image_relocate(const struct elf_image *image, const Elf64_Shdr *section, uint8_t *bytes,
                        uint32_t *unknown);

/* Whether this changes a section, or fails. */
bool elf_image_is_relocated(const struct elf_image *image, const Elf64_Shdr *section);

/* Goes through the symbols of a file: the first table of each type, as a file has only one (gABI,
 * "Section Types"). */
struct elf_symbols {
  const struct elf_image *image;
  unsigned section; /* of the table that is read */
  Elf64_Shdr table; /* its header, with the size of the symbols that are left */
  const uint8_t *next;
  const char *names; /* the table's strings, or NULL */
  uint64_t names_size;
  bool names_end;               /* the last one does, and so each */
  bool has_static, has_dynamic; /* tables of these types were met */
  bool is_dynamic;              /* the table's type */
  Elf64_Sym symbol;
  const char *name; /* NULL if it is unreadable */
};
static inline struct elf_symbols elf_symbols(const struct elf_image *image) {
  return (struct elf_symbols){.image = image};
}
/* Goes to the first symbol, then to the next; false after the last one. */
bool elf_symbols_next(struct elf_symbols *symbols);
/* The same, over the defined symbols with readable names. */
bool elf_symbols_next_defined(struct elf_symbols *symbols);

/* Whether .symtab has LLVM's symbol of stack maps. */
bool elf_image_has_raw_symbol(const struct elf_image *image);

/* Adds the functions of the symbol tables. False if memory runs out. */
bool elf_image_add_symbols(const struct elf_image *image, struct code_ranges *ranges);

#endif
