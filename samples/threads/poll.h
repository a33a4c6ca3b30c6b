/* poll.h - safepoint polls; to be included once in each file of managed code.
 *
 * A poll stops a thread between allocations: otherwise one loop over a long list could keep all
 * other threads waiting. LLVM's pass place-safepoints puts a copy of gc.safepoint_poll at the start
 * of each function and into each loop, except provably short ones. This is the function, in C,
 * under the name that the pass looks for. It mostly costs one load and one untaken branch. When
 * polls are armed, the thread calls safepoint_wait, a GC entry, with its references in the
 * locations of the stack map.
 *
 * The function has no debug information: the pass inlines calls without a source line, and LLVM's
 * verifier refuses a function if some instructions have another function's debug location, but no
 * inlined-at location.
 */
#ifndef THREADS_POLL_H
#define THREADS_POLL_H

#include "managed.h"

static __attribute__((used, nodebug)) void safepoint_poll(void) __asm__("gc.safepoint_poll");
static void safepoint_poll(void) {
  if (__builtin_expect(__atomic_load_n(&safepoint_armed, __ATOMIC_RELAXED), 0))
    safepoint_wait();
}

#endif
