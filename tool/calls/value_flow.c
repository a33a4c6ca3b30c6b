/* value_flow.c - follows the values of registers through a function, or a group of functions.
 *
 * It follows addresses, places on the stack, and values read from tables (see struct code_value).
 * The functions are a unit (unit.h); a block starts with the join of the values at the ends of its
 * predecessors. A block without a predecessor starts with unresolved values, all of them made (see
 * struct code_value), and so does one that a function outside the group jumps to, or an exception.
 *
 * Where a jump table points into the middle of a block, the blocks are made again. A value loaded
 * from the stack may have been stored by any instruction of the unit: the set of values stored
 * at a place only grows, and blocks that load from it are followed again.
 */
#include "tool/calls/value_flow.h"

#include "format/array.h"
#include "format/search.h"
#include "tool/calls/jump_tables.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define NO_VALUES UINT32_MAX
enum {
  PADDING = 1 << CODE_PADDING, /* without a predecessor, it only aligns the next code */
  BLOCK_STEPS = 64,            /* at most: each query follows a block again */
  /* How many steps, and entries of tables, are looked at in one function, and in all: honest code
   * needs up to 64 for an instruction of a function, and 1 for a byte of all. */
  STEPS_PER_INSTRUCTION = 512,
  STEPS_PER_BYTE = 4,
  STEPS_LEAST = 1 << 20,
};

struct value_flow value_flow_open(struct graph_builder *builder) {
  const struct call_graph *graph = builder->graph;
  return (struct value_flow){
      .builder = builder,
      .unit = &builder->unit,
      .left_in_all = graph->code_size * STEPS_PER_BYTE + STEPS_LEAST,
      .slots.is_fixed = graph->linkage.is_fixed,
      .slots.start = graph->code_start,
      .slots.size = graph->code_span,
      .slots.lost = builder->lost,
      .slots.makes_frame = builder->makes_frame,
  };
}

void value_flow_close(struct value_flow *flow) {
  free(flow->blocks);
  free(flow->named.items);
  free(flow->tables);
  free(flow->labels.items);
  intern_free(&flow->table_numbers);
}

bool value_flow_spend(struct value_flow *flow, uint64_t count) {
  const uint64_t taken = count < flow->left ? count : flow->left;
  flow->left -= taken;
  flow->left_in_all -= taken;
  return flow->left > 0;
}

uint32_t value_flow_function(const struct value_flow *flow, struct code_value value) {
  return value.kind == CODE_ADDRESS ? call_graph_start(flow->builder->graph, value.table)
                                    : GRAPH_NO_NODE;
}

bool value_flow_is_own_address(const struct value_flow *flow, struct code_value value) {
  return value.kind == CODE_ADDRESS && unit_range(flow->unit, value.table) != NULL;
}

bool value_flow_is_inside(const struct value_flow *flow, uint64_t address) {
  const struct unit_range *range = unit_range(flow->unit, address);
  return range != NULL && range->start != address;
}

/* ---- Steps ---- */

static void note_names(struct value_flow *flow, const struct code_instruction *instruction) {
  if (instruction->has_reference && !instruction->is_access) {
    integers_add(&flow->named, instruction->reference);
    flow->names_label |= unit_range(flow->unit, instruction->reference) != NULL;
  }
  for (unsigned k = 0; k < instruction->constant_count; k++)
    integers_add(&flow->named, instruction->constants[k]);
}

/* Addresses made of the frame pointer are on the stack only if it points there. */
static void note(void *context, const struct code_instruction *instruction) {
  struct value_flow *flow = context;
  const struct code_stack *stack = &instruction->stack;
  flow->slots.has_address |= (stack->is_address && stack->base == CODE_STACK_POINTER) ||
                             stack->handed == CODE_STACK_POINTER;
  flow->has_frames_address |= (stack->is_address && stack->base == CODE_FRAME_POINTER) ||
                              stack->handed == CODE_FRAME_POINTER;
  flow->has_frame |= stack->copy == CODE_STACK_POINTER;
  note_names(flow, instruction);
}

uint32_t value_flow_next(const struct value_flow *flow, uint32_t function) {
  return flow->is_alone ? GRAPH_NO_NODE : flow->builder->next_in_group[function];
}

/* Undecodable functions of a group are left out: the group is mixed. */
static void add_function(struct value_flow *flow, uint32_t number) {
  const struct call_graph *graph = flow->builder->graph;
  const struct graph_function *function = &graph->functions[number];
  const struct area *area = areas_find(&graph->areas, function->address);
  if (!function->is_undecodable)
    unit_add(flow->unit, function->address, area->bytes + (function->address - area->address),
             function->size);
}

void value_flow_start(struct value_flow *flow, uint32_t number, bool is_alone) {
  const struct call_graph *graph = flow->builder->graph;
  assert(number < graph->function_count);
  assert(is_alone || flow->builder->group[number] == number);
  flow->first = number;
  flow->is_alone = is_alone;
  flow->names_label = false;
  flow->slots.count = 0;
  flow->slots.stacks.count = 0;
  flow->slots.made.count = !is_alone && graph->functions[number].is_mixed ? CODE_PLACES + 1 : 0;
  flow->slots.has_grown = flow->slots.has_address = false;
  flow->slots.has_distant_store = false;
  flow->has_frame = graph->functions[number].is_part || graph->functions[number].is_mixed ||
                    flow->slots.makes_frame;
  flow->has_frames_address = false;
  flow->named.count = 0;
  flow->unit->note = note;
  flow->unit->note_context = flow;
  unit_clear(flow->unit);
  for (uint32_t i = number; i != GRAPH_NO_NODE; i = value_flow_next(flow, i))
    add_function(flow, i);
  unit_start_targets(flow->unit);
  flow->unit->note = NULL;
  flow->slots.has_address |= flow->has_frame && flow->has_frames_address;
  integers_sort(&flow->named);
  intern_clear(&flow->table_numbers);
  flow->table_count = 0;
  flow->round = 0;
  flow->left = (uint64_t)flow->unit->step_count * STEPS_PER_INSTRUCTION;
  flow->left = flow->left < flow->left_in_all ? flow->left : flow->left_in_all;
}

/* ---- Blocks ---- */

/* Starts a block at a step; between two of them, nothing starts: data may lead there by chance. */
static void start_block(struct value_flow *flow, uint64_t address) {
  struct unit_step *step = unit_step(flow->unit, address);
  if (step != NULL)
    step->is_start = true;
}

/* Labels start blocks. */
static void start_labels(struct value_flow *flow) {
  flow->labels.count = 0;
  for (uint32_t i = 0; flow->enters_labels && i < flow->unit->step_count; i++) {
    struct unit_step *step = &flow->unit->steps[i];
    if (!area_is_marked(areas_find(&flow->builder->graph->areas, step->address), MARK_LABEL,
                        step->address))
      continue;
    step->is_start = true;
    integers_add(&flow->labels, step->address);
  }
}

/* An address that the code names may be a table's: its entries start blocks; or a place in the
 * function. */
static void start_blocks_of_table(struct value_flow *flow, uint64_t address) {
  const struct call_graph *graph = flow->builder->graph;
  start_block(flow, address);
  const struct code_value tables[] = {
      {.kind = CODE_TARGET, .table = address, .base = address, .size = 4},
      {.kind = CODE_ENTRY, .table = address, .size = 8},
  };
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
    uint64_t target;
    if (!jump_table_is_own(flow, tables[i]))
      continue;
    const struct extent extent = jump_table_find(flow, tables[i])->extent;
    for (int64_t n = extent.first; n < extent.end; n++)
      if (jump_table_entry(graph, jump_table_area(flow, tables[i]), tables[i], n, &target))
        start_block(flow, target);
  }
}

static void start_blocks(struct value_flow *flow) {
  for (size_t i = 0; i < flow->unit->range_count; i++)
    start_block(flow, flow->unit->ranges[i].start);
  start_labels(flow);
  for (size_t i = 0; i < flow->named.count; i++)
    start_blocks_of_table(flow, flow->named.items[i]);
  for (uint32_t i = 0, size = 0; i < flow->unit->step_count; i++) {
    size = flow->unit->steps[i].is_start || size == BLOCK_STEPS ? 0 : size;
    flow->unit->steps[i].is_start |= size == 0;
    size = unit_ends_block(flow->unit, i) ? 0 : size + 1;
  }
}

static void make_blocks(struct value_flow *flow) {
  start_blocks(flow);
  unit_make_blocks(flow->unit);
  const size_t count = flow->unit->block_count;
  array_make_room((void **)&flow->blocks, &flow->blocks_capacity, count, sizeof *flow->blocks);
  memset(flow->blocks, 0, count * sizeof *flow->blocks);
  flow->round++;
  flow->jumped = NO_VALUES;
}

/* ---- Values by number ---- */

/* The number of a state's values, as the unit keeps them in its `states`: the two pointers, and the
 * machine's registers. */
static uint32_t number_of(struct value_flow *flow, const struct code_state *state) {
  const size_t size = offsetof(struct code_state, registers) +
                      flow->builder->architecture->register_count * sizeof *state->registers;
  _Static_assert(sizeof(struct code_value) == 3 * sizeof(uint64_t), "no byte between members");
  return intern_add(&flow->unit->states, (const uint64_t *)(const void *)state,
                    size / sizeof(uint64_t));
}

static struct code_state state_of(struct value_flow *flow, uint32_t values) {
  const struct intern_sequence kept = intern_get(&flow->unit->states, values);
  struct code_state state = {.slots = &flow->slots};
  memcpy(&state, kept.words, kept.count * sizeof *kept.words);
  return state;
}

/* The state at a block's start. */
static struct code_state start_of(struct value_flow *flow, uint32_t block) {
  assert(flow->unit->blocks[block].is_reached);
  return state_of(flow, flow->unit->blocks[block].state);
}

/* One of two pointers. */
static struct code_place join_pointers(struct code_place a, struct code_place b,
                                       enum code_region otherwise) {
  const bool is_same = a.region == b.region && a.offset == b.offset;
  return is_same ? a : (struct code_place){.region = otherwise};
}

/* The number of the join of two; NO_VALUES joins without effect. */
static uint32_t join_values(struct value_flow *flow, uint32_t known, uint32_t other) {
  if (known == NO_VALUES || known == other)
    return other;
  struct code_state joined = state_of(flow, known);
  const struct code_state *another = /* as far as that */
      (const void *)intern_get(&flow->unit->states, other).words;
  joined.stack = join_pointers(joined.stack, another->stack, REGION_ANYWHERE);
  joined.frame = join_pointers(joined.frame, another->frame, REGION_FRAME);
  for (unsigned i = 0; i < flow->builder->architecture->register_count; i++) {
    struct code_value *value = &joined.registers[i];
    if (memcmp(value, &another->registers[i], sizeof *value) != 0)
      *value = code_either(&flow->slots, *value, another->registers[i]);
  }
  return number_of(flow, &joined);
}

/* ---- Entering ---- */

/* Control may come to a block with values. */
static void enter_block(struct value_flow *flow, uint32_t number, uint32_t values) {
  struct unit_block *block = &flow->unit->blocks[number];
  const uint32_t known = block->is_reached ? block->state : NO_VALUES;
  block->state = join_values(flow, known, values);
  block->is_reached = true;
  if (block->state != known)
    unit_wait_for(flow->unit, number);
}

static void enter_address(struct value_flow *flow, uint64_t address, uint32_t values) {
  struct unit_step *step = unit_step(flow->unit, address);
  if (step == NULL)
    return;
  flow->has_targets |= step != &flow->unit->steps[flow->unit->blocks[step->block].first];
  step->is_start = true;
  flow->blocks[step->block].is_entered = true;
  enter_block(flow, step->block, values);
}

/* Enters a table's entries with the values of all jumps by it so far: one more jump that has the
 * same values enters nothing. */
static void enter_entries(struct value_flow *flow, struct code_value value, uint32_t values) {
  struct jump_table *table = jump_table_find(flow, value);
  const struct area *area = jump_table_area(flow, value);
  const uint32_t known = table->round == flow->round ? table->values : NO_VALUES;
  const uint32_t joined = join_values(flow, known, values);
  uint64_t target;
  table->round = flow->round;
  table->values = joined;
  if (joined == known ||
      !value_flow_spend(flow, (uint64_t)(table->extent.end - table->extent.first)))
    return;
  for (int64_t n = table->extent.first; n < table->extent.end; n++)
    if (jump_table_entry(flow->builder->graph, area, value, n, &target))
      enter_address(flow, target, joined);
}

/* Enters all labels with the values of all unresolved jumps so far. */
static void enter_labels(struct value_flow *flow, uint32_t values) {
  const uint32_t joined =
      flow->labels.count == 0 ? flow->jumped : join_values(flow, flow->jumped, values);
  if (joined == flow->jumped || !value_flow_spend(flow, flow->labels.count))
    return;
  flow->jumped = joined;
  for (size_t i = 0; i < flow->labels.count; i++)
    enter_address(flow, flow->labels.items[i], joined);
}

static void enter_target(struct value_flow *flow, struct code_value target, uint32_t values) {
  if (value_flow_is_own_address(flow, target))
    enter_address(flow, target.table, values);
  else if (jump_table_is_own(flow, target))
    enter_entries(flow, target, values);
  else
    enter_labels(flow, values);
}

/* ---- Following ---- */

/* The name of a call's target, by the stub that leads there; NULL: it has none. */
static const char *called_name(const struct call_graph *graph, uint32_t node) {
  const uint32_t behind =
      graph_is_function(graph, node) ? graph_stub_target(graph, node) : GRAPH_NO_NODE;
  return call_graph_name(graph, behind != GRAPH_NO_NODE ? behind : node);
}

/* Whether an instruction calls a function by which compilers copy objects. A call that bisection
 * misses counts: calls in code that was decoded from inside an instruction are out of order. */
static bool calls_copy(const struct value_flow *flow, uint64_t address) {
  const struct call_graph *graph = flow->builder->graph;
  const struct graph_function *function = &graph->functions[call_graph_function(graph, address)];
  const struct call *calls = &graph->calls[function[0].first_call];
  const size_t count = function[1].first_call - function[0].first_call;
  const size_t i = SEARCH_BELOW(calls, count, at, address);
  if (i == count || calls[i].at != address)
    return true;
  const char *name = called_name(graph, calls[i].target);
  return name != NULL && name_is_among(name, ' ', "memcpy memmove __memcpy_chk __memmove_chk");
}

/* A copy from one object on the stack to another has values from anywhere there. */
static void follow_copy(const struct value_flow *flow, const struct unit_step *step,
                        struct code_state *state) {
  const uint8_t *arguments = flow->builder->architecture->arguments;
  if (step->kind == CODE_CALL && state->registers[arguments[0]].is_stack &&
      state->registers[arguments[1]].is_stack && calls_copy(flow, step->address))
    code_copy_anywhere(state);
}

static struct code_value follow_step(const struct value_flow *flow, const struct unit_step *step,
                                     struct code_state *state) {
  const struct code_instruction instruction = unit_instruction(flow->unit, step);
  struct code_value jump;
  code_follow(flow->builder->architecture, &instruction, state, &jump);
  return jump;
}

/* Notes the sums that an instruction makes of an address of code. */
static void note_sums(struct value_flow *flow, const struct unit_step *step,
                      struct code_state *state) {
  struct call_graph *graph = flow->builder->graph;
  const struct code_value summed = state->summed;
  const bool is_target = summed.kind == CODE_TARGET; /* of a jump, if it's of a place of its own */
  const uint64_t base = is_target ? summed.base : summed.table;
  const bool is_own = !summed.is_uncertain && value_flow_is_inside(flow, base);
  const bool is_sum = summed.kind != CODE_UNKNOWN && !(is_target && is_own) &&
                      call_graph_function(graph, base) != GRAPH_NO_NODE;
  const bool is_for_jump =
      is_sum && graph->functions[call_graph_function(graph, step->address)].has_computed_jump;
  flow->sums_code |= is_sum;
  flow->hands_over |= is_sum && (!is_for_jump || (!summed.is_upper && !is_own));
  if (state->named != 0)
    graph_take(graph, state->named, TAKEN_BY_CODE, step->address);
  state->summed.kind = CODE_UNKNOWN;
  state->named = 0;
}

static bool returns_oddly(const struct value_flow *flow, const struct unit_step *step) {
  const struct call_graph *graph = flow->builder->graph;
  return flow->labels.count > 0 &&
         graph->functions[call_graph_function(graph, step->address)].returns_oddly;
}

static void follow_block(struct value_flow *flow, uint32_t number) {
  const struct unit_block *block = &flow->unit->blocks[number];
  struct code_state state = start_of(flow, number);
  struct code_value jump = {.kind = CODE_UNKNOWN};
  flow->slots.has_load = false;
  for (uint32_t i = block->first; i < block->end; i++) {
    follow_copy(flow, &flow->unit->steps[i], &state);
    jump = follow_step(flow, &flow->unit->steps[i], &state);
    note_sums(flow, &flow->unit->steps[i], &state);
  }
  flow->blocks[number].has_load |= flow->slots.has_load;
  const struct unit_step *last = &flow->unit->steps[block->end - 1];
  const struct unit_step *next = unit_step(flow->unit, unit_after(last));
  const uint32_t values = number_of(flow, &state);
  if (code_jumps(last->kind) && last->target_kind == CODE_DIRECT)
    enter_address(flow, last->target, values);
  else if (last->kind == CODE_JUMP)
    enter_target(flow, jump, values);
  else if (last->kind == CODE_RETURN && returns_oddly(flow, last))
    enter_labels(flow, values);
  if (unit_falls_through(flow->unit, last) && next != NULL)
    enter_block(flow, next->block, values);
}

/* A load from the stack may get a value that was stored since then. */
static void load_again(struct value_flow *flow) {
  flow->slots.has_grown = false;
  for (uint32_t i = 0; i < flow->unit->block_count; i++)
    if (flow->blocks[i].has_load)
      unit_wait_for(flow->unit, i);
}

/* The values of registers at the start of a function, */
static uint32_t start_values(struct value_flow *flow) {
  const struct code_architecture *architecture = flow->builder->architecture;
  struct code_state state = {
      .slots = &flow->slots, .stack.region = REGION_START, .frame.region = REGION_FRAME};
  const uint32_t passed = architecture->passed | (uint32_t)1 << architecture->result;
  for (uint32_t left = architecture->lost & ~passed; left != 0; left &= left - 1)
    state.registers[__builtin_ctz(left)].is_made =
        true; /* outlined code goes on with its caller's */
  for (uint8_t i = 0; flow->knows_arguments && i < CODE_ARGUMENTS; i++)
    state.registers[architecture->arguments[i]] =
        (struct code_value){.kind = CODE_ARGUMENT, .table = i};
  state.registers[architecture->stack_pointer].is_stack = true;
  return number_of(flow, &state);
}

/* and at other entries: unresolved, all of them made. */
static uint32_t unresolved_values(struct value_flow *flow, const struct pad_pointers *pointers) {
  struct code_state state = {
      .slots = &flow->slots, .stack = pointers->stack, .frame = pointers->frame};
  for (unsigned i = 0; i < CODE_REGISTERS; i++)
    state.registers[i].is_made = state.registers[i].is_stack = true;
  return number_of(flow, &state);
}

/* Enters each landing; only the group's own jumps are followed. */
static void enter_landings(struct value_flow *flow, const struct graph_function *function,
                           uint32_t nothing) {
  const struct graph_builder *builder = flow->builder;
  for (size_t i =
           SEARCH_BELOW(builder->landings, builder->landing_count, address, function->address);
       i < builder->landing_count &&
       builder->landings[i].address - function->address < function->size;
       i++) {
    const struct landing *landing = &builder->landings[i];
    const bool is_own = !flow->is_alone && !function->is_mixed && landing->from != GRAPH_NO_NODE &&
                        builder->group[landing->from] == flow->first;
    const struct pad_pointers *pad = landings_pad(builder, landing->address);
    if (!is_own)
      enter_address(flow, landing->address, pad == NULL ? nothing : unresolved_values(flow, pad));
  }
}

/* Parts are entered by their group's jumps alone. */
static void enter_function(struct value_flow *flow, uint32_t number, uint32_t nothing) {
  const struct graph_function *function = &flow->builder->graph->functions[number];
  const bool is_unresolved = flow->is_alone
                                 ? function->is_part
                                 : function->is_mixed || (function->is_part && function->is_called);
  enter_landings(flow, function, nothing);
  if (is_unresolved)
    enter_address(flow, function->address, nothing);
  else if (!function->is_part)
    enter_address(flow, function->address, start_values(flow));
}

/* Follows all blocks to a fixed point; false if that takes too long. */
static bool follow_blocks(struct value_flow *flow) {
  static const struct pad_pointers anywhere = {{.region = REGION_ANYWHERE},
                                               {.region = REGION_ANYWHERE}};
  const uint32_t nothing = unresolved_values(flow, &anywhere);
  for (uint32_t i = flow->first; i != GRAPH_NO_NODE; i = value_flow_next(flow, i))
    enter_function(flow, i, nothing);
  for (uint32_t next = 0, number;;) {
    const struct unit_block *blocks = flow->unit->blocks;
    while (unit_take(flow->unit, &number)) {
      if (!value_flow_spend(flow, blocks[number].end - blocks[number].first))
        return false;
      follow_block(flow, number);
    }
    while (next < flow->unit->block_count &&
           (blocks[next].is_reached || unit_has_only(flow->unit, &blocks[next], PADDING)))
      next++;
    if (next < flow->unit->block_count)
      enter_address(flow, flow->unit->steps[blocks[next].first].address, nothing);
    else if (flow->slots.has_grown)
      load_again(flow);
    else
      return flow->left > 0;
  }
}

/* Repeats until all tables point to starts of blocks. */
bool value_flow_follow(struct value_flow *flow) {
  enum { ROUNDS = 8 };
  for (int round = 0; round < ROUNDS; round++) {
    flow->has_targets = flow->sums_code = flow->hands_over = false;
    make_blocks(flow);
    if (!follow_blocks(flow))
      return false;
    if (!flow->has_targets)
      return true;
  }
  return false;
}

/* Follows the block again from the state at its start. */
struct code_value value_flow_value(struct value_flow *flow, const struct unit_step *step,
                                   struct code_state *state) {
  const struct unit_block *block = &flow->unit->blocks[step->block];
  *state = start_of(flow, step->block);
  for (const struct unit_step *at = &flow->unit->steps[block->first]; at < step; at++)
    follow_step(flow, at, state);
  struct code_state after = *state;
  return follow_step(flow, step, &after);
}
