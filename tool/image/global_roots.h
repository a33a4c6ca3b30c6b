/* global_roots.h - reads a program's list of variables that hold references. */
#ifndef STACKPACK_GLOBAL_ROOTS_H
#define STACKPACK_GLOBAL_ROOTS_H

#include "format/safepoints.h"
#include "tool/image/image.h"

/* Puts the addresses that the section of that name lists into the table as its global roots.
 * *section is that section. */
bool global_roots_read(const struct image *image, const char *name, struct safepoints *table,
                       const struct image_section **section, struct problem *problem);

#endif
