/* entry_names.h - the names of entries of debug information (DIEs).
 *
 * A nameless entry is an instance or a definition of another one, which has the name, or refers to
 * yet another, in any unit. So entries that are referred to are read together, in their order (see
 * unit_course.h); and each is read once, as its name may be long.
 */
#ifndef STACKPACK_SOURCE_ENTRY_NAMES_H
#define STACKPACK_SOURCE_ENTRY_NAMES_H

#include "format/intern.h"
#include "tool/source/unit_course.h"

#include <stddef.h>
#include <stdint.h>

/* A name, which several entries may have. It lasts until the process ends. */
struct entry_name;

struct wanted_name;

struct entry_names {
  struct unit_course own, shared;
  bool is_closed;            /* `own` will be, before the process ends */
  struct intern referred;    /* entries whose names are wanted, by offset or by others, */
  struct entry_name **names; /* and these; the array is owned */
  size_t name_count, name_capacity;
  struct wanted_name *wanted; /* of these, the ones yet to be read; owned */
  size_t wanted_count, wanted_capacity;
};

/* Of entries in `dwarf`, which may refer to others in `shared`, or NULL. */
struct entry_names entry_names_of(Dwarf_Debug dwarf, Dwarf_Debug shared, bool is_closed);
void entry_names_free(struct entry_names *names);

/* The name of an entry, or of the one at an offset: the linker's, if it has that. The text is there
 * after entry_names_read. */
const struct entry_name *entry_name_of(struct entry_names *names, Dwarf_Die die);
const struct entry_name *entry_name_at(struct entry_names *names, uint64_t offset);

/* Reads the entries that were wanted since the last time. */
void entry_names_read(struct entry_names *names);

/* A name's text; NULL: unknown. */
const char *entry_name_text(const struct entry_name *name);

#endif
