/* raw_readers.c - finds out whether a program reads its own raw stack maps.
 *
 * LLVM labels the stack maps of each object file `__LLVM_StackMaps`. A runtime that parses them
 * itself declares that symbol, or symbols around them that a linker script defines (`__start_NAME`,
 * `gc_maps_begin`), and would find the packed table there. Such a use leaves one of these traces in
 * a linked file:
 *
 * - a dynamic symbol of that name, exported for others or imported, weak or strong; or an undefined
 *   one in the full symbol table;
 * - a symbol in the stack maps, or at their end, other than LLVM's and a linker's own;
 * - a dynamic relocation that puts an address in the stack maps somewhere: into the global offset
 *   table, or initialised data; in a table of kind RELR, the place says the address itself;
 * - in a file at a fixed address, a word that is the address of a map's header;
 * - an instruction that has the address of a map's header, relative to itself or, at a fixed
 *   address, as a constant;
 * - a relocation that the linker has left for later (`ld -q`), against a symbol in the section.
 *
 * A program that finds the section by its name is raw_names.c's subject.
 *
 * At a fixed address, another number may be the address of a map by chance: the size of a buffer,
 * say. If all labels of the stack maps are local to the files with the maps, only that file's own
 * code could name them: a number counts there if it is a header's address, and isn't round. (A
 * hidden label that the linker made local still has that visibility; mold makes all local.)
 *
 * An address may mean the end of the section before it. Linkers mark ends of code and of tables for
 * the C library (`etext`, `__rela_iplt_end`, `__stop_NAME`). So if there is such a mark, or may
 * have been one before `strip`, a reference to just the section's first byte is exempt. A loop over
 * a table of constants compares with the table's end, which may be the same byte: there, too, a
 * reference is exempt, if all labels of the stack maps are local, and the process has a reader of
 * packed ones. GCC's start-up code (register_tm_clones) names the end of a table that is usually
 * empty, and may precede writable stack maps; its form identifies it: it has the same address as a
 * table's start and end, and compares both.
 *
 * AArch64 and RISC-V take the upper part of an address from one instruction, and the rest from
 * another: an addition, a load or a store. A compiler may put other code between them. So code is
 * followed from a section's start to its end, and a register is assumed to hold its upper part
 * until something else is put there:
 *
 *     adrp x0, 0x412000                 auipc a0, 0x2
 *     add  x0, x0, 0x318                addi  a0, a0, 0x318
 *
 * Code of x86-64 is decoded around the places of the address's bytes, from a few thousand bytes
 * before. Decoding that starts inside an instruction, or in data, falls into step after a few
 * instructions; and as only the headers' bytes count, other bytes than code will hardly name one.
 */
#include "tool/check/raw_readers.h"

#include "format/bits.h"
#include "format/search.h"
#include "format/stackmap_v3.h"
#include "tool/code/parts.h"
#include "tool/image/integers.h"
#include "tool/image/names.h"
#include "tool/image/relocations.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char symbol_name[] = "__LLVM_StackMaps";

enum {
  MAP_HEADER_SIZE = 16,
  EXACTLY = 1,      /* a reference counts to the first byte of a header only */
  ROUND = 4096,     /* numbers that people choose are multiples of this */
  STARTS_MAX = 64,  /* of more maps, a number may well be an address by chance */
  CLONES_SIZE = 64, /* of register_tm_clones and deregister_tm_clones, from the first reference */
};

struct search {
  const struct image *image;
  const struct image_section *raw;
  struct integers starts; /* the addresses of the maps' headers, in order */
  bool marks_end;   /* the section's address is also the end of another one, or of its last table */
  uint64_t marked;  /* the start of one whose end may have been marked so, before strip; or 0 */
  bool is_fixed;    /* words and constants may be addresses */
  bool is_nameless; /* other files have no name for the stack maps */
  uint64_t global_pointer; /* the value of RISC-V's register gp; 0: unknown */
  struct problem *found;   /* the first reference */
};

/* ---- The maps' addresses ---- */

/* If a map is unreadable, those before it count. */
static void find_starts(struct search *search) {
  const Elf64_Shdr *raw = &search->raw->header;
  struct stackmap_v3_reader reader =
      stackmap_v3_open(search->image->bytes + raw->sh_offset, raw->sh_size);
  struct stackmap_v3_function function;
  struct stackmap_v3_record record;
  while (stackmap_v3_next_map(&reader)) {
    const uint64_t start = raw->sh_addr + reader.functions_position - STACKMAP_V3_MAP_SIZE;
    assert(search->starts.count == 0 || search->starts.items[search->starts.count - 1] < start);
    integers_add(&search->starts, start);
    while (stackmap_v3_next_function(&reader, &function))
      for (uint64_t i = 0; i < function.records && stackmap_v3_next_record(&reader, &record); i++)
        ;
  }
}

static bool is_raw_address(const struct search *search, uint64_t address) {
  return address - search->raw->header.sh_addr < search->raw->header.sh_size;
}

/* The same, unless the address marks the end of the section before. */
static bool means_raw(const struct search *search, uint64_t address) {
  return is_raw_address(search, address) &&
         (address != search->raw->header.sh_addr || !search->marks_end);
}

/* Whether it is one of the first `size` bytes of a map, too. */
static bool means_map(const struct search *search, uint64_t address, uint64_t size) {
  if (!means_raw(search, address))
    return false;
  const struct integers *starts = &search->starts;
  const size_t after = search_words_below(starts->items, starts->count, address + 1);
  return after > 0 && address - starts->items[after - 1] < size;
}

/* Whether a number is the address of a map. */
static bool number_means_map(const struct search *search, uint64_t number, uint64_t size) {
  if (!search->is_fixed)
    return false;
  if (!search->is_nameless)
    return means_map(search, number, size);
  return search->starts.count <= STARTS_MAX && number % ROUND != 0 &&
         means_map(search, number, EXACTLY);
}

/* ---- Symbols ---- */

/* Whether a name is `__start_` or `__stop_` and another section's name: linkers mark sections whose
 * name is a C identifier. */
static bool marks_other_section(const struct search *search, const char *name, const char *prefix) {
  if (strncmp(name, prefix, strlen(prefix)) != 0)
    return false;
  EACH_SECTION(search->image, section)
    if (section != search->raw && strcmp(section->name, name + strlen(prefix)) == 0)
      return true;
  return false;
}

/* Ends of sections, as the C library and its start-up files refer to them. */
static bool marks_end(const struct search *search, const char *name) {
  return name_is_among(name, ' ',
                       "etext _etext __etext __rela_iplt_end __rel_iplt_end "
                       "__preinit_array_end __init_array_end __fini_array_end") ||
         marks_other_section(search, name, "__stop_");
}

/* Symbols that linkers define in any program (ld's default script; lld's addReservedSymbols). */
static bool is_of_linker(const struct search *search, const char *name) {
  return name_is_among(name, ' ',
                       "edata _edata __edata end _end __end __end__ _bss_end__ __bss_end__ "
                       "__bss_start __bss_start__ __BSS_END__ data_start __data_start "
                       "__DATA_BEGIN__ __SDATA_BEGIN__ __TMC_END__ __dso_handle _DYNAMIC "
                       "__global_pointer$ __ehdr_start __executable_start __GNU_EH_FRAME_HDR "
                       "_GLOBAL_OFFSET_TABLE_ _PROCEDURE_LINKAGE_TABLE_ __rela_iplt_start "
                       "__rel_iplt_start __preinit_array_start __init_array_start "
                       "__fini_array_start") ||
         marks_end(search, name) || marks_other_section(search, name, "__start_");
}

/* Whether a name is LLVM's, perhaps with a number that `ld -z unique-symbol` gives it. */
static bool is_llvm_name(const char *name) {
  const size_t length = sizeof symbol_name - 1;
  if (strncmp(name, symbol_name, length) != 0)
    return false;
  const char *rest = name + length;
  return *rest == 0 ||
         (*rest == '.' && rest[1] != 0 && rest[1 + strspn(rest + 1, "0123456789")] == 0);
}

/* A local label of LLVM's, or an assembler's: mapping symbols, say. */
static bool is_label(const char *name, const GElf_Sym *symbol) {
  return GELF_ST_BIND(symbol->st_info) == STB_LOCAL &&
         (name[0] == '$' || name[0] == '.' ||
          (is_llvm_name(name) && GELF_ST_VISIBILITY(symbol->st_other) == STV_DEFAULT));
}

/* Whether a name is `__start_` or `__stop_` and the stack maps' section's, without dots. */
static bool marks_raw(const struct search *search, const char *name) {
  const char *own = search->raw->name + strspn(search->raw->name, ".");
  return (strncmp(name, "__start_", 8) == 0 && strcmp(name + 8, own) == 0) ||
         (strncmp(name, "__stop_", 7) == 0 && strcmp(name + 7, own) == 0);
}

/* Facts from the symbols. */
struct marks {
  bool mark, global_name;    /* of the stack maps' address */
  bool own_name, other_name; /* in the stack maps: labels of LLVM's, and others */
  bool has_table;            /* there is a symbol table: */
  size_t globals, exports;   /* the numbers of global symbols that it and the dynamic one define */
};

/* A symbol that is defined. */
static void look_for_mark(struct search *search, struct marks *marks, const char *name,
                          const GElf_Sym *symbol) {
  const Elf64_Shdr *raw = &search->raw->header;
  const unsigned type = GELF_ST_TYPE(symbol->st_info);
  const bool is_own = strcmp(name, symbol_name) == 0, has_label = is_label(name, symbol);
  const bool is_inside =
      image_symbol_is_in(search->image, symbol, (size_t)(search->raw - search->image->sections));
  if (strcmp(name, "__global_pointer$") == 0)
    search->global_pointer = symbol->st_value;
  if (type == STT_TLS || type == STT_FILE || type == STT_SECTION ||
      symbol->st_value - raw->sh_addr > raw->sh_size)
    return;
  if (!is_own && !has_label &&
      (marks_raw(search, name) || (is_inside && !is_of_linker(search, name))))
    problem_set(search->found, "the symbol %s of their place", name);
  if (is_raw_address(search, symbol->st_value)) {
    marks->own_name |= has_label;
    marks->other_name |= !has_label;
  }
  if (symbol->st_value != raw->sh_addr)
    return;
  marks->global_name |= is_own && !has_label;
  marks->mark |= !is_inside && marks_end(search, name);
}

/* Whether a section's end may have had a mark that something refers to. */
static bool may_be_marked(const struct image_section *section) {
  const uint32_t type = section->header.sh_type;
  if (type == SHT_RELA || type == SHT_REL || image_is_start_array(section))
    return true;
  return section->name[0] == '_' || isalpha((unsigned char)section->name[0]);
}

/* Looks for marks among the symbols; without these, a section before may have one. But LLVM makes
 * its symbol local: a global one is there to be referred to. A local one is a sign only if the
 * linker has left some unexported symbols global: mold makes them local. */
static void read_symbols(struct search *search, bool has_library) {
  const struct image *image = search->image;
  struct marks marks = {.has_table = false};
  bool follows = false; /* the section's address is another one's end */
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
    if ((header->sh_flags & (SHF_ALLOC | SHF_TLS)) != SHF_ALLOC || header->sh_size == 0 ||
        header->sh_addr + header->sh_size != search->raw->header.sh_addr)
      continue;
    follows = true;
    if (!marks.has_table && may_be_marked(section))
      search->marked = header->sh_addr;
  }
  search->is_fixed = image->header.e_type == ET_EXEC;
  search->is_nameless = marks.own_name && !marks.other_name && marks.globals > marks.exports;
  search->marks_end =
      (marks.mark && !marks.global_name) || (follows && search->is_nameless && has_library);
}

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
        means_raw(search, (uint64_t)relocation.r_addend))
      report_relocation(search, table, relocation.r_offset);
}

static void search_relr(const struct search *search, const struct image_section *table) {
  struct relr_reader reader = relr_open(search->image, &table->header);
  for (uint64_t place, size; relr_next(&reader, &place);) {
    const uint8_t *word = elf_image_at(&search->image->elf_image, place, &size);
    if (!is_raw_address(search, place) && word != NULL && size >= sizeof(uint64_t) &&
        means_raw(search, bits_load64(word)))
      report_relocation(search, table, place);
  }
}

/* Applied relocations that were left in the file: their symbols decide. Those that hold a
 * function's stack maps are exempt: they are of type NONE, 0 for all machines. */
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
    if (ELF64_R_TYPE(relocation.r_info) != 0 &&
        gelf_getsym(symbols, (int)ELF64_R_SYM(relocation.r_info), &symbol) != NULL &&
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
    if (section == search->raw || (header->sh_flags & SHF_ALLOC) == 0 ||
        (header->sh_type != SHT_PROGBITS && !image_is_start_array(section)))
      continue;
    for (uint64_t at = -header->sh_addr & 7; at + 8 <= header->sh_size; at += 8)
      if (number_means_map(search, bits_load64(image->bytes + header->sh_offset + at), EXACTLY))
        problem_set(search->found, "a pointer in %s at 0x%" PRIx64, section->name,
                    header->sh_addr + at);
  }
}

/* ---- Code ---- */

/* The way through a section's code, from its start to its end. */
struct walk {
  const struct code_architecture *architecture;
  const struct image_section *section;
  const uint8_t *bytes;
  struct parts parts;
  uint64_t at; /* of the next instruction, from the start */
  struct code_instruction instruction;
};

/* Decodes the next instruction. False at the end. */
static bool walk_next(struct walk *walk) {
  const Elf64_Shdr *header = &walk->section->header;
  if (walk->at >= header->sh_size)
    return false;
  walk->architecture->decode(walk->bytes + walk->at, header->sh_size - walk->at,
                             header->sh_addr + walk->at, &walk->instruction);
  walk->at += walk->instruction.length;
  assert(walk->instruction.length > 0 && walk->at <= header->sh_size);
  if (walk->architecture->highest != 0)
    parts_follow(&walk->parts, &walk->instruction, NULL, NULL);
  return true;
}

/* Whether an instruction names a map: by its distance, or as a constant. */
static bool names_map(const struct search *search, const struct code_instruction *instruction) {
  bool names =
      instruction->reference != 0 && means_map(search, instruction->reference, MAP_HEADER_SIZE);
  for (unsigned i = 0; i < instruction->constant_count; i++)
    names |= number_means_map(search, instruction->constants[i], MAP_HEADER_SIZE);
  return names;
}

/* Whether an instruction computes on registers, or branches by the result; or has no effect, as
 * where a linker has shortened others. */
static bool only_computes(const struct code_instruction *instruction) {
  return (instruction->kind == CODE_OTHER || instruction->kind == CODE_PADDING ||
          instruction->kind == CODE_BRANCH) &&
         !instruction->may_store && !instruction->is_access &&
         instruction->stack.base == CODE_NO_BASE;
}

/* Whether the decoded instruction begins code that has the stack maps' address as the start and the
 * end of a table, and compares both: two instructions name it, and a branch follows the
 * computation. */
static bool compares_ends(const struct search *search, struct walk walk) {
  enum { NAMES_WITHIN = 3, WITHIN = 11 };
  unsigned names = 0;
  for (unsigned i = 0; i < WITHIN && only_computes(&walk.instruction); i++) {
    names += i < NAMES_WITHIN && names_map(search, &walk.instruction);
    if (walk.instruction.kind == CODE_BRANCH || !walk_next(&walk))
      return names == 2 && walk.instruction.kind == CODE_BRANCH;
  }
  return false;
}

/* Whether an instruction names the start of the section before, whose end may be marked. */
static bool names_start(const struct search *search, const struct code_instruction *instruction) {
  bool names = instruction->reference == search->marked;
  for (unsigned i = 0; i < instruction->constant_count && search->is_fixed; i++)
    names |= instruction->constants[i] == search->marked;
  return names && search->marked != 0;
}

/* Whether the decoded instruction, by the stack maps' address, means the end of the section before:
 * others around it name that section's start, at a distance `since_start` before, or among the next
 * ones. */
static bool means_end(const struct search *search, struct walk walk, uint64_t since_start) {
  enum { WITHIN = 16, BYTES_WITHIN = 64 };
  if (search->marked == 0 ||
      (walk.instruction.reference != search->raw->header.sh_addr && !search->is_fixed))
    return false;
  bool names = since_start < BYTES_WITHIN;
  for (unsigned i = 0; !names && i < WITHIN && walk_next(&walk); i++)
    names = names_start(search, &walk.instruction);
  return names;
}

/* Whether four bytes could be an operand that names an address in the stack maps: the low half of
 * it, or its distance from their end or from the end of an operand after them. `at` is the place of
 * the bytes, `raw` the maps', both as low halves. */
enum { OPERANDS_AFTER_MAX = 8 };
static inline uint32_t may_name(const uint8_t *bytes, uint32_t at, uint32_t raw, uint32_t size) {
  const uint32_t word = bits_load32(bytes), relative = word + at + 4;
  return (word - raw < size) | (relative - raw + OPERANDS_AFTER_MAX < size + OPERANDS_AFTER_MAX);
}

/* The same of a map's header. */
static bool may_name_header(const struct search *search, const uint8_t *bytes, uint64_t at) {
  const uint64_t raw = search->raw->header.sh_addr;
  const uint64_t word = raw + (uint32_t)(bits_load32(bytes) - (uint32_t)raw);
  const uint64_t relative = at + 4 + (uint64_t)(int64_t)(int32_t)bits_load32(bytes);
  bool may = means_map(search, word, MAP_HEADER_SIZE);
  for (uint64_t after = 0; after <= OPERANDS_AFTER_MAX; after++)
    may |= means_map(search, relative + after, MAP_HEADER_SIZE);
  return may;
}

/* The place of the first such four bytes in a section, at or after `from`; the section's size if
 * there are none. Decoding takes a hundred times longer. Consecutive words are tested together, and
 * then those that start a byte, two and three further on: compilers use vectors for that. */
static uint64_t find_place(const struct search *search, const struct image_section *section,
                           uint64_t from) {
  enum { WORDS = 64, BLOCK = WORDS * 4 };
  const uint8_t *bytes = search->image->bytes + section->header.sh_offset;
  const uint64_t size = section->header.sh_size, address = section->header.sh_addr;
  const uint32_t raw = (uint32_t)search->raw->header.sh_addr;
  const uint32_t raw_size = (uint32_t)search->raw->header.sh_size;
  for (uint64_t block = from; block + 4 <= size; block += BLOCK) {
    const uint64_t end = block + BLOCK + 4 <= size ? block + BLOCK : size - 3;
    uint32_t may = end != block + BLOCK;
    for (uint32_t first = 0; may == 0 && first < 4; first++)
      for (uint32_t i = 0; i < WORDS; i++)
        may |= may_name(bytes + block + first + i * 4, (uint32_t)(address + block) + first + i * 4,
                        raw, raw_size);
    for (uint64_t at = block; may != 0 && at < end; at++)
      if (may_name(bytes + at, (uint32_t)(address + at), raw, raw_size) != 0 &&
          may_name_header(search, bytes + at, address + at))
        return at;
  }
  return size;
}

/* Goes to the next instruction that may name a map, and some before it. On x86-64, find_place finds
 * it; on other machines, all may. False: there is none. `place` is the last such place. */
static bool walk_near(const struct search *search, struct walk *walk, uint64_t *place) {
  enum { BEFORE = 4096 };
  if (walk->architecture->highest == 0 && (walk->at > *place || *place == UINT64_MAX)) {
    *place = find_place(search, walk->section, *place + 1);
    if (*place == walk->section->header.sh_size)
      return false;
    if (*place > BEFORE && walk->at < *place - BEFORE)
      walk->at = *place - BEFORE;
  }
  return walk_next(walk);
}

static void search_code(const struct search *search, const struct code_architecture *architecture,
                        const struct image_section *section) {
  struct walk walk = {.architecture = architecture,
                      .section = section,
                      .bytes = search->image->bytes + section->header.sh_offset,
                      .parts = {.global = search->global_pointer,
                                .global_register = architecture->global_register,
                                .is_fixed = search->is_fixed,
                                .is_straight = true}};
  uint64_t clones = UINT64_MAX - CLONES_SIZE; /* where such code begins */
  uint64_t start = UINT64_MAX / 2; /* of code that names the start of the section before */
  uint64_t place = UINT64_MAX;     /* none yet */
  while (search->found->text[0] == 0 && walk_near(search, &walk, &place)) {
    const uint64_t address = section->header.sh_addr + walk.at - walk.instruction.length;
    start = names_start(search, &walk.instruction) ? address : start;
    if (!names_map(search, &walk.instruction) || means_end(search, walk, address - start))
      continue;
    if (compares_ends(search, walk))
      clones = address;
    else if (address - clones >= CLONES_SIZE)
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

bool raw_readers_find(const struct image *image, const struct image_section *raw, bool has_library,
                      struct problem *found) {
  struct search search = {.image = image, .raw = raw, .found = found};
  find_starts(&search);
  read_symbols(&search, has_library);
  search_symbols(&search);
  search_relocations(&search);
  if (search.is_fixed)
    search_words(&search);
  if (found->text[0] == 0)
    search_all_code(&search);
  free(search.starts.items);
  return found->text[0] != 0;
}
