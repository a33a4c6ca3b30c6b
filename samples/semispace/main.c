/* main.c - runs the workloads one after the other and prints their checksums.
 *
 * It is plain C: main's frame is where a stack walk leaves managed code. It holds no references
 * itself; what a workload returns is a number.
 */
#include "collector.h"
#include "workload.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>

struct options {
  uint64_t size, heap_kilobytes;
  bool stress, statistics;
};

static const struct {
  const char *name;
  uint64_t (*run)(uint64_t size);
} workloads[] = {
    {"trees", trees_run},
    {"lists", lists_run},
    {"arrays", arrays_run},
    {"words", words_run},
};

static const char usage[] =
    "usage: semispace [--size N] [--heap KILOBYTES] [--stress] [--statistics]\n"
    "  --size N           how much work (default 20)\n"
    "  --heap KILOBYTES   the size of each of the two spaces (default 512)\n"
    "  --stress           collect at every allocation\n"
    "  --statistics       say on stderr what the collections did\n";

static _Noreturn void fail_usage(void) {
  fputs(usage, stderr);
  exit(2);
}

static uint64_t parse_number(const char *text) {
  char *end;
  unsigned long number = strtoul(text, &end, 10);
  if (end == text || *end != '\0' || number == 0 || number > 1000000)
    fail_usage();
  return number;
}

static struct options parse_options(int argc, char **argv) {
  static const struct option names[] = {
      {"size", required_argument, NULL, 's'},
      {"heap", required_argument, NULL, 'h'},
      {"stress", no_argument, NULL, 'x'},
      {"statistics", no_argument, NULL, 't'},
      {NULL, 0, NULL, 0},
  };
  struct options options = {.size = 20, .heap_kilobytes = 512};
  for (int option; (option = getopt_long(argc, argv, "", names, NULL)) != -1;) {
    switch (option) {
    case 's':
      options.size = parse_number(optarg);
      break;
    case 'h':
      options.heap_kilobytes = parse_number(optarg);
      break;
    case 'x':
      options.stress = true;
      break;
    case 't':
      options.statistics = true;
      break;
    default:
      fail_usage();
    }
  }
  if (optind != argc)
    fail_usage();
  return options;
}

int main(int argc, char **argv) {
  struct options options = parse_options(argc, argv);
  heap_open(options.heap_kilobytes * 1024, options.stress);
  for (size_t i = 0; i < sizeof workloads / sizeof workloads[0]; i++)
    printf("%-6s %016" PRIx64 "\n", workloads[i].name, workloads[i].run(options.size));
  if (options.statistics)
    heap_report(stderr);
  heap_close();
  return 0;
}
