/* raw_readers.h - finds out whether a program reads its own raw stack maps. */
#ifndef STACKPACK_REFERENCES_H
#define STACKPACK_REFERENCES_H

#include "tool/image/image.h"

/* Where a program refers to its raw stack maps, as text for people. */
struct reference {
  char where[128];
};

/* Finds a reference to the raw section; false if there is none that can be seen. */
bool references_find(const struct image *image, const struct image_section *raw,
                     struct reference *found);

#endif
