/* moves.c - finds the ranges that must move so that more program headers have room.
 *
 * A section can move if only headers and the dynamic section refer to it: .interp, notes, and
 * tables such as .dynsym. (patchelf makes room in the same way.)
 *
 * A section that has moved keeps its number, so section headers lose the order of addresses.
 * patchelf, when it needs room for program headers, looks for sections in the way only up to the
 * first section after that room, and so would overwrite sections that come later in the table. So
 * the room is made large enough for the headers that patchelf may add. .interp and notes, the first
 * sections in linkers' order, move to the start of this room: patchelf finds them there, as in any
 * file. And a core dump has only the first page of each module, and its build ID must be there; and
 * in a file of debug information only notes have bytes, and objcopy expects them in front of the
 * empty sections.
 */
#include "tool/rewrite/plan.h"

#include "format/code_ranges.h"
#include "format/search.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

uint64_t plan_old_headers_end(const struct plan *plan) {
  return sizeof(Elf64_Ehdr) + plan->image->segment_count * sizeof(Elf64_Phdr);
}

uint64_t plan_new_headers_end(const struct plan *plan) {
  return plan_old_headers_end(plan) + plan->new_segments * sizeof(Elf64_Phdr);
}

const struct plan_move *plan_move_of(const struct plan *plan, uint64_t offset, uint64_t size) {
  for (size_t i = 0; i < plan->move_count; i++) {
    const struct plan_move *move = &plan->moves[i];
    if (offset >= move->old_offset && offset + size <= move->old_offset + move->size)
      return move;
  }
  return NULL;
}

/* ---- Bytes that are used ---- */

/* Whether the first segment has the addresses up to an offset, or may grow over them, as one does
 * that has headers alone. */
static bool has_addresses(const struct plan *plan, uint64_t to) {
  const Elf64_Phdr *first = plan->first;
  if (to <= first->p_filesz)
    return true;
  EACH_SEGMENT(plan->image, segment)
    if (segment != first && segment->p_type == PT_LOAD && segment->p_vaddr > first->p_vaddr &&
        segment->p_vaddr - first->p_vaddr < to)
      return false;
  return first->p_memsz == first->p_filesz;
}

bool plan_has_room(const struct plan *plan) {
  const struct image *image = plan->image;
  const uint64_t from = plan_old_headers_end(plan), to = plan_new_headers_end(plan);
  uint64_t first = image->header.e_shoff; /* the first byte that is used */
  EACH_SECTION(image, section) {
    const Elf64_Shdr *header = &section->header;
    if (header->sh_type != SHT_NULL && header->sh_offset > 0 && header->sh_offset < first)
      first = header->sh_offset;
  }
  EACH_SEGMENT(image, segment)
    if (segment->p_filesz > 0 && segment->p_type != PT_PHDR && segment->p_offset > 0 &&
        segment->p_offset < first)
      first = segment->p_offset;
  return to <= first && has_addresses(plan, to) && all_zero(image->bytes + from, to - from);
}

static void add_range(struct code_ranges *ranges, uint64_t offset, uint64_t size) {
  (void)code_ranges_add(ranges, offset, offset + size);
}

/* The bytes of the file that sections, and the segments of notes and interpreters, have: by their
 * places; ranges that overlap are one. To be freed. */
static struct code_ranges find_ranges(const struct image *image) {
  struct code_ranges ranges = {0};
  size_t kept = 0;
  EACH_SECTION(image, section)
    if (section->header.sh_type != SHT_NOBITS)
      add_range(&ranges, section->header.sh_offset, section->header.sh_size);
  EACH_SEGMENT(image, segment)
    if (segment->p_type != PT_LOAD && segment->p_type != PT_PHDR && segment->p_type != PT_GNU_RELRO)
      add_range(&ranges, segment->p_offset, segment->p_filesz);
  code_ranges_sort(&ranges);
  for (size_t i = 0; i < ranges.count; i++) {
    if (kept == 0 || ranges.items[i].start >= ranges.items[kept - 1].end)
      ranges.items[kept++] = ranges.items[i];
    else if (ranges.items[i].end > ranges.items[kept - 1].end)
      ranges.items[kept - 1].end = ranges.items[i].end;
  }
  ranges.count = kept;
  assert(IS_SORTED(ranges.items, kept, start) && IS_SORTED(ranges.items, kept, end));
  return ranges;
}

/* The range that has a byte; NULL if it is free. */
static const struct code_range *find_range(const struct code_ranges *ranges, uint64_t at) {
  const size_t count = SEARCH_UP_TO(ranges->items, ranges->count, start, at);
  return count > 0 && at < ranges->items[count - 1].end ? &ranges->items[count - 1] : NULL;
}

/* Whether a byte outside all headers' ranges may be overwritten: it is 0, or the letter that
 * patchelf writes over a section that it has moved (X; from version 0.16 on, Z). */
static bool is_filler(uint8_t byte) { return byte == 0 || byte == 'X' || byte == 'Z'; }

/* ---- Sections that can move ---- */

/* Notes that only headers refer to: a program may have notes of its own, and use them by their
 * addresses. */
static bool is_common_note(const struct image_section *section) {
  static const char *const names[] = {".note.gnu.", ".note.ABI-tag", ".note.package",
                                      ".note.dlopen", ".note.stackpack"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strncmp(section->name, names[i], strlen(names[i])) == 0)
      return (section->header.sh_flags & SHF_WRITE) == 0;
  return false;
}

/* Whether only headers and the dynamic section refer to a section. `interpreter`: the file's one
 * segment of this type. */
static bool is_movable(const struct image_section *named, const Elf64_Phdr *interpreter) {
  const Elf64_Shdr *section = &named->header;
  if ((section->sh_flags & SHF_ALLOC) == 0)
    return false;
  switch (section->sh_type) {
  case SHT_NOTE:
    return is_common_note(named);
  case SHT_DYNSYM:
  case SHT_HASH:
  case SHT_GNU_HASH:
  case SHT_GNU_versym:
  case SHT_GNU_verneed:
  case SHT_GNU_verdef:
  case SHT_STRTAB:
    return true;
  }
  return interpreter != NULL && interpreter->p_offset == section->sh_offset &&
         interpreter->p_filesz == section->sh_size;
}

/* Names the way to link a file with more room: a linker that puts the first section higher leaves
 * the bytes before it free. (GNU ld, since 2.43, moves the note of properties alone.) */
static bool set_immovable(const struct plan *plan, const char *name, struct problem *problem) {
  enum { ROUND = 256 };
  const struct image_section *first = plan->raw;
  EACH_SECTION(plan->image, section)
    if ((section->header.sh_flags & SHF_ALLOC) != 0 &&
        section->header.sh_addr < first->header.sh_addr &&
        strcmp(section->name, ".note.gnu.property") != 0)
      first = section;
  const uint64_t room = plan_old_headers_end(plan) + PLAN_NEW_SEGMENTS_MAX * sizeof(Elf64_Phdr);
  return problem_set(problem,
                     "no room for more program headers: %s can't be moved; there is room if linked "
                     "with --section-start=%s=0x%" PRIx64,
                     name, first->name, plan->first->p_vaddr + round_up(room, ROUND));
}

static bool check_movable(const struct plan *plan, const struct code_range *range,
                          struct problem *problem) {
  const struct image *image = plan->image;
  const uint64_t size = range->end - range->start;
  const Elf64_Phdr *interpreter = image_first_segment(image, PT_INTERP);
  EACH_SEGMENT(image, segment)
    if (segment != plan->first && segment->p_type == PT_LOAD &&
        overlap(segment->p_offset, segment->p_filesz, range->start, size))
      return problem_set(problem, "no room for more program headers");
  EACH_SECTION(image, section)
    if (section->header.sh_type != SHT_NOBITS &&
        overlap(section->header.sh_offset, section->header.sh_size, range->start, size) &&
        (!is_movable(section, interpreter) ||
         section->header.sh_addr - plan->first->p_vaddr != section->header.sh_offset))
      return set_immovable(plan, section->name, problem);
  return true;
}

/* Moves all ranges from the old headers' end up to `to`. The room that they leave reaches to the
 * next section, as objcopy complains of a segment that starts before its first section. */
static bool move_ranges(struct plan *plan, const struct code_ranges *ranges, uint64_t to,
                        struct problem *problem) {
  enum { PADDING_MAX = 64 };
  const struct image *image = plan->image;
  const uint64_t from = plan_old_headers_end(plan), first_end = plan->first->p_filesz;
  uint64_t at = from;
  while (at < to) {
    const struct code_range *range = find_range(ranges, at);
    if (range == NULL && is_filler(image->bytes[at])) {
      at++;
      continue;
    }
    if (range == NULL || range->start < from || range->end > first_end ||
        plan->move_count == PLAN_MOVES_MAX)
      return problem_set(problem, "no room for more program headers");
    if (!check_movable(plan, range, problem))
      return false;
    assert(range->start <= at && at < range->end);
    assert(plan->move_count == 0 || plan->moves[plan->move_count - 1].old_offset < range->start);
    plan->moves[plan->move_count++] =
        (struct plan_move){.old_offset = range->start,
                           .old_address = plan->first->p_vaddr + range->start,
                           .size = range->end - range->start};
    at = range->end;
  }
  const uint64_t padding_end = at + PADDING_MAX < first_end ? at + PADDING_MAX : first_end;
  while (at < padding_end && find_range(ranges, at) == NULL && is_filler(image->bytes[at]))
    at++;
  assert(to <= at && at <= image->size);
  plan->moves_end = at;
  return true;
}

/* Finds the ranges in the place of the new headers, and of `spare` bytes after them. */
static bool find_moves(struct plan *plan, uint64_t spare, struct problem *problem) {
  const struct image *image = plan->image;
  const uint64_t to = plan_new_headers_end(plan) + spare;
  plan->spare = spare;
  plan->move_count = plan->moves_end = 0;
  if (to > image->size || (spare > 0 && to > plan->first->p_filesz) || !has_addresses(plan, to))
    return problem_set(problem, "no room for more program headers");
  struct code_ranges ranges = find_ranges(image);
  const bool ok = move_ranges(plan, &ranges, to, problem);
  code_ranges_free(&ranges);
  return ok;
}

/* ---- Moves that stay near the headers ---- */

static bool is_near(const Elf64_Phdr *segment) {
  return segment->p_type == PT_NOTE || segment->p_type == PT_INTERP;
}

bool plan_stays_near(const struct plan *plan, const struct plan_move *move) {
  EACH_SEGMENT(plan->image, segment)
    if (is_near(segment) &&
        overlap(segment->p_offset, segment->p_filesz, move->old_offset, move->size))
      return true;
  return false;
}

/* Bytes after the program headers for headers that are added later; .interp and the notes have room
 * there, too. */
static uint64_t spare_size(const struct image *image, uint64_t headers) {
  uint64_t near = 0;
  EACH_SEGMENT(image, segment)
    near += is_near(segment) ? round_up(segment->p_filesz, PLAN_MOVE_ALIGNMENT) : 0;
  const uint64_t size = headers * sizeof(Elf64_Phdr);
  return near > size ? near : size;
}

/* patchelf adds a PT_LOAD, and gives each note a segment of its own. Up to version 0.18 it clears
 * room for one header more for each note, the packed table's among them; if an immovable section is
 * in the way, there is room at least for the headers that it writes. */
bool plan_find_moves(struct plan *plan, struct problem *problem) {
  const struct image *image = plan->image;
  struct problem ignored = {0};
  uint64_t notes = 0, alone = 0;
  EACH_SECTION(image, section)
    notes += section->header.sh_type == SHT_NOTE;
  EACH_SEGMENT(image, segment)
    alone += segment->p_type == PT_NOTE;
  const uint64_t written = 1 + (notes > alone ? notes - alone : 0);
  return find_moves(plan, spare_size(image, 2 + notes), &ignored) ||
         find_moves(plan, spare_size(image, written), &ignored) || find_moves(plan, 0, problem);
}
