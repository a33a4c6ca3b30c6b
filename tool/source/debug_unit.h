/* debug_unit.h - the lines and functions of one unit of debug information. They stay in memory
 * until the reader's process ends. */
#ifndef STACKPACK_DEBUG_UNIT_H
#define STACKPACK_DEBUG_UNIT_H

#include "tool/source/debug_entry.h"
#include "tool/source/debug_info.h"
#include "tool/source/debug_object.h"

/* A function; or one that was inlined, and the place of the call that was replaced by it. Places
 * are frames without a function, and their files the unit's. */
struct debug_scope {
  uint64_t entry;                /* its offset, */
  const struct entry_name *name; /* and the linker's name; NULL: not wanted so far */
  uint32_t parent; /* the scope that it's inlined into; SPANS_NONE: it's a function itself */
  struct source_frame call;
};

struct debug_files {
  char **paths; /* owned, and so are the texts; an unknown one is NULL */
  size_t count;
};

struct debug_unit {
  Dwarf_Die die;       /* its first entry: libdwarf would go through all units to find it */
  Dwarf_Sig8 split_id; /* of a unit whose functions are in a file of their own */
  bool is_loaded;
  char *path;         /* see debug_info_find_unit; owned; NULL: unwanted, or unknown */
  const char *folder; /* in which it was compiled; NULL: unknown */
  struct debug_files files;
  struct debug_files split_files; /* of split entries; empty if they use the unit's */
  struct source_frame *rows;      /* of the table of lines */
  size_t row_count, row_capacity;
  struct spans row_spans;
  struct debug_scope *scopes;
  size_t scope_count, scope_capacity;
  struct spans scope_spans;
};

/* Reads the lines of a unit. */
void debug_unit_read_lines(struct debug_unit *unit, const struct debug_object *object,
                           struct debug_limits *limits);

/* Reads the functions that are in an entry: the unit's own, or the split one, and then the files
 * that its entries refer to. */
void debug_unit_read_scopes(struct debug_unit *unit, const struct debug_context *context,
                            Dwarf_Die die);

#endif
