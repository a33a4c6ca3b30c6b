/* stack.c - walks the stack and updates the references in it.
 *
 * Seen from a collection, the stack is a row of calls that have not returned yet:
 *
 *   main               C, not managed: no stack map. The walk ends here.
 *   trees_run          managed: waits for tree_build
 *   tree_build         managed: waits for tree_build
 *   tree_build         managed: waits for heap_allocate. The walk starts here.
 *   heap_allocate ...  C: the collector itself
 *
 * The return address of each call is the key of a record. The record says how large the frame is,
 * which leads to the caller's frame and the next return address; and it lists pairs of locations,
 * base and derived: the spill slots of the references that the function goes on with after the
 * call. stackpack_walk_next does the first, stackpack_walk_update the second: an object is known by
 * its base, and a derived reference keeps its distance from it.
 *
 * How a walk must end is for its user to say. Here managed code is called by main alone, and calls
 * nothing that calls managed code again. So below every collection there is a row of managed
 * frames, and below these is C. Any other end means that frames were missed.
 */
#include "stack.h"

#include "bounds.h"
#include "die.h"

#include <inttypes.h>

/* One managed module, the program itself. Shared libraries without stack maps don't count. */
static struct stackpack_module modules[1];
static struct stackpack_process process;

/* By frame size, up to the first frame that is not managed. */

/* Recursion meets the same return addresses again and again. */
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
  if (answer != STACKPACK_WALK_AT_NATIVE)
    die("the stack walk stopped at address %#" PRIxPTR ": %s", walk.context.pc,
        stackpack_walk_text(answer));
  counts->frames += walk.managed_frames;
  if (walk.managed_frames > counts->deepest)
    counts->deepest = walk.managed_frames;
}
