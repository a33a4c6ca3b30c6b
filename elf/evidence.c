/* evidence.c - see evidence.h. */
#include "elf/evidence.h"

#include "elf/note.h"
#include "format/bits.h"

#include <stdlib.h>
#include <string.h>

/* Finds the unwind table: the section; or, without section headers, the table that its index (by
 * the program header) points to, with an unknown end. (LSB, ".eh_frame_hdr") */
static struct section_bytes find_unwind(const struct elf_image *image) {
  static const uint8_t version_and_encoding[] = {1, 0x1b}; /* relative to its place, 32 bits */
  struct section_bytes found = {0};
  Elf64_Shdr section;
  uint64_t size;
  if (image->bytes != NULL && elf_image_find_section(image, ".eh_frame", &section))
    return (struct section_bytes){elf_image_contents(image, &section), section.sh_size,
                                  section.sh_addr};
  if (image->loaded == NULL && image->header.e_shnum > 0)
    return found;
  for (unsigned i = 0; i < image->header.e_phnum && found.bytes == NULL; i++) {
    const Elf64_Phdr segment = elf_image_segment(image, i);
    const uint8_t *index =
        segment.p_type == PT_GNU_EH_FRAME ? elf_image_at(image, segment.p_vaddr, &size) : NULL;
    if (index == NULL || size < 8 ||
        memcmp(index, version_and_encoding, sizeof version_and_encoding) != 0)
      continue;
    found.address = segment.p_vaddr + 4 + (uint64_t)(int64_t)(int32_t)bits_load32(index + 4);
    found.bytes = elf_image_at(image, found.address, &size);
    if (found.bytes != NULL)
      found.size = eh_frame_size(found.bytes, size);
  }
  return found;
}

/* Reads the IDs of statepoints from the program's notes. False without memory. */
static bool find_ids(struct statepoint_ids *ids, const struct elf_image *image) {
  struct elf_notes notes = elf_notes(image);
  uint64_t size;
  for (const uint8_t *range; (range = elf_notes_next(&notes, NOTE_STATEPOINTS, &size)) != NULL;)
    for (; size >= 16; range += 16, size -= 16)
      if (!statepoint_ids_add(ids, bits_load64(range), bits_load64(range + 8)))
        return false;
  statepoint_ids_sort(ids);
  return true;
}

struct statepoint_signs evidence_signs(const struct evidence *evidence) {
  const struct machine *machine = evidence->code.machine;
  return (struct statepoint_signs){
      .rule = STATEPOINTS_AUTO,
      .may_return_to = code_may_return_to,
      .code = &evidence->code,
      .ids = &evidence->ids,
      .stack_pointer =
          machine != NULL && machine->maps_have_frame_pointer ? machine->stack_pointer : 0};
}

bool evidence_find(struct evidence *evidence, const struct elf_image *image) {
  struct code *code = &evidence->code;
  *evidence = (struct evidence){.code.machine = machine_find(image->header.e_machine),
                                .unwind = find_unwind(image)};
  bool ok = true;
  for (unsigned i = 0; i < image->header.e_phnum; i++) {
    const Elf64_Phdr segment = elf_image_segment(image, i);
    uint64_t size;
    const uint8_t *bytes = segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0
                               ? elf_image_at(image, segment.p_vaddr, &size)
                               : NULL;
    if (bytes != NULL)
      ok &=
          code_add(code, segment.p_vaddr, bytes, size < segment.p_filesz ? size : segment.p_filesz);
  }
  ok = ok && find_ids(&evidence->ids, image) && elf_image_add_symbols(image, &code->named) &&
       eh_frame_add(&code->unwound, &evidence->unwind);
  code_sort(code);
  return ok;
}

void evidence_free(struct evidence *evidence) {
  code_free(&evidence->code);
  free(evidence->ids.items);
}

bool evidence_finish(const struct evidence *evidence, struct safepoints *table,
                     struct map_entries *entries) {
  return (evidence->unwind.bytes == NULL ||
          eh_frame_tell_frames(table, &evidence->code, &evidence->unwind)) &&
         map_entries_finish(table, &evidence->code, entries);
}
