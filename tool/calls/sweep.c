/* sweep.c - decodes all code, function by function, for the calls in it and for what it refers to.
 *
 * Code is decoded from a function's first byte to its last. That finds every instruction that a
 * compiler made, also those that no jump leads to, such as landing pads of exceptions. It goes wrong
 * where data lies between the code, and where a jump leads into an instruction (past a `lock`
 * prefix, as the C library has it). So each jump's target is compared with the instructions that
 * were found, and what it leads to is decoded as well, until both ways meet. A function with bytes
 * that are no instruction is undecodable, and so is one that another one's jump enters between its
 * instructions.
 *
 * A function whose last instruction doesn't end it runs on into the next. If that is a call, it does
 * so only if the callee returns: compilers put nothing behind a call of `abort`. Whether it does
 * follows from the callee's own code: it returns if it has a return instruction, or jumps to, or
 * runs on into a function that returns. That is settled in the end, when all calls are known.
 */
#include "format/array.h"
#include "tool/calls/call_graph.h"
#include "tool/calls/code.h"
#include "tool/calls/leaf_functions.h"

#include <stdlib.h>
#include <string.h>

struct sweep {
  struct graph_builder *builder;
  uint32_t function;
  uint64_t start, end;

  uint64_t *targets; /* of jumps within the function, to be compared with its instructions */
  size_t target_count, target_capacity;

  bool *returns;  /* the builder's; while sweeping: whether a function has a return of its own */
  uint32_t *runs; /* by function: the call that ends it, plus 1; 0 if none does */
  bool *runs_on;  /* by function: its last instruction doesn't end it */
  bool no_memory;
};

static void add_target(struct sweep *sweep, uint64_t address) {
  if (array_make_room((void **)&sweep->targets, &sweep->target_capacity, sweep->target_count + 1,
                      sizeof *sweep->targets))
    sweep->targets[sweep->target_count++] = address;
  else
    sweep->no_memory = true;
}

static void add_landing(struct sweep *sweep, uint64_t address) {
  struct graph_builder *builder = sweep->builder;
  if (array_make_room((void **)&builder->landings, &builder->landing_capacity,
                      builder->landing_count + 1, sizeof *builder->landings))
    builder->landings[builder->landing_count++] = address;
  else
    sweep->no_memory = true;
}

static void add_call(struct sweep *sweep, uint64_t at, const struct code_instruction *instruction,
                     uint32_t target, enum call_kind kind) {
  const struct call_graph *graph = sweep->builder->graph;
  const bool is_direct = instruction->target_kind == CODE_DIRECT;
  const struct call call = {.at = at,
                            .target = target,
                            .length = instruction->length,
                            .kind = (uint8_t)kind,
                            .is_jump = instruction->kind != CODE_CALL,
                            .is_inside = is_direct && graph_is_function(graph, target) &&
                                         graph->functions[target].address != instruction->target};
  if (!graph_add_call(sweep->builder, call))
    sweep->no_memory = true;
}

/* ---- Calls and jumps ---- */

static enum call_kind direct_kind(const struct code_instruction *instruction) {
  return instruction->kind == CODE_CALL   ? CALL_DIRECT
         : instruction->kind == CODE_JUMP ? CALL_TAIL
                                          : CALL_BRANCH;
}

static void add_direct(struct sweep *sweep, uint64_t at, const struct code_instruction *instruction,
                       uint64_t target) {
  struct call_graph *graph = sweep->builder->graph;
  if (target - sweep->start < sweep->end - sweep->start) {
    add_target(sweep, target);
    if (instruction->kind == CODE_CALL)
      add_call(sweep, at, instruction, sweep->function, direct_kind(instruction));
    return;
  }
  const uint32_t function = call_graph_function(graph, target);
  if (function == GRAPH_NO_NODE) { /* nowhere: weak and undefined? Nothing is known of it */
    add_call(sweep, at, instruction, graph_anything(graph), CALL_INDIRECT);
    return;
  }
  if (graph->functions[function].address != target)
    add_landing(sweep, target);
  add_call(sweep, at, instruction, function, direct_kind(instruction));
}

/* A call by way of a symbol: to this file's definition, elsewhere, or either. */
static void add_by_symbol(struct sweep *sweep, uint64_t at,
                          const struct code_instruction *instruction,
                          const struct linkage_word *word) {
  struct call_graph *graph = sweep->builder->graph;
  const struct linkage_symbol *symbol = &graph->linkage.symbols[word->symbol];
  if (symbol->is_resolver)
    add_call(sweep, at, instruction, graph_anything(graph), CALL_INDIRECT);
  else if (symbol->is_defined && !symbol->is_preemptible && word->symbol != 0)
    add_direct(sweep, at, instruction, symbol->address + word->value);
  else
    add_call(sweep, at, instruction, graph_symbol(graph, word->symbol), CALL_OUTSIDE);
}

/* A call by way of a word in memory, if that never changes. */
static bool add_by_slot(struct sweep *sweep, uint64_t at,
                        const struct code_instruction *instruction) {
  struct call_graph *graph = sweep->builder->graph;
  const uint64_t slot = instruction->target;
  const struct area *area = areas_find(&graph->areas, slot);
  const struct linkage_word *word = linkage_find(&graph->linkage, slot);
  const bool is_constant = area != NULL && area->is_constant && !area->is_code;
  if (word != NULL) {
    if (!is_constant && !word->is_constant)
      return false;
    if (word->kind == LINKAGE_SYMBOL || word->kind == LINKAGE_CALL)
      add_by_symbol(sweep, at, instruction, word);
    else if (word->kind == LINKAGE_ADDRESS)
      add_direct(sweep, at, instruction, word->value);
    return word->kind != LINKAGE_RESOLVER;
  }
  uint64_t value;
  if (!is_constant || !graph->linkage.is_fixed ||
      area->size - (slot - area->address) < sizeof value)
    return false;
  memcpy(&value, area->bytes + (slot - area->address), sizeof value);
  if (call_graph_function(graph, value) == GRAPH_NO_NODE)
    return false;
  add_direct(sweep, at, instruction, value);
  return true;
}

static void add_computed(struct sweep *sweep, uint64_t at,
                         const struct code_instruction *instruction) {
  struct call_graph *graph = sweep->builder->graph;
  if (instruction->kind != CODE_CALL)
    graph->functions[sweep->function].has_computed_jump = true;
  add_call(sweep, at, instruction, graph_anything(graph), CALL_INDIRECT);
}

static void add_transfer(struct sweep *sweep, uint64_t at,
                         const struct code_instruction *instruction) {
  if (instruction->target_kind == CODE_DIRECT)
    add_direct(sweep, at, instruction, instruction->target);
  else if (instruction->target_kind != CODE_SLOT || !add_by_slot(sweep, at, instruction))
    add_computed(sweep, at, instruction);
}

/* ---- References ---- */

static void add_references(struct sweep *sweep, uint64_t at,
                           const struct code_instruction *instruction) {
  struct call_graph *graph = sweep->builder->graph;
  if (instruction->has_reference && instruction->is_access) {
    struct area *area = areas_find(&graph->areas, instruction->reference);
    if (area != NULL && !area->is_code)
      area_mark(area, MARK_USED, instruction->reference);
  } else if (instruction->has_reference) {
    graph_take(graph, instruction->reference, TAKEN_BY_CODE, at);
  }
  for (unsigned i = 0; graph->linkage.is_fixed && i < instruction->constant_count; i++)
    graph_take(graph, instruction->constants[i], TAKEN_BY_CODE, at);
  for (unsigned i = 0; instruction->is_wide && i < OFFSET_TABLES; i++)
    if (graph->linkage.offset_tables[i] != 0)
      graph_take(graph,
                 graph->linkage.offset_tables[i] +
                     instruction->constants[instruction->constant_count - 1],
                 TAKEN_BY_CODE, at);
}

/* ---- Functions ---- */

enum { STACK_TOP = 32, STACK_WORDS = 64 };

/* What was seen last, besides padding. */
struct flow {
  enum code_kind last;
  uint32_t last_call; /* index into calls, plus 1: of the last instruction, if that is a call */
  uint64_t stored;    /* words around the stack's top that were stored since control came here; bit
                       * STACK_TOP is of the one that a return would take */
};

/* Follows what is stored on the stack, and where its top is. */
static void follow_stack(struct flow *flow, const struct code_instruction *instruction) {
  const int32_t growth = instruction->stack_growth / 8;
  const int32_t word = STACK_TOP + (instruction->stack_offset >> 3);
  if (growth >= STACK_WORDS || growth <= -STACK_WORDS)
    flow->stored = 0;
  else
    flow->stored = growth >= 0 ? flow->stored << growth : flow->stored >> -growth;
  if (instruction->stores_to_stack && word >= 0 && word < STACK_WORDS)
    flow->stored |= (uint64_t)1 << word;
  if (instruction->kind == CODE_JUMP || instruction->kind == CODE_RETURN ||
      instruction->kind == CODE_STOP)
    flow->stored = 0;
}

static bool returns_to_stored(const struct flow *flow) {
  return (flow->stored >> STACK_TOP & 1) != 0;
}

static void add_instruction(struct sweep *sweep, uint64_t at,
                            const struct code_instruction *instruction, struct flow *flow) {
  const uint32_t calls = sweep->builder->graph->call_count;
  switch (instruction->kind) {
  case CODE_PADDING:
    return;
  case CODE_RETURN:
    sweep->returns[sweep->function] = true;
    if (returns_to_stored(flow))
      add_computed(sweep, at, instruction);
    break;
  case CODE_CALL:
  case CODE_JUMP:
  case CODE_BRANCH:
    add_transfer(sweep, at, instruction);
    break;
  default:
    break;
  }
  sweep->builder->graph->functions[sweep->function].has_sum |= instruction->is_sum;
  add_references(sweep, at, instruction);
  flow->last = instruction->kind;
  follow_stack(flow, instruction);
  flow->last_call = sweep->builder->graph->call_count > calls ? calls + 1 : 0;
}

static bool ends(enum code_kind kind) {
  return kind == CODE_JUMP || kind == CODE_RETURN || kind == CODE_STOP;
}

/* Decodes from an address on, up to an instruction that is known, or the function's end. */
static void decode_from(struct sweep *sweep, uint64_t at, struct flow *flow) {
  const struct graph_builder *builder = sweep->builder;
  struct area *area = areas_find(&builder->graph->areas, at);
  while (at < sweep->end && !area_is_marked(area, MARK_INSTRUCTION, at)) {
    struct code_instruction instruction;
    const uint8_t *bytes = area->bytes + (at - area->address);
    builder->architecture->decode(builder->decoder, bytes, area->address + area->size - at, at,
                                  &instruction);
    if (instruction.length > sweep->end - at) { /* the next function starts inside */
      if (instruction.kind == CODE_PADDING)
        return;
      instruction = (struct code_instruction){.length = 1, .kind = CODE_INVALID};
    }
    /* Some linkers fill up with zeros, which are instructions by chance, and need be no whole number
     * of them. */
    const bool may_fill = instruction.kind == CODE_INVALID || ends(flow->last);
    if (may_fill && all_zero(bytes, sweep->end - at))
      return;
    if (instruction.kind == CODE_INVALID)
      builder->graph->functions[sweep->function].is_undecodable = true;
    else
      area_mark(area, MARK_INSTRUCTION, at);
    add_instruction(sweep, at, &instruction, flow);
    at += instruction.length;
  }
}

static void sweep_function(struct sweep *sweep, uint32_t number) {
  struct call_graph *graph = sweep->builder->graph;
  struct graph_function *function = &graph->functions[number];
  struct flow flow = {.last = CODE_PADDING};
  sweep->function = number;
  sweep->start = function->address;
  sweep->end = function->address + function->size;
  sweep->target_count = 0;
  function->first_call = graph->call_count;
  decode_from(sweep, sweep->start, &flow);
  sweep->runs_on[number] = !ends(flow.last);
  sweep->runs[number] = flow.last == CODE_CALL ? flow.last_call : 0;
  for (size_t i = 0; i < sweep->target_count; i++) {
    struct flow side = {.last = CODE_OTHER};
    decode_from(sweep, sweep->targets[i], &side);
  }
}

/* ---- What runs on ---- */

static bool symbol_returns(const struct call_graph *graph, uint32_t node) {
  const struct linkage_symbol *symbol = graph_symbol_of(graph, node);
  return symbol == NULL || !leaf_function_never_returns(symbol->name);
}

/* Whether a function returns by what it jumps to, or runs on into, as far as that is known. */
static bool returns_by_others(const struct sweep *sweep, uint32_t number) {
  const struct call_graph *graph = sweep->builder->graph;
  const struct graph_function *function = &graph->functions[number];
  if (function->is_undecodable)
    return true;
  for (uint32_t i = function[0].first_call; i < function[1].first_call; i++)
    if (graph->calls[i].is_jump && sweep->returns[graph->calls[i].target])
      return true;
  if (!sweep->runs_on[number])
    return false;
  const uint32_t call = sweep->runs[number];
  return (call == 0 || sweep->returns[graph->calls[call - 1].target]) &&
         (number + 1 == graph->function_count || sweep->returns[number + 1]);
}

/* Finds which functions return: more and more of them, until no more are found. Chains are short;
 * where they aren't, all that is left is taken to return, which is always safe. */
static void find_returns(struct sweep *sweep) {
  enum { ROUNDS = 32 };
  const struct call_graph *graph = sweep->builder->graph;
  for (uint32_t node = graph->function_count; node < graph_nodes(graph); node++)
    sweep->returns[node] = symbol_returns(graph, node);
  bool found = true;
  for (int round = 0; found; round++) {
    found = false;
    for (uint32_t i = graph->function_count; i-- > 0;)
      if (!sweep->returns[i] && (round == ROUNDS || returns_by_others(sweep, i)))
        sweep->returns[i] = found = true;
  }
}

/* Adds a call for each function that runs on into the next. */
static bool add_runs(struct sweep *sweep) {
  const struct call_graph *graph = sweep->builder->graph;
  for (uint32_t i = 0; i < graph->function_count; i++) {
    struct graph_function *function = &graph->functions[i];
    const uint32_t call = sweep->runs[i];
    const uint64_t end = function->address + function->size;
    if (!sweep->runs_on[i] || (call != 0 && !sweep->returns[graph->calls[call - 1].target]))
      continue;
    if (i + 1 == graph->function_count || graph->functions[i + 1].address != end) {
      function->is_undecodable |= call == 0; /* into nothing */
      continue;
    }
    if (!graph_add_later(
            sweep->builder,
            (struct call){
                .at = end - 1, .target = i + 1, .length = 1, .kind = CALL_BRANCH, .is_jump = true}))
      return false;
  }
  return true;
}

/* ---- The whole ---- */

/* A function that another one enters between its instructions isn't what it seemed to be. */
static void check_landings(const struct graph_builder *builder) {
  struct call_graph *graph = builder->graph;
  for (size_t i = 0; i < builder->landing_count; i++) {
    const uint64_t address = builder->landings[i];
    const struct area *area = areas_find(&graph->areas, address);
    if (!area_is_marked(area, MARK_INSTRUCTION, address))
      graph->functions[call_graph_function(graph, address)].is_undecodable = true;
  }
}

bool sweep(struct graph_builder *builder, struct problem *problem) {
  struct call_graph *graph = builder->graph;
  builder->returns = calloc((size_t)graph_nodes(graph) + 1, sizeof *builder->returns);
  struct sweep sweep = {
      .builder = builder,
      .returns = builder->returns,
      .runs = calloc((size_t)graph->function_count + 1, sizeof *sweep.runs),
      .runs_on = calloc((size_t)graph->function_count + 1, sizeof *sweep.runs_on),
  };
  bool ok = sweep.returns != NULL && sweep.runs != NULL && sweep.runs_on != NULL;
  for (uint32_t i = 0; ok && i < graph->function_count; i++) {
    sweep_function(&sweep, i);
    ok = !sweep.no_memory;
  }
  if (ok) {
    graph->functions[graph->function_count].first_call = graph->call_count;
    check_landings(builder);
    find_returns(&sweep);
    ok = add_runs(&sweep);
  }
  free(sweep.targets);
  free(sweep.runs);
  free(sweep.runs_on);
  return ok || problem_set(problem, "not enough memory");
}
