/* copier.h - a moving heap: two spaces, and the copying of objects from one to the other.
 *
 * This half of a collector handles objects, and is the same in all samples. The other half, in each
 * sample, finds the roots:
 *
 *   copier_start(&copier);
 *   for each slot that holds a root: *slot = copier_forward(&copier, *slot);
 *   copier_finish(&copier);
 *
 * The functions take no lock: threads call them one at a time.
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

/* The objects are one after another, up to `next`. */
struct copier_space {
  char *start, *next, *end;
};

struct copier {
  struct copier_space active, other;    /* `other` is accessible only during a collection */
  bool stress;                          /* collect at every allocation */
  uint64_t collections, objects, bytes; /* objects copied, and their bytes */
};

/* bytes: the size of each of the two spaces. Dies if memory runs out. */
void copier_open(struct copier *copier, size_t bytes, bool stress);
void copier_close(struct copier *copier);

/* Returns a new object, all zero, as heap_allocate of heap.h does; NULL if the space is too full.
 * Dies if the object is larger than a space. */
void *copier_take(struct copier *copier, uint64_t data_bytes, uint64_t references);

/* The same for one thread: if the space is too full, or under stress, calls collect(context) first.
 * Dies if the space is still too full. */
void *copier_allocate(struct copier *copier, uint64_t data_bytes, uint64_t references,
                      void collect(const void *context), const void *context);

/* Writes the figures, one a line. */
void copier_report(const struct copier *copier, FILE *file);

/* Between start and finish the collector forwards each root: a base reference, or 0. copier_forward
 * returns the object's new address. It has the type stackpack_forward, with the struct copier as
 * its first argument. copier_finish then forwards all references in the copied objects. */
void copier_start(struct copier *copier);
uintptr_t copier_forward(void *copier, uintptr_t reference);
void copier_finish(struct copier *copier);

#ifdef __cplusplus
}
#endif
#endif
