/* analysis.c - see analysis.h.
 *
 * A policy changes the call graph: GC entries are the goals; a function that never collects has no
 * successors, and neither has a symbol of the C library that never calls back; the successors of
 * one that ends the program are the functions registered for that, if all of them were found. All
 * other symbols have the successor `anything`, as they may call back. If a GC entry is itself a
 * symbol, the collector is elsewhere, and code elsewhere may enter it directly: then it is a
 * successor of `anything`.
 *
 * A GC entry that matches no function may be misspelt, or stripped of its name: it could be any
 * function here or elsewhere. Then no record is dropped for being out of reach of a GC entry.
 *
 * A function of the C library that allocates calls this file's malloc, if it defines one; or the
 * malloc of another library that it is linked with; or a GC entry, wherever that is.
 *
 * A function is reachable if it is the start, or address-taken, or a reachable one calls it. That
 * is independent of the policy.
 */
#include "tool/calls/analysis.h"

#include "format/array.h"
#include "tool/calls/leaf_functions.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- The policy's names ---- */

/* A pattern's meaning for a node. */
struct match {
  uint32_t pattern, node;
};

/* The functions found for a plain pattern, to see whether it is ambiguous. */
struct meaning {
  struct {
    char *name; /* whole; owned */
    char *own;  /* of the function itself; owned */
    uint32_t node;
  } items[16];
  size_t count;
  bool is_several;
};

/* Matches are collected while the symbols are gone through. */
struct matcher {
  struct analysis *analysis;
  const struct policy *policy;
  struct match *matches;
  size_t count, capacity;
  struct meaning *meanings; /* by pattern */
};

/* Notes one of a pattern's functions. Copies of one function share its own name; another one may
 * have the very same name, in another source file. */
static void note_meaning(struct meaning *meaning, uint32_t node, const struct pattern_name *name) {
  enum { ITEMS = sizeof meaning->items / sizeof *meaning->items };
  char *own = strndup(name->text, pattern_function_length(name->text));
  bool is_known = false;
  for (size_t i = 0; i < meaning->count && !meaning->is_several; i++) {
    const bool same_node = meaning->items[i].node == node;
    const bool same_name = strcmp(meaning->items[i].name, name->text) == 0;
    meaning->is_several = !same_node && (same_name || strcmp(meaning->items[i].own, own) != 0);
    is_known |= same_node;
  }
  meaning->is_several |= !is_known && meaning->count == ITEMS;
  if (is_known || meaning->is_several) {
    free(own);
    return;
  }
  meaning->items[meaning->count].name = strdup(name->text);
  meaning->items[meaning->count].own = own;
  meaning->items[meaning->count++].node = node;
}

/* Goes through the patterns for a name of a node; `is_certain` says that the name is the
 * function's. */
static void match_node(struct matcher *matcher, uint32_t node, const char *text, bool is_certain) {
  const struct call_graph *graph = matcher->analysis->graph;
  const struct linkage_symbol *symbol = graph_symbol_of(graph, node);
  const uint32_t own = symbol == NULL ? node : graph_definition(graph, symbol);
  struct pattern_name name;
  pattern_name_open(&name, text);
  for (size_t i = 0; i < matcher->policy->count; i++) {
    const struct policy_pattern *pattern = &matcher->policy->patterns[i];
    const bool is_entry = pattern->kind == POLICY_GC_ENTRY;
    if (!is_certain && !is_entry)
      continue;
    if (policy_matches(pattern, &name))
      (void)ARRAY_ADD(matcher->matches, matcher->count, matcher->capacity,
                      (struct match){(uint32_t)i, node});
    const bool may_be_plain = pattern->is_plain && (!is_entry || name.form_count == 0);
    if (may_be_plain && pattern_means(pattern->text, &name, PATTERN_NUMBERED))
      note_meaning(&matcher->meanings[i], own, &name);
  }
  pattern_name_close(&name);
}

/* A label without type may be the end of the code before it, and the function there may have lost
 * its symbol: a promise never holds for it. */
static bool is_own_name(const struct analysis *analysis, const GElf_Sym *symbol) {
  return GELF_ST_TYPE(symbol->st_info) != STT_NOTYPE && symbol->st_shndx != SHN_ABS &&
         call_graph_start(analysis->graph, symbol->st_value) != GRAPH_NO_NODE;
}

static void match_symbols(struct matcher *matcher, const struct image *image) {
  for (struct elf_symbols at = elf_symbols(&image->elf_image); elf_symbols_next_defined(&at);) {
    const unsigned type = GELF_ST_TYPE(at.symbol.st_info);
    if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
      continue;
    const uint32_t function = call_graph_function(matcher->analysis->graph, at.symbol.st_value);
    if (function != GRAPH_NO_NODE && *at.name != 0)
      match_node(matcher, function, at.name, is_own_name(matcher->analysis, &at.symbol));
  }
}

static void match_outside(struct matcher *matcher) {
  const struct call_graph *graph = matcher->analysis->graph;
  for (uint32_t i = 1; i < graph->linkage.symbol_count; i++) {
    const struct linkage_symbol *symbol = &graph->linkage.symbols[i];
    if (symbol->is_code && (!symbol->is_defined || symbol->is_preemptible))
      match_node(matcher, graph_symbol(graph, i), symbol->name, true);
  }
}

/* Finds the functions that each pattern matches. A promise by an ambiguous plain pattern is
 * void. */
static void match_all(struct matcher *matcher, struct analysis *analysis,
                      const struct image *image) {
  const struct policy *policy = matcher->policy;
  match_symbols(matcher, image);
  match_outside(matcher);
  for (size_t i = 0; i < policy->count; i++)
    if (matcher->meanings[i].is_several && analysis->several == NULL)
      analysis->several = &policy->patterns[i];
  for (size_t i = 0; i < matcher->count; i++) {
    const struct match *match = &matcher->matches[i];
    const struct policy_pattern *pattern = &policy->patterns[match->pattern];
    if (pattern->kind == POLICY_GC_ENTRY)
      analysis->is_entry[match->node] = true;
    else if (!matcher->meanings[match->pattern].is_several)
      analysis->is_leaf[match->node] = true;
    if (analysis->named[match->node] == NULL || pattern->kind == POLICY_GC_ENTRY)
      analysis->named[match->node] = pattern->text;
  }
}

static struct matcher matcher_open(struct analysis *analysis, const struct policy *policy) {
  return (struct matcher){.analysis = analysis,
                          .policy = policy,
                          .meanings = calloc(policy->count + 1, sizeof(struct meaning))};
}

static void matcher_close(struct matcher *matcher) {
  for (size_t i = 0; i < matcher->policy->count; i++)
    for (size_t k = 0; k < matcher->meanings[i].count; k++) {
      free(matcher->meanings[i].items[k].name);
      free(matcher->meanings[i].items[k].own);
    }
  free(matcher->meanings);
  free(matcher->matches);
}

static bool check_meanings(struct analysis *analysis, const struct policy *policy,
                           struct problem *problem) {
  return analysis->several == NULL || !policy->strict ||
         problem_set(problem, "several functions are called '%s'", analysis->several->text);
}

static bool match_names(struct matcher *matcher, const struct image *image,
                        struct problem *problem) {
  struct analysis *analysis = matcher->analysis;
  const struct policy *policy = matcher->policy;
  bool *is_used = calloc(policy->count + 1, sizeof *is_used);
  if (policy->count > 0)
    match_all(matcher, analysis, image);
  for (size_t i = 0; i < matcher->count; i++)
    is_used[matcher->matches[i].pattern] = true;
  bool ok = check_meanings(analysis, policy, problem);
  for (size_t i = 0; i < policy->count && ok; i++) {
    if (is_used[i])
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
  free(is_used);
  return ok;
}

/* ---- Functions that only go on to another one ---- */

/* Whether a function's only call is all that it does: a jump, perhaps behind a landing pad for
 * indirect calls; or a call of another function, where there is room for little else. */
static bool is_all(const struct call_graph *graph, const struct graph_function *function,
                   const struct call *call) {
  enum { LANDING_PAD = 4, SMALL = 48 };
  if (call->is_jump)
    return call->kind != CALL_BRANCH && call->at - function->address <= LANDING_PAD;
  return call->kind == CALL_DIRECT && graph_is_function(graph, call->target) &&
         function->size <= SMALL;
}

/* The function that another one only jumps to, or calls; GRAPH_NO_NODE if it does more. */
static uint32_t jump_target(const struct call_graph *graph, uint32_t number) {
  const struct graph_function *function = &graph->functions[number];
  const struct call *call = &graph->calls[function->first_call];
  return function[1].first_call - function[0].first_call == 1 && !function->is_undecodable &&
                 !graph_is_linkage(graph, number) && is_all(graph, function, call)
             ? call->target
             : GRAPH_NO_NODE;
}

/* ---- Functions without a name ---- */

/* Whether local symbols were taken out: a program has local functions, from its start files at the
 * least. (Symbols that a linker makes local are hidden, and stay.) */
static bool lacks_symbols(const struct image *image) {
  for (struct elf_symbols at = elf_symbols(&image->elf_image); elf_symbols_next_defined(&at);)
    if (GELF_ST_BIND(at.symbol.st_info) == STB_LOCAL &&
        GELF_ST_TYPE(at.symbol.st_info) == STT_FUNC &&
        GELF_ST_VISIBILITY(at.symbol.st_other) == STV_DEFAULT)
      return false;
  return true;
}

/* Whether a function is start-up code that only jumps to `main`: the program's first function hands
 * it to the C library (__wrap_main in glibc's sysdeps/riscv/start.S, since 2.41). */
static bool jumps_to_main(const struct call_graph *graph, uint32_t number) {
  const struct graph_function *function = &graph->functions[number];
  const uint32_t entry = call_graph_function(graph, graph->linkage.entry);
  return jump_target(graph, number) != GRAPH_NO_NODE &&
         graph->calls[function->first_call].is_jump && function->taken == TAKEN_BY_CODE &&
         entry != GRAPH_NO_NODE && call_graph_function(graph, function->taken_at) == entry;
}

/* A nameless copy of a GC entry looks like any other function, also where the symbols of one object
 * alone are missing; a label there without type may be the end of the code before it. A function of
 * uncertain end may hold others, which calls and jumps into its middle enter. A label is all that
 * start-up code has, for the global pointer (load_gp in glibc's sysdeps/riscv/start.S) and
 * `main`. */
static void find_nameless(struct analysis *analysis) {
  const struct call_graph *graph = analysis->graph;
  const struct linkage *linkage = &graph->linkage;
  for (uint32_t i = 0; i < graph->function_count; i++) {
    const struct graph_function *function = &graph->functions[i];
    const bool is_suspect = !names_has_function(&graph->names, function->address) &&
                            !graph_is_linkage(graph, i) && !function->is_data &&
                            !function->sets_global && !jumps_to_main(graph, i);
    analysis->is_goal[i] = is_suspect && function->address != linkage->entry &&
                           function->address != linkage->init && function->address != linkage->fini;
  }
  for (uint32_t i = 0; i < graph->call_count; i++) {
    const struct call *call = &graph->calls[i];
    if (call->is_inside && graph_is_function(graph, call->target) &&
        !graph->functions[call->target].is_whole && !graph_is_linkage(graph, call->target))
      analysis->is_goal[call->target] = true;
  }
  for (uint32_t i = 0; i < graph_anything(graph); i++) {
    analysis->nameless += analysis->is_goal[i] && !analysis->is_entry[i];
    analysis->is_goal[i] |= analysis->is_entry[i];
  }
}

/* ---- GC entries that are jumps ---- */

/* A linker may let the callers of such an entry jump to its target at once (lld's
 * branch-to-branch), and a compiler's jump table may precede a body that others call. Of equal
 * functions, a compiler lets one call the other, and so it does with their callers (LLVM's
 * MergeFunctions, GCC's -fipa-icf). */
static void follow_jumps(struct analysis *analysis) {
  const struct call_graph *graph = analysis->graph;
  analysis->jump_from = analysis->jump_to = GRAPH_NO_NODE;
  for (uint32_t i = 0; i < graph->function_count; i++) {
    uint32_t from = i, to;
    while (analysis->is_entry[from] && graph_is_function(graph, from) &&
           (to = jump_target(graph, from)) != GRAPH_NO_NODE && to < graph_anything(graph)) {
      if (analysis->jump_from == GRAPH_NO_NODE && !analysis->is_entry[to]) {
        analysis->jump_from = from;
        analysis->jump_to = to;
      }
      if (!graph_is_function(graph, to) || analysis->is_entry[to])
        break;
      analysis->is_entry[to] = true;
      analysis->named[to] = analysis->named[from];
      from = to;
    }
  }
}

/* ---- The C library ---- */

/* Functions that the C library finds in place of its own: of this file, or of another one, or
 * wherever a GC entry is. */
static void find_replaced(struct analysis *analysis, bool is_libcs) {
  const struct call_graph *graph = analysis->graph;
  analysis->replaced = calloc((size_t)graph->linkage.symbol_count + 1, sizeof(uint32_t));
  for (uint32_t i = 1; i < graph->linkage.symbol_count; i++) {
    const struct linkage_symbol *symbol = &graph->linkage.symbols[i];
    const bool is_own = graph_definition(graph, symbol) != GRAPH_NO_NODE;
    const bool is_others = !symbol->is_defined && ((!symbol->is_c_library && !is_libcs) ||
                                                   analysis->is_entry[graph_symbol(graph, i)]);
    if (leaf_is_allocator(symbol->name) && (is_own || is_others))
      analysis->replaced[analysis->replaced_count++] = i;
  }
}

/* Whether the malloc that this file imports never collects: any other library's is excluded, or the
 * policy promises it. */
static bool has_libc_malloc(const struct call_graph *graph, const struct policy *policy) {
  const struct linkage *linkage = &graph->linkage;
  return policy->has_libc_malloc || (!linkage->needs_allocator && !linkage->is_library &&
                                     !graph_uses(graph, LEAF_SANITIZER_HOOKS));
}

/* Whether the C library's functions may allocate by a malloc that is invisible here: one of another
 * library that it needs, or of the program that loads it. If the file imports malloc with the C
 * library's version, its linker found only that one; and a program's own comes first. */
static bool may_replace_malloc(const struct call_graph *graph) {
  const struct linkage *linkage = &graph->linkage;
  for (uint32_t i = 1; i < linkage->symbol_count && !linkage->is_library; i++)
    if (strcmp(linkage->symbols[i].name, "malloc") == 0)
      return !linkage->symbols[i].is_defined && !linkage->symbols[i].is_c_library;
  return true;
}

/* Whether the C library's functions that allocate stay within the C library. */
static bool has_plain_malloc(const struct analysis *analysis) {
  return analysis->replaced_count == 0 && !analysis->may_replace_malloc;
}

/* The occasions (enum leaf_occasion) for which all registered functions were found. */
static uint8_t known_occasions(const struct call_graph *graph) {
  uint8_t known = LEAF_AT_EXIT | LEAF_AT_QUICK_EXIT | LEAF_AT_ABORT;
  if (!linkage_is_alone(&graph->linkage) || graph_uses(graph, LEAF_LOADERS))
    known &= LEAF_AT_ABORT;
  if (graph_uses(graph, LEAF_SYSTEM_CALL))
    known &= (uint8_t)~LEAF_AT_ABORT;
  if (graph_uses(graph, LEAF_STREAM_MAKERS))
    known = 0;
  return known & (uint8_t)~graph->unknown_occasions;
}

/* The index of a symbol's group of leaf functions; leaf_group_count if it has none. */
static size_t group_of(const struct linkage_symbol *symbol, bool is_libcs) {
  const bool is_of[] = {
      [LEAF_OF_C_LIBRARY] = symbol->is_c_library ||
                            (is_libcs && !symbol->is_defined && leaf_is_allocator(symbol->name)),
      [LEAF_OF_ZLIB] = symbol->is_zlib,
      [LEAF_OF_TERMINALS] = symbol->is_terminals,
      [LEAF_OF_STACKPACK] = symbol->is_stackpack,
      [LEAF_OF_COMPILERS] = !symbol->is_defined,
  };
  size_t group = leaf_group_count;
  for (size_t i = 0; i < sizeof is_of / sizeof *is_of && group == leaf_group_count; i++)
    if (is_of[i])
      group = leaf_group_of(symbol->name, (enum leaf_library)i);
  return group;
}

static void find_leaves(struct analysis *analysis, bool is_libcs) {
  const struct call_graph *graph = analysis->graph;
  const uint8_t known = known_occasions(graph);
  bool *holds = calloc(leaf_group_count + 1, sizeof *holds);
  for (size_t group = 0; group < leaf_group_count; group++)
    holds[group] = !graph_uses(graph, leaf_groups[group].unless) &&
                   (leaf_groups[group].memory != LEAF_ALONE || linkage_is_alone(&graph->linkage));
  for (uint32_t i = 0; i < graph->linkage.symbol_count; i++) {
    const uint32_t node = graph_symbol(graph, i);
    const struct linkage_symbol *symbol = &graph->linkage.symbols[i];
    const size_t group = group_of(symbol, is_libcs);
    const uint8_t occasions = symbol->is_c_library ? leaf_occasions(symbol->name) : 0;
    analysis->occasions[i] = (occasions & ~known) == 0 ? occasions : 0;
    analysis->group[i] = analysis->is_leaf[node] ? GROUP_POLICY : GROUP_NONE;
    if (analysis->is_leaf[node] || group == leaf_group_count || !holds[group])
      continue;
    analysis->group[i] = (uint8_t)group;
    analysis->is_leaf[node] = has_plain_malloc(analysis) || leaf_groups[group].memory == LEAF_PURE;
  }
  free(holds);
}

/* ---- The graph under the policy ---- */

/* Whether the caller's other calls include all successors of a helper. */
static bool is_followed(const struct analysis *analysis, const struct call *call) {
  return call->is_followed && !analysis->is_entry[call->target] &&
         !analysis->graph->functions[call->target].is_undecodable &&
         !analysis->graph->functions[call->target].is_patched;
}

/* Whether the call's other edges replace its target: a function elsewhere calls only the function
 * passed to it, or a helper was followed. One that allocates may call a malloc other than the C
 * library's. */
static bool is_settled(const struct analysis *analysis, const struct call *call) {
  return (call->is_settled && has_plain_malloc(analysis)) || is_followed(analysis, call);
}

/* Whether a passed function (CALL_PASSED) is called by one that never collects by the policy: the
 * target of the settled call at the same place. */
static bool is_passed_to_leaf(const struct analysis *analysis, const struct call *passed) {
  const struct call_graph *graph = analysis->graph;
  const struct call *call = passed;
  while (call > graph->calls && call[-1].at == passed->at)
    call--;
  for (; call < graph->calls + graph->call_count && call->at == passed->at; call++)
    if (call->is_settled)
      return analysis->is_leaf[call->target];
  return false;
}

static void visit_function(const struct analysis *analysis, uint32_t number,
                           enum certainty certainty, reach_visitor *visit, void *context) {
  const struct call_graph *graph = analysis->graph;
  const struct graph_function *function = &graph->functions[number];
  EACH_CALL(graph, function, call)
    if (!is_settled(analysis, call) &&
        !(call->kind == CALL_PASSED && is_passed_to_leaf(analysis, call)) &&
        (call->target < graph_anything(graph) || certainty >= BY_POINTERS))
      visit(context, call->target);
  if (function->is_undecodable)
    visit(context, graph_everything(graph));
}

static uint32_t node_of_replaced(const struct call_graph *graph) { return graph_nodes(graph); }
static uint32_t node_of_occasions(const struct call_graph *graph, uint8_t occasions) {
  return graph_nodes(graph) + 1 + occasions;
}

/* The functions by which the C library allocates, apart from its own. */
static void visit_replaced(const struct analysis *analysis, reach_visitor *visit, void *context) {
  const struct call_graph *graph = analysis->graph;
  for (uint32_t i = 0; i < analysis->replaced_count; i++) {
    const struct linkage_symbol *symbol = &graph->linkage.symbols[analysis->replaced[i]];
    visit(context, symbol->is_defined ? graph_definition(graph, symbol)
                                      : graph_symbol(graph, analysis->replaced[i]));
  }
}

static void visit_registered(const struct analysis *analysis, uint8_t occasions,
                             reach_visitor *visit, void *context) {
  const struct call_graph *graph = analysis->graph;
  for (uint32_t i = 0; i < graph->function_count; i++)
    if ((graph->functions[i].occasions & occasions) != 0)
      visit(context, i);
}

static void visit_symbol(const struct analysis *analysis, uint32_t node, enum certainty certainty,
                         reach_visitor *visit, void *context) {
  const struct linkage_symbol *symbol = graph_symbol_of(analysis->graph, node);
  const uint32_t function = graph_definition(analysis->graph, symbol);
  const uint8_t group = analysis->group[node - analysis->graph->function_count];
  if (function != GRAPH_NO_NODE)
    visit(context, function);
  const uint8_t occasions = analysis->occasions[node - analysis->graph->function_count];
  if (occasions != 0 && certainty >= BY_OUTSIDE)
    visit(context, node_of_occasions(analysis->graph, occasions));
  const bool only_allocates = group < GROUP_POLICY || occasions != 0;
  if (only_allocates)
    visit(context, node_of_replaced(analysis->graph));
  if (certainty >= BY_OUTSIDE && (!only_allocates || analysis->may_replace_malloc))
    visit(context, graph_anything(analysis->graph));
}

static void visit_anything(const struct analysis *analysis, reach_visitor *visit, void *context) {
  const struct call_graph *graph = analysis->graph;
  for (uint32_t i = 0; i < graph->function_count; i++)
    if (graph->functions[i].taken != TAKEN_NOT)
      visit(context, i);
  for (uint32_t node = graph->function_count; node < graph_anything(graph); node++)
    if (analysis->is_entry[node])
      visit(context, node);
}

static void visit_type(const struct analysis *analysis, uint32_t type, reach_visitor *visit,
                       void *context) {
  const struct graph_type *types = analysis->graph->types;
  for (uint32_t i = types[type].first_member; i < types[type + 1].first_member; i++)
    visit(context, analysis->graph->type_members[i]);
}

void analysis_visit(const struct analysis *analysis, uint32_t node, enum certainty certainty,
                    reach_visitor *visit, void *context) {
  const struct call_graph *graph = analysis->graph;
  if (graph_is_function(graph, node)) {
    visit_function(analysis, node, certainty, visit, context);
  } else if (node < graph_anything(graph)) {
    visit_symbol(analysis, node, certainty, visit, context);
  } else if (node == graph_anything(graph)) {
    visit_anything(analysis, visit, context);
  } else if (node == node_of_replaced(graph)) {
    visit_replaced(analysis, visit, context);
  } else if (node > node_of_replaced(graph)) {
    visit_registered(analysis, (uint8_t)(node - node_of_occasions(graph, 0)), visit, context);
  } else if (node > graph_everything(graph)) {
    visit_type(analysis, node - graph_everything(graph) - 1, visit, context);
  } else if (certainty >= BY_ANYTHING) {
    for (uint32_t i = 0; i < graph->function_count; i++)
      visit(context, i);
    visit(context, graph_anything(graph));
  }
}

uint32_t analysis_next(const struct analysis *analysis, enum certainty certainty, uint32_t node) {
  const uint32_t *next = analysis->next[certainty];
  const uint32_t to = next[node];
  return to != REACH_NOTHING && to >= graph_nodes(analysis->graph) ? next[to] : to;
}

/* The graph of a certainty. */
struct level {
  const struct analysis *analysis;
  enum certainty certainty;
};

static void visit_level(const void *graph, uint32_t node, reach_visitor *visit, void *context) {
  const struct level *level = graph;
  if (!level->analysis->is_leaf[node])
    analysis_visit(level->analysis, node, level->certainty, visit, context);
}

/* ---- Reachability ---- */

void flood_open(struct flood *flood, const struct call_graph *graph) {
  const size_t nodes = analysis_nodes(graph);
  *flood = (struct flood){.is_reached = calloc(nodes + 1, sizeof(bool)),
                          .found = calloc(nodes + 1, sizeof(uint32_t))};
}

void flood_clear(struct flood *flood) {
  for (uint32_t i = 0; i < flood->count; i++)
    flood->is_reached[flood->found[i]] = false;
  flood->count = 0;
  flood->steps = 0;
}

void flood_close(struct flood *flood) {
  free(flood->is_reached);
  free(flood->found);
}

void flood_reach(void *context, uint32_t node) {
  struct flood *flood = context;
  flood->steps++;
  if (flood->is_reached[node])
    return;
  flood->is_reached[node] = true;
  flood->found[flood->count++] = node;
}

void flood_on(struct flood *flood, const struct analysis *analysis, bool past_leaves) {
  for (uint32_t done = 0; done < flood->count; done++)
    if (past_leaves || !analysis->is_leaf[flood->found[done]])
      analysis_visit(analysis, flood->found[done], BY_ANYTHING, flood_reach, flood);
}

static void find_reachable(struct analysis *analysis) {
  const struct call_graph *graph = analysis->graph;
  const uint32_t start = call_graph_function(graph, graph->linkage.entry);
  struct flood flood;
  flood_open(&flood, graph);
  if (start != GRAPH_NO_NODE)
    flood_reach(&flood, start);
  flood_reach(&flood, graph_anything(graph));
  for (uint32_t i = 0; i < graph->function_count; i++)
    if (analysis->is_entry[i])
      flood_reach(&flood, i);
  flood_on(&flood, analysis, true);
  analysis->is_reachable = flood.is_reached;
  flood.is_reached = NULL;
  flood_close(&flood);
}

/* A GC entry that is unreachable from every record's call is misnamed, or was inlined wherever it
 * was called. */
static void find_unreached(struct analysis *analysis, const struct matcher *matcher,
                           const struct safepoints *table) {
  const struct call_graph *graph = analysis->graph;
  struct flood flood;
  const struct policy *policy = matcher->policy;
  bool *is_met = calloc(policy->count + 1, sizeof *is_met);
  flood_open(&flood, graph);
  for (uint32_t i = 0; i < table->record_count; i++) {
    const uint64_t address = table->records[i].address;
    for (uint32_t k = call_graph_calls_near(graph, address);
         k < graph->call_count && graph->calls[k].at < address; k++)
      if (graph->calls[k].at + graph->calls[k].length == address)
        flood_reach(&flood, graph->calls[k].target);
  }
  flood_on(&flood, analysis, true);
  for (size_t i = 0; i < matcher->count; i++)
    is_met[matcher->matches[i].pattern] |= flood.is_reached[matcher->matches[i].node];
  for (size_t i = policy->count; i-- > 0;)
    if (policy->patterns[i].kind == POLICY_GC_ENTRY && !is_met[i])
      analysis->unreached = policy->patterns[i].text;
  free(is_met);
  flood_close(&flood);
}

/* ---- The whole ---- */

static void allocate(struct analysis *analysis) {
  const uint32_t nodes = analysis_nodes(analysis->graph);
  analysis->is_entry = calloc((size_t)nodes + 1, sizeof *analysis->is_entry);
  analysis->is_leaf = calloc((size_t)nodes + 1, sizeof *analysis->is_leaf);
  analysis->is_goal = calloc((size_t)nodes + 1, sizeof *analysis->is_goal);
  analysis->named = calloc((size_t)nodes + 1, sizeof *analysis->named);
  analysis->group = calloc((size_t)analysis->graph->linkage.symbol_count + 1, 1);
  analysis->occasions = calloc((size_t)analysis->graph->linkage.symbol_count + 1, 1);
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

static void compute(struct analysis *analysis, const struct policy *policy) {
  const bool is_libcs = has_libc_malloc(analysis->graph, policy);
  analysis->may_replace_malloc = !is_libcs && may_replace_malloc(analysis->graph);
  find_replaced(analysis, is_libcs);
  find_leaves(analysis, is_libcs);
  find_reachable(analysis);
  for (int certainty = 0; certainty < CERTAINTIES; certainty++) {
    const struct level level = {analysis, (enum certainty)certainty};
    const bool *goals = certainty == BY_NAMELESS ? analysis->is_goal : analysis->is_entry;
    if (certainty != BY_NAMELESS || analysis->nameless > 0)
      analysis->next[certainty] =
          reach_goals(&level, analysis_nodes(analysis->graph), goals, visit_level);
  }
}

bool analysis_open(struct analysis *analysis, const struct call_graph *graph,
                   const struct image *image, const struct safepoints *table,
                   const struct policy *policy, struct problem *problem) {
  *analysis = (struct analysis){.graph = graph, .has_entries = policy_has_entries(policy)};
  allocate(analysis);
  analysis->lacks_symbols = lacks_symbols(image);
  struct matcher matcher = matcher_open(analysis, policy);
  bool ok = match_names(&matcher, image, problem) && check_decoded(analysis, policy, problem);
  follow_jumps(analysis);
  if (ok && analysis->has_entries && !policy->is_complete)
    find_nameless(analysis);
  if (ok && policy->strict && analysis->lacks_symbols && analysis->nameless > 0)
    ok = problem_set(problem, "local symbols are missing: a part of a GC entry may have no name");
  if (ok) {
    compute(analysis, policy);
    if (table->record_count > 0)
      find_unreached(analysis, &matcher, table);
  }
  matcher_close(&matcher);
  if (ok && policy->strict && analysis->unreached != NULL)
    ok = problem_set(problem, "no record's call leads to '%s', which is to be a GC entry",
                     analysis->unreached);
  if (!ok)
    analysis_close(analysis);
  return ok;
}

void analysis_close(struct analysis *analysis) {
  free(analysis->is_entry);
  free(analysis->is_leaf);
  free(analysis->is_goal);
  free(analysis->named);
  free(analysis->replaced);
  free(analysis->group);
  free(analysis->occasions);
  free(analysis->is_reachable);
  for (int certainty = 0; certainty < CERTAINTIES; certainty++)
    free(analysis->next[certainty]);
  *analysis = (struct analysis){0};
}

bool analysis_has_handlers(const struct analysis *analysis) {
  const struct call_graph *graph = analysis->graph;
  return graph_uses(graph, LEAF_SIGNAL_FUNCTIONS) &&
         analysis->next[BY_ANYTHING][graph_anything(graph)] != REACH_NOTHING;
}

/* ---- Records ---- */

enum verdict analysis_of_call(const struct analysis *analysis, const struct call *call) {
  const bool is_indirect = call->target >= graph_anything(analysis->graph);
  if (is_settled(analysis, call))
    return DROP_UNREACHED;
  for (int certainty = is_indirect ? BY_POINTERS : BY_CALLS;
       certainty < CERTAINTIES && analysis->next[certainty] != NULL; certainty++)
    if (analysis->next[certainty][call->target] != REACH_NOTHING)
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
