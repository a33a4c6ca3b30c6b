/* progress.h - tells people at a terminal what takes so long. */
#ifndef STACKPACK_PROGRESS_H
#define STACKPACK_PROGRESS_H

#include <pthread.h>
#include <stdbool.h>

/* What is being done with a file. After the first second, a line on stderr tells each step; there is
 * nothing of it where stderr is no terminal. */
struct progress {
  const char *path, *step;
  pthread_t thread;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  bool is_running, is_done;
};

/* Starts, unless it isn't `wanted`. *progress stays where it is until progress_end. */
void progress_start(struct progress *progress, const char *path, bool wanted);
/* What is done from now on: static storage. */
void progress_step(struct progress *progress, const char *step);
void progress_end(struct progress *progress);

#endif
