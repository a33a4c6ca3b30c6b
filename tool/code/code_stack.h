/* code_stack.h - the effects of operands on the stack: see struct code_stack.
 *
 * A decoder calls these functions with an instruction's operands, by the numbers of their
 * registers. The architecture decides which of them matter: the stack pointer, the frame pointer,
 * the link register, and those that calls preserve.
 */
#ifndef STACKPACK_CODE_STACK_H
#define STACKPACK_CODE_STACK_H

#include "tool/code/code.h"

/* The kind of base that a register is. */
static inline enum code_stack_base stack_base(const struct code_architecture *architecture,
                                              unsigned number) {
  return number == architecture->stack_pointer ? CODE_STACK_POINTER
         : number == architecture->in_sets[0]  ? CODE_FRAME_POINTER
                                               : CODE_NO_BASE;
}

/* The place of memory at a distance from a register: an unresolved one, if it's far. */
static inline uint8_t stack_place(const struct code_architecture *architecture, unsigned number,
                                  bool is_far) {
  enum { FAR = VALUE_ON_STACK - CODE_STACK_POINTER };
  _Static_assert(FAR == VALUE_BY_FRAME - CODE_FRAME_POINTER, "in the same order");
  const enum code_stack_base base = stack_base(architecture, number);
  return (uint8_t)(base == CODE_NO_BASE ? VALUE_ELSEWHERE : is_far ? base + FAR : base);
}

/* Those of struct code_stack's sets among registers. */
uint16_t stack_set_of(const struct code_architecture *architecture, uint32_t registers);

/* An instruction uses `size` bytes of memory at a distance from a register. */
void stack_set_memory(const struct code_architecture *architecture, struct code_stack *stack,
                      unsigned from, int32_t offset, int32_t size, bool is_read);

/* Others may write to a place: by a copy of the frame pointer to the two words that it points to,
 * the caller's frame pointer and the return address. */
void stack_set_address(const struct code_architecture *architecture, struct code_stack *stack,
                       unsigned from, int32_t offset);

/* Memory, or another register, gets a value made of a register: there may be another pointer to the
 * frame then. */
void stack_hand(const struct code_architecture *architecture, struct code_stack *stack,
                unsigned number);

/* Register `to` becomes `from` plus a constant. */
void stack_set_sum(const struct code_architecture *architecture, struct code_stack *stack,
                   unsigned to, unsigned from, int32_t distance);

/* A word at `offset` from the memory that is used is stored from a register, or loaded into it. */
void stack_set_saved(const struct code_architecture *architecture, struct code_stack *stack,
                     unsigned number, int32_t offset, bool is_load);

#endif
