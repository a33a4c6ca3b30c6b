/* main.c - calculates formulas, and catches managed code's exceptions.
 *
 *   trace '+ 1 / 6 - 2 2'
 *
 * The exception's trace has functions, files and lines, even in a stripped program: `stackpack pack
 * --source=lines` has put them into the packed table. The trace walks the stack like a collector,
 * and ends before main.
 */
#include "bounds.h"
#include "calculator.h"
#include "die.h"
#include "frame.h"
#include "managed_call.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

static struct stackpack_module modules[1];
static struct stackpack_process process;
static const struct stackpack_walker walker = {.process = &process};
static struct stackpack_stack stack;
static jmp_buf handler;

static void write_out(void *closure, const char *text, size_t size) {
  fwrite(text, 1, size, closure);
}

/* The reason for a trace of addresses only; NULL if the table has positions. */
static const char *lack_of_positions(const struct stackpack_record *record, void *space,
                                     size_t size) {
  struct stackpack_sources sources;
  switch (stackpack_record_sources(record, space, size, &sources)) {
  case STACKPACK_SOURCE_RAW:
    return "the program isn't packed, so that its debug information has the positions";
  case STACKPACK_SOURCE_NONE:
    return "the program was packed without --source";
  default:
    return NULL;
  }
}

/* The stub of exception_throw (calculator.h) jumps here. Names of frames need space, and an
 * exception may be "out of memory": so the space is static. */
_Noreturn void exception_throw_at(const char *message, uintptr_t return_address,
                                  uintptr_t stack_pointer, uintptr_t frame_pointer);

_Noreturn void exception_throw_at(const char *message, uintptr_t return_address,
                                  uintptr_t stack_pointer, uintptr_t frame_pointer) {
  static uint64_t space[512];
  const struct waiting_frame frame = {return_address, stack_pointer, frame_pointer};
  const struct stackpack_context context = waiting_context(frame);
  struct stackpack_walk walk;
  printf("exception: %s\n", message);
  stackpack_walk_start(&walk, &walker, stack, &context);
  const enum stackpack_walk_answer answer =
      stackpack_walk_print(&walk, space, sizeof space, write_out, stdout);
  if (answer != STACKPACK_WALK_END)
    die("the stack walk stopped: %s", stackpack_walk_text(answer));
  const char *lack = lack_of_positions(&walk.record, space, sizeof space);
  if (lack != NULL)
    printf("(%s)\n", lack);
  longjmp(handler, 1);
}

int main(int argc, char **argv) {
  const enum stackpack_error error = stackpack_process_open(&process, modules, 1);
  if (error != STACKPACK_OK)
    die("cannot open the stack maps: %s", stackpack_error_text(error));
  stack = bounds_of_thread();
  for (int i = 1; i < argc; i++)
    if (setjmp(handler) == 0)
      printf("%" PRIu64 "\n", managed_call((managed_function *)calculate, &stack.end,
                                           (uint64_t)(uintptr_t)argv[i], 0, 0, 0));
  stackpack_process_close(&process);
  return 0;
}
