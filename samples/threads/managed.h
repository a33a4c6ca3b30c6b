/* managed.h - what managed code sees of the runtime, and the runtime of managed code.
 */
#ifndef THREADS_MANAGED_H
#define THREADS_MANAGED_H

#include "heap.h"

#include <stdint.h>

/* ---- Managed code: lists.c ---- */

/* Makes, sorts, exchanges and sums up so many lists. Returns the sum of their checksums. */
uint64_t lists_run(uint64_t seed, uint64_t lists, uint64_t length);

/* The same for one list, across a stay in native code that lasts as long as the others run. */
uint64_t lists_run_parked(uint64_t seed, uint64_t length);

/* Takes the lists that are left on the board. Returns the sum of their checksums. */
uint64_t lists_drain(void);

/* ---- The runtime ---- */

enum { BOARD_SLOTS = 4 };

/* Puts a reference on the board, which all threads share, and takes what was there. It doesn't
 * collect: a GC leaf. */
reference board_exchange(uint64_t slot, reference put);

/* Two functions that leave managed code for a while. Collections go on without the thread. */
void native_nap(void);
void native_wait_for_end(void);

/* Whether threads are to call safepoint_wait at their next poll: see poll.h. */
extern int safepoint_armed;
void safepoint_wait(void);

#endif
