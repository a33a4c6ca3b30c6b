/* poll.h - safepoint polls; to be included once in each file of managed code.
 *
 * A poll is what stops a thread that doesn't allocate: else one loop over a long list could keep
 * all other threads waiting. LLVM's pass place-safepoints puts a copy of gc.safepoint_poll at the
 * start of each function and into each loop that isn't known to be short. It is written in C here,
 * under the name that the pass looks for. Nearly always it comes to one load and one branch that
 * isn't taken. Otherwise the thread calls safepoint_wait: a GC entry, before which it leaves its
 * references where the stack map says.
 *
 * It has no debug information. The pass inlines calls that come from no line of the source, and
 * LLVM's verifier refuses a function of which some instructions claim to be of another one, but
 * aren't said to be inlined from it.
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
