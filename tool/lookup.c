/* lookup.c - stackpack lookup: the answers that a collector would get for addresses.
 *
 * The answers are the runtime library's own, from the packed table, or, for a raw program, from the
 * table that the library makes of its stack maps. A found record has the same number in the table
 * of safepoints, and is printed from there, as by `dump`.
 */
#include "tool/commands.h"

#include "format/packed_write.h"
#include "runtime/stackpack.h"
#include "tool/image/names.h"
#include "tool/objects/opened.h"
#include "tool/print/json.h"
#include "tool/print/record_json.h"
#include "tool/print/record_source.h"
#include "tool/print/record_text.h"
#include "tool/print/selection.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "Usage: stackpack lookup [OPTION]... FILE [ADDRESS]...\n"
    "Prints the answers that a collector would get for return addresses (hexadecimal,\n"
    "as for addr2line; of an object, SECTION+0x12 or FUNCTION+0x12); without any, for\n"
    "the words on standard input.\n\n"
    "      --base=ADDRESS        the addresses are those of a process, in which the\n"
    "                            file is at ADDRESS\n" SOURCE_HELP
    "      --format=text|json    json: an object per address; default: text\n"
    "      --color=auto|always|never  default: auto, at a terminal\n" COMMON_HELP "\n"
    "Exit status: 0 if all have records, 1 if some have none.\n";

struct lookup {
  struct stackpack_table table;
  struct pieces *pieces;
  const struct safepoints *safepoints; /* of the same records, in the same order */
  struct names names;
  struct record_source source;
  bool json;
  struct code_range memory; /* of the file; a return address may be behind the last byte */
  uint64_t slide;           /* run-time addresses are so much higher, modulo 2^64 */
  bool is_movable;          /* the file is position-independent, and --base is absent */
  struct record_text text;
  uint8_t *own; /* the table of a raw file; owned */
  struct record_view view;
  bool some_missing;
};

/* ---- Text ---- */

static void print_pair(const struct lookup *lookup, const struct record_pair *pair) {
  char text[LOCATION_TEXT_SIZE];
  const bool is_derived = safepoint_location_compare(pair->base, pair->derived) != 0;
  location_text(text, pair->derived, lookup->text.machine);
  printf("    ");
  style_begin(lookup->text.is_coloured, is_derived ? STYLE_DERIVED : STYLE_REFERENCE);
  printf("%-10s", text);
  style_end(lookup->text.is_coloured);
  if (is_derived)
    location_text(text, pair->base, lookup->text.machine);
  printf(is_derived ? " derived from %s\n" : " reference\n", text);
}

static void print_name(const struct lookup *lookup, uint64_t function, uint64_t address) {
  record_text_function(&lookup->text, names_find(&lookup->names, function));
  printf("+0x%" PRIx64, address - function);
}

static void text_record(const struct lookup *lookup, const struct source_frames *frames) {
  const struct record_view *view = &lookup->view;
  piece_print(view->piece, view->address);
  printf(": found, in ");
  print_name(lookup, view->function, view->address);
  record_text_frame_size(view->frame_size);
  record_text_words(view, ", ");
  putchar('\n');
  record_text_frame(&lookup->text, view, 4);
  for (size_t i = 0; i < view->pair_count; i++)
    print_pair(lookup, &view->pairs[i]);
  record_text_lists(&lookup->text, view, 4);
  record_text_frames(&lookup->text, frames, 4);
}

/* ---- Addresses without a record ---- */

/* The function with stack maps that has the call before an address; NULL if it is unknown. */
static const struct safepoint_function *function_of(const struct lookup *lookup, uint64_t address) {
  const struct safepoints *table = lookup->safepoints;
  for (uint32_t i = table->function_count; i-- > 0;)
    if (table->functions[i].address < address && address <= table->functions[i].end)
      return &table->functions[i];
  return NULL;
}

static void print_outside(const struct lookup *lookup) {
  printf(", outside of the file's addresses, 0x%" PRIx64 " to 0x%" PRIx64 "%s",
         lookup->memory.start, lookup->memory.end,
         lookup->is_movable ? " (--base=ADDRESS takes those of a process)" : "");
}

static void print_missing(struct lookup *lookup, const struct piece *piece, uint64_t address,
                          bool is_managed) {
  struct source_frames frames;
  /* As for a record: the address is after a call. */
  source_find(lookup->source.source, address - (address > 0), &frames);
  const struct safepoint_function *function = is_managed ? function_of(lookup, address) : NULL;
  const char *answer = is_managed ? "not a safepoint" : "not managed";
  lookup->some_missing = true;
  if (lookup->json) {
    printf("{\"address\":%" PRIu64, piece_offset(piece, address));
    piece_print_json(piece);
    printf(",\"answer\":\"%s\",\"function\":", answer);
    json_print_text(function == NULL ? NULL : names_find(&lookup->names, function->address));
    printf(",\"function_address\":");
    json_print_number(function == NULL ? 0 : piece_offset(piece, function->address),
                      function != NULL);
    record_json_source(lookup->source.is_wanted ? &frames : NULL);
    puts("}");
  } else {
    piece_print(piece, address);
    printf(": %s", answer);
    if (function != NULL) {
      printf(", in ");
      print_name(lookup, function->address, address);
    }
    if (piece == NULL && (address < lookup->memory.start || address > lookup->memory.end))
      print_outside(lookup);
    putchar('\n');
    record_text_frames(&lookup->text, &frames, 4);
  }
}

/* ---- Looking up ---- */

static bool print_record(struct lookup *lookup, const struct stackpack_record *record) {
  const struct safepoints *table = lookup->safepoints;
  struct source_frames frames;
  if (record->index >= table->record_count ||
      table->records[record->index].address != record->address)
    return false;
  record_view_take(&lookup->view, table, &table->records[record->index], lookup->pieces);
  lookup->view.frame_size = record->frame_size;
  record_source_find(&lookup->source, &lookup->view, &frames);
  if (lookup->json)
    record_json_print(&lookup->view, names_find(&lookup->names, lookup->view.function),
                      lookup->source.is_wanted ? &frames : NULL);
  else
    text_record(lookup, &frames);
  return true;
}

/* An address may have several records. */
static bool print_records(struct lookup *lookup, const struct piece *piece,
                          struct stackpack_record *record) {
  bool ok = true, is_first = true;
  if (lookup->json) {
    printf("{\"address\":%" PRIu64, piece_offset(piece, record->address));
    piece_print_json(piece);
    printf(",\"answer\":\"found\",\"records\":[");
  }
  do {
    if (lookup->json && !is_first)
      putchar(',');
    is_first = false;
    ok &= print_record(lookup, record);
  } while (stackpack_record_next(record));
  if (lookup->json)
    puts("]}");
  return ok;
}

static bool look_up(struct lookup *lookup, uint64_t address, struct problem *problem) {
  const struct piece *piece = pieces_find(lookup->pieces, address);
  struct stackpack_record record;
  const enum stackpack_answer answer = stackpack_table_find(&lookup->table, address, &record);
  if (answer == STACKPACK_NOT_SAFEPOINT || answer == STACKPACK_NOT_MANAGED) {
    print_missing(lookup, piece, address, answer == STACKPACK_NOT_SAFEPOINT);
    return true;
  }
  return (answer == STACKPACK_FOUND && print_records(lookup, piece, &record)) ||
         problem_set(problem, "a broken packed table");
}

static bool look_up_word(struct lookup *lookup, const char *word, struct problem *problem) {
  struct pieces *pieces = lookup->pieces;
  uint64_t address;
  if (pieces->count == 0)
    return address_parse_hexadecimal(word, &address)
               ? look_up(lookup, address - lookup->slide, problem)
               : problem_set(problem, "'%.100s' is no hexadecimal address", word);
  bool ok = pieces_search(pieces, &lookup->names, word, problem);
  for (size_t i = 0; ok && i < pieces->found.count; i++)
    ok = look_up(lookup, pieces->found.items[i], problem);
  return ok;
}

/* Answers each line at once: a program may be waiting at the other end. */
static bool look_up_input(struct lookup *lookup, struct problem *problem) {
  static const char separators[] = " \t\r\n";
  char *line = NULL, *rest;
  size_t capacity = 0;
  ssize_t size;
  bool ok = true;
  while (ok && (size = getline(&line, &capacity, stdin)) > 0) {
    ok = strlen(line) == (size_t)size ||
         problem_set(problem, "standard input: a zero byte, which text doesn't have");
    for (char *word = strtok_r(line, separators, &rest); word != NULL && ok;
         word = strtok_r(NULL, separators, &rest))
      ok = look_up_word(lookup, word, problem);
    fflush(stdout);
  }
  if (ok && !feof(stdin))
    ok = problem_set_errno(problem, "standard input");
  free(line);
  return ok;
}

static bool look_up_all(struct lookup *lookup, char **words, int count, struct problem *problem) {
  if (count == 0)
    return look_up_input(lookup, problem);
  bool ok = true;
  for (int i = 0; i < count && ok; i++)
    ok = look_up_word(lookup, words[i], problem);
  return ok;
}

/* ---- The command ---- */

struct lookup_options {
  struct load_options load;
  struct source_options source;
  const char *base; /* NULL: the addresses are the file's */
  enum style_use style;
  enum output_format format;
};

/* Opens the table as the runtime library has it. */
static bool open_table(struct lookup *lookup, const struct loaded *loaded,
                       struct problem *problem) {
  struct section_bytes place = loaded->place;
  if (loaded->kind != LOAD_PACKED) {
    const char *error = packed_write(&loaded->table, 0, NULL, &lookup->own, &place.size);
    if (error != NULL)
      return problem_set(problem, "%s", error);
    place.bytes = lookup->own;
    place.address = 0;
  }
  const enum stackpack_error error =
      stackpack_table_open(&lookup->table, place.bytes, place.size, place.address);
  return error == STACKPACK_OK || problem_set(problem, "%s", stackpack_error_text(error));
}

/* Takes the file's range of addresses, and the distance of the process's from them. A process has a
 * file's first segment at a multiple of the page size. */
static bool take_addresses(struct lookup *lookup, const struct image *image, const char *base,
                           struct problem *problem) {
  enum { PAGE = 4096 };
  uint64_t start;
  lookup->memory = image_memory(image);
  lookup->is_movable = base == NULL && image->header.e_type == ET_DYN;
  if (base == NULL)
    return true;
  if (lookup->pieces->count > 0)
    return problem_set(problem, "--base is for programs: an object is in no process");
  if (!address_parse_hexadecimal(base, &start))
    return problem_set(problem, "--base='%.100s' is no hexadecimal address", base);
  lookup->slide = start - lookup->memory.start / PAGE * PAGE;
  return true;
}

/* All addresses are answered, even with unusable debug information. */
static bool look_up_in(struct lookup *lookup, struct opened *opened,
                       const struct lookup_options *options, char **addresses, int count,
                       struct problem *problem) {
  const struct program *program = &opened->program;
  lookup->pieces = &opened->pieces;
  lookup->safepoints = &program->loaded.table;
  lookup->json = options->format == FORMAT_JSON;
  lookup->text = (struct record_text){program->image.machine, style_wanted(options->style)};
  names_open(&lookup->names, &program->image);
  if (!take_addresses(lookup, &program->image, options->base, problem) ||
      !open_table(lookup, &program->loaded, problem))
    return false;
  const bool ok =
      record_source_open(&lookup->source, &options->source, program, &lookup->names, problem);
  return look_up_all(lookup, addresses, count, problem) && ok &&
         source_check(lookup->source.source, problem);
}

static struct lookup_options given;

/* arguments[0] is the file, the others are addresses. */
static int lookup_file(char **arguments, int count, struct problem *problem) {
  struct opened opened;
  struct lookup lookup = {0};
  const bool ok = opened_open(&opened, arguments[0], &given.load, problem) &&
                  look_up_in(&lookup, &opened, &given, arguments + 1, count - 1, problem);
  source_close(lookup.source.source);
  record_view_close(&lookup.view);
  free(lookup.own);
  names_close(&lookup.names);
  opened_close(&opened);
  return !ok ? EXIT_UNUSABLE : lookup.some_missing ? EXIT_DIFFERENCE : EXIT_DONE;
}

static const struct command_option own[] = {
    {"format", .words = "text|json", .word = &given.format},
    {"color", .words = STYLE_WORDS, .word = &given.style},
    {"base", .text = &given.base},
    SOURCE_OPTIONS(&given.source),
    LOAD_OPTIONS(&given.load),
    {0},
};
const struct command command_lookup = {"lookup",
                                       "print the answers that a collector would get for addresses",
                                       help,
                                       own,
                                       1,
                                       0,
                                       "there must be a file",
                                       lookup_file};
