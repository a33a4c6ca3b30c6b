/* main.c - threads run managed code, while most of it is compiled and freed.
 *
 * A thread starts a chain of steps. Each step is managed: a function compiled at run time, or the
 * one compiled ahead of time. Between two steps, native code chooses the next one among the live
 * functions, and notes the expected value of its cell. So one stack has frames of all three kinds:
 *
 *   heap_allocate    native: the collector
 *   step_7           compiled at run time: waits with a list
 *   next_step        native: no stack map, passed by unwind tables
 *   step_ahead       compiled ahead of time, packed
 *   next_step        native
 *   step_4711        compiled at run time
 *   managed_call     native: the stack's end
 *
 * The main thread compiles functions and frees the oldest ones. Other threads run functions only
 * between stackpack_enter and stackpack_leave.
 */
#include "bounds.h"
#include "copier.h"
#include "die.h"
#include "frame.h"
#include "jit.h"
#include "managed_call.h"
#include "numbers.h"
#include "options.h"
#include "stackpack_unwind.h"
#include "steps.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { LIVE_MAX = 10000, DEPTH_MAX = 1000, CACHE_SHIFT = 9, BATCH = 16 };

static struct stackpack_process process;
static struct stackpack_module modules[1];

/* A function that may be called. */
struct live {
  struct jit_function *function;
  uint64_t factor;
};
static _Atomic(struct live *) lives[LIVE_MAX];
static uint64_t live_count = 100, depth = 12, kilobytes = 64;
static bool stress;
static atomic_bool is_over;
static atomic_uint_fast64_t chains, frames, collections;

/* A thread of managed code, with a heap of its own. */
struct thread {
  struct copier copier;
  struct stackpack_stack stack;
  struct stackpack_unwinder unwinder;
  struct stackpack_cache cache;
  uint64_t cache_memory[(STACKPACK_CACHE_LINE << CACHE_SHIFT) / sizeof(uint64_t)];
  struct stackpack_walker walker;
  uint64_t random, steps, frames;
  uint64_t expected[DEPTH_MAX + 1]; /* of the list's cells, the first one's first */
};
static _Thread_local struct thread *self;

/* ---- The collector ---- */

static void collect(const void *frame) {
  const struct stackpack_context context = waiting_context(*(const struct waiting_frame *)frame);
  struct stackpack_walk walk;
  enum stackpack_walk_answer answer;
  copier_start(&self->copier);
  stackpack_walk_start(&walk, &self->walker, self->stack, &context);
  while (stackpack_walk_is_frame(answer = stackpack_walk_next(&walk)))
    if (answer == STACKPACK_WALK_MANAGED)
      stackpack_walk_update(&walk, copier_forward, &self->copier);
  if (answer != STACKPACK_WALK_END)
    die("the stack walk stopped at address %#" PRIxPTR ": %s", walk.context.pc,
        stackpack_walk_text(answer));
  copier_finish(&self->copier);
  self->frames += walk.managed_frames;
}

/* See samples/semispace. */
void *heap_allocate_for_frame(uint64_t data_bytes, uint64_t references, uintptr_t return_address,
                              uintptr_t stack_pointer, uintptr_t frame_pointer);

void *heap_allocate_for_frame(uint64_t data_bytes, uint64_t references, uintptr_t return_address,
                              uintptr_t stack_pointer, uintptr_t frame_pointer) {
  const struct waiting_frame frame = {return_address, stack_pointer, frame_pointer};
  return copier_allocate(&self->copier, data_bytes, references, collect, &frame);
}

/* ---- Steps ---- */

static void note(uint64_t value) { self->expected[self->steps++] = value; }

list_ref next_step(list_ref list, uint64_t steps) {
  self->random = random_next(self->random);
  const struct live *live = atomic_load(&lives[self->random % live_count]);
  if (live == NULL || self->random >> 61 == 0) {
    note(steps * AHEAD);
    return step_ahead(list, steps);
  }
  note(steps * live->factor);
  return ((step *)jit_address(live->function))(list, steps);
}

static const char step_ir[] =
    "target datalayout = \"%s\"\n"
    "declare ptr addrspace(1) @heap_allocate(i64, i64)\n"
    "declare ptr addrspace(1) @next_step(ptr addrspace(1), i64)\n"
    "define ptr addrspace(1) @step_%" PRIu64 "(ptr addrspace(1) %%list, i64 %%depth)\n"
    "    uwtable \"frame-pointer\"=\"%s\" gc \"statepoint-example\" {\n"
    "  %%cell = call ptr addrspace(1) @heap_allocate(i64 8, i64 1)\n"
    "  %%value = mul i64 %%depth, %" PRIu64 "\n"
    "  store i64 %%value, ptr addrspace(1) %%cell\n"
    "  %%next = getelementptr i8, ptr addrspace(1) %%cell, i64 8\n"
    "  store ptr addrspace(1) %%list, ptr addrspace(1) %%next\n"
    "  %%is_last = icmp eq i64 %%depth, 0\n"
    "  br i1 %%is_last, label %%last, label %%more\n"
    "last:\n"
    "  ret ptr addrspace(1) %%cell\n"
    "more:\n"
    "  %%rest = sub i64 %%depth, 1\n"
    "  %%result = call ptr addrspace(1) @next_step(ptr addrspace(1) %%cell, i64 %%rest)\n"
    "  %%other = call ptr addrspace(1) @heap_allocate(i64 8, i64 0)\n"
    "  ret ptr addrspace(1) %%result\n"
    "}\n";

static struct live *compile_step(struct jit *jit, uint64_t number) {
  char ir[2 * sizeof step_ir], name[32];
  struct live *live = malloc(sizeof *live);
  if (live == NULL)
    die("no memory");
  live->factor = 2 * number + 1;
  snprintf(name, sizeof name, "step_%" PRIu64, number);
  snprintf(ir, sizeof ir, step_ir, "e-i64:64-n32:64-S128-ni:1", number,
           number % 2 == 0 ? "all" : "none", live->factor);
  live->function = jit_compile(jit, ir, name);
  return live;
}

/* Takes functions out of `lives`, and frees them. */
static void free_steps(struct jit *jit, uint64_t first, uint64_t count) {
  struct jit_function *functions[BATCH] = {0};
  struct live *taken[BATCH];
  size_t number = 0;
  for (uint64_t i = first; i < first + count; i++) {
    struct live *live = atomic_exchange(&lives[i % live_count], NULL);
    if (live != NULL) {
      functions[number] = live->function;
      taken[number++] = live;
    }
  }
  jit_free(jit, functions, number);
  for (size_t i = 0; i < number; i++)
    free(taken[i]);
}

/* ---- Threads ---- */

static void run_chain(void) {
  self->steps = 0;
  const unsigned ticket = stackpack_enter(&process);
  const uintptr_t list =
      (uintptr_t)managed_call((managed_function *)next_step, &self->stack.end, 0, depth, 0, 0);
  stackpack_leave(&process, ticket);
  for (uint64_t i = 0; i <= depth; i++)
    if (list_take((list_ref)list, i) != self->expected[depth - i])
      die("cell %" PRIu64 " of the list has another value", i);
  if (list_take((list_ref)list, depth + 1) != UINT64_MAX)
    die("the list is too long");
}

static void *run_thread(void *seed) {
  self = calloc(1, sizeof *self);
  if (self == NULL || stackpack_unwinder_open(&self->unwinder) != STACKPACK_OK)
    die("no memory");
  copier_open(&self->copier, kilobytes * 1024, stress);
  stackpack_cache_open(&self->cache, self->cache_memory, CACHE_SHIFT);
  self->stack = bounds_of_thread();
  self->random = 88172645463325252u + (uintptr_t)seed;
  self->walker = (struct stackpack_walker){.process = &process,
                                           .cache = &self->cache,
                                           .native = STACKPACK_BY_UNWINDING,
                                           .unwind = stackpack_unwinder_step,
                                           .unwinder = &self->unwinder};
  uint64_t own_chains = 0;
  for (; !atomic_load(&is_over) || own_chains == 0; own_chains++)
    run_chain();
  atomic_fetch_add(&chains, own_chains);
  atomic_fetch_add(&frames, self->frames);
  atomic_fetch_add(&collections, self->copier.collections);
  copier_close(&self->copier);
  stackpack_unwinder_close(&self->unwinder);
  free(self);
  return NULL;
}

int main(int argc, char **argv) {
  enum { THREADS_MAX = 64 };
  uint64_t functions = 200, thread_count = 4;
  bool statistics = false;
  pthread_t threads[THREADS_MAX];
  options_take(argc, argv,
               (const struct option_row[]){
                   {"functions", "how many are compiled", NULL, &functions, 1, 10000000},
                   {"live", "how many of them at once", NULL, &live_count, BATCH, LIVE_MAX},
                   {"threads", "that run them", NULL, &thread_count, 1, THREADS_MAX},
                   {"depth", "of a chain of calls", NULL, &depth, 0, DEPTH_MAX - 1},
                   {"heap", "the size of a thread's spaces, in KiB", NULL, &kilobytes, 4, 100000},
                   {"stress", "collect at every allocation", .flag = &stress},
                   {"statistics", "say on stderr what was done", .flag = &statistics},
                   {0},
               });
  const enum stackpack_error error = stackpack_process_open(&process, modules, 1);
  if (error != STACKPACK_OK)
    die("cannot open the stack maps: %s", stackpack_error_text(error));
  struct jit *jit = jit_open(&process);
  for (uintptr_t i = 0; i < thread_count; i++)
    if (pthread_create(&threads[i], NULL, run_thread, (void *)i) != 0)
      die("cannot create a thread");
  for (uint64_t number = 0; number < functions; number++) {
    if (number % BATCH == 0 && number >= live_count - BATCH)
      free_steps(jit, number, BATCH);
    struct live *live = compile_step(jit, number);
    if (atomic_exchange(&lives[number % live_count], live) != NULL)
      die("a function is lost");
  }
  atomic_store(&is_over, true);
  for (uint64_t i = 0; i < thread_count; i++)
    pthread_join(threads[i], NULL);
  for (uint64_t i = 0; i < live_count; i += BATCH)
    free_steps(jit, i, live_count - i < BATCH ? live_count - i : BATCH);
  jit_close(jit);
  stackpack_process_close(&process);
  printf("%" PRIu64 " functions compiled and freed\n", functions);
  if (statistics)
    fprintf(stderr, "chains: %" PRIu64 "\ncollections: %" PRIu64 "\nframes walked: %" PRIu64 "\n",
            atomic_load(&chains), atomic_load(&collections), atomic_load(&frames));
  return 0;
}
