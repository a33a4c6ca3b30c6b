/* decompress.h - debug sections that are compressed by zlib or Zstandard (SHF_COMPRESSED). */
#ifndef STACKPACK_DECOMPRESS_H
#define STACKPACK_DECOMPRESS_H

#include "format/owned.h"
#include "tool/image/problem.h"

#include <libelf.h>
#include <stdint.h>

/* Decompresses a section in libelf's memory: elf_getdata has its bytes then. `stored` is its size
 * in the file. Refuses one that says it is larger than debug information can be in earnest. `owned`
 * must outlive libelf's memory. */
bool decompress_section(Elf_Scn *section, const char *name, uint64_t stored, struct owned *owned,
                        struct problem *problem);

#endif
