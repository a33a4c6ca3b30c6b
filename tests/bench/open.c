/* open.c - the cost of opening a file: a packed table is mapped, raw stack maps are read.
 *
 * open FILE: processor time and page faults, medians of some rounds. Prints JSON.
 */
#include "runtime/stackpack.h"
#include "timing.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

enum { ROUNDS = 9 };

static double faults(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)usage.ru_minflt;
}

int main(int argc, char **argv) {
  double times[ROUNDS], page_faults[ROUNDS];
  for (unsigned round = 0; round < ROUNDS; round++) {
    struct stackpack_file file;
    const double before = faults(), start = processor_time();
    if (argc != 2 || stackpack_file_open(&file, argv[1]) != STACKPACK_OK) {
      fputs("usage: open FILE\n", stderr);
      return 2;
    }
    times[round] = processor_time() - start;
    page_faults[round] = faults() - before;
    stackpack_file_close(&file);
  }
  json_t *result = json_pack("{s:f, s:f}", "ns", median(times, ROUNDS), "page_faults",
                             median(page_faults, ROUNDS));
  json_dumpf(result, stdout, 0);
  putchar('\n');
  json_decref(result);
  return 0;
}
