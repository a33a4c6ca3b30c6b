/* endings.c - see endings.h.
 *
 * A function whose last instruction is something else than a jump, a return or a trap runs on into
 * the next. After a call, it does so only if the callee returns: compilers put nothing after a call
 * of `abort`. The callee's own code decides: it returns if it has a return instruction, or jumps
 * to, or runs on into a function that returns.
 *
 * This also decides the case of code after a call that is entered with another stack than the call
 * leaves there, as after this one:
 *
 *     je 1f;  push %rax;  call abort;  1: jmp next
 */
#include "tool/calls/endings.h"

#include "format/array.h"
#include "tool/calls/leaf_functions.h"

#include <stdlib.h>

void endings_open(struct endings *endings, struct graph_builder *builder) {
  const size_t count = (size_t)builder->graph->function_count + 1;
  *endings = (struct endings){
      .builder = builder,
      .returns = calloc((size_t)graph_nodes(builder->graph) + 1, sizeof *endings->returns),
      .last_calls = calloc(count, sizeof *endings->last_calls),
      .runs_on = calloc(count, sizeof *endings->runs_on)};
}

void endings_run_on(struct endings *endings, uint32_t function) {
  endings->runs_on[function] = RUNS_ON;
  endings->last_calls[function] = 0;
}

void endings_doubt(struct endings *endings, uint32_t function, uint32_t call) {
  (void)ARRAY_ADD(endings->doubts, endings->doubt_count, endings->doubt_capacity,
                  (struct doubt){function, call});
}

static bool symbol_returns(const struct call_graph *graph, uint32_t node) {
  const struct linkage_symbol *symbol = graph_symbol_of(graph, node);
  return symbol == NULL || !symbol->is_c_library || !leaf_function_never_returns(symbol->name);
}

/* Whether a function returns by a function that it jumps to, or runs on into, judged by `returns`
 * so far. */
static bool returns_by_others(const struct endings *endings, uint32_t number) {
  const struct call_graph *graph = endings->builder->graph;
  const struct graph_function *function = &graph->functions[number];
  if (function->is_undecodable)
    return true;
  EACH_CALL(graph, function, call)
    if (call->is_jump && endings->returns[call->target])
      return true;
  if (!endings->runs_on[number])
    return false;
  const uint32_t call = endings->last_calls[number];
  return (call == 0 || endings->returns[graph->calls[call - 1].target]) &&
         (number + 1 == graph->function_count || endings->returns[number + 1]);
}

/* Finds the functions that return, to a fixed point. Chains are short; in longer ones, all
 * remaining functions are taken to return, which is always safe. */
static void find_returns(struct endings *endings) {
  enum { ROUNDS = 32 };
  const struct call_graph *graph = endings->builder->graph;
  for (uint32_t node = graph->function_count; node < graph_nodes(graph); node++)
    endings->returns[node] = symbol_returns(graph, node);
  bool found = true;
  for (int round = 0; found; round++) {
    found = false;
    for (uint32_t i = graph->function_count; i-- > 0;)
      if (!endings->returns[i] && (round == ROUNDS || returns_by_others(endings, i)))
        endings->returns[i] = found = true;
  }
}

/* Adds a call for each function that runs on into the next. */
static void add_runs(struct endings *endings) {
  const struct call_graph *graph = endings->builder->graph;
  for (uint32_t i = 0; i < graph->function_count; i++) {
    struct graph_function *function = &graph->functions[i];
    const uint32_t call = endings->last_calls[i];
    const uint64_t end = function->address + function->size;
    if (!endings->runs_on[i] || (call != 0 && !endings->returns[graph->calls[call - 1].target]))
      continue;
    if (i + 1 == graph->function_count || graph->functions[i + 1].address != end) {
      function->is_undecodable |= call == 0; /* into a gap */
      continue;
    }
    const bool is_odd = endings->runs_on[i] == RUNS_ODDLY;
    graph_add_later(endings->builder,
                    (struct call){.at = end - 1,
                                  .target = is_odd ? graph_everything(graph) : i + 1,
                                  .length = 1,
                                  .kind = is_odd ? CALL_INDIRECT : CALL_BRANCH,
                                  .is_jump = true});
  }
}

/* Adds a call of everything for each doubtful call that does return. */
static void settle_doubts(struct endings *endings) {
  const struct call_graph *graph = endings->builder->graph;
  for (size_t i = 0; i < endings->doubt_count; i++) {
    const struct doubt doubt = endings->doubts[i];
    const struct graph_function *function = &graph->functions[doubt.function];
    if (endings->returns[graph->calls[doubt.call].target])
      graph_add_anywhere(endings->builder, function->address + function->size - 1);
  }
}

void endings_settle(struct endings *endings) {
  find_returns(endings);
  settle_doubts(endings);
  add_runs(endings);
  free(endings->returns);
  free(endings->last_calls);
  free(endings->runs_on);
  free(endings->doubts);
}
