/* relocations.c - removes the dynamic relocations of the raw section, and of the array of global
 * roots, if the packed table has the roots.
 *
 * In a position-independent file each function's address in the raw section is a dynamic
 * relocation. Left in, ld.so would write these addresses over the packed table at start-up. They
 * are in two kinds of tables. From a table of Elf64_Rela entries they are removed, and the others
 * move to its end, as ld.so may go on from there: glibc's takes the table and the procedure
 * linkage's for one if they are adjacent, and resolves indirect functions after both. Entries that
 * are only relative to the load address come first, and DT_RELACOUNT counts them. If the table
 * starts with another section, or a symbol shows that others may read it, the entries become
 * relocations of type 0, without effect on any machine. A table of kind RELR (relocations.h) is
 * decoded, and encoded again without these.
 */
#include "tool/image/relocations.h"
#include "tool/image/integers.h"
#include "tool/rewrite/plan.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Whether an address is in the raw section, or in the array of global roots. */
static bool is_freed(const struct plan *plan, uint64_t address) {
  const struct image_section *raw = plan->raw, *roots = plan->global_roots;
  return address - raw->header.sh_addr < raw->header.sh_size ||
         (roots != NULL && address - roots->header.sh_addr < roots->header.sh_size);
}

static bool in_text(const struct image *image, uint64_t address) {
  const Elf64_Phdr *segment = image_load_at(image, address);
  return segment != NULL && (segment->p_flags & PF_W) == 0;
}

/* Whether a symbol is in a table, or at its end. A symbol at the end may have the number of another
 * section, or none. Labels lack a type; a symbol at that address with a type is the first thing of
 * the next section. */
static bool has_symbol(const struct image *image, const struct image_section *table) {
  for (struct elf_symbols at = elf_symbols(&image->elf_image); elf_symbols_next(&at);) {
    const unsigned type = GELF_ST_TYPE(at.symbol.st_info);
    const uint64_t into = at.symbol.st_value - table->header.sh_addr;
    if (at.symbol.st_shndx < image->section_count &&
        (image->sections[at.symbol.st_shndx].header.sh_flags & SHF_ALLOC) == 0)
      continue; /* undefined, or at a place of debug information */
    if (type != STT_SECTION && type != STT_FILE && type != STT_TLS &&
        (at.symbol.st_shndx == table - image->sections ||
         (into > 0 && into < table->header.sh_size) ||
         (into == table->header.sh_size && type == STT_NOTYPE)))
      return true;
  }
  return false;
}

/* Whether the table that ld.so reads by DT_RELA starts with a section, so that it can start later;
 * and nobody else may read that, such as start-up code that relocates the program itself. */
static bool starts_table(const struct image *image, const struct image_section *section) {
  uint64_t start, size;
  return plan_dynamic(image, DT_RELA, &start) && plan_dynamic(image, DT_RELASZ, &size) &&
         start == section->header.sh_addr && size >= section->header.sh_size &&
         !has_symbol(image, section);
}

/* Counts the freed section's relocations in one table, and looks at the others. */
static bool plan_rela(struct plan *plan, const struct image_section *section,
                      struct problem *problem) {
  struct plan_relocations *relocations = &plan->relocations;
  const Elf64_Shdr *table = &section->header;
  uint64_t removed = 0;
  Elf64_Rela relocation;
  for (uint64_t at = 0; rela_next(plan->image, table, &at, &relocation);) {
    if (!is_freed(plan, relocation.r_offset)) {
      relocations->text_remains |=
          relocation.r_info != 0 && in_text(plan->image, relocation.r_offset);
      continue;
    }
    removed++;
    relocations->relative_removed += relocation_is_relative(plan->image, &relocation);
  }
  if (removed == 0)
    return true;
  if (relocations->rela != NULL)
    return problem_set(problem, "relocations of the stack maps in two sections, %s and %s",
                       relocations->rela->name, section->name);
  relocations->rela = section;
  relocations->rela_removed = removed * sizeof relocation;
  relocations->rela_shrinks = starts_table(plan->image, section);
  return true;
}

/* The addresses of a RELR table outside the freed sections: items to be freed. *freed counts the
 * others. */
static struct integers decode_relr(const struct plan *plan, const Elf64_Shdr *table,
                                   size_t *freed) {
  struct relr_reader reader = relr_open(plan->image, table);
  struct integers addresses = {0};
  *freed = 0;
  for (uint64_t address; relr_next(&reader, &address);) {
    if (is_freed(plan, address))
      ++*freed;
    else
      integers_add(&addresses, address);
  }
  return addresses;
}

/* Writes addresses as a RELR table, unless `bytes` is NULL, and returns its size in bytes. */
static uint64_t encode_relr(const struct integers *integers, uint8_t *bytes) {
  const uint64_t *addresses = integers->items;
  const size_t count = integers->count;
  uint64_t size = 0;
  for (size_t i = 0; i < count;) {
    uint64_t word = addresses[i++];
    assert(word % 2 == 0); /* it isn't a map */
    uint64_t next = word + sizeof word;
    for (;;) {
      if (bytes != NULL)
        memcpy(bytes + size, &word, sizeof word);
      size += sizeof word;
      uint64_t map = 0;
      for (; i < count && addresses[i] - next < RELR_MAP_BITS * sizeof word &&
             addresses[i] % sizeof word == next % sizeof word;
           i++)
        map |= (uint64_t)2 << (addresses[i] - next) / sizeof word;
      if (map == 0)
        break;
      word = map | 1;
      next += RELR_MAP_BITS * sizeof word;
    }
  }
  return size;
}

static bool plan_relr(struct plan *plan, const struct image_section *section,
                      struct problem *problem) {
  struct plan_relocations *relocations = &plan->relocations;
  size_t freed;
  struct integers addresses = decode_relr(plan, &section->header, &freed);
  for (size_t i = 0; i < addresses.count; i++)
    relocations->text_remains |= in_text(plan->image, addresses.items[i]);
  const uint64_t size = encode_relr(&addresses, NULL);
  free(addresses.items);
  if (freed == 0)
    return true;
  if (relocations->relr != NULL || size > section->header.sh_size)
    return problem_set(problem, "relocations in %s that can't be taken out", section->name);
  relocations->relr = section;
  relocations->relr_size = size;
  return true;
}

/* ---- The rest of the table ---- */

/* Whether a section's addresses are its own, and of one segment only. */
static bool is_alone(const struct image *image, const struct image_section *own) {
  const Elf64_Shdr *header = &own->header;
  const Elf64_Phdr *home = image_segment_of(image, header);
  EACH_SECTION(image, other)
    if (other != own && (other->header.sh_flags & SHF_ALLOC) != 0 &&
        overlap(other->header.sh_addr, other->header.sh_size, header->sh_addr, header->sh_size))
      return false;
  EACH_SEGMENT(image, segment)
    if (segment != home && overlaps_segment(segment, header))
      return false;
  return home != NULL;
}

/* Finds the room that the relocations leave, if it is certainly unread: the dynamic section must
 * describe just that table, as only that makes ld.so its reader; and no symbol may be in it or at
 * its end, as in start-up code that relocates the program itself. False, and a problem, if another
 * section has bytes of the table. */
static bool find_room(struct plan *plan, struct problem *problem) {
  const struct image *image = plan->image;
  struct plan_relocations *relocations = &plan->relocations;
  const bool is_rela = relocations->rela != NULL;
  const struct image_section *table = is_rela ? relocations->rela : relocations->relr;
  uint64_t address, size;
  if (table != NULL && !image_check_overlap(table, problem))
    return false;
  if (table == NULL || !is_alone(image, table))
    return true;
  const Elf64_Shdr *header = &table->header;
  const uint64_t from = is_rela ? 0 : relocations->relr_size;
  const uint64_t to = is_rela ? relocations->rela_removed : header->sh_size;
  if (is_rela ? relocations->rela_shrinks && to < header->sh_size
              : from > 0 && !has_symbol(image, table) && plan_dynamic(image, DT_RELR, &address) &&
                    address == header->sh_addr && plan_dynamic(image, DT_RELRSZ, &size) &&
                    size == header->sh_size)
    relocations->room = (struct plan_room){header->sh_offset + from, header->sh_offset + to,
                                           image_segment_of(image, header)};
  return true;
}

bool plan_relocations(struct plan *plan, struct problem *problem) {
  EACH_SECTION(plan->image, section) {
    if ((section->header.sh_flags & SHF_ALLOC) == 0)
      continue;
    if (section->header.sh_type == SHT_RELA && !plan_rela(plan, section, problem))
      return false;
    if (section->header.sh_type == SHT_RELR && !plan_relr(plan, section, problem))
      return false;
    if (section->header.sh_type >= SHT_LOOS + 1 && section->header.sh_type <= SHT_LOOS + 2)
      return problem_set(problem,
                         "section %s has Android's packed relocations (APS2): link without "
                         "--pack-dyn-relocs=android; relr is read",
                         section->name);
    if (relocations_lack_addends(&section->header))
      return problem_set(problem, "dynamic relocations without addends, in section %s",
                         section->name);
  }
  return find_room(plan, problem);
}

/* ---- Writing ---- */

static void write_rela(const struct plan *plan, uint8_t *bytes) {
  const Elf64_Shdr *table = &plan->relocations.rela->header;
  uint8_t *kept = bytes + plan_new_offset(plan, table->sh_offset + plan->relocations.rela_removed);
  Elf64_Rela relocation;
  memset(bytes + plan_new_offset(plan, table->sh_offset), 0,
         plan_left(plan, table->sh_offset, plan->relocations.rela_removed));
  for (uint64_t at = 0; rela_next(plan->image, table, &at, &relocation);)
    if (!is_freed(plan, relocation.r_offset)) {
      memcpy(kept, &relocation, sizeof relocation);
      kept += sizeof relocation;
    }
  assert(kept ==
         bytes + plan_new_offset(plan, table->sh_offset +
                                           table->sh_size / sizeof relocation * sizeof relocation));
}

static void write_relr(const struct plan *plan, uint8_t *bytes) {
  const Elf64_Shdr *table = &plan->relocations.relr->header;
  uint8_t *start = bytes + plan_new_offset(plan, table->sh_offset);
  size_t freed;
  struct integers addresses = decode_relr(plan, table, &freed);
  memset(start, 0, plan_left(plan, table->sh_offset, table->sh_size));
  const uint64_t size = encode_relr(&addresses, start);
  assert(size == plan->relocations.relr_size);
  (void)size;
  free(addresses.items);
}

void write_relocations(const struct plan *plan, uint8_t *bytes) {
  if (plan->relocations.rela != NULL)
    write_rela(plan, bytes);
  if (plan->relocations.relr != NULL)
    write_relr(plan, bytes);
}
