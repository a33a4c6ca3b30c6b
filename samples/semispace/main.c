/* main.c - runs the workloads one after the other and prints their checksums.
 *
 * It is plain C without references: a workload returns a number. heap_run calls managed code.
 */
#include "collector.h"
#include "options.h"
#include "workload.h"

#include <inttypes.h>

static const struct {
  const char *name;
  uint64_t (*run)(uint64_t size);
} workloads[] = {
    {"trees", trees_run},
    {"lists", lists_run},
    {"arrays", arrays_run},
    {"words", words_run},
};

int main(int argc, char **argv) {
  uint64_t size = 20, kilobytes = 512;
  bool stress = false, statistics = false;
  options_take(
      argc, argv,
      (const struct option_row[]){
          {"size", "how much work", NULL, &size, 1, 1000000},
          {"heap", "the size of each of the two spaces, in KiB", NULL, &kilobytes, 1, 1000000},
          {"stress", "collect at every allocation", .flag = &stress},
          {"statistics", "say on stderr what the collections did", .flag = &statistics},
          {0},
      });
  heap_open(kilobytes * 1024, stress);
  for (size_t i = 0; i < sizeof workloads / sizeof workloads[0]; i++)
    printf("%-6s %016" PRIx64 "\n", workloads[i].name, heap_run(workloads[i].run, size));
  if (statistics)
    heap_report(stderr);
  heap_close();
  return 0;
}
