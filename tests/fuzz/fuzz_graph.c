/* fuzz_graph.c - attacks the call graph, and all answers from it, with made-up programs.
 *
 * The input is an ELF file. It goes the way of `stackpack callgraph`, and with two policies the way
 * of `stackpack pack --gc-entry`, without rewriting: the graph is built of code, symbols,
 * relocations, jump tables, types and unwind tables, and records are dropped. Findings: a read
 * outside the file, a refusal without a reason, a graph with numbers beyond its arrays, a way to a
 * GC entry that ends elsewhere, and a record missing among both the kept and the dropped ones.
 */
#include "fuzz.h"

#include "tool/calls/drop.h"

#include <stdlib.h>
#include <string.h>

/* The names of the seeds' functions. */
static struct policy_pattern entries[] = {
    {.text = "collect", .kind = POLICY_GC_ENTRY, .is_plain = true},
    {.text = "personality", .kind = POLICY_NO_GC, .is_plain = true},
};
static struct policy_pattern patterns[] = {
    {.text = "*[a-m]", .kind = POLICY_GC_ENTRY},
    {.text = "f?", .kind = POLICY_NO_GC},
};
static const struct policy policies[] = {
    {.patterns = entries, .count = 2},
    {.patterns = patterns, .count = 2, .drop_unreachable = true},
};

static void expect_problem(const struct problem *problem) {
  if (problem->text[0] == 0)
    finding("a failure says what is wrong", NULL);
}

static void check_function(const struct call_graph *graph, uint32_t number) {
  const struct graph_function *function = &graph->functions[number];
  if (number > 0 && function->address - function[-1].address < function[-1].size)
    finding("functions are sorted and disjoint", NULL);
  if (function[0].first_call > function[1].first_call || function[1].first_call > graph->call_count)
    finding("each function has its calls", NULL);
  if (call_graph_function(graph, function->address) != number)
    finding("a function is found by its address", NULL);
  EACH_CALL(graph, function, call) {
    if (call->at - function->address >= function->size)
      finding("a call is in its function", NULL);
    if (call->target >= graph_nodes(graph))
      finding("a call leads to a node", NULL);
  }
}

static void check_graph(const struct call_graph *graph) {
  for (uint32_t i = 0; i < graph->function_count; i++)
    check_function(graph, i);
  for (uint32_t i = 0; i < graph->type_count; i++)
    for (uint32_t k = graph->types[i].first_member; k < graph->types[i + 1].first_member; k++)
      if (graph->type_members[k] >= graph_nodes(graph))
        finding("a type leads to nodes", NULL);
  size_t length = 0;
  for (uint32_t i = 0; i < graph_nodes(graph); i++) {
    const char *name = call_graph_name(graph, i);
    length += name == NULL ? 0 : strlen(name);
  }
  if (length > (size_t)graph_nodes(graph) << 20)
    finding("names are in the file", NULL);
}

static void visit(void *context, uint32_t node) {
  const struct call_graph *graph = context;
  if (node >= analysis_nodes(graph))
    finding("an edge leads to a node", NULL);
}

/* From each node that reaches a GC entry, the ways by all certainties end at one. The last
 * certainty is left out where all functions have names. */
static void check_analysis(const struct analysis *analysis) {
  const uint32_t nodes = analysis_nodes(analysis->graph);
  for (unsigned certainty = 0; certainty < CERTAINTIES && analysis->next[certainty] != NULL;
       certainty++) {
    const uint32_t *next = analysis->next[certainty];
    for (uint32_t i = 0; i < nodes; i++) {
      uint32_t node = i, steps = 0;
      while (next[node] != REACH_NOTHING && next[node] != node && steps++ < nodes)
        node = next[node];
      if (next[node] != REACH_NOTHING && next[node] != node)
        finding("a way to a GC entry ends", NULL);
      if (certainty + 1 < CERTAINTIES && analysis->next[certainty + 1] != NULL &&
          next[i] != REACH_NOTHING && analysis->next[certainty + 1][i] == REACH_NOTHING)
        finding("with more of the graph, no less is reached", NULL);
      analysis_visit(analysis, i, (enum certainty)certainty, visit, (void *)analysis->graph);
    }
  }
}

static void drop(const struct call_graph *graph, const struct image *image, struct loaded *loaded,
                 const struct policy *policy) {
  struct problem problem = {0};
  struct analysis analysis;
  struct drop drop;
  if (!analysis_open(&analysis, graph, image, &loaded->table, policy, &problem)) {
    expect_problem(&problem);
    return;
  }
  check_analysis(&analysis);
  drop_records(loaded, &analysis, policy, &drop);
  if (drop.dropped + loaded->table.record_count != drop.records)
    finding("each record is kept or dropped", NULL);
  drop_close(&drop);
  analysis_close(&analysis);
}

static void read_graph(const struct image *image, struct loaded *loaded) {
  struct problem problem = {0};
  struct call_graph graph;
  if (!call_graph_open(&graph, image, loaded->raw, &loaded->table, &problem)) {
    expect_problem(&problem);
    return;
  }
  check_graph(&graph);
  for (size_t i = 0; i < sizeof policies / sizeof *policies; i++)
    drop(&graph, image, loaded, &policies[i]);
  call_graph_close(&graph);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const struct load_options options = {0};
  struct problem problem = {0};
  struct image image;
  struct loaded loaded;
  uint8_t *bytes = exact_block(data, size, size);
  if (image_open_memory(&image, bytes, size, &problem)) {
    if (load_find(&image, &options, &loaded, &problem) != LOAD_BROKEN &&
        load_records(&image, &options, &loaded, &problem))
      read_graph(&image, &loaded);
    else
      expect_problem(&problem);
    loaded_free(&loaded);
    image_close(&image);
  } else {
    expect_problem(&problem);
  }
  free(bytes);
  return 0;
}
