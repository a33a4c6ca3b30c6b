/* scheduler.c - makes fibers, and chooses the next one to run.
 *
 * The scheduler is a loop: it takes a ready fiber, switches to it, and after the switch back
 * carries out the fiber's request. The choice is random, so that the fibers meet in different ways,
 * and the same seed gives the same order.
 *
 * A stack is a mapping with an inaccessible page below. The collector's walks stay within its
 * bounds.
 */
#include "scheduler.h"

#include "die.h"
#include "numbers.h"
#include "sanitizer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { STACK_BYTES = 512 * 1024, GUARD_BYTES = 4096 };

/* For context.S: the place to save the running fiber's context, and the scheduler's context. */
struct context *scheduler_running;
struct context scheduler_context;
void fiber_begin(void);

/* A list of fibers in one piece of memory. */
struct list {
  struct fiber **fibers;
  size_t count, capacity;
};

static struct list all, ready, unused;
static uint64_t random_number;
static uint64_t switches;

static void list_add(struct list *list, struct fiber *fiber) {
  if (list->count == list->capacity) {
    list->capacity = list->capacity ? 2 * list->capacity : 16;
    list->fibers = realloc(list->fibers, list->capacity * sizeof list->fibers[0]);
    if (!list->fibers)
      die("out of memory for fibers");
  }
  list->fibers[list->count++] = fiber;
}

static struct fiber *list_take(struct list *list, size_t index) {
  struct fiber *fiber = list->fibers[index];
  list->fibers[index] = list->fibers[--list->count];
  return fiber;
}

static struct stackpack_stack stack_new(void) {
  char *memory = mmap(NULL, GUARD_BYTES + STACK_BYTES, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED || mprotect(memory, GUARD_BYTES, PROT_NONE) != 0)
    die("no memory for a stack");
  uintptr_t low = (uintptr_t)memory + GUARD_BYTES;
  return (struct stackpack_stack){low, low + STACK_BYTES};
}

static struct fiber *fiber_new(void) {
  if (unused.count != 0)
    return list_take(&unused, unused.count - 1);
  struct fiber *fiber = calloc(1, sizeof *fiber);
  if (!fiber)
    die("out of memory for fibers");
  fiber->stack = stack_new();
  list_add(&all, fiber);
  fiber->number = all.count;
  return fiber;
}

/* Declared in fibers.h for managed code. References are numbers here. */
uint64_t fiber_start(void *function, uintptr_t argument);

uint64_t fiber_start(void *function, uintptr_t argument) {
  struct fiber *fiber = fiber_new();
  fiber->context = (struct context){
      .pc = (uintptr_t)fiber_begin,
      .stack_pointer = fiber->stack.end,
      .registers = {[CONTEXT_FUNCTION] = (uintptr_t)function},
  };
  fiber->value = argument;
  fiber->state = FIBER_NEW;
  list_add(&ready, fiber);
  return fiber->number;
}

/* Switches to the fiber, and returns its request after the switch back. */
static uint64_t go_on(struct fiber *fiber) {
  void *own_fake_stack = NULL;
  const void *own_low = NULL;
  size_t own_size = 0;
  uintptr_t value = fiber->value;
  fiber->value = 0;
  fiber->state = FIBER_RUNNING;
  scheduler_running = &fiber->context;
  switches++;
  sanitizer_switch(&own_fake_stack, fiber->fake_stack, (void *)fiber->stack.low, STACK_BYTES,
                   &own_low, &own_size);
  uint64_t wanted = context_switch(&scheduler_context, &fiber->context, value);
  sanitizer_switch(&fiber->fake_stack, own_fake_stack, own_low, own_size, NULL, NULL);
  fiber->state = FIBER_SUSPENDED;
  return wanted;
}

static void fiber_free(struct fiber *fiber) {
  fiber->value = 0;
  fiber->waiter = NULL;
  fiber->state = FIBER_FREE;
  list_add(&unused, fiber);
}

/* Gives the result to the waiting fiber. */
static void hand_over(struct fiber *ended, struct fiber *waiter) {
  waiter->value = ended->value;
  list_add(&ready, waiter);
  fiber_free(ended);
}

static void end(struct fiber *fiber) {
  fiber->value = fiber->context.registers[CONTEXT_FUNCTION];
  fiber->state = FIBER_ENDED;
  if (fiber->waiter)
    hand_over(fiber, fiber->waiter);
}

static void await(struct fiber *fiber, uint64_t number) {
  struct fiber *other = number <= all.count ? all.fibers[number - 1] : NULL;
  if (!other || other->state == FIBER_FREE || other->waiter || other == fiber)
    die("fiber %" PRIu64 " waits for %" PRIu64 ", which it can't", fiber->number, number);
  other->waiter = fiber;
  if (other->state == FIBER_ENDED)
    hand_over(other, fiber);
}

static void run_one(void) {
  if (ready.count == 0)
    die("each fiber waits for another one");
  random_number = random_next(random_number);
  struct fiber *fiber = list_take(&ready, random_number % ready.count);
  uint64_t wanted = go_on(fiber);
  if (wanted == FIBER_WANTS_END)
    end(fiber);
  else if (wanted == FIBER_WANTS_YIELD)
    list_add(&ready, fiber);
  else
    await(fiber, wanted);
}

uintptr_t scheduler_run(void *function, uint64_t seed, void (*between)(void)) {
  random_number = seed;
  uint64_t number = fiber_start(function, 0);
  struct fiber *first = all.fibers[number - 1];
  while (first->state != FIBER_ENDED) {
    between();
    run_one();
  }
  uintptr_t result = first->value;
  fiber_free(first);
  if (unused.count != all.count)
    die("%zu fibers were not awaited", all.count - unused.count);
  return result;
}

void scheduler_close(void) {
  for (size_t i = 0; i < all.count; i++) {
    munmap((char *)all.fibers[i]->stack.low - GUARD_BYTES, GUARD_BYTES + STACK_BYTES);
    free(all.fibers[i]);
  }
  free(all.fibers);
  free(ready.fibers);
  free(unused.fibers);
}

size_t scheduler_fibers(void) { return all.count; }

struct fiber *scheduler_fiber(size_t index) {
  return all.fibers[index];
}

uint64_t scheduler_switches(void) { return switches; }
