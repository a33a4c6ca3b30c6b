/* managed.h - the declarations that managed code and the runtime share. */
#ifndef THREADS_MANAGED_H
#define THREADS_MANAGED_H

#include "heap.h"

#include <stdint.h>

/* ---- Managed code: lists.c ---- */

/* Makes, sorts, exchanges and sums up a number of lists. Returns the sum of their checksums. */
uint64_t lists_run(uint64_t seed, uint64_t lists, uint64_t length);

/* The same for one list, kept during a stay in native code while the others run. */
uint64_t lists_run_parked(uint64_t seed, uint64_t length);

/* Takes the remaining lists from the board. Returns the sum of their checksums. */
uint64_t lists_drain(void);

/* ---- The runtime ---- */

enum { BOARD_SLOTS = 4 };

/* Exchanges a reference with a slot of the board, which all threads share. A GC leaf: it never
 * collects. */
reference board_exchange(uint64_t slot, reference put);

/* Two functions that leave managed code for a while. Collections proceed without the thread. */
void native_nap(void);
void native_wait_for_end(void);

/* Nonzero: threads call safepoint_wait at their next poll. See poll.h. */
extern int safepoint_armed;
void safepoint_wait(void);

#endif
