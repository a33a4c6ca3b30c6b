/* dependencies.h - the list of a program's inputs that linkers write for make and ninja. */
#ifndef STACKPACK_LD_DEPENDENCIES_H
#define STACKPACK_LD_DEPENDENCIES_H

#include "tool/ld/inputs.h"

/* Replaces the names of split copies by the inputs' names, in the file that the option
 * --dependency-file names, if there is one. */
bool dependencies_correct(const struct words *words, const struct inputs *inputs,
                          struct problem *problem);

#endif
