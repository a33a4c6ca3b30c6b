/* collector.c - a collector that moves every object at every allocation: see program.h.
 *
 * All roots are on stacks. Each collection walks them by two walkers first, with equal results;
 * then it copies the objects reachable from the roots, and overwrites the old space: a root that was
 * missed, or a register that was updated in the wrong place, is a fault or a wrong sum soon after.
 */
#include "program.h"

#ifdef PLAIN

#include <stdlib.h>

reference allocate(long value) {
  static struct object objects[50000];
  static unsigned used;
  if (used == sizeof objects / sizeof *objects)
    abort();
  struct object *object = &objects[used++];
  *object = (struct object){0, {value, value, value, value, value}};
  return object;
}
void collect_at_signal(void *ucontext) { (void)ucontext; }
void collect_on(char *stack, char *end) { (void)stack, (void)end; }
void collect_suspended(void *ucontext) { (void)ucontext; }
void collector_open(const char *walker, const char *path) { (void)walker, (void)path; }
void collector_report(void) {}

#else

#include "stackpack.h"
#include "stackpack_check.h"
#include "stackpack_unwind.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { SPACE = 1 << 20, OBJECTS = SPACE / sizeof(struct object) };

static struct stackpack_module modules[2];
static struct stackpack_process process;
static struct stackpack_unwinder unwinder;
static struct stackpack_walker walker,
    other;                         /* the one that is used, and the one it is checked by */
static struct stackpack_file file; /* the program's stack maps for the other walker, if requested */
static struct stackpack_stack main_stack, fiber_stack;
static void *fiber;

static struct object *spaces[2];
static unsigned current, used;

static unsigned long collections, managed_frames, native_frames, most_managed, in_registers,
    derived, unknown_sizes;

__attribute__((noreturn)) static void die(const char *what) {
  fprintf(stderr, "collector: %s\n", what);
  exit(1);
}

void collector_open(const char *name, const char *path) {
  if (stackpack_process_open(&process, modules, 2) != STACKPACK_OK)
    die("no stack maps");
  if (stackpack_unwinder_open(&unwinder) != STACKPACK_OK)
    die("no unwinder");
  walker = (struct stackpack_walker){.process = &process,
                                     .managed = STACKPACK_BY_UNWINDING,
                                     .native = STACKPACK_BY_UNWINDING,
                                     .unwind = stackpack_unwinder_step,
                                     .unwinder = &unwinder};
  other = walker;
  other.managed = STACKPACK_BY_TABLE;
  if (strcmp(name, "mixed") == 0) {
    const struct stackpack_walker swap = walker;
    walker = other;
    other = swap;
  } else if (strcmp(name, "unwinding") != 0) {
    die("which walker?");
  }
  if (path != NULL) {
    if (stackpack_file_open(&file, path) != STACKPACK_OK)
      die("no stack maps in the other file");
    other.process = NULL;
    other.table = &file.table;
  }
  pthread_attr_t attributes;
  void *low;
  size_t size;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0 ||
      pthread_attr_getstack(&attributes, &low, &size) != 0)
    die("no stack");
  pthread_attr_destroy(&attributes);
  main_stack = (struct stackpack_stack){(uintptr_t)low, (uintptr_t)low + size};
  for (unsigned i = 0; i < 2; i++) {
    spaces[i] = mmap(NULL, SPACE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (spaces[i] == MAP_FAILED)
      die("no memory");
  }
}

/* ---- The heap ---- */

static uintptr_t forward(void *closure, uintptr_t address) {
  (void)closure;
  struct object *object = (struct object *)address;
  if (object < spaces[!current] || object >= spaces[!current] + used)
    die("a root that is no object");
  if ((address - (uintptr_t)spaces[!current]) % sizeof *object != 0)
    die("a root that points into an object");
  return (uintptr_t)(spaces[current] + (object - spaces[!current]));
}

/* ---- The stacks ---- */

static void count_roots(struct stackpack_walk *walk) {
  struct stackpack_pairs pairs = stackpack_pairs(&walk->record);
  struct stackpack_location base, location;
  while (stackpack_pairs_next(&pairs, &base, &location)) {
    in_registers += location.kind == STACKPACK_REGISTER;
    derived +=
        base.kind != location.kind || base.reg != location.reg || base.value != location.value;
  }
  unknown_sizes += walk->record.frame_size == STACKPACK_FRAME_SIZE_UNKNOWN;
}

/* Returns how many managed frames there were. */
static unsigned long walk_stack(struct stackpack_stack stack,
                                const struct stackpack_context *from) {
  struct stackpack_walk walk;
  enum stackpack_walk_answer answer;
  stackpack_walk_start(&walk, &walker, stack, from);
  while (stackpack_walk_is_frame(answer = stackpack_walk_next(&walk)))
    if (answer == STACKPACK_WALK_MANAGED) {
      count_roots(&walk);
      if (stackpack_walk_update(&walk, forward, NULL) != STACKPACK_WALK_MANAGED)
        die("roots that can't be updated");
    } else {
      native_frames++;
    }
  if (answer != STACKPACK_WALK_END && answer != STACKPACK_WALK_NO_MANAGED) {
    fprintf(stderr, "at %#lx: %s (%s)\n", (long)walk.context.pc, stackpack_walk_text(answer),
            stackpack_unwinder_text(stackpack_unwinder_reason(&unwinder)));
    die("a walk that stops");
  }
  managed_frames += walk.managed_frames;
  if (walk.managed_frames > most_managed)
    most_managed = walk.managed_frames;
  return walk.managed_frames;
}

static void check_stack(struct stackpack_stack stack, const struct stackpack_context *from) {
  static struct stackpack_check check;
  char text[STACKPACK_CHECK_TEXT];
  const bool agree = stackpack_check_walks(&check, &walker, &other, stack, from);
  if (agree && check.answer != STACKPACK_CHECK_STOPPED)
    return;
  fprintf(stderr, "%s\n", stackpack_check_text(&check, text));
  die("two walkers that differ, or stop");
}

static unsigned long fast_frames;
static enum stackpack_unwound refuse_step(void *closure, struct stackpack_stack stack,
                                          struct stackpack_context *context) {
  (void)closure, (void)stack, (void)context;
  die("the unwinder was asked for a managed frame");
}

/* Walks the first adjacent managed frames by the table alone: also where their size is unknown. */
static void walk_fast(struct stackpack_stack stack, const struct stackpack_context *from) {
  const struct stackpack_walker fast = {.process = &process, .unwind = refuse_step};
  struct stackpack_walk walk;
  enum stackpack_walk_answer answer;
  stackpack_walk_start(&walk, &walker, stack, from);
  while ((answer = stackpack_walk_next(&walk)) == STACKPACK_WALK_NATIVE)
    continue;
  if (answer != STACKPACK_WALK_MANAGED)
    return;
  const struct stackpack_context first = walk.context;
  stackpack_walk_start(&walk, &fast, stack, &first);
  while ((answer = stackpack_walk_next(&walk)) == STACKPACK_WALK_MANAGED)
    continue;
  if (answer != STACKPACK_WALK_AT_NATIVE)
    die("a fast walk that stops");
  fast_frames += walk.managed_frames;
}

/* The fiber's registers are where swapcontext has saved them. It goes on after a call: on AArch64, swapcontext
 * goes on within itself first, and has the return address in x1. */
static struct stackpack_context fiber_context(void) {
  struct stackpack_context context = stackpack_context_at_signal(fiber);
  context.is_exact = 0;
#ifdef __aarch64__
  context.pc = *(const uintptr_t *)context.registers[1];
#endif
  return context;
}

static int on_fiber(const struct stackpack_context *context) {
  return context->stack_pointer >= fiber_stack.low && context->stack_pointer < fiber_stack.end;
}

static void collect(struct stackpack_context *context, void *closure) {
  (void)closure;
  const struct stackpack_stack stack = on_fiber(context) ? fiber_stack : main_stack;
  check_stack(stack, context);
  walk_fast(stack, context);
  if (fiber != NULL) {
    const struct stackpack_context suspended = fiber_context();
    check_stack(fiber_stack, &suspended);
  }
  collections++;
  current = !current;
  memcpy(spaces[current], spaces[!current], used * sizeof(struct object));
  for (unsigned i = 0; i < used; i++) /* nothing dies: so that all of them are to be moved */
    if (spaces[current][i].next != NULL)
      spaces[current][i].next = (struct object *)forward(NULL, (uintptr_t)spaces[current][i].next);
  walk_stack(stack, context);
  if (fiber != NULL) {
    const struct stackpack_context suspended = fiber_context();
    if (walk_stack(fiber_stack, &suspended) != 1)
      die("a suspended stack with other than one managed frame");
  }
  /* Closing its pages, to have each use fault, took twenty times the rest of a collection. */
  memset(spaces[!current], 0xa5, used * sizeof(struct object));
}

reference allocate(long value) {
  stackpack_unwinder_call(collect, NULL);
  if (used == OBJECTS)
    die("the heap is full");
  struct object *object = &spaces[current][used++];
  *object = (struct object){NULL, {value, value, value, value, value}};
  return object;
}

/* From the interrupted place: the C library's raise. The walk skips the handler's own frame: no
 * managed function is above it yet. */
void collect_at_signal(void *ucontext) {
  struct stackpack_context context = stackpack_context_at_signal(ucontext);
  collect(&context, NULL);
}

void collect_on(char *stack, char *end) {
  fiber_stack = (struct stackpack_stack){(uintptr_t)stack, (uintptr_t)end};
}
void collect_suspended(void *ucontext) { fiber = ucontext; }

void collector_report(void) {
  fprintf(stderr,
          "collections %lu\nmanaged %lu\nnative %lu\nmost %lu\nregisters %lu\nderived %lu\n"
          "unknown %lu\nfast %lu\n",
          collections, managed_frames, native_frames, most_managed, in_registers, derived,
          unknown_sizes, fast_frames);
  stackpack_unwinder_close(&unwinder);
  stackpack_process_close(&process);
}

#endif
