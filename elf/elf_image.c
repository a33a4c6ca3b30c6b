/* elf_image.c - see elf_image.h. */
#include "elf/elf_image.h"

#include "elf/machine.h"
#include "elf/note.h"

#include <assert.h>
#include <string.h>

static bool inside(const struct elf_image *image, uint64_t offset, uint64_t size) {
  return offset <= image->size && size <= image->size - offset;
}

const char *elf_image_open(struct elf_image *image, const void *bytes, size_t size) {
  const uint8_t *ident = bytes;
  *image = (struct elf_image){.bytes = bytes, .size = size};
  Elf64_Ehdr *header = &image->header;
  if (size < EI_NIDENT || memcmp(ident, ELFMAG, SELFMAG) != 0)
    return "not an ELF file";
  if (ident[EI_CLASS] != ELFCLASS64)
    return "not a 64-bit ELF file";
  if (ident[EI_DATA] != ELFDATA2LSB)
    return "not a little-endian ELF file";
  if (size < sizeof *header)
    return "a truncated ELF header";
  memcpy(header, bytes, sizeof *header);
  if (header->e_phnum > 0 && header->e_phentsize != sizeof(Elf64_Phdr))
    return "program headers of another size than 56 bytes";
  if (header->e_phnum > 0 &&
      !inside(image, header->e_phoff, (uint64_t)header->e_phnum * sizeof(Elf64_Phdr)))
    return "the program header table is beyond the end of the file";
  if (header->e_shnum > 0 && header->e_shentsize != sizeof(Elf64_Shdr))
    return "section headers of another size than 64 bytes";
  if (header->e_shnum > 0 &&
      !inside(image, header->e_shoff, (uint64_t)header->e_shnum * sizeof(Elf64_Shdr)))
    return "the section header table is beyond the end of the file";
  return NULL;
}

const char *elf_image_index(struct elf_image *image) {
  unsigned dynamic = 0;
  image->load_count = 0;
  for (unsigned i = 0; i < image->header.e_phnum; i++) {
    const Elf64_Phdr segment = elf_image_segment(image, i);
    if (segment.p_type == PT_DYNAMIC && dynamic++ == 0)
      image->dynamic = segment;
    if (segment.p_type != PT_LOAD)
      continue;
    if (image->load_count == ELF_IMAGE_LOADS_MAX)
      return "more than 256 segments to load";
    image->loads[image->load_count++] = (uint16_t)i;
  }
  return dynamic > 1 ? "more than one dynamic section" : NULL;
}

Elf64_Phdr elf_image_segment(const struct elf_image *image, unsigned n) {
  assert(n < image->header.e_phnum);
  if (image->loaded != NULL)
    return image->loaded[n];
  Elf64_Phdr segment;
  memcpy(&segment, image->bytes + image->header.e_phoff + n * sizeof segment, sizeof segment);
  return segment;
}

Elf64_Shdr elf_image_section(const struct elf_image *image, unsigned n) {
  assert(n < image->header.e_shnum);
  Elf64_Shdr section;
  memcpy(&section, image->bytes + image->header.e_shoff + n * sizeof section, sizeof section);
  return section;
}

const uint8_t *elf_image_at(const struct elf_image *image, uint64_t address, uint64_t *size) {
  for (unsigned i = 0; i < image->load_count; i++) {
    const Elf64_Phdr segment = elf_image_segment(image, image->loads[i]);
    const uint64_t into = address - segment.p_vaddr;
    if (into >= segment.p_filesz)
      continue;
    const uint64_t left = segment.p_filesz - into;
    if (image->loaded != NULL) {
      *size = left;
      if ((segment.p_flags & PF_R) != 0)
        return (const uint8_t *)(uintptr_t)(image->bias + address);
    } else if (inside(image, segment.p_offset, into + 1)) {
      const uint64_t in_file = image->size - segment.p_offset - into;
      *size = left < in_file ? left : in_file;
      return image->bytes + segment.p_offset + into;
    }
  }
  *size = 0;
  return NULL;
}

bool elf_image_find_packed(const struct elf_image *image, struct section_bytes *packed) {
  for (unsigned i = 0; i < image->header.e_phnum; i++) {
    const Elf64_Phdr segment = elf_image_segment(image, i);
    uint64_t size;
    const uint8_t *note = segment.p_type == PT_NOTE && segment.p_memsz == PACKED_NOTE_SIZE
                              ? elf_image_at(image, segment.p_vaddr, &size)
                              : NULL;
    if (note == NULL || size < segment.p_memsz || !packed_note_is(note, segment.p_memsz))
      continue;
    *packed = (struct section_bytes){note + PACKED_NOTE_SIZE, size - PACKED_NOTE_SIZE,
                                     segment.p_vaddr + PACKED_NOTE_SIZE};
    return true;
  }
  return false;
}

uint64_t elf_image_code_end(const struct elf_image *image) {
  uint64_t end = 0;
  for (unsigned i = 0; i < image->header.e_phnum; i++) {
    const Elf64_Phdr segment = elf_image_segment(image, i);
    const bool is_code = segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0;
    if (is_code && segment.p_vaddr + segment.p_memsz > end)
      end = segment.p_vaddr + segment.p_memsz;
  }
  return end;
}

/* ---- Notes ---- */

enum { NOTES_SIZE_MAX = 1 << 20 };

struct elf_notes elf_notes(const struct elf_image *image) {
  return (struct elf_notes){.image = image, .budget = NOTES_SIZE_MAX};
}

/* Goes to the next segment of notes. */
static bool next_notes(struct elf_notes *notes) {
  while (notes->segment < notes->image->header.e_phnum) {
    const Elf64_Phdr segment = elf_image_segment(notes->image, notes->segment++);
    uint64_t size;
    if (segment.p_type != PT_NOTE)
      continue;
    notes->next = elf_image_at(notes->image, segment.p_vaddr, &size);
    if (notes->next == NULL)
      continue;
    notes->left = size < segment.p_filesz ? size : segment.p_filesz;
    notes->left = notes->left < notes->budget ? notes->left : notes->budget;
    notes->budget -= notes->left;
    return true;
  }
  return false;
}

/* gABI, "Note Section". Where the segment's alignment is 8, descriptions and notes are padded to
 * that, but mold 1.10 puts notes of alignment 4 there, too, without padding. So ours are looked for
 * at each multiple of 4. */
const uint8_t *elf_notes_next(struct elf_notes *notes, uint32_t type, uint64_t *size) {
  enum { STEP = 4 };
  while (notes->left >= PACKED_NOTE_SIZE || next_notes(notes)) {
    const uint8_t *note = notes->next;
    Elf64_Nhdr header;
    if (notes->left < PACKED_NOTE_SIZE) {
      notes->left = 0;
      continue;
    }
    memcpy(&header, note, sizeof header);
    notes->next += STEP;
    notes->left -= STEP;
    *size = header.n_descsz;
    if (header.n_type == type && header.n_namesz == sizeof "stackpack" &&
        memcmp(note + sizeof header, packed_note + sizeof header, sizeof "stackpack") == 0 &&
        header.n_descsz <= notes->left + STEP - PACKED_NOTE_SIZE)
      return note + PACKED_NOTE_SIZE;
  }
  return NULL;
}

/* The strings of a section; NULL for another type of section, or one that is outside. */
static const char *strings_of(const struct elf_image *image, uint32_t section, uint64_t *size) {
  *size = 0;
  if (section >= image->header.e_shnum)
    return NULL;
  const Elf64_Shdr strings = elf_image_section(image, section);
  if (strings.sh_type != SHT_STRTAB || !inside(image, strings.sh_offset, strings.sh_size))
    return NULL;
  *size = strings.sh_size;
  return (const char *)image->bytes + strings.sh_offset;
}

/* Whether the last string ends, as it must (gABI, "String Table"). */
static bool strings_end(const char *strings, uint64_t size) {
  return size > 0 && strings[size - 1] == 0;
}

/* The string at an offset. Where the last one has no end, only short ones are found. */
static const char *string_at(const char *strings, uint64_t size, bool all_end, uint64_t offset) {
  enum { LONG = 4096 };
  if (offset >= size)
    return NULL;
  const uint64_t left = size - offset;
  return all_end || memchr(strings + offset, 0, left < LONG ? left : LONG) != NULL
             ? strings + offset
             : NULL;
}

const char *elf_image_string(const struct elf_image *image, uint32_t section, uint32_t offset) {
  uint64_t size;
  const char *strings = strings_of(image, section, &size);
  return string_at(strings, size, strings_end(strings, size), offset);
}

/* Whether a name consists of these two pieces: see note.h. */
static bool is_name(const char *name, const char *start, const char *rest) {
  const size_t length = strlen(start);
  return name != NULL && strncmp(name, start, length) == 0 && strcmp(name + length, rest) == 0;
}

/* The next section of that name, given in two pieces. */
static bool next_section(const struct elf_image *image, const char *start, const char *rest,
                         unsigned *number, Elf64_Shdr *section) {
  while (++*number < image->header.e_shnum) {
    *section = elf_image_section(image, *number);
    if (is_name(elf_image_string(image, image->header.e_shstrndx, section->sh_name), start, rest))
      return true;
  }
  return false;
}

bool elf_image_next_raw(const struct elf_image *image, unsigned *number, Elf64_Shdr *section) {
  return next_section(image, ".llvm_", "stackmaps", number, section);
}

const uint8_t *elf_image_contents(const struct elf_image *image, const Elf64_Shdr *section) {
  uint64_t size;
  if (image->loaded == NULL)
    return section->sh_type != SHT_NOBITS && inside(image, section->sh_offset, section->sh_size)
               ? image->bytes + section->sh_offset
               : NULL;
  const uint8_t *bytes = elf_image_at(image, section->sh_addr, &size);
  return bytes != NULL && section->sh_size <= size ? bytes : NULL;
}

bool elf_image_find_section(const struct elf_image *image, const char *name, Elf64_Shdr *section) {
  unsigned number = 0;
  return next_section(image, name, "", &number, section) &&
         elf_image_contents(image, section) != NULL;
}

/* ---- Relocations ---- */

/* The part that an entry of the dynamic section points to. The loader may have added the bias to
 * it. */
static struct section_bytes part_at(const struct elf_image *image, uint64_t address) {
  struct section_bytes part = {0};
  part.bytes = elf_image_at(image, address - image->bias, &part.size);
  if (part.bytes == NULL)
    part.bytes = elf_image_at(image, address, &part.size);
  return part;
}

/* The dynamic section; of size 0 if there is none, or it is unreadable. */
static struct section_bytes dynamic_part(const struct elf_image *image) {
  struct section_bytes part = {0};
  if (image->dynamic.p_type == PT_DYNAMIC)
    part.bytes = elf_image_at(image, image->dynamic.p_vaddr, &part.size);
  return part;
}

unsigned elf_image_dynamic(const struct elf_image *image, Elf64_Sxword tag, uint64_t *value) {
  unsigned found = 0;
  struct section_bytes part = dynamic_part(image);
  Elf64_Dyn entry;
  *value = 0;
  for (; part.size >= sizeof entry; part.bytes += sizeof entry, part.size -= sizeof entry) {
    memcpy(&entry, part.bytes, sizeof entry);
    if (entry.d_tag == DT_NULL)
      break;
    if (entry.d_tag == tag && found++ == 0)
      *value = entry.d_un.d_val;
  }
  return found;
}

/* Finds the relocations and symbols that the dynamic section names. False if some are
 * unreadable. */
static bool find_relocations(const struct elf_image *image, struct section_bytes *relocations,
                             struct section_bytes *symbols) {
  enum { DT_ANDROID_RELA_ = 0x60000011 }; /* compressed: lld --pack-dyn-relocs=android */
  uint64_t rela, size, symbol_table, android;
  if (image->dynamic.p_type == PT_DYNAMIC && dynamic_part(image).bytes == NULL)
    return false;
  const unsigned tables = elf_image_dynamic(image, DT_RELA, &rela);
  const unsigned sizes = elf_image_dynamic(image, DT_RELASZ, &size);
  const unsigned symbol_tables = elf_image_dynamic(image, DT_SYMTAB, &symbol_table);
  if (tables > 1 || sizes > 1 || symbol_tables > 1 ||
      elf_image_dynamic(image, DT_ANDROID_RELA_, &android) > 0)
    return false;
  *symbols = *relocations = (struct section_bytes){0};
  if (symbol_tables > 0)
    *symbols = part_at(image, symbol_table);
  if (tables > 0)
    *relocations = part_at(image, rela);
  if (size > relocations->size)
    return false;
  relocations->size = size;
  return true;
}

/* The value of symbol n; 0 if it is undefined or there is none. */
static uint64_t symbol_value(const struct section_bytes *symbols, uint64_t n) {
  Elf64_Sym symbol;
  if (n >= symbols->size / sizeof symbol)
    return 0;
  memcpy(&symbol, symbols->bytes + n * sizeof symbol, sizeof symbol);
  return symbol.st_shndx == SHN_UNDEF ? 0 : symbol.st_value;
}

/* The value that a relocation stores. False for a kind that a stack map can't have. */
static bool relocated_value(const struct elf_image *image, const struct section_bytes *symbols,
                            const Elf64_Rela *relocation, uint64_t *value) {
  const struct machine *machine = machine_find(image->header.e_machine);
  const uint32_t type = ELF64_R_TYPE(relocation->r_info);
  *value = (uint64_t)relocation->r_addend;
  if (machine == NULL)
    return false;
  if (type == machine->relocations.relative)
    return true;
  if (type == machine->relocations.absolute) {
    const uint64_t symbol = symbol_value(symbols, ELF64_R_SYM(relocation->r_info));
    *value = symbol == 0 ? 0 : *value + symbol;
    return true;
  }
  return false;
}

/* Takes the next relocation of a section. False: there is none. */
static bool take_relocation(struct section_bytes *relocations, const Elf64_Shdr *section,
                            Elf64_Rela *relocation) {
  while (relocations->size >= sizeof *relocation) {
    memcpy(relocation, relocations->bytes, sizeof *relocation);
    relocations->bytes += sizeof *relocation;
    relocations->size -= sizeof *relocation;
    if (relocation->r_offset - section->sh_addr < section->sh_size && relocation->r_info != 0)
      return true;
  }
  return false;
}

bool elf_image_is_relocated(const struct elf_image *image, const Elf64_Shdr *section) {
  struct section_bytes relocations, symbols;
  Elf64_Rela relocation;
  return !find_relocations(image, &relocations, &symbols) ||
         take_relocation(&relocations, section, &relocation);
}

static bool relocate_by(const struct elf_image *image, struct section_bytes relocations,
                        const struct section_bytes *symbols, const Elf64_Shdr *section,
                        uint8_t *bytes, uint32_t *unknown) {
  Elf64_Rela relocation;
  uint64_t value;
  while (take_relocation(&relocations, section, &relocation)) {
    const uint64_t into = relocation.r_offset - section->sh_addr;
    assert(into < section->sh_size);
    if (section->sh_size - into < sizeof value ||
        !relocated_value(image, symbols, &relocation, &value)) {
      *unknown = ELF64_R_TYPE(relocation.r_info);
      return false;
    }
    memcpy(bytes + into, &value, sizeof value);
  }
  return true;
}

bool elf_image_relocate(const struct elf_image *image, const Elf64_Shdr *section, uint8_t *bytes,
                        uint32_t *unknown) {
  struct section_bytes relocations, symbols;
  *unknown = 0;
  return find_relocations(image, &relocations, &symbols) &&
         relocate_by(image, relocations, &symbols, section, bytes, unknown);
}

/* ---- Symbols ---- */

/* Goes to the next table. */
static bool next_table(struct elf_symbols *symbols) {
  while (++symbols->section < symbols->image->header.e_shnum) {
    const Elf64_Shdr table = elf_image_section(symbols->image, symbols->section);
    bool *is_met = table.sh_type == SHT_DYNSYM ? &symbols->has_dynamic : &symbols->has_static;
    if ((table.sh_type != SHT_SYMTAB && table.sh_type != SHT_DYNSYM) || *is_met)
      continue;
    *is_met = true;
    if (!inside(symbols->image, table.sh_offset, table.sh_size))
      continue;
    symbols->table = table;
    symbols->next = symbols->image->bytes + table.sh_offset;
    symbols->is_dynamic = table.sh_type == SHT_DYNSYM;
    symbols->names = strings_of(symbols->image, table.sh_link, &symbols->names_size);
    symbols->names_end = strings_end(symbols->names, symbols->names_size);
    return true;
  }
  return false;
}

bool elf_symbols_next(struct elf_symbols *symbols) {
  while (symbols->table.sh_size < sizeof symbols->symbol)
    if (!next_table(symbols))
      return false;
  memcpy(&symbols->symbol, symbols->next, sizeof symbols->symbol);
  symbols->next += sizeof symbols->symbol;
  symbols->table.sh_size -= sizeof symbols->symbol;
  symbols->name =
      string_at(symbols->names, symbols->names_size, symbols->names_end, symbols->symbol.st_name);
  return true;
}

bool elf_symbols_next_defined(struct elf_symbols *symbols) {
  while (elf_symbols_next(symbols))
    if (symbols->name != NULL && symbols->symbol.st_shndx != SHN_UNDEF)
      return true;
  return false;
}

bool elf_image_has_raw_symbol(const struct elf_image *image) {
  for (struct elf_symbols at = elf_symbols(image); elf_symbols_next(&at);)
    if (!at.is_dynamic && is_name(at.name, "__LLVM_", "StackMaps"))
      return true;
  return false;
}

bool elf_image_add_symbols(const struct elf_image *image, struct code_ranges *ranges) {
  for (struct elf_symbols at = elf_symbols(image); elf_symbols_next(&at);) {
    const unsigned type = ELF64_ST_TYPE(at.symbol.st_info);
    if ((type == STT_FUNC || type == STT_GNU_IFUNC) && at.symbol.st_shndx != SHN_UNDEF &&
        !code_ranges_add(ranges, at.symbol.st_value, at.symbol.st_value + at.symbol.st_size))
      return false;
  }
  return true;
}
