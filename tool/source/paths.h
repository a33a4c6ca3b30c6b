/* paths.h - paths of source files, as a released program is to have them: without the folder that
 * it was built in. */
#ifndef STACKPACK_PATHS_H
#define STACKPACK_PATHS_H

#include "tool/image/problem.h"

#include <stddef.h>

/* Takes "." and empty parts, and "name/..", out of a path. */
void path_normalize(char *path);

/* What the start of a path is replaced by, as compilers' -fdebug-prefix-map has it. */
struct prefix_map {
  const char *old, *new; /* OLD=NEW, the command line's */
  size_t length;         /* of OLD */
};
struct prefix_maps {
  struct prefix_map *items; /* owned; the last one that fits counts */
  size_t count, capacity;
};

/* Takes OLD=NEW, the value of an option. */
bool prefix_maps_add(void *maps, const char *value, struct problem *problem);

/* A path, to be freed, of a source file: by the maps; if none fits, relative to the folder that its
 * unit was compiled in (NULL: unknown). Paths that share no folder stay as they are. */
char *path_of_source(const struct prefix_maps *maps, const char *folder, const char *path);

#endif
