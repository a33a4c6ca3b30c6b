/* unit_course.h - libdwarf's way through the units of debug information.
 *
 * For an entry at an offset, libdwarf looks through all units: from the one on that it is at, and
 * then from the first one on. So who wants many entries wants them in their order, and goes to the
 * unit of each.
 */
#ifndef STACKPACK_SOURCE_UNIT_COURSE_H
#define STACKPACK_SOURCE_UNIT_COURSE_H

#include <libdwarf.h>
#include <stdbool.h>
#include <stdint.h>

/* It is at the unit at [start, end) of .debug_info; at its opening, at [0, 0). */
struct unit_course {
  Dwarf_Debug dwarf; /* NULL: none */
  uint64_t start, end;
  uint64_t abbreviations; /* where the unit's table of them is */
};

/* Of one that may be at any unit. */
static inline struct unit_course unit_course_of(Dwarf_Debug dwarf) {
  return (struct unit_course){dwarf, UINT64_MAX, UINT64_MAX, 0};
}

/* Goes to the next unit. After the last one it is false, and the first one is next. *id: a split
 * unit's, by its header, or zeros. */
bool unit_course_next(struct unit_course *course, Dwarf_Sig8 *id);

/* Goes to the unit of an offset, if there is one. */
void unit_course_go_to(struct unit_course *course, uint64_t offset);

#endif
