/* collector.c - the collector: what the allocator does when a space is full.
 *
 * The objects that can still be reached move to the other space (see copier.c). What is reached
 * starts at the roots, and these are on the stack only: the workload keeps no reference elsewhere.
 * A collector for a language with global variables would forward those as well, next to the call of
 * stack_update.
 */
#include "collector.h"

#include "copier.h"
#include "frame.h"
#include "stack.h"

#include <inttypes.h>

static struct copier copier;
static struct stack_counts stack_counts;

void heap_open(size_t bytes, bool stress) {
  copier_open(&copier, bytes, stress);
  stack_open();
}

void heap_close(void) {
  stack_close();
  copier_close(&copier);
}

/* `frame`: the struct waiting_frame of the allocation. Most allocations don't collect: so only here
 * a walk's start is made of it. */
static void collect(const void *frame) {
  const struct stackpack_context context = waiting_context(*(const struct waiting_frame *)frame);
  copier_start(&copier);
  stack_update(&context, copier_forward, &copier, &stack_counts);
  copier_finish(&copier);
}

/* What heap_allocate of heap.h comes to: heap_allocate.S adds the frame of its caller. */
void *heap_allocate_for_frame(uint64_t data_bytes, uint64_t references, uintptr_t return_address,
                              uintptr_t stack_pointer, uintptr_t frame_pointer);

void *heap_allocate_for_frame(uint64_t data_bytes, uint64_t references, uintptr_t return_address,
                              uintptr_t stack_pointer, uintptr_t frame_pointer) {
  const struct waiting_frame frame = {return_address, stack_pointer, frame_pointer};
  return copier_allocate(&copier, data_bytes, references, collect, &frame);
}

uint64_t heap_run(uint64_t (*workload)(uint64_t size), uint64_t size) {
  return stack_run(workload, size);
}

void heap_report(FILE *file) {
  copier_report(&copier, file);
  fprintf(file, "frames walked: %" PRIu64 " (at most %" PRIu64 " in one collection)\n",
          stack_counts.frames, stack_counts.deepest);
  fprintf(file, "pairs updated: %" PRIu64 " (%" PRIu64 " of them derived references)\n",
          stack_counts.pairs, stack_counts.derived);
}
