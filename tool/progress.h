/* progress.h - tells people at a terminal what takes so long. */
#ifndef STACKPACK_PROGRESS_H
#define STACKPACK_PROGRESS_H

#include <stdbool.h>
#include <time.h>

/* What is being done with a file. After the first second, a line on stderr tells each step that begins;
 * there is nothing of it where stderr is no terminal. */
struct progress {
  const char *path;
  struct timespec start;
  bool is_told;
};

/* Nothing is told unless it is `wanted`. */
void progress_start(struct progress *progress, const char *path, bool wanted);
void progress_step(const struct progress *progress, const char *step);

#endif
