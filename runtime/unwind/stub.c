/* stub.c - the stubs for calls of shared libraries, and of far-off functions.
 *
 * A signal may come in one of these, and then it is a frame. Some linkers write unwind tables for
 * them; most don't. But a stub does next to nothing: it jumps on to the function, or, as long as
 * the function hasn't been looked up, pushes some words and jumps to the dynamic linker. So the
 * return address is where the call left it, but for these words; all callee-saved registers are
 * unchanged; and the code, the same in every program, identifies the stub.
 */
#include "runtime/unwind/unwinder.h"

#include "runtime/walk.h"

/* The instruction of a stub that comes next; NULL if no stub is being executed. */
static const struct machine_instruction *find_instruction(const struct machine_stubs *stubs,
                                                          uintptr_t pc) {
  for (unsigned i = 0; i < stubs->count; i++) {
    unsigned at;
    if (machine_is_at(&stubs->stubs[i], pc, &at))
      return &stubs->stubs[i].instructions[at];
  }
  return NULL;
}

/* Where a call pushes the return address, it is above the stub's pushed words. Elsewhere it is in a
 * register, and is the uppermost word that the stub has pushed. */
static bool find_return_address(const struct target *target, uintptr_t pushed,
                                struct stackpack_context *caller) {
  const struct stackpack_context *context = target->context;
  const uintptr_t end = context->stack_pointer + pushed;
  const unsigned link = (unsigned)unwinder_machine.link;
  if (unwinder_machine.link == MACHINE_CALL_PUSHES) {
    if (!target_has_word(target, end))
      return false;
    *caller =
        (struct stackpack_context){.pc = *(const uintptr_t *)end, .stack_pointer = end + WORD};
    return true;
  }
  if (!walk_knows(context, link))
    return false;
  const uintptr_t address = walk_register(context, link);
  if (pushed != 0 &&
      (!target_has_word(target, end - WORD) || *(const uintptr_t *)(end - WORD) != address))
    return false;
  *caller = (struct stackpack_context){.pc = walk_strip_signature(address), .stack_pointer = end};
  return true;
}

bool stub_caller(const struct machine_stubs *stubs, const struct target *target,
                 struct stackpack_context *caller) {
  const struct stackpack_context *context = target->context;
  const struct machine_instruction *next =
      context->is_exact != 0 ? find_instruction(stubs, context->pc) : NULL;
  if (next == NULL || !find_return_address(target, (uintptr_t)WORD * next->words, caller))
    return false;
  for (unsigned i = 0; i < SAVES; i++)
    keep_register(caller, unwinder_machine.preserved[i], context, unwinder_machine.preserved[i]);
  return true;
}

bool stub_is_at(const struct machine_stubs *stubs, const struct stackpack_context *context) {
  return context->is_exact != 0 && find_instruction(stubs, context->pc) != NULL;
}
