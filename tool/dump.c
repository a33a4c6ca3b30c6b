/* dump.c - stackpack dump: prints records, for people or as JSON.
 *
 *   0x201c80 sum_of_squares, a frame of 24 bytes, 2 records   a group: record_text.h
 *       ends at rsp+32; from there: rbx-16 rip-8              its frame
 *                        [rsp+8]                              a column for each slot: frame_table.h
 *     0x201c9d     +0x1d       *                              a row for each record
 *     0x201caa     +0x2a       .
 */
#include "tool/commands.h"

#include "format/array.h"
#include "tool/image/clean.h"
#include "tool/image/names.h"
#include "tool/objects/opened.h"
#include "tool/print/frame_table.h"
#include "tool/print/record_json.h"
#include "tool/print/record_source.h"
#include "tool/print/selection.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const char help[] =
    "Usage: stackpack dump [OPTION]... FILE\n"
    "Prints the stack maps of a program (packed or not), of an object or an archive,\n"
    "ordered by address.\n\n"
    "      --function=PATTERN    only of functions with a matching name\n"
    "      --address=ADDRESS     only of the record there, or of the function there\n"
    "      --address=START-END   only of the records from START to END\n" SOURCE_HELP
    "      --format=text|json    json: an object per record; default: text\n"
    "      --color=auto|always|never  default: auto, at a terminal\n"
    "      --width=N             columns of a line (0: any); default: the "
    "terminal's\n" COMMON_HELP;

/* Records of a function that are printed together: the selected ones in [first, end). They are read
 * one by one, each time that they are gone through: many may have the same long live set. */
struct group {
  uint32_t first, end;
  size_t count;
};

struct dump {
  const struct safepoints *table;
  const struct pieces *pieces;
  struct names names;
  bool *is_selected;   /* by record; owned */
  uint64_t *addresses; /* of these records' instructions; owned */
  struct record_source source;
  struct record_text text;
  int address_width; /* of records' addresses */
  unsigned width;    /* of lines; 0: any */
  struct group group;
  struct record_view head; /* the group's first record */
  struct record_view view; /* the one that is printed */
  struct frame_table frame;
};

/* Reads the group's next record from number *next on, which moves behind it; false after the last
 * one. */
static bool take_next(struct dump *dump, uint32_t *next) {
  while (*next < dump->group.end && !dump->is_selected[*next])
    ++*next;
  if (*next == dump->group.end)
    return false;
  record_view_take(&dump->view, dump->table, &dump->table->records[(*next)++], dump->pieces);
  return true;
}

static const char *name_of(const struct dump *dump, const struct record_view *view) {
  return names_find(&dump->names, view->function);
}

/* ---- JSON ---- */

static void dump_json(struct dump *dump) {
  for (uint32_t i = 0; i < dump->table->record_count && !ferror(stdout); i++) {
    struct source_frames frames;
    const struct record_view *view = &dump->view;
    if (!dump->is_selected[i])
      continue;
    record_view_take(&dump->view, dump->table, &dump->table->records[i], dump->pieces);
    record_source_find(&dump->source, view, &frames);
    record_json_print(view, name_of(dump, view), dump->source.is_wanted ? &frames : NULL);
    putchar('\n');
  }
}

/* ---- Text ---- */

enum { OFFSET_WIDTH = 9 }; /* of a record's offset in its function: more, and its row is wider */

/* The width of a record's address and offset, in front of its slots. */
static int place_width(const struct dump *dump) {
  return 2 + dump->address_width + 1 + OFFSET_WIDTH;
}

static void print_place(const struct dump *dump, const struct record_view *view) {
  char address[32], offset[32];
  snprintf(address, sizeof address, "0x%" PRIx64, piece_offset(view->piece, view->address));
  snprintf(offset, sizeof offset, "+0x%" PRIx64, view->address - view->function);
  style_begin(dump->text.is_coloured, STYLE_PLACE);
  printf("  %*s %*s", dump->address_width, address, OFFSET_WIDTH, offset);
  style_end(dump->text.is_coloured);
}

/* The pairs of a record as a list, as a table would be too wide. */
static void print_pairs(const struct dump *dump, const struct record_view *view) {
  char text[LOCATION_TEXT_SIZE];
  if (!dump->frame.is_too_wide || view->pair_count == 0)
    return;
  printf("      references:");
  for (size_t i = 0; i < view->pair_count; i++) {
    const struct record_pair *pair = &view->pairs[i];
    location_text(text, pair->derived, dump->text.machine);
    printf(" %s", text);
    if (safepoint_location_compare(pair->base, pair->derived) != 0) {
      location_text(text, pair->base, dump->text.machine);
      printf("<%s", text);
    }
  }
  putchar('\n');
}

/* Prints the lines below a record's row. */
static void print_below(struct dump *dump, const struct record_view *view) {
  struct source_frames frames;
  record_source_find(&dump->source, view, &frames);
  print_pairs(dump, view);
  if (view->record->frame != dump->head.record->frame)
    record_text_frame(&dump->text, view, 6);
  record_text_lists(&dump->text, view, 6);
  record_text_frames(&dump->text, &frames, 6);
}

/* Prints the columns [first, end) of a group's table. The records' other lines are below their
 * first columns. */
static void print_part(struct dump *dump, size_t first, size_t end) {
  if (end > first) {
    printf("%*s", place_width(dump), "");
    frame_table_print_titles(&dump->frame, first, end);
    putchar('\n');
  }
  const struct record_view *view = &dump->view;
  for (uint32_t next = dump->group.first; !ferror(stdout) && take_next(dump, &next);) {
    print_place(dump, view);
    frame_table_print_row(&dump->frame, &dump->text, view, first, end);
    if (first == 0)
      record_text_words(view, "  ");
    putchar('\n');
    if (first == 0)
      print_below(dump, view);
  }
}

static void lay_out(struct dump *dump) {
  frame_table_begin(&dump->frame);
  for (uint32_t next = dump->group.first; take_next(dump, &next);)
    frame_table_add(&dump->frame, &dump->view);
  frame_table_arrange(&dump->frame, dump->text.machine);
  for (uint32_t next = dump->group.first; dump->frame.count > 0 && take_next(dump, &next);)
    frame_table_widen(&dump->frame, &dump->view, dump->text.machine);
}

static void print_group(struct dump *dump) {
  const struct group *group = &dump->group;
  const struct record_view *head = &dump->head;
  const unsigned place = (unsigned)place_width(dump);
  const unsigned width = dump->width > place ? dump->width - place : dump->width;
  lay_out(dump);
  piece_print(head->piece, head->function);
  putchar(' ');
  record_text_function(&dump->text, name_of(dump, head));
  record_text_frame_size(head->frame_size);
  printf(", %zu record%s\n", group->count, plural(group->count));
  record_text_frame(&dump->text, head, 4);
  for (size_t first = 0, end; first == 0 || first < dump->frame.count; first = end) {
    end = frame_table_fit(&dump->frame, first, width);
    assert(first < end || dump->frame.count == 0);
    print_part(dump, first, end);
    if (end == 0)
      break;
  }
}

static void dump_text(struct dump *dump) {
  const struct safepoints *table = dump->table;
  bool is_first = true;
  if (style_columns() > 0) /* at a terminal */
    puts("  *: a reference; <+8: derived from the one at +8; b: only a base; .: none\n");
  for (uint32_t i = 0; i < table->record_count && !ferror(stdout);) {
    const uint32_t function = table->records[i].function;
    dump->group = (struct group){.first = i};
    for (; i < table->record_count && table->records[i].function == function; i++)
      if (dump->is_selected[i] && dump->group.count++ == 0)
        record_view_take(&dump->head, table, &table->records[i], dump->pieces);
    dump->group.end = i;
    if (dump->group.count == 0)
      continue;
    if (!is_first)
      putchar('\n');
    is_first = false;
    print_group(dump);
  }
}

/* ---- Global roots ---- */

/* Prints the addresses of variables, after all records. */
static void dump_global_roots(const struct dump *dump, bool json) {
  const struct safepoints *table = dump->table;
  if (!json && table->global_root_count > 0)
    printf("%s%" PRIu32 " global root%s\n", table->record_count > 0 ? "\n" : "",
           table->global_root_count, plural(table->global_root_count));
  for (uint32_t i = 0; i < table->global_root_count && !ferror(stdout); i++) {
    const uint64_t address = table->global_roots[i];
    const struct piece *piece = pieces_find(dump->pieces, address);
    if (json) {
      printf("{\"global_root\":%" PRIu64, piece_offset(piece, address));
      piece_print_json(piece);
      puts("}");
    } else {
      printf("  ");
      piece_print(piece, address);
      putchar('\n');
    }
  }
}

/* ---- The command ---- */

struct dump_options {
  struct load_options load;
  struct selection selection;
  struct source_options source;
  enum style_use style;
  int64_t width; /* below 0: the terminal's */
  enum output_format format;
};

/* The selected records' source will be asked for in their order. */
static void plan_source(struct dump *dump) {
  const struct safepoints *table = dump->table;
  struct record_source *source = &dump->source;
  if (!source->is_wanted)
    return;
  source->addresses = dump->addresses =
      malloc(((size_t)table->record_count + 1) * sizeof(uint64_t));
  for (uint32_t i = 0; i < table->record_count; i++)
    if (dump->is_selected[i])
      dump->addresses[source->address_count++] = safepoints_instruction(table, &table->records[i]);
}

/* All records are printed, even if the debug information turns out to be broken. */
static bool print_records(struct dump *dump, const struct dump_options *options,
                          const struct opened *opened, struct problem *problem) {
  const struct program *program = &opened->program;
  const bool json = options->format == FORMAT_JSON;
  const bool ok =
      record_source_open(&dump->source, &options->source, program, &dump->names, problem);
  plan_source(dump);
  if (json)
    dump_json(dump);
  else
    dump_text(dump);
  assert(dump->source.address_count == 0 || ferror(stdout)); /* each record was printed once */
  if (options->selection.count == 0)
    dump_global_roots(dump, json);
  return ok && source_check(dump->source.source, problem);
}

/* Records are sorted: the last one's address is the widest, and of objects no offset is wider. */
static int address_width(const struct safepoints *table) {
  if (table->record_count == 0)
    return 0;
  return snprintf(NULL, 0, "0x%" PRIx64, table->records[table->record_count - 1].address);
}

static bool dump_program(struct dump *dump, const struct dump_options *options,
                         struct opened *opened, struct problem *problem) {
  const struct program *program = &opened->program;
  const struct safepoints *table = &program->loaded.table;
  dump->table = table;
  dump->pieces = &opened->pieces;
  dump->text = (struct record_text){program->image.machine, style_wanted(options->style)};
  dump->width = options->width >= 0 ? (unsigned)options->width : style_columns();
  dump->address_width = address_width(table);
  dump->is_selected = calloc((size_t)table->record_count + 1, sizeof *dump->is_selected);
  names_open(&dump->names, &program->image);
  return selection_apply(&options->selection, table, &opened->pieces, &dump->names,
                         dump->is_selected, problem) &&
         print_records(dump, options, opened, problem);
}

static struct dump_options given = {.width = -1};

static int dump_file(char **arguments, int count, struct problem *problem) {
  struct opened opened;
  struct dump dump = {0};
  (void)count;
  const bool ok = opened_open(&opened, arguments[0], &given.load, problem) &&
                  dump_program(&dump, &given, &opened, problem);
  source_close(dump.source.source);
  record_view_close(&dump.head);
  record_view_close(&dump.view);
  free(dump.is_selected);
  free(dump.addresses);
  names_close(&dump.names);
  opened_close(&opened);
  return ok ? EXIT_DONE : EXIT_UNUSABLE;
}

static const struct command_option own[] = {
    {"format", .words = "text|json", .word = &given.format},
    {"function", .take = selection_add_function, .context = &given.selection},
    {"address", .take = selection_add_address, .context = &given.selection},
    {"width", .number = &given.width, .most = UINT16_MAX},
    {"color", .words = STYLE_WORDS, .word = &given.style},
    SOURCE_OPTIONS(&given.source),
    LOAD_OPTIONS(&given.load),
    {0},
};
const struct command command_dump = {"dump",
                                     "print the stack maps of a program, packed or not",
                                     help,
                                     own,
                                     1,
                                     1,
                                     "there must be one file",
                                     dump_file};
