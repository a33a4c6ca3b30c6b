/* raw_readers.c - finds out whether a program reads its own raw stack maps.
 *
 * LLVM labels the stack maps of each object file `__LLVM_StackMaps`. A runtime that parses them
 * itself declares that symbol (made global with objcopy, or by a linker script) and would find the
 * packed table there. Such a use leaves one of these traces in a linked file:
 *
 * - a dynamic symbol of that name, exported for others or imported, weak or not; or an undefined
 *   one in the full symbol table;
 * - a dynamic relocation that puts an address in the stack maps somewhere: into the global offset
 *   table, or initialised data; in a table of kind RELR, the place says the address itself;
 * - at a fixed address, where nothing is relocated, a word in data that is the section's address;
 * - an instruction that has the address of the maps' first header, relative to itself or, at a
 *   fixed address, as a constant;
 * - a relocation that the linker has left for later (`ld -q`), against a symbol in the section.
 *
 * A program that finds the section by its name, as libstackpack does, has none of these.
 *
 * At a fixed address, a number that means something else may be the section's address by chance:
 * the size of a buffer, say. So where the symbols tell that no other file could name the stack
 * maps, as all their labels are local to the files with the maps, words and constants aren't taken
 * for references. (A label that the linker made local, as it was hidden, still says so; mold makes
 * all local.)
 *
 * An address may mean the end of the section before it: linkers and programs mark ends of code, of
 * data, and of tables (`etext`, `__rela_iplt_end`, `__stop_NAME`). So where such a mark may stand,
 * a reference to just the section's first byte isn't taken for one to the stack maps.
 *
 * AArch64 and RISC-V take the upper part of an address from one instruction, and the rest from
 * another: an addition, a load or a store. A compiler may put other code between them. So code is
 * gone through from a section's start to its end, and a register is taken to hold its upper part
 * until something else is put there:
 *
 *     adrp x0, 0x412000                 auipc a0, 0x2
 *     add  x0, x0, 0x318                addi  a0, a0, 0x318
 *
 * Code of x86-64 in which the address's bytes occur is decoded from its section's start to its end.
 * Code that follows data falls into step after a few instructions; and as only sixteen addresses
 * count, bytes that aren't code will hardly name one.
 */
#include "tool/check/raw_readers.h"

#include "format/bits.h"
#include "tool/code/parts.h"
#include "tool/image/relocations.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

static const char symbol_name[] = "__LLVM_StackMaps";

enum {
  MAP_HEADER_SIZE = 16,
  /* GCC's start-up code has deregister_tm_clones and register_tm_clones, of unknown size. They name
   * the end of a table that is usually empty, and may stand before writable stack maps. */
  CLONES = 2,
  CLONES_SIZE_MAX = 64,
};

struct search {
  const struct image *image;
  const struct image_section *raw;
  bool may_mark_end; /* the section's address may mean the end of another one */
  bool is_fixed; /* words and constants may name them: in an executable, if no other file can't */
  uint64_t clones[CLONES];
  unsigned clones_count;
  uint64_t global_pointer; /* the value of RISC-V's register gp; 0: it isn't known */
  struct problem *found;   /* the first reference */
};

/* ---- Which addresses mean the stack maps ---- */

static bool ends_with_mark(const struct image_section *section) {
  static const char *const marked[] = {".data", ".bss", ".tm_clone_table"};
  const Elf64_Shdr *header = &section->header;
  switch (header->sh_type) {
  case SHT_RELA:
  case SHT_REL:
  case SHT_INIT_ARRAY:
  case SHT_FINI_ARRAY:
  case SHT_PREINIT_ARRAY:
    return true;
  }
  for (unsigned i = 0; i < sizeof marked / sizeof *marked; i++)
    if (strcmp(section->name, marked[i]) == 0)
      return true;
  /* etext; and __stop_NAME, which sections have whose name is a C identifier. */
  return (header->sh_flags & SHF_EXECINSTR) != 0 || section->name[0] == '_' ||
         isalpha((unsigned char)section->name[0]);
}

/* Facts that the symbols tell. */
struct marks {
  bool mark, global_name;    /* of the stack maps' address */
  bool own_name, other_name; /* in the stack maps: labels of LLVM's, and others */
  bool has_table;            /* there is a symbol table, */
  size_t globals, exports;   /* which defines so many global symbols, and the dynamic one so many */
};

/* A symbol that is defined. */
static void look_for_mark(struct search *search, struct marks *marks, const char *name,
                          const GElf_Sym *symbol) {
  const struct image *image = search->image;
  const struct image_section *raw = search->raw;
  const unsigned type = GELF_ST_TYPE(symbol->st_info);
  const bool is_local = GELF_ST_BIND(symbol->st_info) == STB_LOCAL;
  const bool is_own = strcmp(name, symbol_name) == 0;
  if (strstr(name, "register_tm_clones") != NULL && search->clones_count < CLONES)
    search->clones[search->clones_count++] = symbol->st_value;
  if (strcmp(name, "__global_pointer$") == 0)
    search->global_pointer = symbol->st_value;
  if (type == STT_TLS || type == STT_FILE)
    return;
  if (type != STT_SECTION && symbol->st_value - raw->header.sh_addr < raw->header.sh_size) {
    const bool is_label = is_own && is_local && GELF_ST_VISIBILITY(symbol->st_other) == STV_DEFAULT;
    marks->own_name |= is_label;
    marks->other_name |= !is_label;
  }
  if (symbol->st_value != raw->header.sh_addr)
    return;
  if (image_symbol_section(image, symbol) == (size_t)(raw - image->sections))
    marks->global_name |= is_own && !is_local;
  else
    marks->mark |= symbol->st_shndx != SHN_ABS;
}

/* Looks for marks among the symbols; without these, a section before may have one. But LLVM makes
 * its symbol local: a global one is there to be referred to. And the linker must have left symbols
 * global that the program doesn't export for that to say something: mold doesn't. */
static bool may_mark_end(struct search *search) {
  const struct image *image = search->image;
  struct marks marks = {.has_table = false};
  for (struct elf_symbols at = elf_symbols(&image->elf_image); elf_symbols_next(&at);) {
    const bool is_global = GELF_ST_BIND(at.symbol.st_info) != STB_LOCAL;
    marks.has_table |= !at.is_dynamic;
    if (at.symbol.st_shndx == SHN_UNDEF)
      continue;
    *(at.is_dynamic ? &marks.exports : &marks.globals) += is_global;
    if (at.name != NULL)
      look_for_mark(search, &marks, at.name, &at.symbol);
  }
  EACH_SECTION(image, section) {
    const Elf64_Shdr *header = &section->header;
    if (!marks.has_table && (header->sh_flags & SHF_ALLOC) != 0 &&
        (header->sh_flags & SHF_TLS) == 0 &&
        header->sh_addr + header->sh_size == search->raw->header.sh_addr)
      marks.mark |= ends_with_mark(section);
  }
  const bool is_nameless = marks.own_name && !marks.other_name && marks.globals > marks.exports;
  search->is_fixed = image->header.e_type == ET_EXEC && !is_nameless;
  return marks.mark && !marks.global_name;
}

/* Whether an address is one of the first `size` bytes of the stack maps, and can't be a mark. */
static bool means_maps(const struct search *search, uint64_t address, uint64_t size) {
  const Elf64_Shdr *raw = &search->raw->header;
  const uint64_t into = address - raw->sh_addr;
  return into < raw->sh_size && into < size && (into > 0 || !search->may_mark_end);
}

static bool is_raw_address(const struct search *search, uint64_t address) {
  return address - search->raw->header.sh_addr < search->raw->header.sh_size;
}

/* ---- Symbols ---- */

static void search_symbols(const struct search *search) {
  for (struct elf_symbols at = elf_symbols(&search->image->elf_image); elf_symbols_next(&at);) {
    const bool is_import = at.symbol.st_shndx == SHN_UNDEF;
    if ((is_import || (at.is_dynamic && GELF_ST_BIND(at.symbol.st_info) != STB_LOCAL)) &&
        at.name != NULL && strcmp(at.name, symbol_name) == 0)
      problem_set(search->found, "%s symbol in %s", is_import ? "an imported" : "an exported",
                  search->image->sections[at.section].name);
  }
}

/* ---- Relocations ---- */

static void report_relocation(const struct search *search, const struct image_section *table,
                              uint64_t place) {
  const char *name = "no section";
  if (search->found->text[0] != 0)
    return; /* a hostile file may have many of both */
  EACH_SECTION(search->image, section) {
    const Elf64_Shdr *header = &section->header;
    if ((header->sh_flags & SHF_ALLOC) != 0 && header->sh_type != SHT_NOBITS &&
        place - header->sh_addr < header->sh_size)
      name = section->name;
  }
  problem_set(search->found, "a relocation in %s for %s at 0x%" PRIx64, table->name, name, place);
}

static void search_rela(const struct search *search, const struct image_section *table) {
  const struct image *image = search->image;
  Elf64_Rela relocation;
  for (uint64_t at = 0; rela_next(image, &table->header, &at, &relocation);)
    if (relocation_is_relative(image, &relocation) &&
        !is_raw_address(search, relocation.r_offset) &&
        means_maps(search, (uint64_t)relocation.r_addend, UINT64_MAX))
      report_relocation(search, table, relocation.r_offset);
}

static void search_relr(const struct search *search, const struct image_section *table) {
  struct relr_reader reader = relr_open(search->image, &table->header);
  for (uint64_t place, size; relr_next(&reader, &place);) {
    const uint8_t *word = elf_image_at(&search->image->elf_image, place, &size);
    if (!is_raw_address(search, place) && word != NULL && size >= sizeof(uint64_t) &&
        means_maps(search, bits_load64(word), UINT64_MAX))
      report_relocation(search, table, place);
  }
}

/* Relocations that were applied already, and left in the file: their symbols tell. */
static void search_left(const struct search *search, const struct image_section *table) {
  const struct image *image = search->image;
  const size_t raw_index = (size_t)(search->raw - image->sections);
  const Elf64_Shdr *header = &table->header;
  if (header->sh_info == raw_index || header->sh_info >= image->section_count ||
      (image->sections[header->sh_info].header.sh_flags & SHF_ALLOC) == 0 ||
      header->sh_link >= image->section_count)
    return;
  Elf_Data *symbols = elf_getdata(elf_getscn(image->elf, header->sh_link), NULL);
  Elf64_Rela relocation;
  for (uint64_t at = 0; symbols != NULL && rela_next(image, header, &at, &relocation);) {
    GElf_Sym symbol;
    if (gelf_getsym(symbols, (int)ELF64_R_SYM(relocation.r_info), &symbol) != NULL &&
        image_symbol_section(image, &symbol) == raw_index)
      report_relocation(search, table, relocation.r_offset);
  }
}

static void search_relocations(const struct search *search) {
  EACH_SECTION(search->image, table) {
    if (table->header.sh_type == SHT_RELR)
      search_relr(search, table);
    else if (table->header.sh_type == SHT_RELA && (table->header.sh_flags & SHF_ALLOC) != 0)
      search_rela(search, table);
    else if (table->header.sh_type == SHT_RELA)
      search_left(search, table);
  }
}

/* ---- Words at a fixed address ---- */

static void search_words(const struct search *search) {
  const struct image *image = search->image;
  EACH_SECTION(image, section) {
    const Elf64_Shdr *header = &section->header;
    if (section == search->raw || header->sh_type != SHT_PROGBITS ||
        (header->sh_flags & (SHF_ALLOC | SHF_EXECINSTR)) != SHF_ALLOC)
      continue;
    for (uint64_t at = -header->sh_addr & 7; at + 8 <= header->sh_size; at += 8) {
      uint64_t word;
      memcpy(&word, image->bytes + header->sh_offset + at, sizeof word);
      if (means_maps(search, word, 1))
        problem_set(search->found, "a pointer in %s at 0x%" PRIx64, section->name,
                    header->sh_addr + at);
    }
  }
}

/* ---- Code ---- */

static bool is_in_clones(const struct search *search, uint64_t address) {
  for (unsigned i = 0; i < search->clones_count; i++)
    if (address - search->clones[i] < CLONES_SIZE_MAX)
      return true;
  return false;
}

/* Whether an instruction names the address: as distance from the next one, or as a constant. */
static bool names_maps(const struct search *search, const struct code_instruction *instruction) {
  bool names =
      instruction->reference != 0 && means_maps(search, instruction->reference, MAP_HEADER_SIZE);
  for (unsigned i = 0; i < instruction->constant_count && search->is_fixed; i++)
    names |= means_maps(search, instruction->constants[i], MAP_HEADER_SIZE);
  return names;
}

/* Whether four bytes could be an operand that names the address: the low half of it, or its
 * distance from their end or from the end of an operand after them. `at` is the place of the bytes,
 * `raw` that of the maps, both as low halves. Values close to it count, too: both comparisons are
 * with a power of two, which compilers make quick code of. */
static inline uint32_t may_name(const uint8_t *bytes, uint32_t at, uint32_t raw) {
  enum { OPERANDS_AFTER_MAX = 8, AROUND = 32 };
  const uint32_t word = bits_load32(bytes), relative = word + at + 4;
  return ((word - raw) & -(uint32_t)MAP_HEADER_SIZE) == 0 ||
         ((relative - raw + OPERANDS_AFTER_MAX) & -(uint32_t)AROUND) == 0;
}

/* Whether there are any such four bytes in a section. Decoding takes a hundred times longer, and
 * nearly always there is no such place. Words that follow each other are looked at together, and
 * then those that start a byte, two and three further on: compilers use vectors for that. */
static bool may_name_maps(const struct search *search, const struct image_section *section) {
  enum { WORDS = 64, BLOCK = WORDS * 4 };
  const uint8_t *bytes = search->image->bytes + section->header.sh_offset;
  const uint64_t size = section->header.sh_size;
  const uint32_t raw = (uint32_t)search->raw->header.sh_addr;
  const uint32_t start = (uint32_t)section->header.sh_addr;
  uint32_t may = 0;
  uint64_t at = 0;
  for (; at + BLOCK + 4 <= size; at += BLOCK)
    for (uint32_t first = 0; first < 4; first++)
      for (uint32_t i = 0; i < WORDS; i++)
        may |= may_name(bytes + at + first + i * 4, start + (uint32_t)at + first + i * 4, raw);
  for (; at + 4 <= size; at++)
    may |= may_name(bytes + at, start + (uint32_t)at, raw);
  return may != 0;
}

static void search_code(const struct search *search, const struct code_architecture *architecture,
                        const struct image_section *section) {
  const uint8_t *bytes = search->image->bytes + section->header.sh_offset;
  const uint64_t size = section->header.sh_size;
  const bool has_parts = architecture->highest != 0;
  struct parts parts = {.global = search->global_pointer,
                        .global_register = architecture->global_register,
                        .is_fixed = search->is_fixed,
                        .is_straight = true};
  struct code_instruction instruction;
  if (!has_parts && !may_name_maps(search, section))
    return;
  for (uint64_t at = 0; at < size; at += instruction.length) {
    const uint64_t address = section->header.sh_addr + at;
    architecture->decode(bytes + at, size - at, address, &instruction);
    if (has_parts)
      parts_follow(&parts, &instruction, NULL, NULL);
    if (names_maps(search, &instruction) && !is_in_clones(search, address))
      problem_set(search->found, "an instruction in %s at 0x%" PRIx64, section->name, address);
  }
}

static void search_all_code(const struct search *search) {
  const struct code_architecture *architecture = code_architecture(search->image->header.e_machine);
  EACH_SECTION(search->image, section) {
    const Elf64_Shdr *header = &section->header;
    if (architecture != NULL && (header->sh_flags & SHF_EXECINSTR) != 0 &&
        header->sh_type != SHT_NOBITS)
      search_code(search, architecture, section);
  }
}

bool raw_readers_find(const struct image *image, const struct image_section *raw,
                      struct problem *found) {
  struct search search = {.image = image, .raw = raw, .found = found};
  search.may_mark_end = may_mark_end(&search);
  search_symbols(&search);
  search_relocations(&search);
  if (search.is_fixed)
    search_words(&search);
  if (found->text[0] == 0)
    search_all_code(&search);
  return found->text[0] != 0;
}
