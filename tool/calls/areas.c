/* areas.c - see areas.h. */
#include "tool/calls/areas.h"

#include "format/search.h"

#include <stdlib.h>
#include <string.h>

/* Whether a loaded section is one that only unwinders and stack maps' readers use. A program may
 * give its own sections names that begin like these, and put pointers among its tables of
 * exceptions. */
static bool is_table(const char *name) {
  static const char *const names[] = {".eh_frame", ".eh_frame_hdr", ".stackpack",
                                      ".stackpack.head"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(name, names[i]) == 0)
      return true;
  return false;
}

/* Whether a loaded section holds a program's own words. */
static bool is_area(const struct image *image, const struct image_section *section,
                    const struct image_section *raw) {
  const Elf64_Shdr *header = &section->header;
  if (section == raw || (header->sh_flags & SHF_ALLOC) == 0 || header->sh_size == 0 ||
      image_segment_of(image, header) == NULL)
    return false;
  switch (header->sh_type) {
  case SHT_NOBITS:
  case SHT_SYMTAB:
  case SHT_DYNSYM:
  case SHT_STRTAB:
  case SHT_RELA:
  case SHT_REL:
  case SHT_RELR:
  case SHT_HASH:
  case SHT_GNU_HASH:
  case SHT_DYNAMIC:
  case SHT_GNU_verdef:
  case SHT_GNU_verneed:
  case SHT_GNU_versym:
    return false;
  default:
    return !is_table(section->name);
  }
}

/* Whether a section's segment is writable: then the program may change its bytes. */
static bool is_changeable(const struct image *image, const struct image_section *section) {
  const Elf64_Phdr *segment = image_segment_of(image, &section->header);
  return segment != NULL && (segment->p_flags & PF_W) != 0;
}

/* Whether a section is read-only once the program runs. Its segment decides: the section's own
 * flags are only the linker's input. `sealed` is the memory that the dynamic linker protects after
 * relocating it, or NULL. (It honours one such segment of a file. Words of the global offset table
 * may be writable, but only the dynamic linker writes to them: see struct linkage_word.) */
static bool is_constant(const struct image *image, const struct image_section *section,
                        const Elf64_Phdr *sealed) {
  const uint64_t into = sealed == NULL ? 0 : section->header.sh_addr - sealed->p_vaddr;
  return !is_changeable(image, section) || (sealed != NULL && into < sealed->p_memsz &&
                                            section->header.sh_size <= sealed->p_memsz - into);
}

static bool is_linkage(const char *name) {
  return strncmp(name, ".plt", 4) == 0 || strncmp(name, ".iplt", 5) == 0;
}

static bool is_start_table(const struct image_section *section) {
  return image_is_start_array(section) || strcmp(section->name, ".ctors") == 0 ||
         strcmp(section->name, ".dtors") == 0;
}

static int compare_areas(const void *a, const void *b) {
  const struct area *x = a, *y = b;
  return x->address < y->address ? -1 : x->address > y->address;
}

static void add_area(struct areas *areas, const struct image *image,
                     const struct image_section *section, const Elf64_Phdr *sealed) {
  const Elf64_Shdr *header = &section->header;
  const bool is_code = (header->sh_flags & SHF_EXECINSTR) != 0;
  areas->items[areas->count++] = (struct area){
      .name = section->name,
      .bytes = image->bytes + header->sh_offset,
      .address = header->sh_addr,
      .size = header->sh_size,
      .is_code = is_code,
      .is_undecodable = is_changeable(image, section),
      .is_linkage = is_code && is_linkage(section->name),
      .is_start_table = is_start_table(section),
      .is_constant = is_constant(image, section, sealed),
      .marks = {calloc(header->sh_size / 8 + 1, 1), calloc(header->sh_size / 8 + 1, 1),
                calloc(header->sh_size / 8 + 1, 1)},
  };
}

bool areas_open(struct areas *areas, const struct image *image, const struct image_section *raw,
                struct problem *problem) {
  *areas = (struct areas){.items = calloc(image->section_count + 1, sizeof *areas->items),
                          .memory = image_memory(image),
                          .may_have_short_calls = image_may_have_short_calls(image)};
  const Elf64_Phdr *sealed = image_first_segment(image, PT_GNU_RELRO);
  for (size_t i = 1; i < image->section_count; i++)
    if (is_area(image, &image->sections[i], raw))
      add_area(areas, image, &image->sections[i], sealed);
  qsort(areas->items, areas->count, sizeof *areas->items, compare_areas);
  for (size_t i = 1; i < areas->count; i++)
    if (areas->items[i].address - areas->items[i - 1].address < areas->items[i - 1].size)
      return problem_set(problem, "sections %s and %s overlap in memory", areas->items[i - 1].name,
                         areas->items[i].name);
  return true;
}

void areas_close(struct areas *areas) {
  for (size_t i = 0; i < areas->count; i++) {
    for (size_t mark = 0; mark < sizeof areas->items[i].marks / sizeof(uint8_t *); mark++)
      free(areas->items[i].marks[mark]);
  }
  free(areas->items);
  *areas = (struct areas){0};
}

struct area *areas_find(const struct areas *areas, uint64_t address) {
  if (areas_are_beyond(areas, address))
    return NULL;
  const size_t from = SEARCH_UP_TO(areas->items, areas->count, address, address);
  if (from == 0 || address - areas->items[from - 1].address >= areas->items[from - 1].size)
    return NULL;
  return &areas->items[from - 1];
}
