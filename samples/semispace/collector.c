/* collector.c - the collector, called by the allocator when a space is full.
 *
 * A collection moves all reachable objects to the other space (see copier.c). Only the stack has
 * roots: the workload keeps all its references there. A collector for a language with global
 * variables would forward these as well, next to the call of stack_update.
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

/* `frame`: the struct waiting_frame of the allocation. Only an allocation that collects makes a
 * walk's start of it. */
static void collect(const void *frame) {
  const struct stackpack_context context = waiting_context(*(const struct waiting_frame *)frame);
  copier_start(&copier);
  stack_update(&context, copier_forward, &copier, &stack_counts);
  copier_finish(&copier);
}

/* heap_allocate of heap.h jumps here; heap_allocate.S adds the frame of its caller. */
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
