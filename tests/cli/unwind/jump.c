/* jump.c - stops at each instruction of longjmp and setcontext, on x86-64. A walk that meets the function where these go
 * on has its stack pointer.
 *
 * Their unwind rules go by the address of the memory that has the registers; here it is in that function's frame.
 */
#include "stepping.h"

#include <setjmp.h>
#include <ucontext.h>

static uintptr_t stack_end, stack_pointer;

/* Those are wrong, too. */
static void count_frames(const struct stackpack_context *context, uintptr_t start, uintptr_t end) {
  static struct stackpack_walk walk;
  const struct stackpack_stack stack = {context->stack_pointer - 256, stack_end};
  stackpack_walk_start(&walk, &walker, stack, context);
  while (stackpack_walk_is_frame(stackpack_walk_next(&walk)))
    if (walk.context.pc - 1 >= start && walk.context.pc < end)
      wrong += walk.context.stack_pointer != stack_pointer;
}

__attribute__((noinline)) static void jump(struct __jmp_buf_tag *buffer) {
  stack_pointer = (uintptr_t)__builtin_dwarf_cfa();
  step();
  longjmp(buffer, 1);
}

__attribute__((noinline)) static void set(const ucontext_t *buffer) {
  stack_pointer = (uintptr_t)__builtin_dwarf_cfa();
  step();
  setcontext(buffer);
}

__attribute__((noinline)) void goes_on(void) {
  jmp_buf buffer;
  ucontext_t context;
  volatile bool is_set = false;
  if (setjmp(buffer) == 0)
    jump(buffer);
  step_no_more();
  getcontext(&context);
  if (!is_set) {
    is_set = true;
    set(&context);
  }
  step_no_more();
}

__attribute__((noinline)) void after_goes_on(void) { __asm__ volatile(""); }

static void on_trap(int signal, siginfo_t *information, void *ucontext) {
  const struct stackpack_context context = stackpack_context_at_signal(ucontext);
  const uintptr_t start = (uintptr_t)goes_on, end = (uintptr_t)after_goes_on;
  (void)signal, (void)information;
  if (!stepping || (context.pc >= start && context.pc < end))
    return;
  count_walk(&context, stack_end, start, end);
  count_frames(&context, start, end);
}

int main(void) {
  stack_end = (uintptr_t)__builtin_dwarf_cfa();
  if (!open_stepping(on_trap))
    return 2;
  goes_on();
  print_counts();
  return wrong > 0 || stopped > complete;
}
