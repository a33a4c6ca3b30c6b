/* signal.c - the frame beneath a signal handler.
 *
 * The kernel calls a handler as if a trampoline had done so: the handler returns to it. It is in
 * the C library, in the kernel's own shared object, or in a page of an emulator. It consists of one
 * system call, rt_sigreturn: that loads all registers from a ucontext, and so goes on where the
 * signal came. While it runs, the ucontext is at a fixed distance from the stack pointer.
 *
 * So this file ignores unwind tables: a trampoline's are written by hand, if there are any. It
 * recognizes the trampoline by its code, as debuggers do: no other code can do the same.
 */
#include "runtime/unwind/unwinder.h"

bool signal_returns_at(uintptr_t pc) {
  unsigned at;
  return machine_is_at(&unwinder_machine.signal_return, pc, &at);
}

bool signal_interrupted(const struct target *target, struct stackpack_context *interrupted) {
  const uintptr_t ucontext = target->context->stack_pointer + unwinder_machine.ucontext;
  if (!target_has_word(target, ucontext + unwinder_machine.registers) ||
      !target_has_word(target, ucontext + unwinder_machine.registers_end - WORD))
    return false;
  *interrupted = stackpack_context_at_signal((void *)ucontext);
  return true;
}
