/* raw.c - serves a raw section as if it had been packed.
 *
 * A program that wasn't packed gives the same answers through the same functions: its stack maps are
 * read once and encoded, as `stackpack pack` would, into memory. That costs what every parser of
 * `.llvm_stackmaps` costs, at start-up; and there is one look-up to test, not two.
 *
 * They are read from the file, not from where the loader has put them. In memory, a function that the
 * library exports and the executable defines, too, has the executable's address in the library's
 * stack maps; what these describe is the library's own code.
 */
#include "elf/elf_image.h"
#include "format/packed_write.h"
#include "runtime/internal.h"

#include <stdlib.h>
#include <string.h>

static const char section_name[] = ".llvm_stackmaps";

bool raw_find(const struct elf_image *image, Elf64_Shdr *section) {
  return elf_image_find_section(image, section_name, section);
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

/* Tells the functions' ends, first by the unwind table, then by the symbols. False without memory. */
static bool set_ends(const struct elf_image *image, struct safepoints *safepoints) {
  struct code_ranges unwound = {0}, named = {0};
  Elf64_Shdr unwind;
  bool ok = elf_image_add_symbols(image, &named);
  const bool has_unwind = elf_image_find_section(image, ".eh_frame", &unwind);
  if (ok && has_unwind)
    ok = eh_frame_add(&unwound, image->bytes + unwind.sh_offset, unwind.sh_size, unwind.sh_addr);
  code_ranges_sort(&unwound);
  code_ranges_sort(&named);
  safepoints_set_ends(safepoints, unwound.items, unwound.count);
  safepoints_set_ends(safepoints, named.items, named.count);
  safepoints_close_gaps(safepoints, &unwound, &named);
  if (ok && has_unwind)
    ok = eh_frame_tell_frames(safepoints, image->bytes + unwind.sh_offset, unwind.sh_size,
                              unwind.sh_addr);
  code_ranges_free(&unwound);
  code_ranges_free(&named);
  return ok;
}

static enum stackpack_error read_section(const struct elf_image *image, const Elf64_Shdr *section,
                                         struct safepoints *safepoints) {
  uint32_t unknown;
  if (!elf_image_has_bytes(image, section))
    return STACKPACK_BAD_STACK_MAP;
  uint8_t *bytes = malloc(section->sh_size + 1);
  if (bytes == NULL)
    return STACKPACK_NO_MEMORY;
  memcpy(bytes, image->bytes + section->sh_offset, section->sh_size);
  const bool ok = elf_image_relocate(image, section, bytes, &unknown) &&
                  safepoints_add_v3(safepoints, bytes, section->sh_size, STATEPOINTS_AUTO);
  free(bytes);
  if (ok)
    return STACKPACK_OK;
  return safepoints->no_memory ? STACKPACK_NO_MEMORY : STACKPACK_BAD_STACK_MAP;
}

/* Reads all sections of the name: a linker script may leave several. */
static enum stackpack_error read(const struct elf_image *image, struct safepoints *safepoints) {
  Elf64_Shdr section;
  for (unsigned number = 0; elf_image_next_section(image, section_name, &number, &section);) {
    const enum stackpack_error error = read_section(image, &section, safepoints);
    if (error != STACKPACK_OK)
      return error;
  }
  return safepoints_finish(safepoints) && set_ends(image, safepoints) ? STACKPACK_OK
                                                                      : STACKPACK_NO_MEMORY;
}

enum stackpack_error raw_open(struct stackpack_table *table, const struct elf_image *image,
                              uint64_t bias, void **memory) {
  struct safepoints safepoints = {0};
  enum stackpack_error error = read(image, &safepoints);
  if (error == STACKPACK_OK)
    error = encode(&safepoints, bias, table, memory);
  safepoints_free(&safepoints);
  return error;
}
