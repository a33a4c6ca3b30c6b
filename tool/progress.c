/* progress.c - see progress.h.
 *
 * The steps of a command are long calls that know nothing of it. So a thread of its own waits beside
 * them: for a second, in which most files are done, and then for each new step. Signals are for the
 * thread that does the work.
 */
#include "tool/progress.h"

#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* Waits for the first second. False: all is done. */
static bool wait_a_second(struct progress *progress) {
  struct timespec end;
  clock_gettime(CLOCK_REALTIME, &end);
  end.tv_sec++;
  while (!progress->is_done)
    if (pthread_cond_timedwait(&progress->changed, &progress->mutex, &end) != 0)
      break;
  return !progress->is_done;
}

static void *show_steps(void *context) {
  struct progress *progress = context;
  pthread_mutex_lock(&progress->mutex);
  if (wait_a_second(progress)) {
    while (!progress->is_done) {
      fprintf(stderr, "stackpack: %s: %s ...\n", progress->path, progress->step);
      pthread_cond_wait(&progress->changed, &progress->mutex);
    }
  }
  pthread_mutex_unlock(&progress->mutex);
  return NULL;
}

void progress_start(struct progress *progress, const char *path, bool wanted) {
  sigset_t all, before;
  *progress = (struct progress){.path = path, .step = "reading"};
  pthread_mutex_init(&progress->mutex, NULL);
  pthread_cond_init(&progress->changed, NULL);
  if (!wanted || isatty(STDERR_FILENO) != 1)
    return;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  progress->is_running = pthread_create(&progress->thread, NULL, show_steps, progress) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void progress_step(struct progress *progress, const char *step) {
  pthread_mutex_lock(&progress->mutex);
  progress->step = step;
  pthread_cond_signal(&progress->changed);
  pthread_mutex_unlock(&progress->mutex);
}

void progress_end(struct progress *progress) {
  pthread_mutex_lock(&progress->mutex);
  progress->is_done = true;
  pthread_cond_signal(&progress->changed);
  pthread_mutex_unlock(&progress->mutex);
  if (progress->is_running)
    pthread_join(progress->thread, NULL);
  pthread_cond_destroy(&progress->changed);
  pthread_mutex_destroy(&progress->mutex);
}
