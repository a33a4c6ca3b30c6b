/* landing.cc - stops at each instruction of C++ exceptions that are thrown and caught, on x86-64. A walk that gets
 * to the end has met the function that catches.
 *
 * Shortly before libgcc goes on there, it overwrites the frame pointer that it has saved for its caller.
 */
#include "stepping.h"

enum { DEPTH = 3 };

static uintptr_t stack_end;

extern "C" void catches(void);
extern "C" void after_catches(void);

static void on_trap(int, siginfo_t *, void *ucontext) {
  if (!stepping)
    return;
  const stackpack_context context = stackpack_context_at_signal(ucontext);
  count_walk(&context, stack_end, (uintptr_t)catches, (uintptr_t)after_catches);
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
  stack_end = (uintptr_t)__builtin_dwarf_cfa();
  if (!open_stepping(on_trap))
    return 2;
  catches();
  print_counts();
  return wrong > 0 || stopped > complete / 2;
}
