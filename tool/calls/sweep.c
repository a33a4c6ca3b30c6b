/* sweep.c - decodes all code, function by function, for its calls and references.
 *
 * Code is decoded from a function's first byte to its last. That finds every instruction that a
 * compiler made, also those that only exceptions reach, such as landing pads. It goes wrong where
 * there is data between the code, and where a jump enters an instruction (past a `lock` prefix, as
 * in the C library). So each jump's target is compared with the instructions that were found, and
 * decoded as well if it is between them, until both ways meet; and so is each place whose address
 * the function computes. A function with invalid bytes is undecodable, and so is one that another
 * function's jump enters between its instructions, or that has the address of such a place computed
 * elsewhere, or in data.
 *
 * A return that may take another address than the function's own return address (returns.h) is a
 * call of everything; and so is a jump to another function that leaves something on the stack for
 * that one's return.
 *
 * Each function is decoded into the builder's unit, where returns.c follows it at once.
 *
 * The end of each function is noted, and settled after all calls were found: see endings.c.
 */
#include "format/array.h"
#include "format/bits.h"
#include "format/search.h"
#include "tool/calls/call_graph.h"
#include "tool/calls/endings.h"
#include "tool/calls/returns.h"
#include "tool/code/code.h"
#include "tool/code/parts.h"

#include <stdlib.h>
#include <string.h>

/* A pointer that is called was loaded at an address. */
struct load {
  uint64_t at;
  uint32_t call;
};

struct sweep {
  struct graph_builder *builder;
  uint32_t function;
  uint64_t start, end;

  /* Where control may come in the function, by a jump or by its address: the distance from the
   * start, twice, plus 1 for a jump. */
  struct integers targets;
  uint64_t *code_ends;     /* by function: after its last instruction, besides padding */
  struct integers entered; /* places in other functions that direct jumps and calls enter */

  struct endings endings;
  struct returns returns;
  struct parts parts;
  bool names_code;    /* this instruction does */
  struct load *loads; /* of this function */
  size_t load_count, load_capacity;
  struct code_range zeros; /* a run of zero bytes, up to another byte, or the function's end */
};

static void add_load(struct sweep *sweep, uint32_t call, uint64_t at) {
  (void)ARRAY_ADD(sweep->loads, sweep->load_count, sweep->load_capacity, (struct load){at, call});
}

static void add_target(struct sweep *sweep, uint64_t address, bool is_jumps) {
  integers_add(&sweep->targets, (address - sweep->start) * 2 + is_jumps);
}

/* Control may come to the middle of another function as if to its start. Parts of functions, and
 * the code that they return to, have other things on the stack. */
static void enter_at(struct sweep *sweep, uint32_t function, uint64_t address) {
  graph_add_landing(sweep->builder, address, GRAPH_NO_NODE);
  const struct graph_function *functions = sweep->builder->graph->functions;
  if (!functions[sweep->function].is_part && !functions[function].is_part)
    returns_enter(&sweep->returns, address);
}

/* Whether it goes to the address in a register, as seen so far (parts.h). */
static bool is_through(const struct code_instruction *instruction) {
  return instruction->parts.part == CODE_THROUGH && instruction->target_kind != CODE_COMPUTED;
}

static void add_call(struct sweep *sweep, uint64_t at, const struct code_instruction *instruction,
                     uint32_t target, enum call_kind kind) {
  const struct call_graph *graph = sweep->builder->graph;
  const bool is_direct = instruction->target_kind == CODE_DIRECT;
  const struct call call = {.at = at,
                            .target = target,
                            .length = instruction->length,
                            .kind = (uint8_t)kind,
                            .is_jump = instruction->kind != CODE_CALL && !instruction->is_system,
                            .is_system = instruction->is_system,
                            .is_through = is_through(instruction) && kind != CALL_INDIRECT,
                            .is_inside = is_direct && graph_is_function(graph, target) &&
                                         graph->functions[target].address != instruction->target};
  graph_add_call(sweep->builder, call);
}

/* ---- Calls and jumps ---- */

static enum call_kind direct_kind(const struct code_instruction *instruction) {
  return instruction->kind == CODE_CALL   ? CALL_DIRECT
         : instruction->kind == CODE_JUMP ? CALL_TAIL
                                          : CALL_BRANCH;
}

static void add_computed(struct sweep *sweep, uint64_t at,
                         const struct code_instruction *instruction) {
  struct call_graph *graph = sweep->builder->graph;
  if (instruction->kind != CODE_CALL)
    graph->functions[sweep->function].has_computed_jump = true;
  add_call(sweep, at, instruction, graph_anything(graph), CALL_INDIRECT);
}

static void add_direct(struct sweep *sweep, uint64_t at, const struct code_instruction *instruction,
                       uint64_t target) {
  struct call_graph *graph = sweep->builder->graph;
  if (target - sweep->start < sweep->end - sweep->start) {
    add_target(sweep, target, true);
    if (instruction->kind == CODE_CALL)
      add_call(sweep, at, instruction, sweep->function, direct_kind(instruction));
    else if (is_through(instruction))
      add_computed(sweep, at, instruction);
    return;
  }
  const uint32_t function = call_graph_function(graph, target);
  if (function == GRAPH_NO_NODE) { /* outside all functions: weak and undefined? */
    add_call(sweep, at, instruction, graph_anything(graph), CALL_INDIRECT);
    return;
  }
  if (graph->functions[function].address != target) {
    integers_add(&sweep->entered, target);
    if (instruction->kind == CODE_CALL)
      enter_at(sweep, function, target);
    else
      graph_add_landing(sweep->builder, target, sweep->function);
  }
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

/* A call by way of a word that the dynamic linker fills in, if that stays constant. */
static bool add_by_slot(struct sweep *sweep, uint64_t at,
                        const struct code_instruction *instruction) {
  const struct call_graph *graph = sweep->builder->graph;
  const struct area *area = areas_find(&graph->areas, instruction->target);
  const struct linkage_word *word = linkage_find(&graph->linkage, instruction->target);
  const bool is_constant = area != NULL && area->is_constant && !area->is_code;
  if (word == NULL || word->kind == CODE_RELOCATION_RESOLVER ||
      (!is_constant && !word->is_constant))
    return false;
  if (word->kind == CODE_RELOCATION_ADDRESS)
    add_direct(sweep, at, instruction, word->value);
  else
    add_by_symbol(sweep, at, instruction, word);
  return true;
}

static void add_transfer(struct sweep *sweep, uint64_t at,
                         const struct code_instruction *instruction) {
  if (instruction->target_kind == CODE_DIRECT)
    add_direct(sweep, at, instruction, instruction->target);
  else if (instruction->target_kind != CODE_SLOT || !add_by_slot(sweep, at, instruction))
    add_computed(sweep, at, instruction);
}

/* ---- References ---- */

/* An address that is named, if it is of code: any other may be made of it. Labels of the function's
 * own are mostly for its own jumps. */
static void note_named(struct sweep *sweep, uint64_t address) {
  struct graph_function *function = &sweep->builder->graph->functions[sweep->function];
  if (call_graph_function(sweep->builder->graph, address) == GRAPH_NO_NODE)
    return;
  const uint64_t into = address - sweep->start;
  if (into != 0 && into < sweep->end - sweep->start)
    add_target(sweep, address, false);
  function->names_code |= into - 1 >= sweep->end - sweep->start - 1;
  sweep->names_code = true;
}

/* A place outside code that is named, by its address or by a word that has it: a table of distances
 * may be there, or what they are measured from (distances.c). */
static void note_place(struct sweep *sweep, uint64_t address) {
  struct graph_builder *builder = sweep->builder;
  const struct area *area = areas_find(&builder->graph->areas, address);
  if (!areas_are_beyond(&builder->graph->areas, address) && (area == NULL || !area->is_code))
    (void)ARRAY_ADD(builder->namings, builder->naming_count, builder->naming_capacity,
                    (struct naming){sweep->function, address});
}

/* The address that a word of memory has at the start; false if there is none. The file's first byte
 * has the address 0 in a file that may be loaded anywhere. */
static bool read_place(const struct sweep *sweep, uint64_t address, uint64_t *place) {
  const struct linkage *linkage = &sweep->builder->graph->linkage;
  const struct area *area = areas_find(&sweep->builder->graph->areas, address);
  const struct linkage_word *word = linkage_find(linkage, address);
  if (word != NULL) {
    *place = word->value + linkage->symbols[word->symbol].address;
    return word->symbol == 0 || linkage->symbols[word->symbol].is_defined;
  }
  if (!linkage->is_fixed || area == NULL || area->size - (address - area->address) < sizeof *place)
    return false;
  memcpy(place, area->bytes + (address - area->address), sizeof *place);
  return *place != 0;
}

static void note_places(struct sweep *sweep, const struct code_instruction *instruction) {
  uint64_t place;
  note_place(sweep, instruction->reference);
  if (instruction->is_access && read_place(sweep, instruction->reference, &place))
    note_place(sweep, place);
}

/* Whether it jumps by a word of the offset table: that takes no function's address. */
static bool is_by_offset_table(const struct linkage *linkage,
                               const struct code_instruction *instruction) {
  const struct linkage_word *word =
      instruction->target_kind == CODE_SLOT &&
              (instruction->kind == CODE_CALL || instruction->kind == CODE_JUMP)
          ? linkage_find(linkage, instruction->target)
          : NULL;
  return word != NULL && word->is_constant;
}

/* A place in another function: control may come there. Near the start of that, or of the next one,
 * it is its address with a tag, or a bound for a compiler's comparison. */
static void add_label(struct sweep *sweep, uint64_t address) {
  const struct call_graph *graph = sweep->builder->graph;
  const uint32_t number = call_graph_function(graph, address);
  if (number != GRAPH_NO_NODE && number != sweep->function &&
      address - graph->functions[number].address >= GRAPH_TAG_SIZE &&
      call_graph_function(graph, address + GRAPH_TAG_SIZE - 1) == number)
    enter_at(sweep, number, address);
}

/* Takes the function at a distance from an offset table. With a tag, the distance isn't 0: numbers
 * such as 1.0 (0x3ff0000000000000) are no addresses of the table. */
static void take_distance(struct sweep *sweep, uint64_t at, uint64_t table, uint64_t distance) {
  struct call_graph *graph = sweep->builder->graph;
  const uint64_t address = table + distance;
  if (table != 0 && ((uint32_t)distance != 0 || areas_find(&graph->areas, address) != NULL))
    graph_take(graph, address, TAKEN_BY_CODE, at);
}

static void add_references(struct sweep *sweep, uint64_t at,
                           const struct code_instruction *instruction) {
  struct call_graph *graph = sweep->builder->graph;
  if (instruction->has_reference)
    note_places(sweep, instruction);
  if (instruction->has_reference && instruction->is_access) {
    struct area *area = areas_find(&graph->areas, instruction->reference);
    if (area != NULL && !area->is_code && !is_by_offset_table(&graph->linkage, instruction))
      area_mark(area, MARK_USED, instruction->reference);
  } else if (instruction->has_reference) {
    const bool is_known = graph_take(graph, instruction->reference, TAKEN_BY_CODE, at);
    const bool is_global = instruction->reference == sweep->builder->global;
    const bool is_weak = instruction->reference == 0; /* an undefined symbol */
    if (!is_known && !is_global && !is_weak &&
        areas_are_beyond(&graph->areas, instruction->reference))
      sweep->builder->hands_over = at; /* of a function, plus a constant that others know? */
    note_named(sweep, instruction->reference);
    add_label(sweep, instruction->reference);
  }
  for (unsigned i = 0; graph->linkage.is_fixed && i < instruction->constant_count; i++) {
    graph_take(graph, instruction->constants[i], TAKEN_BY_CODE, at);
    note_place(sweep, instruction->constants[i]);
    note_named(sweep, instruction->constants[i]);
  }
  for (unsigned i = 0; instruction->is_wide && i < OFFSET_TABLES; i++)
    take_distance(sweep, at, graph->linkage.offset_tables[i],
                  instruction->constants[instruction->constant_count - 1]);
}

/* An address's upper part that may be used anywhere: it may become any function's address there. */
static void open_upper(void *context, uint64_t upper) {
  struct sweep *sweep = context;
  struct graph_builder *builder = sweep->builder;
  struct graph_function *function = &builder->graph->functions[sweep->function];
  const uint64_t lowest = upper + (uint64_t)(int64_t)builder->architecture->lowest;
  const uint64_t end = upper + (uint64_t)(int64_t)builder->architecture->highest + 1;
  const uint64_t start = lowest < end ? lowest : 0; /* an upper part near 0 */
  if (graph_take_range(builder, start, end, TAKEN_BY_CODE, sweep->start)) {
    function->names_code = function->uses_code = true;
    sweep->names_code = true;
  }
  (void)code_ranges_add(&builder->open, start, end);
}

/* ---- Functions ---- */

/* Where decoding has come to in a function, in the order of addresses, besides padding. */
struct course {
  enum code_kind last;
  uint64_t end;       /* after the last instruction */
  uint32_t last_call; /* index into calls, plus 1: of the last instruction, if that is a call */
  uint32_t code;      /* registers that may hold an address of code that is named here */
  uint32_t loaded;    /* registers that hold words of memory, loaded since the last jump to here */
  uint64_t loaded_at[CODE_REGISTERS];
};

static bool is_inside(const struct sweep *sweep, const struct code_instruction *instruction) {
  return instruction->target_kind == CODE_DIRECT &&
         instruction->target - sweep->start < sweep->end - sweep->start;
}

/* A return that takes another address from the stack than the function's own may go anywhere; and
 * so may the operating system: it runs signal handlers, or goes on at an address from the stack
 * (rt_sigreturn). */
static void add_odd(struct sweep *sweep, uint64_t at, const struct code_instruction *instruction) {
  add_call(sweep, at, instruction, graph_everything(sweep->builder->graph), CALL_INDIRECT);
}

/* Whether an instruction does more with an address of code that the function names than to pass it
 * to a call, to store it in memory other than the stack's, or to overwrite it: value_flow.c follows
 * it then. Instructions are followed as for parts of addresses (parts.h). */
static bool follow_registers(const struct sweep *sweep, struct course *course,
                             const struct code_instruction *instruction) {
  struct graph_function *function = &sweep->builder->graph->functions[sweep->function];
  const struct code_parts *parts = &instruction->parts;
  const bool reads_code = (course->code & parts->reads) != 0;
  const bool reads = reads_code || (sweep->names_code && parts->writes == 0);
  const bool is_store = instruction->stack.base != CODE_NO_BASE && !instruction->stack.is_read;
  const bool is_other = instruction->kind == CODE_OTHER;
  const bool makes =
      instruction->is_sum ||
      (!parts->is_copy && (parts->writes != 0 || (reads_code && parts->may_write != 0)));
  const bool is_inside_jump =
      instruction->target_kind != CODE_DIRECT || is_inside(sweep, instruction);
  const bool is_copy_of_code = parts->is_copy && reads_code;
  function->stores_code |= is_other && reads && instruction->may_store;
  course->code &= ~parts->writes;
  course->code |= is_other && (sweep->names_code || is_copy_of_code) ? parts->writes : 0;
  if (instruction->kind == CODE_CALL)
    course->code &= ~sweep->builder->architecture->lost;
  if (is_other)
    return (reads && (is_store || makes)) || (sweep->names_code && instruction->is_sum);
  return code_jumps(instruction->kind) && is_inside_jump && course->code != 0;
}

/* Notes a pointer that is loaded from memory: it can't be a sum of this function's. Others are
 * followed (value_flow.c). */
static void note_pointer(struct sweep *sweep, uint64_t at, struct course *course,
                         const struct code_instruction *instruction, uint32_t call) {
  const struct call_graph *graph = sweep->builder->graph;
  const struct code_parts *parts = &instruction->parts;
  const uint32_t written = parts->writes | parts->may_write;
  if (instruction->kind == CODE_OTHER) {
    course->loaded &= ~written;
    /* A word that is named may be a symbol's. */
    if (parts->is_load && !instruction->has_reference && written != 0) {
      course->loaded |= written;
      course->loaded_at[__builtin_ctz(written)] = at;
    }
    return;
  }
  const struct code_values *values = &instruction->values;
  const bool is_loaded = values->operation == VALUE_GO && values->first < CODE_REGISTERS &&
                         (course->loaded >> values->first & 1) != 0;
  course->loaded &= instruction->kind == CODE_BRANCH ? UINT32_MAX
                    : instruction->kind == CODE_CALL ? ~sweep->builder->architecture->lost
                                                     : 0;
  if (call == graph->call_count || graph->calls[call].kind != CALL_INDIRECT ||
      instruction->target_kind == CODE_DIRECT)
    return;
  graph->calls[call].is_loaded = is_loaded || parts->is_load;
  if (is_loaded)
    add_load(sweep, call, course->loaded_at[values->first]);
}

/* Whether an instruction may put an address on the stack into a register, or into memory, or use
 * one as an index. */
static bool makes_stack_address(const struct code_architecture *architecture,
                                const struct code_instruction *instruction) {
  const unsigned frame = architecture->in_sets[0];
  const uint32_t pointers = (uint32_t)1 << architecture->stack_pointer | (uint32_t)1 << frame;
  return instruction->stack.is_address || instruction->stack.handed != CODE_NO_BASE ||
         (instruction->is_sum && (instruction->parts.reads & pointers) != 0 &&
          (instruction->parts.writes & ~pointers) != 0) ||
         instruction->values.index == frame;
}

static void add_instruction(struct sweep *sweep, uint64_t at,
                            const struct code_instruction *instruction, struct course *course) {
  struct call_graph *graph = sweep->builder->graph;
  const uint32_t calls = graph->call_count;
  switch (instruction->kind) {
  case CODE_PADDING:
    return;
  case CODE_RETURN:
    sweep->endings.returns[sweep->function] = true;
    if (instruction->stack.growth != 0)
      add_odd(sweep, at, instruction);
    break;
  case CODE_CALL:
  case CODE_JUMP:
  case CODE_BRANCH:
    add_transfer(sweep, at, instruction);
    break;
  default:
    if (instruction->is_system)
      add_odd(sweep, at, instruction);
    break;
  }
  struct graph_function *function = &graph->functions[sweep->function];
  sweep->names_code = false;
  add_references(sweep, at, instruction);
  note_pointer(sweep, at, course, instruction, calls);
  function->has_stack_address |= makes_stack_address(sweep->builder->architecture, instruction);
  function->uses_code |= follow_registers(sweep, course, instruction);
  course->last = instruction->kind;
  course->end = at + instruction->length;
  course->last_call = graph->call_count > calls ? calls + 1 : 0;
}

/* Whether all bytes are 0 from an address to the function's end. Each run of zeros is read once. */
static bool are_zero(struct sweep *sweep, const uint8_t *bytes, uint64_t at) {
  struct code_range *zeros = &sweep->zeros;
  if (at < zeros->start || at >= zeros->end) {
    *zeros = (struct code_range){at, at};
    while (zeros->end < sweep->end && bytes[zeros->end - at] == 0)
      zeros->end++;
  }
  return zeros->end == sweep->end;
}

/* Decodes from an address on, up to a decoded instruction, or the function's end: true if it comes
 * to that. */
static bool decode_from(struct sweep *sweep, uint64_t at, struct course *course) {
  const struct graph_builder *builder = sweep->builder;
  struct area *area = areas_find(&builder->graph->areas, at);
  const bool has_parts = builder->architecture->highest != 0;
  struct code_instruction *instruction = &sweep->returns.unit->next;
  if (has_parts)
    parts_reset(&sweep->parts);
  course->code = course->loaded = 0;
  while (at < sweep->end && !area_is_marked(area, MARK_INSTRUCTION, at)) {
    const uint8_t *bytes = area->bytes + (at - area->address);
    decoder_read(&sweep->returns.unit->decoder, bytes, area->address + area->size - at, at,
                 instruction);
    if (instruction->length > sweep->end - at) { /* the next function starts inside */
      if (instruction->kind == CODE_PADDING)
        return true;
      *instruction = (struct code_instruction){.length = 1, .kind = CODE_INVALID};
    }
    /* Some linkers fill gaps with zeros: instructions by chance, and the last may be cut off. */
    const bool may_fill = instruction->kind == CODE_INVALID || code_ends(course->last);
    if (may_fill && are_zero(sweep, bytes, at))
      return true;
    if ((has_parts && !parts_follow(&sweep->parts, instruction, open_upper, sweep)) ||
        (instruction->may_be_call && builder->graph->areas.may_have_short_calls))
      builder->graph->functions[sweep->function].is_undecodable = true;
    if (instruction->kind == CODE_INVALID)
      builder->graph->functions[sweep->function].is_undecodable = true;
    area_mark(area, MARK_INSTRUCTION, at); /* an invalid one, too: each place has one step */
    add_instruction(sweep, at, instruction, course);
    instruction->address = at;
    unit_put(sweep->returns.unit);
    at += instruction->length;
  }
  if (has_parts)
    parts_leave(&sweep->parts, open_upper, sweep);
  return at >= sweep->end;
}

/* If a jump enters between a load and the call, the pointer may be another one there. */
static void check_loads(struct sweep *sweep) {
  struct call *calls = sweep->builder->graph->calls;
  struct integers *targets = &sweep->targets;
  if (sweep->load_count > 0)
    integers_sort(targets);
  for (size_t i = 0; i < sweep->load_count; i++) {
    const struct load *load = &sweep->loads[i];
    const uint64_t behind = load->at + 1 - sweep->start, call = calls[load->call].at - sweep->start;
    const size_t next = search_words_below(targets->items, targets->count, behind * 2);
    if (next < targets->count && targets->items[next] / 2 <= call)
      calls[load->call].is_loaded = false;
  }
}

/* Decodes from a target on, if it is inside an instruction. Returns whether control may pass the
 * function's end from there, after instructions, or from padding behind all of them. An address
 * inside a padding instruction there is a bound, as of `f - 1`. */
static bool runs_on_from(struct sweep *sweep, uint64_t address, bool is_jumps, uint64_t code_end) {
  const struct area *area = areas_find(&sweep->builder->graph->areas, address);
  const bool is_behind = address >= code_end;
  const bool is_step = area_is_marked(area, MARK_INSTRUCTION, address);
  struct course side = {.last = CODE_OTHER};
  const bool comes_to_end = decode_from(sweep, address, &side);
  const bool runs_on = comes_to_end ? !code_ends(side.last) : is_behind;
  return runs_on && (is_jumps || !is_behind || is_step);
}

static void sweep_function(struct sweep *sweep, uint32_t number) {
  struct call_graph *graph = sweep->builder->graph;
  struct graph_function *function = &graph->functions[number];
  struct course course = {.last = CODE_PADDING};
  sweep->function = number;
  sweep->start = function->address;
  sweep->end = function->address + function->size;
  sweep->targets.count = sweep->load_count = 0;
  sweep->zeros = (struct code_range){0};
  function->first_call = graph->call_count;
  if (function->is_data)
    return;
  returns_begin(&sweep->returns, number);
  function->is_undecodable |= areas_find(&graph->areas, sweep->start)->is_undecodable;
  (void)decode_from(sweep, sweep->start, &course);
  sweep->endings.runs_on[number] = code_ends(course.last) ? ENDS : RUNS_ON;
  sweep->endings.last_calls[number] = course.last == CODE_CALL ? course.last_call : 0;
  sweep->code_ends[number] = course.end;
  for (size_t i = 0; i < sweep->targets.count; i++) {
    const uint64_t target = sweep->targets.items[i];
    if (runs_on_from(sweep, sweep->start + target / 2, target % 2 != 0, course.end))
      endings_run_on(&sweep->endings, number);
  }
  check_loads(sweep);
  returns_follow(&sweep->returns);
}

/* ---- The whole ---- */

/* A function that another one enters between its instructions was misread. */
static void check_landings(const struct graph_builder *builder) {
  struct call_graph *graph = builder->graph;
  for (size_t i = 0; i < builder->landing_count; i++) {
    const uint64_t address = builder->landings[i].address;
    const struct area *area = areas_find(&graph->areas, address);
    const uint32_t function = call_graph_function(graph, address);
    graph->functions[function].is_undecodable |= !area_is_marked(area, MARK_INSTRUCTION, address);
  }
}

/* Control passes the end of a function whose padding another one enters. */
static void pass_ends(struct sweep *sweep) {
  for (size_t i = 0; i < sweep->entered.count; i++) {
    const uint64_t place = sweep->entered.items[i];
    const uint32_t function = call_graph_function(sweep->builder->graph, place);
    if (place >= sweep->code_ends[function])
      endings_run_on(&sweep->endings, function);
  }
}

/* The value that the code gives to the global pointer; 0 if it gives it several. */
static void find_global(struct graph_builder *builder) {
  const struct code_architecture *architecture = builder->architecture;
  const struct areas *areas = &builder->graph->areas;
  bool is_one = true;
  for (size_t i = 0; architecture->sets_global != NULL && i < areas->count; i++) {
    const struct area *area = &areas->items[i];
    for (uint64_t at = 0, value; area->is_code && at < area->size; at += 2)
      if (architecture->sets_global(area->bytes + at, area->size - at, area->address + at,
                                    &value)) {
        is_one &= builder->global == 0 || builder->global == value;
        builder->global = value;
        const uint32_t function = call_graph_start(builder->graph, area->address + at);
        if (function != GRAPH_NO_NODE)
          builder->graph->functions[function].sets_global = true;
      }
  }
  if (!is_one)
    builder->global = 0;
}

void sweep(struct graph_builder *builder) {
  struct call_graph *graph = builder->graph;
  find_global(builder);
  struct sweep sweep = {
      .builder = builder,
      .code_ends = calloc((size_t)graph->function_count + 1, sizeof *sweep.code_ends),
      .parts = graph_parts(builder),
  };
  builder->unit = unit_open(builder->architecture, &sweep.parts);
  endings_open(&sweep.endings, builder);
  returns_open(&sweep.returns, builder);
  for (uint32_t i = 0; i < graph->function_count; i++)
    sweep_function(&sweep, i);
  graph->functions[graph->function_count].first_call = graph->call_count;
  check_landings(builder);
  pass_ends(&sweep);
  returns_settle(&sweep.returns, &sweep.endings);
  endings_settle(&sweep.endings);
  returns_close(&sweep.returns);
  free(sweep.targets.items);
  free(sweep.entered.items);
  free(sweep.code_ends);
  free(sweep.loads);
}
