/* raw_readers.h - finds out whether a program reads its own raw stack maps. */
#ifndef STACKPACK_RAW_READERS_H
#define STACKPACK_RAW_READERS_H

#include "tool/image/image.h"

/* A place that refers to the raw stack maps, as text for people. */
struct raw_reader {
  char where[128];
};

/* Finds a reference to the raw section; false if there is none that can be seen. */
bool raw_readers_find(const struct image *image, const struct image_section *raw,
                      struct raw_reader *found);

#endif
