/* roots.c - walks all the fibers' stacks and updates the references on them.
 *
 * During a collection at most one fiber runs: the caller of the allocator. Its walk starts with the
 * frame that has called the allocator. The suspended fibers hold references as well, and their
 * objects may move many times before they run again. So their stacks are walked, too. A suspended
 * stack's youngest frame is in the saved context:
 *
 *   running                         suspended
 *
 *     heap_allocate   <- here         fiber_await       the switch: no frame
 *     list_merge         starts       sort_task         <- here starts the walk, with
 *     sort_task          the walk                          context.pc and .stack_pointer
 *     ----- end of the stack -----    ----- end of the stack -----
 *
 * A walk stays within the bounds of its stack, and must reach its end: a fiber's oldest frame is a
 * managed function's, on an empty stack. Any other end is a mistake, and stops the program: each
 * reference left behind is a lost object.
 *
 * Code compiled to keep references in callee-saved registers would have roots in the registers that
 * context_switch has saved. This sample's code has none there; the contexts give their places all
 * the same, as a runtime should.
 *
 * A fiber's argument before its start, and a result until it is taken, are in the scheduler's
 * memory, outside the stack maps. They are updated here by name.
 */
#include "roots.h"

#include "die.h"
#include "scheduler.h"

#include <inttypes.h>
#include <stdbool.h>

/* One managed module, the program itself. */
static struct stackpack_module modules[1];
static struct stackpack_process process;

/* All fibers run the same code, so return addresses recur. */
enum { CACHE_SHIFT = 7 };
static uint64_t cache_memory[(STACKPACK_CACHE_LINE << CACHE_SHIFT) / sizeof(uint64_t)];
static struct stackpack_cache cache;

static const struct stackpack_walker walker = {.process = &process, .cache = &cache};

void roots_open(void) {
  enum stackpack_error error =
      stackpack_process_open(&process, modules, sizeof modules / sizeof modules[0]);
  if (error != STACKPACK_OK)
    die("cannot open the stack maps: %s", stackpack_error_text(error));
  stackpack_cache_open(&cache, cache_memory, CACHE_SHIFT);
}

void roots_close(void) { stackpack_process_close(&process); }

/* The DWARF numbers of context.registers. */
static const uint8_t numbers[CONTEXT_REGISTERS] = {
#if defined __x86_64__
    STACKPACK_RBP, STACKPACK_RBX, STACKPACK_R12, STACKPACK_R13, STACKPACK_R14, STACKPACK_R15,
#elif defined __aarch64__
    29, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28,
#elif defined __riscv
    8, 9, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27,
#endif
};

static struct stackpack_context suspended_context(struct fiber *fiber) {
  struct context *saved = &fiber->context;
  struct stackpack_context context = {.pc = saved->pc, .stack_pointer = saved->stack_pointer};
  for (unsigned i = 0; i < CONTEXT_REGISTERS; i++)
    stackpack_context_save(&context, numbers[i], &saved->registers[i]);
  return context;
}

/* Returns the number of frames. */
static uint64_t stack_update(const struct fiber *fiber, const struct stackpack_context *context,
                             stackpack_forward *forward, void *heap) {
  struct stackpack_walk walk;
  enum stackpack_walk_answer answer;
  stackpack_walk_start(&walk, &walker, fiber->stack, context);
  while (stackpack_walk_is_frame(answer = stackpack_walk_next(&walk)))
    stackpack_walk_update(&walk, forward, heap);
  if (answer != STACKPACK_WALK_END)
    die("the walk of fiber %" PRIu64 " ends at %#" PRIxPTR ": %s", fiber->number, walk.context.pc,
        stackpack_walk_text(answer));
  return walk.managed_frames;
}

static void fiber_update(struct fiber *fiber, const struct stackpack_context *running,
                         stackpack_forward *forward, void *heap, struct roots_counts *counts) {
  if (fiber->value != 0)
    fiber->value = forward(heap, fiber->value);
  uint64_t frames = 0;
  if (fiber->state == FIBER_RUNNING) {
    frames = stack_update(fiber, running, forward, heap);
    counts->running++;
  } else if (fiber->state == FIBER_SUSPENDED) {
    struct stackpack_context context = suspended_context(fiber);
    frames = stack_update(fiber, &context, forward, heap);
    counts->suspended++;
    counts->suspended_frames += frames;
  }
  counts->frames += frames;
  if (frames > counts->deepest)
    counts->deepest = frames;
}

void roots_update(const struct stackpack_context *running, stackpack_forward *forward, void *heap,
                  struct roots_counts *counts) {
  for (size_t i = 0; i < scheduler_fibers(); i++)
    fiber_update(scheduler_fiber(i), running, forward, heap, counts);
}
