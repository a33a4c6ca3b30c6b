/* native.c - the native functions that managed code calls.
 *
 * There are three kinds. A GC entry that collects, or waits for a collection, gets its caller's
 * frame from its stub. A GC entry that takes long gets it, too: it notes the frame, stops running,
 * does its work without touching a reference, and becomes a running thread again before it returns.
 * A GC leaf is short and runs all the time, so it may handle references: collections wait for its
 * return.
 */
#include "native.h"

#include "managed.h"
#include "world.h"

#include <pthread.h>

/* ---- GC entries: the allocator and the poll ---- */

void *heap_allocate_for_frame(uint64_t data_bytes, uint64_t references, uintptr_t return_address,
                              uintptr_t stack_pointer, uintptr_t frame_pointer);
void safepoint_wait_for_frame(uintptr_t return_address, uintptr_t stack_pointer,
                              uintptr_t frame_pointer);
void native_nap_for_frame(uintptr_t return_address, uintptr_t stack_pointer,
                          uintptr_t frame_pointer);
void native_wait_for_end_for_frame(uintptr_t return_address, uintptr_t stack_pointer,
                                   uintptr_t frame_pointer);

void *heap_allocate_for_frame(uint64_t data_bytes, uint64_t references, uintptr_t return_address,
                              uintptr_t stack_pointer, uintptr_t frame_pointer) {
  pause_sometimes();
  return world_allocate((struct waiting_frame){return_address, stack_pointer, frame_pointer},
                        data_bytes, references);
}

void safepoint_wait_for_frame(uintptr_t return_address, uintptr_t stack_pointer,
                              uintptr_t frame_pointer) {
  pause_sometimes();
  world_safepoint((struct waiting_frame){return_address, stack_pointer, frame_pointer});
}

/* ---- GC entries: transitions into native code ---- */

void native_nap_for_frame(uintptr_t return_address, uintptr_t stack_pointer,
                          uintptr_t frame_pointer) {
  world_enter_native((struct waiting_frame){return_address, stack_pointer, frame_pointer});
  for (int i = 0; i < 8; i++)
    pause_sometimes();
  world_leave_native();
}

/* Stands for a wait in poll(2), or for a lock of the operating system. */
static struct {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool has_waiter, has_ended;
} end = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void change_end(bool *what) {
  pthread_mutex_lock(&end.lock);
  *what = true;
  pthread_cond_broadcast(&end.changed);
  pthread_mutex_unlock(&end.lock);
}

static void await_end(const bool *what) {
  pthread_mutex_lock(&end.lock);
  while (!*what)
    pthread_cond_wait(&end.changed, &end.lock);
  pthread_mutex_unlock(&end.lock);
}

void native_wait_for_end_for_frame(uintptr_t return_address, uintptr_t stack_pointer,
                                   uintptr_t frame_pointer) {
  world_enter_native((struct waiting_frame){return_address, stack_pointer, frame_pointer});
  change_end(&end.has_waiter);
  await_end(&end.has_ended);
  world_leave_native();
}

void native_await_waiter(void) { await_end(&end.has_waiter); }

void native_end(void) { change_end(&end.has_ended); }

/* ---- A GC leaf ---- */

/* The board's references are roots outside the stacks. The collector finds the board's slots in
 * this section, or in the table of a packed program. */
static uintptr_t board[BOARD_SLOTS];
__attribute__((section("gc_roots"), used)) static uintptr_t *const board_roots[BOARD_SLOTS] = {
    &board[0], &board[1], &board[2], &board[3]};

/* Threads exchange without a lock. Acquire and release order one thread's writes to a list's cells
 * before another's reads. */
reference board_exchange(uint64_t slot, reference put) {
  pause_sometimes();
  return (reference)__atomic_exchange_n(&board[slot], (uintptr_t)put, __ATOMIC_ACQ_REL);
}
