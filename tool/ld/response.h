/* response.h - response files: a command line that is too long for execve, in a file of words.
 *
 * A linker reads an argument @FILE as the words in FILE, perhaps with more such arguments; if FILE
 * is missing, the argument stays. The ends of words follow a convention of GCC and binutils
 * ("Options Controlling the Kind of Output" in GCC's manual) that LLVM and mold follow, and
 * libiberty reads and writes.
 */
#ifndef STACKPACK_LD_RESPONSE_H
#define STACKPACK_LD_RESPONSE_H

#include "tool/image/problem.h"
#include "tool/ld/words.h"

#include <limits.h>

/* Adds the words of the response file `path`, and of those named in it, in their order. False,
 * without a problem, for a missing file. */
bool response_read(const char *path, struct words *words, struct problem *problem);

/* Writes a response file in the folder for temporary files, and its path, for the caller to remove
 * it. */
bool response_write(const struct words *words, char path[PATH_MAX], struct problem *problem);

#endif
