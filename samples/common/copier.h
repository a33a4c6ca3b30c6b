/* copier.h - a moving heap: two spaces, and how their objects are copied from one to the other.
 *
 * This is the half of a collector that knows objects and nothing of stacks: the same in all
 * samples. The other half, which is the sample's own, finds the roots:
 *
 *   copier_start(&copier);
 *   for each slot that holds a root: *slot = copier_forward(&copier, *slot);
 *   copier_finish(&copier);
 *
 * Nothing here takes a lock. Where there are threads, one calls at a time.
 */
#ifndef SAMPLES_COPIER_H
#define SAMPLES_COPIER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Objects lie in it one after another, up to `next`. */
struct copier_space {
  char *start, *next, *end;
};

struct copier {
  struct copier_space active, other;    /* `other` is inaccessible but during a collection */
  bool stress;                          /* collect at every allocation */
  uint64_t collections, objects, bytes; /* what was done: objects copied, and their bytes */
};

/* bytes: the size of each of the two spaces. Dies where there is no memory. */
void copier_open(struct copier *copier, size_t bytes, bool stress);
void copier_close(struct copier *copier);

/* A new object, all zero, as heap_allocate of heap.h gives it. NULL where it doesn't fit into what
 * is left. Dies if it is larger than a space. */
void *copier_take(struct copier *copier, uint64_t data_bytes, uint64_t references);

/* The same for one thread: where it doesn't fit, or under stress, collect(context) comes first.
 * Dies if it doesn't fit after that. */
void *copier_allocate(struct copier *copier, uint64_t data_bytes, uint64_t references,
                      void collect(const void *context), const void *context);

/* Writes what was copied, a line for each figure. */
void copier_report(const struct copier *copier, FILE *file);

/* Between start and finish the collector forwards each root: a base reference, or 0. What
 * copier_forward returns is where the object is now. Its first argument is the struct copier: it is
 * of the type stackpack_forward. copier_finish then forwards all that the copied objects refer to.
 */
void copier_start(struct copier *copier);
uintptr_t copier_forward(void *copier, uintptr_t reference);
void copier_finish(struct copier *copier);

#ifdef __cplusplus
}
#endif
#endif
