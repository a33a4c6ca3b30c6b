/* rewrite.c - the new file: the packed table at the raw section's address, and no address moved.
 *
 * The packed table is a fiftieth of the raw section. The bytes after it are of no use any more, but
 * the sections after them can't move up in memory: code and data refer to them. So the segment is
 * split. Its first part has the packed table; its second starts where the raw section ended; and n
 * whole pages between are cut out of the file:
 *
 *   old segment    | headers ... | raw section ............................ | more |
 *   new segments   | headers ... | note, table | zeros |  n pages           | more |
 *                                                      A                    B
 *
 * Addresses stay. File offsets after the cut go down by B - A, a multiple of the page size, so each
 * still equals its address modulo the page size, as mmap needs it (gABI, "Program Header",
 * p_align). The zeros are less than a page.
 *
 * In a position-independent file the relocations of the raw section go, too. Those that are left
 * move up in their table, and pages after them are cut out in the same way:
 *
 *   old segment    | headers ... | relocations ........ | read-only data, raw section ...
 *   new segments   | headers ... | those left |  pages  | read-only data, note, table ...
 *
 * So both cuts may be in one segment, which then becomes three; cuts.c has the details.
 *
 * Program headers are added: one for the segment after each cut, and a PT_NOTE for the table's
 * note. The table of program headers stays right after the ELF header, because that is where
 * binutils' strip and objcopy will put it, whatever e_phoff says. (A program runs with the table
 * elsewhere, but strip then destroys the file.) If there is no room for more headers, the file of a
 * non-PIE executable gets one page more at its front, and the first segment starts one page
 * earlier: below it, an executable has no neighbours. The headers move to that page; the old ones
 * stay as data. In other files, sections make room (moves.c).
 *
 * A program with a handful of records has raw stack maps that are smaller than a packed table's
 * header. Then the table goes into a segment of its own.
 *
 * Section headers: the raw section becomes `.stackpack`, which keeps its number, so that no symbol
 * or link has to change; `.note.stackpack` is added as the last section. Symbols in the raw section
 * (`__LLVM_StackMaps`) now mean the packed table's start.
 */
#include "tool/rewrite/rewrite.h"

#include "elf/note.h"

#include <stdlib.h>

enum { PAGE_SIZE_MIN = 4096 };

/* ---- Can it be done? ---- */

static bool check_kind(const struct image *image, struct problem *problem) {
  const Elf64_Ehdr *header = &image->header;
  if (header->e_type == ET_REL)
    return problem_set(problem, "an object file: link it first");
  if (header->e_type != ET_EXEC && header->e_type != ET_DYN)
    return problem_set(problem, "neither an executable nor a shared library");
  if (image->machine == NULL)
    return problem_set(problem, "a machine other than x86-64, AArch64 and RISC-V");
  if (header->e_phoff != sizeof *header)
    return problem_set(problem, "the program headers aren't right after the ELF header");
  if (image->section_count + 2 >= SHN_LORESERVE ||
      image->segment_count + PLAN_NEW_SEGMENTS_MAX >= PN_XNUM)
    return problem_set(problem, "too many sections or segments");
  return true;
}

static bool check_segments(const struct image *image, struct problem *problem) {
  EACH_SEGMENT(image, segment) {
    const uint64_t page = segment->p_align;
    if (segment->p_type != PT_LOAD)
      continue;
    if (page < PAGE_SIZE_MIN || (page & (page - 1)) != 0 || page > (uint64_t)1 << 32 ||
        (segment->p_vaddr - segment->p_offset) % page != 0)
      return problem_set(problem, "segment %td isn't aligned to pages", segment - image->segments);
  }
  return true;
}

/* The section's bytes may be of no other segment than its PT_LOAD, but for one that only protects
 * what PT_LOADs load. */
static bool check_alone(const struct image *image, const Elf64_Shdr *raw, struct problem *problem) {
  const Elf64_Phdr *home = image_segment_of(image, raw);
  EACH_SEGMENT(image, segment)
    if (segment != home && segment->p_type != PT_GNU_STACK && segment->p_type != PT_GNU_RELRO &&
        overlaps_segment(segment, raw))
      return problem_set(problem, "the stack maps are part of segment %td (type 0x%x), too",
                         segment - image->segments, segment->p_type);
  return true;
}

/* The relocations that `ld -q` leaves are of a whole section, and can't be dropped for a part of
 * it. */
static bool check_relocations_left(const struct image *image, const struct image_section *raw,
                                   struct problem *problem) {
  EACH_SECTION(image, section)
    if (raw->part_of != 0 && section->header.sh_type == SHT_RELA &&
        (section->header.sh_flags & SHF_ALLOC) == 0 && section->header.sh_info == raw->part_of)
      return problem_set(problem, "%s has relocations of stack maps and of other data",
                         section->name);
  return true;
}

bool rewrite_check(const struct image *image, const struct image_section *raw,
                   struct problem *problem) {
  if (!check_kind(image, problem) || !check_segments(image, problem))
    return false;
  if ((raw->header.sh_flags & SHF_ALLOC) == 0 || image_segment_of(image, &raw->header) == NULL)
    return problem_set(problem, "section %s isn't loaded into memory", raw->name);
  if (raw->header.sh_addr % 8 != 0)
    return problem_set(problem, "section %s isn't aligned to 8 bytes", raw->name);
  return check_relocations_left(image, raw, problem) && check_alone(image, &raw->header, problem);
}

/* ---- Program headers ---- */

/* The part of a segment after a cut, up to the next one. */
static Elf64_Phdr part_after(const struct plan *plan, const struct plan_cut *cut) {
  Elf64_Phdr part = *cut->segment;
  const struct plan_cut *next = plan_next_cut(plan, cut->segment, cut->end);
  const uint64_t into = cut->end - part.p_offset;
  part.p_offset = plan_new_offset(plan, cut->end);
  part.p_vaddr += into;
  part.p_paddr += into;
  part.p_filesz -= into;
  part.p_memsz -= into;
  if (next != NULL)
    part.p_filesz = part.p_memsz = next->start - cut->end;
  return part;
}

static Elf64_Phdr moved_segment(const struct plan *plan, const Elf64_Phdr *old) {
  Elf64_Phdr segment = *old;
  const struct plan_move *move = plan_move_of(plan, segment.p_offset, segment.p_filesz);
  const bool is_first = old == plan->first;
  const struct plan_cut *cut = plan_next_cut(plan, old, segment.p_offset);
  if (cut != NULL)
    segment.p_filesz = segment.p_memsz = cut->start - segment.p_offset;
  if (segment.p_type == PT_PHDR)
    segment.p_filesz = segment.p_memsz += plan->new_segments * sizeof(Elf64_Phdr);
  if (segment.p_type == PT_PHDR || is_first) {
    segment.p_vaddr -= plan->lead;
    segment.p_paddr -= plan->lead;
  }
  if (is_first) {
    segment.p_filesz += plan->lead;
    segment.p_memsz += plan->lead;
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

static uint8_t *put_segment(uint8_t *at, Elf64_Phdr segment) {
  memcpy(at, &segment, sizeof segment);
  return at + sizeof segment;
}

/* Segments stay in their order: PT_LOADs must ascend. (gABI, "Program Header", PT_LOAD) */
static void write_segments(const struct plan *plan, uint8_t *bytes) {
  uint8_t *at = bytes + sizeof(Elf64_Ehdr);
  memset(at, 0, plan_new_headers_end(plan) - sizeof(Elf64_Ehdr));
  EACH_SEGMENT(plan->image, segment) {
    at = put_segment(at, moved_segment(plan, segment));
    for (size_t i = 0; i < plan->cut_count; i++)
      if (plan->cuts[i].segment == segment && plan->cuts[i].splits)
        at = put_segment(at, part_after(plan, &plan->cuts[i]));
    if (segment == plan->last && plan->extra_size > 0)
      at = put_segment(at, added_segment(PT_LOAD, plan->extra_offset, plan->extra_address,
                                         plan->extra_size, segment->p_align));
  }
  put_segment(at,
              added_segment(PT_NOTE, plan->note_offset, plan->note_address, PACKED_NOTE_SIZE, 4));
}

/* ---- Section headers ---- */

/* Relocations of sections that were taken out, which `ld -q` keeps, have nothing to apply to any
 * more. */
static void drop_relocations(const struct plan *plan, Elf64_Shdr *header) {
  const struct plan_sections *sections = &plan->sections;
  const bool is_ours = header->sh_info == plan_number(plan, sections->raw) ||
                       (sections->global_roots != NULL &&
                        header->sh_info == plan_number(plan, sections->global_roots));
  if ((header->sh_type == SHT_RELA || header->sh_type == SHT_REL) && is_ours &&
      (header->sh_flags & SHF_ALLOC) == 0)
    header->sh_size = 0;
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
  } else {
    header.sh_offset = plan_new_offset(plan, header.sh_offset);
  }
  if (section == relocations->rela)
    header.sh_size = relocations->rela_size;
  if (section == relocations->relr)
    header.sh_size = relocations->relr_size;
  drop_relocations(plan, &header);
  return header;
}

/* The section over the page in front, from the new headers' end to the old headers' end. */
static Elf64_Shdr head_section(const struct plan *plan, uint32_t name) {
  const uint64_t start = plan_new_headers_end(plan);
  const uint64_t end = plan->lead + plan_old_headers_end(plan);
  return (Elf64_Shdr){
      .sh_name = name,
      .sh_type = SHT_PROGBITS,
      .sh_flags = SHF_ALLOC,
      .sh_addr = plan->first->p_vaddr - plan->lead + start,
      .sh_offset = start,
      .sh_size = end - start,
      .sh_addralign = 8,
  };
}

/* The new section headers: to be freed. */
static Elf64_Shdr *make_headers(const struct plan *plan) {
  const struct image *image = plan->image;
  Elf64_Shdr *headers = calloc(plan->section_count, sizeof *headers);
  EACH_SECTION(image, section)
    headers[plan_number(plan, section)] = moved_section(plan, section);
  Elf64_Shdr *names = &headers[image->section_names];
  Elf64_Shdr *table = &headers[plan_number(plan, plan->sections.raw)];
  Elf64_Shdr *note = &headers[image->section_count];
  uint32_t name = plan->sections.raw->header.sh_name;
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
  if (plan->lead > 0)
    headers[image->section_count + 1] = head_section(plan, name + PLAN_NOTE_NAME_SIZE);
  return headers;
}

static void write_tail(const struct plan *plan, const Elf64_Shdr *headers, uint8_t *bytes) {
  const struct image *image = plan->image;
  const Elf64_Shdr *old_names = &image->sections[image->section_names].header;
  if (plan->names_at != 0) {
    uint8_t *names = bytes + plan->names_at;
    memcpy(names, image->bytes + old_names->sh_offset, old_names->sh_size);
    memcpy(names + old_names->sh_size, plan_section_names, sizeof plan_section_names);
  } else {
    memcpy(bytes + plan_new_offset(plan, old_names->sh_offset) + plan->sections.raw->header.sh_name,
           plan_section_names, PLAN_NOTE_NAME_SIZE);
  }
  memcpy(bytes + plan->headers_at, headers, plan->section_count * sizeof *headers);
  memcpy(bytes + plan->file_size - plan->appended, image->bytes + image->size - plan->appended,
         plan->appended);
}

/* ---- Contents ---- */

/* Symbols of the raw section mean the packed table's start; symbols of moved sections move along.
 * False: the symbol stays as it is. */
static bool move_symbol(const struct plan *plan, Elf64_Sym *symbol) {
  const size_t number = image_symbol_section(plan->image, symbol);
  const bool is_renumbered = number != symbol->st_shndx;
  symbol->st_shndx = (Elf64_Section)number;
  if (number == plan_number(plan, plan->sections.raw)) {
    symbol->st_value = plan->note_address + PACKED_NOTE_SIZE;
    symbol->st_size = 0;
    return true;
  }
  if (is_renumbered || number == SHN_UNDEF || number >= plan->image->section_count)
    return is_renumbered;
  const Elf64_Shdr *section = &plan->image->sections[number].header;
  const struct plan_move *move = plan_move_of(plan, section->sh_offset, section->sh_size);
  if (move == NULL || section->sh_type == SHT_NOBITS || section->sh_size == 0)
    return false;
  symbol->st_value += move->new_address - move->old_address;
  return true;
}

static void move_symbols(const struct plan *plan, const Elf64_Shdr *headers, uint8_t *bytes) {
  for (size_t i = 1; i < plan->image->section_count; i++) {
    const Elf64_Shdr *header = &headers[i];
    if (header->sh_type != SHT_SYMTAB && header->sh_type != SHT_DYNSYM)
      continue;
    for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= header->sh_size; at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      memcpy(&symbol, bytes + header->sh_offset + at, sizeof symbol);
      if (move_symbol(plan, &symbol))
        memcpy(bytes + header->sh_offset + at, &symbol, sizeof symbol);
    }
  }
}

/* Copies the old file around the cuts. The section headers at its end are written anew. */
static void copy_contents(const struct plan *plan, uint8_t *bytes) {
  uint64_t from = 0;
  for (size_t i = 0; i <= plan->cut_count; i++) {
    const bool is_last = i == plan->cut_count;
    const uint64_t to = is_last ? plan->old_contents_end : plan->cuts[i].start;
    memcpy(bytes + plan_new_offset(plan, from), plan->image->bytes + from, to - from);
    from = is_last ? to : plan->cuts[i].end;
  }
}

/* Writes the note and the table, and zeros over the rest of the raw section. */
static void write_table(const struct plan *plan, const uint8_t *table, uint8_t *bytes) {
  const Elf64_Shdr *raw = &plan->sections.raw->header;
  const uint64_t start = plan_new_offset(plan, raw->sh_offset);
  memset(bytes + start, 0, plan_left(plan, raw->sh_offset, raw->sh_size));
  memcpy(bytes + plan->note_offset, packed_note, PACKED_NOTE_SIZE);
  memcpy(bytes + plan->note_offset + PACKED_NOTE_SIZE, table, plan->packed_size - PACKED_NOTE_SIZE);
}

/* The array of global roots is in the table now. Without its relocations it would be wrong in a
 * position-independent file; so it is zeros in all files. */
static void clear_global_roots(const struct plan *plan, uint8_t *bytes) {
  const struct image_section *roots = plan->sections.global_roots;
  if (roots != NULL)
    memset(bytes + plan_new_offset(plan, roots->header.sh_offset), 0, roots->header.sh_size);
}

/* Copies the ranges that make room for program headers, after all their old places are cleared. */
static void write_moves(const struct plan *plan, uint8_t *bytes) {
  for (size_t i = 0; i < plan->move_count; i++) {
    const struct plan_move *move = &plan->moves[i];
    memset(bytes + plan_new_offset(plan, move->old_offset), 0,
           plan_left(plan, move->old_offset, move->size));
  }
  for (size_t i = 0; i < plan->move_count; i++) {
    const struct plan_move *move = &plan->moves[i];
    memcpy(bytes + move->new_offset, plan->image->bytes + move->old_offset, move->size);
  }
}

static void write_header(const struct plan *plan, uint8_t *bytes) {
  Elf64_Ehdr header = plan->image->header;
  header.e_phnum = (Elf64_Half)(header.e_phnum + plan->new_segments);
  header.e_shoff = plan->headers_at;
  header.e_shnum = (Elf64_Half)plan->section_count;
  memcpy(bytes, &header, sizeof header);
}

uint8_t *rewrite(const struct plan *plan, const uint8_t *table) {
  Elf64_Shdr *headers = make_headers(plan);
  uint8_t *bytes = calloc(1, plan->file_size);
  copy_contents(plan, bytes);
  write_relocations(plan, bytes);
  write_table(plan, table, bytes);
  clear_global_roots(plan, bytes);
  write_moves(plan, bytes);
  write_header(plan, bytes);
  write_segments(plan, bytes);
  write_dynamic(plan, bytes);
  move_symbols(plan, headers, bytes);
  write_tail(plan, headers, bytes);
  free(headers);
  return bytes;
}
