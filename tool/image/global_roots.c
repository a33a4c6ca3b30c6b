/* global_roots.c - see global_roots.h.
 *
 * The section is an array of addresses, as `static T **const root = &variable` in a section of its
 * own makes it. In a position-independent file an address may be in the section, or in a relocation
 * that puts it there. A relocation relative to the file's place in memory has just one meaning; a
 * relocation that names a symbol may get the address of another module's variable (gABI, "Dynamic
 * Linking": interposition, copy relocations), beyond a table of link-time addresses.
 *
 * Each must be the address of a word in writable memory: a collector will write there.
 */
#include "tool/image/global_roots.h"

#include "tool/image/relocations.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { ROOT_SIZE = 8 };

static const struct image_section *find(const struct image *image, const char *name,
                                        struct problem *problem) {
  const struct image_section *found = NULL;
  EACH_SECTION(image, section) {
    if (strcmp(section->name, name) != 0)
      continue;
    if (found != NULL) {
      problem_set(problem, "several sections %s for global roots", name);
      return NULL;
    }
    found = section;
  }
  if (found == NULL)
    problem_set(problem, "no section %s for global roots", name);
  return found;
}

static bool check_section(const struct image *image, const struct image_section *section,
                          struct problem *problem) {
  const Elf64_Shdr *header = &section->header;
  if (header->sh_type != SHT_PROGBITS || (header->sh_flags & SHF_ALLOC) == 0 ||
      (header->sh_flags & SHF_COMPRESSED) != 0 || image_segment_of(image, header) == NULL)
    return problem_set(problem, "section %s isn't loaded data, as global roots must be",
                       section->name);
  if (header->sh_size % ROOT_SIZE != 0 || header->sh_addr % ROOT_SIZE != 0)
    return problem_set(problem, "section %s is no array of addresses", section->name);
  return image_check_overlap(section, problem);
}

/* Puts one relocation's address into the array, if it is in the section. */
static bool relocate(const struct image *image, const struct image_section *section,
                     const Elf64_Rela *relocation, uint64_t *roots, struct problem *problem) {
  const uint64_t into = relocation->r_offset - section->header.sh_addr;
  if (into >= section->header.sh_size || relocation->r_info == 0)
    return true;
  if (into % ROOT_SIZE != 0)
    return problem_set(problem, "a relocation across two entries of section %s", section->name);
  if (!relocation_is_relative(image, relocation))
    return problem_set(problem,
                       "a global root (at offset 0x%" PRIx64 " of section %s) that another module "
                       "may replace: give its variable hidden visibility",
                       into, section->name);
  assert(section->header.sh_size % ROOT_SIZE == 0); /* so that the last entry is whole */
  roots[into / ROOT_SIZE] = (uint64_t)relocation->r_addend;
  return true;
}

static bool relocate_all(const struct image *image, const struct image_section *section,
                         uint64_t *roots, struct problem *problem) {
  EACH_SECTION(image, other) {
    const Elf64_Shdr *table = &other->header;
    if (table->sh_type != SHT_RELA || (table->sh_flags & SHF_ALLOC) == 0)
      continue;
    Elf64_Rela relocation;
    for (uint64_t at = 0; rela_next(image, table, &at, &relocation);)
      if (!relocate(image, section, &relocation, roots, problem))
        return false;
  }
  return true;
}

/* Whether a word may be written at an address. */
static bool is_variable(const struct image *image, uint64_t address) {
  const Elf64_Phdr *segment = image_load_at(image, address);
  return segment != NULL && (segment->p_flags & PF_W) != 0 &&
         segment->p_memsz - (address - segment->p_vaddr) >= ROOT_SIZE && address % ROOT_SIZE == 0;
}

/* Leaves out entries that are 0: weak symbols without a definition. */
static bool check_roots(const struct image *image, const char *name, uint64_t *roots, size_t *count,
                        struct problem *problem) {
  size_t kept = 0;
  for (size_t i = 0; i < *count; i++) {
    if (roots[i] == 0)
      continue;
    if (!is_variable(image, roots[i]))
      return problem_set(problem,
                         "entry %zu of section %s, 0x%" PRIx64 ", is no aligned word of writable "
                         "memory",
                         i, name, roots[i]);
    roots[kept++] = roots[i];
  }
  *count = kept;
  return true;
}

bool global_roots_read(const struct image *image, const char *name, struct safepoints *table,
                       const struct image_section **section, struct problem *problem) {
  *section = find(image, name, problem);
  if (*section == NULL || !check_section(image, *section, problem))
    return false;
  const Elf64_Shdr *header = &(*section)->header;
  size_t count = header->sh_size / ROOT_SIZE;
  uint64_t *roots = malloc(header->sh_size + 1);
  memcpy(roots, image->bytes + header->sh_offset, header->sh_size);
  const bool ok = relocate_all(image, *section, roots, problem) &&
                  check_roots(image, name, roots, &count, problem) &&
                  safepoints_set_global_roots(table, roots, count);
  free(roots);
  return ok;
}
