/* at_once.h - splits many files, as many at once as there are processors. */
#ifndef STACKPACK_SPLIT_AT_ONCE_H
#define STACKPACK_SPLIT_AT_ONCE_H

#include "tool/split/split.h"

struct split_job {
  const char *path;
  void *context; /* the caller's */

  bool ok; /* else a problem */
  struct problem problem;
  const uint8_t *bytes; /* of the file, while `finish` runs */
  size_t size;
  struct split split; /* its bytes are there only while `finish` runs */
};

/* Does what is to be done with a file that is split, or that needn't be. False, and job->problem, if
 * it fails. It is called by several threads. */
typedef bool split_finish(struct split_job *job);

/* Sets ok, problem and results of each job. A file that can't be read is a problem. */
void split_at_once(struct split_job *jobs, size_t count, split_finish *finish);

#endif
