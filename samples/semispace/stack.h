/* stack.h - the references that wait in the frames of managed functions.
 *
 * This is the part of a collector that stackpack is for, and the one to copy from.
 */
#ifndef SEMISPACE_STACK_H
#define SEMISPACE_STACK_H

#include "stackpack.h"

/* What was seen so far. */
struct stack_counts {
  uint64_t frames;
  uint64_t deepest; /* the most frames of one walk */
  uint64_t pairs;
  uint64_t derived; /* the pairs whose derived reference differed from the base */
};

/* Opens the program's stack maps: once, at start-up. */
void stack_open(void);
void stack_close(void);

/* Runs managed code, and returns workload(size). The stack pointer of this call is the stack's end
 * for walks. Managed code must not lead here again. */
uint64_t stack_run(uint64_t (*workload)(uint64_t size), uint64_t size);

/* Updates every reference in the frame of the given context and in those of its callers, up to the
 * call of the workload by stack_run. forward(heap, base) is where the object of a base
 * reference is now: the collector's part. */
void stack_update(const struct stackpack_context *context, stackpack_forward *forward, void *heap,
                  struct stack_counts *counts);

#endif
