/* collector.c - the collector, called by the allocator when a space is full.
 *
 * A collection moves all reachable objects to the other space: see samples/common/copier.c. The
 * roots are the references that the fibers hold: see roots.c.
 */
#include "collector.h"

#include "copier.h"
#include "frame.h"
#include "roots.h"

#include <inttypes.h>

static struct copier copier;
static struct roots_counts roots_counts;

void heap_open(size_t bytes, bool stress) {
  copier_open(&copier, bytes, stress);
  roots_open();
}

void heap_close(void) {
  roots_close();
  copier_close(&copier);
}

/* `frame`: the struct waiting_frame of the running fiber's allocation; NULL between fibers. Only an
 * allocation that collects makes a walk's start of it. */
static void collect(const void *frame) {
  struct stackpack_context running;
  if (frame != NULL)
    running = waiting_context(*(const struct waiting_frame *)frame);
  copier_start(&copier);
  roots_update(frame != NULL ? &running : NULL, copier_forward, &copier, &roots_counts);
  copier_finish(&copier);
}

void heap_between_fibers(void) {
  if (copier.stress)
    collect(NULL);
}

/* heap_allocate of heap.h jumps here; heap_allocate.S adds the frame of its caller. */
void *heap_allocate_for_frame(uint64_t data_bytes, uint64_t references, uintptr_t return_address,
                              uintptr_t stack_pointer, uintptr_t frame_pointer);

void *heap_allocate_for_frame(uint64_t data_bytes, uint64_t references, uintptr_t return_address,
                              uintptr_t stack_pointer, uintptr_t frame_pointer) {
  const struct waiting_frame frame = {return_address, stack_pointer, frame_pointer};
  return copier_allocate(&copier, data_bytes, references, collect, &frame);
}

void heap_report(FILE *file) {
  copier_report(&copier, file);
  fprintf(file, "stacks walked: %" PRIu64 " running, %" PRIu64 " suspended\n", roots_counts.running,
          roots_counts.suspended);
  fprintf(file,
          "frames walked: %" PRIu64 " (%" PRIu64 " of suspended fibers; at most %" PRIu64
          " on one stack)\n",
          roots_counts.frames, roots_counts.suspended_frames, roots_counts.deepest);
}
