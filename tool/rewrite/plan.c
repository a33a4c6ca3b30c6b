/* plan.c - decides where everything goes: see rewrite.c for the picture.
 *
 * One to five more program headers must follow the old ones. Room for them comes, in this order,
 * from bytes that are free there; from a page in front of a non-PIE executable; or from the
 * sections after the headers, if these can move (moves.c). They move into bytes that packing frees:
 * the rest of the relocations' table, or of the raw section. Where these are too small, as in tiny
 * programs, the file gets a segment more at its end.
 *
 * Each cut needs one program header more, and so perhaps more moves, or a page in front. All pages
 * that are free are cut; or, where their headers have no room, those of the raw section only, or
 * none.
 */
#include "tool/rewrite/plan.h"

#include "elf/note.h"

#include <string.h>

/* Rooms for moves, and last the room that they leave. */
enum { ROOM_NEAR, ROOM_RELOCATIONS, ROOM_RAW, ROOM_EXTRA, ROOM_MOVED, ROOM_COUNT };

/* Which pages are cut. */
enum cutting { CUT_NOTHING, CUT_RAW, CUT_ALL };

enum {
  LOWEST_ADDRESS = 0x10000, /* Linux maps nothing lower: vm.mmap_min_addr */
  LEAD_USUAL = 0x1000,      /* a page in front that is worth it */
  LEAD_MAX = 0x10000,       /* one that is taken where nothing else helps */
};

bool plan_fits_in_place(const struct plan *plan) {
  return plan->packed_size <= plan->sections.raw->header.sh_size;
}

static void find_segments(struct plan *plan) {
  plan->first = plan->last = image_segment_of(plan->image, &plan->sections.raw->header);
  EACH_SEGMENT(plan->image, segment) {
    if (segment->p_type != PT_LOAD)
      continue;
    if (segment->p_vaddr < plan->first->p_vaddr)
      plan->first = segment;
    if (segment->p_vaddr > plan->last->p_vaddr)
      plan->last = segment;
  }
}

/* The old table of section headers is dropped where nothing else follows it, as linkers leave it.
 * Bytes that no header knows stay the file's last: programs look for data that was appended to them
 * from the file's end. */
static void find_end(struct plan *plan) {
  const struct image *image = plan->image;
  const uint64_t table = image->header.e_shoff;
  const uint64_t table_end = table + image->header.e_shnum * sizeof(Elf64_Shdr);
  uint64_t used = plan_old_headers_end(plan);
  EACH_SECTION(image, section) {
    const Elf64_Shdr *header = &section->header;
    if (header->sh_type != SHT_NOBITS && header->sh_offset + header->sh_size > used)
      used = header->sh_offset + header->sh_size;
  }
  EACH_SEGMENT(image, segment)
    if (segment->p_filesz > 0 && segment->p_offset + segment->p_filesz > used)
      used = segment->p_offset + segment->p_filesz;
  const uint64_t end = used > table_end ? used : table_end;
  plan->old_contents_end = used <= table ? used : end;
  plan->extra_place = round_up(plan->old_contents_end, PLAN_MOVE_ALIGNMENT);
  plan->appended = image->size - end;
}

/* ---- Room ---- */

/* Tries a page in front. Addresses below the first segment are free in an executable only:
 * everything else starts at 0. */
static bool take_lead(struct plan *plan, uint64_t lead_max) {
  const uint64_t start = plan->first->p_vaddr;
  uint64_t lead = 0;
  EACH_SEGMENT(plan->image, segment)
    if (segment->p_type == PT_LOAD && segment->p_align > lead)
      lead = segment->p_align;
  if (plan->image->header.e_type != ET_EXEC || lead > lead_max || start < LOWEST_ADDRESS ||
      start - LOWEST_ADDRESS < lead || plan_new_headers_end(plan) > lead)
    return false;
  plan->lead = lead;
  return true;
}

/* Finds the rooms in the raw section, in the relocations, after the headers, and at the end of the
 * file. */
static void find_rooms(const struct plan *plan, enum cutting cutting,
                       struct plan_room rooms[ROOM_COUNT]) {
  const Elf64_Shdr *raw = &plan->sections.raw->header;
  const Elf64_Phdr *segment = image_segment_of(plan->image, raw);
  const uint64_t start = plan_new_headers_end(plan), end = raw->sh_offset + raw->sh_size;
  const uint64_t in_place = plan_fits_in_place(plan) ? plan->packed_size : 0;
  memset(rooms, 0, ROOM_COUNT * sizeof *rooms);
  rooms[ROOM_NEAR] = (struct plan_room){start, start + plan->spare, plan->first, false};
  rooms[ROOM_RELOCATIONS] = plan->relocations.room;
  rooms[ROOM_RELOCATIONS].can_cut &= cutting == CUT_ALL;
  rooms[ROOM_RAW] = (struct plan_room){raw->sh_offset + in_place, end, segment,
                                       cutting != CUT_NOTHING &&
                                           plan_can_cut(plan, segment, raw->sh_offset, end)};
  rooms[ROOM_EXTRA] = (struct plan_room){plan->extra_place + (in_place > 0 ? 0 : plan->packed_size),
                                         UINT64_MAX, NULL, false};
}

/* Takes the start of a room for a move; false if it's too large. Addresses in the extra segment
 * aren't known yet. */
static bool place(struct plan_room *room, struct plan_move *move) {
  const uint64_t offset = round_up(room->offset, PLAN_MOVE_ALIGNMENT);
  const Elf64_Phdr *segment = room->segment;
  if (offset > room->end || move->size > room->end - offset)
    return false;
  move->new_offset = offset;
  move->new_address = segment == NULL ? 0 : segment->p_vaddr + (offset - segment->p_offset);
  room->offset = offset + move->size;
  return true;
}

/* Of the rooms that packing frees, the one in which a move costs the fewest pages; else the extra
 * room. */
static size_t cheapest_room(const struct plan_room rooms[ROOM_COUNT], struct plan_move move) {
  size_t cheapest = ROOM_EXTRA;
  uint64_t least = UINT64_MAX;
  for (size_t i = ROOM_RELOCATIONS; i <= ROOM_RAW; i++) {
    struct plan_room room = rooms[i];
    if (place(&room, &move) && plan_pages(&rooms[i]) - plan_pages(&room) < least) {
      cheapest = i;
      least = plan_pages(&rooms[i]) - plan_pages(&room);
    }
  }
  return cheapest;
}

/* Places the moves, by offsets of the old file. The room that they leave starts at the program
 * headers' end. */
static void place_moves(struct plan *plan, enum cutting cutting,
                        struct plan_room rooms[ROOM_COUNT]) {
  const uint64_t start = plan_new_headers_end(plan) + plan->spare;
  for (size_t i = 0; i < plan->move_count; i++) {
    struct plan_move *move = &plan->moves[i];
    if (!plan_stays_near(plan, move) || !place(&rooms[ROOM_NEAR], move))
      place(&rooms[cheapest_room(rooms, *move)], move);
  }
  if (start < plan->moves_end)
    rooms[ROOM_MOVED] = (struct plan_room){
        start, plan->moves_end, plan->first,
        cutting == CUT_ALL && plan_can_cut(plan, plan->first, start, plan->moves_end)};
}

/* ---- The new file ---- */

/* Turns the places of the moves, the extra segment and the note into those of the new file. The
 * extra segment stands in the file after all else, in memory above all else. */
static void finish_places(struct plan *plan) {
  const Elf64_Phdr *last = plan->last;
  const Elf64_Shdr *raw = &plan->sections.raw->header;
  plan->contents_end = plan_new_offset(plan, plan->old_contents_end);
  plan->extra_offset = plan_new_offset(plan, plan->extra_place);
  plan->extra_address =
      round_up(last->p_vaddr + last->p_memsz, last->p_align) + plan->extra_offset % last->p_align;
  if (plan->extra_size > 0)
    plan->contents_end = plan->extra_offset + plan->extra_size;
  for (size_t i = 0; i < plan->move_count; i++) {
    struct plan_move *move = &plan->moves[i];
    const bool is_extra = move->new_offset >= plan->extra_place;
    move->new_offset = plan_new_offset(plan, move->new_offset);
    if (is_extra)
      move->new_address = plan->extra_address + (move->new_offset - plan->extra_offset);
  }
  const bool in_place = plan_fits_in_place(plan);
  plan->note_offset = in_place ? plan_new_offset(plan, raw->sh_offset) : plan->extra_offset;
  plan->note_address = in_place ? raw->sh_addr : plan->extra_address;
}

/* Whether the bytes of the raw section's name can take the new names: no other section or symbol
 * uses them. */
static bool name_is_free(const struct plan *plan) {
  const struct image *image = plan->image;
  const struct image_section *raw = plan->sections.raw;
  if (plan->lead > 0 || raw->part_of != 0 || strlen(raw->name) + 1 != PLAN_NOTE_NAME_SIZE)
    return false;
  EACH_SECTION(image, section) {
    const Elf64_Shdr *header = &section->header;
    if ((section != raw && overlap(header->sh_name, strlen(section->name) + 1, raw->header.sh_name,
                                   PLAN_NOTE_NAME_SIZE)) ||
        (header->sh_link == image->section_names &&
         (header->sh_type == SHT_SYMTAB || header->sh_type == SHT_DYNSYM)))
      return false;
  }
  return true;
}

/* Places the tail: names of sections, their headers, and data that was appended to the file. */
static void place_tail(struct plan *plan) {
  const struct image *image = plan->image;
  uint64_t end = plan->contents_end;
  plan->section_count = image->section_count + (plan->lead > 0 ? 2 : 1);
  if (!name_is_free(plan)) {
    plan->names_at = end;
    end += image->sections[image->section_names].header.sh_size + sizeof plan_section_names;
  }
  plan->headers_at = round_up(end, sizeof(Elf64_Off));
  plan->file_size = plan->headers_at + plan->section_count * sizeof(Elf64_Shdr) + plan->appended;
}

/* ---- The search ---- */

/* Makes a plan with room for a number of new segments: the note's, and those of cuts and an extra
 * segment. How many are needed isn't known before. False, without a problem: it is more. */
static bool plan_with(struct plan *plan, enum cutting cutting, size_t new_segments,
                      struct problem *problem) {
  struct plan_room rooms[ROOM_COUNT];
  struct problem why = {0};
  plan->new_segments = new_segments;
  plan->lead = plan->spare = plan->move_count = plan->moves_end = plan->cut_count = 0;
  if (!plan_has_room(plan) && !take_lead(plan, LEAD_USUAL) && !plan_find_moves(plan, &why)) {
    plan->spare = plan->move_count = plan->moves_end = 0;
    if (!take_lead(plan, LEAD_MAX))
      return problem_set(problem, "%s", why.text);
  }
  find_rooms(plan, cutting, rooms);
  place_moves(plan, cutting, rooms);
  for (size_t i = 0; i < ROOM_COUNT; i++)
    plan_cut(plan, &rooms[i]);
  plan->extra_size = rooms[ROOM_EXTRA].offset - plan->extra_place;
  plan->new_segments = 1 + (plan->extra_size > 0) + plan_split(plan);
  if (plan->new_segments > new_segments)
    return false;
  finish_places(plan);
  place_tail(plan);
  return true;
}

bool plan_make(struct plan *plan, const struct image *image, struct plan_sections sections,
               size_t table_size, struct problem *problem) {
  *plan = (struct plan){
      .image = image, .sections = sections, .packed_size = PACKED_NOTE_SIZE + table_size};
  find_segments(plan);
  find_end(plan);
  if (plan->first->p_offset != 0)
    return problem_set(problem, "the ELF header isn't in the first segment");
  if (!plan_relocations(plan, problem))
    return false;
  for (int cutting = CUT_ALL; cutting >= CUT_NOTHING; cutting--) {
    struct problem why = {0};
    for (size_t n = 1; n <= PLAN_NEW_SEGMENTS_MAX && why.text[0] == 0; n++)
      if (plan_with(plan, (enum cutting)cutting, n, &why))
        return true;
    if (cutting == CUT_NOTHING && why.text[0] != 0)
      *problem = why;
  }
  return problem_set(problem, "no room for more program headers");
}
