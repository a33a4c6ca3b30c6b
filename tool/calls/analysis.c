/* analysis.c - see analysis.h.
 *
 * What a policy changes in the call graph: GC entries are the goals; a function that never collects
 * has no successors, and nor has a symbol of the C library that never calls back. All other symbols
 * lead to `anything`, as they may call back. If a GC entry is itself a symbol, the collector is
 * elsewhere, and code elsewhere may enter it without coming back here: then `anything` leads there.
 *
 * A GC entry of which there is no function may be misspelt, or have lost its name: it could be any
 * function here or elsewhere. Then nothing is dropped for not reaching a GC entry.
 *
 * A function is reachable if it is the start, or a pointer may lead to it, or a reachable one calls
 * it. That doesn't depend on the policy.
 */
#include "tool/calls/analysis.h"

#include "tool/calls/leaf_functions.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- The policy's names ---- */

/* One pattern's matches are counted while the symbols are gone through. */
struct matcher {
  struct analysis *analysis;
  const struct policy *policy;
  uint32_t *matches; /* by pattern */
};

static void match_node(struct matcher *matcher, uint32_t node, const char *name) {
  for (size_t i = 0; i < matcher->policy->count; i++) {
    const struct policy_pattern *pattern = &matcher->policy->patterns[i];
    if (!policy_matches(pattern, name))
      continue;
    matcher->matches[i]++;
    if (pattern->kind == POLICY_GC_ENTRY)
      matcher->analysis->is_entry[node] = true;
    else
      matcher->analysis->is_leaf[node] = true;
  }
}

static void match_symbol(void *context, const char *name, const GElf_Sym *symbol) {
  struct matcher *matcher = context;
  const unsigned type = GELF_ST_TYPE(symbol->st_info);
  if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
    return;
  const uint32_t function = call_graph_function(matcher->analysis->graph, symbol->st_value);
  if (function != GRAPH_NO_NODE && *name != 0)
    match_node(matcher, function, name);
}

static void match_outside(struct matcher *matcher) {
  const struct call_graph *graph = matcher->analysis->graph;
  for (uint32_t i = 1; i < graph->linkage.symbol_count; i++) {
    const struct linkage_symbol *symbol = &graph->linkage.symbols[i];
    if (symbol->is_code && (!symbol->is_defined || symbol->is_preemptible))
      match_node(matcher, graph_symbol(graph, i), symbol->name);
  }
}

static bool match_names(struct analysis *analysis, const struct image *image,
                        const struct policy *policy, struct problem *problem) {
  struct matcher matcher = {analysis, policy, calloc(policy->count + 1, sizeof(uint32_t))};
  if (matcher.matches == NULL)
    return problem_set(problem, "not enough memory");
  if (policy->count > 0) {
    image_symbols(image, match_symbol, &matcher);
    match_outside(&matcher);
  }
  bool ok = true;
  for (size_t i = 0; i < policy->count && ok; i++) {
    if (matcher.matches[i] > 0)
      continue;
    const char *text = policy->patterns[i].text;
    if (policy->patterns[i].kind == POLICY_GC_ENTRY && policy->strict)
      ok = problem_set(problem, "no function is called '%s', which is to be a GC entry", text);
    else if (policy->patterns[i].kind == POLICY_GC_ENTRY)
      analysis->unknown = analysis->unknown == NULL ? text : analysis->unknown;
    else if (policy->strict)
      ok = problem_set(problem, "no function is called '%s', which is never to collect", text);
    else if (analysis->unused_patterns++ == 0)
      analysis->unused = text;
  }
  free(matcher.matches);
  return ok;
}

/* ---- The C library ---- */

static bool uses_any(const struct call_graph *graph, const char *words) {
  for (uint32_t i = 1; *words != 0 && i < graph->linkage.symbol_count; i++)
    if (leaf_words_have(words, graph->linkage.symbols[i].name))
      return true;
  return false;
}

static bool find_leaves(struct analysis *analysis) {
  const struct call_graph *graph = analysis->graph;
  bool *holds = calloc(leaf_group_count + 1, sizeof *holds);
  if (holds == NULL)
    return false;
  for (size_t group = 0; group < leaf_group_count; group++)
    holds[group] = !uses_any(graph, leaf_groups[group].unless);
  for (uint32_t i = 0; i < graph->linkage.symbol_count; i++) {
    const uint32_t node = graph_symbol(graph, i);
    const struct linkage_symbol *symbol = &graph->linkage.symbols[i];
    const size_t group = symbol->is_c_library ? leaf_group_of(symbol->name) : leaf_group_count;
    analysis->group[i] = analysis->is_leaf[node] ? GROUP_POLICY : GROUP_NONE;
    if (analysis->is_leaf[node] || group == leaf_group_count || !holds[group])
      continue;
    analysis->group[i] = (uint8_t)group;
    analysis->is_leaf[node] = true;
  }
  free(holds);
  return true;
}

/* ---- The graph under the policy ---- */

static void add_function(const struct analysis *analysis, struct reach_graph *reach,
                         uint32_t number, enum certainty certainty) {
  const struct call_graph *graph = analysis->graph;
  const struct graph_function *function = &graph->functions[number];
  for (uint32_t i = function[0].first_call; i < function[1].first_call; i++)
    if (graph->calls[i].target < graph_anything(graph) || certainty >= BY_POINTERS)
      reach_graph_edge(reach, graph->calls[i].target);
  if (function->is_undecodable && certainty == BY_ANYTHING)
    reach_graph_edge(reach, graph_anything(graph));
}

static void add_symbol(const struct analysis *analysis, struct reach_graph *reach, uint32_t node,
                       enum certainty certainty) {
  const struct linkage_symbol *symbol = graph_symbol_of(analysis->graph, node);
  const uint32_t function =
      symbol->is_defined ? call_graph_function(analysis->graph, symbol->address) : GRAPH_NO_NODE;
  if (function != GRAPH_NO_NODE)
    reach_graph_edge(reach, function);
  if (certainty >= BY_OUTSIDE)
    reach_graph_edge(reach, graph_anything(analysis->graph));
}

static void add_anything(const struct analysis *analysis, struct reach_graph *reach) {
  const struct call_graph *graph = analysis->graph;
  for (uint32_t i = 0; i < graph->function_count; i++)
    if (graph->functions[i].taken != TAKEN_NOT)
      reach_graph_edge(reach, i);
  for (uint32_t node = graph->function_count; node < graph_anything(graph); node++)
    if (analysis->is_entry[node])
      reach_graph_edge(reach, node);
}

static void add_type(const struct analysis *analysis, struct reach_graph *reach, uint32_t type) {
  const struct graph_type *types = analysis->graph->types;
  for (uint32_t i = types[type].first_member; i < types[type + 1].first_member; i++)
    reach_graph_edge(reach, analysis->graph->type_members[i]);
}

static void add_node(const struct analysis *analysis, struct reach_graph *reach, uint32_t node,
                     enum certainty certainty) {
  const struct call_graph *graph = analysis->graph;
  if (graph_is_function(graph, node))
    add_function(analysis, reach, node, certainty);
  else if (node < graph_anything(graph))
    add_symbol(analysis, reach, node, certainty);
  else if (node == graph_anything(graph))
    add_anything(analysis, reach);
  else
    add_type(analysis, reach, node - graph_anything(graph) - 1);
}

static uint32_t *find_next(const struct analysis *analysis, enum certainty certainty) {
  const uint32_t nodes = graph_nodes(analysis->graph);
  struct reach_graph reach;
  uint32_t *next = NULL;
  if (!reach_graph_open(&reach, nodes))
    return NULL;
  for (uint32_t node = 0; node < nodes; node++) {
    reach_graph_node(&reach, node);
    if (!analysis->is_leaf[node] && !analysis->is_entry[node])
      add_node(analysis, &reach, node, certainty);
  }
  if (reach_graph_finish(&reach))
    next = reach_goals(&reach, analysis->is_entry);
  reach_graph_close(&reach);
  return next;
}

/* ---- What can be reached at all ---- */

struct flood {
  const struct call_graph *graph;
  bool *is_reached; /* by function */
  uint32_t *found;
  uint32_t count;
};

static void reach_function(struct flood *flood, uint32_t function) {
  if (function >= flood->graph->function_count || flood->is_reached[function])
    return;
  flood->is_reached[function] = true;
  flood->found[flood->count++] = function;
}

/* An undecodable function may call any function, also one that nothing else calls. */
static void reach_from(struct flood *flood, uint32_t number) {
  const struct call_graph *graph = flood->graph;
  const struct graph_function *function = &graph->functions[number];
  for (uint32_t i = 0; function->is_undecodable && i < graph->function_count; i++)
    reach_function(flood, i);
  for (uint32_t i = function[0].first_call; i < function[1].first_call; i++) {
    const struct linkage_symbol *symbol = graph_symbol_of(graph, graph->calls[i].target);
    reach_function(flood, symbol != NULL && symbol->is_defined
                              ? call_graph_function(graph, symbol->address)
                              : graph->calls[i].target);
  }
}

static bool find_reachable(struct analysis *analysis) {
  const struct call_graph *graph = analysis->graph;
  struct flood flood = {.graph = graph,
                        .is_reached = calloc((size_t)graph->function_count + 1, sizeof(bool)),
                        .found = calloc((size_t)graph->function_count + 1, sizeof(uint32_t))};
  analysis->is_reachable = flood.is_reached;
  if (flood.is_reached == NULL || flood.found == NULL) {
    free(flood.found);
    return false;
  }
  reach_function(&flood, call_graph_function(graph, graph->linkage.entry));
  for (uint32_t i = 0; i < graph->function_count; i++)
    if (graph->functions[i].taken != TAKEN_NOT || analysis->is_entry[i])
      reach_function(&flood, i);
  bool has_undecodable = false;
  for (uint32_t done = 0; done < flood.count; done++) {
    const uint32_t number = flood.found[done];
    if (graph->functions[number].is_undecodable && has_undecodable)
      continue; /* all are reached already */
    has_undecodable |= graph->functions[number].is_undecodable;
    reach_from(&flood, number);
  }
  free(flood.found);
  return true;
}

/* ---- The whole ---- */

static bool allocate(struct analysis *analysis) {
  const uint32_t nodes = graph_nodes(analysis->graph);
  analysis->is_entry = calloc((size_t)nodes + 1, sizeof *analysis->is_entry);
  analysis->is_leaf = calloc((size_t)nodes + 1, sizeof *analysis->is_leaf);
  analysis->group = calloc((size_t)analysis->graph->linkage.symbol_count + 1, 1);
  return analysis->is_entry != NULL && analysis->is_leaf != NULL && analysis->group != NULL;
}

static bool check_decoded(struct analysis *analysis, const struct policy *policy,
                          struct problem *problem) {
  const struct call_graph *graph = analysis->graph;
  for (uint32_t i = 0; i < graph->function_count; i++) {
    if (!graph->functions[i].is_undecodable)
      continue;
    const char *name = call_graph_name(graph, i);
    analysis->undecodable++;
    if (policy->strict)
      return problem_set(problem, "code that can't be decoded, in %s at 0x%" PRIx64,
                         name != NULL ? name : "a function", graph->functions[i].address);
  }
  return true;
}

static bool compute(struct analysis *analysis) {
  if (!find_leaves(analysis) || !find_reachable(analysis))
    return false;
  for (int certainty = 0; certainty < CERTAINTIES; certainty++) {
    analysis->next[certainty] = find_next(analysis, (enum certainty)certainty);
    if (analysis->next[certainty] == NULL)
      return false;
  }
  return true;
}

bool analysis_open(struct analysis *analysis, const struct call_graph *graph,
                   const struct image *image, const struct policy *policy,
                   struct problem *problem) {
  *analysis = (struct analysis){.graph = graph, .has_entries = policy_has_entries(policy)};
  bool ok = allocate(analysis) || problem_set(problem, "not enough memory");
  ok = ok && match_names(analysis, image, policy, problem) &&
       check_decoded(analysis, policy, problem) &&
       (compute(analysis) || problem_set(problem, "not enough memory"));
  if (!ok)
    analysis_close(analysis);
  return ok;
}

void analysis_close(struct analysis *analysis) {
  free(analysis->is_entry);
  free(analysis->is_leaf);
  free(analysis->group);
  free(analysis->is_reachable);
  for (int certainty = 0; certainty < CERTAINTIES; certainty++)
    free(analysis->next[certainty]);
  *analysis = (struct analysis){0};
}

bool analysis_has_handlers(const struct analysis *analysis) {
  const struct call_graph *graph = analysis->graph;
  return uses_any(graph, "signal sigaction __sysv_signal bsd_signal sigset") &&
         analysis->next[BY_ANYTHING][graph_anything(graph)] != (uint32_t)REACH_NOTHING;
}

/* ---- Records ---- */

enum verdict analysis_of_call(const struct analysis *analysis, const struct call *call) {
  const bool is_indirect = call->target >= graph_anything(analysis->graph);
  for (int certainty = is_indirect ? BY_POINTERS : BY_CALLS; certainty < CERTAINTIES; certainty++)
    if (analysis->next[certainty][call->target] != (uint32_t)REACH_NOTHING)
      return (enum verdict)certainty;
  return DROP_UNREACHED;
}

/* The worst of all calls that end at a return address: code that can be decoded in two ways, as it
 * is entered in two places, may have two. */
static enum verdict verdict_of_calls(const struct analysis *analysis, uint64_t return_address,
                                     const struct call **call) {
  const struct call_graph *graph = analysis->graph;
  enum verdict worst = KEEP_NO_CALL;
  *call = NULL;
  for (uint32_t i = call_graph_calls_near(graph, return_address);
       i < graph->call_count && graph->calls[i].at < return_address; i++) {
    const struct call *candidate = &graph->calls[i];
    if (candidate->is_jump || candidate->at + candidate->length != return_address)
      continue;
    const enum verdict verdict = analysis_of_call(analysis, candidate);
    if (*call != NULL && verdict_is_drop(verdict))
      continue;
    worst = verdict;
    *call = candidate;
  }
  return worst;
}

enum verdict analysis_verdict(const struct analysis *analysis, const struct policy *policy,
                              const struct safepoints *table, const struct safepoint *record,
                              const struct call **call) {
  const uint32_t function = call_graph_function(analysis->graph, record->address - 1);
  const enum verdict verdict = verdict_of_calls(analysis, record->address, call);
  if (policy->drop_unreachable && function != GRAPH_NO_NODE && !analysis->is_reachable[function])
    return DROP_UNREACHABLE;
  if (!analysis->has_entries)
    return KEEP_NO_ENTRIES;
  if (analysis->unknown != NULL)
    return KEEP_UNKNOWN;
  if (safepoints_kind(table, record) != SAFEPOINT_STATEPOINT)
    return KEEP_STACKMAP;
  if (!verdict_is_drop(verdict))
    return verdict;
  return intern_get(&table->lists, record->deopt).count > 0 ? KEEP_DEOPT : verdict;
}
