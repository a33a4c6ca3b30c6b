/* code_link.h - the common parts of machines with a link register.
 *
 * Their instructions have 4 bytes, or 2, so an address takes two of them (struct code_parts), and a
 * decoder is a matter of fields: it reads them, and calls these functions, and those of
 * code_stack.h.
 */
#ifndef STACKPACK_CODE_LINK_H
#define STACKPACK_CODE_LINK_H

#include "tool/code/code_stack.h"

#include <assert.h>

enum { LINK_FAR = 1 << 16 }; /* more than vectors have bytes: an unresolved distance is up to it */

static inline uint32_t link_field(uint32_t word, unsigned low, unsigned width) {
  assert(width < 32 && low + width <= 32);
  return word >> low & (((uint32_t)1 << width) - 1);
}

/* A number of `width` bits, with its sign. */
static inline int64_t link_signed(uint32_t value, unsigned width) {
  assert(0 < width && width < 32 && value >> width == 0);
  const int64_t sign = (int64_t)1 << (width - 1);
  return ((int64_t)value ^ sign) - sign;
}

/* Its register becomes a copy of another one, or of memory; a register is loaded, or stored. */
void link_set_copy(struct code_instruction *instruction, unsigned from);
void link_set_value(struct code_instruction *instruction, unsigned number, bool is_load,
                    unsigned size);

void link_set_direct(struct code_instruction *instruction, enum code_kind kind, uint64_t target);
void link_set_part(struct code_instruction *instruction, enum part_use part, unsigned from,
                   int64_t distance);

/* When all else is set: completes the effects on the stack pointer, the frame pointer and the link
 * register by the registers in `parts`, and sets the place of the values' memory. */
void link_finish(const struct code_architecture *architecture,
                 struct code_instruction *instruction);

#endif
