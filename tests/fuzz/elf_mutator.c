/* elf_mutator.c - mutates ELF files where it hurts: in a field of one of the header tables, or of a
 * section that is a table, of symbols or relocations. */
#include "fuzz.h"

#include <elf.h>
#include <string.h>

/* A table of `count` entries whose fields are 4 and 8 bytes wide, and is inside the file. */
struct header_table {
  uint64_t offset;
  unsigned count, entry_size;
};

static bool is_inside(const struct header_table *table, size_t size) {
  const uint64_t table_size = (uint64_t)table->count * table->entry_size;
  return table->count > 0 && table_size <= size && table->offset <= size - table_size;
}

/* A section's table, if it is one. */
static struct header_table choose_section(const uint8_t *bytes, size_t size,
                                          const Elf64_Ehdr *header, uint64_t *seed) {
  const struct header_table sections = {header->e_shoff, header->e_shnum, sizeof(Elf64_Shdr)};
  Elf64_Shdr section;
  if (!is_inside(&sections, size))
    return (struct header_table){0};
  memcpy(&section,
         bytes + sections.offset + random_below(seed, sections.count) * sections.entry_size,
         sizeof section);
  if (section.sh_entsize < sizeof(uint64_t) || section.sh_entsize > size || section.sh_size > size)
    return (struct header_table){0};
  return (struct header_table){section.sh_offset, (unsigned)(section.sh_size / section.sh_entsize),
                               (unsigned)section.sh_entsize};
}

static struct header_table choose_table(const uint8_t *bytes, size_t size, const Elf64_Ehdr *header,
                                        uint64_t *seed) {
  switch (random_below(seed, 7)) {
  case 0:
    return (struct header_table){0, 1, sizeof *header};
  case 1:
  case 2:
    return (struct header_table){header->e_phoff, header->e_phnum, sizeof(Elf64_Phdr)};
  case 3:
  case 4:
    return choose_section(bytes, size, header, seed);
  default:
    return (struct header_table){header->e_shoff, header->e_shnum, sizeof(Elf64_Shdr)};
  }
}

/* A number that means something in this file: its size, or another field's value. */
static uint64_t choose_hint(const uint8_t *bytes, const struct header_table *table, size_t size,
                            uint64_t *seed) {
  uint64_t number;
  if (random_below(seed, 3) == 0)
    return size;
  memcpy(&number,
         bytes + table->offset + random_below(seed, table->count) * table->entry_size +
             random_below(seed, table->entry_size / sizeof number) * sizeof number,
         sizeof number);
  return number;
}

static void mutate_field(uint8_t *bytes, const struct header_table *table, size_t size,
                         uint64_t *seed) {
  static const unsigned widths[] = {2, 4, 8, 8};
  const unsigned width = widths[random_below(seed, 4)];
  const uint64_t hint = choose_hint(bytes, table, size, seed);
  uint8_t *entry = bytes + table->offset + random_below(seed, table->count) * table->entry_size;
  mutate_number(entry + random_below(seed, table->entry_size / width) * width, width, hint, seed);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed_number) {
  uint64_t seed = seed_number;
  Elf64_Ehdr header;
  if (size >= sizeof header && random_below(&seed, 4) != 0) {
    memcpy(&header, data, sizeof header);
    const struct header_table table = choose_table(data, size, &header, &seed);
    if (is_inside(&table, size)) {
      mutate_field(data, &table, size, &seed);
      return size;
    }
  }
  return LLVMFuzzerMutate(data, size, max_size);
}
