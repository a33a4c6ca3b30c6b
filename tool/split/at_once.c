/* at_once.c - see at_once.h.
 *
 * Signals that end the process wait until no thread is in the middle of replacing a file: all are
 * blocked, and no job is started after one has come.
 */
#include "tool/split/at_once.h"

#include "tool/image/input.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

enum { THREADS_MAX = 64 };

struct queue {
  struct split_job *jobs;
  size_t count;
  atomic_size_t next;
  split_finish *finish;
};

static void do_job(struct split_job *job, split_finish *finish) {
  struct input input;
  if (!input_open(&input, job->path, &job->problem))
    return;
  job->bytes = input.bytes;
  job->size = input.size;
  job->ok =
      split_file(&job->split, job->path, input.bytes, input.size, &job->problem) && finish(job);
  free(job->split.bytes);
  input_close(&input);
}

static bool is_interrupted(void) {
  sigset_t pending;
  return sigpending(&pending) == 0 &&
         (sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1 ||
          sigismember(&pending, SIGHUP) == 1 || sigismember(&pending, SIGQUIT) == 1);
}

static void *do_jobs(void *context) {
  struct queue *queue = context;
  for (size_t i; !is_interrupted() && (i = atomic_fetch_add(&queue->next, 1)) < queue->count;)
    do_job(&queue->jobs[i], queue->finish);
  return NULL;
}

void split_at_once(struct split_job *jobs, size_t count, split_finish *finish) {
  struct queue queue = {.jobs = jobs, .count = count, .finish = finish};
  pthread_t threads[THREADS_MAX];
  const long processors = sysconf(_SC_NPROCESSORS_ONLN);
  size_t started = 0;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  /* This thread is one, too, and does all if there is no other. */
  while (started < THREADS_MAX && started + 1 < count && (long)started + 1 < processors &&
         pthread_create(&threads[started], NULL, do_jobs, &queue) == 0)
    started++;
  do_jobs(&queue);
  for (size_t i = 0; i < started; i++)
    pthread_join(threads[i], NULL);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  for (size_t i = 0; i < count; i++)
    if (!jobs[i].ok)
      problem_set(&jobs[i].problem, "interrupted"); /* where nothing else is said */
}
