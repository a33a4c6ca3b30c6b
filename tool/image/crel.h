/* crel.h - relocations in LLVM's compact form, CREL: a section of type SHT_CREL (experimental).
 *
 * The header is a ULEB128: the number of relocations * 8, + 4 if they have addends, + the shift of
 * offsets. Each relocation starts with a byte: a bit each for another symbol, type and addend than
 * before, and the lowest bits of the offset's difference, continued by a ULEB128 if the highest bit
 * is 1; then the differences, each an SLEB128. ("Extensions", LLVM's documents)
 */
#ifndef STACKPACK_CREL_H
#define STACKPACK_CREL_H

#include "elf/cursor.h"

#include <elf.h>

#ifndef SHT_CREL
#define SHT_CREL 0x40000014
#endif

struct crel {
  struct cursor bytes;
  uint64_t left; /* relocations to come: at most as many as there are bytes */
  unsigned shift;
  bool has_addends;
  Elf64_Rela relocation; /* the last one; its offset is unshifted */
};

/* Begins to read; crel.bytes.bad if the header is impossible. */
struct crel crel_open(const uint8_t *bytes, uint64_t size);

/* False after the last one, or for crel->bytes.bad. */
bool crel_next(struct crel *crel, Elf64_Rela *relocation);

#endif
