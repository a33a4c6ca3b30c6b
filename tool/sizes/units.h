/* units.h - the compilation units of functions.
 *
 * Debug information has the addresses of each compilation unit. Without it, a packed table may have
 * the files of functions, and the symbol table has the units of most functions: a linker writes a
 * symbol with the source file's name, and after it the local symbols of that object file (gABI,
 * "Symbol Table", STT_FILE). Global functions are elsewhere; but linkers leave the code of one
 * object file together, so a global function between local ones of one file is of that file, too.
 */
#ifndef STACKPACK_UNITS_H
#define STACKPACK_UNITS_H

#include "format/sources.h"
#include "tool/source/source.h"

/* The function at an address is a local one of a unit. */
struct unit_symbol {
  uint64_t address;
  const char *unit;
};

struct units {
  struct source *source;  /* NULL: there is no debug information */
  struct problem problem; /* of the debug information; earlier names stay */
  char **names;           /* paths without "." and "..", or names of symbols; owned */
  size_t count, capacity;
  struct sources numbers;      /* of these names */
  struct unit_symbol *symbols; /* by address; owned */
  size_t symbol_count, symbol_capacity;
};

/* Opens a file's own debug information, or its debug file's. The path is the image's. */
void units_open(struct units *units, const char *path, const struct image *image);
void units_close(struct units *units);

/* The unit of a function, valid as long as `units`; NULL: unknown. `told`: its file, as the packed
 * table has it, or NULL. */
const char *units_find(struct units *units, uint64_t address, const char *told);

#endif
