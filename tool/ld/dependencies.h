/* dependencies.h - the list of a program's inputs, which linkers write for make and ninja. */
#ifndef STACKPACK_LD_DEPENDENCIES_H
#define STACKPACK_LD_DEPENDENCIES_H

#include "tool/ld/inputs.h"

/* Puts the names of the inputs in the place of those of their split copies, in the file that the
 * option --dependency-file names; if there is one. */
bool dependencies_correct(const struct words *words, const struct inputs *inputs,
                          struct problem *problem);

#endif
