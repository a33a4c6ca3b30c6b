/* raw.c - serves a raw section as if it had been packed.
 *
 * A program that wasn't packed gives the same answers through the same functions: its stack maps are
 * read once and encoded, as `stackpack pack` would, into memory. That costs what every parser of
 * `.llvm_stackmaps` costs, at start-up; and there is one look-up to test, not two.
 *
 * Of a module that is loaded, the maps are read where the loader has put them: the file of its name may
 * be another one by now. But a function that the library exports and the executable defines, too, has
 * the executable's address there; what the maps describe is the library's own code. So the relocations
 * are done once more, with the library's own symbols.
 */
#include "elf/elf_image.h"
#include "format/bits.h"
#include "format/packed_write.h"
#include "format/stackmap_v3.h"
#include "runtime/internal.h"

#include <stdlib.h>
#include <string.h>

/* Linkers leave one section of the name, linker scripts a few. Each costs a look at all relocations. */
enum { SECTIONS_MAX = 64 };

bool raw_next(const struct elf_image *image, unsigned *number, Elf64_Shdr *section) {
  if (image->bytes == NULL)
    return raw_search(image, section);
  while (elf_image_next_section(image, ".llvm_stackmaps", number, section))
    if (section->sh_type != SHT_NOBITS &&
        (image->loaded == NULL || (section->sh_flags & SHF_ALLOC) != 0))
      return true;
  return false;
}

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

/* Tells the functions' ends, first by the unwind table, then by the symbols. False without memory. */
static bool set_ends(const struct elf_image *image, struct safepoints *safepoints) {
  struct code_ranges unwound = {0}, named = {0};
  uint64_t address, size;
  bool ok = elf_image_add_symbols(image, &named);
  const uint8_t *unwind = find_unwind(image, &address, &size);
  if (ok && unwind != NULL)
    ok = eh_frame_add(&unwound, unwind, size, address);
  code_ranges_sort(&unwound);
  code_ranges_sort(&named);
  safepoints_set_ends(safepoints, unwound.items, unwound.count);
  safepoints_set_ends(safepoints, named.items, named.count);
  safepoints_close_gaps(safepoints, &unwound, &named);
  if (ok && unwind != NULL)
    ok = eh_frame_tell_frames(safepoints, unwind, size, address);
  code_ranges_free(&unwound);
  code_ranges_free(&named);
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
                                         struct safepoints *safepoints) {
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
                  safepoints_add_v3(safepoints, bytes, section->sh_size, STATEPOINTS_AUTO);
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
static enum stackpack_error read(const struct elf_image *image, struct safepoints *safepoints) {
  Elf64_Shdr section = {0};
  unsigned sections = 0;
  for (unsigned number = 0; raw_next(image, &number, &section); sections++) {
    const enum stackpack_error error = sections < SECTIONS_MAX
                                           ? read_section(image, &section, safepoints)
                                           : STACKPACK_BAD_STACK_MAP;
    if (error != STACKPACK_OK)
      return error;
  }
  if (!safepoints_finish(safepoints) || !set_ends(image, safepoints))
    return STACKPACK_NO_MEMORY;
  /* Symbols that only the file has might tell an end. */
  return image->bytes != NULL || has_all_ends(safepoints) ? STACKPACK_OK : STACKPACK_SYSTEM_ERROR;
}

enum stackpack_error raw_open(struct stackpack_table *table, const struct elf_image *image,
                              void **memory) {
  struct safepoints safepoints = {0};
  enum stackpack_error error = read(image, &safepoints);
  if (error == STACKPACK_OK)
    error = encode(&safepoints, image->bias, table, memory);
  safepoints_free(&safepoints);
  return error;
}
