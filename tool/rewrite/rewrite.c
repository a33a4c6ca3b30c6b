/* rewrite.c - the new file: the packed table at the raw section's address, and all addresses kept.
 *
 * The packed table is a fortieth of the raw section. The bytes after it are free, but the sections
 * after them must keep their addresses: code and data refer to them. So the segment is split. Its
 * first part has the packed table; its second starts where the raw section ended; and n whole pages
 * between are cut out of the file:
 *
 *   old segment    | headers ... | raw section ............................ | more |
 *   new segments   | headers ... | note, table | zeros |  n pages           | more |
 *                                                      A                    B
 *
 * Addresses stay. File offsets after the cut go down by B - A, a multiple of the page size, so each
 * still equals its address modulo the page size, as mmap needs it (gABI, "Program Header",
 * p_align). The zeros are less than a page.
 *
 * In a position-independent file the relocations of the raw section go, too. The others move to the
 * end of their table, and pages before them are cut out in the same way:
 *
 *   old segment    | headers ... | relocations ........ | read-only data, raw section ...
 *   new segments   | headers ... |  pages  | those left | read-only data, note, table ...
 *
 * So both cuts may be in one segment: it then becomes three.
 *
 * Program headers are added: one for the segment after each cut, and a PT_NOTE for the table's
 * note. The table of program headers stays right after the ELF header, because binutils' strip and
 * objcopy will put it there, with any e_phoff. (A program runs with the table elsewhere, but strip
 * then destroys the file.) If there is no room for more headers, the file of a non-PIE executable
 * gets one page more at its front, and the first segment starts one page earlier: below it, an
 * executable has no neighbours. The headers move to that page; the old ones stay as data. In other
 * files, sections make room (moves.c).
 *
 * A program with a handful of records has raw stack maps that are smaller than a packed table's
 * header. Then the table goes into a segment of its own.
 *
 * Section headers: the raw section becomes `.stackpack` and keeps its number, so that symbols and
 * links stay valid; `.note.stackpack` is added as the last section. Symbols in the raw section
 * (`__LLVM_StackMaps`) now mean the packed table's start.
 */
#include "tool/rewrite/rewrite.h"

#include "elf/note.h"
#include "tool/image/crel.h"

#include <assert.h>
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
    return problem_set(problem, "the program headers aren't right after the ELF header; "
                                "BOLT leaves them there with --use-gnu-stack");
  if (image->section_count + 2 >= SHN_LORESERVE ||
      image->segment_count + PLAN_NEW_SEGMENTS_MAX >= PN_XNUM)
    return problem_set(problem, "too many sections or segments");
  return true;
}

static bool is_page_size(uint64_t size) {
  return size >= PAGE_SIZE_MIN && (size & (size - 1)) == 0 && size <= (uint64_t)1 << 32;
}

static bool check_segments(const struct image *image, struct problem *problem) {
  uint64_t page = UINT64_MAX; /* the smallest alignment */
  EACH_SEGMENT(image, segment)
    if (segment->p_type == PT_LOAD && segment->p_align < page)
      page = segment->p_align;
  EACH_SEGMENT(image, segment)
    if (segment->p_type == PT_LOAD && (!is_page_size(page) || !is_page_size(segment->p_align) ||
                                       (segment->p_vaddr - segment->p_offset) % page != 0))
      return problem_set(problem, "segment %td isn't aligned to pages", segment - image->segments);
  return true;
}

/* The section's bytes must be of one segment, its PT_LOAD; others may only protect memory that
 * PT_LOADs load. */
static bool check_alone(const struct image *image, const Elf64_Shdr *raw, struct problem *problem) {
  const Elf64_Phdr *home = image_segment_of(image, raw);
  EACH_SEGMENT(image, segment)
    if (segment != home && segment->p_type != PT_GNU_STACK && segment->p_type != PT_GNU_RELRO &&
        overlaps_segment(segment, raw))
      return problem_set(problem, "the stack maps are part of segment %td (type 0x%x), too",
                         segment - image->segments, segment->p_type);
  return true;
}

/* No other section may have their addresses. (objcopy's --pad-to makes a section longer than its
 * place; each thread has .tbss elsewhere.) */
static bool check_addresses(const struct image *image, const struct image_section *raw,
                            struct problem *problem) {
  EACH_SECTION(image, other) {
    const Elf64_Shdr *header = &other->header;
    const bool is_elsewhere = header->sh_type == SHT_NOBITS && (header->sh_flags & SHF_TLS) != 0;
    if (other != raw && (header->sh_flags & SHF_ALLOC) != 0 && !is_elsewhere &&
        overlap(header->sh_addr, header->sh_size, raw->header.sh_addr, raw->header.sh_size))
      return problem_set(problem, "%s has addresses of the stack maps, too", other->name);
  }
  return true;
}

/* `ld -q` leaves the relocations of a whole section: there is no table for a part of it. */
static bool check_relocations_left(const struct image *image, const struct image_section *raw,
                                   struct problem *problem) {
  EACH_SECTION(image, section)
    if (raw->part_of != 0 &&
        (section->header.sh_type == SHT_RELA || section->header.sh_type == SHT_CREL) &&
        (section->header.sh_flags & SHF_ALLOC) == 0 && section->header.sh_info == raw->part_of)
      return problem_set(problem, "%s has relocations of stack maps and of other data",
                         section->name);
  return true;
}

bool rewrite_check(const struct image *image, const struct loaded *loaded,
                   struct problem *problem) {
  const struct image_section *raw = loaded->raw;
  if (!check_kind(image, problem) || !check_segments(image, problem))
    return false;
  if ((raw->header.sh_flags & SHF_ALLOC) == 0 || image_segment_of(image, &raw->header) == NULL)
    return problem_set(problem, "section %s isn't loaded into memory", raw->name);
  if (raw->header.sh_addr % 8 != 0)
    return problem_set(problem, "section %s isn't aligned to 8 bytes", raw->name);
  return check_relocations_left(image, raw, problem) && check_alone(image, &raw->header, problem) &&
         check_addresses(image, raw, problem) &&
         (loaded->raw_count == 1 ||
          problem_set(problem, "the stack maps are in %zu places, with other data between",
                      loaded->raw_count));
}

/* ---- Contents ---- */

/* Symbols of the raw section mean the packed table's start; symbols of moved sections, and the
 * relocations' section symbol, move along. False: the symbol stays unchanged. */
static bool move_symbol(const struct plan *plan, Elf64_Sym *symbol) {
  const struct image *image = plan->image;
  const size_t number = image_symbol_section(image, symbol);
  const bool is_renumbered = number != symbol->st_shndx;
  symbol->st_shndx = (Elf64_Section)number;
  if (number == SHN_UNDEF || number >= image->section_count ||
      !image_symbol_is_in(image, symbol, number))
    return is_renumbered;
  if (number == plan_number(plan, plan->raw)) {
    symbol->st_value = plan->note_address + PACKED_NOTE_SIZE;
    symbol->st_size = 0;
    return true;
  }
  if (is_renumbered)
    return true;
  const struct plan_relocations *relocations = &plan->relocations;
  if (relocations->rela_shrinks && number == plan_number(plan, relocations->rela)) {
    symbol->st_value += relocations->rela_removed;
    return true;
  }
  const Elf64_Shdr *section = &image->sections[number].header;
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
    assert(header->sh_offset <= plan->file_size &&
           header->sh_size <= plan->file_size - header->sh_offset);
    for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= header->sh_size; at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      memcpy(&symbol, bytes + header->sh_offset + at, sizeof symbol);
      if (move_symbol(plan, &symbol))
        memcpy(bytes + header->sh_offset + at, &symbol, sizeof symbol);
    }
  }
}

/* The end of what is read again when all is moved: program headers, moves and dynamic relocations.
 * Linkers put these first. */
static uint64_t read_again_end(const struct plan *plan) {
  const struct image_section *tables[] = {plan->relocations.rela, plan->relocations.relr};
  uint64_t end = plan->move_count > 0 ? plan->moves_end : plan_old_headers_end(plan);
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
    if (tables[i] != NULL && tables[i]->header.sh_offset + tables[i]->header.sh_size > end)
      end = tables[i]->header.sh_offset + tables[i]->header.sh_size;
  return end;
}

/* Moves the old file around the cuts; its bytes before `kept` stay there, too. The section headers
 * at its end are written anew. */
static void move_contents(const struct plan *plan, uint8_t *bytes, uint64_t kept) {
  const struct input *file = &plan->image->file;
  uint64_t from = 0;
  copy_names(plan, bytes);
  input_move(file, bytes + plan->file_size - plan->appended, file->size - plan->appended,
             plan->appended, kept);
  for (size_t i = 0; i <= plan->cut_count; i++) {
    const bool is_last = i == plan->cut_count;
    const uint64_t to = is_last ? plan->old_contents_end : plan->cuts[i].start;
    assert(from <= to);
    input_move(file, bytes + plan_new_offset(plan, from), from, to - from, kept);
    from = is_last ? to : plan->cuts[i].end;
  }
}

/* Writes the note and the table, and zeros over the rest of the raw section. */
static void write_table(const struct plan *plan, const uint8_t *table, uint8_t *bytes) {
  const Elf64_Shdr *raw = &plan->raw->header;
  const uint64_t start = plan_new_offset(plan, raw->sh_offset);
  assert(plan->note_offset + plan->packed_size <= plan->headers_at);
  assert((plan->note_address - plan->note_offset) % PAGE_SIZE_MIN == 0);
  memset(bytes + start, 0, plan_left(plan, raw->sh_offset, raw->sh_size));
  memcpy(bytes + plan->note_offset, packed_note, PACKED_NOTE_SIZE);
  memcpy(bytes + plan->note_offset + PACKED_NOTE_SIZE, table, plan->packed_size - PACKED_NOTE_SIZE);
}

/* The array of global roots is in the table now. Without its relocations it would be wrong in a
 * position-independent file; so it is zeros in all files. */
static void clear_global_roots(const struct plan *plan, uint8_t *bytes) {
  const struct image_section *roots = plan->global_roots;
  assert(roots == NULL || plan_left(plan, roots->header.sh_offset, roots->header.sh_size) ==
                              roots->header.sh_size); /* no cut is in it */
  if (roots != NULL)
    memset(bytes + plan_new_offset(plan, roots->header.sh_offset), 0, roots->header.sh_size);
}

/* The two sections' relocations, left by `ld -q`, are obsolete: one remains, of type NONE, 0 for
 * all machines. (eu-strip calls a file with an empty table ill-formed.) In CREL, a 0 is the
 * count. */
static void clear_relocations_left(const struct plan *plan, Elf64_Shdr *headers, uint8_t *bytes) {
  EACH_SECTION(plan->image, section) {
    Elf64_Shdr *header = &headers[plan_number(plan, section)];
    const bool is_ours =
        header->sh_info == plan_number(plan, plan->raw) ||
        (plan->global_roots != NULL && header->sh_info == plan_number(plan, plan->global_roots));
    if ((header->sh_type != SHT_RELA && header->sh_type != SHT_REL &&
         header->sh_type != SHT_CREL) ||
        !is_ours || (header->sh_flags & SHF_ALLOC) != 0 || section->overlapping != NULL)
      continue;
    memset(bytes + header->sh_offset, 0,
           plan_left(plan, section->header.sh_offset, section->header.sh_size));
    if (header->sh_size > header->sh_entsize)
      header->sh_size = header->sh_entsize;
  }
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
    assert(move->new_offset + move->size <= plan->headers_at);
    memcpy(bytes + move->new_offset, plan->image->bytes + move->old_offset, move->size);
  }
}

static void write_header(const struct plan *plan, uint8_t *bytes) {
  Elf64_Ehdr header = plan->image->header;
  assert(header.e_phnum + plan->new_segments < PN_XNUM && plan->section_count < SHN_LORESERVE);
  header.e_phnum = (Elf64_Half)(header.e_phnum + plan->new_segments);
  header.e_shoff = plan->headers_at;
  header.e_shnum = (Elf64_Half)plan->section_count;
  memcpy(bytes, &header, sizeof header);
}

void rewrite(const struct plan *plan, const uint8_t *table, uint8_t *bytes, bool keeps_old) {
  Elf64_Shdr *headers = plan_section_headers(plan);
  move_contents(plan, bytes, keeps_old ? plan->image->size : read_again_end(plan));
  write_relocations(plan, bytes);
  write_table(plan, table, bytes);
  clear_global_roots(plan, bytes);
  clear_relocations_left(plan, headers, bytes);
  write_moves(plan, bytes);
  write_header(plan, bytes);
  write_segments(plan, bytes);
  write_dynamic(plan, bytes);
  move_symbols(plan, headers, bytes);
  write_tail(plan, headers, bytes);
  free(headers);
}
