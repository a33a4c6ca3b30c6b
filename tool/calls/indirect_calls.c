/* indirect_calls.c - the targets of calls and jumps by pointers.
 *
 * The values of registers decide (value_flow.c). A jump by the compiler's tables stays in its
 * function (jump_tables.c). A call by a word of the global offset table that has the address of a
 * function elsewhere goes there.
 *
 * A pointer that is the sum of an address and another value may be any address, even of functions
 * that are never named. So a call by such a sum is a call of everything; and so are all calls by
 * pointers in a function that adds something to an address of code. That sum may be kept for
 * another function to call: then every function counts as address-taken. The sum of an address and
 * a constant is one address, and is taken itself.
 */
#include "tool/calls/indirect_calls.h"

#include "format/array.h"
#include "format/search.h"
#include "tool/calls/jump_tables.h"

/* ---- Pointers ---- */

/* The word of the offset table that a pointer is, if only the dynamic linker writes it and it has
 * the address of a function elsewhere; otherwise NULL. */
static const struct linkage_word *known_word(const struct value_flow *flow,
                                             struct code_value pointer) {
  const struct linkage *linkage = &flow->builder->graph->linkage;
  const struct linkage_word *word =
      pointer.kind == CODE_WORD ? linkage_find(linkage, pointer.table) : NULL;
  const bool is_known =
      word != NULL && word->is_constant && word->symbol != 0 &&
      (word->kind == CODE_RELOCATION_SYMBOL || word->kind == CODE_RELOCATION_CALL) &&
      word->value == 0 && !linkage->symbols[word->symbol].is_defined;
  return is_known ? word : NULL;
}

/* A call by 0, a weak symbol's address: without a target. */
static bool is_nowhere(struct code_value pointer) {
  return pointer.kind == CODE_ADDRESS && pointer.table == 0;
}

/* The step of a call by a pointer, or NULL. */
static const struct unit_step *pointer_step(const struct value_flow *flow,
                                            const struct call *call) {
  const struct unit_step *step = unit_step(flow->unit, call->at);
  return call->kind == CALL_INDIRECT && step != NULL && !call->is_system &&
                 step->kind != CODE_RETURN
             ? step
             : NULL;
}

static bool function_has_open_jump(struct value_flow *flow, uint32_t number) {
  const struct call_graph *graph = flow->builder->graph;
  const struct graph_function *function = &graph->functions[number];
  if (function->returns_oddly)
    return true;
  EACH_CALL(graph, function, call) {
    const struct unit_step *step = call->is_jump ? pointer_step(flow, call) : NULL;
    struct code_state state;
    if (step == NULL)
      continue;
    const struct code_value pointer = value_flow_value(flow, step, &state);
    if (!jump_table_is_own(flow, pointer) && !value_flow_is_own_address(flow, pointer) &&
        known_word(flow, pointer) == NULL && !is_nowhere(pointer))
      return true;
  }
  return false;
}

bool indirect_calls_has_open_jump(struct value_flow *flow) {
  for (uint32_t i = flow->first; i != GRAPH_NO_NODE; i = value_flow_next(flow, i))
    if (function_has_open_jump(flow, i))
      return true;
  return false;
}

/* ---- Resolving ---- */

/* Whether control comes straight on from the first part of a call's or jump's address to the call:
 * after an entry in between, the register may have another address. */
static bool is_made_straight(const struct value_flow *flow, const struct unit_step *step,
                             bool has_open_jump) {
  uint8_t made = unit_form(flow->unit, step)->values.base;
  for (; made < CODE_REGISTERS; step--) {
    const bool is_first = step == &flow->unit->steps[flow->unit->blocks[step->block].first];
    if (is_first && (flow->blocks[step->block].is_entered || has_open_jump ||
                     step == flow->unit->steps || unit_after(&step[-1]) != step->address))
      return false;
    const struct code_instruction *before = unit_form(flow->unit, &step[-1]);
    if (((before->parts.writes | before->parts.may_write) >> made & 1) != 0)
      made = before->parts.part == CODE_UPPER ? CODE_NO_REGISTER : before->values.base;
  }
  return true;
}

static void lose_call(const struct call_graph *graph, struct call *call) {
  call->target = graph_everything(graph);
  call->kind = CALL_INDIRECT;
  call->is_inside = call->is_followed = false;
}

/* Registers that may have another address are pointers like others. */
static void doubt_registers(struct value_flow *flow, uint32_t number, bool has_open_jump) {
  const struct call_graph *graph = flow->builder->graph;
  EACH_CALL(graph, &graph->functions[number], call) {
    const struct unit_step *step = unit_step(flow->unit, call->at);
    if (call->is_through && (step == NULL || !is_made_straight(flow, step, has_open_jump)))
      lose_call(graph, call);
  }
}

/* Without results for the function's values, its pointers may be sums. */
static void lose_calls(const struct value_flow *flow, uint32_t number) {
  const struct call_graph *graph = flow->builder->graph;
  EACH_CALL(graph, &graph->functions[number], call)
    if (pointer_step(flow, call) != NULL || call->is_through)
      lose_call(graph, call);
}

/* Whether a jump goes to an instruction of its own function. */
static bool is_own_place(const struct value_flow *flow, const struct call *call,
                         struct code_value pointer) {
  return value_flow_is_own_address(flow, pointer) && unit_step(flow->unit, pointer.table) != NULL &&
         unit_range(flow->unit, pointer.table) == unit_range(flow->unit, call->at);
}

static void resolve_call(struct value_flow *flow, struct call *call, const struct unit_step *step,
                         bool has_open_jump) {
  struct code_state state;
  const struct code_value jump = value_flow_value(flow, step, &state);
  const struct linkage_word *word = known_word(flow, jump);
  if (word != NULL && !has_open_jump) {
    call->target = graph_symbol(flow->builder->graph, word->symbol);
    call->kind = CALL_OUTSIDE;
    return;
  }
  if (is_nowhere(jump) && !has_open_jump) {
    call->kind = CALL_NONE;
    return;
  }
  if (code_is_made(jump) || flow->sums_code ||
      unit_form(flow->unit, step)->values.operation != VALUE_GO)
    call->target = graph_everything(flow->builder->graph);
  if (!call->is_jump)
    return;
  if (is_own_place(flow, call, jump) && !has_open_jump)
    call->kind = CALL_NONE;
  else if (jump_table_is_own(flow, jump))
    jump_table_resolve(flow, call, jump);
}

static void resolve_calls(struct value_flow *flow, uint32_t number, bool has_open_jump) {
  const struct call_graph *graph = flow->builder->graph;
  EACH_CALL(graph, &graph->functions[number], call) {
    const struct unit_step *step = pointer_step(flow, call);
    if (step != NULL)
      resolve_call(flow, call, step, has_open_jump);
  }
}

static void resolve(struct value_flow *flow) {
  bool has_open_jump = indirect_calls_has_open_jump(flow), are_lost = false;
  uint32_t i;
  if (flow->builder->architecture->highest != 0) {
    for (i = flow->first; i != GRAPH_NO_NODE; i = value_flow_next(flow, i))
      doubt_registers(flow, i, has_open_jump);
    has_open_jump = indirect_calls_has_open_jump(flow); /* there may be more pointers now */
    are_lost = has_open_jump && flow->names_label;      /* a table's base, perhaps */
  }
  for (i = flow->first; i != GRAPH_NO_NODE; i = value_flow_next(flow, i))
    if (are_lost)
      lose_calls(flow, i);
    else
      resolve_calls(flow, i, has_open_jump);
}

/* Whether there is a jump or a call by a pointer that must be followed. */
static bool has_pointer(const struct value_flow *flow, const struct graph_function *function,
                        bool has_stack_address) {
  const struct graph_builder *builder = flow->builder;
  const size_t landing =
      SEARCH_BELOW(builder->landings, builder->landing_count, address, function->address);
  const bool is_entered = landing < builder->landing_count &&
                          builder->landings[landing].address - function->address < function->size;
  EACH_CALL(builder->graph, function, call)
    if (call->is_through ||
        (call->kind == CALL_INDIRECT &&
         (call->is_jump || is_entered || has_stack_address || !call->is_loaded)))
      return true;
  return false;
}

/* Follows a group of functions that share a frame, and has something to resolve. */
static void follow_group(struct value_flow *flow, uint32_t first, bool uses_code) {
  struct graph_builder *builder = flow->builder;
  const uint64_t address = builder->graph->functions[first].address;
  value_flow_start(flow, first, false);
  if (!value_flow_follow(flow)) {
    for (uint32_t i = first; i != GRAPH_NO_NODE; i = value_flow_next(flow, i))
      lose_calls(flow, i);
    if (uses_code)
      builder->hands_over = address;
    return;
  }
  if (flow->hands_over)
    builder->hands_over = address;
  resolve(flow);
}

static void resolve_group(struct value_flow *flow, uint32_t first) {
  const struct graph_builder *builder = flow->builder;
  bool names_code = false, uses_code = false, stores_code = false, has_stack_address = false;
  for (uint32_t i = first; i != GRAPH_NO_NODE; i = builder->next_in_group[i]) {
    const struct graph_function *function = &builder->graph->functions[i];
    names_code |= function->names_code;
    uses_code |= function->uses_code;
    stores_code |= function->stores_code;
    has_stack_address |= function->has_stack_address;
  }
  uses_code |= stores_code && has_stack_address; /* perhaps of one on the stack */
  bool is_followed = false;
  for (uint32_t i = first; i != GRAPH_NO_NODE; i = builder->next_in_group[i]) {
    const struct graph_function *function = &builder->graph->functions[i];
    is_followed |=
        !function->is_undecodable && (uses_code || has_pointer(flow, function, has_stack_address));
  }
  for (uint32_t i = first; names_code && i != GRAPH_NO_NODE; i = builder->next_in_group[i])
    graph_lose_pointers(builder->graph, i); /* a pointer may go near a function that one names */
  if (is_followed)
    follow_group(flow, first, uses_code);
}

void indirect_calls_resolve(struct graph_builder *builder) {
  struct value_flow flow = value_flow_open(builder);
  array_sort(builder->landings, builder->landing_count, sizeof *builder->landings,
             bits_compare_words);
  for (uint32_t i = 0; i < builder->graph->function_count; i++)
    if (builder->group[i] == i)
      resolve_group(&flow, i);
  value_flow_close(&flow);
}

/* Whether a group has labels, and jumps that may go there; these are open again. */
static bool open_group(struct graph_builder *builder, uint32_t first) {
  const struct call_graph *graph = builder->graph;
  bool has_label = false, has_jump = false;
  for (uint32_t i = first; i != GRAPH_NO_NODE; i = builder->next_in_group[i]) {
    const struct graph_function *function = &graph->functions[i];
    has_label |= function->has_label;
    has_jump |= function->returns_oddly;
    EACH_CALL(graph, function, call)
      has_jump |= call->kind == CALL_INDIRECT && call->is_jump;
  }
  if (!has_label || !has_jump)
    return false;
  for (uint32_t i = first; i != GRAPH_NO_NODE; i = builder->next_in_group[i])
    EACH_CALL(graph, &graph->functions[i], call)
      if (call->kind == CALL_NONE)
        call->kind = CALL_INDIRECT;
  return true;
}

void indirect_calls_enter_labels(struct graph_builder *builder) {
  struct value_flow flow = value_flow_open(builder);
  flow.enters_labels = true;
  const uint64_t before = builder->hands_over;
  for (uint32_t i = 0; i < builder->graph->function_count; i++)
    if (builder->group[i] == i && open_group(builder, i))
      resolve_group(&flow, i);
  if (before == 0 && builder->hands_over != 0)
    (void)graph_take_range(builder, 0, UINT64_MAX, TAKEN_BY_SUM, builder->hands_over);
  value_flow_close(&flow);
}
