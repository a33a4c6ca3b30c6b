/* world.h - the threads that run managed code, and the way to stop all of them for a collection.
 *
 * A thread is in one of two states:
 *
 *   running   managed code, or native code that handles references: objects must stay in place
 *   waiting   with its youngest managed frame noted in `frame`: its references may be updated. The
 *             thread may sleep, wait for the end of a collection, or run native code for long
 *
 * The world counts the running threads. A thread that wants to collect sets `collecting`, arms the
 * polls, stops running itself, and waits until the count is 0. Until the end of the collection, all
 * other threads stay waiting: a thread that becomes running takes the lock, and needs `collecting`
 * to be false. So a thread that returns from native code during a collection waits.
 *
 * One lock guards all of this. The collector holds it while it works.
 */
#ifndef THREADS_WORLD_H
#define THREADS_WORLD_H

#include "frame.h"
#include "managed_call.h"

#include <stdio.h>

/* The thread owns this while it runs, and the collector while the thread waits. */
struct thread {
  struct thread *next;          /* in the world's list */
  struct stackpack_stack stack; /* its end is the stack pointer of thread_run's call */
  bool is_in_managed_code;      /* between thread_run and its return */
  /* The youngest managed frame, while the thread waits. Return address 0: it has no managed
   * frame. */
  struct waiting_frame frame;
  uint64_t random;       /* for pauses: see pause_sometimes */
  uint64_t walks;        /* walks of its stack */
  uint64_t frames;       /* frames in all walks */
  uint64_t native_walks; /* walks during a stay in native code */
  bool is_native;
};

/* heap_bytes: the size of each space of the heap. stress: collect at every allocation and every
 * poll. pauses: make a random pause at one in so many places where threads meet; 0: never. */
void world_open(size_t heap_bytes, bool stress, uint64_t pauses);
void world_close(void);

/* Adds the calling thread to the world, as a running one; and removes it. */
void world_attach(struct thread *thread, uint64_t seed);
void world_detach(struct thread *thread);

/* Runs managed code in the calling thread, and returns function(a, b, c). Functions that
 * managed code calls must never call this. */
uint64_t thread_run(struct thread *thread, managed_function *function, uint64_t a, uint64_t b,
                    uint64_t c);

/* For a running thread, with its youngest managed frame. The first waits while another thread
 * collects, or in stress mode collects; the second returns a new object, as heap_allocate does. */
void world_safepoint(struct waiting_frame frame);
void *world_allocate(struct waiting_frame frame, uint64_t data_bytes, uint64_t references);

/* From running to waiting, and back. In between the thread must not touch references. */
void world_enter_native(struct waiting_frame frame);
void world_leave_native(void);

/* At random, returns at once, yields, or sleeps for a moment, so that threads meet in different
 * ways. */
void pause_sometimes(void);

/* Writes the collections' figures, one a line. */
void world_report(FILE *file);

#endif
