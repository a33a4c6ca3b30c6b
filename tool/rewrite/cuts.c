/* cuts.c - which pages are cut out of the file, and into which parts that splits segments.
 *
 * Packing frees bytes in up to three places: after the packed table, up to the raw section's end;
 * in a position-independent file, after the relocations that are left, up to the old end of their
 * table; and where tables stood that had to make room for program headers. All whole pages of each
 * place are cut, counted from its end:
 *
 *   addresses   | table | zeros |      n pages       | what follows |
 *   file        | table | zeros | what follows |
 *
 * The following bytes become a segment of their own, which may start in the middle of a page. Then
 * one page of the file is mapped twice, at both its addresses, as linkers lay out segments, too.
 *
 * Pages of the raw section belong to no other section or segment: rewrite_check refuses such files.
 * Pages of relocations are cut only where it is certain that nothing reads beyond the relocations
 * that are left: the dynamic section must describe just that table, as only that makes ld.so its
 * reader; and no symbol may be in it or at its end, as in start-up code that relocates the program
 * itself.
 */
#include "tool/rewrite/plan.h"

#include <string.h>

uint64_t plan_new_offset(const struct plan *plan, uint64_t offset) {
  uint64_t gone = 0;
  for (size_t i = 0; i < plan->cut_count; i++) {
    const struct plan_cut *cut = &plan->cuts[i];
    if (offset > cut->start)
      gone += (offset < cut->end ? offset : cut->end) - cut->start;
  }
  return plan->lead + offset - gone;
}

uint64_t plan_left(const struct plan *plan, uint64_t offset, uint64_t size) {
  return plan_new_offset(plan, offset + size) - plan_new_offset(plan, offset);
}

const struct plan_cut *plan_next_cut(const struct plan *plan, const Elf64_Phdr *segment,
                                     uint64_t offset) {
  for (size_t i = 0; i < plan->cut_count; i++)
    if (plan->cuts[i].segment == segment && plan->cuts[i].start >= offset)
      return &plan->cuts[i];
  return NULL;
}

/* ---- Bytes that may be cut ---- */

/* A hole in a range that ld.so makes read-only after relocation (PT_GNU_RELRO) would make its
 * mprotect fail. */
bool plan_can_cut(const struct plan *plan, const Elf64_Phdr *segment, uint64_t start,
                  uint64_t end) {
  const uint64_t address = segment->p_vaddr + (start - segment->p_offset);
  EACH_SEGMENT(plan->image, other)
    if (other != segment && (other->p_type == PT_LOAD || other->p_type == PT_GNU_RELRO) &&
        (overlap(other->p_offset, other->p_filesz, start, end - start) ||
         overlap(other->p_vaddr, other->p_memsz, address, end - start)))
      return false;
  return true;
}

/* Whether a section's bytes and addresses are of no other section, and of one segment only. */
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
  return home != NULL && image_overlapping(image, own) == NULL;
}

/* Whether a symbol is in a table, or at its end. A symbol at the end may have the number of another
 * section, or none. Labels have no type; a symbol at that address with a type is the first thing of
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

void plan_relocations_room(struct plan *plan) {
  const struct image *image = plan->image;
  struct plan_relocations *relocations = &plan->relocations;
  const bool is_rela = relocations->rela != NULL;
  const struct image_section *table = is_rela ? relocations->rela : relocations->relr;
  const uint64_t left = is_rela ? relocations->rela_size : relocations->relr_size;
  uint64_t address, size;
  if (left > 0 && !has_symbol(image, table) && is_alone(image, table) &&
      plan_dynamic(image, is_rela ? DT_RELA : DT_RELR, &address) &&
      plan_dynamic(image, is_rela ? DT_RELASZ : DT_RELRSZ, &size) &&
      address == table->header.sh_addr &&
      (is_rela ? relocations->rela_shrinks : size == table->header.sh_size))
    relocations->room = (struct plan_room){table->header.sh_offset + left,
                                           table->header.sh_offset + table->header.sh_size,
                                           image_segment_of(image, &table->header), true};
}

/* ---- Cutting ---- */

/* Whether a section starts in a range of a segment, and keeps its bytes there. */
static bool has_section(const struct plan *plan, const Elf64_Phdr *segment, uint64_t start,
                        uint64_t end) {
  EACH_SECTION(plan->image, section) {
    const Elf64_Shdr *header = &section->header;
    const uint64_t at = header->sh_addr - segment->p_vaddr + segment->p_offset;
    const bool stays = section != plan->sections.raw || plan_fits_in_place(plan);
    if (stays && (header->sh_flags & SHF_ALLOC) != 0 && header->sh_size > 0 && at >= start &&
        at < end)
      return true;
  }
  return false;
}

/* Whether anything stands in a segment from an offset on. */
static bool has_more(const struct plan *plan, const Elf64_Phdr *segment, uint64_t offset) {
  const uint64_t file_end = segment->p_offset + segment->p_filesz;
  return segment->p_memsz > segment->p_filesz ||
         has_section(plan, segment, offset, segment->p_offset + segment->p_memsz) ||
         !all_zero(plan->image->bytes + offset, file_end - offset);
}

void plan_cut(struct plan *plan, const struct plan_room *room) {
  const uint64_t size = plan_pages(room);
  if (size == 0)
    return;
  size_t at = plan->cut_count++;
  for (; at > 0 && plan->cuts[at - 1].start > room->offset; at--)
    plan->cuts[at] = plan->cuts[at - 1];
  plan->cuts[at] = (struct plan_cut){room->end - size, room->end, room->segment, false};
}

size_t plan_split(struct plan *plan) {
  size_t count = 0, splits = 0;
  for (size_t i = 0; i < plan->cut_count; i++) {
    const struct plan_cut *cut = &plan->cuts[i];
    const bool again = count > 0 && plan->cuts[count - 1].segment == cut->segment;
    const uint64_t start = again ? plan->cuts[count - 1].end : cut->segment->p_offset;
    const bool has_headers = !again && cut->segment == plan->first;
    if (has_headers || has_section(plan, cut->segment, start, cut->start))
      plan->cuts[count++] = *cut;
  }
  plan->cut_count = count;
  for (size_t i = 0; i < count; i++) {
    struct plan_cut *cut = &plan->cuts[i];
    cut->splits = has_more(plan, cut->segment, cut->end);
    splits += cut->splits;
  }
  return splits;
}
