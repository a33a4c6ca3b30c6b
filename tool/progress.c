/* progress.c - see progress.h. */
#include "tool/progress.h"

#include "tool/image/clean.h"

#include <unistd.h>

void progress_start(struct progress *progress, const char *path, bool wanted) {
  *progress = (struct progress){.path = path, .is_told = wanted && isatty(STDERR_FILENO) == 1};
  clock_gettime(CLOCK_MONOTONIC, &progress->start);
}

void progress_step(const struct progress *progress, const char *step) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  const double seconds = (double)(now.tv_sec - progress->start.tv_sec) +
                         (double)(now.tv_nsec - progress->start.tv_nsec) / 1e9;
  if (!progress->is_told || seconds < 1)
    return;
  fputs("stackpack: ", stderr);
  clean_print_path(stderr, progress->path);
  fprintf(stderr, "%s ...\n", step);
}
