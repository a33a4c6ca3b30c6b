/* headers.c - the program headers and the section headers of the new file.
 *
 * A segment that is cut becomes several, and the note gets one of its own. The raw section's header
 * becomes the packed table's; the note's comes last, so that all sections keep their numbers.
 */
#include "tool/rewrite/plan.h"

#include "elf/note.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- Program headers ---- */

/* The part of a segment after a cut, up to the next one. */
static Elf64_Phdr part_after(const struct plan *plan, const struct plan_cut *cut) {
  Elf64_Phdr part = *cut->segment;
  const struct plan_cut *next = plan_next_cut(plan, cut->segment, cut->end);
  const uint64_t into = cut->end - part.p_offset;
  assert(into <= part.p_filesz && (next == NULL || next->used >= cut->end));
  part.p_offset = plan_new_offset(plan, cut->end);
  part.p_vaddr += into;
  part.p_paddr += into;
  part.p_filesz -= into;
  part.p_memsz -= into;
  if (next != NULL)
    part.p_filesz = part.p_memsz = next->used - cut->end;
  return part;
}

static Elf64_Phdr moved_segment(const struct plan *plan, const Elf64_Phdr *old) {
  Elf64_Phdr segment = *old;
  const struct plan_move *move = plan_move_of(plan, segment.p_offset, segment.p_filesz);
  const bool is_first = old == plan->first;
  const struct plan_cut *cut = plan_next_cut(plan, old, segment.p_offset);
  assert(cut == NULL || cut->used >= segment.p_offset);
  if (cut != NULL)
    segment.p_filesz = segment.p_memsz = cut->used - segment.p_offset;
  if (segment.p_type == PT_PHDR)
    segment.p_filesz = segment.p_memsz += plan->new_segments * sizeof(Elf64_Phdr);
  if (segment.p_type == PT_PHDR || is_first) {
    segment.p_vaddr -= plan->lead;
    segment.p_paddr -= plan->lead;
  }
  if (is_first) {
    const uint64_t headers_end = plan_new_headers_end(plan);
    segment.p_filesz += plan->lead;
    segment.p_memsz += plan->lead;
    if (segment.p_filesz < headers_end)
      segment.p_filesz = segment.p_memsz = headers_end;
  } else if (segment.p_type != PT_LOAD && segment.p_filesz > 0 && move != NULL) {
    const uint64_t into = segment.p_offset - move->old_offset;
    segment.p_vaddr = segment.p_paddr = move->new_address + into;
    segment.p_offset = move->new_offset + into;
  } else if (segment.p_type != PT_PHDR && (segment.p_offset > 0 || segment.p_filesz > 0)) {
    segment.p_offset = plan_new_offset(plan, segment.p_offset);
  }
  return segment;
}

static Elf64_Phdr added_segment(uint32_t type, uint64_t offset, uint64_t address, uint64_t size,
                                uint64_t alignment) {
  return (Elf64_Phdr){
      .p_type = type,
      .p_flags = PF_R,
      .p_offset = offset,
      .p_vaddr = address,
      .p_paddr = address,
      .p_filesz = size,
      .p_memsz = size,
      .p_align = alignment,
  };
}

/* After a cut, an offset may violate an alignment that is larger than a page. The whole file is
 * loaded by its segments' largest alignment: so the first one gets that. */
static uint8_t *put_segment(const struct plan *plan, uint8_t *at, Elf64_Phdr segment) {
  if (segment.p_type == PT_LOAD && plan->cut_count > 0) {
    if (segment.p_vaddr == plan->first->p_vaddr - plan->lead)
      segment.p_align = plan->alignment;
    while ((segment.p_vaddr - segment.p_offset) % segment.p_align != 0)
      segment.p_align /= 2;
    assert(segment.p_align > 1); /* a page divides the difference: check_segments */
  }
  memcpy(at, &segment, sizeof segment);
  return at + sizeof segment;
}

/* The segment in which the table gets one of its own: what is before the table, if that is
 * something, and the table. */
static uint8_t *put_apart(const struct plan *plan, uint8_t *at, Elf64_Phdr segment) {
  const uint64_t into = plan->raw->header.sh_offset - plan->home->p_offset;
  if (plan->shift > 0) {
    Elf64_Phdr before = segment;
    before.p_filesz = before.p_memsz = into;
    at = put_segment(plan, at, before);
    segment.p_offset += into;
    segment.p_vaddr += into + plan->shift;
    segment.p_paddr += into + plan->shift;
    segment.p_filesz -= into;
    segment.p_memsz -= into;
  }
  segment.p_flags = PF_R;
  return put_segment(plan, at, segment);
}

/* Segments stay in their order: PT_LOADs must ascend. (gABI, "Program Header", PT_LOAD) */
void write_segments(const struct plan *plan, uint8_t *bytes) {
  uint8_t *at = bytes + sizeof(Elf64_Ehdr);
  memset(at, 0, plan_new_headers_end(plan) - sizeof(Elf64_Ehdr));
  EACH_SEGMENT(plan->image, segment) {
    const Elf64_Phdr moved = moved_segment(plan, segment);
    at = plan->apart && segment == plan->home ? put_apart(plan, at, moved)
                                              : put_segment(plan, at, moved);
    for (size_t i = 0; i < plan->cut_count; i++)
      if (plan->cuts[i].segment == segment && plan->cuts[i].splits)
        at = put_segment(plan, at, part_after(plan, &plan->cuts[i]));
    if (segment == plan->last && plan->extra_size > 0)
      at = put_segment(plan, at,
                       added_segment(PT_LOAD, plan->extra_offset, plan->extra_address,
                                     plan->extra_size, segment->p_align));
  }
  assert(at + sizeof(Elf64_Phdr) == bytes + plan_new_headers_end(plan));
  put_segment(plan, at,
              added_segment(PT_NOTE, plan->note_offset, plan->note_address, PACKED_NOTE_SIZE, 4));
}

/* ---- Section headers ---- */

/* An empty section still has a place in the file: its address' place in the segment, or the end of
 * the segment's bytes. (gABI, "Sections", sh_offset) mold calls it 0. Then patchelf takes the
 * section for the file's first, and moves as many of the file's bytes as the section has in memory;
 * perhaps more than there are. */
static uint64_t empty_place(const struct plan *plan, const Elf64_Shdr *section) {
  const Elf64_Phdr *segment = image_load_at(plan->image, section->sh_addr);
  if (segment == NULL || (section->sh_flags & SHF_ALLOC) == 0)
    return 0;
  const uint64_t into = section->sh_addr - segment->p_vaddr;
  return plan_new_offset(plan,
                         segment->p_offset + (into < segment->p_filesz ? into : segment->p_filesz));
}

/* A section that was there before: its place, and for relocations that were taken out, its size. */
static Elf64_Shdr moved_section(const struct plan *plan, const struct image_section *section) {
  const struct plan_relocations *relocations = &plan->relocations;
  Elf64_Shdr header = section->header;
  const bool has_bytes = header.sh_type != SHT_NOBITS && header.sh_size > 0;
  const struct plan_move *move =
      has_bytes ? plan_move_of(plan, header.sh_offset, header.sh_size) : NULL;
  if (move != NULL) {
    const uint64_t into = header.sh_offset - move->old_offset;
    header.sh_addr = move->new_address + into;
    header.sh_offset = move->new_offset + into;
  } else if (header.sh_type == SHT_NOBITS && header.sh_offset == 0) {
    header.sh_offset = empty_place(plan, &header);
  } else {
    header.sh_offset = plan_new_offset(plan, header.sh_offset);
  }
  if (section == relocations->rela && relocations->rela_shrinks) {
    header.sh_addr += relocations->rela_removed;
    header.sh_offset = plan_new_offset(plan, section->header.sh_offset + relocations->rela_removed);
    header.sh_size -= relocations->rela_removed;
  }
  if (section == relocations->relr)
    header.sh_size = relocations->relr_size;
  return header;
}

/* The section over bytes after the program headers: see plan_head in plan.c. */
static Elf64_Shdr head_section(const struct plan *plan, uint32_t name) {
  return (Elf64_Shdr){
      .sh_name = name,
      .sh_type = SHT_PROGBITS,
      .sh_flags = SHF_ALLOC,
      .sh_addr = plan->first->p_vaddr - plan->lead + plan->head_start,
      .sh_offset = plan->head_start,
      .sh_size = plan->head_end - plan->head_start,
      .sh_addralign = 8,
  };
}

/* The new section headers: to be freed. */
Elf64_Shdr *plan_section_headers(const struct plan *plan) {
  const struct image *image = plan->image;
  Elf64_Shdr *headers = calloc(plan->section_count, sizeof *headers);
  EACH_SECTION(image, section)
    headers[plan_number(plan, section)] = moved_section(plan, section);
  Elf64_Shdr *names = &headers[image->section_names];
  Elf64_Shdr *table = &headers[plan_number(plan, plan->raw)];
  Elf64_Shdr *note = &headers[image->section_count];
  uint32_t name = plan->raw->header.sh_name;
  if (plan->names_at != 0) {
    name = (uint32_t)names->sh_size;
    names->sh_offset = plan->names_at;
    names->sh_size += sizeof plan_section_names;
  }
  table->sh_addr = plan->note_address;
  table->sh_offset = plan->note_offset;
  *note = *table;
  note->sh_name = name;
  note->sh_type = SHT_NOTE;
  note->sh_flags = SHF_ALLOC;
  note->sh_size = PACKED_NOTE_SIZE;
  note->sh_addralign = 4;
  note->sh_entsize = 0;
  table->sh_name = name + PLAN_TABLE_NAME_AT;
  table->sh_addr += PACKED_NOTE_SIZE;
  table->sh_offset += PACKED_NOTE_SIZE;
  table->sh_size = plan->packed_size - PACKED_NOTE_SIZE;
  table->sh_addralign = 8;
  if (plan->apart || !plan_fits_in_place(plan))
    table->sh_flags &= ~(Elf64_Xword)SHF_WRITE;
  assert(plan->section_count == image->section_count + 1 + (plan->head_end > plan->head_start));
  if (plan->head_end > plan->head_start)
    headers[image->section_count + 1] = head_section(plan, name + PLAN_NOTE_NAME_SIZE);
  return headers;
}

static const Elf64_Shdr *old_names(const struct plan *plan) {
  return &plan->image->sections[plan->image->section_names].header;
}

void copy_names(const struct plan *plan, uint8_t *bytes) {
  const Elf64_Shdr *names = old_names(plan);
  if (plan->names_at != 0)
    memcpy(bytes + plan->names_at, plan->image->bytes + names->sh_offset, names->sh_size);
}

void write_tail(const struct plan *plan, const Elf64_Shdr *headers, uint8_t *bytes) {
  const Elf64_Shdr *names = old_names(plan);
  assert(plan->names_at == 0 ||
         plan->names_at + names->sh_size + sizeof plan_section_names <= plan->headers_at);
  if (plan->names_at != 0)
    memcpy(bytes + plan->names_at + names->sh_size, plan_section_names, sizeof plan_section_names);
  else
    memcpy(bytes + plan_new_offset(plan, names->sh_offset) + plan->raw->header.sh_name,
           plan_section_names, PLAN_NOTE_NAME_SIZE);
  memcpy(bytes + plan->headers_at, headers, plan->section_count * sizeof *headers);
}
