/* debug_object.h - a file's debug information, as libdwarf reads it.
 *
 * Debug sections may be compressed, by zlib or Zstandard (SHF_COMPRESSED, or the older names
 * .zdebug_*), and not every libdwarf reads each. So those of such a file are decompressed, into a
 * file in memory that has nothing else.
 */
#ifndef STACKPACK_DEBUG_OBJECT_H
#define STACKPACK_DEBUG_OBJECT_H

#include "tool/image/problem.h"

#include <libdwarf.h>

struct debug_object {
  Dwarf_Debug dwarf; /* NULL: not open */
  int file;          /* libdwarf reads it later on */
};

/* Opens a file; `is_split` for the debug information of a .dwo or .dwp file. */
bool debug_object_open(struct debug_object *object, const char *path, bool is_split,
                       struct problem *problem);
void debug_object_close(struct debug_object *object);

/* For a process that does nothing but read debug information: what a library prints when it breaks
 * down is for nobody, nor is a dump of its memory. */
void debug_object_be_quiet(void);

#endif
