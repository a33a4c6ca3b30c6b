/* switch.c - stops at each instruction while two stacks take turns by glibc's swapcontext, on x86-64. A walk that
 * gets to the end of a stack has met the function that switches there.
 */
#include "stackpack_unwind.h"

#include <signal.h>
#include <stdio.h>
#include <ucontext.h>

enum { TRAP_FLAG = 0x100, SWITCHES = 3 };

static struct stackpack_unwinder unwinder;
static struct stackpack_process process;
static struct stackpack_module modules[8];
static const struct stackpack_walker walker = {.process = &process,
                                               .managed = STACKPACK_BY_UNWINDING,
                                               .native = STACKPACK_BY_UNWINDING,
                                               .unwind = stackpack_unwinder_step,
                                               .unwinder = &unwinder};
static ucontext_t contexts[2];
static uintptr_t ends[2];
static char fiber_stack[65536] __attribute__((aligned(16)));
static volatile sig_atomic_t stepping;
static unsigned long complete, stopped, wrong;

__attribute__((noinline)) static void switch_from(int n) {
  for (int i = -n; i < SWITCHES; i++) /* the fiber never returns */
    swapcontext(&contexts[n], &contexts[1 - n]);
  __asm__ volatile("");
}

static void fiber(void) {
  ends[1] = (uintptr_t)__builtin_dwarf_cfa();
  switch_from(1);
}

static int is_in(uintptr_t pc, uintptr_t function) {
  enum { SIZE_HERE = 128 };
  return pc - function < SIZE_HERE;
}

static void step_through(void);

static void on_trap(int signal, siginfo_t *information, void *ucontext) {
  static struct stackpack_walk walk;
  enum stackpack_walk_answer answer;
  int is_met = 0;
  (void)signal, (void)information;
  const struct stackpack_context context = stackpack_context_at_signal(ucontext);
  const int is_fiber = context.stack_pointer - (uintptr_t)fiber_stack <= sizeof fiber_stack;
  const struct stackpack_stack stack = {context.stack_pointer - 256, ends[is_fiber]};
  if (!stepping || is_in(context.pc, (uintptr_t)step_through))
    return;
  stackpack_walk_start(&walk, &walker, stack, &context);
  while (stackpack_walk_is_frame(answer = stackpack_walk_next(&walk)))
    is_met |= is_in(walk.context.pc, (uintptr_t)switch_from);
  if (answer != STACKPACK_WALK_NO_MANAGED)
    stopped++;
  else if (is_met)
    complete++;
  else
    wrong++;
}

__attribute__((noinline)) static void step_through(void) {
  stepping = 1;
  __asm__ volatile("pushfq; orl %0, (%%rsp); popfq" : : "i"(TRAP_FLAG) : "memory", "cc");
  switch_from(0);
  __asm__ volatile("pushfq; andl %0, (%%rsp); popfq" : : "i"(~TRAP_FLAG) : "memory", "cc");
  stepping = 0;
}

int main(void) {
  const struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
  stackpack_process_open(&process, modules, 8);
  ends[0] = (uintptr_t)__builtin_dwarf_cfa();
  getcontext(&contexts[1]);
  contexts[1].uc_stack.ss_sp = fiber_stack;
  contexts[1].uc_stack.ss_size = sizeof fiber_stack;
  makecontext(&contexts[1], fiber, 0);
  swapcontext(&contexts[0], &contexts[1]);
  if (stackpack_unwinder_open(&unwinder) != STACKPACK_OK || sigaction(SIGTRAP, &action, NULL) != 0)
    return 2;
  step_through();
  printf("complete %lu stopped %lu wrong %lu\n", complete, stopped, wrong);
  return wrong > 0 || stopped > complete;
}
