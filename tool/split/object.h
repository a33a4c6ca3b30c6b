/* object.h - a relocatable ELF object that is read, gets more sections and symbols, and is written.
 *
 * Sections keep their numbers, and so do the symbols that are invisible in other files (local ones,
 * the first in a symbol table). New sections come after the old ones. New symbols are local, so
 * they come between the old local ones and the global ones. So the global symbols' numbers grow:
 *
 *     before   0 .. first_global - 1   first_global .. symbol_count - 1
 *     after    the same                the new ones, then the global ones
 *
 * Until the object is written, everything has the old numbers, and a new symbol is
 * OBJECT_NEW_SYMBOL and its place among the new ones. Writing it gives all that names symbols the
 * new numbers: relocations, section groups, and LLVM's table of symbols with a significant address.
 * A section that may name symbols in another way is refused on opening.
 */
#ifndef STACKPACK_SPLIT_OBJECT_H
#define STACKPACK_SPLIT_OBJECT_H

#include "elf/machine.h"
#include "tool/image/problem.h"
#include "tool/split/buffer.h"

#include "tool/image/crel.h"

#include <elf.h>

/* Sections' types of LLVM's own ("Extensions", ELF-Dependent). */
#define SHT_LLVM_ADDRSIG 0x6fff4c03u
#define SHT_LLVM_CALL_GRAPH_PROFILE 0x6fff4c09u

enum { OBJECT_NEW_SYMBOL = 0x40000000 }; /* larger symbol tables are refused */

struct object_section {
  Elf64_Shdr header;
  const uint8_t *bytes; /* header.sh_size of them; NULL for SHT_NOBITS */
  struct buffer owned;  /* the same bytes where they are new */
  uint32_t group;       /* the section group that it is in; 0: none */
};

struct object {
  Elf64_Ehdr header;
  const struct machine *machine;
  struct object_section *sections; /* owned */
  size_t count, capacity;
  size_t file_count; /* of the file's own sections: its symbols are defined in these */
  uint32_t names;    /* the section of sections' names */
  uint32_t symbols, symbol_sections; /* SHT_SYMTAB, SHT_SYMTAB_SHNDX (0: none) */
  uint32_t first_global, symbol_count;
  struct buffer added, added_sections; /* new symbols; and of each, as in SHT_SYMTAB_SHNDX */
  bool needs_sections;                 /* it has a new symbol's section */
};

/* Reads an object of one of the machines that stack maps can be split for. The bytes must outlive
 * it. object_close in any case. */
bool object_open(struct object *object, const uint8_t *bytes, size_t size, struct problem *problem);
void object_close(struct object *object);

const char *object_name(const struct object *object, uint32_t section);

/* An old symbol, and the section that defines it: 0 if this object doesn't. */
Elf64_Sym object_symbol(const struct object *object, uint32_t number);
uint32_t object_symbol_section(const struct object *object, uint32_t number);

static inline bool object_is_relocations(const struct object_section *section) {
  return section->header.sh_type == SHT_RELA || section->header.sh_type == SHT_REL;
}

/* The bytes of a section, to be changed: object_replace follows. */
struct buffer object_take(struct object *object, uint32_t section);

/* Replaces a section's bytes, and takes them over. */
void object_replace(struct object *object, uint32_t section, struct buffer bytes);

/* Each adds one thing, and returns its number or, of a name, its place among the strings. A section
 * takes over the bytes, and has their size instead of the header's. */
uint32_t object_add_section(struct object *object, const Elf64_Shdr *header, struct buffer bytes);
uint32_t object_add_symbol(struct object *object, uint32_t section, uint64_t value, uint32_t name,
                           unsigned char type);
void object_add_to_group(struct object *object, uint32_t group, uint32_t section);
uint32_t object_add_name(struct object *object, uint32_t strings, const char *first,
                         const char *second);

/* Puts the new file together. After it, only object_close may be called. */
bool object_write(struct object *object, struct buffer *file, struct problem *problem);

#endif
