/* signal.c - the frame beneath a signal handler.
 *
 * The kernel calls a handler as if the C library's __restore_rt had done so: that is where the
 * handler returns to. It consists of one system call, rt_sigreturn, which loads all registers from a
 * ucontext and so goes on where the signal came. While __restore_rt runs, the stack pointer is the
 * address of that ucontext (Linux, arch/x86/kernel/signal_64.c, struct rt_sigframe).
 *
 * So nothing is computed from unwind tables here, which for __restore_rt are written by hand. It is
 * known by its code, as debuggers know it: no other code can do the same.
 */
#include "runtime/unwind/unwinder.h"

#include <string.h>
#include <ucontext.h>

bool signal_returns_at(uintptr_t pc, uintptr_t start, uintptr_t end) {
  static const uint8_t code[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, /* mov $15, %rax */
                                 0x0f, 0x05};                     /* syscall */
  enum { MOV = 7 };
  if (pc >= start && end - pc >= sizeof code && pc < end &&
      memcmp((const void *)pc, code, sizeof code) == 0)
    return true;
  return pc >= start && pc - start >= MOV && pc < end && end - pc >= sizeof code - MOV &&
         memcmp((const void *)(pc - MOV), code, sizeof code) == 0;
}

bool signal_interrupted(const struct target *target, struct stackpack_context *interrupted) {
  const uintptr_t ucontext = target->context->stack_pointer;
  const size_t registers = offsetof(ucontext_t, uc_mcontext.gregs);
  const size_t size = sizeof((ucontext_t){0}.uc_mcontext.gregs);
  if (!target_has_word(target, ucontext + registers) ||
      !target_has_word(target, ucontext + registers + size - WORD))
    return false;
  *interrupted = stackpack_context_at_signal((void *)ucontext);
  return true;
}
