/* stepping.h - for tests in C and C++ that stop at each instruction, on x86-64, and count what walks from there say. */
#ifndef STEPPING_H
#define STEPPING_H

#include "stackpack_unwind.h"

#include <signal.h>
#include <stdio.h>

enum { TRAP_FLAG = 0x100 };

static struct stackpack_unwinder unwinder;
static struct stackpack_process process;
static struct stackpack_module modules[8];
static struct stackpack_walker walker;
static volatile sig_atomic_t stepping;
static unsigned long complete, stopped, wrong;

static inline __attribute__((always_inline)) void step(void) {
  stepping = 1;
  __asm__ volatile("pushfq; orl %0, (%%rsp); popfq" : : "i"(TRAP_FLAG) : "memory", "cc");
}

static inline __attribute__((always_inline)) void step_no_more(void) {
  __asm__ volatile("pushfq; andl %0, (%%rsp); popfq" : : "i"(~TRAP_FLAG) : "memory", "cc");
  stepping = 0;
}

/* A walk that gets to the end of the stack has met a function: [start, end). */
static void count_walk(const struct stackpack_context *context, uintptr_t stack_end, uintptr_t start, uintptr_t end) {
  static struct stackpack_walk walk;
  enum stackpack_walk_answer answer;
  const struct stackpack_stack stack = {context->stack_pointer - 256, stack_end};
  bool is_met = false;
  stackpack_walk_start(&walk, &walker, stack, context);
  while (stackpack_walk_is_frame(answer = stackpack_walk_next(&walk)))
    is_met |= walk.context.pc >= start && walk.context.pc < end;
  if (answer != STACKPACK_WALK_NO_MANAGED)
    stopped++;
  else if (is_met)
    complete++;
  else
    wrong++;
}

/* False: there is no unwinder, or no handler. */
static bool open_stepping(void (*on_trap)(int, siginfo_t *, void *)) {
  struct sigaction action;
  sigemptyset(&action.sa_mask);
  action.sa_sigaction = on_trap;
  action.sa_flags = SA_SIGINFO;
  walker.process = &process;
  walker.managed = walker.native = STACKPACK_BY_UNWINDING;
  walker.unwind = stackpack_unwinder_step;
  walker.unwinder = &unwinder;
  (void)stackpack_process_open(&process, modules, 8); /* no module has stack maps */
  return stackpack_unwinder_open(&unwinder) == STACKPACK_OK && sigaction(SIGTRAP, &action, NULL) == 0;
}

static void print_counts(void) { printf("complete %lu stopped %lu wrong %lu\n", complete, stopped, wrong); }

#endif
