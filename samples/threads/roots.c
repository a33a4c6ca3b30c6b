/* roots.c - walks the stack of a stopped thread, and updates global roots. This is the file to copy
 * from.
 *
 * A waiting thread has noted its youngest managed frame. A walk goes from there through its
 * callers, up to the stack pointer at which C called managed code (thread_run). It must get there:
 * with any other answer, such as one for a frame of C, frames are missing. A wrong return address
 * on another thread's stack could send the walk anywhere; the walk stays within the stack's bounds,
 * and the program ends with a message.
 *
 * A thread without a managed frame, such as one that has just started, has nothing to walk. Any
 * other has at least one: a walk that finds none has started at a wrong frame, and missed its
 * roots.
 *
 * The program lists its global roots, variables that hold references, in a section. `stackpack pack
 * --global-roots` moves the list into the packed table.
 */
#include "roots.h"

#include "die.h"

#include <inttypes.h>
#include <stdlib.h>

/* Mostly one, the program itself. Global roots are read from the first. */
static struct stackpack_module *modules;
static struct stackpack_process process;
static const struct stackpack_walker walker = {.process = &process};

/* If there are more modules than places, the process gives the number of modules. */
void roots_open(void) {
  enum stackpack_error error = STACKPACK_TOO_MANY_MODULES;
  for (size_t count = 1; error == STACKPACK_TOO_MANY_MODULES;
       count = stackpack_process_modules(&process)) {
    free(modules);
    modules = calloc(count, sizeof *modules);
    if (modules == NULL)
      die("not enough memory for the stack maps of %zu modules", count);
    error = stackpack_process_open(&process, modules, count);
  }
  if (error != STACKPACK_OK)
    die("cannot open the stack maps: %s", stackpack_error_text(error));
}

void roots_close(void) {
  stackpack_process_close(&process);
  free(modules);
}

void roots_of_thread(struct thread *thread, struct copier *copier) {
  if (thread->frame.return_address == 0)
    return;
  struct stackpack_context context = waiting_context(thread->frame);
  struct stackpack_walk walk;
  enum stackpack_walk_answer answer;
  stackpack_walk_start(&walk, &walker, thread->stack, &context);
  while (stackpack_walk_is_frame(answer = stackpack_walk_next(&walk)))
    stackpack_walk_update(&walk, copier_forward, copier);
  if (answer != STACKPACK_WALK_END)
    die("the walk of a stack ends at %#" PRIxPTR ": %s", walk.context.pc,
        stackpack_walk_text(answer));
  thread->walks++;
  thread->native_walks += thread->is_native;
  thread->frames += walk.managed_frames;
}

/* The linker defines the bounds of the section gc_roots. */
extern const char __start_gc_roots[], __stop_gc_roots[];

void roots_of_globals(struct copier *copier) {
  struct stackpack_global_roots roots =
      stackpack_global_roots(&modules[0].table, __start_gc_roots, __stop_gc_roots);
  for (uint64_t address; stackpack_global_roots_next(&roots, &address);) {
    uintptr_t *root = (uintptr_t *)(uintptr_t)address;
    *root = copier_forward(copier, *root);
  }
  if (roots.is_corrupt)
    die("the list of global roots is damaged");
}
