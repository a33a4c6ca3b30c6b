/* verify.c - stackpack verify: compares a packed program with the original.
 *
 * First the policy takes records out of the original, as it did when the program was packed. Then
 * these are compared:
 *
 *   compare.c         the records, and their positions in the source
 *   compare_frames.c  the original's frames, with another reader of the unwind tables (libdw)
 *   answers.c         the packed table's answers to look-ups, if all else agrees
 */
#include "tool/commands.h"

#include "tool/calls/drop.h"
#include "tool/check/answers.h"
#include "tool/check/compare.h"
#include "tool/check/compare_frames.h"
#include "tool/image/clean.h"
#include "tool/print/json.h"
#include "tool/source/positions.h"

#include <inttypes.h>
#include <stdio.h>

static const char help[] =
    "Usage: stackpack verify [OPTION]... RAW PACKED\n"
    "Compares all records of two programs; asks the packed one for every address.\n\n"
    "  -q, --quiet               print nothing if they agree\n"
    "      --format=text|json    default: text\n" COMMON_HELP "\n"
    "If it was packed with these, just what they drop or change must be so:\n" POLICY_HELP
    "      --source-prefix-map=OLD=NEW  begin paths with NEW, not OLD\n\n"
    "Exit status: 0 if they agree, 1 if they differ.\n";

static void print_json(const struct program *raw, const struct program *packed,
                       const struct drop *drop, const struct differences *differences) {
  const bool agree = differences->count == 0;
  json_print(json_pack("{si so so sb sI sI sI sI so}", "json_version", 1, "raw",
                       json_text(raw->path), "packed", json_text(packed->path), "agree", agree,
                       "records", (json_int_t)raw->loaded.table.record_count, "functions",
                       (json_int_t)raw->loaded.table.function_count, "dropped",
                       (json_int_t)drop->dropped, "differences", (json_int_t)differences->count,
                       "first", json_text(agree ? NULL : differences->first)));
}

static void print_text(const struct program *raw, const struct program *packed,
                       const struct drop *drop, const struct differences *differences) {
  const struct safepoints *table = &raw->loaded.table;
  clean_print(stdout, raw->path);
  fputs(" and ", stdout);
  clean_print(stdout, packed->path);
  if (differences->count > 0) {
    printf(" differ: %" PRIu64 " difference%s, first: %s\n", differences->count,
           plural(differences->count), differences->first);
    return;
  }
  printf(" agree: %" PRIu32 " record%s of %" PRIu32 " function%s\n", table->record_count,
         plural(table->record_count), table->function_count, plural(table->function_count));
  if (drop->dropped > 0) {
    clean_print_path(stdout, raw->path);
    printf("%" PRIu32 " record%s more, which packing dropped\n", drop->dropped,
           plural(drop->dropped));
  }
}

static struct {
  struct load_options load;
  struct policy policy;
  struct prefix_maps maps;
  bool quiet;
  enum output_format format;
} given;

/* The form in which a table has positions. */
static struct positions_options positions_of(const struct safepoints *table,
                                             const struct prefix_maps *maps) {
  struct positions_options options = {POSITIONS_NONE, *maps};
  for (uint32_t i = 1; i <= table->sources.places.count; i++) {
    const struct source_place place = sources_place(&table->sources, i);
    if (options.wanted != POSITIONS_LINES)
      options.wanted = place.line != 0 || place.file != 0 ? POSITIONS_LINES : POSITIONS_FUNCTIONS;
  }
  return options;
}

/* Compares the positions of the packed program's records with those by the original's debug
 * information, if it has some. */
static bool compare_sources(struct program *raw, const struct program *packed,
                            const struct prefix_maps *maps, struct differences *differences,
                            struct problem *problem) {
  const struct safepoints *table = &packed->loaded.table;
  const struct positions_options options = positions_of(table, maps);
  if (raw->loaded.kind == LOAD_RAW) {
    if (options.wanted == POSITIONS_NONE || !positions_are_known(&raw->image, raw->path))
      return true;
    if (!positions_collect(&raw->loaded.table, &options, &raw->image, raw->path, problem))
      return false;
  }
  compare_positions(&raw->loaded.table, table, differences);
  return true;
}

static bool compare(struct program *raw, const struct program *packed, const struct drop *drop,
                    const struct prefix_maps *maps, struct differences *differences,
                    struct problem *problem) {
  const struct safepoints *table = &raw->loaded.table;
  compare_tables(table, &packed->loaded.table, differences);
  if (!compare_sources(raw, packed, maps, differences, problem))
    return false;
  if (!compare_frames(&raw->image, table, differences, problem))
    return false;
  if (differences->count == 0)
    answers_all(table, &packed->loaded.packed, drop->addresses, drop->dropped, differences);
  return true;
}

/* Takes the records that the policy drops out of the original, and compares the others. Returns the
 * exit status. */
static int drop_and_compare(struct program *raw, const struct program *packed,
                            struct problem *problem) {
  struct differences differences = {0};
  struct drop drop = {0};
  const bool ok =
      drop_by_policy(raw->path, &raw->image, &raw->loaded, &given.policy, NULL, &drop, problem) &&
      compare(raw, packed, &drop, &given.maps, &differences, problem);
  if (ok && (!given.quiet || differences.count > 0))
    (given.format == FORMAT_JSON ? print_json : print_text)(raw, packed, &drop, &differences);
  drop_close(&drop);
  return !ok ? EXIT_UNUSABLE : differences.count == 0 ? EXIT_DONE : EXIT_DIFFERENCE;
}

static int verify(char **arguments, int count, struct problem *problem) {
  struct program raw, packed = {0};
  int status = EXIT_UNUSABLE;
  (void)count;
  if (program_open(&raw, arguments[0], &given.load, problem)) {
    if (program_open(&packed, arguments[1], &given.load, problem) &&
        (packed.loaded.kind == LOAD_PACKED || problem_set(problem, "isn't packed")))
      status = drop_and_compare(&raw, &packed, problem);
    else
      problem->file = arguments[1];
  }
  program_close(&packed);
  program_close(&raw);
  return status;
}

static const struct command_option own[] = {
    {"quiet", 'q', .flag = &given.quiet},
    {"format", .words = "text|json", .word = &given.format},
    POSITIONS_MAP_OPTION(&given),
    POLICY_OPTIONS(&given.policy),
    LOAD_OPTIONS(&given.load),
    {0},
};
const struct command command_verify = {"verify",
                                       "compare a packed program with the original",
                                       help,
                                       own,
                                       2,
                                       2,
                                       "there must be two files, the original and the packed one",
                                       verify};
