/* roots.c - walks the stack of a stopped thread, and knows the roots that are on none. This is the
 * file to copy from.
 *
 * A thread that waits has noted its youngest managed frame. Those of its callers follow, up to the
 * stack pointer at which C called managed code (thread_run). The walk must get there: at any other
 * answer frames are missing, a frame of C included. The stack is another thread's, so a mistake in
 * a return address could lead anywhere; the walk stays within the stack's bounds, and the program
 * ends with one line.
 *
 * A thread that has no managed frame, as it has just started, has nothing to walk. Any other has at
 * least one: if the walk finds none, the noted frame is wrong, and its roots were missed.
 *
 * Variables that hold references, global roots, are listed by the program itself, in a section of
 * that purpose. `stackpack pack --global-roots` moves the list into the packed table.
 */
#include "roots.h"

#include "die.h"

#include <inttypes.h>
#include <stdlib.h>

/* One managed module, the program itself, mostly; of which the first is used for global roots. */
static struct stackpack_module *modules;
static struct stackpack_process process;
static const struct stackpack_walker walker = {.process = &process};

/* Where there are more modules than places, the process says how many places it needs. */
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

/* The array in the section gc_roots: by the linker. */
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
