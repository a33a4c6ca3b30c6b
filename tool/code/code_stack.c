/* code_stack.c - see code_stack.h. */
#include "tool/code/code_stack.h"

#include <assert.h>

uint16_t stack_set_of(const struct code_architecture *architecture, uint32_t registers) {
  const bool has_link =
      architecture->has_link && (registers >> architecture->link_register & 1) != 0;
  uint16_t set = has_link ? CODE_LINK : 0;
  registers &= ~architecture->lost;
  for (unsigned i = 0; registers != 0 && i < CODE_PRESERVED && architecture->in_sets[i] != 0; i++)
    set |= (uint16_t)((registers >> architecture->in_sets[i] & 1) << i);
  return set;
}

void stack_set_memory(const struct code_architecture *architecture, struct code_stack *stack,
                      unsigned from, int32_t offset, int32_t size, bool is_read) {
  const enum code_stack_base base = stack_base(architecture, from);
  if (base == CODE_NO_BASE)
    return;
  stack->base = (uint8_t)base;
  stack->offset = offset;
  stack->size = size;
  stack->is_read = is_read;
}

void stack_set_address(const struct code_architecture *architecture, struct code_stack *stack,
                       unsigned from, int32_t offset) {
  const int32_t callers = architecture->callers_frame;
  const bool is_frame = from == architecture->in_sets[0] && (offset == 0 || offset == callers);
  stack_set_memory(architecture, stack, from, is_frame ? callers : offset, is_frame ? 16 : 1,
                   false);
  stack->is_address = true;
}

void stack_hand(const struct code_architecture *architecture, struct code_stack *stack,
                unsigned number) {
  const enum code_stack_base base = stack_base(architecture, number);
  if (base == CODE_NO_BASE)
    return;
  stack->handed = (uint8_t)base;
  stack->handed_offset = base == CODE_FRAME_POINTER ? architecture->callers_frame : 0;
  stack->handed_size = base == CODE_FRAME_POINTER ? 16 : 1;
}

void stack_set_sum(const struct code_architecture *architecture, struct code_stack *stack,
                   unsigned to, unsigned from, int32_t distance) {
  const enum code_stack_base base = stack_base(architecture, from);
  const enum code_stack_base made = stack_base(architecture, to);
  if (made == CODE_STACK_POINTER && base == made && distance != INT32_MIN) {
    stack->growth = -distance;
  } else if (made == CODE_STACK_POINTER && base != CODE_FRAME_POINTER) {
    stack->growth = CODE_STACK_LOST;
  } else if (made != CODE_NO_BASE && base != CODE_NO_BASE && made != base) {
    stack->copy = (uint8_t)base;
    stack->copy_offset = distance;
    stack->growth = 0; /* one of the two counts */
  } else if (made != CODE_FRAME_POINTER && base != CODE_NO_BASE) {
    stack_set_address(architecture, stack, from, distance);
  }
}

void stack_set_saved(const struct code_architecture *architecture, struct code_stack *stack,
                     unsigned number, int32_t offset, bool is_load) {
  assert(number < CODE_REGISTERS && offset >= 0 && offset % 8 == 0 && offset / 8 < CODE_WORDS);
  if (!is_load && stack->handed == CODE_NO_BASE)
    stack_hand(architecture, stack, number);
  if (stack->base == CODE_NO_BASE)
    return;
  uint16_t *registers = is_load ? stack->loads : stack->saves;
  registers[offset / 8] = stack_set_of(architecture, (uint32_t)1 << number);
}
