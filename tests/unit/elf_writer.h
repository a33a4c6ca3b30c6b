/* elf_writer.h - puts small ELF files together: the parts that the runtime looks for in a file or
 * module. All of a file is in one loadable segment, so its addresses are its offsets plus a base.
 */
#ifndef STACKPACK_TEST_ELF_WRITER_H
#define STACKPACK_TEST_ELF_WRITER_H

#include "bytes.h"
#include "model.h"

#include <elf.h>

enum { ELF_SEGMENTS_MAX = 8, ELF_SECTIONS_MAX = 80, ELF_PATH_SIZE = 200 };

struct elf {
  struct bytes bytes;
  struct bytes names; /* of sections */
  uint64_t base;      /* the address of the file's first byte */
  uint64_t memory;    /* the segment's size in memory, where that is more than the file's */
  Elf64_Phdr segments[ELF_SEGMENTS_MAX];
  Elf64_Shdr sections[ELF_SECTIONS_MAX];
  unsigned segment_count, section_count;
  bool without_sections; /* write no section headers */
};

void elf_begin(struct elf *elf, uint64_t base);
void elf_free(struct elf *elf);

/* Appends bytes at a multiple of 8; returns their offset. */
uint64_t elf_add(struct elf *elf, const void *data, size_t size);
/* A section with those bytes; returns its number. */
unsigned elf_add_section(struct elf *elf, const char *name, uint32_t type, const void *data,
                         size_t size);
/* A program header that covers part of the file. */
void elf_add_segment(struct elf *elf, uint32_t type, uint64_t offset, uint64_t size);

/* The address of a file's packed table if it is added next. */
uint64_t elf_table_address(const struct elf *elf);
/* Adds the note, its program header, and a packed table after it. */
void elf_add_packed(struct elf *elf, const void *table, size_t size);
/* Packs a finished model for its address, and adds it. */
void elf_add_packed_model(struct elf *elf, const struct model *model);
/* Adds a finished model as a raw section; returns its number. */
unsigned elf_add_raw_model(struct elf *elf, const struct model *model);

/* Adds the dynamic section that the loader needs to load the file as a library. */
void elf_add_dynamic(struct elf *elf);

/* Writes the headers; the file is in elf->bytes. */
void elf_finish(struct elf *elf);

/* Writes bytes to a new temporary file; the caller unlinks it. */
void write_temporary(const struct bytes *bytes, char path[ELF_PATH_SIZE]);

#endif
