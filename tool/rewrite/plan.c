/* plan.c - decides where everything goes: see rewrite.c for the picture.
 *
 * Two to five more program headers must stand behind the old ones. Room for them comes, in this
 * order, from bytes that are free there; from a page in front of a non-PIE executable; or from what
 * stands behind the headers, if that is something to which only headers lead: .interp, notes, and
 * the tables that the dynamic section points to. That is moved into bytes that packing has freed:
 * what is left of the relocations' table, or of the raw section; where it costs the fewest pages
 * that could be cut out else. (patchelf makes room in the same way.)
 * Where all of that is too small, as in tiny programs, the file gets a segment more at its end.
 *
 * Each cut needs one program header more, and so perhaps more moves, or a page in front. All pages that are
 * free are cut, or else those of the raw section only, or none: as there is room for those headers.
 *
 * What is moved keeps its section's number, so section headers aren't in the order of addresses any
 * more. patchelf, when it needs room for program headers, looks for what is in the way only up to
 * the first section that stands behind it, and so would overwrite what comes later in the table. So
 * there is made room enough for the headers that patchelf may add. .interp and notes, which linkers put first, move
 * to the start of this room: patchelf finds them there, as in any file. And a core dump has only the first page of
 * each module, from which its build ID is read; and in a file of debug information only notes have bytes, which
 * objcopy expects in front of the sections that have none.
 */
#include "tool/rewrite/plan.h"

#include "elf/note.h"

#include <inttypes.h>
#include <string.h>

/* The rooms that there may be, by what has left them; a move goes into one of the first two. */
enum { ROOM_RELOCATIONS, ROOM_RAW, ROOM_MOVED, ROOM_COUNT };

enum {
  LOWEST_ADDRESS = 0x10000, /* Linux maps nothing lower: vm.mmap_min_addr */
  LEAD_USUAL = 0x1000,      /* a page in front that is worth it */
  LEAD_MAX = 0x10000,       /* one that is taken where nothing else helps */
  MOVE_ALIGNMENT = 16,
  NEAR_ALIGNMENT = 8, /* the headers' */
  PADDING_MAX = 64,   /* between sections */
};

bool plan_fits_in_place(const struct plan *plan) {
  return plan->packed_size <= plan->raw->header.sh_size;
}

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

/* ---- Segments ---- */

static void find_segments(struct plan *plan) {
  const struct image *image = plan->image;
  plan->first_segment = (size_t)(image_segment_of(image, &plan->raw->header) - image->segments);
  plan->last_segment = plan->first_segment;
  for (size_t i = 0; i < image->segment_count; i++) {
    const Elf64_Phdr *segment = &image->segments[i];
    if (segment->p_type != PT_LOAD)
      continue;
    if (segment->p_vaddr < image->segments[plan->first_segment].p_vaddr)
      plan->first_segment = i;
    if (segment->p_vaddr > image->segments[plan->last_segment].p_vaddr)
      plan->last_segment = i;
  }
}

/* ---- Room for program headers ---- */

/* Where the first thing behind the program headers starts in the file. */
static uint64_t first_used_offset(const struct image *image) {
  uint64_t first = image->header.e_shoff;
  for (size_t i = 1; i < image->section_count; i++) {
    const Elf64_Shdr *header = &image->sections[i].header;
    if (header->sh_type != SHT_NULL && header->sh_offset > 0 && header->sh_offset < first)
      first = header->sh_offset;
  }
  for (size_t i = 0; i < image->segment_count; i++) {
    const Elf64_Phdr *segment = &image->segments[i];
    if (segment->p_filesz > 0 && segment->p_type != PT_PHDR && segment->p_offset > 0 &&
        segment->p_offset < first)
      first = segment->p_offset;
  }
  return first;
}

/* Whether the new headers fit without moving anything. */
static bool has_room(const struct plan *plan) {
  const uint64_t from = plan_old_headers_end(plan), to = plan_new_headers_end(plan);
  return to <= first_used_offset(plan->image) && all_zero(plan->image->bytes + from, to - from);
}

/* Tries a page in front. Addresses below the first segment are free in an executable only:
 * everything else starts at 0. */
static bool plan_lead(struct plan *plan) {
  const struct image *image = plan->image;
  const uint64_t start = image->segments[plan->first_segment].p_vaddr;
  uint64_t lead = 0;
  for (size_t i = 0; i < image->segment_count; i++)
    if (image->segments[i].p_type == PT_LOAD && image->segments[i].p_align > lead)
      lead = image->segments[i].p_align;
  if (image->header.e_type != ET_EXEC || lead > plan->lead_max || start < LOWEST_ADDRESS ||
      start - LOWEST_ADDRESS < lead || plan_new_headers_end(plan) > lead)
    return false;
  plan->lead = lead;
  return true;
}

/* ---- Moving what is in the way ---- */

/* Notes that only headers lead to: a program may have notes of its own, and use them by their addresses. */
static bool is_common_note(const struct image_section *section) {
  static const char *const names[] = {".note.gnu.", ".note.ABI-tag", ".note.package",
                                      ".note.stackpack"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strncmp(section->name, names[i], strlen(names[i])) == 0)
      return (section->header.sh_flags & SHF_WRITE) == 0;
  return false;
}

/* Whether only headers and the dynamic section know where a section is. */
static bool is_movable(const struct image *image, const struct image_section *named) {
  const Elf64_Shdr *section = &named->header;
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
  for (size_t i = 0; i < image->segment_count; i++)
    if (image->segments[i].p_type == PT_INTERP &&
        image->segments[i].p_offset == section->sh_offset &&
        image->segments[i].p_filesz == section->sh_size)
      return true;
  return false;
}

/* Bytes of the file, from `from` up to `to`, and whether anything stands there. */
struct range {
  uint64_t from, to;
  bool is_used;
};

/* Extends a range over what it overlaps. True: it is larger now. */
static bool extend(struct range *range, uint64_t offset, uint64_t size) {
  if (!overlap(range->from, range->to - range->from, offset, size))
    return false;
  range->is_used = true;
  if (offset >= range->from && offset + size <= range->to)
    return false;
  range->from = offset < range->from ? offset : range->from;
  range->to = offset + size > range->to ? offset + size : range->to;
  return true;
}

/* A byte, with every section, and every note's or interpreter's segment, that it is in, as a whole. */
static struct range find_range(const struct image *image, uint64_t at) {
  struct range range = {at, at + 1, false};
  for (bool more = true; more;) {
    more = false;
    for (size_t i = 1; i < image->section_count; i++) {
      const Elf64_Shdr *section = &image->sections[i].header;
      if (section->sh_type != SHT_NOBITS)
        more |= extend(&range, section->sh_offset, section->sh_size);
    }
    for (size_t i = 0; i < image->segment_count; i++) {
      const Elf64_Phdr *segment = &image->segments[i];
      if (segment->p_type != PT_LOAD && segment->p_type != PT_PHDR)
        more |= extend(&range, segment->p_offset, segment->p_filesz);
    }
  }
  return range;
}

static bool check_movable(const struct plan *plan, const struct plan_move *move,
                          struct problem *problem) {
  const struct image *image = plan->image;
  for (size_t i = 0; i < image->segment_count; i++)
    if (i != plan->first_segment && image->segments[i].p_type == PT_LOAD &&
        overlap(image->segments[i].p_offset, image->segments[i].p_filesz, move->old_offset,
                move->size))
      return problem_set(problem, "no room for more program headers");
  for (size_t i = 1; i < image->section_count; i++) {
    const Elf64_Shdr *section = &image->sections[i].header;
    if (section->sh_type == SHT_NOBITS ||
        !overlap(section->sh_offset, section->sh_size, move->old_offset, move->size))
      continue;
    if ((section->sh_flags & SHF_ALLOC) == 0 || !is_movable(image, &image->sections[i]))
      return problem_set(problem, "no room for more program headers: %s can't be moved",
                         image->sections[i].name);
  }
  return true;
}

/* patchelf adds a PT_LOAD, and gives each note a segment of its own; one of them is ours. */
static uint64_t spare_size(const struct image *image) {
  uint64_t headers = 2;
  for (size_t i = 1; i < image->section_count; i++)
    headers += image->sections[i].header.sh_type == SHT_NOTE;
  return headers * sizeof(Elf64_Phdr);
}

/* Whether a byte that no header knows of may be overwritten: it is 0, or what patchelf leaves where it has
 * moved a section away (X; from version 0.16 on, Z). */
static bool is_filler(uint8_t byte) { return byte == 0 || byte == 'X' || byte == 'Z'; }

/* Finds the ranges that stand where the new headers will. */
static bool find_moves(struct plan *plan, struct problem *problem) {
  const struct image *image = plan->image;
  const uint64_t to = plan_new_headers_end(plan) + plan->spare;
  const Elf64_Phdr *first = &image->segments[plan->first_segment];
  plan->move_count = 0;
  if (to > image->size)
    return problem_set(problem, "no room for more program headers");
  for (uint64_t at = plan_old_headers_end(plan); at < to;) {
    const struct range range = find_range(image, at);
    if (!range.is_used && is_filler(image->bytes[at])) {
      at++;
      continue;
    }
    if (!range.is_used || range.from < plan_old_headers_end(plan) ||
        range.to > first->p_offset + first->p_filesz || plan->move_count == PLAN_MOVES_MAX)
      return problem_set(problem, "no room for more program headers");
    struct plan_move *move = &plan->moves[plan->move_count++];
    *move = (struct plan_move){.old_offset = range.from,
                               .old_address = first->p_vaddr + (range.from - first->p_offset),
                               .size = range.to - range.from};
    if (!check_movable(plan, move, problem))
      return false;
    at = range.to;
  }
  return true;
}

/* Whether a move is of notes or .interp. */
static bool stays_near(const struct image *image, const struct plan_move *move) {
  for (size_t i = 0; i < image->segment_count; i++) {
    const Elf64_Phdr *segment = &image->segments[i];
    if ((segment->p_type == PT_NOTE || segment->p_type == PT_INTERP) &&
        overlap(segment->p_offset, segment->p_filesz, move->old_offset, move->size))
      return true;
  }
  return false;
}

/* The bytes of the moves that stay near. */
static uint64_t near_size(const struct plan *plan) {
  uint64_t size = 0;
  for (size_t i = 0; i < plan->move_count; i++)
    if (stays_near(plan->image, &plan->moves[i]))
      size += round_up(plan->moves[i].size, NEAR_ALIGNMENT);
  return size;
}

/* Finds moves so that there is room near the headers for those that stay near. */
static bool find_moves_near(struct plan *plan, uint64_t spare, struct problem *problem) {
  const Elf64_Phdr *first = &plan->image->segments[plan->first_segment];
  plan->has_near = false;
  for (plan->spare = spare; find_moves(plan, problem); plan->spare = near_size(plan))
    if (near_size(plan) <= plan->spare)
      return plan->has_near = plan_new_headers_end(plan) + plan->spare <= first->p_filesz;
  return false;
}

/* Finds moves that leave the most room behind the headers. */
static bool find_most_moves(struct plan *plan, struct problem *problem) {
  struct problem ignored = {0};
  if (find_moves_near(plan, spare_size(plan->image), &ignored))
    return true;
  plan->spare = spare_size(plan->image);
  if (find_moves(plan, &ignored) || find_moves_near(plan, 0, &ignored))
    return true;
  plan->spare = 0;
  return find_moves(plan, problem);
}

uint64_t plan_room_pages(const struct plan_room *room) {
  return room->page == 0 ? 0 : (room->end - room->offset) / room->page * room->page;
}

/* Takes the start of a room for a move; false if it's too large. */
static bool place(struct plan_room *room, struct plan_move *move, uint64_t alignment) {
  const uint64_t offset = round_up(room->address, alignment) - room->address + room->offset;
  if (offset > room->end || move->size > room->end - offset)
    return false;
  move->new_offset = offset;
  move->new_address = room->address + (offset - room->offset);
  room->address = move->new_address + move->size;
  room->offset = offset + move->size;
  return true;
}

static struct plan_room make_room(const struct plan *plan, const Elf64_Shdr *section, uint64_t used,
                                  bool can_cut) {
  const struct image *image = plan->image;
  const Elf64_Phdr *segment = image_segment_of(image, section);
  return (struct plan_room){
      .offset = section->sh_offset + used,
      .address = section->sh_addr + used,
      .end = section->sh_offset + section->sh_size,
      .segment = segment == NULL ? 0 : (size_t)(segment - image->segments),
      .page = can_cut && segment != NULL ? segment->p_align : 0,
  };
}

/* What the relocations that are taken out leave behind, and the rest of the raw section. */
static void find_rooms(const struct plan *plan, struct plan_room rooms[ROOM_COUNT]) {
  const struct plan_relocations *relocations = &plan->relocations;
  const bool can_cut = plan->cutting == CUT_ALL && plan_can_cut_relocations(plan);
  const uint64_t used = plan_fits_in_place(plan) ? plan->packed_size : 0;
  memset(rooms, 0, ROOM_COUNT * sizeof *rooms);
  rooms[ROOM_RAW] = make_room(plan, &plan->raw->header, used, plan_can_cut_raw(plan));
  if (relocations->rela != NULL)
    rooms[ROOM_RELOCATIONS] =
        make_room(plan, &relocations->rela->header, relocations->rela_size, can_cut);
  else if (relocations->relr != NULL)
    rooms[ROOM_RELOCATIONS] =
        make_room(plan, &relocations->relr->header, relocations->relr_size, can_cut);
}

/* Whether a byte belongs to nothing. */
static bool is_padding(const struct image *image, uint64_t at) {
  return !find_range(image, at).is_used && is_filler(image->bytes[at]);
}

/* What the moves leave behind: all from the program headers' end to what follows the last move. */
static void find_moved_room(const struct plan *plan, struct plan_room *room) {
  const uint64_t start = plan_new_headers_end(plan) + plan->spare;
  const Elf64_Phdr *first = &plan->image->segments[plan->first_segment];
  if (plan->cutting != CUT_ALL || plan->move_count == 0)
    return;
  const struct plan_move *last = &plan->moves[plan->move_count - 1];
  const uint64_t last_end = last->old_offset + last->size;
  uint64_t end = last_end;
  while (end < first->p_filesz && end < last_end + PADDING_MAX && is_padding(plan->image, end))
    end++;
  if (start < end && plan_can_cut_first(plan, start, end))
    *room =
        (struct plan_room){start, first->p_vaddr + start, end, plan->first_segment, first->p_align};
}

/* Places a move where that costs the fewest pages which would else be cut. */
static bool place_best(struct plan_room rooms[ROOM_COUNT], struct plan_move *move) {
  uint64_t least = UINT64_MAX;
  size_t best = 0;
  for (size_t i = 0; i <= ROOM_RAW; i++) {
    struct plan_room room = rooms[i];
    struct plan_move trial = *move;
    if (!place(&room, &trial, MOVE_ALIGNMENT))
      continue;
    const uint64_t cost = plan_room_pages(&rooms[i]) - plan_room_pages(&room);
    if (cost < least) {
      least = cost;
      best = i;
    }
  }
  return least < UINT64_MAX && place(&rooms[best], move, MOVE_ALIGNMENT);
}

/* Places the moves into freed bytes, near the headers or elsewhere, else into the extra segment, as offsets
 * from its start for now. */
static void place_moves(struct plan *plan, struct plan_room rooms[ROOM_COUNT]) {
  const uint64_t start = plan_new_headers_end(plan);
  const uint64_t address = plan->image->segments[plan->first_segment].p_vaddr + start;
  struct plan_room near = {.offset = start, .address = address, .end = start + plan->spare};
  for (size_t i = 0; i < plan->move_count; i++) {
    struct plan_move *move = &plan->moves[i];
    const bool is_near = plan->has_near && stays_near(plan->image, move);
    if ((is_near && place(&near, move, NEAR_ALIGNMENT)) || place_best(rooms, move))
      continue;
    plan->extra_size = round_up(plan->extra_size, MOVE_ALIGNMENT);
    move->new_offset = UINT64_MAX;
    move->new_address = plan->extra_size;
    plan->extra_size += move->size;
  }
}

/* ---- The end of the file ---- */

/* The old table of section headers is dropped where nothing else stands behind it, as linkers leave
 * it. Bytes that no header knows stay the file's last: programs look for what was appended to them
 * from the file's end. */
static void find_end(struct plan *plan) {
  const struct image *image = plan->image;
  const uint64_t table = image->header.e_shoff;
  const uint64_t table_end = table + image->header.e_shnum * sizeof(Elf64_Shdr);
  uint64_t used = plan_old_headers_end(plan);
  for (size_t i = 0; i < image->section_count; i++) {
    const Elf64_Shdr *header = &image->sections[i].header;
    if (header->sh_type != SHT_NOBITS && header->sh_offset + header->sh_size > used)
      used = header->sh_offset + header->sh_size;
  }
  for (size_t i = 0; i < image->segment_count; i++) {
    const Elf64_Phdr *segment = &image->segments[i];
    if (segment->p_filesz > 0 && segment->p_offset + segment->p_filesz > used)
      used = segment->p_offset + segment->p_filesz;
  }
  const uint64_t end = used > table_end ? used : table_end;
  plan->old_contents_end = used <= table ? used : end;
  plan->appended = image->size - end;
}

/* Gives the extra segment its place: in the file behind all else, in memory above all else. */
static void place_extra(struct plan *plan) {
  const struct image *image = plan->image;
  const Elf64_Phdr *last = &image->segments[plan->last_segment];
  find_end(plan);
  plan->contents_end = plan_new_offset(plan, plan->old_contents_end);
  if (plan->extra_size == 0)
    return;
  plan->extra_offset = round_up(plan->contents_end, MOVE_ALIGNMENT);
  plan->extra_address =
      round_up(last->p_vaddr + last->p_memsz, last->p_align) + plan->extra_offset % last->p_align;
  plan->contents_end = plan->extra_offset + plan->extra_size;
}

/* Turns the moves' places into those of the new file. */
static void finish_moves(struct plan *plan) {
  for (size_t i = 0; i < plan->move_count; i++) {
    struct plan_move *move = &plan->moves[i];
    if (move->new_offset == UINT64_MAX) {
      move->new_offset = plan->extra_offset + move->new_address;
      move->new_address += plan->extra_address;
    } else {
      move->new_offset = plan_new_offset(plan, move->new_offset);
    }
  }
}

static void place_note(struct plan *plan) {
  const Elf64_Shdr *raw = &plan->raw->header;
  if (plan_fits_in_place(plan)) {
    plan->note_offset = plan_new_offset(plan, raw->sh_offset);
    plan->note_address = raw->sh_addr;
  } else if (plan->extra_size > 0) {
    plan->note_offset = plan->extra_offset;
    plan->note_address = plan->extra_address;
  } else {
    plan->note_offset = plan_new_headers_end(plan);
    plan->note_address =
        plan->image->segments[plan->first_segment].p_vaddr - plan->lead + plan->note_offset;
  }
}

/* Makes a plan with a given number of new segments: the note's, and those of cuts and an extra
 * segment. Which of these are needed isn't known before; false, without a problem, if it was
 * another number. */
static bool plan_with(struct plan *plan, size_t new_segments, struct problem *problem) {
  const bool in_place = plan_fits_in_place(plan);
  struct plan_room rooms[ROOM_COUNT];
  find_rooms(plan, rooms);
  plan->new_segments = new_segments;
  plan->lead = plan->extra_size = plan->move_count = plan->cut_count = 0;
  const bool lead = in_place && has_room(plan) ? false : plan_lead(plan);
  if (!in_place && (!lead || plan_new_headers_end(plan) + plan->packed_size > plan->lead))
    plan->extra_size = plan->packed_size;
  if (!lead && !has_room(plan)) {
    if (!find_most_moves(plan, problem))
      return false;
    place_moves(plan, rooms);
    find_moved_room(plan, &rooms[ROOM_MOVED]);
  }
  for (size_t i = 0; i < ROOM_COUNT && plan->cutting != CUT_NOTHING; i++)
    plan_cut(plan, &rooms[i]);
  plan_split(plan);
  const size_t needed = 1 + (plan->extra_size > 0) + plan_splits(plan);
  if (needed > new_segments)
    return false;
  plan->new_segments = needed;
  place_extra(plan);
  finish_moves(plan);
  place_note(plan);
  return true;
}

/* Makes a plan with as few new segments as will do, for pages in front that aren't larger than `lead_max`. */
static bool plan_few(struct plan *plan, uint64_t lead_max, struct problem *problem) {
  plan->lead_max = lead_max;
  for (size_t n = 1; n <= PLAN_NEW_SEGMENTS_MAX && problem->text[0] == 0; n++)
    if (plan_with(plan, n, problem))
      return true;
  return false;
}

/* What can be cut is, unless the program headers for that don't fit in any way. */
static bool plan_least(struct plan *plan, struct problem *problem) {
  for (int cutting = CUT_ALL; cutting >= CUT_NOTHING; cutting--) {
    struct problem usual = {0}, other = {0};
    plan->cutting = cutting;
    if (plan_few(plan, LEAD_USUAL, &usual) || plan_few(plan, LEAD_MAX, &other))
      return true;
    if (cutting == CUT_NOTHING && other.text[0] != 0)
      *problem = other;
  }
  return problem_set(problem, "no room for more program headers");
}

bool plan_make(struct plan *plan, const struct image *image,
               const struct rewrite_sections *sections, size_t table_size,
               struct problem *problem) {
  *plan = (struct plan){.image = image,
                        .raw = sections->raw,
                        .global_roots = sections->global_roots,
                        .packed_size = PACKED_NOTE_SIZE + table_size};
  plan->raw_index = (size_t)(plan->raw - image->sections);
  find_segments(plan);
  if (image->segments[plan->first_segment].p_offset != 0)
    return problem_set(problem, "the ELF header isn't in the first segment");
  return plan_relocations(plan, problem) && plan_least(plan, problem);
}
