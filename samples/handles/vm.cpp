/* vm.cpp - the collector of a program in which managed code and C++ call each other.
 *
 * During a collection the stack looks like this, the youngest frame first:
 *
 *   heap_allocate_for_frame, ...   C++: the collector. A Transition notes the frame of list_new
 *   list_new                       managed
 *   Scramble::value_for, ...       C++, which holds handles. A Transition notes list_map's frame
 *   list_map                       managed
 *   Weigh::visit, ...              C++. A Transition notes the frame of the upper tree_each
 *   tree_each                      managed
 *   tree_each                      managed
 *   run, main                      C++
 *
 * The walk passes each row of managed frames, from the frame that a Transition has noted to the
 * stack pointer at which C++ called the oldest one, and then continues with the next row. Each row
 * must end exactly there: a frame of C++ within a row was called without a Transition, and hides
 * managed frames. The walk skips frames of C++: references of C++ are in handles, and the collector
 * updates their slots.
 */
#include "vm.h"

#include "bounds.h"
#include "copier.h"
#include "die.h"
#include "handle.h"
#include "stackpack.h"

#include <cinttypes>

/* One managed module, the program itself. */
static stackpack_module modules[1];
static stackpack_process process;
static stackpack_walker walker;
static stackpack_stack stack; /* all of it; each row ends earlier */

static struct copier copier;
static Row *youngest;

static struct { uint64_t frames, rows, most_rows, handles, most_handles; } counts;

Row::Row() : outer(youngest) {
  if (outer && outer->frame.return_address == 0)
    die("managed code has called C++ without a Transition");
  youngest = this;
}

Row::~Row() { youngest = outer; }

Transition::Transition(waiting_frame frame) {
  if (!youngest)
    die("managed code was called without a Row");
  youngest->frame = frame;
}

Transition::~Transition() { youngest->frame = {}; }

void vm_open(size_t heap_bytes, bool stress) {
  stackpack_error error = stackpack_process_open(&process, modules, 1);
  if (error != STACKPACK_OK)
    die("cannot open the stack maps: %s", stackpack_error_text(error));
  walker.process = &process;
  stack = bounds_of_thread();
  copier_open(&copier, heap_bytes, stress);
}

void vm_close() {
  copier_close(&copier);
  stackpack_process_close(&process);
}

/* ---- Collecting ---- */

/* The walk is before the youngest frame of a row. */
static void forward_row(stackpack_walk &walk) {
  stackpack_walk_answer answer;
  while (stackpack_walk_is_frame(answer = stackpack_walk_next(&walk)))
    stackpack_walk_update(&walk, copier_forward, &copier);
  if (answer != STACKPACK_WALK_END)
    die("the walk of the stack ends at %#" PRIxPTR ": %s", walk.context.pc,
        stackpack_walk_text(answer));
}

static stackpack_context context_of(const Row &row) {
  if (row.frame.return_address == 0)
    die("managed code has called C++ without a Transition");
  return waiting_context(row.frame);
}

static stackpack_stack bounds_of(const Row &row) { return {stack.low, row.end}; }

static void forward_stack() {
  if (!youngest)
    return; /* C++ allocates, with no managed frame on the stack */
  stackpack_walk walk;
  stackpack_context context = context_of(*youngest);
  stackpack_walk_start(&walk, &walker, bounds_of(*youngest), &context);
  forward_row(walk);
  uint64_t rows = 1;
  for (const Row *row = youngest->outer; row; row = row->outer, rows++) {
    context = context_of(*row);
    stackpack_walk_resume(&walk, bounds_of(*row), &context);
    forward_row(walk);
  }
  counts.frames += walk.managed_frames;
  counts.rows += rows;
  if (rows > counts.most_rows)
    counts.most_rows = rows;
}

static void forward_handles() {
  uint64_t handles = 0;
  handle_slots.each([&](uintptr_t &slot) {
    slot = copier_forward(&copier, slot);
    handles++;
  });
  counts.handles += handles;
  if (handles > counts.most_handles)
    counts.most_handles = handles;
}

static void collect(const void *) {
  copier_start(&copier);
  forward_stack();
  forward_handles();
  copier_finish(&copier);
}

void *vm_allocate(uint64_t data_bytes, uint64_t references) {
  return copier_allocate(&copier, data_bytes, references, collect, nullptr);
}

/* heap_allocate of heap.h jumps here; heap_allocate.S adds the frame of its caller. */
extern "C" void *heap_allocate_for_frame(uint64_t data_bytes, uint64_t references,
                                         uintptr_t return_address, uintptr_t stack_pointer,
                                         uintptr_t frame_pointer) {
  Transition transition({return_address, stack_pointer, frame_pointer});
  return vm_allocate(data_bytes, references);
}

void vm_report(FILE *file) {
  copier_report(&copier, file);
  fprintf(file, "frames walked: %" PRIu64 " in %" PRIu64 " rows (at most %" PRIu64 " at once)\n",
          counts.frames, counts.rows, counts.most_rows);
  fprintf(file, "handles updated: %" PRIu64 " (at most %" PRIu64 " at once)\n", counts.handles,
          counts.most_handles);
}
