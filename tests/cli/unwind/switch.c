/* switch.c - stops at each instruction while two stacks take turns by glibc's swapcontext, on x86-64. A walk that
 * gets to the end of a stack has met the function that switches there.
 */
#include "stepping.h"

#include <ucontext.h>

enum { SWITCHES = 3, SIZE_HERE = 128 /* of the functions here, at most */ };

static ucontext_t contexts[2];
static uintptr_t ends[2];
static char fiber_stack[65536] __attribute__((aligned(16)));

__attribute__((noinline)) static void switch_from(int n) {
  for (int i = -n; i < SWITCHES; i++) /* the fiber never returns */
    swapcontext(&contexts[n], &contexts[1 - n]);
  __asm__ volatile("");
}

static void fiber(void) {
  ends[1] = (uintptr_t)__builtin_dwarf_cfa();
  switch_from(1);
}

static void step_through(void);

static void on_trap(int signal, siginfo_t *information, void *ucontext) {
  (void)signal, (void)information;
  const struct stackpack_context context = stackpack_context_at_signal(ucontext);
  const int is_fiber = context.stack_pointer - (uintptr_t)fiber_stack <= sizeof fiber_stack;
  if (stepping && context.pc - (uintptr_t)step_through >= SIZE_HERE)
    count_walk(&context, ends[is_fiber], (uintptr_t)switch_from, (uintptr_t)switch_from + SIZE_HERE);
}

__attribute__((noinline)) static void step_through(void) {
  step();
  switch_from(0);
  step_no_more();
}

int main(void) {
  ends[0] = (uintptr_t)__builtin_dwarf_cfa();
  getcontext(&contexts[1]);
  contexts[1].uc_stack.ss_sp = fiber_stack;
  contexts[1].uc_stack.ss_size = sizeof fiber_stack;
  makecontext(&contexts[1], fiber, 0);
  swapcontext(&contexts[0], &contexts[1]);
  if (!open_stepping(on_trap))
    return 2;
  step_through();
  print_counts();
  return wrong > 0 || stopped > complete;
}
