/* signal_x86_64.c - the context of interrupted code, on x86-64. */
#ifdef __x86_64__
#include "runtime/stackpack.h"

#include <ucontext.h>

struct stackpack_context stackpack_context_at_signal(void *ucontext) {
  /* By DWARF number: the psABI's Figure 3.36 beside the kernel's struct sigcontext. */
  static const uint8_t order[STACKPACK_REGISTERS] = {
      REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP,
      REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  greg_t *values = ((ucontext_t *)ucontext)->uc_mcontext.gregs;
  struct stackpack_context context = {
      .pc = (uintptr_t)values[REG_RIP], .stack_pointer = (uintptr_t)values[REG_RSP], .is_exact = 1};
  for (unsigned reg = 0; reg < STACKPACK_REGISTERS; reg++)
    stackpack_context_save(&context, reg, (uintptr_t *)&values[order[reg]]);
  return context;
}
#endif
