/* roots.h - the references that the managed functions on the stack wait with.
 *
 * roots.c finds them in linked frames. no_roots.c finds none: it is for a build that shows what the
 * same code costs where nothing has to be found.
 */
#ifndef SHADOW_STACK_ROOTS_H
#define SHADOW_STACK_ROOTS_H

#include <stdint.h>

/* Where the object of a reference, or 0, is now: the collector's part. */
typedef uintptr_t roots_forward(void *heap, uintptr_t reference);

/* What was seen so far. */
struct roots_counts {
  uint64_t frames;
  uint64_t deepest; /* the most frames of one walk */
  uint64_t roots;   /* that were not null */
};

/* Updates every root of every frame. */
void roots_update(roots_forward *forward, void *heap, struct roots_counts *counts);

#endif
