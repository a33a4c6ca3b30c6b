/* world.h - the threads that run managed code, and how all of them are stopped for a collection.
 *
 * A thread is in one of two states:
 *
 *   running   managed code, or native code that handles references: nothing may move now
 *   waiting   with its youngest managed frame noted in `frame`: its references may be updated.
 *             Whether it sleeps, waits for a collection to end, or does something long in native
 *             code makes no difference to the collector
 *
 * The world counts those that run. A thread that wants to collect says so (`collecting`), arms the
 * polls, stops running itself, and waits until the count is 0. Meanwhile nobody gets from waiting
 * to running: that takes the lock, and must find `collecting` false. So a thread that returns from
 * native code in the middle of a collection waits there.
 *
 * One lock guards it all. The collector holds it while it works.
 */
#ifndef THREADS_WORLD_H
#define THREADS_WORLD_H

#include "frame.h"
#include "managed_call.h"

#include <stdio.h>

/* A thread's part. It is the thread's own while it runs, and the collector's while it waits. */
struct thread {
  struct thread *next;          /* in the world's list */
  struct stackpack_stack stack; /* its end is the stack pointer at which thread_run called */
  bool is_in_managed_code;      /* between thread_run and its return */
  /* The youngest managed frame, while the thread waits. No return address: there is none. */
  struct waiting_frame frame;
  uint64_t random;       /* for pauses: see pause_sometimes */
  uint64_t walks;        /* how often its stack was walked, ... */
  uint64_t frames;       /* ... and how many frames there were, all in all */
  uint64_t native_walks; /* the walks during a stay in native code */
  bool is_native;
};

/* heap_bytes: the size of each space of the heap. stress: collect at every allocation and every
 * poll. A pause of a random length is made at one in `pauses` of the places where threads meet, or
 * never if that is 0. */
void world_open(size_t heap_bytes, bool stress, uint64_t pauses);
void world_close(void);

/* Makes the calling thread one that may run managed code, and running; and the other way round. */
void world_attach(struct thread *thread, uint64_t seed);
void world_detach(struct thread *thread);

/* Runs managed code in the calling thread, and returns function(a, b, c). Managed code must not lead
 * here again. */
uint64_t thread_run(struct thread *thread, managed_function *function, uint64_t a, uint64_t b,
                    uint64_t c);

/* From a running thread, whose youngest managed frame is given: waits while others collect, or in
 * stress mode collects; and a new object, as heap_allocate gives it. */
void world_safepoint(struct waiting_frame frame);
void *world_allocate(struct waiting_frame frame, uint64_t data_bytes, uint64_t references);

/* From running to waiting, and back. In between the thread may do anything but touch references. */
void world_enter_native(struct waiting_frame frame);
void world_leave_native(void);

/* Does nothing, yields, or sleeps for a moment, as chance will have it: so that threads meet in
 * ever different ways. */
void pause_sometimes(void);

/* Writes what the collections did, a line for each figure. */
void world_report(FILE *file);

#endif
