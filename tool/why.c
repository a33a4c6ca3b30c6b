/* why.c - stackpack why: the calls that keep a record, or the proof that no collection needs it.
 *
 * For a record that is kept, that is a chain of calls, the shortest there is: from the call that
 * returns to the record's address to a GC entry, each with its place in the code, so that it can be
 * looked up in a disassembly. It takes certain calls as far as they go, before it takes pointers,
 * or code elsewhere. For a record that is dropped, it's the proof's extent: all functions that the
 * call can reach, and the functions elsewhere that are assumed never to call back.
 */
#include "format/array.h"
#include "tool/calls/drop.h"
#include "tool/calls/leaf_functions.h"
#include "tool/commands.h"
#include "tool/image/clean.h"
#include "tool/print/json.h"
#include "tool/print/record_text.h"
#include "tool/print/selection.h"
#include "tool/source/positions.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "Usage: stackpack why [OPTION]... FILE ADDRESS|FUNCTION\n"
    "Prints the reason why `pack` with the same options keeps or drops the record at\n"
    "a return address; or, of a function, the record of each call in it.\n\n"
    "      --format=text|json    json: an object per record; default: text\n" POLICY_HELP
        COMMON_HELP "\nExit status: 0 if a record is kept, 1 if none is.\n";

/* All that a call can reach which was dropped. */
struct extent {
  uint32_t functions; /* how many of this file */
  bool has_pointers;  /* and those whose address is taken */
  size_t first_leaf;  /* among the known ones */
  uint32_t leaves;
};

/* Records of one function go the same ways, and to the same places. */
struct known {
  uint32_t *ways[CERTAINTIES]; /* by node: the call that a chain goes on by, plus 1; owned */
  uint32_t *extents_of;        /* by node that is called: its extent's number, plus 1; owned */
  struct extent *extents;      /* owned */
  size_t extent_count, extent_capacity;
  uint32_t *leaves; /* of all extents; owned */
  size_t leaf_count, leaf_capacity;
  struct flood flood;
  uint64_t steps, steps_most;
};

struct why {
  const struct call_graph *graph;
  const struct analysis *analysis;
  const struct policy *policy;
  const struct safepoints *table;
  bool json;
  uint32_t *kept; /* how many records were */
  struct known *known;
};

/* Calls of other functions each may reach most of the file, and a record's lines are its reach. */
enum { STEPS_LEAST = 1 << 22, STEPS_A_BYTE = 8, STEPS_A_LINE = 16 };

static struct known known_open(const struct call_graph *graph, uint64_t size) {
  struct known known = {.steps_most = STEPS_LEAST + STEPS_A_BYTE * size};
  for (unsigned i = 0; i < CERTAINTIES; i++)
    known.ways[i] = calloc((size_t)graph_nodes(graph) + 1, sizeof **known.ways);
  known.extents_of = calloc((size_t)graph_nodes(graph) + 1, sizeof *known.extents_of);
  flood_open(&known.flood, graph);
  return known;
}

static void known_close(struct known *known) {
  for (unsigned i = 0; i < CERTAINTIES; i++)
    free(known->ways[i]);
  free(known->extents_of);
  free(known->extents);
  free(known->leaves);
  flood_close(&known->flood);
}

/* ---- Names ---- */

static void print_node(const struct call_graph *graph, uint32_t node) {
  if (graph_is_function(graph, node) && call_graph_name(graph, node) == NULL)
    printf("the function at ");
  call_graph_print_node(graph, node);
}

/* Where a function's address is taken. */
static void print_taken(const struct graph_function *function) {
  static const struct {
    const char *before, *after; /* the place; before: NULL, it stays unprinted */
  } texts[] = {
      [TAKEN_BY_CODE] = {"the code at ", " takes its address"},
      [TAKEN_BY_SUM] = {"the function at ", " makes sums of addresses of code"},
      [TAKEN_BY_DATA] = {"the data at ", " has its address"},
      [TAKEN_BY_RELOCATION] = {"a relocation puts its address at ", ""},
      [TAKEN_BY_EXPORT] = {NULL, "it is exported"},
      [TAKEN_BY_UNWINDER] = {NULL, "the unwind tables name it"},
      [TAKEN_BY_START] = {NULL, "it runs when the file is loaded or unloaded"},
  };
  const char *before = texts[function->taken].before;
  if (before != NULL)
    printf("%s0x%" PRIx64, before, function->taken_at);
  printf("%s", texts[function->taken].after);
}

/* ---- Kept ---- */

/* A function's call of the next node in a chain; NULL if there is none. */
static const struct call *call_to(const struct why *why, enum certainty certainty, uint32_t from,
                                  uint32_t to) {
  const struct call_graph *graph = why->graph;
  uint32_t *way = &why->known->ways[certainty][from];
  if (!graph_is_function(graph, from))
    return NULL;
  const uint32_t end = graph->functions[from + 1].first_call;
  if (*way == 0)
    for (*way = graph->functions[from].first_call + 1; *way <= end; ++*way)
      if (graph->calls[*way - 1].target == to)
        break;
  return *way <= end ? &graph->calls[*way - 1] : NULL;
}

static const char *verb_of(const struct call *call) {
  switch (call->kind) {
  case CALL_TAIL:
    return "jumps to";
  case CALL_BRANCH:
    return "goes on in";
  case CALL_INDIRECT:
    return call->is_jump ? "jumps by a pointer to" : "calls by a pointer";
  case CALL_PASSED:
    return "has another function call";
  default:
    return call->is_jump ? "jumps to" : "calls";
  }
}

/* A step of a chain: from one node of the graph to the next, by a call of the file or, NULL, by one
 * outside it. */
typedef void take_step(const struct why *why, uint32_t from, const struct call *call, uint32_t to,
                       json_t *chain);

/* Goes from a call to the GC entry that keeps its record. */
static void walk_chain(const struct why *why, const struct call *call, enum certainty certainty,
                       take_step *take, json_t *chain) {
  uint32_t node = call->target;
  why->known->steps += STEPS_A_LINE;
  take(why, call_graph_function(why->graph, call->at), call, node, chain);
  const bool *goals = certainty == BY_NAMELESS ? why->analysis->is_goal : why->analysis->is_entry;
  for (uint32_t next; !goals[node]; node = next) {
    next = analysis_next(why->analysis, certainty, node);
    assert(next < graph_nodes(why->graph)); /* a call that reaches a goal has a way there */
    why->known->steps += STEPS_A_LINE;
    take(why, node, call_to(why, certainty, node, next), next, chain);
  }
}

/* ---- JSON ---- */

static json_t *name_of(const struct why *why, uint32_t node) {
  return json_text(call_graph_name(why->graph, node));
}

static void add_step(const struct why *why, uint32_t from, const struct call *call, uint32_t to,
                     json_t *chain) {
  json_array_append_new(chain,
                        json_pack("{so so so ss}", "at",
                                  call == NULL ? json_null() : json_integer((json_int_t)call->at),
                                  "from", name_of(why, from), "to", name_of(why, to), "kind",
                                  call == NULL                  ? "unknown"
                                  : call->kind == CALL_INDIRECT ? "indirect"
                                  : call->is_jump               ? "jump"
                                                                : "call"));
}

static json_t *json_frames(const struct source_frames *frames) {
  json_t *list = json_array();
  for (size_t i = 0; i < frames->count; i++) {
    const struct source_frame *frame = &frames->items[i];
    json_t *line = frame->line == 0 ? json_null() : json_integer((json_int_t)frame->line);
    json_array_append_new(list, json_pack("{so so so}", "function", json_text(frame->function),
                                          "file", json_text(frame->file), "line", line));
  }
  return list;
}

static void json_verdict(const struct why *why, uint64_t address,
                         const struct source_frames *frames, enum verdict verdict,
                         const struct call *call) {
  const uint32_t function = call_graph_function(why->graph, address - 1);
  const bool has_chain = verdict <= KEEP_BY_NAMELESS;
  json_t *chain = has_chain ? json_array() : json_null();
  if (has_chain)
    walk_chain(why, call, (enum certainty)verdict, add_step, chain);
  json_print(json_pack("{si so so so sb ss so}", "json_version", 1, "address",
                       json_integer((json_int_t)address), "function", name_of(why, function),
                       "source", json_frames(frames), "kept", !verdict_is_drop(verdict), "reason",
                       drop_reason(verdict), "chain", chain));
}

/* ---- Text ---- */

/* Prints the kind of a chain's end, and the pattern that matches it, unless that is its name. */
static void end_step(const struct why *why, uint32_t to) {
  const struct analysis *analysis = why->analysis;
  const char *pattern = analysis->named[to], *name = call_graph_name(why->graph, to);
  if (!analysis->is_entry[to]) {
    const bool is_end = graph_is_function(why->graph, to) && analysis->is_goal[to];
    puts(is_end ? ", which may be a part of a GC entry" : "");
    return;
  }
  printf(", a GC entry");
  if (pattern != NULL && (name == NULL || strcmp(name, pattern) != 0)) {
    printf(" by --gc-entry=");
    clean_print(stdout, pattern);
  }
  putchar('\n');
}

static void print_leap(const struct why *why, uint32_t from, uint32_t to) {
  const struct call_graph *graph = why->graph;
  printf("    ");
  if (graph_is_function(graph, from)) {
    print_node(graph, from);
    printf(" can't be decoded, and may call ");
  } else if (graph_symbol_of(graph, from) != NULL) {
    print_node(graph, from);
    printf(why->analysis->occasions[from - graph->function_count] != 0
               ? ", at the program's end, calls what is registered: "
           : graph_is_function(graph, to) ? ", which this file defines, is "
                                          : " may call back ");
  } else {
    printf("one of them is ");
  }
  print_node(graph, to);
  if (!graph_is_function(graph, from) && graph_is_function(graph, to) &&
      graph->functions[to].taken != TAKEN_NOT) {
    printf(" (");
    print_taken(&graph->functions[to]);
    putchar(')');
  }
  end_step(why, to);
}

static void print_step(const struct why *why, uint32_t from, const struct call *call, uint32_t to,
                       json_t *chain) {
  (void)chain;
  if (call == NULL) {
    print_leap(why, from, to);
    return;
  }
  printf("  0x%" PRIx64 "  ", call->at);
  print_node(why->graph, from);
  printf(" %s ", verb_of(call));
  print_node(why->graph, to);
  end_step(why, to);
}

/* ---- Dropped ---- */

static void print_leaf(const struct why *why, uint32_t node) {
  const struct call_graph *graph = why->graph;
  const struct linkage_symbol *symbol = graph_symbol_of(graph, node);
  const uint8_t group =
      symbol == NULL ? (uint8_t)GROUP_POLICY : why->analysis->group[node - graph->function_count];
  printf("    ");
  print_node(graph, node);
  if (group != GROUP_POLICY) {
    printf(": %s\n", leaf_groups[group].reason);
    return;
  }
  printf(": by --no-gc=");
  clean_print(stdout, why->analysis->named[node]);
  putchar('\n');
}

/* Finds the extent of a node; its number. */
static size_t find_extent(const struct why *why, uint32_t node) {
  const struct call_graph *graph = why->graph;
  struct known *known = why->known;
  struct flood *flood = &known->flood;
  struct extent extent = {.first_leaf = known->leaf_count};
  if (known->extents_of[node] != 0)
    return known->extents_of[node] - 1;
  flood_clear(flood);
  flood_reach(flood, node);
  flood_on(flood, why->analysis, false);
  known->steps += flood->steps;
  for (uint32_t i = 0; i < flood->count; i++) {
    extent.functions += graph_is_function(graph, flood->found[i]);
    if (why->analysis->is_leaf[flood->found[i]] &&
        ARRAY_ADD(known->leaves, known->leaf_count, known->leaf_capacity, flood->found[i]))
      extent.leaves++;
  }
  extent.has_pointers = flood->is_reached[graph_anything(graph)];
  (void)ARRAY_ADD(known->extents, known->extent_count, known->extent_capacity, extent);
  known->extents_of[node] = (uint32_t)known->extent_count;
  return known->extent_count - 1;
}

/* The call's reach, under the policy, has no GC entry; it may have functions by way of pointers. */
static void print_absence(const struct why *why, const struct call *call) {
  struct known *known = why->known;
  print_step(why, call_graph_function(why->graph, call->at), call, call->target, NULL);
  const size_t number = find_extent(why, call->target);
  const struct extent extent = known->extents[number];
  printf("  it can reach %" PRIu32 " function%s of this file, none of them a GC entry%s\n",
         extent.functions, plural(extent.functions),
         extent.has_pointers ? "; so can no function whose address is taken" : "");
  if (extent.leaves > 0)
    puts("  and these, which are taken to call nothing that collects:");
  for (uint32_t i = 0; i < extent.leaves; i++)
    print_leaf(why, known->leaves[extent.first_leaf + i]);
  known->steps += (uint64_t)STEPS_A_LINE * extent.leaves;
}

/* ---- Records ---- */

static void print_place(const struct why *why, uint64_t address) {
  const struct call_graph *graph = why->graph;
  const uint32_t function = call_graph_function(graph, address - 1);
  printf("0x%" PRIx64, address);
  if (function != GRAPH_NO_NODE) {
    printf(" in ");
    print_node(graph, function);
  }
  printf(": ");
}

/* `source`: the record's place in the table's sources; 0: unknown. */
static void print_verdict(const struct why *why, uint64_t address, uint32_t source,
                          enum verdict verdict, const struct call *call) {
  const struct record_text text = {0};
  struct source_frame items[SOURCE_FRAMES_MOST];
  struct source_frames frames;
  positions_frames(why->table, source, items, &frames);
  *why->kept += !verdict_is_drop(verdict);
  if (why->json) {
    json_verdict(why, address, &frames, verdict, call);
    return;
  }
  print_place(why, address);
  printf("%s: %s\n", verdict_is_drop(verdict) ? "dropped" : "kept", drop_reason(verdict));
  record_text_frames(&text, &frames, 2);
  if (verdict <= KEEP_BY_NAMELESS)
    walk_chain(why, call, (enum certainty)verdict, print_step, NULL);
  else if (verdict == DROP_UNREACHED)
    print_absence(why, call);
}

static bool explain_record(const struct why *why, const struct safepoint *record,
                           struct problem *problem) {
  const struct call *call;
  const enum verdict verdict =
      analysis_verdict(why->analysis, why->policy, why->table, record, &call);
  print_verdict(why, record->address, record->source, verdict, call);
  return why->known->steps <= why->known->steps_most ||
         problem_set(problem,
                     "too many ways for one answer: ask for one address, such as 0x%" PRIx64,
                     record->address);
}

/* The record of this address may have been dropped before. */
static bool explain_call(const struct why *why, uint64_t address, struct problem *problem) {
  const struct call_graph *graph = why->graph;
  for (uint32_t i = call_graph_calls_near(graph, address);
       i < graph->call_count && graph->calls[i].at < address; i++) {
    const struct call *call = &graph->calls[i];
    if (call->is_jump || call->at + call->length != address)
      continue;
    if (!why->json)
      puts("no record is there; had it one:");
    print_verdict(why, address, 0, analysis_of_call(why->analysis, call), call);
    return true;
  }
  return problem_set(problem, "no record at 0x%" PRIx64 ", and no call that returns there",
                     address);
}

static bool explain_address(const struct why *why, uint64_t address, struct problem *problem) {
  const struct safepoints *table = why->table;
  uint32_t i = safepoints_first_record(table, address);
  if (i == table->record_count || table->records[i].address != address)
    return explain_call(why, address, problem);
  for (; i < table->record_count && table->records[i].address == address; i++)
    if (!explain_record(why, &table->records[i], problem))
      return false;
  return true;
}

/* ---- Functions ---- */

/* The address of the function of that name; 0: there is none. */
static uint64_t find_name(const struct image *image, const char *name) {
  for (struct elf_symbols at = elf_symbols(&image->elf_image); elf_symbols_next_defined(&at);) {
    const unsigned type = GELF_ST_TYPE(at.symbol.st_info);
    if (strcmp(at.name, name) == 0 &&
        (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE))
      return at.symbol.st_value;
  }
  return 0;
}

static bool explain_function(const struct why *why, const struct image *image, const char *name,
                             struct problem *problem) {
  const uint32_t number = call_graph_function(why->graph, find_name(image, name));
  if (number == GRAPH_NO_NODE)
    return problem_set(problem, "no function is called '%s'", name);
  const struct graph_function *function = &why->graph->functions[number];
  const struct safepoints *table = why->table;
  uint32_t i = safepoints_first_record(table, function->address + 1), records = 0;
  for (; i < table->record_count && table->records[i].address - function->address <= function->size;
       i++, records++)
    if (!explain_record(why, &table->records[i], problem))
      return false;
  if (records == 0 && !why->json) {
    clean_print(stdout, name);
    puts(" has no records");
  }
  return true;
}

/* ---- The command ---- */

struct why_options {
  struct load_options load;
  struct policy policy;
  enum output_format format;
};

static bool explain(const struct why_options *options, const struct program *program,
                    const char *place, uint32_t *kept, struct problem *problem) {
  const struct image *image = &program->image;
  const struct safepoints *table = &program->loaded.table;
  struct call_graph graph;
  struct analysis analysis;
  if (!policy_check(&options->policy, program->path, problem) ||
      !call_graph_open(&graph, image, program->loaded.raw, table, problem))
    return false;
  bool ok = analysis_open(&analysis, &graph, image, table, &options->policy, problem);
  if (ok) {
    const bool json = options->format == FORMAT_JSON;
    struct known known = known_open(&graph, image->size);
    const struct why why = {&graph, &analysis, &options->policy, table, json, kept, &known};
    uint64_t address;
    drop_warn(&analysis, program->path);
    ok = address_parse(place, &address) ? explain_address(&why, address, problem)
                                        : explain_function(&why, image, place, problem);
    known_close(&known);
    analysis_close(&analysis);
  }
  call_graph_close(&graph);
  return ok;
}

static struct why_options given;

static int explain_file(char **arguments, int count, struct problem *problem) {
  struct program program;
  uint32_t kept = 0;
  (void)count;
  const bool ok = program_open(&program, arguments[0], &given.load, problem) &&
                  explain(&given, &program, arguments[1], &kept, problem);
  program_close(&program);
  return !ok ? EXIT_UNUSABLE : kept > 0 ? EXIT_DONE : EXIT_DIFFERENCE;
}

static const struct command_option own[] = {
    {"format", .words = "text|json", .word = &given.format},
    POLICY_OPTIONS(&given.policy),
    LOAD_OPTIONS(&given.load),
    {0},
};
const struct command command_why = {
    "why", "print the reason why `pack` keeps or drops a record", help,        own, 2,
    2,     "there must be a file, and an address or a function",  explain_file};
