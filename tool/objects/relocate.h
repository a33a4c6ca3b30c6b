/* relocate.h - applies relocations to sections of objects, as linkers do. */
#ifndef STACKPACK_RELOCATE_H
#define STACKPACK_RELOCATE_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>

/* Bytes that are to be relocated. */
struct relocated {
  uint8_t *bytes;
  uint64_t size, address;
  uint16_t machine; /* EM_* */
};

/* Applies a relocation for a symbol's address; an undefined symbol's stores 0. has_addend: else it
 * stands in place. False for an unknown type, or one out of bounds. */
bool relocate(const struct relocated *section, const Elf64_Rela *relocation, bool has_addend,
              uint64_t symbol, bool is_defined);

#endif
