/* collector.c - the collector: the same as samples/semispace's, but for the source of the roots.
 *
 * The allocator is an ordinary function of C. Shadow stacks are liked for this: the way from
 * managed code into the collector is free of assembler, as it walks a list instead of the stack.
 */
#include "collector.h"

#include "copier.h"
#include "roots.h"

#include <inttypes.h>

static struct copier copier;
static struct roots_counts roots_counts;

void heap_open(size_t bytes, bool stress) { copier_open(&copier, bytes, stress); }

void heap_close(void) { copier_close(&copier); }

static void collect(const void *context) {
  (void)context;
  copier_start(&copier);
  roots_update(copier_forward, &copier, &roots_counts);
  copier_finish(&copier);
}

/* As heap.h has it. A reference of managed code is a plain pointer in here. */
void *heap_allocate(uint64_t data_bytes, uint64_t references);

void *heap_allocate(uint64_t data_bytes, uint64_t references) {
  return copier_allocate(&copier, data_bytes, references, collect, NULL);
}

uint64_t heap_run(uint64_t (*workload)(uint64_t size), uint64_t size) { return workload(size); }

void heap_report(FILE *file) {
  copier_report(&copier, file);
  fprintf(file, "frames walked: %" PRIu64 " (at most %" PRIu64 " in one collection)\n",
          roots_counts.frames, roots_counts.deepest);
  fprintf(file, "roots updated: %" PRIu64 "\n", roots_counts.roots);
}
