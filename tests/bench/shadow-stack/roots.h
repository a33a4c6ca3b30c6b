/* roots.h - the references that the managed functions on the stack wait with.
 *
 * roots.c finds them in linked frames. no_roots.c finds none: it is for a build that shows the cost
 * of the same code without any search for roots.
 */
#ifndef SHADOW_STACK_ROOTS_H
#define SHADOW_STACK_ROOTS_H

#include <stdint.h>

/* Where the object of a reference, or 0, is now: the collector's part. */
typedef uintptr_t roots_forward(void *heap, uintptr_t reference);

/* The counts so far. */
struct roots_counts {
  uint64_t frames;
  uint64_t deepest; /* the most frames of one walk */
  uint64_t roots;   /* that were not null */
};

/* Updates every root of every frame. */
void roots_update(roots_forward *forward, void *heap, struct roots_counts *counts);

#endif
