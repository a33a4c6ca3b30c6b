/* debug_entry.h - an entry of debug information (a DIE): its attributes, and the spans of its code.
 *
 * The addresses of an entry of split DWARF are in another file: the entry has numbers, and the
 * program has a table of addresses for them, a part of a unit there, the skeleton. So the context
 * has the first entry of that unit, and addresses are asked of it. (libdwarf can tie the two files,
 * but its version of 2021 then takes a split unit's texts from another one's.)
 */
#ifndef STACKPACK_DEBUG_ENTRY_H
#define STACKPACK_DEBUG_ENTRY_H

#include "tool/source/debug_limits.h"
#include "tool/source/entry_names.h"
#include "tool/source/range_tables.h"
#include "tool/source/spans.h"

#include <libdwarf.h>
#include <stdbool.h>

/* The unit that entries belong to, in the program's own debug information. */
struct debug_context {
  Dwarf_Debug dwarf;
  Dwarf_Debug entries; /* has the entries: of a split unit another one */
  struct entry_names *names;
  Dwarf_Die unit;                   /* its first entry */
  Dwarf_Half version;               /* of DWARF */
  uint64_t low_address;             /* the base of offsets */
  const struct range_tables *lists; /* of `entries` */
  uint64_t ranges_base; /* of numbered lists, DWARF 5; or of split entries' ranges, DWARF 4 */
  struct debug_limits *limits;
};
struct debug_context debug_context_of(Dwarf_Debug dwarf, Dwarf_Die unit);

/* A number; false if the entry has none. */
bool debug_entry_number(Dwarf_Die die, Dwarf_Half attribute, uint64_t *value);
/* A text, owned by libdwarf; NULL if the entry has none. */
const char *debug_entry_text(Dwarf_Die die, Dwarf_Half attribute);
/* The offset of the entry that an attribute refers to; false if there is none. *dwarf has the
 * entry, and becomes the one that has the other: `shared`, perhaps. */
bool debug_entry_reference(Dwarf_Debug shared, Dwarf_Die die, Dwarf_Half attribute,
                           Dwarf_Debug *dwarf, uint64_t *offset);

/* Adds the spans of an entry's code. */
void debug_entry_spans(const struct debug_context *context, Dwarf_Die die, struct spans *spans,
                       uint32_t item);

#endif
