/* walk.c - a frame's cost: walks over a deep stack of managed frames, in each way, and by this
 * system's other walkers.
 *
 * The stack is walk.ll's, with unwind tables. As `walk` it has a frame pointer in every
 * function, and its references are in slots; as `walk-registers` it has no frame pointers, and its
 * references are in registers that functions save. A walk passes its frames only, or updates their
 * references, too; the look-up of each return address is its minimum. All take turns,
 * and each gets the median of its times. Prints JSON.
 */
#include "runtime/stackpack.h"
#include "timing.h"

#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unwind.h>

enum { DEPTH = 1000, ROUNDS = 31, CACHE_SHIFT = 9 };

/* walk.ll */
void bench_even(int64_t depth, void *a, void *b);
/* For it. */
void bench_use(const void *a, const void *b);
void bench_walk_from(uintptr_t return_address, uintptr_t stack_pointer,
                     struct stackpack_registers *registers);

static struct stackpack_module modules[4];
static struct stackpack_process process;
static uint64_t cache_memory[(STACKPACK_CACHE_LINE << CACHE_SHIFT) / sizeof(uint64_t)];
static struct stackpack_cache cache;
static struct stackpack_stack stack;

void bench_use(const void *a, const void *b) { __asm__ volatile("" : : "r"(a), "r"(b)); }

static _Noreturn void fail(const char *what) {
  fprintf(stderr, "walk: %s\n", what);
  exit(2);
}

/* ---- The ways ---- */

struct way {
  const char *name;
  struct stackpack_walker walker; /* all zeros: not one of ours */
  bool updates;
};

static uintptr_t stay(void *closure, uintptr_t base) {
  (void)closure;
  return base;
}

static uint64_t walk_stackpack(const struct way *way, const struct stackpack_context *context) {
  struct stackpack_walk walk;
  enum stackpack_walk_answer answer;
  stackpack_walk_start(&walk, &way->walker, stack, context);
  while (stackpack_walk_is_frame(answer = stackpack_walk_next(&walk)))
    if (way->updates)
      stackpack_walk_update(&walk, stay, NULL);
  if (answer != STACKPACK_WALK_AT_NATIVE || walk.managed_frames != DEPTH + 1)
    fail(stackpack_walk_text(answer));
  return walk.managed_frames;
}

static _Unwind_Reason_Code count_frame(struct _Unwind_Context *context, void *count) {
  (void)context;
  ++*(uint64_t *)count;
  return _URC_NO_REASON;
}

static uint64_t walk_libgcc(void) {
  uint64_t count = 0;
  _Unwind_Backtrace(count_frame, &count);
  if (count <= DEPTH)
    fail("_Unwind_Backtrace meets fewer frames");
  return count;
}

/* Nanoseconds a frame. */
static double time_walk(const struct way *way, const struct stackpack_context *context) {
  const double start = processor_time();
  const uint64_t frames =
      way->walker.process == NULL ? walk_libgcc() : walk_stackpack(way, context);
  return (processor_time() - start) / (double)frames;
}

/* ---- All of them ---- */

void bench_walk_from(uintptr_t return_address, uintptr_t stack_pointer,
                     struct stackpack_registers *registers) {
#define BY_TABLE .process = &process
  const struct way ways[] = {
      {"by the table", {BY_TABLE}, false},
      {"by the table, updating", {BY_TABLE}, true},
      {"by the table, with a cache", {BY_TABLE, .cache = &cache}, false},
      {"by the table, with a cache, updating", {BY_TABLE, .cache = &cache}, true},
      {"_Unwind_Backtrace", {.process = NULL}, false},
  };
  enum { WAYS = sizeof ways / sizeof *ways };
  static double times[WAYS][ROUNDS];
  const struct stackpack_context context =
      stackpack_context_at_call(return_address, stack_pointer, registers);
  json_t *list = json_array();
  for (unsigned round = 0; round < ROUNDS; round++)
    for (unsigned i = 0; i < WAYS; i++)
      times[i][round] = time_walk(&ways[i], &context);
  for (unsigned i = 0; i < WAYS; i++) {
    json_array_append_new(
        list, json_pack("{s:s, s:f}", "name", ways[i].name, "frame_ns", median(times[i], ROUNDS)));
  }
  json_t *all = json_pack("{s:i, s:o}", "frames", DEPTH + 1, "walks", list);
  json_dumpf(all, stdout, JSON_INDENT(1));
  putchar('\n');
  json_decref(all);
}

int main(void) {
  static uint64_t objects[4];
  pthread_attr_t attributes;
  void *lowest;
  size_t size;
  if (stackpack_process_open(&process, modules, 4) != STACKPACK_OK)
    fail("no stack maps");
  if (pthread_getattr_np(pthread_self(), &attributes) != 0 ||
      pthread_attr_getstack(&attributes, &lowest, &size) != 0)
    fail("the stack isn't known");
  pthread_attr_destroy(&attributes);
  stack = (struct stackpack_stack){(uintptr_t)lowest, (uintptr_t)lowest + size};
  stackpack_cache_open(&cache, cache_memory, CACHE_SHIFT);
  bench_even(DEPTH, &objects[0], &objects[2]);
  stackpack_process_close(&process);
  return 0;
}
