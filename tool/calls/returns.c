/* returns.c - see returns.h. */
#include "tool/calls/returns.h"

#include "format/array.h"
#include "format/search.h"
#include "tool/flow/helper.h"

#include <string.h>

enum { WORD = 8, CHANGES_MAX = 8, TIMES_MAX = 32, CALLED_HELPER_MAX = HELPER_INSTRUCTIONS * 4 };

static const struct state nothing = {/* is known */
                                     .stack.is_foreign = true,
                                     .frame.is_foreign = true,
                                     .has_calls_link = true};

static bool is_inside(const struct returns *returns, const struct unit_step *step) {
  return step->target_kind == CODE_DIRECT && step->target - returns->start < returns->size;
}

static bool is_part(const struct returns *returns, uint32_t function) {
  return returns->builder->graph->functions[function].is_part;
}

static uint32_t target_function(const struct returns *returns, const struct unit_step *step) {
  return step->target_kind == CODE_DIRECT
             ? call_graph_function(returns->builder->graph, step->target)
             : GRAPH_NO_NODE;
}

static void add_finding(struct returns *returns, uint64_t at, enum finding kind) {
  if (!returns->verdicts[returns->function].is_unfinished)
    (void)ARRAY_ADD(returns->findings, returns->finding_count, returns->finding_capacity,
                    (struct returns_finding){at, returns->function, kind});
}

/* ---- Entries ---- */

static void wait_for(struct returns *returns, uint32_t function) {
  struct returns_verdict *verdict = &returns->verdicts[function];
  if (verdict->times == 0 || verdict->times > TIMES_MAX || verdict->is_waiting)
    return;
  waiting_add(&returns->waiting, function);
  verdict->is_waiting = true;
}

/* Another function may go to an address with a state. After many changes, the entry's state has no
 * facts left: so their number is bounded. */
static void enter(struct returns *returns, uint64_t address, const struct state *state) {
  const uint32_t function = call_graph_function(returns->builder->graph, address);
  if (function == GRAPH_NO_NODE)
    return;
  const uint32_t number = intern_add(&returns->numbers, &address, 1);
  if (number < returns->entry_count) {
    struct returns_entry *entry = &returns->entries[number];
    if (!state_join(&entry->state, state))
      return;
    if (++entry->changes > CHANGES_MAX)
      entry->state = nothing;
  } else {
    struct returns_verdict *verdict = &returns->verdicts[function];
    const struct returns_entry entry = {address, *state, 0, verdict->first_entry};
    (void)ARRAY_ADD(returns->entries, returns->entry_count, returns->entry_capacity, entry);
    verdict->first_entry = (uint32_t)returns->entry_count;
  }
  wait_for(returns, function);
}

void returns_enter(struct returns *returns, uint64_t address) {
  const struct state start = state_at_start(returns->builder->architecture);
  enter(returns, address, &start);
}

/* Enters a place in the function, where start_blocks has started a block. */
static void enter_inside(struct unit *unit, uint64_t address, const struct state *state,
                         bool is_guessed) {
  const bool is_entered = unit_enter(unit, address, state, is_guessed);
  assert(is_entered);
  (void)is_entered;
}

/* The landing pad of a call, or NULL. */
static const struct landing_pad *pad_of(const struct graph_builder *builder, uint64_t at) {
  const size_t count = SEARCH_UP_TO(builder->pads, builder->pad_count, calls.start, at);
  return count > 0 && at < builder->pads[count - 1].calls.end ? &builder->pads[count - 1] : NULL;
}

/* Enters the landing pad of a call: the unwinder restores the stack and the registers. */
static void enter_landing(struct returns *returns, uint64_t at, const struct state *state) {
  const struct landing_pad *pad = pad_of(returns->builder, at);
  if (pad == NULL)
    return;
  if (pad->landing - returns->start >= returns->size)
    enter(returns, pad->landing, state);
  else
    enter_inside(returns->unit, pad->landing, state, false);
}

/* ---- Uses of the stack ---- */

static void add_odd(struct returns *returns, uint64_t at) {
  struct returns_verdict *verdict = &returns->verdicts[returns->function];
  if (!verdict->is_odd)
    verdict->odd_at = at;
  verdict->is_odd = true;
}

static void add_kept(struct returns *returns, int64_t at) {
  for (unsigned i = 0; i < returns->kept_count; i++)
    if (returns->kept[i] == at)
      return;
  if (returns->kept_count < RETURNS_KEPT)
    returns->kept[returns->kept_count++] = at;
  else
    add_odd(returns, returns->start); /* there are too many */
}

static void add_handed(struct returns *returns, const struct state_use *use) {
  const size_t count = returns->handed_count;
  const struct state_use *last = count == 0 ? NULL : &returns->handed[count - 1];
  if (use->is_known && use->size > 0 &&
      (last == NULL || last->at != use->at || last->size != use->size))
    (void)ARRAY_ADD(returns->handed, returns->handed_count, returns->handed_capacity, *use);
}

/* Above the function's own part of the stack are its arguments, and its callers' return
 * addresses. */
static void judge_memory(struct returns *returns, uint64_t at, const struct state *before,
                         const struct state *after, const struct state_uses *uses) {
  const struct state_use *use = &uses->memory;
  struct returns_verdict *verdict = &returns->verdicts[returns->function];
  verdict->reads_return |= uses->reads_return;
  verdict->is_read_surely |= uses->reads_return_surely;
  if (use->is_address)
    add_handed(returns, use);
  if (uses->handed.is_known)
    add_handed(returns, &uses->handed);
  if (!use->is_known || use->size == 0 || use->is_read || use->is_address)
    return;
  if (use->at + use->size > (returns->unit->architecture->has_link ? 0 : WORD))
    add_odd(returns, at);
  const uint32_t saved = after->stored & ~(uint32_t)before->stored;
  if ((saved >> KEPT_FRAME & 1) != 0)
    add_kept(returns, after->places[KEPT_FRAME]);
  if ((saved >> KEPT_LINK & 1) != 0)
    add_kept(returns, after->places[KEPT_LINK]);
}

/* Whether an instruction stores something by the caller's frame pointer, over its frame pointer or
 * return address; or may let others do so: it makes more of this pointer than to save it. */
static bool uses_caller(const struct returns *returns, const struct state *before,
                        const struct code_stack *stack) {
  const int64_t from = returns->builder->architecture->callers_frame;
  const bool has_callers = !before->frame.is_known && (before->own >> KEPT_FRAME & 1) != 0;
  const bool is_saved = stack->base == CODE_STACK_POINTER &&
                        ((stack->saves[0] | stack->saves[1]) & CODE_PRESERVED_FRAME) != 0;
  const bool is_used = stack->base == CODE_FRAME_POINTER && !stack->is_read &&
                       stack->offset < from + 2 * WORD &&
                       from < (int64_t)stack->offset + stack->size;
  return has_callers && (is_used || (stack->handed == CODE_FRAME_POINTER && !is_saved));
}

/* Whether others may write to the return address, or to the caller's frame pointer. */
static bool may_be_overwritten(const struct returns *returns) {
  for (size_t i = 0; i < returns->handed_count; i++)
    for (unsigned k = 0; k < returns->kept_count; k++)
      if (returns->handed[i].at < returns->kept[k] + WORD &&
          returns->kept[k] < returns->handed[i].at + returns->handed[i].size)
        return true;
  return false;
}

/* ---- Helpers ---- */

static uint64_t bytes_at(const void *context, uint64_t address, const uint8_t **bytes) {
  const struct area *area = areas_find(context, address);
  if (area == NULL || !area->is_code || area->is_undecodable)
    return 0;
  *bytes = area->bytes + (address - area->address);
  return area->address + area->size - address;
}

/* Whether a call or jump may be to a helper: this excludes most, to save time. */
static bool may_be_helped(const struct returns *returns, const struct state *state,
                          const struct unit_step *transfer) {
  const struct call_graph *graph = returns->builder->graph;
  if (!returns->builder->architecture->has_link || transfer->target_kind != CODE_DIRECT)
    return false;
  if (transfer->kind != CODE_CALL)
    return transfer->kind == CODE_JUMP && !state_is_at_start(state);
  const uint32_t function = call_graph_start(graph, transfer->target);
  return !code_calls_by_link(unit_form(returns->unit, transfer)) ||
         (function != GRAPH_NO_NODE && graph->functions[function].size <= CALLED_HELPER_MAX);
}

/* Whether instructions move the stack pointer: a function's with a frame of its own. */
static bool moves_stack(const struct code_instruction *instructions, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (instructions[i].stack.growth != 0 || instructions[i].stack.copy == CODE_FRAME_POINTER)
      return true;
  return false;
}

/* Follows a helper, if control goes to one. */
static bool follow_helper(struct returns *returns, const struct unit_step *step,
                          struct state *state) {
  struct unit *unit = returns->unit;
  struct code_instruction instructions[HELPER_INSTRUCTIONS];
  const struct helper_code code = {&returns->builder->graph->areas, bytes_at};
  if (!may_be_helped(returns, state, step))
    return false;
  const struct code_instruction transfer = unit_instruction(unit, step);
  const size_t count = helper_read(&unit->decoder, &unit->parts, &code, &transfer,
                                   state->link_copies != 0, instructions);
  if (code_calls_by_link(&transfer) && moves_stack(instructions, count))
    return false;
  for (size_t i = 0; i < count; i++) {
    if (instructions[i].kind != CODE_OTHER)
      continue;
    const struct state before = *state;
    const struct state_uses uses = state_follow(state, unit->architecture, &instructions[i]);
    if (returns->is_judging)
      judge_memory(returns, step->address, &before, state, &uses);
  }
  if (count > 0 && returns->is_judging)
    add_finding(returns, step->address, FINDING_HELPER);
  return count > 0;
}

/* ---- Following ---- */

/* The first instruction after a call, besides padding; or NULL. */
static const struct unit_step *after_call(const struct unit *unit, const struct unit_step *call) {
  const struct unit_step *step = call;
  do
    step = unit_step(unit, unit_after(step));
  while (step != NULL && step->kind == CODE_PADDING);
  return step;
}

static void call(void *context, struct unit *unit, const struct unit_step *step,
                 const struct state *before, struct state *after) {
  (void)unit;
  (void)before;
  if (!follow_helper(context, step, after))
    after->link_copies = 0;
}

static void leave(void *context, struct unit *unit, const struct unit_step *step,
                  const struct state *state) {
  struct returns *returns = context;
  const struct state start = state_at_start(unit->architecture);
  if (code_jumps(step->kind) && is_inside(returns, step))
    enter_inside(unit, step->target, state, false);
  if (step->kind == CODE_CALL) {
    if (is_inside(returns, step))
      enter_inside(unit, step->target, &start, false);
    enter_landing(returns, step->address, state);
    unit_guess(unit, step);
  } else if (unit_falls_through(unit, step)) {
    unit_go_on(unit, step, state);
  }
}

static void guess(void *context, struct unit *unit, const struct unit_step *step,
                  const struct state *state) {
  const struct unit_step *next = after_call(unit, step);
  (void)context;
  if (next != NULL)
    enter_inside(unit, next->address, state, true);
}

static struct unit_hooks hooks_of(struct returns *returns) {
  return (struct unit_hooks){.context = returns, .call = call, .leave = leave, .guess = guess};
}

/* ---- Code that nothing reaches ---- */

/* Unreached, these are harmless. */
enum { PADDING = 1 << CODE_PADDING | 1 << CODE_STOP | 1 << CODE_INVALID };

static bool has_unseen(const struct unit *unit) {
  for (uint32_t i = 0; i < unit->block_count; i++)
    if (!unit->blocks[i].is_reached && !unit_has_only(unit, &unit->blocks[i], PADDING))
      return true;
  return false;
}

/* The join of the states at all computed jumps; false if there are none. */
static bool find_jumps(struct returns *returns, struct state *jumped) {
  struct unit *unit = returns->unit;
  const struct unit_hooks hooks = hooks_of(returns);
  bool has_one = false;
  for (uint32_t i = 0; i < unit->block_count; i++) {
    const struct unit_block *block = &unit->blocks[i];
    const struct unit_step *last = &unit->steps[block->end - 1];
    if (!block->is_reached || !code_jumps(last->kind) || last->target_kind != CODE_COMPUTED)
      continue;
    const struct state state = unit_visit(unit, &hooks, i, NULL);
    if (has_one)
      (void)state_join(jumped, &state);
    else
      *jumped = state;
    has_one = true;
  }
  return has_one;
}

/* The state of unreached code: without computed jumps, others may enter it as a start. */
static struct state unseen_state(struct returns *returns) {
  struct state state = nothing;
  if (find_jumps(returns, &state))
    return state;
  return is_part(returns, returns->function) ? nothing
                                             : state_at_start(returns->unit->architecture);
}

/* Enters such code, until the states at computed jumps stay. */
static void enter_unseen(struct returns *returns) {
  struct unit *unit = returns->unit;
  const struct unit_hooks hooks = hooks_of(returns);
  struct state known = unseen_state(returns);
  array_make_room((void **)&returns->is_unseen, &returns->unseen_capacity, unit->block_count,
                  sizeof *returns->is_unseen);
  memset(returns->is_unseen, 0, unit->block_count);
  for (bool changes = true; changes;) {
    for (uint32_t i = 0; i < unit->block_count; i++) {
      const uint64_t address = unit->steps[unit->blocks[i].first].address;
      if (!returns->is_unseen[i] &&
          (unit->blocks[i].is_reached || unit_has_only(unit, &unit->blocks[i], PADDING)))
        continue;
      returns->is_unseen[i] = true;
      (void)unit_enter(unit, address,
                       landings_pad(returns->builder, address) != NULL ? &nothing : &known, false);
      unit_run(unit, &hooks);
    }
    const struct state now = unseen_state(returns);
    changes = state_join(&known, &now);
  }
}

/* ---- Judging ---- */

/* Control leaves the function. On another stack, registers are switched, too. */
static void note_lost(struct returns *returns, const struct state *state) {
  struct returns_verdict *verdict = &returns->verdicts[returns->function];
  if (state->stack.is_foreign)
    return;
  verdict->lost |= (uint16_t)(KEPT_REGISTERS & ~state->own);
  verdict->makes_frame |= (state->own & CODE_PRESERVED_FRAME) == 0 && !state->frame.is_foreign;
}

/* A return, or another function's. */
static void judge_return(struct returns *returns, uint64_t at, const struct state *state) {
  if (!state_is_level(state, returns->unit->architecture))
    add_odd(returns, at);
  note_lost(returns, state);
}

/* Whether a jump to a function's address takes its state along: to a part, or into the middle. */
static bool shares_frame(const struct returns *returns, uint32_t function, uint64_t address) {
  return function != GRAPH_NO_NODE &&
         (is_part(returns, function) ||
          returns->builder->graph->functions[function].address != address);
}

static void judge_jump(struct returns *returns, const struct unit_step *step,
                       const struct state *after) {
  struct state state = *after;
  if (step->target_kind == CODE_COMPUTED && !state_is_at_start(&state))
    add_finding(returns, step->address, FINDING_MORE);
  else if (!follow_helper(returns, step, &state) &&
           shares_frame(returns, target_function(returns, step), step->target))
    enter(returns, step->target, &state);
  else
    judge_return(returns, step->address, &state);
}

/* Calls of a part leave it another stack. */
static void judge_call(struct returns *returns, const struct unit_step *step,
                       const struct state *after) {
  const struct unit *unit = returns->unit;
  const uint32_t to = target_function(returns, step);
  const bool is_last = step == &unit->steps[unit->blocks[step->block].end - 1];
  const struct unit_step *next = is_last ? after_call(unit, step) : NULL;
  const struct unit_block *block = next == NULL ? NULL : &unit->blocks[next->block];
  if (to != GRAPH_NO_NODE && to != returns->function && is_part(returns, to))
    add_odd(returns, step->address);
  if (block == NULL || !block->is_reached || block->is_guessed)
    return;
  struct state there = unit_state(unit, block);
  if (state_join(&there, after))
    add_finding(returns, step->address, FINDING_DOUBT);
}

/* Control passes the end. */
static void judge_end(struct returns *returns, const struct state *state) {
  const struct call_graph *graph = returns->builder->graph;
  const uint64_t end = returns->start + returns->size;
  const uint32_t next = call_graph_start(graph, end);
  if (next != GRAPH_NO_NODE && is_part(returns, next)) {
    enter(returns, end, state);
    return;
  }
  returns->verdicts[returns->function].runs_oddly |=
      !state_is_level(state, returns->unit->architecture);
  note_lost(returns, state);
}

static void judge(void *context, const struct unit_step *step, const struct state *before,
                  const struct state *after, const struct state_uses *uses) {
  struct returns *returns = context;
  if (!step->is_idle || before->link_copies != 0)
    judge_memory(returns, step->address, before, after, uses);
  if (uses->reads_frame || uses_caller(returns, before, &unit_form(returns->unit, step)->stack))
    add_odd(returns, step->address);
  if (step->kind == CODE_RETURN)
    judge_return(returns, step->address, after);
  else if (step->kind == CODE_CALL)
    judge_call(returns, step, after);
  else if (code_jumps(step->kind) && !is_inside(returns, step))
    judge_jump(returns, step, after);
  if (unit_after(step) == returns->start + returns->size && !code_ends(step->kind) &&
      step->kind != CODE_CALL && step->kind != CODE_INVALID)
    judge_end(returns, after);
}

static void judge_all(struct returns *returns) {
  struct unit *unit = returns->unit;
  const struct unit_hooks hooks = hooks_of(returns);
  struct returns_verdict *verdict = &returns->verdicts[returns->function];
  verdict->is_odd = verdict->runs_oddly = verdict->reads_return = verdict->is_read_surely = false;
  verdict->lost = 0;
  verdict->makes_frame = false;
  returns->handed_count = returns->kept_count = 0;
  if (!unit->architecture->has_link)
    add_kept(returns, 0);
  returns->is_judging = true;
  for (uint32_t i = 0; i < unit->block_count; i++)
    if (unit->blocks[i].is_reached)
      (void)unit_visit(unit, &hooks, i, judge);
  returns->is_judging = false;
  if (may_be_overwritten(returns))
    add_odd(returns, returns->start);
}

/* ---- Functions ---- */

void returns_open(struct returns *returns, struct graph_builder *builder) {
  *returns = (struct returns){
      .builder = builder,
      .verdicts = calloc((size_t)builder->graph->function_count + 1, sizeof *returns->verdicts),
      .unit = &builder->unit};
}

void returns_close(struct returns *returns) {
  free(returns->verdicts);
  free(returns->entries);
  free(returns->findings);
  free(returns->is_unseen);
  free(returns->handed);
  waiting_free(&returns->waiting);
  intern_free(&returns->numbers);
}

static const uint8_t *code_of(const struct returns *returns) {
  const struct area *area = areas_find(&returns->builder->graph->areas, returns->start);
  return area->bytes + (returns->start - area->address);
}

static void open_function(struct returns *returns, uint32_t function) {
  const struct graph_function *of = &returns->builder->graph->functions[function];
  returns->function = function;
  returns->start = of->address;
  returns->size = of->size;
  unit_clear(returns->unit);
}

void returns_begin(struct returns *returns, uint32_t function) {
  open_function(returns, function);
  unit_cover(returns->unit, returns->start, code_of(returns), returns->size);
}

/* Starts blocks where control may come from elsewhere. */
static void start_entries(struct returns *returns) {
  struct unit *unit = returns->unit;
  const struct graph_builder *builder = returns->builder;
  const struct integers *pads = &builder->pad_landings;
  for (size_t i = search_words_below(pads->items, pads->count, returns->start);
       i < pads->count && pads->items[i] - returns->start < returns->size; i++)
    unit_start(unit, pads->items[i]);
  for (uint32_t i = returns->verdicts[returns->function].first_entry; i != 0;
       i = returns->entries[i - 1].next)
    unit_start(unit, returns->entries[i - 1].address);
}

/* Starts blocks at the targets of calls within the function, and after each call that has a landing
 * pad, has its target within the function, or is followed by a block. */
static void start_at_calls(struct returns *returns) {
  struct unit *unit = returns->unit;
  for (uint32_t i = 0; i < unit->step_count; i++) { /* there may be more of them by each target */
    const struct unit_step call = unit->steps[i];
    if (call.kind != CODE_CALL)
      continue;
    if (is_inside(returns, &call))
      unit_start(unit, call.target);
    const struct unit_step *next = after_call(unit, &call);
    if (next == NULL || next->is_start || is_inside(returns, &call) ||
        pad_of(returns->builder, call.address) != NULL)
      unit_start(unit, unit_after(&call));
  }
}

/* A call that ends a block leads to the code after it, besides padding (see guess). */
static void start_after_calls(struct returns *returns) {
  struct unit *unit = returns->unit;
  for (uint32_t i = 0; i < unit->step_count; i++) {
    const bool is_end = unit->steps[i].kind == CODE_CALL && unit_ends_block(unit, i);
    const struct unit_step *next = is_end ? after_call(unit, &unit->steps[i]) : NULL;
    if (next != NULL)
      unit->steps[next - unit->steps].is_start = true;
  }
}

/* Starts all blocks: until no start decodes more instructions. */
static void start_blocks(struct returns *returns) {
  struct unit *unit = returns->unit;
  uint32_t count;
  start_entries(returns);
  do {
    count = unit->step_count;
    unit_start_targets(unit);
    start_at_calls(returns);
  } while (unit->step_count > count);
  start_after_calls(returns);
}

static void enter_function(struct returns *returns) {
  const struct state start = state_at_start(returns->unit->architecture);
  if (!is_part(returns, returns->function))
    (void)unit_enter(returns->unit, returns->start, &start, false);
  for (uint32_t i = returns->verdicts[returns->function].first_entry; i != 0;
       i = returns->entries[i - 1].next)
    (void)unit_enter(returns->unit, returns->entries[i - 1].address, &returns->entries[i - 1].state,
                     false);
}

/* Whether others enter this function in the middle; or it jumps into others, which may do so. */
static bool is_connected(const struct returns *returns) {
  const struct unit *unit = returns->unit;
  if (is_part(returns, returns->function) || returns->verdicts[returns->function].first_entry != 0)
    return true;
  for (uint32_t i = 0; i < unit->step_count; i++) {
    const struct unit_step *step = &unit->steps[i];
    if (code_jumps(step->kind) && !is_inside(returns, step) &&
        shares_frame(returns, target_function(returns, step), step->target))
      return true;
  }
  return false;
}

/* Enters each block with a state without facts: so the function's entries into others are final. */
static void give_up(struct returns *returns) {
  struct unit *unit = returns->unit;
  for (uint32_t i = 0; i < unit->block_count; i++)
    (void)unit_enter(unit, unit->steps[unit->blocks[i].first].address, &nothing, false);
}

void returns_follow(struct returns *returns) {
  const struct unit_hooks hooks = hooks_of(returns);
  struct returns_verdict *verdict = &returns->verdicts[returns->function];
  verdict->times++;
  start_blocks(returns);
  unit_make_blocks(returns->unit);
  enter_function(returns);
  if (verdict->times > TIMES_MAX)
    give_up(returns);
  unit_run(returns->unit, &hooks);
  const bool is_unseen = has_unseen(returns->unit);
  verdict->is_unfinished = is_unseen && !returns->is_last_time && is_connected(returns);
  if (is_unseen && !verdict->is_unfinished)
    enter_unseen(returns);
  judge_all(returns);
}

/* ---- The whole ---- */

static void follow_waiting(struct returns *returns) {
  while (returns->waiting.count > 0) {
    const uint32_t function = waiting_take(&returns->waiting);
    returns->verdicts[function].is_waiting = false;
    open_function(returns, function);
    unit_add(returns->unit, returns->start, code_of(returns), returns->size);
    returns_follow(returns);
  }
}

static int compare_findings(const void *a, const void *b) {
  const struct returns_finding *x = a, *y = b;
  ORDER_BY(x, y, at)
  ORDER_BY(x, y, kind)
  return 0;
}

static void apply_finding(const struct call_graph *graph, const struct returns_finding *finding,
                          uint32_t call, struct endings *endings) {
  if (finding->kind == FINDING_MORE)
    graph->calls[call].target = graph_everything(graph);
  else if (finding->kind == FINDING_HELPER)
    graph->calls[call].is_followed = true;
  else
    endings_doubt(endings, finding->function, call);
}

/* A function's calls aren't sorted: those of code inside instructions come last. */
static void apply_findings(const struct returns *returns, struct endings *endings) {
  const struct call_graph *graph = returns->builder->graph;
  struct returns_finding *findings = returns->findings;
  const size_t count = returns->finding_count;
  array_sort(findings, count, sizeof *findings, compare_findings);
  for (uint32_t i = 0; i < graph->call_count; i++)
    for (size_t k = SEARCH_BELOW(findings, count, at, graph->calls[i].at);
         k < count && findings[k].at == graph->calls[i].at; k++)
      apply_finding(graph, &findings[k], i, endings);
}

static void apply(const struct returns *returns, uint32_t number, struct endings *endings) {
  struct graph_builder *builder = returns->builder;
  const struct call_graph *graph = builder->graph;
  const struct graph_function *function = &graph->functions[number];
  const struct returns_verdict *verdict = &returns->verdicts[number];
  if (verdict->reads_return) /* a pointer may go near the return address */
    graph_lose_pointers(graph, number);
  /* The return address may be handed to another function, which makes a pointer of it. A program's
   * start has none. */
  if (verdict->is_read_surely && function->address != graph->linkage.entry)
    builder->hands_over = function->address;
  builder->lost |= code_registers(builder->architecture, verdict->lost);
  builder->makes_frame |= verdict->makes_frame;
  if (verdict->runs_oddly && endings->runs_on[number] == RUNS_ON)
    endings->runs_on[number] = RUNS_ODDLY;
  if (!verdict->is_odd)
    return;
  endings->returns[number] = true;
  builder->graph->functions[number].returns_oddly = true;
  graph_add_anywhere(builder, verdict->odd_at);
}

void returns_settle(struct returns *returns, struct endings *endings) {
  const struct call_graph *graph = returns->builder->graph;
  follow_waiting(returns);
  returns->is_last_time = true;
  for (uint32_t i = 0; i < graph->function_count; i++)
    if (returns->verdicts[i].is_unfinished)
      wait_for(returns, i);
  follow_waiting(returns);
  apply_findings(returns, endings);
  for (uint32_t i = 0; i < graph->function_count; i++)
    apply(returns, i, endings);
}
