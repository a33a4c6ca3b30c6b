/* callgraph.c - stackpack callgraph: prints the call graph, for people, programs and Graphviz. */
#include "tool/calls/drop.h"
#include "tool/commands.h"
#include "tool/image/clean.h"
#include "tool/print/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const char help[] =
    "Usage: stackpack callgraph [OPTION]... FILE\n"
    "Prints the call graph of a linked program, as `pack --gc-entry` uses it.\n\n"
    "      --format=text|json|dot  json: one object per line and function; dot: for\n"
    "                            Graphviz; the default is text\n" COMMON_HELP
    "These mark the functions that a pattern matches:\n" POLICY_HELP;

struct callgraph_options {
  struct load_options load;
  struct policy policy;
  enum output_format format;
};

static const char *const kind_names[] = {
    [CALL_NONE] = "none",     [CALL_DIRECT] = "direct",     [CALL_TAIL] = "tail",
    [CALL_BRANCH] = "branch", [CALL_INDIRECT] = "indirect", [CALL_OUTSIDE] = "outside",
    [CALL_PASSED] = "passed"};

/* The address of a call's target: of a function, or of a symbol's definition here; 0 if it is
 * unknown. */
static uint64_t target_address(const struct call_graph *graph, const struct call *call) {
  if (graph_is_function(graph, call->target))
    return graph->functions[call->target].address;
  const struct linkage_symbol *symbol = graph_symbol_of(graph, call->target);
  return symbol != NULL && symbol->is_defined ? symbol->address : 0;
}

/* A node's part in the policy: "gc-entry" or "no-gc"; NULL if all patterns miss it. */
static const char *policy_part(const struct analysis *analysis, uint32_t node) {
  if (analysis->named == NULL || analysis->named[node] == NULL)
    return NULL;
  return analysis->is_entry[node] ? "gc-entry" : analysis->is_leaf[node] ? "no-gc" : NULL;
}

static bool is_taken(const struct graph_function *function) { return function->taken != TAKEN_NOT; }

/* ---- JSON ---- */

static void json_call(const struct call_graph *graph, const struct call *call) {
  const uint64_t target = target_address(graph, call);
  printf("{\"at\":%" PRIu64 ",\"return\":", call->at);
  json_print_number(call->at + call->length, !call->is_jump);
  printf(",\"kind\":\"%s\",\"target\":", kind_names[call->kind]);
  json_print_number(target, target != 0);
  printf(",\"symbol\":");
  json_print_text(call_graph_name(graph, call->target));
  putchar('}');
}

static void json_function(const struct analysis *analysis, uint32_t number, bool exported) {
  const struct call_graph *graph = analysis->graph;
  const struct graph_function *function = &graph->functions[number];
  const char *part = policy_part(analysis, number);
  printf("{\"address\":%" PRIu64 ",\"name\":", function->address);
  json_print_text(call_graph_name(graph, number));
  printf(",\"address_taken\":%s,\"exported\":%s,\"calls\":[", is_taken(function) ? "true" : "false",
         exported ? "true" : "false");
  EACH_CALL(graph, function, call) {
    if (call > graph->calls + function->first_call)
      putchar(',');
    json_call(graph, call);
  }
  printf("],\"undecodable\":%s,\"policy\":", function->is_undecodable ? "true" : "false");
  json_print_text(part);
  printf(",\"pattern\":");
  json_print_text(part != NULL ? analysis->named[number] : NULL);
  puts("}");
}

/* ---- Text ---- */

/* The pattern that means a node, if one does. */
static void text_pattern(const struct analysis *analysis, uint32_t node) {
  const char *part = policy_part(analysis, node);
  if (part == NULL)
    return;
  printf(" (%s=", part);
  clean_print(stdout, analysis->named[node]);
  putchar(')');
}

static void text_function(const struct analysis *analysis, uint32_t number, bool exported) {
  const struct call_graph *graph = analysis->graph;
  const struct graph_function *function = &graph->functions[number];
  printf("0x%" PRIx64 " ", function->address);
  call_graph_print_node(graph, number);
  printf("%s%s%s", is_taken(function) ? " (address taken)" : "", exported ? " (exported)" : "",
         function->is_undecodable ? " (undecodable)" : "");
  text_pattern(analysis, number);
  putchar('\n');
  EACH_CALL(graph, function, call) {
    /* of a call, the return address, as `lookup` and `why` take it */
    printf("  0x%" PRIx64 " %-8s ", call->at + (call->is_jump ? 0 : call->length),
           kind_names[call->kind]);
    call_graph_print_node(graph, call->target);
    if (!graph_is_function(graph, call->target))
      text_pattern(analysis, call->target);
    putchar('\n');
  }
}

/* ---- Graphviz ---- */

static void dot_text(const char *text) { clean_print_quoted(text, "\"\\", '\\'); }

/* Nodes are named by number: several functions may have one name. */
static void dot_function(const struct call_graph *graph, uint32_t number) {
  const struct graph_function *function = &graph->functions[number];
  const char *name = call_graph_name(graph, number);
  char address[32];
  snprintf(address, sizeof address, "0x%" PRIx64, function->address);
  printf("  n%" PRIu32 " [label=", number);
  dot_text(name != NULL ? name : address);
  printf("%s];\n", is_taken(function) ? ", peripheries=2" : "");
  EACH_CALL(graph, function, call)
    printf("  n%" PRIu32 " -> n%" PRIu32 "%s;\n", number, call->target,
           call->kind == CALL_DIRECT     ? ""
           : call->kind == CALL_INDIRECT ? " [style=dotted]"
                                         : " [style=dashed]");
}

static void print_dot_type(const struct call_graph *graph, uint32_t type) {
  const uint32_t node = graph_type_node(graph, type);
  printf("  n%" PRIu32 " [label=\"any function of a type\"];\n", node);
  for (uint32_t i = graph->types[type].first_member; i < graph->types[type + 1].first_member; i++)
    printf("  n%" PRIu32 " -> n%" PRIu32 " [style=dotted];\n", node, graph->type_members[i]);
}

static void print_dot(const struct call_graph *graph) {
  printf("digraph calls {\n  n%" PRIu32 " [label=\"any function whose address is taken\"];\n",
         graph_anything(graph));
  printf("  n%" PRIu32 " [label=\"any function\"];\n", graph_everything(graph));
  for (uint32_t i = 0; i < graph->type_count; i++)
    print_dot_type(graph, i);
  for (uint32_t i = 1; i < graph->linkage.symbol_count; i++) {
    const struct linkage_symbol *symbol = &graph->linkage.symbols[i];
    if (!symbol->is_code || (symbol->is_defined && !symbol->is_preemptible))
      continue;
    printf("  n%" PRIu32 " [shape=box, label=", graph_symbol(graph, i));
    dot_text(symbol->name);
    puts("];");
  }
  for (uint32_t i = 0; i < graph->function_count; i++)
    dot_function(graph, i);
  puts("}");
}

/* ---- The command ---- */

/* By function: other files can find it by name. To be freed. */
static bool *find_exported(const struct call_graph *graph) {
  bool *exported = calloc((size_t)graph->function_count + 1, sizeof *exported);
  for (uint32_t i = 1; i < graph->linkage.symbol_count; i++) {
    const struct linkage_symbol *symbol = &graph->linkage.symbols[i];
    const uint32_t function = graph_definition(graph, symbol);
    if (function != GRAPH_NO_NODE && graph->functions[function].address == symbol->address)
      exported[function] = true;
  }
  return exported;
}

static void print_graph(const struct analysis *analysis, enum output_format format) {
  const struct call_graph *graph = analysis->graph;
  bool *exported = find_exported(graph);
  if (format == FORMAT_DOT)
    print_dot(graph);
  for (uint32_t i = 0; i < graph->function_count && format == FORMAT_JSON; i++)
    json_function(analysis, i, exported[i]);
  for (uint32_t i = 0; i < graph->function_count && format == FORMAT_TEXT; i++)
    text_function(analysis, i, exported[i]);
  free(exported);
}

/* Only patterns need the analysis. */
static bool print_analysed(const struct callgraph_options *options, const struct program *program,
                           const struct call_graph *graph, struct problem *problem) {
  struct analysis analysis = {.graph = graph};
  if (options->policy.count == 0) {
    print_graph(&analysis, options->format);
    return true;
  }
  if (!analysis_open(&analysis, graph, &program->image, &program->loaded.table, &options->policy,
                     problem))
    return false;
  drop_warn(&analysis, program->path);
  print_graph(&analysis, options->format);
  analysis_close(&analysis);
  return true;
}

static struct callgraph_options given;

/* Stack maps are optional here. */
static int print_file(char **arguments, int count, struct problem *problem) {
  struct program program = {.path = arguments[0]};
  struct call_graph graph;
  const struct load_options *load = &given.load;
  (void)count;
  bool ok =
      load_open(&program.image, program.path, load, problem) &&
      load_find(&program.image, load, &program.loaded, problem) != LOAD_BROKEN &&
      load_records(&program.image, load, &program.loaded, problem) &&
      call_graph_open(&graph, &program.image, program.loaded.raw, &program.loaded.table, problem);
  if (ok) {
    ok = print_analysed(&given, &program, &graph, problem);
    call_graph_close(&graph);
  }
  program_close(&program);
  return ok ? EXIT_DONE : EXIT_UNUSABLE;
}

static const struct command_option own[] = {
    {"format", .words = "text|json|dot", .word = &given.format},
    LOAD_OPTIONS(&given.load),
    POLICY_OPTIONS(&given.policy),
    {0},
};
const struct command command_callgraph = {
    "callgraph", "print the call graph of a program", help, own, 1, 1, "there must be one file",
    print_file};
