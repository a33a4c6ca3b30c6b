/* main.c - runs the workloads one after the other and prints their checksums. */
#include "collector.h"
#include "scheduler.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>

struct options {
  uint64_t fibers, size, seed, heap_kilobytes;
  bool stress, statistics;
};

static struct options options = {.fibers = 30, .size = 30, .seed = 1};

/* The managed functions: see workload.h. What are references there are numbers here. */
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

uint64_t setting_fibers(void) { return options.fibers; }

uint64_t setting_size(void) { return options.size; }

static const char usage[] =
    "usage: fibers [--fibers N] [--size N] [--seed N] [--heap KILOBYTES] [--stress] "
    "[--statistics]\n"
    "  --fibers N         about how many fibers each workload has (default 30, at most 10000)\n"
    "  --size N           how much work each of them has (default 30, at most 100)\n"
    "  --seed N           which of them runs next is random, but the same for one seed (default "
    "1)\n"
    "  --heap KILOBYTES   the size of each of the two spaces (default: a little more than needed)\n"
    "  --stress           collect at every allocation, and whenever another fiber is to run\n"
    "  --statistics       say on stderr what the collections did\n";

static _Noreturn void fail_usage(void) {
  fputs(usage, stderr);
  exit(2);
}

static uint64_t parse_number(const char *text, uint64_t most) {
  char *end;
  unsigned long number = strtoul(text, &end, 10);
  if (end == text || *end != '\0' || number == 0 || number > most)
    fail_usage();
  return number;
}

static void parse_options(int argc, char **argv) {
  static const struct option names[] = {
      {"fibers", required_argument, NULL, 'f'},
      {"size", required_argument, NULL, 's'},
      {"seed", required_argument, NULL, 'r'},
      {"heap", required_argument, NULL, 'h'},
      {"stress", no_argument, NULL, 'x'},
      {"statistics", no_argument, NULL, 't'},
      {NULL, 0, NULL, 0},
  };
  for (int option; (option = getopt_long(argc, argv, "", names, NULL)) != -1;) {
    switch (option) {
    case 'f':
      options.fibers = parse_number(optarg, 10000);
      break;
    case 's':
      options.size = parse_number(optarg, 100);
      break;
    case 'r':
      options.seed = parse_number(optarg, 1000000);
      break;
    case 'h':
      options.heap_kilobytes = parse_number(optarg, 1000000);
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
  if (options.heap_kilobytes == 0)
    options.heap_kilobytes = 64 + (options.fibers + 10) * options.size / 8;
}

int main(int argc, char **argv) {
  parse_options(argc, argv);
  heap_open(options.heap_kilobytes * 1024, options.stress);
  for (size_t i = 0; i < sizeof workloads / sizeof workloads[0]; i++) {
    uintptr_t result = scheduler_run((void *)workloads[i].run, options.seed, heap_between_fibers);
    printf("%-6s %016" PRIx64 "\n", workloads[i].name, *(const uint64_t *)result);
  }
  if (options.statistics) {
    fprintf(stderr, "switches: %" PRIu64 " between %zu fibers at most\n", scheduler_switches(),
            scheduler_fibers());
    heap_report(stderr);
  }
  scheduler_close();
  heap_close();
  return 0;
}
