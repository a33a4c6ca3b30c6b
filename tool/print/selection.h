/* selection.h - the records of a file that the user asks for: by functions, or by addresses. */
#ifndef STACKPACK_SELECTION_H
#define STACKPACK_SELECTION_H

#include "format/safepoints.h"
#include "tool/image/names.h"
#include "tool/image/problem.h"
#include "tool/print/pieces.h"

/* A word of the command line, and its meaning. */
struct selection_item {
  const char *word;
  uint64_t first, last; /* of addresses; unused for a function's name */
  bool is_range, is_name;
  bool is_place; /* of an object: SECTION+0x12; the numbers are unused */
};

struct selection {
  struct selection_item *items; /* owned; none: everything is asked for */
  size_t count, capacity;
};

/* Add an option's value to a struct selection: the name of functions, or a pattern for them; an
 * address, or two with a `-` between; a place in an object. False, and a problem, for any other
 * text. */
bool selection_add_function(void *selection, const char *word, struct problem *problem);
bool selection_add_address(void *selection, const char *word, struct problem *problem);

/* Marks the selected records, in an array of table->record_count. False, and a problem, if a
 * function or an address has none. */
bool selection_apply(const struct selection *selection, const struct safepoints *table,
                     struct pieces *pieces, const struct names *names, bool *is_selected,
                     struct problem *problem);

/* Reads an address: hexadecimal with 0x in front, else decimal. */
bool address_parse(const char *text, uint64_t *address);

/* Reads a hexadecimal address, with or without 0x in front. */
bool address_parse_hexadecimal(const char *text, uint64_t *address);

#endif
