/* debug_info.h - where instructions come from, as libdw (elfutils) reads a program's debug information.
 *
 * Debug information is divided into units, one for each source file that was compiled. The addresses
 * of each unit's code are read at once. All else of a unit, its functions and its table of lines, is
 * read when the first of its addresses is asked for: a listing begins at once, however large the
 * program is. With split DWARF (clang -gsplit-dwarf) the functions are in other files (.dwo, or one
 * .dwp for all); libdw finds them, and one that is missing costs its unit's inlined functions, which
 * is said.
 */
#ifndef STACKPACK_DEBUG_INFO_H
#define STACKPACK_DEBUG_INFO_H

#include "tool/image/problem.h"

#include <stddef.h>
#include <stdint.h>

/* One of the functions that an instruction is part of. */
struct source_frame {
  const char *function;  /* as the linker knows it; NULL: not told */
  const char *file;      /* NULL: not told */
  uint64_t line, column; /* of the instruction, or of the call that was replaced by the function
                            inlined here; 0: not told */
};

/* The frames of an instruction, from the innermost inlined function to the one that is none. */
struct source_frames {
  const struct source_frame *items; /* until the next ones are found */
  size_t count;                     /* 0: nothing is known */
};

struct debug_info;

/* Opens the debug information in a file. NULL if it can't be used: then *problem says why. */
struct debug_info *debug_info_open(const char *path, struct problem *problem);

/* Finds the frames of an address. False without memory. */
bool debug_info_find(struct debug_info *info, uint64_t address, struct source_frames *found);

/* Finds the unit that has an address, as one frame with the path of its source file, without "." and
 * "..". */
bool debug_info_find_unit(struct debug_info *info, uint64_t address, struct source_frames *found);

/* A path that couldn't be found, of a unit's split debug information; NULL: all that were needed
 * could. Tells each once. */
const char *debug_info_missing(struct debug_info *info);

#endif
