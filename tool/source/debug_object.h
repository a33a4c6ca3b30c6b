/* debug_object.h - a file's debug information, as libdwarf reads it.
 *
 * Debug sections may be compressed by zlib or Zstandard (SHF_COMPRESSED), and some versions of
 * libdwarf lack one or both. Then libdwarf gets a copy of the file in memory, with the decompressed
 * sections at its end.
 *
 * Entries and texts that several programs have may be in a file of their own, made by dwz -m and
 * named in the section .gnu_debugaltlink.
 */
#ifndef STACKPACK_DEBUG_OBJECT_H
#define STACKPACK_DEBUG_OBJECT_H

#include "tool/image/problem.h"
#include "tool/source/range_tables.h"

#include <libdwarf.h>
#include <libelf.h>
#include <stdint.h>

struct debug_object {
  Dwarf_Debug dwarf;    /* NULL: not open */
  int file;             /* libdwarf reads it later on */
  uint64_t size;        /* of this file */
  Elf *elf;             /* the same file */
  const uint8_t *lines; /* its section .debug_line; NULL: none */
  size_t lines_size;
  struct range_tables lists;
  Dwarf_Debug shared; /* of the entries that dwz moved to another file; NULL: none */
  int shared_file;
};

/* Opens a file; `is_split` for the debug information of a .dwo file. Refuses sections that say
 * they are larger than debug information can be in earnest. */
bool debug_object_open(struct debug_object *object, const char *path, bool is_split,
                       struct problem *problem);
void debug_object_close(struct debug_object *object);

#endif
