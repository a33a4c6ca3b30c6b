/* preserving.c - stops at each instruction of a function that preserves nearly all registers, and of one that it calls, on
 * x86-64. The first one saves the registers that pass an exception to its handler, too, as libgcc's functions do; here
 * the words there are the caller's.
 */
#include "stepping.h"

enum { VALUE = 77 };

static uintptr_t stack_end;
static uintptr_t object[4] = {1, 2, 3, 4}; /* like an exception of _Unwind_ForcedUnwind */

extern const char in_inner[];
__attribute__((noinline)) static void inner(void) { __asm__ volatile("in_inner: nop"); }

__attribute__((noinline, preserve_most, used)) static void preserving(void) {
  inner();
  __asm__ volatile("");
}

/* Its frame pointer is the end of its frame. */
__attribute__((noinline)) static void calls(void) {
  uintptr_t *first = object;
  uintptr_t value = VALUE;
  step();
  __asm__ volatile("call preserving" : "+a"(first), "+c"(value) : : "memory");
  step_no_more();
  wrong += first != object || value != VALUE;
}

__attribute__((noinline)) static void after_calls(void) { __asm__ volatile(""); }

static bool is_in(uintptr_t pc, void (*start)(void), void (*end)(void)) {
  return pc >= (uintptr_t)start && pc < (uintptr_t)end;
}

/* Whether the caller's register is found in memory, beyond frames that wait. */
static bool has_value(struct stackpack_context context) {
  const struct stackpack_stack stack = {context.stack_pointer - 256, stack_end};
  enum { RCX = 2 };
  while (!is_in(context.pc, calls, after_calls))
    if (stackpack_unwinder_step(&unwinder, stack, &context) != STACKPACK_UNWOUND)
      return false;
  return ((context.known & context.in_memory) >> RCX & 1) != 0 && *(uintptr_t *)context.registers[RCX] == VALUE;
}

static void on_trap(int signal, siginfo_t *information, void *ucontext) {
  (void)signal, (void)information;
  const struct stackpack_context context = stackpack_context_at_signal(ucontext);
  if (!stepping || is_in(context.pc, calls, after_calls))
    return;
  count_walk(&context, stack_end, (uintptr_t)calls, (uintptr_t)after_calls);
  wrong += context.pc == (uintptr_t)in_inner && !has_value(context);
}

int main(void) {
  stack_end = (uintptr_t)__builtin_dwarf_cfa();
  if (!open_stepping(on_trap))
    return 2;
  calls();
  print_counts();
  return wrong > 0 || stopped > 0 || complete == 0;
}
