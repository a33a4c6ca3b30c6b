/* relocate.h - applies relocations to sections of objects, like a linker. */
#ifndef STACKPACK_RELOCATE_H
#define STACKPACK_RELOCATE_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>

/* A section to relocate. */
struct relocated {
  uint8_t *bytes;
  uint64_t size, address;
  uint16_t machine; /* EM_* */
};

/* Applies a relocation with a symbol's address; for an undefined symbol, it stores 0. has_addend:
 * false if the section has the addend. Returns false for an unsupported type or an offset out of
 * bounds. */
bool relocate(const struct relocated *section, const Elf64_Rela *relocation, bool has_addend,
              uint64_t symbol, bool is_defined);

#endif
