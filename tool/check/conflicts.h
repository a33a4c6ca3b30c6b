/* conflicts.h - reports the stack maps of discarded code that were left out of a raw program, and
 * those in conflict (elf/map_entries.h). */
#ifndef STACKPACK_CONFLICTS_H
#define STACKPACK_CONFLICTS_H

#include "elf/map_entries.h"
#include "tool/image/image.h"

#include <stdio.h>

/* Makes the conflicts a problem: one line with the first one's function, and the ways out.
 * Returns false. */
bool conflicts_refuse(const struct image *image, const struct map_entries *entries,
                      struct problem *problem);

/* Prints how many records were left out and how many addresses are in conflict, if any; with a list
 * of them, if wanted. */
void conflicts_print(FILE *out, const char *path, const struct image *image,
                     const struct map_entries *entries, bool list);

#endif
