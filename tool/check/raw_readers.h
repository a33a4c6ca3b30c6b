/* raw_readers.h - finds out whether a program reads its own raw stack maps. */
#ifndef STACKPACK_RAW_READERS_H
#define STACKPACK_RAW_READERS_H

#include "tool/image/image.h"

/* Finds a reference to the raw section, and names it in `found`; false if the file shows none.
 * `has_library`: the process has a reader of packed stack maps. */
bool raw_readers_find(const struct image *image, const struct image_section *raw, bool has_library,
                      struct problem *found);

#endif
