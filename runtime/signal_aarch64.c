/* signal_aarch64.c - the context of interrupted code, on AArch64. */
#ifdef __aarch64__
#include "runtime/stackpack.h"

#include <ucontext.h>

struct stackpack_context stackpack_context_at_signal(void *ucontext) {
  mcontext_t *machine = &((ucontext_t *)ucontext)->uc_mcontext;
  struct stackpack_context context = {
      .pc = machine->pc, .stack_pointer = machine->sp, .is_exact = 1};
  for (unsigned reg = 0; reg < STACKPACK_STACK_POINTER; reg++)
    stackpack_context_save(&context, reg, (uintptr_t *)&machine->regs[reg]);
  stackpack_context_save(&context, STACKPACK_STACK_POINTER, (uintptr_t *)&machine->sp);
  return context;
}
#endif
