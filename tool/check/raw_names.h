/* raw_names.h - whether a program finds its raw stack maps by their section's name, and whether it
 * has the library that reads packed ones. */
#ifndef STACKPACK_RAW_NAMES_H
#define STACKPACK_RAW_NAMES_H

#include "tool/image/image.h"

/* Finds a name of the raw section, or of LLVM's symbol, in the program's data or code: `name` is
 * the one that the user gave, or NULL. `found` then names it; false if there is none. */
bool raw_names_find(const struct image *image, const struct image_section *raw, const char *name,
                    struct problem *found);

/* Whether something in the file refers to libstackpack: a library that it needs, a symbol that it
 * imports, the note of the static library (elf/note.h), or a library's name for dlopen. */
bool raw_names_has_library(const struct image *image);

/* A sign, in words, that a file without stack maps should have some; NULL if there is none. */
const char *raw_names_lost(const struct image *image);

#endif
