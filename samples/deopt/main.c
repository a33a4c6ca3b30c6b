/* main.c - leaves compiled frames at each of their safepoints, and compares the results with the
 * interpreter's alone.
 *
 * The deopt state of a safepoint is a list of values. The compiler defines their meaning
 * (program.ll), and stackpack finds their places. Here they are activations of the interpreter, the
 * oldest one first. With inlined functions, one frame has several activations. The interpreter
 * finishes the youngest one, passes its result to the next one, and so on; the result of the oldest
 * one is the frame's.
 */
#include "bounds.h"
#include "die.h"
#include "interpreter.h"
#include "managed_call.h"
#include "options.h"
#include "stackpack_unwind.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef WITH_ZSTD
#include <zstd.h>
#define DECOMPRESS ZSTD_decompress
#else
#define DECOMPRESS NULL
#endif

enum { ACTIVATIONS = 4 };

uint64_t sum(uint64_t count); /* compiled */

static struct stackpack_process process;
static struct stackpack_module modules[1];
static struct stackpack_unwinder unwinder;
static struct stackpack_stack stack;
static void *space; /* for details */
static uint64_t countdown, frames_left, activations_left;

bool should_leave(void);
bool should_leave(void) { return countdown-- == 0; }

_Noreturn void return_to(uint64_t result, const uintptr_t *registers, uintptr_t pc,
                         uintptr_t stack_pointer);

/* The program leaves the frames as by longjmp, and AddressSanitizer has marks in them. */
#ifdef __SANITIZE_ADDRESS__
enum { IS_SANITIZED = 1 };
#elif defined __has_feature
enum { IS_SANITIZED = __has_feature(address_sanitizer) };
#else
enum { IS_SANITIZED = 0 };
#endif
__attribute__((weak)) void __asan_handle_no_return(void);
static void leave_frames(void) {
  if (IS_SANITIZED)
    __asan_handle_no_return();
}

/* The values of a deopt state, one after another. */
struct values {
  const struct stackpack_walk *walk;
  struct stackpack_details details;
  size_t next;
};

static uint64_t take_value(struct values *values) {
  uint64_t value;
  if (values->next == values->details.deopt_count ||
      !stackpack_walk_value(values->walk, &values->details.deopt[values->next++], &value))
    die("the deopt state lacks a value");
  return value;
}

static struct activation take_activation(struct values *values) {
  struct activation activation = {.function = take_value(values)};
  activation.next = take_value(values);
  const uint64_t count = take_value(values);
  if (activation.function > SUM || count > VARIABLES)
    die("the deopt state is none of this compiler's");
  for (uint64_t i = 0; i < count; i++)
    activation.variables[i] = take_value(values);
  return activation;
}

static size_t take_activations(const struct stackpack_walk *walk, struct activation *activations) {
  struct values values = {.walk = walk};
  size_t count = 0;
  if (!stackpack_record_details(&walk->record, space, DECOMPRESS, &values.details))
    die("the record's details are unreadable");
  for (; values.next < values.details.deopt_count; count++) {
    if (count == ACTIVATIONS)
      die("too many activations in one frame");
    activations[count] = take_activation(&values);
  }
  return count;
}

/* The result of a compiled frame, by the interpreter. */
static uint64_t finish(const struct stackpack_walk *walk) {
  struct activation activations[ACTIVATIONS];
  size_t count = take_activations(walk, activations);
  if (count == 0)
    die("a record without deopt state");
  frames_left++;
  activations_left += count;
  uint64_t value = interpret(&activations[--count]);
  while (count > 0)
    value = interpret_after_call(&activations[--count], value);
  return value;
}

/* Resumes the walk's current frame, as if its call had returned. */
static _Noreturn void go_on(const struct stackpack_walk *walk, uint64_t result) {
  const struct stackpack_context *context = &walk->context;
  uintptr_t registers[STACKPACK_REGISTERS] = {0};
  for (unsigned i = 0; i < STACKPACK_REGISTERS; i++)
    if ((STACKPACK_PRESERVED_REGISTERS >> i & 1) != 0) {
      if ((context->known >> i & 1) == 0)
        die("register %u of the caller is unknown", i);
      registers[i] = (context->in_memory >> i & 1) != 0 ? *(uintptr_t *)context->registers[i]
                                                        : context->registers[i];
    }
  leave_frames();
  return_to(result, registers, context->pc, context->stack_pointer);
}

/* Leaves the youngest compiled frame, which is below native frames, and resumes its caller. */
static void leave(struct stackpack_context *context, void *unused) {
  static const struct stackpack_walker walker = {.process = &process,
                                                 .native = STACKPACK_BY_UNWINDING,
                                                 .unwind = stackpack_unwinder_step,
                                                 .unwinder = &unwinder};
  struct stackpack_walk walk;
  enum stackpack_walk_answer answer;
  (void)unused;
  stackpack_walk_start(&walk, &walker, stack, context);
  do
    answer = stackpack_walk_next(&walk);
  while (answer == STACKPACK_WALK_NATIVE);
  if (answer != STACKPACK_WALK_MANAGED)
    die("no compiled frame: %s", stackpack_walk_text(answer));
  const uint64_t result = finish(&walk);
  answer = stackpack_walk_next(&walk);
  if (!stackpack_walk_is_frame(answer))
    die("no caller: %s", stackpack_walk_text(answer));
  go_on(&walk, result);
}

/* The walk starts here, with all callee-saved registers. */
_Noreturn void __llvm_deoptimize(void);

_Noreturn void __llvm_deoptimize(void) {
  stackpack_unwinder_call(leave, NULL);
  abort();
}

static void open_process(void) {
  const enum stackpack_error error = stackpack_process_open(&process, modules, 1);
  if (error != STACKPACK_OK)
    die("cannot open the stack maps: %s", stackpack_error_text(error));
  if (stackpack_unwinder_open(&unwinder) != STACKPACK_OK)
    die("no memory");
  space = malloc(stackpack_details_space(&modules[0].table) + 1);
  if (space == NULL)
    die("no memory");
  stack = bounds_of_thread();
}

int main(int argc, char **argv) {
  uint64_t size = 12;
  bool statistics = false;
  options_take(argc, argv,
               (const struct option_row[]){
                   {"size", "the turns of the outer loop", NULL, &size, 0, 1000},
                   {"statistics", "say on stderr what was left", .flag = &statistics},
                   {0},
               });
  open_process();
  const uint64_t expected = interpret(&(struct activation){.function = SUM, .variables = {size}});
  uint64_t places = 0;
  uintptr_t end;
  for (uint64_t left = 1; left > 0; places += left) {
    const uint64_t before = frames_left;
    countdown = places;
    const uint64_t result = managed_call((managed_function *)sum, &end, size, 0, 0, 0);
    if (result != expected)
      die("left at safepoint %" PRIu64 ": %" PRIx64 ", and not %" PRIx64, places, result, expected);
    left = frames_left - before;
  }
  printf("%016" PRIx64 " at each of %" PRIu64 " safepoints\n", expected, places);
  if (statistics)
    fprintf(stderr, "frames left: %" PRIu64 "\nactivations: %" PRIu64 "\n", frames_left,
            activations_left);
  free(space);
  stackpack_unwinder_close(&unwinder);
  stackpack_process_close(&process);
  return 0;
}
