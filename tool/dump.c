/* dump.c - stackpack dump: prints records, for people or as JSON. */
#include "tool/commands.h"

#include "tool/image/clean.h"
#include "tool/image/names.h"
#include "tool/print/frame_table.h"
#include "tool/print/json.h"
#include "tool/print/record_json.h"
#include "tool/print/selection.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const char help[] =
    "Usage: stackpack dump [OPTION]... FILE\n"
    "Prints the stack maps of a linked program, packed or not, ordered by address.\n\n"
    "      --function=PATTERN    only of functions whose name is, or matches it\n"
    "      --address=ADDRESS     only of the record there, or of the function there\n"
    "      --address=START-END   only of the records from START to END\n" SOURCE_HELP
    "      --format=text|json    json: an object per record; default: text\n"
    "      --color=auto|always|never  default: auto, at a terminal\n" COMMON_HELP;

struct dump {
  const struct safepoints *table;
  struct names names;
  bool *is_selected;     /* by record; owned */
  struct source *source; /* NULL: not asked for, or there is none */
  bool with_source;
  struct record_text text;
  int address_width; /* of records' addresses */
  unsigned width;    /* of the terminal; 0: any */
  struct record_view view;
  struct frame_table table_of_frame;
  struct frame_facts frame; /* of the first record of the group at hand */
};

static const char *name_of(const struct dump *dump, uint64_t function) {
  return names_find(&dump->names, function);
}

static uint64_t instruction_of(const struct dump *dump, const struct safepoint *record) {
  return safepoint_instruction(record->address,
                               safepoints_kind(dump->table, record) == SAFEPOINT_STATEPOINT);
}

/* Without a source, there are no frames. */
static bool find_frames(struct dump *dump, uint32_t record, struct source_frames *frames,
                        struct problem *problem) {
  *frames = (struct source_frames){0};
  return dump->source == NULL ||
         source_find(dump->source, SOURCE_FRAMES,
                     instruction_of(dump, &dump->table->records[record]), frames, problem);
}

static bool take_record(struct dump *dump, uint32_t record, struct problem *problem) {
  return record_view_take(&dump->view, dump->table, &dump->table->records[record]) ||
         problem_set(problem, "not enough memory");
}

/* ---- JSON ---- */

static bool dump_json(struct dump *dump, struct problem *problem) {
  bool ok = true;
  for (uint32_t i = 0; i < dump->table->record_count && !ferror(stdout); i++) {
    struct source_frames frames;
    if (!dump->is_selected[i])
      continue;
    if (!take_record(dump, i, problem))
      return false;
    if (!find_frames(dump, i, &frames, problem))
      ok = false;
    record_json_print(&dump->view, name_of(dump, dump->view.function),
                      dump->with_source ? &frames : NULL);
    putchar('\n');
  }
  return ok;
}

/* ---- Text ---- */

enum { OFFSET_WIDTH = 9 }; /* of a record's offset in its function: more, and its row is wider */

/* The width of a record's address and offset, in front of its slots. */
static int place_width(const struct dump *dump) {
  return 2 + dump->address_width + 1 + OFFSET_WIDTH;
}

/* The selected records of a function, from one on: they are printed together. */
struct group {
  uint32_t first, end;
  uint32_t count;
};

static struct group next_group(const struct dump *dump, uint32_t first) {
  struct group group = {first, first, 0};
  const struct safepoint *records = dump->table->records;
  for (; group.end < dump->table->record_count &&
         records[group.end].function == records[first].function;
       group.end++)
    group.count += dump->is_selected[group.end];
  return group;
}

static void print_place(const struct dump *dump) {
  char address[32], offset[32];
  snprintf(address, sizeof address, "0x%" PRIx64, dump->view.address);
  snprintf(offset, sizeof offset, "+0x%" PRIx64, dump->view.address - dump->view.function);
  style_begin(dump->text.is_coloured, STYLE_PLACE);
  printf("  %*s %*s", dump->address_width, address, OFFSET_WIDTH, offset);
  style_end(dump->text.is_coloured);
}

/* The pairs of a record as a list, as a table would be too wide. */
static void print_pairs(const struct dump *dump) {
  char text[LOCATION_TEXT_SIZE];
  if (!dump->table_of_frame.is_too_wide || dump->view.pair_count == 0)
    return;
  printf("      references:");
  for (size_t i = 0; i < dump->view.pair_count; i++) {
    const struct record_pair *pair = &dump->view.pairs[i];
    location_text(text, pair->derived, dump->text.machine);
    printf(" %s", text);
    if (safepoint_location_compare(pair->base, pair->derived) != 0) {
      location_text(text, pair->base, dump->text.machine);
      printf("<%s", text);
    }
  }
  putchar('\n');
}

/* Whether the record at hand has the frame of another one, as its function's records mostly have. */
static bool has_frame_of(const struct dump *dump, const struct frame_facts *frame) {
  const struct frame_facts *own = &dump->view.frame;
  return own->cfa_register == frame->cfa_register && own->cfa_offset == frame->cfa_offset &&
         own->saved == frame->saved &&
         memcmp(own->offsets, frame->offsets, sizeof own->offsets) == 0;
}

/* What is printed below a record's row. */
static bool print_below(struct dump *dump, uint32_t record, struct problem *problem) {
  struct source_frames frames;
  const bool ok = find_frames(dump, record, &frames, problem);
  print_pairs(dump);
  if (!has_frame_of(dump, &dump->frame))
    record_text_frame(&dump->text, &dump->view, 6);
  record_text_lists(&dump->text, &dump->view, 6);
  record_text_frames(&dump->text, &frames, 6);
  return ok;
}

/* The columns [first, end) of a group's table; what isn't in columns stands below the first ones. */
static bool print_part(struct dump *dump, const struct group *group, size_t first, size_t end,
                       struct problem *problem) {
  bool ok = true;
  if (end > first) {
    printf("%*s", place_width(dump), "");
    frame_table_print_titles(&dump->table_of_frame, first, end);
    putchar('\n');
  }
  for (uint32_t i = group->first; i < group->end && !ferror(stdout); i++) {
    if (!dump->is_selected[i])
      continue;
    if (!take_record(dump, i, problem))
      return false;
    print_place(dump);
    frame_table_print_row(&dump->table_of_frame, &dump->text, &dump->view, first, end);
    if (first == 0)
      record_text_words(&dump->view, "  ");
    putchar('\n');
    if (first == 0 && !print_below(dump, i, problem))
      ok = false;
  }
  return ok;
}

/* Finds the columns for all records of a group. */
static bool lay_out(struct dump *dump, const struct group *group, struct problem *problem) {
  struct frame_table *table = &dump->table_of_frame;
  frame_table_clear(table);
  for (uint32_t i = group->first; i < group->end; i++)
    if (dump->is_selected[i] &&
        (!take_record(dump, i, problem) || !frame_table_add(table, &dump->view)))
      return problem_set(problem, "not enough memory");
  frame_table_lay_out(table, dump->text.machine);
  for (uint32_t i = group->first; i < group->end; i++) {
    if (!dump->is_selected[i])
      continue;
    if (!take_record(dump, i, problem))
      return false;
    frame_table_widen(table, &dump->view, dump->text.machine);
  }
  return true;
}

/* Takes the first selected record of a group. */
static bool take_first(struct dump *dump, const struct group *group, struct problem *problem) {
  uint32_t first = group->first;
  while (!dump->is_selected[first])
    first++;
  return take_record(dump, first, problem);
}

static bool print_group(struct dump *dump, const struct group *group, struct problem *problem) {
  const struct safepoint_function *function =
      &dump->table->functions[dump->table->records[group->first].function];
  const unsigned place = (unsigned)place_width(dump);
  const unsigned width = dump->width > place ? dump->width - place : dump->width;
  if (!lay_out(dump, group, problem))
    return false;
  printf("0x%" PRIx64 " ", function->address);
  record_text_function(&dump->text, name_of(dump, function->address));
  record_text_frame_size(function->frame_size);
  printf(", %" PRIu32 " record%s\n", group->count, plural(group->count));
  if (!take_first(dump, group, problem))
    return false;
  record_text_frame(&dump->text, &dump->view, 4);
  dump->frame = dump->view.frame;
  bool ok = true;
  for (size_t first = 0, end; first == 0 || first < dump->table_of_frame.count; first = end) {
    end = frame_table_fit(&dump->table_of_frame, first, width);
    if (!print_part(dump, group, first, end, problem))
      ok = false;
    if (end == 0)
      break;
  }
  return ok;
}

static bool dump_text(struct dump *dump, struct problem *problem) {
  struct group group = {0};
  bool ok = true, is_first = true;
  if (dump->width > 0) /* at a terminal */
    puts("  *: a reference; <+8: derived from the one at +8; b: only a base; .: none\n");
  while (group.end < dump->table->record_count && !ferror(stdout)) {
    group = next_group(dump, group.end);
    if (group.count == 0)
      continue;
    if (!is_first)
      putchar('\n');
    is_first = false;
    if (!print_group(dump, &group, problem))
      ok = false;
  }
  return ok;
}

/* ---- Global roots ---- */

/* The addresses of variables, behind all records. */
static void dump_global_roots(const struct safepoints *table, bool json) {
  if (!json && table->global_root_count > 0)
    printf("%s%" PRIu32 " global root%s\n", table->record_count > 0 ? "\n" : "",
           table->global_root_count, plural(table->global_root_count));
  for (uint32_t i = 0; i < table->global_root_count && !ferror(stdout); i++)
    printf(json ? "{\"global_root\":%" PRIu64 "}\n" : "  0x%" PRIx64 "\n", table->global_roots[i]);
}

/* ---- The command ---- */

struct dump_options {
  struct load_options load;
  struct selection selection;
  struct source_options source;
  enum style_use style;
  enum output_format format;
};

/* All records are printed, even if the debug information turns out to be broken. */
static bool print_records(struct dump *dump, const struct dump_options *options,
                          const struct program *program, struct problem *problem) {
  const bool json = options->format == FORMAT_JSON;
  bool ok =
      source_open_wanted(&options->source, &program->image, program->path, &dump->source, problem);
  if (!(json ? dump_json(dump, problem) : dump_text(dump, problem)))
    ok = false;
  if (options->selection.count == 0)
    dump_global_roots(dump->table, json);
  return ok;
}

/* Records are sorted: the last one's address is the widest. */
static int address_width(const struct safepoints *table) {
  if (table->record_count == 0)
    return 0;
  return snprintf(NULL, 0, "0x%" PRIx64, table->records[table->record_count - 1].address);
}

static bool dump_program(struct dump *dump, const struct dump_options *options,
                         const struct program *program, struct problem *problem) {
  const struct safepoints *table = &program->loaded.table;
  dump->table = table;
  dump->with_source = options->source.is_wanted;
  dump->text = (struct record_text){program->image.machine, style_wanted(options->style)};
  dump->width = style_columns();
  dump->address_width = address_width(table);
  dump->is_selected = calloc((size_t)table->record_count + 1, sizeof *dump->is_selected);
  if (dump->is_selected == NULL)
    return problem_set(problem, "not enough memory");
  names_open(&dump->names, &program->image);
  return selection_apply(&options->selection, table, &dump->names, dump->is_selected, problem) &&
         print_records(dump, options, program, problem);
}

static bool dump_file(const char *path, const struct dump_options *options,
                      struct problem *problem) {
  struct program program;
  struct dump dump = {0};
  const bool ok = program_open(&program, path, &options->load, problem) &&
                  dump_program(&dump, options, &program, problem);
  source_close(dump.source);
  record_view_close(&dump.view);
  frame_table_close(&dump.table_of_frame);
  free(dump.is_selected);
  names_close(&dump.names);
  program_close(&program);
  return ok;
}

static int parse_and_dump(struct dump_options *options, int argc, char **argv) {
  static const struct command command = {"dump", help};
  const struct command_option own[] = {
      {"format", .words = "text|json", .word = &options->format},
      {"function", .take = selection_add_function, .context = &options->selection},
      {"address", .take = selection_add_address, .context = &options->selection},
      {"color", .words = STYLE_WORDS, .word = &options->style},
      SOURCE_OPTIONS(&options->source),
      LOAD_OPTIONS(&options->load),
      {0},
  };
  struct problem problem = {0};
  int status;
  if (!command_options(&command, own, argc, argv, &status))
    return status;
  if (argc - optind != 1)
    return usage_error("dump", "there must be one file");
  if (dump_file(argv[optind], options, &problem))
    return EXIT_DONE;
  problem_print(&problem, argv[optind]);
  return EXIT_UNUSABLE;
}

int command_dump(int argc, char **argv) {
  struct dump_options options = {0};
  const int status = parse_and_dump(&options, argc, argv);
  selection_close(&options.selection);
  source_options_close(&options.source);
  return status;
}
