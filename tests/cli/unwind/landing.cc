/* landing.cc - stops at each instruction of C++ exceptions that are thrown and caught, on x86-64. A walk that gets
 * to the end has met the function that catches.
 *
 * Shortly before libgcc goes on there, it overwrites the frame pointer that it has saved for its caller.
 */
#include "stackpack_unwind.h"

#include <csignal>
#include <cstdio>
#include <ucontext.h>

enum { TRAP_FLAG = 0x100, DEPTH = 3 };

static stackpack_unwinder unwinder;
static stackpack_process process;
static stackpack_module modules[8];
static stackpack_walker walker;
static uintptr_t stack_end;
static volatile sig_atomic_t stepping;
static unsigned long complete, stopped, wrong;

extern "C" void catches(void);
extern "C" void after_catches(void);

static void on_trap(int, siginfo_t *, void *ucontext) {
  static stackpack_walk walk;
  stackpack_walk_answer answer;
  bool is_met = false;
  if (!stepping)
    return;
  const stackpack_context context = stackpack_context_at_signal(ucontext);
  const stackpack_stack stack = {context.stack_pointer - 256, stack_end};
  stackpack_walk_start(&walk, &walker, stack, &context);
  while (stackpack_walk_is_frame(answer = stackpack_walk_next(&walk)))
    is_met = is_met ||
             (walk.context.pc >= (uintptr_t)catches && walk.context.pc < (uintptr_t)after_catches);
  if (answer != STACKPACK_WALK_NO_MANAGED)
    stopped++;
  else if (is_met)
    complete++;
  else
    wrong++;
}

static inline void step() {
  stepping = 1;
  asm volatile("pushfq; orl %0, (%%rsp); popfq" : : "i"(TRAP_FLAG) : "memory", "cc");
}

static inline void step_no_more() {
  asm volatile("pushfq; andl %0, (%%rsp); popfq" : : "i"(~TRAP_FLAG) : "memory", "cc");
  stepping = 0;
}

struct cleanup {
  ~cleanup() { asm volatile("" : : : "memory"); }
};

__attribute__((noinline)) static void throws(int depth) {
  cleanup object;
  if (depth == 0)
    throw depth;
  throws(depth - 1);
  asm volatile("");
}

extern "C" __attribute__((noinline)) void catches(void) {
  step();
  try {
    throws(DEPTH);
  } catch (int) {
    step_no_more();
  }
}

extern "C" __attribute__((noinline)) void after_catches(void) { asm volatile(""); }

int main() {
  struct sigaction action = {};
  action.sa_sigaction = on_trap;
  action.sa_flags = SA_SIGINFO;
  walker.process = &process;
  walker.managed = walker.native = STACKPACK_BY_UNWINDING;
  walker.unwind = stackpack_unwinder_step;
  walker.unwinder = &unwinder;
  stackpack_process_open(&process, modules, 8);
  stack_end = (uintptr_t)__builtin_dwarf_cfa();
  if (stackpack_unwinder_open(&unwinder) != STACKPACK_OK || sigaction(SIGTRAP, &action, NULL) != 0)
    return 2;
  catches();
  std::printf("complete %lu stopped %lu wrong %lu\n", complete, stopped, wrong);
  return wrong > 0 || stopped > complete / 2;
}
