/* plain.c - the heap of the plain C build: calloc, and all blocks are freed at the end.
 *
 * Objects stay in place until the end, so all references stay valid. The output of this build is
 * the expected output of the other ones.
 */
#include "collector.h"
#include "die.h"
#include "heap.h"

#include <stdlib.h>

/* A block holds one object. All blocks form a list, the newest first. */
struct block {
  struct block *older;
  uintptr_t words[];
};

static struct block *newest;

void heap_open(size_t bytes, bool stress) {
  (void)bytes;
  (void)stress;
}

void heap_close(void) {
  while (newest) {
    struct block *older = newest->older;
    free(newest);
    newest = older;
  }
}

uint64_t heap_run(uint64_t (*workload)(uint64_t size), uint64_t size) { return workload(size); }

void heap_report(FILE *file) { fputs("collections: 0\n", file); }

reference heap_allocate(uint64_t data_bytes, uint64_t references) {
  uint64_t data_words = (data_bytes + sizeof(uintptr_t) - 1) / sizeof(uintptr_t);
  struct block *block = calloc(1, sizeof *block + (data_words + references) * sizeof(uintptr_t));
  if (!block)
    die("out of memory");
  block->older = newest;
  newest = block;
  return block->words;
}
