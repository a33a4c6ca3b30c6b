/* image.c - opens an ELF file, and checks its headers: the other steps rely on them. */
#include "tool/image/image.h"

#include "format/array.h"
#include "tool/image/budget.h"
#include "tool/image/relocations.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static bool inside(const struct image *image, uint64_t offset, uint64_t size) {
  return offset <= image->size && size <= image->size - offset;
}

/* ---- Opening ---- */

static bool check_header(struct image *image, struct problem *problem) {
  const char *error = elf_image_open(&image->elf_image, image->bytes, image->size);
  const Elf64_Ehdr *header = &image->header;
  if (error == NULL)
    error = elf_image_index(&image->elf_image);
  if (error != NULL)
    return problem_set(problem, "%s", error);
  image->header = image->elf_image.header;
  image->machine = machine_find(header->e_machine);
  if (header->e_ident[EI_VERSION] != EV_CURRENT || header->e_version != EV_CURRENT)
    return problem_set(problem, "an ELF file of an unknown version");
  if (header->e_phnum == PN_XNUM || (header->e_shnum == 0 && header->e_shoff != 0) ||
      header->e_shnum >= SHN_LORESERVE)
    return problem_set(problem, "more segments or sections than an ELF header can count");
  return true;
}

static bool read_segments(struct image *image, struct problem *problem) {
  struct budget loads = budget_open("program headers of loaded segments", image->size);
  struct budget others = budget_open("program headers", image->size);
  image->segment_count = image->header.e_phnum;
  image->segments = calloc(image->segment_count + 1, sizeof *image->segments);
  for (size_t i = 0; i < image->segment_count; i++) {
    Elf64_Phdr segment = elf_image_segment(&image->elf_image, (unsigned)i);
    if (segment.p_type == PT_NULL)
      segment = (Elf64_Phdr){.p_type = PT_NULL};
    if (segment.p_filesz > 0 && !inside(image, segment.p_offset, segment.p_filesz))
      return problem_set(problem, "segment %zu is beyond the end of the file", i);
    if (segment.p_type == PT_LOAD &&
        (segment.p_memsz < segment.p_filesz || segment.p_vaddr > UINT64_MAX - segment.p_memsz))
      return problem_set(problem, "segment %zu has a size that can't be", i);
    if (!budget_take(segment.p_type == PT_LOAD ? &loads : &others, segment.p_filesz, problem))
      return false;
    image->segments[i] = segment;
  }
  return true;
}

static int compare_loads(const void *a, const void *b) {
  const Elf64_Phdr *x = *(const Elf64_Phdr *const *)a, *y = *(const Elf64_Phdr *const *)b;
  return x->p_vaddr < y->p_vaddr ? -1 : x->p_vaddr > y->p_vaddr;
}

/* Sorts the segments that are loaded. */
static bool sort_loads(struct image *image, struct problem *problem) {
  EACH_SEGMENT(image, segment)
    if (segment->p_type == PT_LOAD && segment->p_memsz > 0) {
      assert(image->load_count < image->elf_image.load_count);
      image->loads[image->load_count++] = segment;
    }
  array_sort(image->loads, image->load_count, sizeof *image->loads, compare_loads);
  for (size_t i = 1; i < image->load_count; i++) {
    const Elf64_Phdr *first = image->loads[i - 1], *second = image->loads[i];
    if (second->p_vaddr - first->p_vaddr < first->p_memsz)
      return problem_set(problem, "segments %td and %td are loaded at the same address",
                         first - image->segments, second - image->segments);
  }
  return true;
}

/* Bytes of a section in the file. */
struct file_range {
  uint64_t offset, end;
  struct image_section *section;
};

ORDER_FUNCTION(compare_ranges, struct file_range, offset, section)

static void find_overlaps(struct image *image) {
  struct file_range *ranges = calloc(image->section_count + 1, sizeof *ranges);
  size_t count = 0, longest = 0; /* of those before, the range that ends last */
  for (size_t i = 1; i < image->section_count; i++) {
    const Elf64_Shdr *header = &image->sections[i].header;
    if (header->sh_type != SHT_NOBITS && header->sh_size > 0)
      ranges[count++] = (struct file_range){header->sh_offset, header->sh_offset + header->sh_size,
                                            &image->sections[i]};
  }
  qsort(ranges, count, sizeof *ranges, compare_ranges);
  for (size_t i = 1; i < count; i++) {
    if (ranges[i].offset < ranges[longest].end) {
      ranges[i].section->overlapping = ranges[longest].section->name;
      ranges[longest].section->overlapping = ranges[i].section->name;
    }
    if (ranges[i].end > ranges[longest].end)
      longest = i;
  }
  free(ranges);
}

static bool read_sections(struct image *image, struct problem *problem) {
  struct budget contents = budget_open("section headers", image->size);
  struct budget names = budget_open("names of sections", image->size);
  image->section_count = image->header.e_shnum;
  image->section_capacity = image->section_count + 1;
  image->sections = calloc(image->section_capacity, sizeof *image->sections);
  if (image->section_count == 0)
    return true;
  image->section_names = image->header.e_shstrndx;
  for (size_t i = 0; i < image->section_count; i++) {
    Elf64_Shdr header = elf_image_section(&image->elf_image, (unsigned)i);
    if (header.sh_type == SHT_NULL) /* the other members are undefined: gABI, "Section Types" */
      header = (Elf64_Shdr){.sh_name = header.sh_name};
    if (header.sh_type != SHT_NOBITS && !inside(image, header.sh_offset, header.sh_size))
      return problem_set(problem, "section %zu is beyond the end of the file", i);
    if (header.sh_type != SHT_NOBITS && !budget_take(&contents, header.sh_size, problem))
      return false;
    image->sections[i].header = header;
  }
  if (image->section_names == 0 || image->section_names >= image->section_count ||
      image->sections[image->section_names].header.sh_type != SHT_STRTAB)
    return problem_set(problem, "no table of section names");
  for (size_t i = 0; i < image->section_count; i++) {
    image->sections[i].name = elf_image_string(&image->elf_image, image->header.e_shstrndx,
                                               image->sections[i].header.sh_name);
    if (image->sections[i].name == NULL)
      return problem_set(problem, "section %zu has a name beyond the table of names", i);
    if (!budget_take(&names, strlen(image->sections[i].name), problem))
      return false;
  }
  find_overlaps(image);
  return true;
}

/* A full bit map leads to 63 words: a file's own words are at most one for each 8 bytes. */
static bool check_bit_maps(const struct image *image, struct problem *problem) {
  struct budget places = budget_open("relative relocations", image->size);
  EACH_SECTION(image, section) {
    if (section->header.sh_type != SHT_RELR)
      continue;
    struct relr_reader reader = relr_open(image, &section->header);
    for (uint64_t place; relr_next(&reader, &place);)
      if (!budget_take(&places, sizeof place, problem))
        return false;
  }
  return true;
}

static bool check_names(const struct image *image, struct problem *problem) {
  struct budget names = budget_open("names of symbols", image->size);
  for (struct elf_symbols at = elf_symbols(&image->elf_image); elf_symbols_next(&at);)
    if (at.name != NULL && !budget_take(&names, strlen(at.name), problem))
      return false;
  return true;
}

static bool open_bytes(struct image *image, struct problem *problem) {
  bool ok = check_header(image, problem) && read_segments(image, problem) &&
            sort_loads(image, problem) && read_sections(image, problem) &&
            check_bit_maps(image, problem) && check_names(image, problem);
  elf_version(EV_CURRENT);
  /* libelf's type allows writing, but this kind of handle (ELF_C_READ) only reads. */
  image->elf = ok ? elf_memory((char *)(uintptr_t)image->bytes, image->size) : NULL;
  if (ok && (image->elf == NULL || elf_kind(image->elf) != ELF_K_ELF))
    ok = problem_set(problem, "not a usable ELF file: %s", elf_errmsg(-1));
  if (!ok)
    image_close(image);
  return ok;
}

bool image_open_memory(struct image *image, uint8_t *bytes, size_t size, struct problem *problem) {
  *image = (struct image){.bytes = bytes, .size = size};
  return open_bytes(image, problem);
}

bool image_open(struct image *image, const char *path, struct problem *problem) {
  struct input file;
  *image = (struct image){0};
  if (!input_open(&file, path, problem))
    return false;
  *image = (struct image){.bytes = file.bytes, .size = file.size, .file = file};
  return open_bytes(image, problem);
}

void image_close(struct image *image) {
  elf_end(image->elf);
  free(image->sections);
  free(image->segments);
  if (image->file.bytes != NULL)
    input_close(&image->file);
  *image = (struct image){0};
}

void image_drop_bytes(struct image *image) {
  assert(image->file.bytes == image->bytes); /* which are not the caller's */
  const struct stat status = image->file.status;
  input_close(&image->file);
  image->file.status = status;
  image->bytes = image->elf_image.bytes = NULL;
}

/* ---- Splitting ---- */

/* A part is aligned as its section, as far as its address allows. */
static Elf64_Shdr part_header(const Elf64_Shdr *section, uint64_t address, uint64_t size) {
  Elf64_Shdr part = *section;
  part.sh_addr = address;
  part.sh_offset = section->sh_offset + (address - section->sh_addr);
  part.sh_size = size;
  while (part.sh_addralign > 1 && address % part.sh_addralign != 0)
    part.sh_addralign /= 2;
  return part;
}

bool image_split(struct image *image, size_t section, uint64_t address, uint64_t size,
                 const char *name, struct problem *problem) {
  assert(section > 0 && section < image->section_count && size > 0);
  const struct image_section whole = image->sections[section];
  const uint64_t before = address - whole.header.sh_addr;
  if (before > whole.header.sh_size || size > whole.header.sh_size - before)
    return problem_set(problem, "section %s overlaps others", whole.name);
  const uint64_t after = whole.header.sh_size - before - size;
  (void)array_make_room((void **)&image->sections, &image->section_capacity,
                        image->section_count + 2, sizeof whole);
  const size_t origin = whole.part_of != 0 ? whole.part_of : section;
  size_t number = section;
  if (before > 0 || after > 0) {
    image->sections[section].header.sh_size = before;
    number = image->section_count++;
  }
  struct image_section *part = &image->sections[number];
  *part = (struct image_section){name, part_header(&whole.header, address, size), origin,
                                 whole.overlapping};
  part->header.sh_flags &= ~(uint64_t)(SHF_MERGE | SHF_STRINGS);
  part->header.sh_entsize = 0;
  if (after > 0)
    image->sections[image->section_count++] = (struct image_section){
        whole.name, part_header(&whole.header, address + size, after), origin, whole.overlapping};
  assert(image->section_count <= image->section_capacity);
  return true;
}

size_t image_symbol_section(const struct image *image, const GElf_Sym *symbol) {
  if (symbol->st_shndx != SHN_UNDEF && GELF_ST_TYPE(symbol->st_info) != STT_SECTION)
    for (size_t i = image->header.e_shnum; i < image->section_count; i++)
      if (image->sections[i].part_of == symbol->st_shndx &&
          symbol->st_value - image->sections[i].header.sh_addr < image->sections[i].header.sh_size)
        return i;
  return symbol->st_shndx;
}

bool image_symbol_is_in(const struct image *image, const GElf_Sym *symbol, size_t section) {
  assert(section < image->section_count);
  const Elf64_Shdr *header = &image->sections[section].header;
  return image_symbol_section(image, symbol) == section &&
         symbol->st_value - header->sh_addr <= header->sh_size;
}

/* ---- Looking around ---- */

const Elf64_Phdr *image_first_segment(const struct image *image, uint32_t type) {
  EACH_SEGMENT(image, segment)
    if (segment->p_type == type)
      return segment;
  return NULL;
}

struct code_range image_memory(const struct image *image) {
  if (image->load_count == 0)
    return (struct code_range){0};
  const Elf64_Phdr *last = image->loads[image->load_count - 1];
  return (struct code_range){image->loads[0]->p_vaddr, last->p_vaddr + last->p_memsz};
}

const struct image_section *image_section(const struct image *image, const char *name) {
  EACH_SECTION(image, section)
    if (strcmp(section->name, name) == 0)
      return section;
  return NULL;
}

bool image_check_overlap(const struct image_section *section, struct problem *problem) {
  return section->overlapping == NULL ||
         problem_set(problem, "sections %s and %s overlap", section->name, section->overlapping);
}

struct section_bytes image_contents(const struct image *image, const char *name) {
  const struct image_section *section = image_section(image, name);
  if (section == NULL || section->header.sh_type == SHT_NOBITS)
    return (struct section_bytes){0};
  return (struct section_bytes){image->bytes + section->header.sh_offset, section->header.sh_size,
                                section->header.sh_addr};
}

static bool has_text(struct section_bytes section, const char *text) {
  return section.size > 0 && memmem(section.bytes, section.size, text, strlen(text)) != NULL;
}

/* A file whose calls pass doubles in registers has D, and its attributes list its extensions
 * ("rv64i2p1_f2p2_d2p2_c2p0"). */
bool image_may_have_short_calls(const struct image *image) {
  const unsigned flags = image->header.e_flags;
  if (image->header.e_machine != EM_RISCV)
    return false;
  if ((flags & EF_RISCV_FLOAT_ABI) < EF_RISCV_FLOAT_ABI_DOUBLE)
    return true;
  const struct section_bytes attributes = image_contents(image, ".riscv.attributes");
  const bool has_stores = has_text(attributes, "_c") && !has_text(attributes, "_zcmp") &&
                          !has_text(attributes, "_zcmt");
  return !has_stores && (flags & EF_RISCV_RVC) != 0;
}

/* There are ELF_IMAGE_LOADS_MAX at most. */
const Elf64_Phdr *image_load_at(const struct image *image, uint64_t address) {
  for (size_t i = 0; i < image->load_count; i++)
    if (address - image->loads[i]->p_vaddr < image->loads[i]->p_memsz)
      return image->loads[i];
  return NULL;
}

/* An empty section may be at a segment's end. */
const Elf64_Phdr *image_segment_of(const struct image *image, const Elf64_Shdr *section) {
  const uint64_t address = section->sh_addr;
  for (int before = section->sh_size == 0; before >= 0; before--) {
    const Elf64_Phdr *segment = image_load_at(image, address - (uint64_t)before);
    const uint64_t into = segment == NULL ? 0 : address - segment->p_vaddr;
    if (segment != NULL && into <= segment->p_filesz &&
        section->sh_size <= segment->p_filesz - into &&
        segment->p_offset + into == section->sh_offset)
      return segment;
  }
  return NULL;
}
