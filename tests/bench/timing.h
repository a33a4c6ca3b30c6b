/* timing.h - clocks, and the median of some measurements. */
#ifndef STACKPACK_BENCH_TIMING_H
#define STACKPACK_BENCH_TIMING_H

#include <stdlib.h>
#include <time.h>

/* Nanoseconds. */
static inline double read_clock(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* For steps of milliseconds: the thread's processor time. (Reading this clock is a system call, too
 * slow for a single look-up. A limit of CPU time, which tests have, makes Linux count the process's
 * by ticks.) */
static inline double processor_time(void) { return read_clock(CLOCK_THREAD_CPUTIME_ID); }

static inline int compare_doubles(const void *a, const void *b) {
  const double left = *(const double *)a, right = *(const double *)b;
  return (left > right) - (left < right);
}

/* Sorts the values. -1: there are none. */
static inline double median(double *values, size_t count) {
  if (count == 0)
    return -1;
  qsort(values, count, sizeof *values, compare_doubles);
  return values[count / 2];
}

#endif
