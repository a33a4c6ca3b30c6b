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

#include "tool/source/source.h"

/* The function at an address is a local one of a unit. */
struct unit_symbol {
  uint64_t address;
  const char *unit;
};

struct units {
  struct source *source; /* NULL: there is no debug information */
  bool is_broken;        /* the debug information: what it told before is there */
  char **names;          /* paths without "." and ".."; of a symbol, what it says; owned */
  size_t count, capacity;
  struct unit_symbol *symbols; /* by address; owned */
  size_t symbol_count, symbol_capacity;
};

/* Opens a file's own debug information, or that of its debug file. The path is the image's. */
void units_open(struct units *units, const char *path, const struct image *image);
void units_close(struct units *units);

/* The unit of the function at an address; NULL if nothing tells. It lives as long as `units`. */
const char *units_find(struct units *units, uint64_t address);

#endif
