/* world.c - see world.h. */
#include "world.h"

#include "bounds.h"
#include "copier.h"
#include "die.h"
#include "managed.h"
#include "numbers.h"
#include "roots.h"

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>

/* Polls read it without the lock: managed code may see a change late, at the next poll. */
int safepoint_armed;

static struct {
  pthread_mutex_t lock;
  pthread_cond_t all_wait, goes_on;
  struct thread *threads;
  unsigned running;
  bool collecting;

  struct copier copier;
  uint64_t pauses;
  uint64_t walks, frames, native_walks; /* of threads that have ended */
} world = {.lock = PTHREAD_MUTEX_INITIALIZER,
           .all_wait = PTHREAD_COND_INITIALIZER,
           .goes_on = PTHREAD_COND_INITIALIZER};

static _Thread_local struct thread *current;

static void arm_polls(bool armed) { __atomic_store_n(&safepoint_armed, armed, __ATOMIC_RELAXED); }

void world_open(size_t heap_bytes, bool stress, uint64_t pauses) {
  copier_open(&world.copier, heap_bytes, stress);
  world.pauses = pauses;
  arm_polls(stress);
  roots_open();
}

void world_close(void) {
  roots_close();
  copier_close(&world.copier);
}

/* ---- Waiting and running; with the lock held ---- */

static void stop_running(struct waiting_frame frame) {
  current->frame = frame;
  if (--world.running == 0)
    pthread_cond_signal(&world.all_wait);
}

static void start_running(void) {
  while (world.collecting)
    pthread_cond_wait(&world.goes_on, &world.lock);
  world.running++;
}

/* All threads are stopped now. */
static void move_everything(void) {
  copier_start(&world.copier);
  for (struct thread *thread = world.threads; thread; thread = thread->next)
    roots_of_thread(thread, &world.copier);
  roots_of_globals(&world.copier);
  copier_finish(&world.copier);
}

/* Collects, or waits until another thread has done so. True if this thread collected: then it is
 * the only one that has run since. */
static bool collect(struct waiting_frame frame) {
  bool is_collector = !world.collecting;
  if (is_collector) {
    world.collecting = true;
    arm_polls(true);
  }
  stop_running(frame);
  if (is_collector) {
    while (world.running > 0)
      pthread_cond_wait(&world.all_wait, &world.lock);
    move_everything();
    world.collecting = false;
    arm_polls(world.copier.stress);
    pthread_cond_broadcast(&world.goes_on);
  }
  start_running();
  return is_collector;
}

/* ---- Threads ---- */

void world_attach(struct thread *thread, uint64_t seed) {
  *thread = (struct thread){.stack = bounds_of_thread(), .random = random_next(seed)};
  current = thread;
  pthread_mutex_lock(&world.lock);
  thread->next = world.threads;
  world.threads = thread;
  start_running();
  pthread_mutex_unlock(&world.lock);
}

void world_detach(struct thread *thread) {
  pthread_mutex_lock(&world.lock);
  struct thread **link = &world.threads;
  while (*link != thread)
    link = &(*link)->next;
  *link = thread->next;
  world.walks += thread->walks;
  world.frames += thread->frames;
  world.native_walks += thread->native_walks;
  stop_running((struct waiting_frame){0});
  pthread_mutex_unlock(&world.lock);
  current = NULL;
}

uint64_t thread_run(struct thread *thread, managed_function *function, uint64_t a, uint64_t b,
                    uint64_t c) {
  if (thread->is_in_managed_code)
    die("managed code leads to a call of managed code");
  thread->is_in_managed_code = true;
  const uint64_t result = managed_call(function, &thread->stack.end, a, b, c, 0);
  thread->is_in_managed_code = false;
  return result;
}

/* ---- The callees of managed code ---- */

void world_safepoint(struct waiting_frame frame) {
  pthread_mutex_lock(&world.lock);
  if (world.collecting || world.copier.stress)
    collect(frame);
  pthread_mutex_unlock(&world.lock);
}

void *world_allocate(struct waiting_frame frame, uint64_t data_bytes, uint64_t references) {
  pthread_mutex_lock(&world.lock);
  void *object = world.copier.stress ? NULL : copier_take(&world.copier, data_bytes, references);
  for (bool is_emptied = false; !object && !is_emptied;) {
    is_emptied = collect(frame);
    object = copier_take(&world.copier, data_bytes, references);
  }
  if (!object)
    die("the heap is full");
  pthread_mutex_unlock(&world.lock);
  return object;
}

void world_enter_native(struct waiting_frame frame) {
  pthread_mutex_lock(&world.lock);
  current->is_native = true;
  stop_running(frame);
  pthread_mutex_unlock(&world.lock);
}

void world_leave_native(void) {
  pthread_mutex_lock(&world.lock);
  start_running();
  current->is_native = false;
  pthread_mutex_unlock(&world.lock);
}

/* ---- Chance, and figures ---- */

void pause_sometimes(void) {
  uint64_t number = current->random = random_next(current->random);
  if (world.pauses == 0 || number % world.pauses != 0)
    return;
  number /= world.pauses;
  struct timespec moment = {.tv_nsec = (long)(number / 4 % 100000)};
  if (number % 4 == 0)
    nanosleep(&moment, NULL);
  else
    sched_yield();
}

void world_report(FILE *file) {
  copier_report(&world.copier, file);
  fprintf(file, "stacks walked: %" PRIu64 " (%" PRIu64 " of threads in native code)\n", world.walks,
          world.native_walks);
  fprintf(file, "frames walked: %" PRIu64 "\n", world.frames);
}
