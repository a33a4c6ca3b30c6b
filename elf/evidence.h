/* evidence.h - checks raw stack maps by the code of a file or a loaded module.
 *
 * The runtime (with libc only) and the command read raw stack maps alike: first they find the code
 * and its functions; then they read the maps (format/safepoints.h), and distinguish statepoints
 * from other records by the code; then they leave out entries that the code contradicts
 * (map_entries.h), add the frames from the unwind table, and sort the records.
 */
#ifndef STACKPACK_EVIDENCE_H
#define STACKPACK_EVIDENCE_H

#include "elf/elf_image.h"
#include "elf/map_entries.h"

/* The sections of stack maps that one file may have: linkers leave one, linker scripts a few. Each
 * costs a look at all relocations. */
enum { RAW_SECTIONS_MAX = 64 };

struct evidence {
  struct code code;
  struct section_bytes unwind; /* .eh_frame, or empty */
  struct statepoint_ids ids;   /* from the program's notes (note.h) */
};

/* Finds an image's code. False if memory runs out; evidence_free in any case. */
bool evidence_find(struct evidence *evidence, const struct elf_image *image);
void evidence_free(struct evidence *evidence);

/* The signs of statepoints for the image's stack maps: by the rule STATEPOINTS_AUTO, with the IDs
 * that the program lists. */
struct statepoint_signs evidence_signs(const struct evidence *evidence);

/* Finishes a table with all of the image's stack maps. False if memory runs out. */
bool evidence_finish(const struct evidence *evidence, struct safepoints *table,
                     struct map_entries *entries);

#endif
