/* stack.h - the references that wait in the frames of managed functions.
 *
 * This is the part of a collector that uses stackpack, and the one to copy from.
 */
#ifndef SEMISPACE_STACK_H
#define SEMISPACE_STACK_H

#include "stackpack.h"

/* Counts over all collections. */
struct stack_counts {
  uint64_t frames;
  uint64_t deepest; /* the most frames of one walk */
  uint64_t pairs;
  uint64_t derived; /* the pairs whose derived reference differed from the base */
};

/* Opens the program's stack maps: once, at start-up. */
void stack_open(void);
void stack_close(void);

/* Runs managed code, and returns workload(size). The stack pointer of this call is the end of all
 * walks. Functions that managed code calls must never call this. */
uint64_t stack_run(uint64_t (*workload)(uint64_t size), uint64_t size);

/* Updates every reference in the context's frame and its callers' frames, up to the call of the
 * workload by stack_run. The collector's forward(heap, base) returns the new address of the object
 * at a base. */
void stack_update(const struct stackpack_context *context, stackpack_forward *forward, void *heap,
                  struct stack_counts *counts);

#endif
