/* libraries.h - where linkers look for the files of -lNAME: in the folders of all -L on the line,
 * in their order; in each for libNAME.so first, unless -Bstatic or one of its synonyms is in force.
 * (ld(1), "Options".) After these they search folders of their own. */
#ifndef STACKPACK_LD_LIBRARIES_H
#define STACKPACK_LD_LIBRARIES_H

#include "tool/ld/words.h"

#include <stdbool.h>
#include <stdint.h>

/* The system's root for the linker; "" if it is /. */
const char *libraries_root(const struct words *words);

/* A path in the system's root, which is "=" or "$SYSROOT" at its front: the rest; NULL: another. */
const char *libraries_in_root(const char *path);

/* Adds a folder to a list. */
void libraries_add(struct words *folders, const char *root, const char *folder);

/* The folders, in order. */
struct words libraries_folders(const struct words *words);

/* Folders that linkers search after these. (ld --verbose; Debian's have the machine's name) */
struct words libraries_own(const struct words *words);

/* The kind of processor of an object, or of an archive's first one; 0: the file has none. */
uint32_t libraries_machine(const char *path);

/* The file that -lNAME finds; NULL: none. To be freed. Linkers pass over those for another machine,
 * if theirs isn't 0. (lld refuses them.) */
char *libraries_find(const struct words *folders, const char *name, bool is_static,
                     uint32_t machine);

/* The path of a file in a folder, its name by a form for printf; NULL: it is missing. To be
 * freed. */
char *libraries_in(const char *folder, const char *form, const char *name);

#endif
