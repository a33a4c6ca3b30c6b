/* roots.h - the references that the fibers hold.
 *
 * This is the part of a collector that uses stackpack, and the one to copy from.
 */
#ifndef FIBERS_ROOTS_H
#define FIBERS_ROOTS_H

#include "stackpack.h"

/* Counts over all collections. */
struct roots_counts {
  uint64_t running, suspended; /* walked stacks of either kind */
  uint64_t frames;
  uint64_t deepest;          /* the most frames on one stack */
  uint64_t suspended_frames; /* the frames of suspended fibers */
};

/* Opens the program's stack maps: once, at start-up. */
void roots_open(void);
void roots_close(void);

/* Updates every reference of every fiber. `running` is the youngest frame of the fiber that runs,
 * or NULL if none does. */
void roots_update(const struct stackpack_context *running, stackpack_forward *forward, void *heap,
                  struct roots_counts *counts);

#endif
