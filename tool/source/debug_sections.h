/* debug_sections.h - an ELF file's debug sections, decompressed for libdw.
 *
 * libelf decompresses what zlib compressed; what Zstandard did it has only done since elfutils
 * 0.189.
 */
#ifndef STACKPACK_DEBUG_SECTIONS_H
#define STACKPACK_DEBUG_SECTIONS_H

#include "tool/image/problem.h"

#include <libelf.h>

/* Opens a file. Refuses sections that say they are larger than debug information can be in earnest.
 * NULL if it can't be used: then *problem says why. The process keeps it until its end. */
Elf *debug_sections_open(const char *path, struct problem *problem);

#endif
