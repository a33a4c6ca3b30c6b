/* rewrite.c - the new file: the packed table at the raw section's address, and no address moved.
 *
 * The packed table is a fiftieth of the raw section. The bytes behind it are of no use any more,
 * but what follows them in the file can't move up in memory: code and data refer to it. So the
 * segment is split. Its first part ends behind the packed table, at the next page; its second
 * starts at the page where the raw section ended; and the pages between are cut out of the file:
 *
 *   old segment    | headers ... | raw section ............................ | more |
 *   new segments   | headers ... | note, table |  page     page | zeros ... | more |
 *                                              A                B
 *
 * Addresses stay. File offsets behind the cut go down by B - A, a multiple of the page size, so
 * each still equals its address modulo the page size, as mmap needs it (gABI, "Program Header",
 * p_align).
 *
 * Two program headers are added: the second part of the segment, and a PT_NOTE for our note. The
 * table of program headers is where it always was, right behind the ELF header, because that's
 * where binutils' strip and objcopy will put it, whatever e_phoff says. (A table that has been
 * moved elsewhere runs, but strip then destroys the file.) If nothing leaves room for two more
 * there, the file of a non-PIE executable gets one page more at its front, and the first segment
 * starts one page earlier: below it, an executable has no neighbours. The headers move to that
 * page; the old ones stay behind as data.
 *
 * A program with a handful of records has raw stack maps that are smaller than a packed table's
 * header. Then the table goes into the rest of the page at the front.
 *
 * Section headers: the raw section becomes `.stackpack`, which keeps its number, so that no symbol
 * or link has to change; `.note.stackpack` is appended to the table. Symbols in the raw section
 * (`__LLVM_StackMaps`) now mean the packed table's start.
 */
#include "rewrite.h"

#include "../format/note.h"

#include <inttypes.h>
#include <stdlib.h>

enum {
  NEW_SEGMENTS = 2,
  LOWEST_ADDRESS = 0x10000, /* Linux maps nothing lower: vm.mmap_min_addr */
  PAGE_SIZE_MIN = 4096,
};

/* The names of the new sections, one after another. ".stackpack" is the end of the first. */
static const char section_names[] = ".note.stackpack\0.stackpack.head";
enum { NOTE_NAME_SIZE = 16, TABLE_NAME_AT = 5, HEAD_NAME_AT = NOTE_NAME_SIZE };

/* Where everything goes: all decided before a byte is written. */
struct plan {
  const struct image *image;
  const struct image_section *raw;
  size_t raw_index;
  size_t raw_segment, first_segment; /* indices of segments */
  uint64_t lead;                     /* bytes put before the old file */
  uint64_t cut_start, cut_end;       /* old file offsets; equal if nothing is cut */
  uint64_t new_segments;
  uint64_t note_at; /* new file offset of our note; the table is behind it */
  uint64_t note_address;
  uint64_t packed_size; /* of both */
};

static uint64_t round_down(uint64_t n, uint64_t page) { return n / page * page; }
static uint64_t round_up(uint64_t n, uint64_t page) { return round_down(n + page - 1, page); }

/* ---- Can it be done?
 * ------------------------------------------------------------------------------------- */

static bool check_kind(const struct image *image, struct problem *problem) {
  const Elf64_Ehdr *header = &image->header;
  if (header->e_type == ET_DYN)
    return problem_set(problem,
                       "a position-independent executable or shared library: not supported yet");
  if (header->e_type == ET_REL)
    return problem_set(problem, "an object file: link it first");
  if (header->e_type != ET_EXEC)
    return problem_set(problem, "not an executable");
  if (header->e_machine != EM_X86_64)
    return problem_set(problem, "a machine other than x86-64: not supported yet");
  if (header->e_phoff != sizeof *header)
    return problem_set(problem, "the program headers aren't right behind the ELF header");
  if (image->section_count + 2 >= SHN_LORESERVE || image->segment_count + NEW_SEGMENTS >= PN_XNUM)
    return problem_set(problem, "too many sections or segments");
  return true;
}

static bool check_segments(const struct image *image, struct problem *problem) {
  for (size_t i = 0; i < image->segment_count; i++) {
    const Elf64_Phdr *segment = &image->segments[i];
    const uint64_t page = segment->p_align;
    if (segment->p_type != PT_LOAD)
      continue;
    if (page < PAGE_SIZE_MIN || (page & (page - 1)) != 0 || page > (uint64_t)1 << 32 ||
        (segment->p_vaddr - segment->p_offset) % page != 0)
      return problem_set(problem, "segment %zu isn't aligned to pages", i);
  }
  return true;
}

/* Our section's bytes must be nobody else's: of no other segment than its PT_LOAD. */
static bool check_alone(const struct image *image, const Elf64_Shdr *raw, struct problem *problem) {
  for (size_t i = 0; i < image->segment_count; i++) {
    const Elf64_Phdr *segment = &image->segments[i];
    if (segment->p_type == PT_LOAD || segment->p_memsz == 0 || segment->p_type == PT_GNU_STACK)
      continue;
    if (segment->p_vaddr < raw->sh_addr + raw->sh_size &&
        raw->sh_addr < segment->p_vaddr + segment->p_memsz)
      return problem_set(problem, "the stack maps are part of segment %zu (type 0x%x), too", i,
                         segment->p_type);
  }
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
  return check_alone(image, &raw->header, problem);
}

/* ---- Plan
 * --------------------------------------------------------------------------------------------------
 */

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

static bool all_zero(const uint8_t *bytes, uint64_t size) {
  for (uint64_t i = 0; i < size; i++)
    if (bytes[i] != 0)
      return false;
  return true;
}

/* Whether more program headers fit behind the old ones, without moving anything. */
static bool has_room(const struct image *image, uint64_t new_segments) {
  const uint64_t end = sizeof(Elf64_Ehdr) + image->segment_count * sizeof(Elf64_Phdr);
  const uint64_t needed = new_segments * sizeof(Elf64_Phdr);
  return end + needed <= first_used_offset(image) && all_zero(image->bytes + end, needed);
}

static bool fits_in_place(const struct plan *plan) {
  return plan->packed_size <= plan->raw->header.sh_size;
}

static bool plan_lead(struct plan *plan, struct problem *problem) {
  const struct image *image = plan->image;
  const Elf64_Phdr *first = &image->segments[plan->first_segment];
  if (first->p_offset != 0)
    return problem_set(problem, "the ELF header isn't in the first segment");
  if (fits_in_place(plan) && has_room(image, plan->new_segments))
    return true;
  for (size_t i = 0; i < image->segment_count; i++)
    if (image->segments[i].p_type == PT_LOAD && image->segments[i].p_align > plan->lead)
      plan->lead = image->segments[i].p_align;
  if (first->p_vaddr < LOWEST_ADDRESS || first->p_vaddr - LOWEST_ADDRESS < plan->lead)
    return problem_set(problem, "no room for more program headers");
  return true;
}

/* The pages that are free between the table's end and the raw section's end. */
static void plan_cut(struct plan *plan) {
  const Elf64_Phdr *segment = &plan->image->segments[plan->raw_segment];
  const Elf64_Shdr *raw = &plan->raw->header;
  const uint64_t start = round_up(raw->sh_addr + plan->packed_size, segment->p_align);
  const uint64_t end = round_down(raw->sh_addr + raw->sh_size, segment->p_align);
  plan->new_segments = NEW_SEGMENTS;
  if (end > start) {
    plan->cut_start = raw->sh_offset + (start - raw->sh_addr);
    plan->cut_end = raw->sh_offset + (end - raw->sh_addr);
  } else {
    plan->new_segments = NEW_SEGMENTS - 1;
  }
}

/* Where a byte of the old file is in the new one. */
static uint64_t new_offset(const struct plan *plan, uint64_t offset) {
  if (offset >= plan->cut_end)
    return plan->lead + offset - (plan->cut_end - plan->cut_start);
  return plan->lead + (offset < plan->cut_start ? offset : plan->cut_start);
}

/* Where the note and the table go: into the raw section, or into the page at the front. */
static bool plan_place(struct plan *plan, struct problem *problem) {
  const Elf64_Shdr *raw = &plan->raw->header;
  if (fits_in_place(plan)) {
    plan->note_at = new_offset(plan, raw->sh_offset);
    plan->note_address = raw->sh_addr;
    return true;
  }
  plan->note_at =
      sizeof(Elf64_Ehdr) + (plan->image->segment_count + plan->new_segments) * sizeof(Elf64_Phdr);
  plan->note_address =
      plan->image->segments[plan->first_segment].p_vaddr - plan->lead + plan->note_at;
  if (plan->note_at + plan->packed_size <= plan->lead)
    return true;
  return problem_set(
      problem, "the packed stack maps (%" PRIu64 " bytes) have no room in the raw ones' %" PRIu64,
      plan->packed_size, raw->sh_size);
}

static bool make_plan(struct plan *plan, const struct image *image, const struct image_section *raw,
                      size_t table_size, struct problem *problem) {
  *plan = (struct plan){.image = image, .raw = raw, .packed_size = PACKED_NOTE_SIZE + table_size};
  const Elf64_Phdr *own = image_segment_of(image, &raw->header);
  plan->raw_segment = (size_t)(own - image->segments);
  plan->raw_index = (size_t)(raw - image->sections);
  plan->first_segment = plan->raw_segment;
  for (size_t i = 0; i < image->segment_count; i++)
    if (image->segments[i].p_type == PT_LOAD &&
        image->segments[i].p_vaddr < image->segments[plan->first_segment].p_vaddr)
      plan->first_segment = i;
  plan_cut(plan);
  return plan_lead(plan, problem) && plan_place(plan, problem);
}

bool rewrite_table_address(const struct image *image, const struct image_section *raw,
                           size_t table_size, uint64_t *address, struct problem *problem) {
  struct plan plan;
  if (!make_plan(&plan, image, raw, table_size, problem))
    return false;
  *address = plan.note_address + PACKED_NOTE_SIZE;
  return true;
}

/* ---- Program headers
 * ---------------------------------------------------------------------------------------- */

/* The part of the raw section's segment behind the cut. */
static Elf64_Phdr second_part(const struct plan *plan) {
  Elf64_Phdr part = plan->image->segments[plan->raw_segment];
  const uint64_t into = plan->cut_end - part.p_offset;
  part.p_offset = new_offset(plan, plan->cut_end);
  part.p_vaddr += into;
  part.p_paddr += into;
  part.p_filesz -= into;
  part.p_memsz -= into;
  return part;
}

static Elf64_Phdr moved_segment(const struct plan *plan, size_t i) {
  const bool cut = plan->cut_end > plan->cut_start;
  Elf64_Phdr segment = plan->image->segments[i];
  if (cut && i == plan->raw_segment)
    segment.p_filesz = segment.p_memsz = plan->cut_start - segment.p_offset;
  if (segment.p_type == PT_PHDR) {
    segment.p_filesz = segment.p_memsz += plan->new_segments * sizeof(Elf64_Phdr);
    segment.p_vaddr -= plan->lead;
    segment.p_paddr -= plan->lead;
  } else if (i == plan->first_segment) {
    segment.p_vaddr -= plan->lead;
    segment.p_paddr -= plan->lead;
    segment.p_filesz += plan->lead;
    segment.p_memsz += plan->lead;
  } else if (segment.p_offset > 0 || segment.p_filesz > 0) {
    segment.p_offset = new_offset(plan, segment.p_offset);
  }
  return segment;
}

static Elf64_Phdr note_segment(const struct plan *plan) {
  return (Elf64_Phdr){
      .p_type = PT_NOTE,
      .p_flags = PF_R,
      .p_offset = plan->note_at,
      .p_vaddr = plan->note_address,
      .p_paddr = plan->note_address,
      .p_filesz = PACKED_NOTE_SIZE,
      .p_memsz = PACKED_NOTE_SIZE,
      .p_align = 4,
  };
}

/* Segments stay in their order: PT_LOADs must ascend. (gABI, "Program Header", PT_LOAD) */
static void write_segments(const struct plan *plan, uint8_t *bytes) {
  uint8_t *at = bytes + sizeof(Elf64_Ehdr);
  for (size_t i = 0; i < plan->image->segment_count; i++) {
    const Elf64_Phdr segment = moved_segment(plan, i);
    memcpy(at, &segment, sizeof segment);
    at += sizeof segment;
    if (i == plan->raw_segment && plan->cut_end > plan->cut_start) {
      const Elf64_Phdr part = second_part(plan);
      memcpy(at, &part, sizeof part);
      at += sizeof part;
    }
  }
  const Elf64_Phdr note = note_segment(plan);
  memcpy(at, &note, sizeof note);
}

/* ---- Section headers
 * ----------------------------------------------------------------------------------------- */

/* Whether the bytes of the raw section's name can take the new names: nobody else uses them. */
static bool name_is_free(const struct plan *plan) {
  const struct image *image = plan->image;
  const uint64_t start = plan->raw->header.sh_name;
  const uint64_t end = start + NOTE_NAME_SIZE;
  if (plan->lead > 0 || strlen(plan->raw->name) + 1 != NOTE_NAME_SIZE)
    return false;
  for (size_t i = 0; i < image->section_count; i++) {
    const Elf64_Shdr *header = &image->sections[i].header;
    if (i != plan->raw_index && header->sh_name < end &&
        header->sh_name + strlen(image->sections[i].name) + 1 > start)
      return false;
    if (header->sh_link == image->section_names &&
        (header->sh_type == SHT_SYMTAB || header->sh_type == SHT_DYNSYM))
      return false;
  }
  return true;
}

/* The new section headers, and what they need at the end of the file. */
struct tail {
  Elf64_Shdr *headers;
  size_t count;
  uint64_t contents_end; /* of the new file, before the tail */
  uint64_t names_at;     /* where a new table of names goes; 0: the old one is used */
  uint64_t headers_at;
  uint64_t size; /* of the whole file */
};

/* The old table of section headers is dropped where it ends the file, as linkers leave it. */
static uint64_t contents_end(const struct plan *plan) {
  const struct image *image = plan->image;
  const uint64_t table_end = image->header.e_shoff + image->section_count * sizeof(Elf64_Shdr);
  uint64_t used = 0;
  for (size_t i = 0; i < image->section_count; i++) {
    const Elf64_Shdr *header = &image->sections[i].header;
    if (header->sh_type != SHT_NOBITS && header->sh_offset + header->sh_size > used)
      used = header->sh_offset + header->sh_size;
  }
  for (size_t i = 0; i < image->segment_count; i++) {
    const Elf64_Phdr *segment = &image->segments[i];
    if (segment->p_type == PT_LOAD && segment->p_offset + segment->p_filesz > used)
      used = segment->p_offset + segment->p_filesz;
  }
  const bool last = table_end == image->size && used <= image->header.e_shoff;
  return new_offset(plan, last ? used : image->size);
}

static void plan_tail(const struct plan *plan, struct tail *tail) {
  const struct image *image = plan->image;
  const uint64_t names_size = image->sections[image->section_names].header.sh_size;
  uint64_t end = tail->contents_end = contents_end(plan);
  tail->count = image->section_count + (plan->lead > 0 ? 2 : 1);
  if (!name_is_free(plan)) {
    tail->names_at = end;
    end += names_size + sizeof section_names;
  }
  tail->headers_at = round_up(end, 8);
  tail->size = tail->headers_at + tail->count * sizeof(Elf64_Shdr);
}

/* Relocations against the raw section (ld -q keeps them) have nothing to apply to any more. */
static void drop_relocations(const struct plan *plan, Elf64_Shdr *header) {
  if ((header->sh_type == SHT_RELA || header->sh_type == SHT_REL) &&
      header->sh_info == plan->raw_index && (header->sh_flags & SHF_ALLOC) == 0)
    header->sh_size = 0;
}

/* The section over the page in front, from behind the headers to the old headers' end. */
static Elf64_Shdr head_section(const struct plan *plan, uint32_t name) {
  const struct image *image = plan->image;
  const uint64_t headers_end =
      sizeof(Elf64_Ehdr) + (image->segment_count + plan->new_segments) * sizeof(Elf64_Phdr);
  const uint64_t start = fits_in_place(plan) ? headers_end : plan->note_at + plan->packed_size;
  const uint64_t end = plan->lead + sizeof(Elf64_Ehdr) + image->segment_count * sizeof(Elf64_Phdr);
  return (Elf64_Shdr){
      .sh_name = name,
      .sh_type = SHT_PROGBITS,
      .sh_flags = SHF_ALLOC,
      .sh_addr = image->segments[plan->first_segment].p_vaddr - plan->lead + start,
      .sh_offset = start,
      .sh_size = end - start,
      .sh_addralign = 8,
  };
}

static bool make_headers(const struct plan *plan, struct tail *tail) {
  const struct image *image = plan->image;
  const Elf64_Shdr *raw = &plan->raw->header;
  tail->headers = calloc(tail->count, sizeof *tail->headers);
  if (tail->headers == NULL)
    return false;
  for (size_t i = 1; i < image->section_count; i++) {
    tail->headers[i] = image->sections[i].header;
    tail->headers[i].sh_offset = new_offset(plan, tail->headers[i].sh_offset);
    drop_relocations(plan, &tail->headers[i]);
  }
  Elf64_Shdr *names = &tail->headers[image->section_names];
  Elf64_Shdr *table = &tail->headers[plan->raw_index];
  Elf64_Shdr *note = &tail->headers[image->section_count];
  uint32_t name = raw->sh_name;
  if (tail->names_at != 0) {
    name = (uint32_t)names->sh_size;
    names->sh_offset = tail->names_at;
    names->sh_size += sizeof section_names;
  }
  table->sh_addr = plan->note_address;
  table->sh_offset = plan->note_at;
  *note = *table;
  note->sh_name = name;
  note->sh_type = SHT_NOTE;
  note->sh_flags = SHF_ALLOC;
  note->sh_size = PACKED_NOTE_SIZE;
  note->sh_addralign = 4;
  note->sh_entsize = 0;
  table->sh_name = name + TABLE_NAME_AT;
  table->sh_addr += PACKED_NOTE_SIZE;
  table->sh_offset += PACKED_NOTE_SIZE;
  table->sh_size = plan->packed_size - PACKED_NOTE_SIZE;
  table->sh_addralign = 8;
  if (plan->lead > 0)
    tail->headers[image->section_count + 1] = head_section(plan, name + HEAD_NAME_AT);
  return true;
}

static void write_tail(const struct plan *plan, const struct tail *tail, uint8_t *bytes) {
  const struct image *image = plan->image;
  const Elf64_Shdr *old_names = &image->sections[image->section_names].header;
  if (tail->names_at != 0) {
    uint8_t *names = bytes + tail->names_at;
    memcpy(names, image->bytes + old_names->sh_offset, old_names->sh_size);
    memcpy(names + old_names->sh_size, section_names, sizeof section_names);
  } else {
    memcpy(bytes + new_offset(plan, old_names->sh_offset) + plan->raw->header.sh_name,
           section_names, NOTE_NAME_SIZE);
  }
  memcpy(bytes + tail->headers_at, tail->headers, tail->count * sizeof *tail->headers);
}

/* ---- Contents
 * ---------------------------------------------------------------------------------------------------
 */

/* Symbols of the raw section mean the packed table's start. */
static void move_symbols(const struct plan *plan, const struct tail *tail, uint8_t *bytes) {
  const uint64_t address = plan->note_address + PACKED_NOTE_SIZE;
  for (size_t i = 1; i < plan->image->section_count; i++) {
    const Elf64_Shdr *header = &tail->headers[i];
    if (header->sh_type != SHT_SYMTAB && header->sh_type != SHT_DYNSYM)
      continue;
    for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= header->sh_size; at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      memcpy(&symbol, bytes + header->sh_offset + at, sizeof symbol);
      if (symbol.st_shndx != plan->raw_index)
        continue;
      symbol.st_value = address;
      symbol.st_size = 0;
      memcpy(bytes + header->sh_offset + at, &symbol, sizeof symbol);
    }
  }
}

static void copy_contents(const struct plan *plan, const struct tail *tail, uint8_t *bytes) {
  const struct image *image = plan->image;
  const uint64_t behind = new_offset(plan, plan->cut_end);
  if (plan->cut_end == plan->cut_start) {
    memcpy(bytes + plan->lead, image->bytes, tail->contents_end - plan->lead);
    return;
  }
  memcpy(bytes + plan->lead, image->bytes, plan->cut_start);
  memcpy(bytes + behind, image->bytes + plan->cut_end, tail->contents_end - behind);
}

/* Writes the note and the table, and zeros over the rest of the raw section, on both sides of the
 * cut. */
static void write_table(const struct plan *plan, const uint8_t *table, size_t table_size,
                        uint8_t *bytes) {
  const Elf64_Shdr *raw = &plan->raw->header;
  const uint64_t start = new_offset(plan, raw->sh_offset);
  const uint64_t end = new_offset(plan, raw->sh_offset + raw->sh_size);
  memset(bytes + start, 0, end - start);
  memcpy(bytes + plan->note_at, packed_note, PACKED_NOTE_SIZE);
  memcpy(bytes + plan->note_at + PACKED_NOTE_SIZE, table, table_size);
}

static void write_header(const struct plan *plan, const struct tail *tail, uint8_t *bytes) {
  Elf64_Ehdr header = plan->image->header;
  header.e_phnum = (Elf64_Half)(header.e_phnum + plan->new_segments);
  header.e_shoff = tail->headers_at;
  header.e_shnum = (Elf64_Half)tail->count;
  memcpy(bytes, &header, sizeof header);
}

bool rewrite(const struct image *image, const struct image_section *raw, const uint8_t *table,
             size_t table_size, struct rewritten *rewritten, struct problem *problem) {
  struct plan plan;
  struct tail tail = {0};
  if (!make_plan(&plan, image, raw, table_size, problem))
    return false;
  plan_tail(&plan, &tail);
  uint8_t *bytes = calloc(1, tail.size);
  if (bytes == NULL || !make_headers(&plan, &tail)) {
    free(bytes);
    return problem_set(problem, "not enough memory");
  }
  copy_contents(&plan, &tail, bytes);
  write_header(&plan, &tail, bytes);
  write_segments(&plan, bytes);
  write_table(&plan, table, table_size, bytes);
  move_symbols(&plan, &tail, bytes);
  write_tail(&plan, &tail, bytes);
  free(tail.headers);
  *rewritten = (struct rewritten){bytes, tail.size};
  return true;
}
