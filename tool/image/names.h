/* names.h - the names of functions, by address. */
#ifndef STACKPACK_NAMES_H
#define STACKPACK_NAMES_H

#include "tool/image/image.h"

struct name {
  uint64_t address;
  uint64_t end;     /* by the symbol's size */
  const char *text; /* in the image */
  int rank;         /* of several names of one function, the name with the lowest rank is taken */
  bool is_function; /* of an address' first: by the symbol's type, or a label in such a function */
};

struct names {
  struct name *items; /* sorted by address, then by rank; owned */
  size_t count, capacity;
};

/* Collects the names of all functions. The image must outlive them. */
void names_open(struct names *names, const struct image *image);
void names_close(struct names *names);

/* Whether a symbol's name marks code or data ("$x", "$d": ELF for the Arm 64-bit Architecture,
 * 5.5.4; RISC-V ELF psABI, "Mapping Symbol"), or is a label of the assembler's own. */
bool names_is_mapping(const char *text);

/* Whether a name is one of several, with a separator between each. */
bool name_is_among(const char *name, char separator, const char *names);

/* The name of the function that starts at an address; NULL if it has none. */
const char *names_find(const struct names *names, uint64_t address);

/* The next one of all its names, in any order: begin with *at = 0. NULL: there are no more. */
const char *names_next(const struct names *names, uint64_t address, size_t *at);

/* Whether that is a function's by its symbol's type, or a label in such a function: other labels
 * may have another meaning. */
bool names_has_function(const struct names *names, uint64_t address);

/* Whether it has exactly one name. */
bool names_is_only(const struct names *names, uint64_t address);

#endif
