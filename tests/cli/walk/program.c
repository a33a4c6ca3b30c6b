/* program.c - runs one of the managed functions, and at each safepoint walks the stack by the options, and moves all
 * objects. Prints how each walk ended, and the managed function's finding afterwards:
 * a root that was missed shows in the sum.
 *
 *   program FUNCTION [caller] [chain] [no-registers] [resume] [exact]
 *     caller        by way of in_caller
 *     chain         native frames, too, by frame pointer
 *     no-registers  the walk starts without their places
 *     resume        after native frames at the next of calls_out
 *     exact         the stack's end is declared where the oldest managed frame ends
 */
#include <stackpack.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int64_t plain(int64_t n), dynamic(int64_t n), based(int64_t n), pushes(int64_t n), out(int64_t n);
int64_t in_caller(int64_t n, int64_t (*callee)(int64_t n));
int compare(const void *a, const void *b);

static struct stackpack_module modules[4];
static struct stackpack_process process;
static struct stackpack_walker walker = {.process = &process};
static struct stackpack_stack stack;
static bool with_registers = true, with_resume, with_exact_end;

/* See stubs.S. */
uintptr_t managed_end;
int64_t call_managed(void *function, int64_t n, void *callee);

/* ---- Objects ---- */

enum { HEAP_WORDS = 1024, SPACES = 64 };
static int64_t spaces[SPACES][HEAP_WORDS]; /* each is used once, and stays wrong */
static int64_t *space = spaces[0];
static size_t used;

int64_t *allocate(int64_t n) {
  int64_t *object = space + used;
  used += (size_t)n + 1;
  object[0] = n;
  return object;
}

void touch(void *memory) { *(volatile int64_t *)memory = 1; }

static uint64_t forwarded;

static uintptr_t forward(void *closure, uintptr_t base) {
  forwarded++;
  return base - (uintptr_t)space + (uintptr_t)closure;
}

/* ---- Walking ---- */

struct call_out {
  const struct call_out *before;
  uintptr_t return_address, stack_pointer;
};
const struct call_out *calls_out;

static enum stackpack_walk_answer walk_all(struct stackpack_walk *walk, int64_t *target) {
  const struct call_out *next = with_resume ? calls_out : NULL;
  for (;;) {
    enum stackpack_walk_answer answer;
    while (stackpack_walk_is_frame(answer = stackpack_walk_next(walk)))
      if (answer == STACKPACK_WALK_MANAGED)
        stackpack_walk_update(walk, forward, target);
    if (answer != STACKPACK_WALK_AT_NATIVE || next == NULL)
      return answer;
    const struct stackpack_context context =
        stackpack_context_at_call(next->return_address, next->stack_pointer, NULL);
    stackpack_walk_resume(walk, stack, &context);
    next = next->before;
  }
}

void collect_at(uintptr_t return_address, uintptr_t stack_pointer,
                struct stackpack_registers *registers) {
  int64_t *target = space + HEAP_WORDS;
  const struct stackpack_context context =
      stackpack_context_at_call(return_address, stack_pointer, with_registers ? registers : NULL);
  struct stackpack_walk walk;
  forwarded = 0;
  if (target == spaces[SPACES - 1])
    abort();
  if (with_exact_end)
    stack.end = managed_end;
  stackpack_walk_start(&walk, &walker, stack, &context);
  memcpy(target, space, sizeof spaces[0]);
  const enum stackpack_walk_answer answer = walk_all(&walk, target);
  for (size_t i = 0; i < HEAP_WORDS; i++)
    space[i] = -1000000; /* remaining references are wrong now */
  space = target;
  printf("%s, %" PRIu64 " managed frames, %" PRIu64 " forwarded\n", stackpack_walk_text(answer),
         walk.managed_frames, forwarded);
}

void native(void) {
  int numbers[2] = {1, 2};
  qsort(numbers, 2, sizeof *numbers, compare);
}

/* ---- Options ---- */

static void take_option(const char *option) {
  if (strcmp(option, "chain") == 0)
    walker.native = STACKPACK_BY_FRAME_POINTER;
  else if (strcmp(option, "no-registers") == 0)
    with_registers = false;
  else if (strcmp(option, "resume") == 0)
    with_resume = true;
  else if (strcmp(option, "exact") == 0)
    with_exact_end = true;
  else
    abort();
}

static int64_t (*function_of(const char *name))(int64_t n) {
  static const struct {
    const char *name;
    int64_t (*function)(int64_t n);
  } functions[] = {
      {"plain", plain}, {"dynamic", dynamic}, {"based", based}, {"pushes", pushes}, {"out", out}};
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
    if (strcmp(functions[i].name, name) == 0)
      return functions[i].function;
  abort();
}

int main(int argc, char **argv) {
  pthread_attr_t attributes;
  void *lowest;
  size_t size;
  bool by_caller = false;
  for (int i = 2; i < argc; i++)
    if (strcmp(argv[i], "caller") == 0)
      by_caller = true;
    else
      take_option(argv[i]);
  if (argc < 2 || pthread_getattr_np(pthread_self(), &attributes) != 0 ||
      pthread_attr_getstack(&attributes, &lowest, &size) != 0 ||
      stackpack_process_open(&process, modules, 4) != STACKPACK_OK)
    abort();
  pthread_attr_destroy(&attributes);
  stack = (struct stackpack_stack){(uintptr_t)lowest, (uintptr_t)lowest + size};
  int64_t (*const function)(int64_t n) = function_of(argv[1]);
  const int64_t sum = by_caller ? call_managed((void *)in_caller, 7, (void *)function)
                                : call_managed((void *)function, 7, NULL);
  printf("found %" PRId64 "\n", sum);
  stackpack_process_close(&process);
  return 0;
}
