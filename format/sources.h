/* sources.h - where records are in their sources: function, file and line of each frame, inlined
 * ones included.
 *
 * In memory, between a reader of debug information and the packed table: a record has the number of
 * its innermost place, which names the place that it was inlined into, and so on to the function
 * that the linker knows.
 */
#ifndef STACKPACK_SOURCES_H
#define STACKPACK_SOURCES_H

#include "format/intern.h"

/* A line in a function, at which a frame waits. Equal places have one number. */
struct source_place {
  uint32_t function, file; /* names; 0: unknown */
  uint32_t line;           /* of the call, where another place is inlined; 0: unknown */
  uint32_t caller;         /* the number of the place that it is inlined into; 0: none */
};

/* Names and places by number, from 1 on. All zeros are an empty one. */
struct sources {
  struct intern names, places;
};

void sources_free(struct sources *sources);

/* The number of a name (a function's as linked, or a path), added if it is new. NULL and "" are
 * unknown names. False if memory runs out. */
bool sources_add_name(struct sources *sources, const char *name, uint32_t *number);

/* The same of a place, after its caller. */
bool sources_add_place(struct sources *sources, struct source_place place, uint32_t *number);

/* Name `number`, valid until the next one is added; "" for 0. */
const char *sources_name(const struct sources *sources, uint32_t number);

/* Place `number`, from 1 on. */
struct source_place sources_place(const struct sources *sources, uint32_t number);

#endif
