/* open.c - the cost of opening a file: a packed table is mapped, raw stack maps are read.
 *
 * open FILE: processor time and page faults, medians of some rounds. Prints JSON.
 */
#include "runtime/stackpack.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

enum { ROUNDS = 9 };

static int compare(const void *a, const void *b) {
  const double left = *(const double *)a, right = *(const double *)b;
  return (left > right) - (left < right);
}

static double median(double *values) {
  qsort(values, ROUNDS, sizeof *values, compare);
  return values[ROUNDS / 2];
}

/* The thread's: a limit of CPU time, which tests have, makes Linux count the process's by ticks. */
static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static double faults(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)usage.ru_minflt;
}

int main(int argc, char **argv) {
  double times[ROUNDS], page_faults[ROUNDS];
  for (unsigned round = 0; round < ROUNDS; round++) {
    struct stackpack_file file;
    const double before = faults(), start = now();
    if (argc != 2 || stackpack_file_open(&file, argv[1]) != STACKPACK_OK) {
      fputs("usage: open FILE\n", stderr);
      return 2;
    }
    times[round] = now() - start;
    page_faults[round] = faults() - before;
    stackpack_file_close(&file);
  }
  json_t *result = json_pack("{s:f, s:f}", "ns", median(times), "page_faults", median(page_faults));
  json_dumpf(result, stdout, 0);
  putchar('\n');
  json_decref(result);
  return 0;
}
