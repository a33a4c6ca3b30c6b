/* collector.c - the collector: that of samples/semispace, but for where the roots come from.
 *
 * The allocator is an ordinary function of C. That is what a shadow stack is liked for: the way
 * from managed code into the collector needs no assembler, as no stack has to be walked.
 */
#include "collector.h"

#include "copier.h"
#include "die.h"
#include "roots.h"

#include <inttypes.h>

static struct copier copier;
static bool collect_always;
static struct roots_counts roots_counts;

void heap_open(size_t bytes, bool stress) {
  copier_open(&copier, bytes);
  collect_always = stress;
}

void heap_close(void) { copier_close(&copier); }

static void collect(void) {
  copier_start(&copier);
  roots_update(copier_forward, &copier, &roots_counts);
  copier_finish(&copier);
}

/* As heap.h has it. What is a reference in managed code is a plain pointer in here. */
void *heap_allocate(uint64_t data_bytes, uint64_t references);

void *heap_allocate(uint64_t data_bytes, uint64_t references) {
  void *object = collect_always ? NULL : copier_take(&copier, data_bytes, references);
  if (!object) {
    collect();
    object = copier_take(&copier, data_bytes, references);
  }
  if (!object)
    die("the heap of %zu bytes is full", (size_t)(copier.active.end - copier.active.start));
  return object;
}

void heap_report(FILE *file) {
  fprintf(file, "collections: %" PRIu64 "\n", copier.collections);
  fprintf(file, "objects moved: %" PRIu64 " (%" PRIu64 " bytes)\n", copier.objects, copier.bytes);
  fprintf(file, "frames walked: %" PRIu64 " (at most %" PRIu64 " in one collection)\n",
          roots_counts.frames, roots_counts.deepest);
  fprintf(file, "roots updated: %" PRIu64 "\n", roots_counts.roots);
}
