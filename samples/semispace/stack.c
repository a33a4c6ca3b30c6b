/* stack.c - walks the stack and updates the references in it.
 *
 * During a collection, the stack is a row of calls that have yet to return:
 *
 *   main, stack_run    C, not managed: no stack map. The walk ends here.
 *   trees_run          managed: waits for tree_build
 *   tree_build         managed: waits for tree_build
 *   tree_build         managed: waits for heap_allocate. The walk starts here.
 *   heap_allocate ...  C: the collector itself
 *
 * The return address of each call is the key of a record. The record has the size of the frame, by
 * which stackpack_walk_next finds the caller's frame and the next return address. It also lists
 * pairs of locations, base and derived: the spill slots of the references that the function uses
 * after the call. stackpack_walk_update forwards the object at each base, and keeps the distance of
 * the derived reference.
 *
 * The end of a walk is the stack pointer at which stack_run called the oldest managed function.
 * Only the answer STACKPACK_WALK_END means that the walk got there. STACKPACK_WALK_AT_NATIVE is an
 * error: managed code may have called that frame of C, and its references would be lost. In this
 * sample, C functions that managed code calls never call managed code: stack_run enforces it. (In
 * samples/handles they do.)
 */
#include "stack.h"

#include "bounds.h"
#include "die.h"
#include "managed_call.h"

#include <inttypes.h>

/* One managed module, the program itself. Shared libraries without stack maps take no place. */
static struct stackpack_module modules[1];
static struct stackpack_process process;

/* With recursion, return addresses recur. */
enum { CACHE_SHIFT = 7 };
static uint64_t cache_memory[(STACKPACK_CACHE_LINE << CACHE_SHIFT) / sizeof(uint64_t)];
static struct stackpack_cache cache;

static const struct stackpack_walker walker = {.process = &process, .cache = &cache};
static struct stackpack_stack stack;

void stack_open(void) {
  enum stackpack_error error =
      stackpack_process_open(&process, modules, sizeof modules / sizeof modules[0]);
  if (error != STACKPACK_OK)
    die("cannot open the stack maps: %s", stackpack_error_text(error));
  stackpack_cache_open(&cache, cache_memory, CACHE_SHIFT);
  stack = bounds_of_thread();
}

void stack_close(void) { stackpack_process_close(&process); }

uint64_t stack_run(uint64_t (*workload)(uint64_t size), uint64_t size) {
  static bool is_running;
  if (is_running)
    die("managed code leads to a call of managed code");
  is_running = true;
  const uint64_t result = managed_call((managed_function *)workload, &stack.end, size, 0, 0, 0);
  is_running = false;
  return result;
}

static void count_roots(struct stackpack_walk *walk, struct stack_counts *counts) {
  struct stackpack_root root;
  while (stackpack_walk_root(walk, &root)) {
    counts->pairs++;
    counts->derived += root.derived_value != root.base_value;
  }
}

void stack_update(const struct stackpack_context *context, stackpack_forward *forward, void *heap,
                  struct stack_counts *counts) {
  struct stackpack_walk walk;
  enum stackpack_walk_answer answer;
  stackpack_walk_start(&walk, &walker, stack, context);
  while (stackpack_walk_is_frame(answer = stackpack_walk_next(&walk))) {
    count_roots(&walk, counts);
    stackpack_walk_update(&walk, forward, heap);
  }
  if (answer != STACKPACK_WALK_END)
    die("the stack walk stopped at address %#" PRIxPTR ": %s", walk.context.pc,
        stackpack_walk_text(answer));
  counts->frames += walk.managed_frames;
  if (walk.managed_frames > counts->deepest)
    counts->deepest = walk.managed_frames;
}
