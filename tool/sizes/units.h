/* units.h - which compilation unit a function is of.
 *
 * Debug information tells: each compilation unit has a table of lines, whose sequences say which
 * addresses are the unit's. Without it the symbol table does, for most functions: a linker puts the
 * local symbols of each object file behind a symbol with the source file's name (gABI, "Symbol
 * Table", STT_FILE). A global function isn't there, but linkers leave the code of one object file
 * together: one that lies between local functions of one file is of that file, too.
 */
#ifndef STACKPACK_UNITS_H
#define STACKPACK_UNITS_H

#include "tool/image/image.h"

struct unit_range {
  uint64_t start, end; /* of a symbol: both its address */
  uint32_t unit;
};

/* Some of the two arrays of ranges may be empty: nothing is known then. */
struct unit_ranges {
  struct unit_range *items; /* by address; owned */
  size_t count, capacity;
};

struct units {
  char **names; /* owned: paths without "." and ".."; of a symbol, what it says */
  size_t count, capacity;
  struct unit_ranges lines, symbols;
  bool is_broken; /* the debug information: what it told before is there */
};

/* Reads the units of a file, by its own debug information or by that of its debug file. The path is
 * the image's. */
bool units_open(struct units *units, const char *path, const struct image *image,
                struct problem *problem);
void units_close(struct units *units);

enum { UNITS_NONE = UINT32_MAX };

/* The number of the unit that the function at an address is of; UNITS_NONE if nothing tells. */
uint32_t units_find(const struct units *units, uint64_t address);

/* ---- For the readers ---- */

bool units_add_range(struct unit_ranges *ranges, uint64_t start, uint64_t end, uint32_t unit);
/* Takes a name, which free() gives back; it may be NULL, for want of memory. */
bool units_add_name(struct units *units, char *name);

/* Adds the units that the debug information tells. A file may have none. */
bool units_read_debug(struct units *units, const char *path, struct problem *problem);

#endif
