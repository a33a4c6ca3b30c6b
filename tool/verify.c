/* verify.c - stackpack verify: does a packed program say what the original said? */
#include "commands.h"

#include "compare.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>

static const char help[] =
    "Usage: stackpack verify [OPTION]... RAW PACKED\n"
    "Compares every record of two programs, and asks the packed one for every address.\n\n"
    "  -q, --quiet               print nothing if they agree\n" COMMON_HELP "\n"
    "Exit status: 0 if they agree, 1 if they differ.\n";

struct side {
  const char *path;
  struct image image;
  struct loaded loaded;
};

static bool side_open(struct side *side, const char *path, const struct load_options *options) {
  struct problem problem = {0};
  side->path = path;
  if (!load_open(&side->image, path, options, &problem)) {
    problem_print(&problem, path);
    return false;
  }
  if (load(&side->image, options, &side->loaded, &problem))
    return true;
  problem_print(&problem, path);
  image_close(&side->image);
  return false;
}

static void side_close(struct side *side) {
  loaded_free(&side->loaded);
  image_close(&side->image);
}

static int compare(const struct side *raw, const struct side *packed, bool quiet) {
  struct differences differences = {0};
  compare_tables(&raw->loaded.table, &packed->loaded.table, &differences);
  if (packed->loaded.kind == LOAD_PACKED && differences.count == 0)
    compare_answers(&raw->loaded.table, &packed->loaded.packed, &differences);
  if (differences.count > 0) {
    printf("%s and %s differ: %" PRIu64 " differences, first: %s\n", raw->path, packed->path,
           differences.count, differences.first);
    return EXIT_DIFFERENCE;
  }
  if (!quiet)
    printf("%s and %s agree: %" PRIu32 " records of %" PRIu32 " functions\n", raw->path,
           packed->path, raw->loaded.table.record_count, raw->loaded.table.function_count);
  return EXIT_DONE;
}

int command_verify(int argc, char **argv) {
  static const struct command command = {"verify", help};
  static const struct option long_options[] = {
      {"quiet", no_argument, NULL, 'q'},
      COMMON_OPTIONS,
      {0},
  };
  struct load_options options = {0};
  bool quiet = false;
  int status = EXIT_DONE;
  opterr = 0;
  for (int option; (option = getopt_long(argc, argv, "q", long_options, NULL)) != -1;) {
    switch (option) {
    case 'q':
      quiet = true;
      break;
    default:
      if (!common_option(&command, option, argv[optind - 1], &options, &status))
        return status;
    }
  }
  if (argc - optind != 2)
    return usage_error("verify", "there must be two files, the original and the packed one");
  struct side raw, packed;
  if (!side_open(&raw, argv[optind], &options))
    return EXIT_UNUSABLE;
  if (!side_open(&packed, argv[optind + 1], &options)) {
    side_close(&raw);
    return EXIT_UNUSABLE;
  }
  status = compare(&raw, &packed, quiet);
  side_close(&packed);
  side_close(&raw);
  return status;
}
