/* conflicts.h - says which stack maps were left out of a raw program, as they describe other code
 * than is there, and which are in conflict (elf/entries.h). */
#ifndef STACKPACK_CONFLICTS_H
#define STACKPACK_CONFLICTS_H

#include "elf/entries.h"
#include "tool/image/image.h"

#include <stdio.h>

/* The problem that conflicts are: one line with the first one's functions, and what to do.
 * False. */
bool conflicts_refuse(const struct image *image, const struct entries *entries,
                      struct problem *problem);

/* Prints how many records were left out and how many addresses are in conflict, if any; with a list
 * of them, if wanted. */
void conflicts_print(FILE *out, const char *path, const struct image *image,
                     const struct entries *entries, bool list);

#endif
