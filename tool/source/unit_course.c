/* unit_course.c - see unit_course.h. */
#include "tool/source/unit_course.h"

#include <stddef.h>

bool unit_course_next(struct unit_course *course, Dwarf_Sig8 *id) {
  Dwarf_Unsigned header_length, type_offset, next;
  Dwarf_Half version, address_size, length_size, extension_size, type;
  Dwarf_Off abbreviations;
  *id = (Dwarf_Sig8){{0}};
  const bool ok = dwarf_next_cu_header_d(course->dwarf, 1, &header_length, &version, &abbreviations,
                                         &address_size, &length_size, &extension_size, id,
                                         &type_offset, &next, &type, NULL) == DW_DLV_OK;
  course->start = ok ? course->end : 0;
  course->end = ok ? next : 0;
  course->abbreviations = ok ? abbreviations : 0;
  return ok;
}

void unit_course_go_to(struct unit_course *course, uint64_t offset) {
  Dwarf_Sig8 id;
  if (offset < course->start)
    while (unit_course_next(course, &id)) {
    }
  while (course->end <= offset && unit_course_next(course, &id)) {
  }
}
