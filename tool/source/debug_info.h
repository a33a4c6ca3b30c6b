/* debug_info.h - where an instruction comes from: file, line and inlined functions, by DWARF.
 *
 * Debug information is divided into units, one for each source file that was compiled. A few words
 * at each unit's start have its addresses; these are read at once. All else of a unit, its table of
 * lines and its functions, is read when the first of its addresses is asked for: a listing begins
 * at once, however large the program is.
 *
 * With split DWARF (clang -gsplit-dwarf), the functions of a unit are in a file of its own, .dwo.
 */
#ifndef STACKPACK_DEBUG_INFO_H
#define STACKPACK_DEBUG_INFO_H

#include "tool/image/problem.h"

#include <stddef.h>
#include <stdint.h>

/* One of the functions that an instruction is part of. */
struct source_frame {
  const char *function;  /* the linker's name; NULL: unknown */
  const char *file;      /* NULL: unknown */
  uint64_t line, column; /* of the instruction, or of the call that was replaced by the function
                            inlined here; 0: unknown */
};

/* The frames of an instruction, from the innermost inlined function to the one that contains them;
 * until the next ones are found. */
enum { SOURCE_FRAMES_MOST = 512 }; /* more than a compiler makes */
struct source_frames {
  struct source_frame *items;
  size_t count;       /* 0: unknown */
  const char *folder; /* in which the unit was compiled; NULL: unknown */
};

struct debug_info;

/* Opens the debug information in a file. NULL if it is unusable: then *problem has the reason. Both
 * last until the process ends: *problem also gets the faults that are found later. */
struct debug_info *debug_info_open(const char *path, struct problem *problem);

/* Reads the units of many addresses, before these are found one by one: in the units' order, which
 * is faster. */
void debug_info_read(struct debug_info *info, const uint64_t *addresses, size_t count);

/* Finds the frames of an address. */
void debug_info_find(struct debug_info *info, uint64_t address, struct source_frames *frames);

/* The path of the source file of the unit that has an address, without "." and ".."; NULL: unknown.
 * It reads only this of the unit, unless the unit's functions are in another file. */
const char *debug_info_find_unit(struct debug_info *info, uint64_t address);

/* The path of the first split debug information that was wanted and unreadable; NULL: none so
 * far. */
const char *debug_info_missing(const struct debug_info *info);

#endif
