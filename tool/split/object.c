/* object.c - see object.h: opens an object, and changes its parts. */
#include "tool/split/object.h"

#include "tool/image/budget.h"

#include <assert.h>

/* ---- Opening: all checks that the other steps rely on ---- */

static bool read_header(struct object *object, const uint8_t *bytes, size_t size,
                        struct problem *problem) {
  if (size < sizeof object->header)
    return problem_set(problem, "a truncated ELF header");
  memcpy(&object->header, bytes, sizeof object->header);
  const Elf64_Ehdr *header = &object->header;
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB)
    return problem_set(problem, "stack maps in an object that isn't 64-bit and little-endian");
  object->machine = machine_find(header->e_machine);
  if (object->machine == NULL)
    return problem_set(problem, "stack maps of a processor (%u) that isn't known",
                       header->e_machine);
  if (header->e_phnum != 0)
    return problem_set(problem, "an object file with program headers");
  if (header->e_shentsize != sizeof(Elf64_Shdr) || header->e_shoff > size ||
      size - header->e_shoff < sizeof(Elf64_Shdr))
    return problem_set(problem, "no section headers where the ELF header says");
  return true;
}

/* Reads the section headers. Their number, if it is above 0xff00, is in the first of them (gABI,
 * "ELF Header"). */
static bool read_sections(struct object *object, const uint8_t *bytes, size_t size,
                          struct problem *problem) {
  const Elf64_Ehdr *header = &object->header;
  Elf64_Shdr first;
  uint64_t used = 0;
  memcpy(&first, bytes + header->e_shoff, sizeof first);
  const uint64_t count = header->e_shnum != 0 ? header->e_shnum : first.sh_size;
  if (count == 0 || count > (size - header->e_shoff) / sizeof first || count >= OBJECT_NEW_SYMBOL)
    return problem_set(problem, "the section header table is beyond the end of the file");
  array_make_room((void **)&object->sections, &object->capacity, (size_t)count,
                  sizeof *object->sections);
  for (size_t i = 0; i < count; i++) {
    struct object_section *section = &object->sections[object->count++];
    *section = (struct object_section){0};
    memcpy(&section->header, bytes + header->e_shoff + i * sizeof first, sizeof first);
    const Elf64_Shdr *h = &section->header;
    if (i == 0 || h->sh_type == SHT_NOBITS || h->sh_type == SHT_NULL)
      continue;
    /* Sections that overlap could make the new file larger than any limit. */
    if (h->sh_offset > size || h->sh_size > size - h->sh_offset || h->sh_size > size - used)
      return problem_set(problem, "section %zu is beyond the end of the file", i);
    used += h->sh_size;
    section->bytes = bytes + h->sh_offset;
  }
  object->file_count = object->count;
  object->names = header->e_shstrndx == SHN_XINDEX ? first.sh_link : header->e_shstrndx;
  return true;
}

static bool is_strings(const struct object *object, uint32_t number) {
  if (number >= object->count)
    return false;
  const struct object_section *section = &object->sections[number];
  const uint64_t size = section->header.sh_size;
  return section->header.sh_type == SHT_STRTAB && section->bytes != NULL && size > 0 &&
         section->bytes[size - 1] == 0;
}

static bool check_names(const struct object *object, size_t size, struct problem *problem) {
  struct budget names = budget_open("names of sections", size);
  if (!is_strings(object, object->names))
    return problem_set(problem, "no table of section names");
  for (size_t i = 1; i < object->count; i++)
    if (object->sections[i].header.sh_name >= object->sections[object->names].header.sh_size)
      return problem_set(problem, "section %zu has no name", i);
    else if (!budget_take(&names, strlen(object_name(object, (uint32_t)i)), problem))
      return false;
  return true;
}

static bool find_symbols(struct object *object, struct problem *problem) {
  for (size_t i = 1; i < object->count; i++) {
    const Elf64_Shdr *h = &object->sections[i].header;
    if (h->sh_type == SHT_SYMTAB_SHNDX)
      object->symbol_sections = (uint32_t)i;
    if (h->sh_type != SHT_SYMTAB)
      continue;
    const uint64_t count = h->sh_size / sizeof(Elf64_Sym);
    if (object->symbols != 0 || h->sh_entsize != sizeof(Elf64_Sym) ||
        h->sh_size % sizeof(Elf64_Sym) != 0 || h->sh_info == 0 || h->sh_info > count ||
        count >= OBJECT_NEW_SYMBOL || !is_strings(object, h->sh_link))
      return problem_set(problem, "a symbol table that can't be right");
    object->symbols = (uint32_t)i;
    object->symbol_count = (uint32_t)count;
    object->first_global = h->sh_info;
  }
  if (object->symbols == 0)
    return problem_set(problem, "no symbol table");
  const Elf64_Shdr *numbers = &object->sections[object->symbol_sections].header;
  if (object->symbol_sections != 0 && (numbers->sh_link != object->symbols ||
                                       numbers->sh_size != object->symbol_count * sizeof(uint32_t)))
    return problem_set(problem, "a table of symbols' sections that doesn't fit the symbols");
  return true;
}

static bool read_group(struct object *object, uint32_t number, struct problem *problem) {
  const struct object_section *group = &object->sections[number];
  const size_t words = (size_t)(group->header.sh_size / sizeof(uint32_t));
  bool ok = group->header.sh_size % sizeof(uint32_t) == 0 && words >= 1 &&
            group->header.sh_link == object->symbols &&
            group->header.sh_info < object->symbol_count;
  for (size_t i = 1; ok && i < words; i++) {
    uint32_t member;
    memcpy(&member, group->bytes + i * sizeof member, sizeof member);
    ok = member != 0 && member < object->count && object->sections[member].group == 0;
    if (ok)
      object->sections[member].group = number;
  }
  return ok || problem_set(problem, "section %u isn't a right section group", number);
}

static bool check_relocations(const struct object *object, uint32_t number,
                              struct problem *problem) {
  const struct object_section *section = &object->sections[number];
  const size_t entry = section->header.sh_type == SHT_RELA ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
  bool ok = section->header.sh_entsize == entry && section->header.sh_size % entry == 0 &&
            section->header.sh_link == object->symbols && section->header.sh_info < object->count;
  for (size_t at = 0; ok && at < section->header.sh_size; at += entry) {
    Elf64_Rel relocation; /* the beginning of an Elf64_Rela, too */
    memcpy(&relocation, section->bytes + at, sizeof relocation);
    ok = ELF64_R_SYM(relocation.r_info) < object->symbol_count;
  }
  return ok || problem_set(problem, "section %u isn't a right table of relocations", number);
}

/* Turns CREL relocations into ones that have entries, as linkers take either. */
static bool decode_crel(struct object *object, uint32_t number, struct problem *problem) {
  struct object_section *section = &object->sections[number];
  struct crel crel = crel_open(section->bytes, section->header.sh_size);
  struct buffer bytes = {0};
  if (!crel.bytes.bad && !crel.has_addends && crel.left > 0)
    return problem_set(problem, "section %u has CREL relocations without addends", number);
  for (Elf64_Rela relocation; crel_next(&crel, &relocation);)
    buffer_add(&bytes, &relocation, sizeof relocation);
  object_replace(object, number, bytes);
  section->header.sh_type = SHT_RELA;
  section->header.sh_entsize = sizeof(Elf64_Rela);
  section->header.sh_addralign = sizeof(uint64_t);
  return !crel.bytes.bad ||
         problem_set(problem, "section %u isn't a right table of CREL relocations", number);
}

/* LLVM's table of weights between functions names symbols by relocations, its table of symbols with
 * a significant address by numbers. */
static bool check_section(struct object *object, uint32_t number, struct problem *problem) {
  const Elf64_Shdr *header = &object->sections[number].header;
  switch (header->sh_type) {
  case SHT_GROUP:
    return read_group(object, number, problem);
  case SHT_CREL:
    return decode_crel(object, number, problem) && check_relocations(object, number, problem);
  case SHT_REL:
  case SHT_RELA:
    return check_relocations(object, number, problem);
  case SHT_SYMTAB_SHNDX:
  case SHT_LLVM_ADDRSIG:
  case SHT_LLVM_CALL_GRAPH_PROFILE:
    return true;
  default:
    return header->sh_link != object->symbols ||
           problem_set(problem, "section %u, of type 0x%x, may name symbols in an unknown way",
                       number, header->sh_type);
  }
}

bool object_open(struct object *object, const uint8_t *bytes, size_t size,
                 struct problem *problem) {
  *object = (struct object){0};
  bool ok = read_header(object, bytes, size, problem) &&
            read_sections(object, bytes, size, problem) && check_names(object, size, problem) &&
            find_symbols(object, problem);
  for (uint32_t i = 1; ok && i < object->count; i++)
    ok = check_section(object, i, problem);
  return ok;
}

void object_close(struct object *object) {
  for (size_t i = 0; i < object->count; i++)
    free(object->sections[i].owned.bytes);
  free(object->sections);
  free(object->added.bytes);
  free(object->added_sections.bytes);
  *object = (struct object){0};
}

/* ---- Looking ---- */

const char *object_name(const struct object *object, uint32_t section) {
  assert(section < object->count &&
         object->sections[section].header.sh_name < object->sections[object->names].header.sh_size);
  return (const char *)object->sections[object->names].bytes +
         object->sections[section].header.sh_name;
}

Elf64_Sym object_symbol(const struct object *object, uint32_t number) {
  Elf64_Sym symbol;
  assert(number < object->symbol_count);
  memcpy(&symbol, object->sections[object->symbols].bytes + (size_t)number * sizeof symbol,
         sizeof symbol);
  return symbol;
}

uint32_t object_symbol_section(const struct object *object, uint32_t number) {
  uint32_t section = object_symbol(object, number).st_shndx;
  if (section == SHN_XINDEX && object->symbol_sections != 0)
    memcpy(&section,
           object->sections[object->symbol_sections].bytes + (size_t)number * sizeof section,
           sizeof section);
  else if (section >= SHN_LORESERVE)
    return 0;
  return section < object->file_count ? section : 0;
}

/* ---- Changing ---- */

struct buffer object_take(struct object *object, uint32_t number) {
  struct object_section *section = &object->sections[number];
  struct buffer bytes = section->owned;
  assert(section->bytes != NULL || section->header.sh_size == 0);
  if (bytes.bytes == NULL)
    buffer_add(&bytes, section->bytes, (size_t)section->header.sh_size);
  section->owned = (struct buffer){0};
  return bytes;
}

void object_replace(struct object *object, uint32_t number, struct buffer bytes) {
  struct object_section *section = &object->sections[number];
  assert(bytes.bytes == NULL || bytes.bytes != section->owned.bytes);
  free(section->owned.bytes);
  section->owned = bytes;
  section->bytes = bytes.bytes;
  section->header.sh_size = bytes.size;
}

uint32_t object_add_section(struct object *object, const Elf64_Shdr *header, struct buffer bytes) {
  ARRAY_ADD(object->sections, object->count, object->capacity,
            (struct object_section){.header = *header});
  object_replace(object, (uint32_t)object->count - 1, bytes);
  return (uint32_t)object->count - 1;
}

/* A section's number that exceeds a symbol's field is in a table beside it. (gABI, "Symbol Table",
 * SHN_XINDEX) */
uint32_t object_add_symbol(struct object *object, uint32_t section, uint64_t value, uint32_t name,
                           unsigned char type) {
  const uint32_t number = (uint32_t)(object->added.size / sizeof(Elf64_Sym));
  const bool fits = section < SHN_LORESERVE;
  assert(section < object->count && number < OBJECT_NEW_SYMBOL);
  assert(number == object->added_sections.size / sizeof section);
  const Elf64_Sym symbol = {.st_name = name,
                            .st_info = ELF64_ST_INFO(STB_LOCAL, type),
                            .st_shndx = fits ? (uint16_t)section : SHN_XINDEX,
                            .st_value = value};
  const uint32_t beside = fits ? 0 : section;
  buffer_add(&object->added, &symbol, sizeof symbol);
  buffer_add(&object->added_sections, &beside, sizeof beside);
  object->needs_sections |= !fits;
  return OBJECT_NEW_SYMBOL | number;
}

/* Adds `size` bytes at a section's end. */
static void append(struct object *object, uint32_t number, const void *bytes, size_t size) {
  struct buffer all = object_take(object, number);
  buffer_add(&all, bytes, size);
  object_replace(object, number, all);
}

void object_add_to_group(struct object *object, uint32_t group, uint32_t section) {
  assert(object->sections[group].header.sh_type == SHT_GROUP);
  assert(object->sections[section].group == 0);
  object->sections[section].header.sh_flags |= SHF_GROUP;
  object->sections[section].group = group;
  append(object, group, &section, sizeof section);
}

uint32_t object_add_name(struct object *object, uint32_t strings, const char *first,
                         const char *second) {
  const uint32_t name = (uint32_t)object->sections[strings].header.sh_size;
  append(object, strings, first, strlen(first));
  append(object, strings, second, strlen(second) + 1);
  return name;
}
