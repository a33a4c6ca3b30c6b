/* raw.c - serves a raw section as if it had been packed.
 *
 * A program that wasn't packed gives the same answers through the same functions: its stack maps are
 * read once and encoded, as `stackpack pack` would, into memory. That costs what every parser of
 * `.llvm_stackmaps` costs, at start-up; and there is one look-up to test, not two.
 *
 * Of a module that is loaded, the maps are read where the loader has put them: the file of its name may
 * be another one by now. But a function that the library exports and the executable defines, too, has
 * the executable's address there; what the maps describe is the library's own code. So the relocations
 * are done once more, with the library's own symbols. What the code contradicts is left out, and where
 * maps are in conflict there is no safepoint, as in what `stackpack pack --conflicts=omit` writes.
 *
 * This file leads to the encoder, and so to half of the library. A linker takes it from the archive for one name only,
 * stackpack_raw_open: a program that defines that itself does without.
 */
#include "elf/elf_image.h"
#include "elf/entries.h"
#include "format/bits.h"
#include "format/packed_write.h"
#include "format/stackmap_v3.h"
#include "runtime/internal.h"

#include <stdlib.h>
#include <string.h>

/* Linkers leave one section of the name, linker scripts a few. Each costs a look at all relocations. */
enum { SECTIONS_MAX = 64 };

static enum stackpack_error encode(const struct safepoints *safepoints, uint64_t bias,
                                   struct stackpack_table *table, void **memory) {
  uint8_t *bytes;
  size_t size;
  if (packed_write(safepoints, 0, NULL, &bytes, &size) != NULL)
    return STACKPACK_NO_MEMORY;
  const enum packed_error error = packed_open(table_of(table), bytes, size, bias);
  if (error != PACKED_OK) {
    free(bytes);
    return table_error(error);
  }
  *memory = bytes;
  return STACKPACK_OK;
}

/* The unwind table's bytes and link-time address: that of the section, or else the one that the
 * program header of its index leads to, whose end isn't known. (LSB, ".eh_frame_hdr") */
static const uint8_t *find_unwind(const struct elf_image *image, uint64_t *address,
                                  uint64_t *size) {
  static const uint8_t version_and_encoding[] = {1, 0x1b}; /* relative to its place, 32 bits */
  Elf64_Shdr section;
  if (image->bytes != NULL && elf_image_find_section(image, ".eh_frame", &section)) {
    *address = section.sh_addr;
    *size = section.sh_size;
    return elf_image_contents(image, &section);
  }
  for (unsigned i = 0; i < image->header.e_phnum; i++) {
    const Elf64_Phdr segment = elf_image_segment(image, i);
    const uint8_t *index =
        segment.p_type == PT_GNU_EH_FRAME ? elf_image_at(image, segment.p_vaddr, size) : NULL;
    if (index == NULL || *size < 8 ||
        memcmp(index, version_and_encoding, sizeof version_and_encoding) != 0)
      continue;
    *address = segment.p_vaddr + 4 + (uint64_t)(int64_t)(int32_t)bits_load32(index + 4);
    return elf_image_at(image, *address, size);
  }
  return NULL;
}

/* What a module's code tells of its stack maps. */
struct evidence {
  struct code code;
  const uint8_t *unwind; /* NULL: there is no unwind table */
  uint64_t unwind_address, unwind_size;
};

/* Finds the code, and where functions end. False without memory. */
static bool find_code(const struct elf_image *image, struct evidence *evidence) {
  struct code *code = &evidence->code;
  *evidence = (struct evidence){.code.machine = machine_find(image->header.e_machine)};
  for (unsigned i = 0; i < image->header.e_phnum; i++) {
    const Elf64_Phdr segment = elf_image_segment(image, i);
    uint64_t size;
    const uint8_t *bytes = segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0
                               ? elf_image_at(image, segment.p_vaddr, &size)
                               : NULL;
    if (bytes != NULL)
      code_add(code, segment.p_vaddr, bytes, size < segment.p_filesz ? size : segment.p_filesz);
  }
  bool ok = elf_image_add_symbols(image, &code->named);
  evidence->unwind = find_unwind(image, &evidence->unwind_address, &evidence->unwind_size);
  if (ok && evidence->unwind != NULL)
    ok = eh_frame_add(&code->unwound, evidence->unwind, evidence->unwind_size,
                      evidence->unwind_address);
  code_ranges_sort(&code->unwound);
  code_ranges_sort(&code->named);
  return ok;
}

/* Leaves out what describes other code, or may do so; puts the rest in order, and tells the functions'
 * ends, first by the unwind table, then by the symbols. False without memory. */
static bool finish(struct safepoints *safepoints, const struct evidence *evidence) {
  const struct code *code = &evidence->code;
  struct entries entries = {0};
  const bool ok = (evidence->unwind == NULL ||
                   eh_frame_tell_frames(safepoints, code->machine, evidence->unwind,
                                        evidence->unwind_size, evidence->unwind_address)) &&
                  entries_check(safepoints, code, &entries) && safepoints_finish(safepoints);
  if (ok) {
    safepoints_set_ends(safepoints, code->unwound.items, code->unwound.count);
    safepoints_set_ends(safepoints, code->named.items, code->named.count);
    safepoints_close_gaps(safepoints, &code->unwound, &code->named);
    entries_extend(safepoints, &entries);
  }
  entries_free(&entries);
  return ok;
}

/* Takes the bias out of the functions' addresses. (What can't be read will be noticed later.) */
static void take_out_bias(uint8_t *bytes, size_t size, uint64_t bias) {
  struct stackmap_v3_reader reader = stackmap_v3_open(bytes, size);
  struct stackmap_v3_function function;
  struct stackmap_v3_record record;
  while (stackmap_v3_next_map(&reader))
    while (stackmap_v3_next_function(&reader, &function)) {
      const uint64_t address = function.address == 0 ? 0 : function.address - bias;
      memcpy(bytes + function.position, &address, sizeof address);
      for (uint64_t i = 0; i < function.records && stackmap_v3_next_record(&reader, &record); i++)
        ;
    }
}

static enum stackpack_error read_section(const struct elf_image *image, const Elf64_Shdr *section,
                                         const struct code *code, struct safepoints *safepoints) {
  const struct statepoint_signs signs = {STATEPOINTS_AUTO, code_may_return_to, code};
  uint32_t unknown;
  const uint8_t *contents = elf_image_contents(image, section);
  if (contents == NULL)
    return STACKPACK_BAD_STACK_MAP;
  uint8_t *bytes = malloc(section->sh_size + 1);
  if (bytes == NULL)
    return STACKPACK_NO_MEMORY;
  memcpy(bytes, contents, section->sh_size);
  if (image->bias != 0)
    take_out_bias(bytes, section->sh_size, image->bias);
  const bool ok = elf_image_relocate(image, section, bytes, &unknown) &&
                  safepoints_add_v3(safepoints, bytes, section->sh_size, &signs);
  free(bytes);
  if (ok)
    return STACKPACK_OK;
  return safepoints->no_memory ? STACKPACK_NO_MEMORY : STACKPACK_BAD_STACK_MAP;
}

static bool has_all_ends(const struct safepoints *safepoints) {
  for (uint32_t i = 0; i < safepoints->function_count; i++)
    if (safepoints->functions[i].end == 0)
      return false;
  return true;
}

/* Reads all sections of the name: a linker script may leave several. */
static enum stackpack_error read_sections(const struct elf_image *image, const struct code *code,
                                          struct safepoints *safepoints) {
  Elf64_Shdr section = {0};
  unsigned sections = 0;
  for (unsigned number = 0; raw_next(image, &number, &section); sections++) {
    const enum stackpack_error error = sections < SECTIONS_MAX
                                           ? read_section(image, &section, code, safepoints)
                                           : STACKPACK_BAD_STACK_MAP;
    if (error != STACKPACK_OK)
      return error;
  }
  return STACKPACK_OK;
}

static enum stackpack_error read(const struct elf_image *image, struct safepoints *safepoints) {
  struct evidence evidence;
  enum stackpack_error error = STACKPACK_NO_MEMORY;
  if (find_code(image, &evidence))
    error = read_sections(image, &evidence.code, safepoints);
  if (error == STACKPACK_OK && !finish(safepoints, &evidence))
    error = STACKPACK_NO_MEMORY;
  /* Symbols that only the file has might tell an end. */
  if (error == STACKPACK_OK && image->bytes == NULL && !has_all_ends(safepoints))
    error = STACKPACK_SYSTEM_ERROR;
  code_free(&evidence.code);
  return error;
}

enum stackpack_error stackpack_raw_open(struct stackpack_table *table, const void *module,
                                        void **memory) {
  const struct elf_image *image = module;
  struct safepoints safepoints = {.machine = image->header.e_machine};
  enum stackpack_error error = read(image, &safepoints);
  if (error == STACKPACK_OK)
    error = encode(&safepoints, image->bias, table, memory);
  safepoints_free(&safepoints);
  return error;
}
