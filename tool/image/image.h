/* image.h - an ELF file that is being read: checked once on opening, trusted by all later steps.
 *
 * Opening checks that the header tables, the sections and the segments lie inside the file; that
 * these, and names, refer to each byte only a few times (budget.h); and that no two segments are
 * loaded at one address. libelf reads symbols, and libdw, which uses it, unwind tables and the
 * links to debug information.
 */
#ifndef STACKPACK_IMAGE_H
#define STACKPACK_IMAGE_H

#include "elf/elf_image.h"
#include "elf/machine.h"
#include "tool/image/input.h"

#include <gelf.h>
#include <stddef.h>
#include <stdint.h>

struct image_section {
  const char *name; /* in the file's bytes; if it is a part, static */
  Elf64_Shdr header;
  size_t part_of;          /* the number of the section that image_split made it of; else 0 */
  const char *overlapping; /* the name of a section with some of its bytes in the file; or NULL */
};

struct image {
  const uint8_t *bytes; /* the whole file */
  size_t size;
  Elf64_Ehdr header;
  struct elf_image elf_image;     /* the same three, for the functions that the runtime has, too */
  const struct machine *machine;  /* NULL: an unknown one */
  struct image_section *sections; /* number 0 is the null section; NULL: stripped off */
  Elf64_Phdr *segments;
  size_t section_count, segment_count, section_names; /* section_names: index of .shstrtab */
  size_t section_capacity;
  const Elf64_Phdr *loads[ELF_IMAGE_LOADS_MAX]; /* PT_LOADs with addresses, by address; disjoint */
  size_t load_count;
  Elf *elf;
  struct input file;      /* empty if the bytes are the caller's */
  bool is_laid_out;       /* of objects (tool/objects/): its code isn't linked */
  const char *debug_path; /* the same bytes as a file, for readers of debug information; or NULL */
};

/* Opens a file, or bytes in memory that stay where they are. After a failure nothing need be
 * closed. */
bool image_open(struct image *image, const char *path, struct problem *problem);
bool image_open_memory(struct image *image, uint8_t *bytes, size_t size, struct problem *problem);
void image_close(struct image *image);
/* Gives the bytes of an opened file back. Names are lost with them, but headers stay. */
void image_drop_bytes(struct image *image);

/* Whether a section lists functions to call at the start or the end, by its type. */
static inline bool image_is_start_array(const struct image_section *section) {
  const uint32_t type = section->header.sh_type;
  return type == SHT_INIT_ARRAY || type == SHT_FINI_ARRAY || type == SHT_PREINIT_ARRAY;
}

/* Loops over the sections but for number 0, and over the segments. */
#define EACH_SECTION(image, section)                                                               \
  for (const struct image_section *section = (image)->sections + 1;                                \
       section < (image)->sections + (image)->section_count; section++)
#define EACH_SEGMENT(image, segment)                                                               \
  for (const Elf64_Phdr *segment = (image)->segments;                                              \
       segment < (image)->segments + (image)->segment_count; segment++)

static inline bool all_zero(const uint8_t *bytes, uint64_t size) {
  for (uint64_t i = 0; i < size; i++)
    if (bytes[i] != 0)
      return false;
  return true;
}

/* False for an empty range. */
static inline bool overlap(uint64_t a, uint64_t a_size, uint64_t b, uint64_t b_size) {
  return a_size > 0 && b_size > 0 && a < b + b_size && b < a + a_size;
}

/* Whether a segment has bytes or addresses of a section. (PT_GNU_RELRO describes only memory: if
 * .tbss is its first section, mold gives it offset 0. PT_TLS has addresses for the file's bytes
 * only: those of .tbss are other sections', too.) */
static inline bool overlaps_segment(const Elf64_Phdr *segment, const Elf64_Shdr *section) {
  const uint64_t size = segment->p_type == PT_TLS ? segment->p_filesz : segment->p_memsz;
  return (segment->p_type != PT_GNU_RELRO &&
          overlap(segment->p_offset, segment->p_filesz, section->sh_offset, section->sh_size)) ||
         overlap(segment->p_vaddr, size, section->sh_addr, section->sh_size);
}

/* The first segment of a type; NULL if there is none. */
const Elf64_Phdr *image_first_segment(const struct image *image, uint32_t type);

/* From the first address in memory to the last one's end; empty if nothing is loaded. */
struct code_range image_memory(const struct image *image);

/* The first section of that name; NULL if there is none. */
const struct image_section *image_section(const struct image *image, const char *name);

/* Its bytes; none if it is absent, or has none in the file. */
struct section_bytes image_contents(const struct image *image, const char *name);

/* False, with a problem, if a section shares bytes of the file with another one. */
bool image_check_overlap(const struct image_section *section, struct problem *problem);

/* Whether the file may be for RISC-V's Zcmp or Zcmt. These have jumps, calls, pushes and moves of 2
 * bytes, with the encodings of stores of doubles in the extensions C and D ("The RISC-V Instruction
 * Set Manual", "Zc*"); struct code_instruction marks them. */
bool image_may_have_short_calls(const struct image *image);

/* Makes [address, address + size) of a section a section of its own, with that name (static
 * storage). The bytes after it become another section; those before it keep the number. A section
 * that is taken as a whole gets the name and keeps its number. */
bool image_split(struct image *image, size_t section, uint64_t address, uint64_t size,
                 const char *name, struct problem *problem);

/* The number of a symbol's section, or of the part. Reserved numbers stay. */
size_t image_symbol_section(const struct image *image, const GElf_Sym *symbol);

/* Whether a symbol is in a section, or at its end, by its number and its address: binutils' strip
 * (2.40), with --remove-section, renumbers sections but not those of dynamic symbols. */
bool image_symbol_is_in(const struct image *image, const GElf_Sym *symbol, size_t section);

/* The PT_LOAD segment that has an address in memory; NULL if there is none. */
const Elf64_Phdr *image_load_at(const struct image *image, uint64_t address);

/* The PT_LOAD segment whose bytes in the file include all of a section; NULL if there is none. */
const Elf64_Phdr *image_segment_of(const struct image *image, const Elf64_Shdr *section);

#endif
