/* debug_limits.h - how much of a file libdwarf may read for debug information.
 *
 * Units refer to tables: of abbreviations (the attributes of each kind of entry) and of lines (with
 * files and their folders). libdwarf reads a unit's tables anew for each unit, goes through an
 * abbreviation for each attribute that it looks for, and joins each file with its folder. So the
 * tables' bytes are counted here before libdwarf reads them: see tool/image/budget.h.
 */
#ifndef STACKPACK_DEBUG_LIMITS_H
#define STACKPACK_DEBUG_LIMITS_H

#include "tool/image/budget.h"
#include "tool/source/debug_object.h"

struct debug_table {
  Dwarf_Debug dwarf;
  uint64_t offset, size;
};

struct debug_limits {
  struct budget ranges, lines, folders, abbreviations;
  struct debug_table last; /* of abbreviations */
  struct problem *problem; /* of a table that is too much; then no more is read */
};

struct debug_limits debug_limits_of(uint64_t size, struct problem *problem);

/* Another file is read, too. */
void debug_limits_add(struct debug_limits *limits, uint64_t size);

/* Counts a unit's abbreviations, whose table is at an offset. */
bool debug_limits_abbreviations(struct debug_limits *limits, Dwarf_Debug dwarf, uint64_t offset);

/* Counts a unit's table of lines. */
bool debug_limits_lines(struct debug_limits *limits, const struct debug_object *object,
                        uint64_t offset);

/* Counts the folders of its files. */
bool debug_limits_folders(struct debug_limits *limits, Dwarf_Line_Context context);

#endif
