/* relocations.h - reads the dynamic relocations of a linked file that are relative to its place in
 * memory.
 *
 * They are in tables of Elf64_Rela entries, among others, or in one of kind RELR (gABI, "Relative
 * Relocation Table"). That has places only, as bit maps: an even word is an address to relocate;
 * the other 63 bits of an odd word select those of the next 63 words that are to be relocated, too.
 * The addends are at these places.
 */
#ifndef STACKPACK_RELOCATIONS_H
#define STACKPACK_RELOCATIONS_H

#include "elf/cursor.h"
#include "tool/image/image.h"

#include <string.h>

enum { RELR_MAP_BITS = 63 };

static inline bool relocation_is_relative(const struct image *image, const Elf64_Rela *relocation) {
  return image->machine != NULL &&
         ELF64_R_TYPE(relocation->r_info) == image->machine->relocations.relative;
}

/* Whether a section has dynamic relocations whose addends are in place (Elf64_Rel): unsupported. */
static inline bool relocations_lack_addends(const Elf64_Shdr *section) {
  return section->sh_type == SHT_REL && (section->sh_flags & SHF_ALLOC) != 0 &&
         section->sh_size > 0;
}

/* Reads the next entry of a table; *at is its place, in bytes from the table's start. False after
 * the last one. */
static inline bool rela_next(const struct image *image, const Elf64_Shdr *table, uint64_t *at,
                             Elf64_Rela *relocation) {
  if (table->sh_size - *at < sizeof *relocation)
    return false;
  memcpy(relocation, image->bytes + table->sh_offset + *at, sizeof *relocation);
  *at += sizeof *relocation;
  return true;
}

/* Goes through the addresses of a RELR table. */
struct relr_reader {
  struct cursor words;
  uint64_t map; /* bit n: the word number n from `base` on is yet to come */
  uint64_t base;
  uint64_t next; /* where the next map starts */
};

static inline struct relr_reader relr_open(const struct image *image, const Elf64_Shdr *table) {
  return (struct relr_reader){.words =
                                  cursor_open(image->bytes + table->sh_offset, table->sh_size, 0)};
}

/* False after the last one. */
static inline bool relr_next(struct relr_reader *reader, uint64_t *address) {
  while (reader->map == 0) {
    const uint64_t word = cursor_take(&reader->words, sizeof word);
    if (reader->words.bad)
      return false;
    if ((word & 1) == 0) {
      reader->next = word + sizeof word;
      *address = word;
      return true;
    }
    reader->map = word >> 1;
    reader->base = reader->next;
    reader->next += RELR_MAP_BITS * sizeof word;
  }
  *address = reader->base + (uint64_t)__builtin_ctzll(reader->map) * sizeof reader->map;
  reader->map &= reader->map - 1;
  return true;
}

#endif
