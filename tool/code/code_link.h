/* code_link.h - the common parts of machines with a link register.
 *
 * Their instructions have 4 bytes, or 2, so an address takes two of them (struct code_parts), and a
 * decoder is a matter of fields: it reads them, and calls these functions, which translate an
 * addition to the stack pointer, or a load of the link register, into effects on the stack.
 */
#ifndef STACKPACK_CODE_LINK_H
#define STACKPACK_CODE_LINK_H

#include "tool/code/code.h"

#include <assert.h>

/* The numbers of registers. */
struct link_machine {
  uint8_t stack, frame, link;
  int8_t callers_frame; /* from `frame`: where the caller's is saved; the return address is above */
  uint8_t preserved;    /* calls preserve ten registers from that on, */
  uint32_t also;        /* and these: a bit for each, at most one */
};

enum { LINK_FAR = 1 << 16 }; /* more than vectors have bytes */

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

/* The kind of base that the register is. */
enum code_stack_base link_base(const struct link_machine *machine, unsigned number);

/* Its register becomes a copy of another one, or of memory; a register is loaded, or stored. */
void link_set_copy(struct code_instruction *instruction, unsigned from);
void link_set_value(struct code_instruction *instruction, unsigned number, bool is_load,
                    unsigned size);

void link_set_direct(struct code_instruction *instruction, enum code_kind kind, uint64_t target);
void link_set_part(struct code_instruction *instruction, enum part_use part, unsigned to,
                   unsigned from, int64_t distance);

/* Others may write to a place. The frame pointer points to the caller's one and the return address,
 * which others may then write to as well. */
void link_set_address(const struct link_machine *machine, struct code_stack *stack, unsigned from,
                      int32_t offset);

/* An instruction uses `size` bytes of memory at a distance from a register; or at an unresolved
 * one. */
void link_set_memory(const struct link_machine *machine, struct code_stack *stack, unsigned from,
                     int32_t offset, int32_t size, bool is_read);
void link_set_anywhere(const struct link_machine *machine, struct code_stack *stack, unsigned from,
                       bool is_read);

/* The same of an instruction that also gives the register an unresolved value: the memory counts as
 * used by others. */
void link_set_moving(const struct link_machine *machine, struct code_stack *stack, unsigned from,
                     int32_t offset, int32_t size);

/* Register `to` becomes `from` plus a constant. */
void link_set_sum(const struct link_machine *machine, struct code_stack *stack, unsigned to,
                  unsigned from, int32_t distance);

/* A word at `offset` from the memory that is used is stored from a register, or loaded into it. */
void link_set_saved(const struct link_machine *machine, struct code_stack *stack, unsigned number,
                    int32_t offset, bool is_load);

/* Completes the stack pointer's, frame pointer's and link register's effects by the registers in
 * `parts`. */
void link_finish(const struct link_machine *machine, struct code_instruction *instruction);

#endif
