/* verify.c - stackpack verify: compares a packed program with the original. */
#include "tool/commands.h"

#include "tool/calls/drop.h"
#include "tool/check/answers.h"
#include "tool/check/compare.h"
#include "tool/check/frames.h"
#include "tool/image/clean.h"
#include "tool/print/json.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>

static const char help[] =
    "Usage: stackpack verify [OPTION]... RAW PACKED\n"
    "Compares all records of two programs; asks the packed one for every address.\n\n"
    "  -q, --quiet               print nothing if they agree\n"
    "      --format=text|json    default: text\n" COMMON_HELP "\n"
    "If it was packed with these, just the records that they drop must be missing:\n" POLICY_HELP
    "\n"
    "Exit status: 0 if they agree, 1 if they differ.\n";

static void print_both(const char *raw, const char *packed) {
  clean_print(stdout, raw);
  fputs(" and ", stdout);
  clean_print(stdout, packed);
}

/* One object on a line. */
static void print_json(const struct program *raw, const struct program *packed,
                       const struct drop *drop, const struct differences *differences) {
  printf("{\"json_version\":1,\"raw\":");
  json_print_text(raw->path);
  printf(",\"packed\":");
  json_print_text(packed->path);
  printf(",\"agree\":%s,\"records\":%" PRIu32 ",\"functions\":%" PRIu32 ",\"dropped\":%" PRIu32
         ",\"differences\":%" PRIu64 ",\"first\":",
         differences->count == 0 ? "true" : "false", raw->loaded.table.record_count,
         raw->loaded.table.function_count, drop->dropped, differences->count);
  json_print_text(differences->count == 0 ? NULL : differences->first);
  puts("}");
}

static int compare(const struct program *raw, const struct program *packed, const struct drop *drop,
                   bool quiet, bool json) {
  struct differences differences = {0};
  compare_tables(&raw->loaded.table, &packed->loaded.table, &differences);
  frames_compare(&raw->image, &raw->loaded.table, &differences);
  if (packed->loaded.kind == LOAD_PACKED && differences.count == 0) {
    answers_all(&raw->loaded.table, &packed->loaded.packed, &differences);
    answers_dropped(&raw->loaded.table, &packed->loaded.packed, drop->addresses, drop->dropped,
                    &differences);
  }
  if (differences.no_memory) {
    problem_print(&(struct problem){.text = "not enough memory"}, raw->path);
    return EXIT_UNUSABLE;
  }
  if (json) {
    print_json(raw, packed, drop, &differences);
    return differences.count == 0 ? EXIT_DONE : EXIT_DIFFERENCE;
  }
  if (differences.count > 0) {
    print_both(raw->path, packed->path);
    printf(" differ: %" PRIu64 " difference%s, first: %s\n", differences.count,
           plural(differences.count), differences.first);
    return EXIT_DIFFERENCE;
  }
  if (quiet)
    return EXIT_DONE;
  const struct safepoints *table = &raw->loaded.table;
  print_both(raw->path, packed->path);
  printf(" agree: %" PRIu32 " record%s of %" PRIu32 " function%s\n", table->record_count,
         plural(table->record_count), table->function_count, plural(table->function_count));
  if (drop->dropped > 0) {
    clean_print_path(stdout, raw->path);
    printf("%" PRIu32 " record%s more, which packing dropped\n", drop->dropped,
           plural(drop->dropped));
  }
  return EXIT_DONE;
}

struct verify_options {
  struct load_options load;
  struct policy policy;
  bool quiet;
  enum output_format format;
};

/* Takes the records that the policy drops out of the original, and compares the others. */
static int drop_and_compare(struct program *raw, const struct program *packed,
                            const struct verify_options *options) {
  struct problem problem = {0};
  struct drop drop;
  if (!drop_by_policy(raw->path, &raw->image, &raw->loaded, &options->policy, NULL, &drop,
                      &problem)) {
    problem_print(&problem, raw->path);
    return EXIT_UNUSABLE;
  }
  const int status = compare(raw, packed, &drop, options->quiet, options->format == FORMAT_JSON);
  drop_close(&drop);
  return status;
}

static int verify_files(const struct verify_options *options, const char *raw_path,
                        const char *packed_path) {
  struct problem problem = {0};
  struct program raw, packed = {0};
  int status = EXIT_UNUSABLE;
  if (!program_open(&raw, raw_path, &options->load, &problem))
    problem_print(&problem, raw_path);
  else if (!program_open(&packed, packed_path, &options->load, &problem))
    problem_print(&problem, packed_path);
  else
    status = drop_and_compare(&raw, &packed, options);
  program_close(&packed);
  program_close(&raw);
  return status;
}

int command_verify(int argc, char **argv) {
  static const struct command command = {
      "verify", help, 2, 2, "there must be two files, the original and the packed one"};
  struct verify_options options = {0};
  const struct command_option own[] = {
      {"quiet", 'q', .flag = &options.quiet},
      {"format", .words = "text|json", .word = &options.format},
      POLICY_OPTIONS(&options.policy),
      LOAD_OPTIONS(&options.load),
      {0},
  };
  int status;
  if (command_options(&command, own, argc, argv, &status))
    status = verify_files(&options, argv[optind], argv[optind + 1]);
  policy_close(&options.policy);
  return status;
}
