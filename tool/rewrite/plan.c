/* plan.c - decides where everything goes: see rewrite.c for the picture.
 *
 * One to six more program headers must follow the old ones. Room for them comes, in this order,
 * from bytes that are free there; from a page in front of a non-PIE executable; or from the
 * sections after the headers, if these can move (moves.c). They move into bytes that packing frees:
 * the rest of the raw section. Where that is too small, as in tiny programs, the file gets a
 * segment more at its end.
 *
 * Packing frees bytes in up to three places: after the packed table, up to the raw section's end;
 * in a position-independent file, before the relocations that are left (of kind RELR: after them,
 * up to the old end of their table); and where sections stood that had to make room. All whole
 * pages of each are cut, counted from its end:
 *
 *   addresses   | table | zeros |      n pages       | the rest |
 *   file        | table | zeros | the rest |
 *
 * The following bytes become a segment of their own, perhaps from the middle of a page. Then one
 * page of the file is mapped twice, at both its addresses, as linkers lay out segments, too. Each
 * cut needs one program header more, and so perhaps more moves, or a page in front. If these
 * headers lack room, only pages of the raw section are cut, or none.
 *
 * Raw stack maps in a writable segment (as in objects that were split: ld.so writes addresses into
 * them) have data in their first and last page. If the raw section is large enough, the table gets
 * a read-only segment in the pages between: a page higher in memory, and at the raw section's place
 * in the file, where a page is mapped twice, too.
 */
#include "tool/rewrite/plan.h"

#include "elf/note.h"

#include <assert.h>
#include <string.h>

/* Rooms for moves: after the program headers, in the raw section, and at the end of the file; and
 * the room that the moves leave. */
enum { ROOM_NEAR, ROOM_RAW, ROOM_EXTRA, ROOM_MOVED, ROOM_COUNT };

/* The pages to be cut. */
enum cutting { CUT_NOTHING, CUT_RAW, CUT_ALL };

enum {
  LOWEST_ADDRESS = 0x10000, /* Linux maps only higher ones: vm.mmap_min_addr */
  LEAD_USUAL = 0x1000,      /* a page in front that is worth it */
  LEAD_MAX = 0x10000,       /* one that is taken as a last resort */
  READ_ONLY_COST = 0x1000,  /* a read-only table is worth a file that is larger by less */
};

bool plan_fits_in_place(const struct plan *plan) {
  return plan->packed_size <= plan->raw->header.sh_size;
}

static void find_segments(struct plan *plan) {
  plan->home = image_segment_of(plan->image, &plan->raw->header);
  plan->first = plan->last = plan->home;
  plan->alignment = plan->home->p_align;
  EACH_SEGMENT(plan->image, segment) {
    if (segment->p_type != PT_LOAD)
      continue;
    if (segment->p_vaddr < plan->first->p_vaddr)
      plan->first = segment;
    if (segment->p_vaddr > plan->last->p_vaddr)
      plan->last = segment;
    if (segment->p_align > plan->alignment)
      plan->alignment = segment->p_align;
  }
}

/* The old table of section headers is dropped if it is the last, as linkers leave it. Bytes outside
 * all headers' ranges stay the file's last: programs look for appended data from the file's end. */
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
  assert(end <= image->size); /* image_open has checked all three */
  plan->old_contents_end = used <= table ? used : end;
  plan->extra_place = round_up(plan->old_contents_end, PLAN_MOVE_ALIGNMENT);
  plan->appended = image->size - end;
}

/* ---- Room ---- */

/* Tries a page in front. Addresses below the first segment are free in an executable only:
 * everything else starts at 0. */
static bool take_lead(struct plan *plan, uint64_t lead_max) {
  /* A static program of glibc for AArch64 or RISC-V goes on with the old headers (seen with
   * 2.36). */
  if (plan->image->header.e_machine != EM_X86_64 &&
      image_first_segment(plan->image, PT_INTERP) == NULL)
    return false;
  const uint64_t start = plan->first->p_vaddr, lead = plan->alignment;
  if (plan->image->header.e_type != ET_EXEC || lead > lead_max || start < LOWEST_ADDRESS ||
      start - LOWEST_ADDRESS < lead || plan_new_headers_end(plan) > lead)
    return false;
  plan->lead = lead;
  return true;
}

/* The largest page in front that is preferred to moves. For AArch64, patchelf (up to version 0.19)
 * takes any page for one of 64 KiB, and aborts where an address and its place in the file differ by
 * less: a smaller page in front makes them so. */
static uint64_t usual_lead(const struct plan *plan) {
  return plan->image->header.e_machine == EM_AARCH64 ? 0 : LEAD_USUAL;
}

static void find_rooms(const struct plan *plan, struct plan_room rooms[ROOM_COUNT]) {
  const Elf64_Shdr *raw = &plan->raw->header;
  const uint64_t start = plan_new_headers_end(plan), raw_end = raw->sh_offset + raw->sh_size;
  const bool in_place = plan_fits_in_place(plan);
  rooms[ROOM_NEAR] = (struct plan_room){start, start + plan->spare, plan->first};
  rooms[ROOM_RAW] =
      (struct plan_room){raw->sh_offset + (in_place ? plan->packed_size : 0), raw_end, plan->home};
  rooms[ROOM_EXTRA] =
      (struct plan_room){plan->extra_place + (in_place ? 0 : plan->packed_size), UINT64_MAX, NULL};
  rooms[ROOM_MOVED] = (struct plan_room){0};
  assert(plan->moves_end == 0 || plan->moves_end >= rooms[ROOM_NEAR].end);
  if (rooms[ROOM_NEAR].end < plan->moves_end)
    rooms[ROOM_MOVED] = (struct plan_room){rooms[ROOM_NEAR].end, plan->moves_end, plan->first};
}

/* Takes the start of a room for a move; false if it's too large. Addresses in the extra segment are
 * still open. */
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

/* Places the moves, by offsets of the old file, each in the first room that takes it. Only notes
 * and the like may stay near the headers. */
static void place_moves(struct plan *plan, struct plan_room rooms[ROOM_COUNT]) {
  for (size_t i = 0; i < plan->move_count; i++) {
    struct plan_move *move = &plan->moves[i];
    size_t room = plan_stays_near(plan, move) ? ROOM_NEAR : ROOM_RAW;
    while (!place(&rooms[room], move)) {
      room++;
      assert(room <= ROOM_EXTRA); /* which has room for all */
    }
  }
}

/* ---- The cut ---- */

/* Whether a room's bytes are outside other loaded segments, and outside the one that ld.so makes
 * read-only after relocation (PT_GNU_RELRO): there, a hole would make its mprotect fail. */
static bool can_cut(const struct plan *plan, const struct plan_room *room) {
  const Elf64_Shdr range = {.sh_offset = room->offset,
                            .sh_addr =
                                room->segment->p_vaddr + (room->offset - room->segment->p_offset),
                            .sh_size = room->end - room->offset};
  EACH_SEGMENT(plan->image, other)
    if (other != room->segment && (other->p_type == PT_LOAD || other->p_type == PT_GNU_RELRO) &&
        overlaps_segment(other, &range))
      return false;
  return true;
}

/* Whether a section starts in a range of a segment, when the relocations have left their room. */
static bool has_section(const struct plan *plan, const Elf64_Phdr *segment, uint64_t start,
                        uint64_t end) {
  const struct plan_room *left = &plan->relocations.room;
  EACH_SECTION(plan->image, section) {
    const Elf64_Shdr *header = &section->header;
    uint64_t at = header->sh_addr - segment->p_vaddr + segment->p_offset;
    if (left->end > left->offset && at == left->offset && section == plan->relocations.rela)
      at = left->end;
    if ((header->sh_flags & SHF_ALLOC) != 0 && header->sh_size > 0 && at >= start && at < end)
      return true;
  }
  return false;
}

/* Whether something is in a segment from an offset on. */
static bool has_more(const struct plan *plan, const Elf64_Phdr *segment, uint64_t offset) {
  const uint64_t file_end = segment->p_offset + segment->p_filesz;
  return segment->p_memsz > segment->p_filesz ||
         has_section(plan, segment, offset, segment->p_offset + segment->p_memsz) ||
         !all_zero(plan->image->bytes + offset, file_end - offset);
}

/* Cuts out the whole pages of a room, if there is one. Segments that follow may have a larger
 * alignment: the first one gets that (put_segment), if the addresses, too, are its multiples. If
 * nothing follows in the room's segment, that ends where the room starts: eu-strip drops bytes at
 * the file's end that are in no section. */
static void cut(struct plan *plan, const struct plan_room *room) {
  if (room->offset == room->end || !can_cut(plan, room))
    return;
  const bool can_align =
      plan->image->header.e_type == ET_EXEC || plan->first->p_vaddr % plan->alignment == 0;
  const uint64_t page = can_align ? room->segment->p_align : plan->alignment;
  const uint64_t start = room->end - (room->end - room->offset) / page * page;
  const bool splits = has_more(plan, room->segment, room->end);
  if (start == room->end && splits)
    return;
  assert(plan->cut_count < PLAN_CUTS_MAX);
  size_t at = plan->cut_count++;
  for (; at > 0 && plan->cuts[at - 1].start > room->offset; at--)
    plan->cuts[at] = plan->cuts[at - 1];
  plan->cuts[at] =
      (struct plan_cut){start, room->end, splits ? start : room->offset, room->segment, splits};
}

/* Takes back the cuts that would leave a segment without a section. (Binutils' strip would give it
 * no bytes and an offset that ld.so refuses.) Returns the number of cuts that split their
 * segment. */
static size_t take_back(struct plan *plan) {
  size_t count = 0, splits = 0;
  for (size_t i = 0; i < plan->cut_count; i++) {
    const struct plan_cut cut = plan->cuts[i];
    assert(i == 0 || plan->cuts[i - 1].end <= cut.used);
    const bool again = count > 0 && plan->cuts[count - 1].segment == cut.segment;
    const uint64_t start = again ? plan->cuts[count - 1].end : cut.segment->p_offset;
    const bool has_headers = !again && cut.segment == plan->first;
    if (!has_headers && !has_section(plan, cut.segment, start, cut.start))
      continue;
    plan->cuts[count++] = cut;
    splits += cut.splits;
  }
  plan->cut_count = count;
  return splits;
}

/* Gives the table a read-only segment, if that has whole pages between the data before and after
 * it. */
static void set_apart(struct plan *plan) {
  const Elf64_Phdr *home = plan->home;
  const Elf64_Shdr *raw = &plan->raw->header;
  const struct plan_cut *cut = plan_next_cut(plan, home, 0);
  plan->shift = has_section(plan, home, home->p_offset, raw->sh_offset) ? home->p_align : 0;
  plan->apart = cut != NULL && cut->end == raw->sh_offset + raw->sh_size &&
                cut->end - cut->start >= plan->shift + home->p_align;
  if (!plan->apart)
    plan->shift = 0;
}

/* Whether a table in the raw section's place could be written to, and needn't. */
static bool is_writable(const struct plan *plan) {
  EACH_SEGMENT(plan->image, segment)
    if (segment->p_type == PT_GNU_RELRO && overlaps_segment(segment, &plan->raw->header))
      return false;
  return (plan->home->p_flags & (PF_W | PF_X)) == PF_W && plan->home != plan->first;
}

/* ---- The new file ---- */

/* Finds the bytes after the program headers that get a section: of a page in front, those up to the
 * old headers' end; of an executable's room that moves leave, the uncut part. patchelf takes bytes
 * without a section for free, and up to version 0.18 puts .dynamic there, in a read-only segment,
 * though ld.so writes to it. (The spare bytes before them are too few for that.) */
static void plan_head(struct plan *plan) {
  plan->head_start = plan->head_end = plan_new_headers_end(plan);
  if (plan->lead > 0) {
    plan->head_end = plan->lead + plan_old_headers_end(plan);
  } else if (plan->move_count > 0 && plan->image->header.e_type == ET_EXEC) {
    const struct plan_cut *cut = plan_next_cut(plan, plan->first, plan->head_start);
    const uint64_t end = cut != NULL && cut->used < plan->moves_end ? cut->used : plan->moves_end;
    plan->head_start += plan->spare;
    plan->head_end = end > plan->head_start ? end : plan->head_start;
  }
}

/* Converts the places of the moves, the extra segment and the note to the new file's. The extra
 * segment is the last in the file, and the highest in memory. */
static void finish_places(struct plan *plan) {
  const Elf64_Phdr *last = plan->last;
  const Elf64_Shdr *raw = &plan->raw->header;
  plan->contents_end = plan_new_offset(plan, plan->old_contents_end);
  plan->extra_offset = plan_new_offset(plan, plan->extra_place);
  plan->extra_address =
      round_up(last->p_vaddr + last->p_memsz, last->p_align) + plan->extra_offset % last->p_align;
  if (plan->extra_size > 0)
    plan->contents_end = plan->extra_offset + plan->extra_size;
  for (size_t i = 0; i < plan->move_count; i++) {
    struct plan_move *move = &plan->moves[i];
    const bool is_extra = move->new_offset >= plan->extra_place;
    const bool is_raw = move->new_offset - raw->sh_offset < raw->sh_size;
    assert(!is_extra || plan->extra_size > 0);
    move->new_offset = plan_new_offset(plan, move->new_offset);
    if (is_raw)
      move->new_address += plan->shift;
    if (is_extra)
      move->new_address = plan->extra_address + (move->new_offset - plan->extra_offset);
  }
  const bool in_place = plan_fits_in_place(plan);
  plan->note_offset = in_place ? plan_new_offset(plan, raw->sh_offset) : plan->extra_offset;
  plan->note_address = in_place ? raw->sh_addr + plan->shift : plan->extra_address;
  assert(plan->note_address % 8 == 0 && plan->note_offset % 8 == 0);
}

/* Whether the bytes of the raw section's name can take the new names: they are this section's
 * alone. */
static bool name_is_free(const struct plan *plan) {
  const struct image *image = plan->image;
  const struct image_section *raw = plan->raw;
  if (plan->head_end > plan->head_start || raw->part_of != 0 ||
      strlen(raw->name) + 1 != PLAN_NOTE_NAME_SIZE)
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
  plan->section_count = image->section_count + (plan->head_end > plan->head_start ? 2 : 1);
  plan->names_at = name_is_free(plan) ? 0 : end;
  if (plan->names_at != 0)
    end += image->sections[image->section_names].header.sh_size + sizeof plan_section_names;
  plan->headers_at = round_up(end, sizeof(Elf64_Off));
  plan->file_size = plan->headers_at + plan->section_count * sizeof(Elf64_Shdr) + plan->appended;
}

/* ---- The search ---- */

/* Makes a plan with room for a number of new segments: the note's, and those of cuts and an extra
 * segment. The plan decides how many are needed. False, without a problem: it is more. */
static bool plan_with(struct plan *plan, enum cutting cutting, bool apart, size_t new_segments,
                      struct problem *problem) {
  struct plan_room rooms[ROOM_COUNT];
  struct problem why = {0};
  plan->new_segments = new_segments;
  plan->lead = plan->spare = plan->move_count = plan->moves_end = plan->cut_count = 0;
  plan->apart = false;
  plan->shift = 0;
  if (!plan_has_room(plan) && !take_lead(plan, usual_lead(plan)) && !plan_find_moves(plan, &why)) {
    plan->spare = plan->move_count = plan->moves_end = 0;
    if (!take_lead(plan, LEAD_MAX))
      return problem_set(problem, "%s", why.text);
  }
  find_rooms(plan, rooms);
  place_moves(plan, rooms);
  if (cutting >= CUT_RAW && plan_fits_in_place(plan))
    cut(plan, &rooms[ROOM_RAW]);
  if (cutting == CUT_ALL) {
    cut(plan, &plan->relocations.room);
    cut(plan, &rooms[ROOM_MOVED]);
  }
  if (apart)
    set_apart(plan);
  plan->extra_size = rooms[ROOM_EXTRA].offset - plan->extra_place;
  plan->new_segments = 1 + (plan->extra_size > 0) + (plan->shift > 0) + take_back(plan);
  assert(plan->new_segments <= PLAN_NEW_SEGMENTS_MAX);
  if (plan->new_segments > new_segments)
    return false;
  finish_places(plan);
  plan_head(plan);
  place_tail(plan);
  assert(plan->headers_at >= plan->contents_end && plan->head_end >= plan->head_start);
  return true;
}

static bool search(struct plan *plan, bool apart, struct problem *problem) {
  for (int cutting = CUT_ALL; cutting >= CUT_NOTHING; cutting--) {
    struct problem why = {0};
    for (size_t n = 1; n <= PLAN_NEW_SEGMENTS_MAX && why.text[0] == 0; n++)
      if (plan_with(plan, (enum cutting)cutting, apart, n, &why))
        return true;
    if (why.text[0] != 0)
      plan->cramped = why;
  }
  *problem = plan->cramped;
  return problem_set(problem, "no room for more program headers");
}

bool plan_make(struct plan *plan, const struct image *image, const struct loaded *loaded,
               size_t table_size, struct problem *problem) {
  *plan = (struct plan){.image = image,
                        .raw = loaded->raw,
                        .global_roots = loaded->global_roots,
                        .packed_size = PACKED_NOTE_SIZE + table_size};
  find_segments(plan);
  find_end(plan);
  if (plan->first->p_offset != 0)
    return problem_set(problem, "the ELF header isn't in the first segment");
  if (!plan_relocations(plan, problem))
    return false;
  struct plan apart = *plan;
  struct problem ignored = {0};
  if (!search(plan, false, problem))
    return false;
  if (is_writable(plan) && search(&apart, true, &ignored) && apart.apart &&
      apart.file_size < plan->file_size + READ_ONLY_COST)
    *plan = apart;
  return true;
}
