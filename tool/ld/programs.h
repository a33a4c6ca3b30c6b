/* programs.h - finding the programs that stackpack-ld runs: the real linker, and `stackpack`. */
#ifndef STACKPACK_LD_PROGRAMS_H
#define STACKPACK_LD_PROGRAMS_H

#include "tool/image/problem.h"

#include <limits.h>

/* Finds the linker of the given name: a path, or a name to look for in PATH. If it is NULL, the
 * name is stackpack-ld's in the command line, if that is a linker's (`ld`, `ld.gold`), or else
 * ld.lld, or else ld. A file that is stackpack-ld itself, under any name, is passed over. */
bool programs_find_linker(const char *called, const char *name, char path[PATH_MAX],
                          struct problem *problem);

/* Finds `stackpack`: beside stackpack-ld, or in PATH. */
bool programs_find_stackpack(char path[PATH_MAX], struct problem *problem);

#endif
