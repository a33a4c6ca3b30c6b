/* moving.h - a collector of a few objects of one word: managed code has `allocate`; and at a safepoint all objects move,
 * and a reference to an old place is wrong. Prints how the walk ended. */
#include <stackpack.h>

#include <stdio.h>
#include <stdlib.h>

static struct stackpack_module modules[4];
static struct stackpack_process process;
static const struct stackpack_walker walker = {.process = &process};
static long space[2][8], used, active;

void *allocate(long value) {
  space[active][used] = value;
  return &space[active][used++];
}

static void open_process(void) {
  if (stackpack_process_open(&process, modules, 4) != STACKPACK_OK)
    abort();
}

static uintptr_t forward(void *closure, uintptr_t base) {
  (void)closure;
  return (uintptr_t)(space[!active] + ((long *)base - space[active]));
}

static void move_objects(const struct stackpack_context *context) {
  const struct stackpack_stack stack = {context->stack_pointer, UINTPTR_MAX & ~(uintptr_t)7};
  struct stackpack_walk walk;
  enum stackpack_walk_answer answer;
  stackpack_walk_start(&walk, &walker, stack, context);
  while (stackpack_walk_is_frame(answer = stackpack_walk_next(&walk)))
    stackpack_walk_update(&walk, forward, NULL);
  for (long i = 0; i < used; i++) {
    space[!active][i] = space[active][i];
    space[active][i] = -1000000;
  }
  active = !active;
  printf("%s, %d frames\n", stackpack_walk_text(answer), (int)walk.managed_frames);
}
