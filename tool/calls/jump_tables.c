/* jump_tables.c - which indirect jumps go through a table that the compiler made of a `switch`; and
 * which indirect jumps and calls lead to a sum.
 *
 * Such a jump stays in its function, and mustn't be taken for one through a pointer, which may lead
 * anywhere. To see the difference, the values of registers are followed through the function, as
 * far as they are addresses of tables and what is read from these (see struct code_value). The
 * function is divided into blocks; a block starts with what is known, in the same way, at the ends
 * of all blocks that lead to it. A block that nothing is known to lead to starts with nothing
 * known, and so does one that another function jumps to, as rare code does that is kept apart, or
 * an exception.
 *
 * A jump to an entry of a constant table is resolved if the entry at the place that the code names
 * leads into the function. The table's length isn't known. What stands between that place and the
 * next one whose address is taken is the table's, as far as it leads to code: some entries may be
 * holes. Code may name a place in the middle of a table as well, and count from there in both
 * directions: what stands beyond is the table's up to the first word that leads neither to the
 * function's own instructions nor to a function's start. Entries that lead to other functions (the
 * cold part of a function is one) are calls like any jump out of the function.
 *
 * A pointer that is the sum of an address and something else may be any address: of functions, too,
 * that nothing else names. So a call by such a sum leads to everything; and so do all calls by
 * pointers in a function that adds something to an address of code. That sum may be kept for another
 * function to call: then the address of every function counts as taken. The sum of an address and a
 * constant is one address, which counts as taken itself.
 *
 * The same values tell what qsort calls, and other functions of the C library that call one of
 * their arguments: if that is a function's address, the call leads there, and nowhere else. And
 * they tell what is registered to run at the program's end, see registered.c.
 */
#include "format/array.h"
#include "format/bits.h"
#include "format/search.h"
#include "tool/calls/call_graph.h"
#include "tool/calls/leaf_functions.h"
#include "tool/code/code.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum {
  NO_BLOCK = UINT32_MAX,
  STEPS_PER_INSTRUCTION = 64, /* how often one may be looked at, on average, in one function */
};

struct step {
  uint32_t offset; /* in the function */
  uint32_t block;
  bool is_end;    /* control doesn't go on to the next step */
  bool is_target; /* a table that was found while following leads here */
  struct code_instruction instruction;
};

struct block {
  uint32_t first, end; /* steps */
  bool is_reached, is_waiting;
  bool has_load;           /* from the stack */
  struct code_state state; /* at its start */
};

/* One function at a time. */
struct resolver {
  struct graph_builder *builder;
  const struct area *area;
  uint32_t function;
  bool sums_code;       /* it adds something to an address of code, */
  bool sums_other;      /* which isn't that of a place of its own */
  bool names_label;     /* it makes the address of a place of its own */
  bool knows_arguments; /* at its start, registers hold what it was given */
  bool has_targets; /* a table that was found leads into a block: the blocks are to be made again */
  uint64_t start, size;
  struct step *steps;
  uint32_t *step_at; /* by offset: the step there, plus 1 */
  struct block *blocks;
  uint32_t step_count, block_count;
  uint32_t first_waiting; /* none of the blocks before it is waiting */
  size_t steps_capacity, at_capacity, blocks_capacity;
  int8_t *calls_argument; /* by symbol: see leaf_function_calls */
  struct code_slots slots;
};

/* ---- Tables ---- */

/* A number of a table's; where it lies must be known to have it. */
static uint64_t number_at(const uint8_t *bytes, struct code_value table) {
  const unsigned width = 8u * table.size;
  uint64_t number = 0;
  memcpy(&number, bytes, table.size);
  if (table.is_unsigned || width == 64)
    return number << table.shift;
  const uint64_t sign = (uint64_t)1 << (width - 1);
  return ((number ^ sign) - sign) << table.shift;
}

/* Entry n of a table: where it leads to. False if that is no code. */
static bool entry_at(const struct call_graph *graph, const struct area *area,
                     struct code_value table, int64_t n, uint64_t *target) {
  const uint64_t address = table.table + (uint64_t)n * table.size;
  const uint64_t into = address - area->address;
  if (into >= area->size || area->size - into < table.size)
    return false;
  if (table.kind == CODE_TARGET || graph->linkage.is_fixed) {
    *target = table.base + number_at(area->bytes + into, table);
  } else {
    const struct linkage_word *word = linkage_find(&graph->linkage, address);
    if (word == NULL || word->kind != LINKAGE_ADDRESS)
      return false;
    *target = word->value;
  }
  return call_graph_function(graph, *target) != GRAPH_NO_NODE;
}

/* Whether a value is of a table that jumps go through: of distances, or of addresses. */
static bool is_table(const struct resolver *resolver, struct code_value value) {
  const bool is_fixed = resolver->builder->graph->linkage.is_fixed;
  return value.kind == CODE_TARGET ||
         (value.kind == CODE_ENTRY && (value.size == 8 || (value.size == 4 && is_fixed)));
}

/* The constant data that a table lies in; NULL if it is none. */
static const struct area *table_area(const struct resolver *resolver, struct code_value table) {
  const struct area *area = areas_find(&resolver->builder->graph->areas, table.table);
  if (!is_table(resolver, table) || area == NULL || area->is_code || !area->is_constant)
    return NULL;
  return area;
}

/* Whether a jump by the table is one within the function: judged by the entry at the place that the
 * code names. */
static bool is_own_table(const struct resolver *resolver, struct code_value table) {
  const struct area *area = table_area(resolver, table);
  uint64_t target;
  return area != NULL && entry_at(resolver->builder->graph, area, table, 0, &target) &&
         target - resolver->start < resolver->size && target != resolver->start;
}

/* Whether a jump leads to one place in the function. */
static bool is_own_address(const struct resolver *resolver, struct code_value value) {
  return value.kind == CODE_ADDRESS && value.table - resolver->start < resolver->size;
}

/* ---- Blocks ---- */

/* Whether an instruction is a call of a function that doesn't return. Calls come in the order of
 * their addresses. */
static bool never_returns(const struct resolver *resolver, uint32_t *next_call, uint64_t address) {
  const struct call_graph *graph = resolver->builder->graph;
  const uint32_t end = graph->functions[resolver->function + 1].first_call;
  while (*next_call < end && graph->calls[*next_call].at < address)
    (*next_call)++;
  return *next_call < end && graph->calls[*next_call].at == address &&
         !resolver->builder->returns[graph->calls[*next_call].target];
}

static bool is_end(const struct resolver *resolver, uint32_t *next_call, const struct step *step) {
  switch (step->instruction.kind) {
  case CODE_JUMP:
  case CODE_RETURN:
  case CODE_STOP:
    return true;
  case CODE_CALL:
    return never_returns(resolver, next_call, resolver->start + step->offset);
  default:
    return false;
  }
}

/* The sweep has told of these. */
static void ignore_upper(void *context, uint64_t upper) {
  (void)context;
  (void)upper;
}

/* What an instruction does with the stack, in the order of addresses: a push stores where nothing
 * else does. */
static void note_stack(struct code_slots *slots, const struct code_stack *stack, bool *has_store) {
  slots->has_address |= stack->is_address || stack->handed != CODE_NO_BASE;
  slots->moves |= *has_store && stack->growth > 0;
  *has_store |= stack->base == CODE_STACK_POINTER && !stack->is_read && stack->growth == 0;
}

static void decode_function(struct resolver *resolver) {
  const struct graph_builder *builder = resolver->builder;
  array_make_room((void **)&resolver->steps, &resolver->steps_capacity, resolver->size,
                  sizeof *resolver->steps);
  array_make_room((void **)&resolver->step_at, &resolver->at_capacity, resolver->size,
                  sizeof *resolver->step_at);
  memset(resolver->step_at, 0, resolver->size * sizeof *resolver->step_at);
  resolver->step_count = 0;
  uint32_t next_call = builder->graph->functions[resolver->function].first_call;
  struct parts parts = graph_parts(builder);
  bool has_store = false;
  for (uint64_t at = 0; at < resolver->size;) {
    struct step *step = &resolver->steps[resolver->step_count++];
    const uint64_t address = resolver->start + at;
    *step = (struct step){.offset = (uint32_t)at, .block = NO_BLOCK};
    builder->architecture->decode(resolver->area->bytes + (address - resolver->area->address),
                                  resolver->size - at, address, &step->instruction);
    if (builder->architecture->highest != 0)
      parts_follow(&parts, &step->instruction, ignore_upper, NULL);
    note_stack(&resolver->slots, &step->instruction.stack, &has_store);
    step->is_end = is_end(resolver, &next_call, step);
    resolver->step_at[at] = resolver->step_count;
    at += step->instruction.length;
  }
}

/* The step at an address of the function; NULL if no instruction starts there. */
static struct step *find_step(const struct resolver *resolver, uint64_t address) {
  const uint64_t offset = address - resolver->start;
  const uint32_t number = offset < resolver->size ? resolver->step_at[offset] : 0;
  return number == 0 ? NULL : &resolver->steps[number - 1];
}

/* ---- The extent of tables ---- */

/* Entries, numbered from the place that the code names. */
struct extent {
  int64_t first, end;
};

enum entry_kind { ENTRY_NONE, ENTRY_OWN, ENTRY_START };

/* What a word that may be another table's leads to: an instruction of the function's own, or a
 * function's start. */
static enum entry_kind kind_of_entry(const struct resolver *resolver, const struct area *area,
                                     struct code_value table, int64_t n) {
  const struct areas *areas = &resolver->builder->graph->areas;
  uint64_t target;
  if (!entry_at(resolver->builder->graph, area, table, n, &target))
    return ENTRY_NONE;
  if (find_step(resolver, target) != NULL)
    return ENTRY_OWN;
  return area_is_marked(areas_find(areas, target), MARK_FUNCTION, target) ? ENTRY_START
                                                                          : ENTRY_NONE;
}

/* Whether something else takes an entry's address: then another object starts there. */
static bool is_others(const struct resolver *resolver, const struct area *area,
                      struct code_value table, int64_t n) {
  const uint64_t address = table.table + (uint64_t)n * table.size;
  if (!area_is_marked(area, MARK_BASE, address))
    return false;
  for (uint32_t i = 0; i < resolver->step_count; i++) {
    const struct code_instruction *instruction = &resolver->steps[i].instruction;
    if (instruction->has_reference && !instruction->is_access && instruction->reference == address)
      return false;
    for (unsigned k = 0; k < instruction->constant_count; k++)
      if (instruction->constants[k] == address)
        return false;
  }
  return true;
}

/* Extends a table beyond the next place whose address is taken. */
static void extend_up(const struct resolver *resolver, const struct area *area,
                      struct code_value table, int64_t from, struct extent *extent) {
  bool is_own = true;
  enum entry_kind kind;
  for (int64_t n = from; (kind = kind_of_entry(resolver, area, table, n)) != ENTRY_NONE; n++) {
    is_own = is_own && !is_others(resolver, area, table, n);
    if (kind == ENTRY_START && !is_own)
      return;
    extent->end = n + 1;
  }
}

/* Extends a table downwards, but not by a table of functions that something else names. */
static void extend_down(const struct resolver *resolver, const struct area *area,
                        struct code_value table, struct extent *extent) {
  for (int64_t n = -1;; n--) {
    const enum entry_kind kind = kind_of_entry(resolver, area, table, n);
    const bool is_end = kind == ENTRY_NONE || is_others(resolver, area, table, n);
    if (kind == ENTRY_OWN || kind == ENTRY_NONE)
      extent->first = kind == ENTRY_OWN ? n : n + 1;
    if (is_end)
      return;
  }
}

/* The entries that a jump by the function's own table may go to. Tables of bytes and of short
 * numbers, of which almost each leads to some code, are in one piece. */
static struct extent table_extent(const struct resolver *resolver, struct code_value table) {
  enum { WIDE = 4 };
  const struct area *area = table_area(resolver, table);
  const int64_t end = (int64_t)((area->address + area->size - table.table) / table.size);
  struct extent extent = {0, 1};
  uint64_t target;
  int64_t n = 1;
  for (; n < end && !area_is_marked(area, MARK_BASE, table.table + (uint64_t)n * table.size); n++)
    if (entry_at(resolver->builder->graph, area, table, n, &target))
      extent.end = n + 1;
    else if (table.size < WIDE)
      return extent;
  if (table.size >= WIDE) {
    extend_up(resolver, area, table, n, &extent);
    extend_down(resolver, area, table, &extent);
  }
  return extent;
}

static void start_block(const struct resolver *resolver, uint64_t address) {
  struct step *step = find_step(resolver, address);
  if (step != NULL)
    step->block = 0;
}

/* Whatever the code takes the address of may be a table: its entries start blocks; or a place in the
 * function. */
static void start_blocks_of_table(const struct resolver *resolver, uint64_t address) {
  const struct call_graph *graph = resolver->builder->graph;
  start_block(resolver, address);
  const struct code_value tables[] = {
      {.kind = CODE_TARGET, .table = address, .base = address, .size = 4},
      {.kind = CODE_ENTRY, .table = address, .size = 8},
  };
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
    uint64_t target;
    if (!is_own_table(resolver, tables[i]))
      continue;
    const struct extent extent = table_extent(resolver, tables[i]);
    for (int64_t n = extent.first; n < extent.end; n++)
      if (entry_at(graph, table_area(resolver, tables[i]), tables[i], n, &target))
        start_block(resolver, target);
  }
}

/* The first place of those at which other functions, or exceptions, enter this one. */
static size_t first_landing(const struct resolver *resolver) {
  return search_words_below(resolver->builder->landings, resolver->builder->landing_count,
                            resolver->start);
}

static bool is_landing(const struct resolver *resolver, size_t number) {
  const struct graph_builder *builder = resolver->builder;
  return number < builder->landing_count &&
         builder->landings[number] - resolver->start < resolver->size;
}

static void start_blocks(struct resolver *resolver) {
  for (uint32_t i = 0; i < resolver->step_count; i++) {
    const struct code_instruction *instruction = &resolver->steps[i].instruction;
    resolver->steps[i].block = i == 0 || resolver->steps[i].is_target ? 0 : NO_BLOCK;
    resolver->names_label |= instruction->has_reference && !instruction->is_access &&
                             instruction->reference - resolver->start < resolver->size;
  }
  for (uint32_t i = 0; i < resolver->step_count; i++) {
    const struct code_instruction *instruction = &resolver->steps[i].instruction;
    const bool goes = instruction->kind == CODE_JUMP || instruction->kind == CODE_BRANCH;
    if (goes && instruction->target_kind == CODE_DIRECT)
      start_block(resolver, instruction->target);
    if ((goes || resolver->steps[i].is_end) && i + 1 < resolver->step_count)
      resolver->steps[i + 1].block = 0;
    if (instruction->has_reference && !instruction->is_access)
      start_blocks_of_table(resolver, instruction->reference);
    for (unsigned k = 0; k < instruction->constant_count; k++)
      start_blocks_of_table(resolver, instruction->constants[k]);
  }
}

static void make_blocks(struct resolver *resolver) {
  start_blocks(resolver);
  uint32_t count = 0;
  for (uint32_t i = 0; i < resolver->step_count; i++)
    count += resolver->steps[i].block != NO_BLOCK;
  array_make_room((void **)&resolver->blocks, &resolver->blocks_capacity, count,
                  sizeof *resolver->blocks);
  resolver->block_count = resolver->first_waiting = 0;
  for (uint32_t i = 0; i < resolver->step_count; i++) {
    if (resolver->steps[i].block != NO_BLOCK)
      resolver->blocks[resolver->block_count++] = (struct block){.first = i};
    resolver->blocks[resolver->block_count - 1].end = i + 1;
    resolver->steps[i].block = resolver->block_count - 1;
  }
}

/* ---- Following ---- */

static void wait_for(struct resolver *resolver, uint32_t number) {
  resolver->blocks[number].is_waiting = true;
  if (number < resolver->first_waiting)
    resolver->first_waiting = number;
}

/* The next block that waits; NO_BLOCK: none does. In the order of their addresses, most are
 * followed when what leads there is known. */
static uint32_t take_waiting(struct resolver *resolver) {
  for (uint32_t i = resolver->first_waiting; i < resolver->block_count; i++) {
    if (!resolver->blocks[i].is_waiting)
      continue;
    resolver->blocks[i].is_waiting = false;
    resolver->first_waiting = i + 1;
    return i;
  }
  resolver->first_waiting = resolver->block_count;
  return NO_BLOCK;
}

static bool is_same(const struct code_value *a, const struct code_value *b) {
  return a->kind == b->kind && a->table == b->table && a->base == b->base && a->size == b->size &&
         a->shift == b->shift && a->is_unsigned == b->is_unsigned && a->is_upper == b->is_upper &&
         a->is_made == b->is_made;
}

/* Control may come to a block with a state: what it knows at its start is what all agree on. */
static void enter_block(struct resolver *resolver, uint32_t number,
                        const struct code_state *state) {
  struct block *block = &resolver->blocks[number];
  bool changed = !block->is_reached;
  if (!block->is_reached)
    block->state = *state;
  for (unsigned i = 0; i < resolver->builder->architecture->register_count; i++) {
    struct code_value *known = &block->state.registers[i];
    const struct code_value *value = &state->registers[i];
    const bool is_unknown = known->kind == CODE_UNKNOWN && value->kind == CODE_UNKNOWN &&
                            known->is_made == value->is_made;
    if (is_unknown || is_same(known, value))
      continue;
    const struct code_value joined = code_either(state, *known, *value);
    changed |= !is_same(known, &joined);
    *known = joined;
  }
  block->is_reached = true;
  if (changed)
    wait_for(resolver, number);
}

static void enter_address(struct resolver *resolver, uint64_t address,
                          const struct code_state *state) {
  struct step *step = find_step(resolver, address);
  if (step == NULL)
    return;
  if (&resolver->steps[resolver->blocks[step->block].first] != step)
    step->is_target = resolver->has_targets = true;
  enter_block(resolver, step->block, state);
}

static void enter_table(struct resolver *resolver, struct code_value table,
                        const struct code_state *state) {
  uint64_t target;
  if (is_own_address(resolver, table))
    enter_address(resolver, table.table, state);
  if (!is_own_table(resolver, table))
    return;
  const struct area *area = table_area(resolver, table);
  const struct extent extent = table_extent(resolver, table);
  for (int64_t n = extent.first; n < extent.end; n++)
    if (entry_at(resolver->builder->graph, area, table, n, &target))
      enter_address(resolver, target, state);
}

static struct code_value follow_step(const struct resolver *resolver, const struct step *step,
                                     struct code_state *state) {
  const struct graph_builder *builder = resolver->builder;
  const uint64_t address = resolver->start + step->offset;
  struct code_value jump = {.kind = CODE_UNKNOWN};
  if (code_is_idle(state, &step->instruction) || code_moves_word(state, &step->instruction))
    return jump;
  if (step->instruction.kind == CODE_CALL && step->instruction.target_kind == CODE_DIRECT) {
    code_lose(state, builder->architecture->lost | builder->lost, builder->architecture->result);
    return jump;
  }
  builder->architecture->follow(resolver->area->bytes + (address - resolver->area->address),
                                resolver->size - step->offset, address, state, &jump);
  return jump;
}

/* What an instruction makes of an address of code. */
static void note_sums(struct resolver *resolver, const struct step *step,
                      struct code_state *state) {
  struct call_graph *graph = resolver->builder->graph;
  const struct code_value summed = state->summed;
  const bool is_target = summed.kind == CODE_TARGET; /* of a jump, if it's of a place of its own */
  const uint64_t base = is_target ? summed.base : summed.table;
  const bool is_own = base - resolver->start - 1 < resolver->size - 1;
  const bool is_sum = summed.kind != CODE_UNKNOWN && !(is_target && is_own) &&
                      call_graph_function(graph, base) != (uint32_t)GRAPH_NO_NODE;
  resolver->sums_code |= is_sum;
  resolver->sums_other |= is_sum && !summed.is_upper && !is_own;
  if (state->made != 0)
    graph_take(graph, state->made, TAKEN_BY_CODE, resolver->start + step->offset);
  state->summed.kind = CODE_UNKNOWN;
  state->made = 0;
}

static void follow_block(struct resolver *resolver, uint32_t number) {
  struct block *block = &resolver->blocks[number];
  struct code_state state = block->state;
  struct code_value jump = {.kind = CODE_UNKNOWN};
  resolver->slots.has_load = false;
  for (uint32_t i = block->first; i < block->end; i++) {
    jump = follow_step(resolver, &resolver->steps[i], &state);
    note_sums(resolver, &resolver->steps[i], &state);
  }
  block->has_load |= resolver->slots.has_load;
  const struct code_instruction *last = &resolver->steps[block->end - 1].instruction;
  const bool goes = last->kind == CODE_JUMP || last->kind == CODE_BRANCH;
  if (goes && last->target_kind == CODE_DIRECT)
    enter_address(resolver, last->target, &state);
  else if (last->kind == CODE_JUMP)
    enter_table(resolver, jump, &state);
  if (!resolver->steps[block->end - 1].is_end && number + 1 < resolver->block_count)
    enter_block(resolver, number + 1, &state);
}

/* Padding that no block leads to is there only to align what follows. */
static bool is_padding(const struct resolver *resolver, const struct block *block) {
  for (uint32_t i = block->first; i < block->end; i++)
    if (resolver->steps[i].instruction.kind != CODE_PADDING)
      return false;
  return true;
}

/* What is loaded from the stack may be what has been stored since then. */
static void load_again(struct resolver *resolver) {
  resolver->slots.has_grown = false;
  for (uint32_t i = 0; i < resolver->block_count; i++)
    if (resolver->blocks[i].has_load)
      wait_for(resolver, i);
}

/* Follows all blocks until nothing changes; false if that takes too long. */
static bool follow_blocks(struct resolver *resolver) {
  struct code_state nothing = {.slots = &resolver->slots};
  struct code_state start = nothing;
  for (unsigned i = 0; i < CODE_REGISTERS; i++)
    nothing.registers[i].is_made = true;
  uint64_t left = (uint64_t)resolver->step_count * STEPS_PER_INSTRUCTION;
  for (size_t i = first_landing(resolver); is_landing(resolver, i); i++)
    enter_address(resolver, resolver->builder->landings[i], &nothing);
  for (uint8_t i = 0; resolver->knows_arguments && i < CODE_ARGUMENTS; i++)
    start.registers[resolver->builder->architecture->arguments[i]] =
        (struct code_value){.kind = CODE_ARGUMENT, .table = i};
  enter_block(resolver, 0, &start);
  for (uint32_t next = 0;;) {
    for (uint32_t number; (number = take_waiting(resolver)) != NO_BLOCK;) {
      const uint32_t size = resolver->blocks[number].end - resolver->blocks[number].first;
      if (size > left)
        return false;
      left -= size;
      follow_block(resolver, number);
    }
    while (next < resolver->block_count &&
           (resolver->blocks[next].is_reached || is_padding(resolver, &resolver->blocks[next])))
      next++;
    if (next < resolver->block_count)
      enter_block(resolver, next, &nothing);
    else if (resolver->slots.has_grown)
      load_again(resolver);
    else
      return true;
  }
}

/* Follows the function until no table leads into the middle of a block; false if that takes too long. */
static bool follow_function(struct resolver *resolver) {
  enum { ROUNDS = 8 };
  for (int round = 0; round < ROUNDS; round++) {
    resolver->has_targets = resolver->sums_code = resolver->sums_other = false;
    make_blocks(resolver);
    if (!follow_blocks(resolver))
      return false;
    if (!resolver->has_targets)
      return true;
  }
  return false;
}

/* ---- Resolving ---- */

/* Replaces an indirect jump by what its table says. Only the first entries, as long as they lead
 * into this function, are known to be nothing else, up to the next place that something uses. */
static void resolve_jump(struct resolver *resolver, struct call *call, struct code_value table) {
  struct graph_builder *builder = resolver->builder;
  const struct call_graph *graph = builder->graph;
  const struct area *area = table_area(resolver, table);
  const struct extent extent = table_extent(resolver, table);
  uint64_t target, own = 0;
  for (int64_t n = extent.first; n < extent.end; n++) {
    if (!entry_at(graph, area, table, n, &target))
      continue;
    const struct step *step = find_step(resolver, target);
    const uint32_t function = call_graph_function(graph, target);
    const bool is_used = area_is_marked(area, MARK_USED, table.table + (uint64_t)n * table.size) ||
                         area_is_marked(area, MARK_BASE, table.table + (uint64_t)n * table.size);
    own += own == (uint64_t)n && step != NULL && (n == 0 || !is_used);
    if (step != NULL)
      continue;
    if (function == resolver->function) { /* between instructions: an entry of something else */
      builder->graph->functions[function].is_undecodable = true;
      continue;
    }
    graph_add_later(builder, (struct call){.at = call->at,
                                           .target = function,
                                           .length = call->length,
                                           .kind = CALL_BRANCH,
                                           .is_jump = true});
  }
  call->kind = CALL_NONE;
  (void)code_ranges_add(&builder->tables, table.table, table.table + own * table.size);
}

/* The argument that a function of the C library calls when it is called so; -1 if none is known. */
static int called_argument(const struct resolver *resolver, const struct call *call) {
  const struct call_graph *graph = resolver->builder->graph;
  uint32_t node = call->target;
  if (graph_is_function(graph, node) && !call->is_inside)
    node = graph_stub_target(graph, node);
  return graph_symbol_of(graph, node) == NULL
             ? -1
             : resolver->calls_argument[node - graph->function_count];
}

/* Gives a call what it leads to by one of its arguments, if that is the address of a function. */
static void settle_call(const struct resolver *resolver, struct call *call,
                        const struct code_state *state) {
  const struct graph_builder *builder = resolver->builder;
  const int argument = called_argument(resolver, call);
  const struct code_value *value = &state->registers[builder->architecture->arguments[argument]];
  const uint32_t function = value->kind == CODE_ADDRESS
                                ? call_graph_function(builder->graph, value->table)
                                : (uint32_t)GRAPH_NO_NODE;
  if (function == (uint32_t)GRAPH_NO_NODE ||
      builder->graph->functions[function].address != value->table)
    return;
  call->is_settled = true;
  struct call passed = *call;
  passed.target = function;
  passed.kind = CALL_PASSED;
  passed.is_inside = passed.is_settled = false;
  graph_add_later(resolver->builder, passed);
}

/* What a call's pointer may be, by what is known where its block starts. */
static struct code_value pointer_of(const struct resolver *resolver, const struct step *step,
                                    struct code_state *state) {
  const struct block *block = &resolver->blocks[step->block];
  *state = block->state;
  for (const struct step *at = &resolver->steps[block->first]; at < step; at++)
    follow_step(resolver, at, state);
  struct code_state after = *state;
  return follow_step(resolver, step, &after);
}

/* The word of the offset table that a pointer is, if only the dynamic linker writes it and it has
 * the address of a function elsewhere; otherwise NULL. */
static const struct linkage_word *known_word(const struct resolver *resolver,
                                             struct code_value pointer) {
  const struct linkage *linkage = &resolver->builder->graph->linkage;
  const struct linkage_word *word =
      pointer.kind == CODE_WORD ? linkage_find(linkage, pointer.table) : NULL;
  const bool is_known = word != NULL && word->is_constant && word->symbol != 0 &&
                        (word->kind == LINKAGE_SYMBOL || word->kind == LINKAGE_CALL) &&
                        word->value == 0 && !linkage->symbols[word->symbol].is_defined;
  return is_known ? word : NULL;
}

/* A call by 0, where nothing is: a weak symbol's address. */
static bool is_nowhere(struct code_value pointer) {
  return pointer.kind == CODE_ADDRESS && pointer.table == 0;
}

static void resolve_word(const struct resolver *resolver, struct call *call,
                         struct code_value pointer) {
  const struct linkage_word *word = known_word(resolver, pointer);
  if (word == NULL) {
    call->kind = CALL_NONE;
    return;
  }
  call->target = graph_symbol(resolver->builder->graph, word->symbol);
  call->kind = CALL_OUTSIDE;
}

/* The step of a call by a pointer; NULL if it is none. */
static const struct step *pointer_step(const struct resolver *resolver, const struct call *call) {
  const struct step *step = find_step(resolver, call->at);
  return call->kind == CALL_INDIRECT && step != NULL && !call->is_system &&
                 step->instruction.kind != CODE_RETURN
             ? step
             : NULL;
}

/* Whether the function has a jump of which nothing is known. It may lead into any block, and what
 * is known there may be wrong. */
static bool has_unknown_jump(const struct resolver *resolver) {
  const struct call_graph *graph = resolver->builder->graph;
  const struct graph_function *function = &graph->functions[resolver->function];
  for (uint32_t i = function[0].first_call; i < function[1].first_call; i++) {
    const struct call *call = &graph->calls[i];
    const struct step *step = call->is_jump ? pointer_step(resolver, call) : NULL;
    struct code_state state;
    if (step == NULL)
      continue;
    const struct code_value pointer = pointer_of(resolver, step, &state);
    if (!is_own_table(resolver, pointer) && !is_own_address(resolver, pointer) &&
        known_word(resolver, pointer) == NULL && !is_nowhere(pointer))
      return true;
  }
  return false;
}

/* Where tables have bases of their own, one may be missed. */
static bool may_miss_table(const struct resolver *resolver) {
  return resolver->builder->architecture->highest != 0 && resolver->names_label &&
         has_unknown_jump(resolver);
}

/* What isn't followed may be a sum. */
static void lose_calls(const struct resolver *resolver) {
  const struct call_graph *graph = resolver->builder->graph;
  const struct graph_function *function = &graph->functions[resolver->function];
  for (uint32_t i = function[0].first_call; i < function[1].first_call; i++)
    if (pointer_step(resolver, &graph->calls[i]) != NULL)
      graph->calls[i].target = graph_everything(graph);
}

static void resolve_calls(struct resolver *resolver) {
  struct call_graph *graph = resolver->builder->graph;
  const struct graph_function *function = &graph->functions[resolver->function];
  if (may_miss_table(resolver)) {
    lose_calls(resolver);
    return;
  }
  for (uint32_t i = function[0].first_call; i < function[1].first_call; i++) {
    struct call *call = &graph->calls[i];
    const struct step *step = find_step(resolver, call->at);
    const bool is_passing = called_argument(resolver, call) >= 0;
    struct code_state state;
    if ((pointer_step(resolver, call) == NULL && !is_passing) || step == NULL)
      continue;
    const struct code_value jump = pointer_of(resolver, step, &state);
    const bool is_word = known_word(resolver, jump) != NULL || is_nowhere(jump);
    const bool is_own = is_own_address(resolver, jump) && find_step(resolver, jump.table) != NULL;
    const bool is_sure = (is_passing || is_word || is_own) && !has_unknown_jump(resolver);
    if (is_passing && is_sure)
      settle_call(resolver, call, &state);
    else if (is_word && is_sure)
      resolve_word(resolver, call, jump);
    if (is_passing || (is_word && is_sure))
      continue;
    if (code_is_made(jump) || resolver->sums_code || step->instruction.parts.distance != 0)
      call->target = graph_everything(graph);
    if (!call->is_jump)
      continue;
    if (is_own && is_sure)
      call->kind = CALL_NONE;
    else if (is_own_table(resolver, jump))
      resolve_jump(resolver, call, jump);
  }
}

/* Whether there is a jump or a call by a pointer that must be followed. */
static bool has_open_jump(const struct resolver *resolver, const struct graph_function *function) {
  const struct call_graph *graph = resolver->builder->graph;
  const size_t landing = search_words_below(resolver->builder->landings,
                                            resolver->builder->landing_count, function->address);
  const bool is_entered = landing < resolver->builder->landing_count &&
                          resolver->builder->landings[landing] - function->address < function->size;
  if (function->uses_code)
    return true;
  for (uint32_t i = function[0].first_call; i < function[1].first_call; i++) {
    const struct call *call = &graph->calls[i];
    if (call->kind != CALL_INDIRECT ? called_argument(resolver, call) >= 0
                                    : call->is_jump || is_entered || !call->is_loaded)
      return true;
  }
  return false;
}

static void start_function(struct resolver *resolver, uint32_t number) {
  const struct call_graph *graph = resolver->builder->graph;
  const struct graph_function *function = &graph->functions[number];
  resolver->function = number;
  resolver->names_label = false;
  resolver->slots.count = resolver->slots.made_count = 0;
  resolver->slots.has_grown = resolver->slots.has_address = false;
  resolver->slots.has_distant_store = resolver->slots.moves = false;
  resolver->start = function->address;
  resolver->size = function->size;
  resolver->area = areas_find(&graph->areas, function->address);
}

static void resolve_function(struct resolver *resolver, uint32_t number) {
  const struct call_graph *graph = resolver->builder->graph;
  const struct graph_function *function = &graph->functions[number];
  if (function->size > UINT32_MAX / 2 || function->is_undecodable ||
      !has_open_jump(resolver, function))
    return;
  start_function(resolver, number);
  decode_function(resolver);
  if (!follow_function(resolver)) {
    lose_calls(resolver);
    if (function->uses_code)
      resolver->builder->hands_over = function->address;
    return;
  }
  /* What isn't for the function's own jumps may be handed to another one. */
  if (resolver->sums_other || (resolver->sums_code && !function->has_computed_jump))
    resolver->builder->hands_over = function->address;
  resolve_calls(resolver);
}

/* Where the program has a malloc of its own, the C library's functions call more than they are given. */
static void find_passing(struct resolver *resolver) {
  const struct linkage *linkage = &resolver->builder->graph->linkage;
  bool has_allocator = false;
  resolver->calls_argument = malloc((size_t)linkage->symbol_count + 1);
  for (uint32_t i = 0; i < linkage->symbol_count; i++)
    has_allocator |= linkage->symbols[i].is_defined && leaf_is_allocator(linkage->symbols[i].name);
  for (uint32_t i = 0; i < linkage->symbol_count; i++)
    resolver->calls_argument[i] = linkage->symbols[i].is_c_library && !has_allocator
                                      ? (int8_t)leaf_function_calls(linkage->symbols[i].name)
                                      : -1;
}

/* ---- What is registered ---- */

/* Notes that a function hands on one of its arguments: for one purpose only, so that a call of it
 * has one meaning. False if that can't be noted. */
static bool note_registrar(struct graph_builder *builder, uint32_t function,
                           struct leaf_registration what) {
  for (size_t i = 0; i < builder->registrar_count; i++)
    if (builder->registrars[i].function == function)
      return builder->registrars[i].what.occasions == what.occasions &&
             builder->registrars[i].what.argument == what.argument;
  if (builder->registrar_count == REGISTRARS)
    return false;
  builder->registrars[builder->registrar_count++] = (struct registrar){function, what};
  return true;
}

/* Notes what a call registers, if that is known. */
static void note_call(struct resolver *resolver, struct call *call, struct leaf_registration what) {
  struct graph_builder *builder = resolver->builder;
  const struct step *step = find_step(resolver, call->at);
  struct code_state state;
  if (step == NULL)
    return;
  pointer_of(resolver, step, &state);
  const struct code_value *value =
      &state.registers[builder->architecture->arguments[what.argument]];
  const uint32_t function = value->kind == CODE_ADDRESS
                                ? call_graph_function(builder->graph, value->table)
                                : (uint32_t)GRAPH_NO_NODE;
  if (value->kind == CODE_ARGUMENT) {
    call->is_noted =
        note_registrar(builder, resolver->function,
                       (struct leaf_registration){what.occasions, (int8_t)value->table});
  } else if (what.occasions == LEAF_AT_ABORT) {
    call->is_noted = value->kind == CODE_ADDRESS && value->table != SIGABRT;
  } else if (function != (uint32_t)GRAPH_NO_NODE &&
             builder->graph->functions[function].address == value->table) {
    builder->graph->functions[function].occasions |= what.occasions;
    call->is_noted = true;
  }
}

static bool is_registering(const struct resolver *resolver, const struct call *call) {
  return !call->is_noted && !call->is_inside &&
         graph_registers(resolver->builder, call->target).occasions != 0;
}

/* A system call runs nothing of the program's if it is known which one it is, and that it doesn't. */
static void note_system_call(const struct resolver *resolver, struct call *call) {
  const struct code_architecture *architecture = resolver->builder->architecture;
  const struct step *step = find_step(resolver, call->at);
  struct code_state state;
  if (step == NULL)
    return;
  pointer_of(resolver, step, &state);
  const struct code_value number = state.registers[architecture->system_register];
  for (const uint16_t *leaf = architecture->system_leaves; *leaf != CODE_NO_NUMBER; leaf++)
    if (number.kind == CODE_ADDRESS && number.table == *leaf)
      call->kind = CALL_NONE;
}

static bool is_open_system_call(const struct call *call) {
  return call->is_system && call->kind != CALL_NONE;
}

/* Notes what a function registers, and what it asks the operating system for. */
static void note_function(struct resolver *resolver, uint32_t number) {
  struct call_graph *graph = resolver->builder->graph;
  const struct graph_function *function = &graph->functions[number];
  bool registers = false;
  for (uint32_t i = function[0].first_call; i < function[1].first_call; i++)
    registers |=
        is_registering(resolver, &graph->calls[i]) || is_open_system_call(&graph->calls[i]);
  if (!registers || function->is_undecodable || function->size > UINT32_MAX / 2)
    return;
  start_function(resolver, number);
  decode_function(resolver);
  const bool is_fixed = resolver->slots.is_fixed;
  resolver->knows_arguments = resolver->slots.is_fixed = true; /* for numbers of signals */
  const bool is_followed = follow_function(resolver) && !has_unknown_jump(resolver);
  for (uint32_t i = function[0].first_call; is_followed && i < function[1].first_call; i++) {
    struct call *call = &graph->calls[i];
    if (is_registering(resolver, call))
      note_call(resolver, call, graph_registers(resolver->builder, call->target));
    else if (is_open_system_call(call))
      note_system_call(resolver, call);
  }
  resolver->knows_arguments = false;
  resolver->slots.is_fixed = is_fixed;
}

/* Each round knows more functions that hand on what they are given. */
static void note_registered(struct resolver *resolver) {
  const struct graph_builder *builder = resolver->builder;
  size_t known;
  do {
    known = builder->registrar_count;
    for (uint32_t i = 0; i < builder->graph->function_count; i++)
      note_function(resolver, i);
  } while (builder->registrar_count > known);
}

void jump_tables_resolve(struct graph_builder *builder) {
  const struct call_graph *graph = builder->graph;
  struct resolver resolver = {.builder = builder,
                              .slots.is_fixed = graph->linkage.is_fixed,
                              .slots.start = graph->code_start,
                              .slots.size = graph->code_span,
                              .slots.lost = builder->lost};
  find_passing(&resolver);
  registered_open(builder);
  if (builder->landing_count > 0)
    qsort(builder->landings, builder->landing_count, sizeof *builder->landings, bits_compare_words);
  for (uint32_t i = 0; i < builder->graph->function_count; i++)
    resolve_function(&resolver, i);
  note_registered(&resolver);
  free(resolver.steps);
  free(resolver.step_at);
  free(resolver.blocks);
  free(resolver.calls_argument);
}
