/* raw_names.c - looks for names that help a program to find stack maps, or their reader, at run
 * time.
 *
 * A runtime may open its own file and look for a section `.llvm_stackmaps`, or for LLVM's symbol
 * `__LLVM_StackMaps`. Then the name is in its data, perhaps without a zero after it (Rust's strings
 * follow one another), or in pieces: where a compiler makes code of the comparison, eight bytes of
 * the name are a constant of an instruction, or of a pool. On AArch64, four instructions make such
 * a constant, of 16 bits each:
 *
 *     movabs $0x74735f6d766c6c2e, %rax      mov x8, #0x6c2e; movk x8, #0x766c, lsl #16; ...
 *
 * libstackpack looks for both names, too, but has them in two pieces each (elf/note.h).
 */
#include "tool/check/raw_names.h"

#include "elf/note.h"
#include "format/bits.h"
#include "tool/image/load.h"

#include <inttypes.h>
#include <string.h>

enum { PIECE = 8 }; /* bytes of a name that a constant has */

/* Contents that the program itself may read, apart from the linker's tables. */
static bool is_contents(const struct image_section *section) {
  const Elf64_Shdr *header = &section->header;
  return header->sh_type == SHT_PROGBITS && (header->sh_flags & SHF_ALLOC) != 0 &&
         strcmp(section->name, ".interp") != 0;
}

/* The name as a whole, or its first piece: anywhere in code, in data as an aligned word. NULL if
 * both are absent. */
static const uint8_t *find_name(const struct image *image, const struct image_section *section,
                                const char *name) {
  const Elf64_Shdr *header = &section->header;
  const uint8_t *bytes = image->bytes + header->sh_offset;
  const size_t length = strlen(name);
  const uint8_t *whole = memmem(bytes, header->sh_size, name, length);
  const bool is_code = (header->sh_flags & SHF_EXECINSTR) != 0;
  if (whole != NULL || length <= PIECE)
    return whole;
  for (const uint8_t *at = bytes, *end = bytes + header->sh_size; at < end; at++) {
    at = memmem(at, (size_t)(end - at), name, PIECE);
    if (at == NULL)
      return NULL;
    if (is_code || (header->sh_addr + (uint64_t)(at - bytes)) % PIECE == 0)
      return at;
  }
  return NULL;
}

/* Whether an instruction puts these 16 bits into a register. (Arm Architecture Reference Manual,
 * C6.2, MOVZ and MOVK, of 64 bits) */
static bool moves_bits(uint32_t instruction, uint16_t bits) {
  const uint32_t operation = instruction & 0xff800000;
  return (operation == 0xd2800000 || operation == 0xf2800000) &&
         (instruction >> 5 & 0xffff) == bits;
}

/* The place where AArch64's code makes the first piece of a name. NULL if there is none. */
static const uint8_t *find_moves(const struct image *image, const struct image_section *section,
                                 const char *name) {
  enum { PARTS = 4, WITHIN = 12 };
  const uint8_t *bytes = image->bytes + section->header.sh_offset;
  uint64_t last[PARTS] = {0}; /* 1 + the number of the last instruction with that part */
  for (uint64_t i = 0; (i + 1) * 4 <= section->header.sh_size; i++) {
    bool are_near = true;
    for (unsigned part = 0; part < PARTS; part++) {
      if (moves_bits(bits_load32(bytes + i * 4), bits_load16((const uint8_t *)name + part * 2)))
        last[part] = i + 1;
      are_near &= last[part] != 0 && i + 1 - last[part] < WITHIN;
    }
    if (are_near)
      return bytes + i * 4;
  }
  return NULL;
}

static void find(const struct image *image, const struct image_section *section, const char *name,
                 struct problem *found) {
  const uint8_t *at = find_name(image, section, name);
  if (at == NULL && image->header.e_machine == EM_AARCH64 &&
      (section->header.sh_flags & SHF_EXECINSTR) != 0 && strlen(name) >= PIECE)
    at = find_moves(image, section, name);
  if (at != NULL)
    problem_set(found, "the name %s in %s at 0x%" PRIx64, name, section->name,
                section->header.sh_addr + (uint64_t)(at - image->bytes) -
                    section->header.sh_offset);
}

bool raw_names_find(const struct image *image, const struct image_section *raw, const char *name,
                    struct problem *found) {
  /* Without the dot, as in programs that compare other systems' names, too. */
  const char *const names[] = {RAW_SECTION, &RAW_SECTION[1], "__LLVM_StackMaps",
                               raw->part_of == 0 ? name : NULL};
  EACH_SECTION(image, section)
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
      if (section != raw && is_contents(section) && names[i] != NULL && names[i][0] != 0)
        find(image, section, names[i], found);
  return found->text[0] != 0;
}

/* ---- The library ---- */

static bool needs_library(const struct image *image) {
  for (size_t i = 1; i < image->section_count; i++) {
    const Elf64_Shdr *header = &image->sections[i].header;
    if (header->sh_type != SHT_DYNAMIC)
      continue;
    Elf_Data *data = elf_getdata(elf_getscn(image->elf, i), NULL);
    GElf_Dyn entry;
    for (int n = 0; data != NULL && gelf_getdyn(data, n, &entry) != NULL && entry.d_tag != DT_NULL;
         n++) {
      const char *name = entry.d_tag == DT_NEEDED
                             ? elf_strptr(image->elf, header->sh_link, entry.d_un.d_val)
                             : NULL;
      if (name != NULL && strstr(name, "libstackpack") != NULL)
        return true;
    }
  }
  return false;
}

/* A plug-in imports from the library that its host has. */
static bool imports(const struct image *image) {
  for (struct elf_symbols at = elf_symbols(&image->elf_image); elf_symbols_next(&at);)
    if (at.is_dynamic && at.symbol.st_shndx == SHN_UNDEF && at.name != NULL &&
        strncmp(at.name, "stackpack_", 10) == 0)
      return true;
  return false;
}

static bool names_library(const struct image *image) {
  static const char name[] = "libstackpack";
  EACH_SECTION(image, section)
    if (is_contents(section) && memmem(image->bytes + section->header.sh_offset,
                                       section->header.sh_size, name, sizeof name - 1) != NULL)
      return true;
  return false;
}

static bool has_note(const struct image *image, enum note_type type) {
  struct elf_notes notes = elf_notes(&image->elf_image);
  uint64_t size;
  return elf_notes_next(&notes, type, &size) != NULL;
}

bool raw_names_has_library(const struct image *image) {
  return has_note(image, NOTE_READER) || needs_library(image) || imports(image) ||
         names_library(image);
}

/* ---- Lost stack maps ---- */

/* The code has no sign: calls with values in slots around them are alike with and without
 * statepoints. */
const char *raw_names_lost(const struct image *image) {
  if (raw_names_has_library(image))
    return "its collector asks for some";
  if (has_note(image, NOTE_STATEPOINTS))
    return "a note lists IDs of statepoints";
  for (struct elf_symbols at = elf_symbols(&image->elf_image); elf_symbols_next(&at);)
    if (at.name != NULL && strcmp(at.name, "gc.safepoint_poll") == 0)
      return "gc.safepoint_poll is for statepoints";
    else if (at.name != NULL && strcmp(at.name, "__LLVM_StackMaps") == 0)
      return "a symbol is __LLVM_StackMaps";
  return NULL;
}
