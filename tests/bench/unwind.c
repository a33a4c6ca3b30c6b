/* unwind.c - a frame's cost by unwind tables: our unwinding walker beside libunwind alone, and
 * beside libgcc's _Unwind_Backtrace.
 *
 * The stack is of C functions that keep no frame pointer, with the C library's qsort in between. All
 * take turns, and each gets the median of its times. Prints JSON.
 */
#include "runtime/stackpack_unwind.h"
#include "timing.h"

#define UNW_LOCAL_ONLY
#include <libunwind.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unwind.h>

enum { DEPTH = 1000, ROUNDS = 31 };

static struct stackpack_unwinder unwinder;
static struct stackpack_process process;
static struct stackpack_module modules[1];
static struct stackpack_stack stack;
static const struct stackpack_walker walker = {.process = &process,
                                               .managed = STACKPACK_BY_UNWINDING,
                                               .native = STACKPACK_BY_UNWINDING,
                                               .unwind = stackpack_unwinder_step,
                                               .unwinder = &unwinder};

static _Noreturn void fail(const char *what) {
  fprintf(stderr, "unwind: %s\n", what);
  exit(2);
}

/* ---- The ways: each returns the number of frames ---- */

static void walk_from(struct stackpack_context *context, void *frames) {
  struct stackpack_walk walk;
  enum stackpack_walk_answer answer;
  stackpack_walk_start(&walk, &walker, stack, context);
  while (stackpack_walk_is_frame(answer = stackpack_walk_next(&walk)))
    ++*(unsigned *)frames;
  if (answer >= STACKPACK_WALK_NOT_SAFEPOINT)
    fail(stackpack_walk_text(answer));
}
static unsigned by_walker(void) {
  unsigned frames = 0;
  stackpack_unwinder_call(walk_from, &frames);
  return frames;
}

/* As at a program's first collection. */
static unsigned by_new_walker(void) {
  stackpack_unwinder_forget(&unwinder);
  return by_walker();
}

static unsigned by_libunwind(void) {
  unw_context_t context;
  unw_cursor_t cursor;
  unw_word_t pc;
  unsigned frames = 0;
  unw_getcontext(&context);
  unw_init_local(&cursor, &context);
  do {
    unw_get_reg(&cursor, UNW_REG_IP, &pc);
    frames++;
  } while (unw_step(&cursor) > 0);
  return frames;
}

static _Unwind_Reason_Code count_frame(struct _Unwind_Context *context, void *frames) {
  (void)context;
  ++*(unsigned *)frames;
  return _URC_NO_REASON;
}
static unsigned by_libgcc(void) {
  unsigned frames = 0;
  _Unwind_Backtrace(count_frame, &frames);
  return frames;
}

static const struct way {
  const char *name;
  unsigned (*walk)(void);
} ways[] = {{"by unwinding", by_walker},
            {"by unwinding, forgetting all at each walk", by_new_walker},
            {"libunwind", by_libunwind},
            {"_Unwind_Backtrace", by_libgcc}};
enum { WAYS = sizeof ways / sizeof *ways };

/* ---- All of them ---- */

static void measure(void) {
  static double times[WAYS][ROUNDS];
  for (unsigned round = 0; round < ROUNDS; round++)
    for (unsigned i = 0; i < WAYS; i++) {
      const double start = processor_time();
      const unsigned frames = ways[i].walk();
      times[i][round] = (processor_time() - start) / frames;
      if (frames < DEPTH)
        fail("frames are missing");
    }
  printf("[");
  for (unsigned i = 0; i < WAYS; i++) {
    printf("%s{\"name\": \"%s\", \"frame_ns\": %.1f}", i == 0 ? "" : ",\n ", ways[i].name,
           median(times[i], ROUNDS));
  }
  printf("]\n");
}

static unsigned depth;
static void recurse(void);
static int compare(const void *a, const void *b) {
  if (depth++ < DEPTH / 6)
    recurse();
  else if (depth == DEPTH / 6 + 1)
    measure();
  return *(const int *)a - *(const int *)b;
}
static void recurse(void) {
  int numbers[] = {2, 1};
  qsort(numbers, 2, sizeof numbers[0], compare);
}

__attribute__((noinline)) static void deep(unsigned n) {
  if (n > 0)
    deep(n - 1);
  else
    recurse();
  __asm__ volatile(""); /* no tail call */
}

int main(void) {
  pthread_attr_t attributes;
  void *low;
  size_t size;
  if (stackpack_unwinder_open(&unwinder) != STACKPACK_OK ||
      stackpack_process_open(&process, modules, 1) != STACKPACK_NO_STACK_MAPS)
    fail("can't be opened");
  if (pthread_getattr_np(pthread_self(), &attributes) != 0 ||
      pthread_attr_getstack(&attributes, &low, &size) != 0)
    fail("the stack isn't known");
  pthread_attr_destroy(&attributes);
  stack = (struct stackpack_stack){(uintptr_t)low, (uintptr_t)low + size};
  deep(DEPTH / 2);
  stackpack_unwinder_close(&unwinder);
  return 0;
}
