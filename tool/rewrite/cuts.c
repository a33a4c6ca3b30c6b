/* cuts.c - which pages are cut out of the file, and into which parts that splits segments.
 *
 * Packing frees bytes in up to three places: behind the packed table, up to the raw section's end;
 * in a position-independent file, behind the relocations that are left, up to the old end of their
 * table; and where tables stood that had to make room for program headers. Of each, as many whole
 * pages as there are can go, those that stand last:
 *
 *   addresses   | table | zeros |      n pages       | what follows |
 *   file        | table | zeros | what follows |
 *
 * What follows starts a segment of its own, in the middle of a page if need be. Then one page of
 * the file is mapped twice, at both its addresses, as linkers lay out segments, too.
 *
 * Pages of the raw section are nobody else's: rewrite_check has seen to that. Those of relocations
 * are cut only where it's certain that nobody looks behind the ones that are left: the dynamic
 * section must describe just that table, as only that makes ld.so its reader; and no symbol may be
 * in it or at its end, as start-up code has that relocates the program itself.
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

const struct plan_cut *plan_next_cut(const struct plan *plan, size_t segment, uint64_t offset) {
  for (size_t i = 0; i < plan->cut_count; i++)
    if (plan->cuts[i].segment == segment && plan->cuts[i].start >= offset)
      return &plan->cuts[i];
  return NULL;
}

/* ---- What may be cut ---- */

/* Whether a section is in a range that ld.so makes read-only after relocation: a hole there would
 * make its mprotect fail. */
static bool is_relro(const struct image *image, const Elf64_Shdr *section) {
  for (size_t i = 0; i < image->segment_count; i++) {
    const Elf64_Phdr *segment = &image->segments[i];
    if (segment->p_type == PT_GNU_RELRO &&
        overlap(segment->p_vaddr, segment->p_memsz, section->sh_addr, section->sh_size))
      return true;
  }
  return false;
}

/* Whether a section's bytes and addresses are of no other section, and of one segment only. */
static bool is_alone(const struct image *image, const struct image_section *own) {
  const Elf64_Shdr *header = &own->header;
  const Elf64_Phdr *home = image_segment_of(image, header);
  for (size_t i = 1; i < image->section_count; i++) {
    const Elf64_Shdr *other = &image->sections[i].header;
    if (&image->sections[i] != own && (other->sh_flags & SHF_ALLOC) != 0 &&
        overlap(other->sh_addr, other->sh_size, header->sh_addr, header->sh_size))
      return false;
  }
  for (size_t i = 0; i < image->segment_count; i++)
    if (&image->segments[i] != home && overlaps_segment(&image->segments[i], header))
      return false;
  return home != NULL && image_overlapping(image, own) == NULL;
}

/* Whether a symbol is in a table, or at its end. That one may have the number of another section, or none.
 * Labels have no type; what does have one, at that address, is the first thing of the next section. */
static bool has_symbol(const struct image *image, const struct image_section *table) {
  for (struct elf_symbols at = elf_symbols(&image->elf_image); elf_symbols_next(&at);) {
    const unsigned type = GELF_ST_TYPE(at.symbol.st_info);
    const uint64_t into = at.symbol.st_value - table->header.sh_addr;
    if (at.symbol.st_shndx != SHN_UNDEF && type != STT_SECTION && type != STT_FILE &&
        type != STT_TLS &&
        (at.symbol.st_shndx == table - image->sections ||
         (into > 0 && into < table->header.sh_size) ||
         (into == table->header.sh_size && type == STT_NOTYPE)))
      return true;
  }
  return false;
}

bool plan_can_cut_raw(const struct plan *plan) {
  return !is_relro(plan->image, &plan->raw->header);
}

bool plan_can_cut_relocations(const struct plan *plan) {
  const struct image *image = plan->image;
  const struct plan_relocations *relocations = &plan->relocations;
  const struct image_section *table =
      relocations->rela != NULL ? relocations->rela : relocations->relr;
  const bool is_rela = table != NULL && table == relocations->rela;
  uint64_t address, size;
  if (table == NULL || (is_rela ? relocations->rela_size : relocations->relr_size) == 0)
    return false;
  return !has_symbol(image, table) && is_alone(image, table) && !is_relro(image, &table->header) &&
         plan_dynamic(image, is_rela ? DT_RELA : DT_RELR, &address) &&
         plan_dynamic(image, is_rela ? DT_RELASZ : DT_RELRSZ, &size) &&
         address == table->header.sh_addr &&
         (is_rela ? relocations->rela_shrinks : size == table->header.sh_size);
}

bool plan_can_cut_first(const struct plan *plan, uint64_t start, uint64_t end) {
  const struct image *image = plan->image;
  const Elf64_Phdr *first = &image->segments[plan->first_segment];
  for (size_t i = 0; i < image->segment_count; i++) {
    const Elf64_Phdr *other = &image->segments[i];
    if (i != plan->first_segment && (other->p_type == PT_LOAD || other->p_type == PT_GNU_RELRO) &&
        (overlap(other->p_offset, other->p_filesz, start, end - start) ||
         overlap(other->p_vaddr, other->p_memsz, first->p_vaddr + start, end - start)))
      return false;
  }
  return true;
}

/* ---- Cutting ---- */

/* Whether there will be a section's bytes in a range of a segment, of those that don't move. */
static bool has_section(const struct plan *plan, const Elf64_Phdr *segment, uint64_t start,
                        uint64_t end) {
  const struct image *image = plan->image;
  for (size_t i = 1; i < image->section_count; i++) {
    const Elf64_Shdr *section = &image->sections[i].header;
    const uint64_t at = section->sh_addr - segment->p_vaddr + segment->p_offset;
    const bool stays = &image->sections[i] != plan->raw || plan_fits_in_place(plan);
    if (stays && (section->sh_flags & SHF_ALLOC) != 0 && section->sh_size > 0 && at >= start &&
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
  const uint64_t size = plan_room_pages(room);
  if (size == 0)
    return;
  size_t at = plan->cut_count++;
  for (; at > 0 && plan->cuts[at - 1].start > room->offset; at--)
    plan->cuts[at] = plan->cuts[at - 1];
  plan->cuts[at] = (struct plan_cut){room->end - size, room->end, room->segment, false};
}

static void remove_cut(struct plan *plan, size_t i) {
  plan->cut_count--;
  memmove(&plan->cuts[i], &plan->cuts[i + 1], (plan->cut_count - i) * sizeof *plan->cuts);
}

void plan_split(struct plan *plan) {
  const struct image *image = plan->image;
  for (size_t i = 0; i < plan->cut_count;) {
    const struct plan_cut *cut = &plan->cuts[i];
    const Elf64_Phdr *segment = &image->segments[cut->segment];
    const bool again = i > 0 && plan->cuts[i - 1].segment == cut->segment;
    const uint64_t start = again ? plan->cuts[i - 1].end : segment->p_offset;
    const bool has_headers = !again && cut->segment == plan->first_segment;
    if (has_headers || has_section(plan, segment, start, cut->start))
      i++;
    else
      remove_cut(plan, i);
  }
  for (size_t i = 0; i < plan->cut_count; i++) {
    struct plan_cut *cut = &plan->cuts[i];
    cut->splits = has_more(plan, &image->segments[cut->segment], cut->end);
  }
}

size_t plan_splits(const struct plan *plan) {
  size_t count = 0;
  for (size_t i = 0; i < plan->cut_count; i++)
    count += plan->cuts[i].splits;
  return count;
}
