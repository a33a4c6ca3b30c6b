/* stub.c - the stubs through which a program calls its shared libraries, and far-off functions.
 *
 * A signal may come in one of these, and then it is a frame. Some linkers write unwind tables for
 * them; most don't. But a stub does next to nothing: it jumps on to the function, or, as long as the
 * function hasn't been looked up, pushes some words and jumps to the dynamic linker. So the return
 * address is where the call left it, but for these words; no register that a call preserves has been
 * touched; and the code, which is the same in every program, says which stub it is.
 */
#include "runtime/unwind/unwinder.h"

#include "runtime/walk.h"

/* What the stack pointer was when the stub was called; 0 if no stub is being executed. */
static uintptr_t stack_pointer_at_call(const struct stackpack_context *context) {
  for (unsigned i = 0; i < unwinder_machine.stub_count; i++) {
    const struct machine_code *stub = &unwinder_machine.stubs[i];
    unsigned at;
    if (machine_is_at(stub, context->pc, &at))
      return context->stack_pointer + (uintptr_t)WORD * stub->instructions[at].words;
  }
  return 0;
}

bool stub_caller(const struct target *target, uintptr_t *pc, uintptr_t *stack_pointer) {
  const struct stackpack_context *context = target->context;
  const uintptr_t at_call = context->is_exact != 0 ? stack_pointer_at_call(context) : 0;
  const unsigned link = (unsigned)unwinder_machine.link;
  if (unwinder_machine.link == MACHINE_CALL_PUSHES) {
    if (!target_has_word(target, at_call))
      return false;
    *pc = *(const uintptr_t *)at_call;
    *stack_pointer = at_call + WORD;
    return true;
  }
  if (at_call == 0 || !walk_knows(context, link))
    return false;
  *pc = walk_strip_signature(walk_register(context, link));
  *stack_pointer = at_call;
  return true;
}
