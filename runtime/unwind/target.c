/* target.c - reads the registers and the stack of the frame to unwind.
 *
 * Memory is read within the bounds of the walk's stack. Registers come from the walk's context: a
 * missing one is an error.
 */
#include "runtime/unwind/unwinder.h"

#include "runtime/walk.h"

struct target target_of(struct stackpack_stack stack, const struct stackpack_context *context) {
  /* A call may be the last instruction of its function, so a return address may be outside it. */
  return (struct target){.stack = stack,
                         .context = context,
                         .pc = context->is_exact != 0 ? context->pc : context->pc - 1};
}

bool target_has_word(const struct target *target, uintptr_t address) {
  return address % WORD == 0 && walk_has_word(&target->stack, address);
}

/* The address sanitizer's marks are for the program's own use of its variables. */
__attribute__((no_sanitize("address"))) static uintptr_t read_word(uintptr_t address) {
  return *(const uintptr_t *)address;
}

bool target_read(struct target *target, uintptr_t address, uintptr_t *value) {
  if (!target_has_word(target, address)) {
    target->reason = STACKPACK_UNWINDER_OUT_OF_STACK;
    return false;
  }
  *value = read_word(address);
  return true;
}

bool target_register(struct target *target, uint64_t reg, uintptr_t *value) {
  const struct stackpack_context *context = target->context;
  if (reg == STACKPACK_STACK_POINTER) {
    *value = context->stack_pointer;
  } else if (reg == (uint64_t)unwinder_machine.pc) {
    *value = target->pc;
  } else if (reg < STACKPACK_REGISTERS && walk_knows(context, (unsigned)reg)) {
    const uintptr_t word = context->registers[reg];
    *value = (context->in_memory >> reg & 1) != 0 ? read_word(word) : word;
  } else {
    target->reason = STACKPACK_UNWINDER_REGISTER;
    return false;
  }
  return true;
}
