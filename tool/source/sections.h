/* sections.h - decompresses the debug sections of a file. */
#ifndef STACKPACK_SECTIONS_H
#define STACKPACK_SECTIONS_H

#include "tool/image/problem.h"

#include <libelf.h>

/* Decompresses debug sections in place (SHF_COMPRESSED): libdw passes over one that it can't
 * decompress, and knows Zstandard only since 0.189. Refuses one that says it is larger than debug
 * information can be in earnest, .zdebug_* too, which are left to libdw. */
bool sections_decompress(Elf *elf, struct problem *problem);

#endif
