/* main.c - runs the workloads one after the other and prints their checksums. */
#include "collector.h"
#include "options.h"
#include "scheduler.h"

#include <inttypes.h>

static uint64_t fibers = 30, size = 30;

/* The managed functions: see workload.h. References are numbers here. */
uintptr_t sort_run(uintptr_t argument);
uintptr_t fringe_run(uintptr_t argument);
uintptr_t rows_run(uintptr_t argument);

static const struct {
  const char *name;
  uintptr_t (*run)(uintptr_t argument);
} workloads[] = {
    {"sort", sort_run},
    {"fringe", fringe_run},
    {"rows", rows_run},
};

uint64_t setting_fibers(void);
uint64_t setting_size(void);

uint64_t setting_fibers(void) { return fibers; }

uint64_t setting_size(void) { return size; }

int main(int argc, char **argv) {
  uint64_t seed = 1, kilobytes = 0;
  bool stress = false, statistics = false;
  options_take(
      argc, argv,
      (const struct option_row[]){
          {"fibers", "about how many fibers each workload has", NULL, &fibers, 1, 10000},
          {"size", "how much work each of them has", NULL, &size, 1, 100},
          {"seed", "which fiber runs next is random, but the same for one seed", NULL, &seed, 1,
           1000000},
          {"heap", "the size of each of the two spaces, in KiB; 0: a little more than needed", NULL,
           &kilobytes, 0, 1000000},
          {"stress", "collect at every allocation, and whenever another fiber is to run",
           .flag = &stress},
          {"statistics", "say on stderr what the collections did", .flag = &statistics},
          {0},
      });
  if (kilobytes == 0)
    kilobytes = 64 + (fibers + 10) * size / 8;
  heap_open(kilobytes * 1024, stress);
  for (size_t i = 0; i < sizeof workloads / sizeof workloads[0]; i++) {
    uintptr_t result = scheduler_run((void *)workloads[i].run, seed, heap_between_fibers);
    printf("%-6s %016" PRIx64 "\n", workloads[i].name, *(const uint64_t *)result);
  }
  if (statistics) {
    fprintf(stderr, "switches: %" PRIu64 " between %zu fibers at most\n", scheduler_switches(),
            scheduler_fibers());
    heap_report(stderr);
  }
  scheduler_close();
  heap_close();
  return 0;
}
