/* pack.c - stackpack pack: ELF image -> raw maps -> table of safepoints -> packed -> new file.
 *
 * A file goes through the passes that pack_image lists, in that order. Each takes the results of
 * those before it from struct packing, and adds its own; the work itself is in the file that is
 * named there. The file is opened before the first pass, and the new one is written by write_files:
 * until then the disk is unchanged.
 */
#include "tool/commands.h"

#include "elf/note.h"
#include "format/packed_write.h"
#include "tool/calls/drop.h"
#include "tool/check/answers.h"
#include "tool/check/bolt.h"
#include "tool/check/compare.h"
#include "tool/check/conflicts.h"
#include "tool/check/raw_names.h"
#include "tool/check/raw_readers.h"
#include "tool/image/clean.h"
#include "tool/image/compress.h"
#include "tool/image/output.h"
#include "tool/image/trace.h"
#include "tool/print/summary.h"
#include "tool/rewrite/kept.h"
#include "tool/rewrite/rewrite.h"
#include "tool/source/positions.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static const char help[] =
    "Usage: stackpack pack [OPTION]... FILE...: packs linked programs' stack maps\n"
    "  -o, --output=OUT          write to OUT; leave FILE (only one) alone\n"
    "      --if-present          a FILE without stack maps is no error\n"
    "      --keep-raw=RAW        keep the raw stack maps in RAW, for `unpack`\n"
    "      --force               pack also a program that reads its raw stack maps\n"
    "      --reader=here|elsewhere  elsewhere: another file has libstackpack\n"
    "      --conflicts=refuse|omit  stack maps that contradict each other\n"
    "      --always              pack also a file that grows\n"
    "      --dry-run             only print the sizes\n"
    "      --format=text|json    json: an object per file; default: text\n"
    "      --report              count the records dropped and kept, by reason\n"
    "      --source=none|lines|functions  also the records' positions in the source\n"
    "      --source-prefix-map=OLD=NEW    begin such paths with NEW, not OLD\n"
    "  -q, --quiet               print no result\n" COMMON_HELP POLICY_HELP;

struct pack_options {
  struct load_options load;
  struct policy policy;
  struct positions_options positions;
  const char *output;
  const char *keep_raw; /* NULL: the raw stack maps are discarded */
  bool if_present, force, always, dry_run, quiet, report;
  enum output_format format;
  enum { CONFLICTS_REFUSE, CONFLICTS_OMIT } conflicts;
  enum { READER_HERE, READER_ELSEWHERE } reader;
};

/* One file on its way, and the results of the passes, each beside its pass' name. */
struct packing {
  const struct pack_options *options;
  const char *path;
  struct image *image;
  struct loaded loaded;      /* find_stack_maps, and read_stack_maps for the records */
  struct drop drop;          /* drop_by_reach; find_positions adds to the records of `loaded` */
  struct problem raw_reader; /* refuse_raw_readers: empty text without a reader */
  uint8_t *table;            /* encode_table; owned */
  size_t table_size;         /* encode_table */
  struct plan plan;          /* encode_table: of the new file */
  uint8_t *result;           /* rewrite_file: plan.file_size bytes from mmap */
  struct message message;    /* sum_up; it is printed when the file is written */
  bool lacks_library;        /* likewise; warn says so */
  bool is_done;              /* the passes end early */
  struct timespec start;
};

/* Prints the step that begins, at a terminal, after the first second. */
static void begin_step(const struct packing *packing, const char *step) {
  if (packing->options->quiet || trace_seconds(&packing->start) < 1 || isatty(STDERR_FILENO) != 1)
    return;
  fputs("stackpack: ", stderr);
  clean_print_path(stderr, packing->path);
  fprintf(stderr, "%s ...\n", step);
}

/* Puts the result for a file into a message. */
static bool say(struct packing *packing, const struct summary *summary, struct problem *problem) {
  const struct pack_options *options = packing->options;
  FILE *out = packing->message.stream;
  if (options->quiet && !options->report)
    return true;
  if (options->format == FORMAT_JSON)
    return summary_print_json(out, summary) || problem_set(problem, "not enough memory");
  if (!options->quiet)
    summary_print(out, summary);
  if (summary->loaded != NULL)
    conflicts_print(out, packing->path, packing->image, &packing->loaded.entries, options->report);
  return true;
}

/* With -o, a file that stays unchanged is copied. */
static bool leave_alone(struct packing *packing, const char *why, struct problem *problem) {
  const struct new_file copy = {
      packing->options->output, packing->path,        false,
      packing->image->bytes,    packing->image->size, &packing->image->file.status};
  const struct summary summary = {.path = packing->path, .why = why};
  assert(packing->result == NULL); /* so that the image has its bytes yet */
  packing->is_done = true;
  if (!say(packing, &summary, problem))
    return false;
  return packing->options->output == NULL || packing->options->dry_run
             ? message_say(&packing->message, false, problem)
             : output_replace(&copy, 1, &packing->message, problem);
}

/* ---- The passes ---- */

/* Checks a table of an earlier run: decodes all of it, and compares look-ups with the records. */
static bool check_packed(struct packing *packing, struct problem *problem) {
  struct loaded *loaded = &packing->loaded;
  struct differences differences = {0};
  if (!load_records(packing->image, &packing->options->load, loaded, problem))
    return false;
  answers_all(&loaded->table, &loaded->packed, NULL, 0, &differences);
  return differences.count == 0 ||
         problem_set(problem, "a broken packed table: %s", differences.first);
}

/* Refuses a file without stack maps, unless --if-present accepts it; but if they are there,
 * --section names another one. A program that only has signs of stack maps has most likely lost
 * them in the link: one section of them refers to all functions, and is itself unreferenced. */
static bool take_none(struct packing *packing, struct problem *problem) {
  struct problem none = {0};
  const struct load_options *load = &packing->options->load;
  const bool are_there =
      load->section != NULL && image_section(packing->image, RAW_SECTION) != NULL;
  load_none(packing->image, load, &none);
  if (packing->options->if_present && !are_there) {
    const bool is_known = packing->image->section_count > 0;
    if (!is_known)
      problem_warn(packing->path, "%s", none.text);
    return leave_alone(packing, is_known ? "has no stack maps" : "is left as it is", problem);
  }
  const char *sign = are_there ? NULL : raw_names_lost(packing->image);
  return sign == NULL
             ? problem_set(problem, "%s", none.text)
             : problem_set(problem,
                           "%s; %s: --gc-sections discards them, unless stackpack-ld links",
                           none.text, sign);
}

/* Positions and global roots are found for raw stack maps alone. */
static bool check_additions(const struct packing *packing, struct problem *problem) {
  const struct safepoints *table = &packing->loaded.table;
  if (packing->options->load.global_roots != NULL && table->global_root_count == 0)
    return problem_set(problem, "is packed already, without global roots: --global-roots needs raw "
                                "stack maps");
  return packing->options->positions.wanted == POSITIONS_NONE || table->record_count == 0 ||
         table->sources.places.count > 0 ||
         problem_set(problem,
                     "is packed already, without positions: --source needs raw stack maps");
}

/* Finds the stack maps in the file. */
static bool find_stack_maps(struct packing *packing, struct problem *problem) {
  const struct pack_options *options = packing->options;
  const struct loaded *loaded = &packing->loaded;
  switch (load_find(packing->image, &options->load, &packing->loaded, problem)) {
  case LOAD_BROKEN:
    return false;
  case LOAD_PACKED:
    return drop_check(packing->path, loaded, &options->policy, problem) &&
           check_packed(packing, problem) && check_additions(packing, problem) &&
           leave_alone(packing, "is packed already", problem);
  case LOAD_NONE:
    return take_none(packing, problem);
  case LOAD_RAW:
    break;
  }
  return rewrite_check(packing->image, loaded, problem);
}

/* Reads them into one table of safepoints, and refuses contradictions. */
static bool read_stack_maps(struct packing *packing, struct problem *problem) {
  const struct map_entries *entries = &packing->loaded.entries;
  return load_records(packing->image, &packing->options->load, &packing->loaded, problem) &&
         (packing->options->conflicts == CONFLICTS_OMIT ||
          (bolt_check(packing->path, packing->image, &packing->loaded, problem) &&
           (entries->conflict_count == 0 || conflicts_refuse(packing->image, entries, problem))));
}

/* Removes the records of calls that can't reach a collection from the table. */
static bool drop_by_reach(struct packing *packing, struct problem *problem) {
  const struct pack_options *options = packing->options;
  FILE *report = options->report ? packing->message.stream : NULL;
  if (!policy_is_empty(&options->policy))
    begin_step(packing, "going through the code");
  return drop_by_policy(packing->path, packing->image, &packing->loaded, &options->policy, report,
                        &packing->drop, problem);
}

/* Finds where the records that are left are in the source. */
static bool find_positions(struct packing *packing, struct problem *problem) {
  const struct positions_options *options = &packing->options->positions;
  if (options->wanted != POSITIONS_NONE)
    begin_step(packing, "reading debug information");
  return positions_collect(&packing->loaded.table, options, packing->image, packing->path, problem);
}

/* Refuses a program that reads its raw stack maps itself: it would find the packed ones. */
static bool refuse_raw_readers(struct packing *packing, struct problem *problem) {
  const struct pack_options *options = packing->options;
  packing->lacks_library = options->reader == READER_HERE && !raw_names_has_library(packing->image);
  return (!raw_readers_find(packing->image, packing->loaded.raw, !packing->lacks_library,
                            &packing->raw_reader) &&
          !raw_names_find(packing->image, packing->loaded.raw, options->load.section,
                          &packing->raw_reader)) ||
         options->force ||
         problem_set(
             problem,
             "reads its raw stack maps itself (__LLVM_StackMaps), it seems: %s; "
             "--force packs it all the same; doc/porting.md has the library's calls instead",
             packing->raw_reader.text);
}

/* Encodes the table for its address: the raw section's, unless the table is larger than that
 * section, as in tiny programs. Then it is encoded again for the plan's address. */
static bool encode_table(struct packing *packing, struct problem *problem) {
  const struct loaded *loaded = &packing->loaded;
  uint64_t address = loaded->raw->header.sh_addr, encoded_for;
  assert(loaded->kind == LOAD_RAW && loaded->raw_count == 1 && packing->table == NULL);
  begin_step(packing, "packing");
  do {
    free(packing->table);
    packing->table = NULL;
    encoded_for = address;
    const char *error = packed_write(&loaded->table, address + PACKED_NOTE_SIZE, compress_block,
                                     &packing->table, &packing->table_size);
    if (error != NULL) {
      packing->table = NULL;
      return problem_set(problem, "%s", error);
    }
    if (!plan_make(&packing->plan, packing->image, loaded, packing->table_size, problem))
      return false;
    address = packing->plan.note_address;
  } while (address != encoded_for);
  assert(packing->plan.packed_size == PACKED_NOTE_SIZE + packing->table_size);
  return true;
}

/* Leaves a file alone that would grow. With --quiet, as from stackpack-ld and build systems, that
 * is a warning. */
static bool leave_growing(struct packing *packing, struct problem *problem) {
  const size_t before = packing->image->size, after = packing->plan.file_size;
  const char *cramped = packing->plan.cramped.text;
  char why[SUMMARY_WHY_SIZE];
  if (after <= before || packing->options->always)
    return true;
  snprintf(why, sizeof why,
           "not packed, as the file would grow from %zu to %zu bytes; --always packs it all the "
           "same%s%s",
           before, after, cramped[0] != 0 ? "; " : "", cramped);
  if (packing->options->quiet)
    problem_warn(packing->path, "%s", why);
  return leave_alone(packing, why, problem);
}

/* Puts the result into words. */
static bool sum_up(struct packing *packing, struct problem *problem) {
  const struct loaded *loaded = &packing->loaded;
  const struct summary summary = {
      .path = packing->path,
      .loaded = loaded,
      .packed_size = packing->table_size,
      .file_before = packing->image->size,
      .file_after = packing->plan.file_size,
      .dropped = packing->drop.dropped,
      .is_dry_run = packing->options->dry_run,
      .raw_reader = packing->raw_reader.text[0] != 0 ? packing->raw_reader.text : NULL,
  };
  return say(packing, &summary, problem);
}

/* Makes the new file, in memory. */
static bool rewrite_file(struct packing *packing, struct problem *problem) {
  const bool keeps_old = packing->options->keep_raw != NULL;
  void *memory = mmap(NULL, packing->plan.file_size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return problem_set_errno(problem, "can't be rewritten");
  packing->result = memory;
  rewrite(&packing->plan, packing->table, packing->result, keeps_old);
  if (!keeps_old)
    image_drop_bytes(packing->image);
  return true;
}

/* Compares the new table with the old one: all records, and all answers to look-ups; addresses of
 * dropped records must be no safepoints now. */
static bool compare(const struct packing *packing, const struct loaded *after,
                    struct problem *problem) {
  const struct safepoints *before = &packing->loaded.table;
  struct differences differences = {0};
  compare_tables(before, &after->table, &differences);
  compare_positions(before, &after->table, &differences);
  answers_all(before, &after->packed, packing->drop.addresses, packing->drop.dropped, &differences);
  return differences.count == 0 ||
         problem_set(problem, "not packed, as checking found a fault of stackpack's: %s",
                     differences.first);
}

/* Reads the new file as if it came from disk, and compares it. */
static bool check_file(struct packing *packing, struct problem *problem) {
  const struct load_options options = {0};
  struct image image;
  struct loaded after;
  begin_step(packing, "checking");
  if (!image_open_memory(&image, packing->result, packing->plan.file_size, problem))
    return false;
  const bool ok =
      load(&image, &options, &after, problem) &&
      (after.kind == LOAD_PACKED ? compare(packing, &after, problem)
                                 : problem_set(problem, "the packed table can't be found again"));
  loaded_free(&after);
  image_close(&image);
  return ok;
}

/* Writes the new file, and the raw stack maps, if they are to be kept: both, or neither. */
static bool write_files(struct packing *packing, struct problem *problem) {
  const struct pack_options *options = packing->options;
  const struct image *image = packing->image;
  const struct kept_bytes result = {packing->result, packing->plan.file_size};
  const char *output = options->output != NULL ? options->output : packing->path;
  struct kept_bytes kept = {0};
  begin_step(packing, "writing");
  if (options->dry_run)
    return message_say(&packing->message, false, problem);
  if (options->keep_raw != NULL &&
      !kept_write((struct kept_bytes){image->bytes, image->size}, result, &kept, problem))
    return false;
  const struct new_file files[] = {
      {options->keep_raw, packing->path, true, kept.bytes, kept.size, NULL},
      {output, packing->path, false, result.bytes, result.size, &image->file.status},
  };
  const size_t first = options->keep_raw != NULL ? 0 : 1;
  const bool ok = output_replace(files + first, 2 - first, &packing->message, problem);
  free((void *)kept.bytes);
  return ok;
}

/* Warns, with or without a printed result, of a packed program that seems to lack a reader, and of
 * records in doubt. */
static bool warn(struct packing *packing, struct problem *problem) {
  const uint32_t doubtful = packing->loaded.table.records_doubtful;
  (void)problem;
  if (doubtful > 0)
    problem_warn(packing->path,
                 "%" PRIu32 " record%s may be of a statepoint or of a stack map: kept as a stack "
                 "map's; --statepoints=ID,... or a note in the program says which",
                 doubtful, plural(doubtful));
  if (packing->lacks_library)
    problem_warn(packing->path, "nothing in it refers to libstackpack, which reads packed stack "
                                "maps; --reader=elsewhere, if another file does");
  return true;
}

/* Runs the passes, up to one that fails or finishes the work. */
static bool pack_image(struct packing *packing, struct problem *problem) {
  static const struct {
    const char *name;
    bool (*run)(struct packing *packing, struct problem *problem);
  } passes[] = {
      {"find_stack_maps", find_stack_maps},       /* image/load.c */
      {"read_stack_maps", read_stack_maps},       /* image/load.c */
      {"drop_by_reach", drop_by_reach},           /* calls/drop.c */
      {"refuse_raw_readers", refuse_raw_readers}, /* check/raw_readers.c, check/raw_names.c */
      {"find_positions", find_positions},         /* source/positions.c */
      {"encode_table", encode_table},             /* format/packed_write.c, rewrite/plan.c */
      {"leave_growing", leave_growing},           /* image/output.c */
      {"sum_up", sum_up},                         /* print/summary.c, check/raw_names.c */
      {"rewrite_file", rewrite_file},             /* rewrite/rewrite.c */
      {"check_file", check_file},                 /* check/compare.c, check/answers.c */
      {"write_files", write_files},               /* rewrite/kept.c, image/output.c */
      {"warn", warn},                             /* image/problem.c */
  };
  struct trace trace = trace_begin("pack");
  bool ok = true;
  for (size_t i = 0; i < sizeof passes / sizeof *passes && ok && !packing->is_done; i++) {
    ok = passes[i].run(packing, problem);
    trace_pass(&trace, passes[i].name, "%" PRIu32 " functions, %" PRIu32 " records, %zu bytes",
               packing->loaded.table.function_count, packing->loaded.table.record_count,
               packing->table_size);
  }
  if (packing->result != NULL)
    munmap(packing->result, packing->plan.file_size);
  free(packing->table);
  drop_close(&packing->drop);
  loaded_free(&packing->loaded);
  return ok;
}

/* The raw stack maps' file must be one of its own. */
static bool check_keep_raw(const struct pack_options *options, const char *path,
                           struct problem *problem) {
  const char *output = options->output != NULL ? options->output : path;
  if (options->keep_raw == NULL ||
      (!output_same(options->keep_raw, path) && !output_same(options->keep_raw, output)))
    return true;
  return problem_set(problem, "--keep-raw names the program itself");
}

static bool pack_file(const struct pack_options *options, const char *path) {
  struct problem problem = {0};
  struct image image = {0};
  struct packing packing = {.options = options, .path = path, .image = &image};
  clock_gettime(CLOCK_MONOTONIC, &packing.start);
  const bool ok =
      check_keep_raw(options, path, &problem) && message_open(&packing.message, &problem) &&
      load_open(&image, path, &options->load, &problem) && pack_image(&packing, &problem);
  image_close(&image);
  message_close(&packing.message);
  if (!ok)
    problem_print(&problem, path);
  return ok;
}

static struct pack_options given;

static int pack(char **files, int count, struct problem *problem) {
  (void)problem; /* each file's is printed at once */
  if (given.output != NULL && count > 1)
    return usage_error("pack", "-o goes with one file");
  if (given.keep_raw != NULL && count > 1)
    return usage_error("pack", "--keep-raw goes with one file");
  if (given.report && given.format == FORMAT_JSON)
    return usage_error("pack", "--report is text; it doesn't go with --format=json");
  int status = EXIT_DONE;
  for (int i = 0; i < count; i++)
    if (!pack_file(&given, files[i]))
      status = EXIT_UNUSABLE;
  return status;
}

static const struct command_option own[] = {
    {"output", 'o', .text = &given.output},
    {"if-present", .flag = &given.if_present},
    {"keep-raw", .text = &given.keep_raw},
    {"force", .flag = &given.force},
    {"reader", .words = "here|elsewhere", .word = &given.reader},
    {"conflicts", .words = "refuse|omit", .word = &given.conflicts},
    {"always", .flag = &given.always},
    {"dry-run", .flag = &given.dry_run},
    {"format", .words = "text|json", .word = &given.format},
    {"report", .flag = &given.report},
    {"quiet", 'q', .flag = &given.quiet},
    POSITIONS_OPTIONS(&given.positions),
    POLICY_OPTIONS(&given.policy),
    LOAD_OPTIONS(&given.load),
    {0},
};
const struct command command_pack = {
    "pack",
    "replace a program's stack maps by a compact, ready-to-use table",
    help,
    own,
    1,
    0,
    "there must be a file",
    pack};
