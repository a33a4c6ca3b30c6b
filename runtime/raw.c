/* raw.c - serves a raw section as if it had been packed.
 *
 * An unpacked program gives the same answers through the same functions: its stack maps are read
 * once and encoded, as `stackpack pack` would, into memory. At start-up that costs as much as every
 * parser of `.llvm_stackmaps`; and there is only one look-up to test.
 *
 * Of a module that is loaded, the maps are read where the loader has put them: the file of its name
 * may be another one by now. But a function that the library exports and the executable defines,
 * too, has the executable's address there; the maps describe the library's own code. So the
 * relocations are done once more, with the library's own symbols. Entries that the code contradicts
 * are left out, and where maps are in conflict there is no safepoint, as in the output of
 * `stackpack pack --conflicts=omit`.
 *
 * This file needs the encoder, and so half of the library. A linker takes it from the archive for
 * one name only, stackpack_raw_open: a program that defines that itself does without.
 */
#include "elf/evidence.h"
#include "format/stackmap_v3.h"
#include "runtime/raw_encode.h"

#include <string.h>

/* A copy of a section, without the bias in its functions' addresses. */
static uint8_t *copy_of(const struct elf_image *image, const uint8_t *contents,
                        const Elf64_Shdr *section) {
  uint8_t *bytes = malloc(section->sh_size + 1);
  if (bytes == NULL)
    return NULL;
  memcpy(bytes, contents, section->sh_size);
  if (image->bias != 0)
    stackmap_v3_move(bytes, section->sh_size, -image->bias, true);
  return bytes;
}

/* The maps of most programs at fixed addresses are read in place; others' addresses change in a
 * copy. */
static enum stackpack_error read_section(const struct elf_image *image, const Elf64_Shdr *section,
                                         const struct evidence *evidence,
                                         struct safepoints *safepoints) {
  const struct statepoint_signs signs = evidence_signs(evidence);
  uint32_t unknown;
  const uint8_t *contents = elf_image_contents(image, section);
  if (contents == NULL)
    return STACKPACK_BAD_STACK_MAP;
  uint8_t *copy = NULL;
  if (image->bias != 0 || elf_image_is_relocated(image, section)) {
    copy = copy_of(image, contents, section);
    if (copy == NULL)
      return STACKPACK_NO_MEMORY;
  }
  const bool ok =
      (copy == NULL || elf_image_relocate(image, section, copy, &unknown)) &&
      safepoints_add_v3(safepoints, copy != NULL ? copy : contents, section->sh_size, &signs);
  free(copy);
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
static enum stackpack_error read_sections(const struct elf_image *image,
                                          const struct evidence *evidence,
                                          struct safepoints *safepoints) {
  Elf64_Shdr section = {0};
  unsigned sections = 0;
  for (unsigned number = 0; raw_next(image, &number, &section); sections++) {
    const enum stackpack_error error = sections < RAW_SECTIONS_MAX
                                           ? read_section(image, &section, evidence, safepoints)
                                           : STACKPACK_BAD_STACK_MAP;
    if (error != STACKPACK_OK)
      return error;
  }
  return STACKPACK_OK;
}

static enum stackpack_error read(const struct elf_image *image, struct safepoints *safepoints) {
  struct evidence evidence;
  struct map_entries entries = {0};
  enum stackpack_error error = STACKPACK_NO_MEMORY;
  if (evidence_find(&evidence, image))
    error = read_sections(image, &evidence, safepoints);
  if (error == STACKPACK_OK && !evidence_finish(&evidence, safepoints, &entries))
    error = STACKPACK_NO_MEMORY;
  /* Symbols in the file only might have an end. */
  if (error == STACKPACK_OK && image->bytes == NULL && !has_all_ends(safepoints))
    error = STACKPACK_SYSTEM_ERROR;
  map_entries_free(&entries);
  evidence_free(&evidence);
  return error;
}

enum stackpack_error stackpack_raw_open(struct stackpack_table *table, const void *module,
                                        void **memory) {
  const struct elf_image *image = module;
  struct safepoints safepoints = {.machine = image->header.e_machine};
  enum stackpack_error error = read(image, &safepoints);
  if (error == STACKPACK_OK)
    error = raw_encode(&safepoints, image->bias, table, memory);
  safepoints_free(&safepoints);
  return error;
}
