/* signal_riscv64.c - the context of interrupted code, on RISC-V. */
#ifdef __riscv
#include "runtime/stackpack.h"

#include <ucontext.h>

/* The program counter is in the place of register 0, a constant. */
struct stackpack_context stackpack_context_at_signal(void *ucontext) {
  __riscv_mc_gp_state *values = &((ucontext_t *)ucontext)->uc_mcontext.__gregs;
  struct stackpack_context context = {
      .pc = (*values)[REG_PC], .stack_pointer = (*values)[REG_SP], .is_exact = 1};
  for (unsigned reg = 1; reg < STACKPACK_REGISTERS; reg++)
    stackpack_context_save(&context, reg, (uintptr_t *)&(*values)[reg]);
  return context;
}
#endif
