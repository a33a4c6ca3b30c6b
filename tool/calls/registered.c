/* registered.c - the callees of C library functions that get the address of a function.
 *
 * qsort, and others, call one of their arguments: if that is a function's address, by the values of
 * registers (value_flow.c), that function is the call's only successor.
 *
 * exit calls the functions that were given to atexit and its like, and those of the file's own
 * table; abort, a handler of SIGABRT. Where a program registers functions by calls with constant
 * arguments, these are all the successors of exit. In programs for the GNU C library, atexit is
 * itself a part of the program, and passes its argument on to __cxa_atexit.
 *
 * Then other registrations must be excluded: with an unresolved argument, by a pointer to atexit,
 * or from the middle of a function that passes its argument on. The policy's side (analysis.c)
 * handles programs that need other libraries, or look functions up by name.
 */
#include "tool/calls/indirect_calls.h"
#include "tool/calls/value_flow.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* Whether a function that calls only its argument belongs to the library of that name. */
static bool is_of(const struct linkage_symbol *symbol, enum leaf_library library) {
  return library == LEAF_OF_TERMINALS ? symbol->is_terminals : symbol->is_c_library;
}

static void find_callbacks(struct graph_builder *builder) {
  const struct linkage *linkage = &builder->graph->linkage;
  builder->callbacks = calloc((size_t)linkage->symbol_count + 1, sizeof *builder->callbacks);
  for (uint32_t i = 0; i < linkage->symbol_count; i++) {
    const struct leaf_callback what = leaf_callback(linkage->symbols[i].name);
    if (what.occasions != LEAF_AT_ONCE || is_of(&linkage->symbols[i], what.library))
      builder->callbacks[i] = what;
  }
}

/* The callback of a call to a node: by a function of the C library, or by one of the file's that
 * passes its own argument on. */
static struct leaf_callback callback_of(const struct graph_builder *builder, uint32_t node) {
  const struct call_graph *graph = builder->graph;
  const struct leaf_callback none = {.argument = -1};
  for (size_t i = 0; i < builder->registrar_count; i++)
    if (builder->registrars[i].function == node)
      return builder->registrars[i].what;
  if (graph_is_function(graph, node))
    node = graph_stub_target(graph, node);
  return graph_symbol_of(graph, node) == NULL ? none
                                              : builder->callbacks[node - graph->function_count];
}

/* Gives a call one of its arguments as its only successor. */
static void settle_call(struct graph_builder *builder, struct call *call, uint32_t function) {
  call->is_settled = true;
  struct call passed = *call;
  passed.target = function;
  passed.kind = CALL_PASSED;
  passed.is_inside = passed.is_settled = false;
  graph_add_later(builder, passed);
}

/* ---- Registered functions ---- */

/* Notes that a function passes on one of its arguments: for one purpose only, so that a call of it
 * has one meaning. False if it has another purpose already, or the list is full. */
static bool note_registrar(struct graph_builder *builder, uint32_t function,
                           struct leaf_callback what) {
  for (size_t i = 0; i < builder->registrar_count; i++)
    if (builder->registrars[i].function == function)
      return builder->registrars[i].what.occasions == what.occasions &&
             builder->registrars[i].what.argument == what.argument;
  if (builder->registrar_count == REGISTRARS)
    return false;
  builder->registrars[builder->registrar_count++] = (struct registrar){function, what};
  return true;
}

/* Notes the function that a call calls or registers, if its value is resolved. */
static void note_call(struct value_flow *flow, struct call *call, struct leaf_callback what) {
  struct graph_builder *builder = flow->builder;
  const struct unit_step *step = unit_step(flow->unit, call->at);
  struct code_state state;
  if (step == NULL)
    return;
  value_flow_value(flow, step, &state);
  const struct code_value value = state.registers[builder->architecture->arguments[what.argument]];
  const uint32_t function = value_flow_function(flow, value);
  if (what.occasions == LEAF_AT_ONCE) {
    call->is_noted = function != GRAPH_NO_NODE;
    if (call->is_noted)
      settle_call(builder, call, function);
  } else if (value.kind == CODE_ARGUMENT) {
    call->is_noted =
        note_registrar(builder, flow->first,
                       (struct leaf_callback){what.library, what.occasions, (int8_t)value.table});
  } else if (what.occasions == LEAF_AT_ABORT) {
    call->is_noted = value.kind == CODE_ADDRESS && value.table != SIGABRT;
  } else if (function != GRAPH_NO_NODE) {
    builder->graph->functions[function].occasions |= what.occasions;
    call->is_noted = true;
  }
}

static bool is_registering(const struct value_flow *flow, const struct call *call) {
  return !call->is_noted && !call->is_inside &&
         callback_of(flow->builder, call->target).occasions != 0;
}

/* Notes the functions that a function registers, or passes to others to call. */
static void note_function(struct value_flow *flow, uint32_t number) {
  struct call_graph *graph = flow->builder->graph;
  const struct graph_function *function = &graph->functions[number];
  bool registers = false;
  EACH_CALL(graph, function, call)
    registers |= is_registering(flow, call);
  if (!registers || function->is_undecodable)
    return;
  value_flow_start(flow, number, true);
  const bool is_fixed = flow->slots.is_fixed;
  flow->knows_arguments = flow->slots.is_fixed = true; /* for numbers of signals */
  const bool is_followed = value_flow_follow(flow) && !indirect_calls_has_open_jump(flow);
  EACH_CALL(graph, function, call)
    if (is_followed && is_registering(flow, call))
      note_call(flow, call, callback_of(flow->builder, call->target));
  flow->knows_arguments = false;
  flow->slots.is_fixed = is_fixed;
}

void registered_note(struct graph_builder *builder) {
  struct value_flow flow = value_flow_open(builder);
  size_t known;
  find_callbacks(builder);
  do { /* each round finds more functions that pass on their arguments */
    known = builder->registrar_count;
    for (uint32_t i = 0; i < builder->graph->function_count; i++)
      note_function(&flow, i);
  } while (builder->registrar_count > known);
  value_flow_close(&flow);
}

/* ---- Other registrations ---- */

/* A stub passes its own arguments on to its symbol: the calls of the stub count. */
static bool is_stub(const struct call_graph *graph, uint32_t number) {
  const struct graph_function *function = &graph->functions[number];
  return function->taken == TAKEN_NOT && function->entered == TAKEN_NOT &&
         graph_is_linkage(graph, number);
}

static void check_calls(const struct graph_builder *builder) {
  struct call_graph *graph = builder->graph;
  for (uint32_t i = 0; i < graph->function_count; i++) {
    const struct graph_function *function = &graph->functions[i];
    graph->has_system_call |= function->is_undecodable;
    EACH_CALL(graph, function, call) {
      graph->has_system_call |= call->is_system;
      if (!call->is_noted && !is_stub(graph, i))
        graph->unknown_occasions |= callback_of(builder, call->target).occasions;
    }
  }
}

/* ---- The file's own ---- */

static bool is_for_loading(const struct area *area) {
  return strncmp(area->name, ".init_array", 11) == 0 || strcmp(area->name, ".preinit_array") == 0 ||
         strncmp(area->name, ".ctors", 6) == 0;
}

/* A word of a table of functions; false if its value is unresolved. */
static bool note_end(struct call_graph *graph, const struct area *area, uint64_t into) {
  const struct linkage_word *word = linkage_find(&graph->linkage, area->address + into);
  uint64_t value;
  memcpy(&value, area->bytes + into, sizeof value);
  if (word != NULL && word->kind == CODE_RELOCATION_ADDRESS)
    value = word->value;
  else if (word != NULL)
    return false;
  const uint32_t function = call_graph_function(graph, value);
  if (function == GRAPH_NO_NODE) /* 0 and -1 end tables */
    return value + 1 <= 1;
  graph->functions[function].occasions |= LEAF_AT_EXIT;
  return true;
}

/* Notes the functions that are called when the file is unloaded; false unless they are all in
 * constant tables. */
static bool note_ends(struct call_graph *graph) {
  const struct area *listed = areas_find(&graph->areas, graph->linkage.fini_array);
  const uint32_t last = call_graph_function(graph, graph->linkage.fini);
  bool are_known = graph->linkage.fini_array == 0 ||
                   (listed != NULL && listed->is_start_table && !is_for_loading(listed));
  if (last != GRAPH_NO_NODE)
    graph->functions[last].occasions |= LEAF_AT_EXIT;
  for (size_t i = 0; i < graph->areas.count; i++) {
    const struct area *area = &graph->areas.items[i];
    if (!area->is_start_table || is_for_loading(area))
      continue;
    are_known &= area->is_constant && area->size % sizeof(uint64_t) == 0;
    for (uint64_t at = 0; at + sizeof(uint64_t) <= area->size; at += sizeof(uint64_t))
      are_known &= note_end(graph, area, at);
  }
  return are_known;
}

void registered_check(struct graph_builder *builder) {
  struct call_graph *graph = builder->graph;
  check_calls(builder);
  for (size_t i = 0; i < builder->registrar_count; i++) {
    const struct graph_function *function = &graph->functions[builder->registrars[i].function];
    if (function->taken != TAKEN_NOT || function->entered != TAKEN_NOT)
      graph->unknown_occasions |= builder->registrars[i].what.occasions;
  }
  for (size_t i = 0; i < graph->linkage.word_count; i++) {
    const struct linkage_word *word = &graph->linkage.words[i];
    if (word->symbol != 0 && graph_word_is_taken(builder, word))
      graph->unknown_occasions |= builder->callbacks[word->symbol].occasions;
  }
  if (!note_ends(graph))
    graph->unknown_occasions |= LEAF_AT_EXIT;
}
