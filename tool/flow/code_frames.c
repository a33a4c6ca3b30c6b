/* code_frames.c - see code_frames.h.
 *
 * LLVM records one frame size for a whole function, and no registers. Unwind tables have the rest,
 * but a `nounwind` function that lacks the attribute `uwtable` has none. So its code is followed
 * (unit.h), and the state at each call gives the end of the frame:
 *
 *     push %rbx           8
 *     sub  $16, %rsp     24
 *     push $7            32
 *     call f             32: LLVM's size is 24; %rbx is at 8 below the return address
 *     add  $8, %rsp      24
 *     ...
 *     pop  %rbx; ret      0
 *
 * Each fact must be proven: a frame that seems too small is a lost root. A callee may have popped
 * its arguments, as in some calling conventions, and then the stack after the call is shallower
 * than it seems. There are three proofs of a depth. One: at least one path sets it before the
 * function's first call. Two: a return can be reached from there, the stack pointer is not reset on
 * the way, and all returns and tail calls happen at depth 0 (a jump to shared instructions that
 * return counts as a return). Three: it is proven earlier, and no call is in between. For each such
 * mistake makes a depth too large: several add up, and never cancel out. (A jump alone proves
 * nothing: a function of such a convention may leave room for other arguments than its own.) The
 * frame pointer is callee-saved. It counts if it was set before the first call, so it gives the end
 * of the frame in functions that allocate on the stack.
 *
 * After a call that never returns, the code seems to be reached with the call's depth. That is
 * harmless: if a jump reaches it too, the jump's depth counts; otherwise it is dead.
 *
 * Jumps with a computed target, as in a `switch`, may reach all code that seems unreachable
 * otherwise. It is entered with the state of these jumps, which must have one depth. They may also
 * reach the code after a call, if that never returns. So only the facts that hold at these jumps
 * hold there, and the code after a call must have at least their depth. In a function that jumps by
 * pointers at depth 0, as tail calls do, only the stack pointer counts.
 *
 * Two kinds of functions are skipped: those with a call into their own middle (`call 1f; 1: pop
 * %rcx`), and those with an unwind table, as these may have landing pads.
 */
#include "tool/flow/code_frames.h"

#include "format/search.h"
#include "tool/flow/helper.h"
#include "tool/flow/unit.h"

#include <assert.h>
#include <stdlib.h>

enum { TIMES = 16, ROUNDS = 8 };
#define NO_BLOCK UINT32_MAX
#define SIZE_LIMIT (1u << 31)

/* Of a block that was followed. */
struct ending {
  uint32_t next, target;  /* blocks that control goes to with the depth that they have; NO_BLOCK */
  uint32_t first_of_last; /* the first step after the last one that makes the stack pointer anew */
  bool is_remade;         /* there is such a one */
  bool is_return;         /* at depth 0 */
  bool is_jump;           /* by a pointer */
  bool is_entry;          /* only such jumps reach the block */
  bool leads_to_return;   /* its end does */
  /* The first step that calls, or resets the stack pointer: the state at the block's start holds up
   * to there. */
  uint32_t straight_end;
  bool is_proven; /* its start is */
};

/* A function. */
struct function {
  const struct code *code;
  struct safepoints *table;
  const struct safepoint_function *of;
  uint64_t address, size;
  bool may_have_short_calls; /* the file */
  struct unit unit;
  struct ending *endings; /* by block */
  struct state jumped;    /* the state at jumps by pointers */
  bool has_level_jump, has_other_jump;
  bool is_broken;  /* all its frames stay unknown */
  bool is_unclear; /* its returns prove no depth */
};

/* ---- Where control goes ---- */

static bool is_by_pointer(const struct unit_step *step) {
  return code_jumps(step->kind) && step->target_kind != CODE_DIRECT;
}

static void leave(void *context, struct unit *unit, const struct unit_step *step,
                  const struct state *state) {
  (void)context;
  if (code_jumps(step->kind) && step->target_kind == CODE_DIRECT)
    (void)unit_enter(unit, step->target, state, false);
  if (step->kind == CODE_CALL)
    unit_guess(unit, step);
  else if (!code_ends(step->kind) && step->kind != CODE_INVALID)
    unit_go_on(unit, step, state);
}

static void guess(void *context, struct unit *unit, const struct unit_step *step,
                  const struct state *state) {
  (void)context;
  (void)unit_enter(unit, unit_after(step), state, true);
}

static uint64_t bytes_at(const void *context, uint64_t address, const uint8_t **bytes) {
  const struct section_bytes *part = code_part(context, address);
  if (part == NULL)
    return 0;
  *bytes = part->bytes + (address - part->address);
  return part->size - (address - part->address);
}

static bool is_decodable(const struct function *function,
                         const struct code_instruction *instruction) {
  return instruction->kind != CODE_INVALID &&
         !(instruction->may_be_call && function->may_have_short_calls);
}

/* Follows a helper, if control goes to one. */
static bool follow_helper(struct function *function, const struct unit_step *step,
                          struct state *state) {
  struct unit *unit = &function->unit;
  const struct helper_code code = {function->code, bytes_at};
  struct code_instruction instructions[HELPER_INSTRUCTIONS];
  const struct code_instruction transfer = unit_instruction(unit, step);
  const size_t count = helper_read(&unit->decoder, &unit->parts, &code, &transfer,
                                   state->link_copies != 0, instructions);
  for (size_t i = 0; i < count; i++) {
    function->is_broken |= !is_decodable(function, &instructions[i]);
    (void)state_follow(state, unit->architecture, &instructions[i]);
  }
  return count > 0;
}

static void call(void *context, struct unit *unit, const struct unit_step *step,
                 const struct state *before, struct state *after) {
  struct state state = *after;
  (void)unit;
  state.stack.is_sure = before->stack.is_sure;
  if (follow_helper(context, step, &state))
    *after = state;
}

static struct unit_hooks hooks_of(struct function *function) {
  return (struct unit_hooks){.context = function, .call = call, .leave = leave, .guess = guess};
}

/* ---- Jumps by pointers ---- */

static bool has_jumped(const struct function *function) {
  return function->has_level_jump || function->has_other_jump;
}

static void find_jumps(struct function *function) {
  struct unit *unit = &function->unit;
  const struct unit_hooks hooks = hooks_of(function);
  for (uint32_t i = 0; i < unit->block_count; i++) {
    if (!unit->blocks[i].is_reached || !is_by_pointer(&unit->steps[unit->blocks[i].end - 1]))
      continue;
    const struct state state = unit_visit(unit, &hooks, i, NULL);
    if (has_jumped(function))
      (void)state_join(&function->jumped, &state);
    else
      function->jumped = state;
    *(state_is_at_start(&state) ? &function->has_level_jump : &function->has_other_jump) = true;
  }
}

/* Unreachable, these are harmless. */
enum { PADDING = 1 << CODE_PADDING | 1 << CODE_STOP };

/* Enters each block that is unreachable otherwise. */
static bool enter_jumps(struct function *function) {
  struct unit *unit = &function->unit;
  const struct unit_hooks hooks = hooks_of(function);
  bool has_entry = false;
  for (uint32_t i = 0; i < unit->block_count; i++) {
    struct unit_block *block = &unit->blocks[i];
    if (!function->endings[i].is_entry &&
        (block->is_reached || unit_has_only(unit, block, PADDING)))
      continue;
    has_entry = function->endings[i].is_entry = true;
    (void)unit_enter(unit, unit->steps[block->first].address, &function->jumped, false);
    unit_run(unit, &hooks);
  }
  return has_entry;
}

/* Such a jump may really reach the code after a call: it keeps its depth. */
static void restrict_after_calls(struct function *function) {
  struct unit *unit = &function->unit;
  const struct unit_hooks hooks = hooks_of(function);
  for (uint32_t i = 0; i < unit->block_count; i++) {
    struct unit_block *block = &unit->blocks[i];
    if (!block->is_reached || !unit->steps[block->first].is_after_call)
      continue;
    struct state state = function->jumped;
    state.stack = unit_state(unit, block).stack;
    function->is_broken |=
        state.stack.is_known && state.stack.offset > function->jumped.stack.offset;
    (void)unit_enter(unit, unit->steps[block->first].address, &state, block->is_guessed);
  }
  unit_run(unit, &hooks);
}

/* Repeats until the entered blocks show no new jumps. */
static void follow_jumps(struct function *function) {
  for (unsigned round = 0; round < ROUNDS; round++) {
    const struct state known = function->jumped;
    find_jumps(function);
    struct state same = known;
    if (!has_jumped(function) || (round > 0 && !state_join(&same, &function->jumped)))
      return;
    const bool has_entry = enter_jumps(function);
    const bool is_one_depth =
        function->jumped.stack.is_known && function->has_level_jump != function->has_other_jump;
    function->is_broken |= has_entry && !is_one_depth;
    if (function->is_broken || !function->has_other_jump)
      return;
    restrict_after_calls(function);
  }
  function->is_broken = true;
}

/* ---- Proofs ---- */

static uint32_t block_at(const struct unit *unit, uint64_t address, const struct state *state) {
  const struct unit_step *step = unit_step(unit, address);
  if (step == NULL || !unit->blocks[step->block].is_reached)
    return NO_BLOCK;
  const struct state_pointer there = unit_state(unit, &unit->blocks[step->block]).stack;
  return there.is_known && state->stack.is_known && there.offset == state->stack.offset
             ? step->block
             : NO_BLOCK;
}

static void note_end(struct function *function, struct ending *ending, const struct unit_step *step,
                     const struct state *state) {
  const struct unit *unit = &function->unit;
  const bool is_direct_jump = code_jumps(step->kind) && step->target_kind == CODE_DIRECT;
  const bool is_inside = step->target - function->address < function->size;
  ending->next = ending->target = NO_BLOCK;
  if (!code_ends(step->kind)) {
    ending->next = block_at(unit, unit_after(step), state);
    function->is_unclear |=
        unit_goes_beyond(unit, step) && step->kind != CODE_CALL && step->kind != CODE_PADDING;
  }
  if (step->kind == CODE_RETURN) {
    ending->is_return = state_is_at_start(state);
    function->is_unclear |= !ending->is_return;
    function->is_broken |= !ending->is_return && state->stack.is_known && state->stack.is_sure;
  }
  if (is_direct_jump && is_inside)
    ending->target = block_at(unit, step->target, state);
  else if (is_direct_jump && !state_is_at_start(state)) {
    struct state end = *state;
    ending->is_return = follow_helper(function, step, &end) && state_is_at_start(&end);
    function->is_unclear |= !ending->is_return;
  }
  ending->is_jump = is_by_pointer(step);
}

static void note_step(void *context, const struct unit_step *step, const struct state *before,
                      const struct state *after, const struct state_uses *uses) {
  struct function *function = context;
  const struct unit *unit = &function->unit;
  const struct unit_block *block = &unit->blocks[step->block];
  struct ending *ending = &function->endings[step->block];
  const struct code_instruction *form = unit_form(unit, step);
  const bool is_remade = form->stack.copy == CODE_FRAME_POINTER;
  const uint32_t number = (uint32_t)(step - unit->steps);
  (void)before;
  (void)uses;
  if (number == block->first)
    ending->straight_end = block->end;
  if ((step->kind == CODE_CALL || is_remade) && number < ending->straight_end)
    ending->straight_end = number;
  if (is_remade) {
    ending->is_remade = true;
    ending->first_of_last = number + 1;
  }
  function->is_broken |= !is_decodable(function, form);
  function->is_broken |= step->kind == CODE_CALL && step->target_kind == CODE_DIRECT &&
                         step->target != function->address &&
                         step->target - function->address < function->size;
  if (number + 1 == block->end)
    note_end(function, ending, step, after);
}

static bool leads_to_return(const struct function *function, uint32_t block) {
  assert(block == NO_BLOCK || block < function->unit.block_count);
  const struct ending *ending = block == NO_BLOCK ? NULL : &function->endings[block];
  return ending != NULL && ending->leads_to_return && !ending->is_remade;
}

/* Finds the blocks from whose end a return can be reached. Most jumps go forward: so from the last
 * block to the first, a few times. Blocks that only a further pass would find stay unproven. */
static void find_returning(struct function *function) {
  bool found = true, is_jump_proven = false;
  for (unsigned time = 0; found && time < TIMES; time++) {
    found = false;
    for (uint32_t i = function->unit.block_count; i-- > 0;) {
      struct ending *ending = &function->endings[i];
      if (!function->unit.blocks[i].is_reached || ending->leads_to_return)
        continue;
      ending->leads_to_return = ending->is_return || leads_to_return(function, ending->next) ||
                                leads_to_return(function, ending->target) ||
                                (ending->is_jump && is_jump_proven);
      is_jump_proven |= ending->is_entry && leads_to_return(function, i);
      found |= ending->leads_to_return;
    }
  }
}

/* Whether the depth at a block's end is proven, so that it is where control goes on to. */
static bool has_proven_end(const struct function *function, uint32_t block) {
  const struct ending *ending = &function->endings[block];
  return ending->leads_to_return ||
         (ending->is_proven && ending->straight_end == function->unit.blocks[block].end);
}

static bool prove(struct function *function, uint32_t block) {
  assert(block == NO_BLOCK || block < function->unit.block_count);
  const bool is_new = block != NO_BLOCK && !function->endings[block].is_proven;
  if (is_new)
    function->endings[block].is_proven = true;
  return is_new;
}

/* Finds the blocks at whose start the depth is proven: a return can be reached from there, or it is
 * proven earlier, and no call is in between. */
static void find_proven(struct function *function) {
  bool found = true;
  find_returning(function);
  for (uint32_t i = 0; i < function->unit.block_count; i++)
    function->endings[i].is_proven = leads_to_return(function, i);
  for (unsigned time = 0; found && time < TIMES; time++) {
    found = false;
    for (uint32_t i = 0; i < function->unit.block_count; i++) {
      const struct ending *ending = &function->endings[i];
      if (!function->unit.blocks[i].is_reached || !has_proven_end(function, i))
        continue;
      found |= prove(function, ending->next);
      found |= prove(function, ending->target);
    }
  }
}

/* ---- Results ---- */

/* The stored values that are within the frame. A helper that has run on this frame's stack may have
 * left copies below the stack pointer, which the callee overwrites. */
static uint16_t within_frame(const struct state *state, uint16_t stored) {
  for (unsigned i = 0; i < KEPT && state->stack.is_known; i++)
    if ((stored >> i & 1) != 0 && state->places[i] < state->stack.offset)
      stored &= (uint16_t) ~(1u << i);
  return stored;
}

/* Stores the places of the caller's registers, except for those that still hold the caller's
 * values. Unless the whole state is proven, only its sure places count. */
static void add_registers(const struct function *function, const struct state *state,
                          uint16_t stored, struct frame_facts *facts) {
  const struct code_architecture *architecture = function->unit.architecture;
  const int32_t pushed = function->table->frame_machine.pushed_by_call;
  for (unsigned i = 0; i < CODE_PRESERVED && architecture->in_tables[i] != 0; i++) {
    const uint8_t number = architecture->in_tables[i];
    assert(number < FRAME_REGISTERS);
    if ((stored >> i & 1) != 0) {
      facts->saved |= (uint32_t)1 << number;
      facts->offsets[number] = state->places[i] - pushed;
    } else if ((state->own >> i & 1) == 0) {
      facts->lost |= (uint32_t)1 << number;
    }
  }
}

/* The frame of a waiting call; false if its end is unproven. */
static bool find_frame(const struct function *function, const struct state *state, bool is_proven,
                       struct frame_facts *facts) {
  const struct frame_machine *machine = &function->table->frame_machine;
  const bool by_stack = state->stack.is_known && (state->stack.is_sure || is_proven);
  const bool by_frame = state->frame.is_known && state->frame.is_sure && !function->has_level_jump;
  const uint16_t stored = within_frame(
      state, by_stack && !state->stack.is_sure ? state->stored : state->stored & state->sure);
  if ((!by_stack && !by_frame) || (stored & KEPT_LINK_BIT) == 0)
    return false;
  const struct state_pointer end = by_stack ? state->stack : state->frame;
  *facts = (struct frame_facts){.cfa_register =
                                    by_stack ? machine->stack_pointer
                                             : function->unit.architecture->in_tables[KEPT_FRAME],
                                .return_register = machine->return_register,
                                .is_signed = state->is_signed,
                                .cfa_offset = machine->pushed_by_call - end.offset,
                                .saved = (uint32_t)1 << machine->return_register};
  facts->offsets[machine->return_register] = state->places[KEPT_LINK] - machine->pushed_by_call;
  add_registers(function, state, stored, facts);
  return true;
}

static void add_to_record(const struct function *function, struct safepoint *record,
                          const struct frame_facts *facts) {
  struct safepoints *table = function->table;
  if (safepoints_kind(table, record) == SAFEPOINT_STATEPOINT &&
      frames_has_room(&table->frame_machine, function->of->frame_size, facts))
    record->frame = frame_facts_add(&table->frames, facts);
}

static void add_to_records(void *context, const struct unit_step *step, const struct state *before,
                           const struct state *after, const struct state_uses *uses) {
  struct function *function = context;
  const struct ending *ending = &function->endings[step->block];
  struct safepoint *records = &function->table->records[function->of->first_record];
  const uint32_t count = function->of->records;
  const uint64_t end = unit_after(step);
  struct frame_facts facts;
  (void)after;
  (void)uses;
  const uint32_t number = (uint32_t)(step - function->unit.steps);
  const bool is_proven =
      !function->is_unclear && ((ending->leads_to_return && number >= ending->first_of_last) ||
                                (ending->is_proven && number <= ending->straight_end));
  for (size_t i = SEARCH_BELOW(records, count, address, end);
       i < count && records[i].address == end; i++)
    if (find_frame(function, before, is_proven, &facts))
      add_to_record(function, &records[i], &facts);
}

/* ---- Functions ---- */

static void visit_all(struct function *function, unit_visitor *visit) {
  const struct unit_hooks hooks = hooks_of(function);
  for (uint32_t i = 0; i < function->unit.block_count; i++)
    if (function->unit.blocks[i].is_reached)
      (void)unit_visit(&function->unit, &hooks, i, visit);
}

static void start_blocks(struct unit *unit) {
  bool has_jump = false;
  for (uint32_t i = 0; i < unit->step_count; i++)
    has_jump |= is_by_pointer(&unit->steps[i]);
  for (uint32_t i = 0; i < unit->step_count; i++)
    unit->steps[i].is_start |= has_jump && unit->steps[i].is_after_call;
  unit_start_targets(unit);
  unit_make_blocks(unit);
}

static void follow_function(struct function *function, const uint8_t *bytes) {
  struct unit *unit = &function->unit;
  const struct state start = state_at_start(unit->architecture);
  const struct unit_hooks hooks = hooks_of(function);
  unit_clear(unit);
  unit_add(unit, function->address, bytes, function->size);
  start_blocks(unit);
  function->endings = calloc((size_t)unit->block_count + 1, sizeof *function->endings);
  (void)unit_enter(unit, function->address, &start, false);
  unit_run(unit, &hooks);
  follow_jumps(function);
  if (!function->is_broken)
    visit_all(function, note_step);
  if (!function->is_broken) {
    find_proven(function);
    visit_all(function, add_to_records);
  }
  free(function->endings);
}

/* Whether a function has records, all of them without a frame. */
static bool lacks_frames(const struct safepoints *table,
                         const struct safepoint_function *function) {
  assert(function->records <= table->record_count - function->first_record);
  for (uint32_t i = 0; i < function->records; i++)
    if (table->records[function->first_record + i].frame != 0)
      return false;
  return function->records > 0;
}

static bool is_unwound(const struct code_ranges *unwound, uint64_t start, uint64_t end) {
  const size_t before = SEARCH_BELOW(unwound->items, unwound->count, start, end);
  return before > 0 && unwound->items[before - 1].end > start;
}

/* The function's code; NULL unless it is contiguous. */
static const uint8_t *bytes_of(const struct safepoint_function *function, const struct code *code) {
  const uint64_t size = function->end - function->address;
  const uint8_t *bytes = NULL;
  const bool is_whole = function->end > function->address && size < SIZE_LIMIT &&
                        bytes_at(code, function->address, &bytes) >= size;
  return is_whole ? bytes : NULL;
}

void code_frames_add(struct safepoints *table, const struct code *code, bool may_have_short_calls) {
  const struct code_architecture *architecture = code_architecture(table->machine);
  assert(safepoints_are_finished(table));
  if (architecture == NULL || code->machine == NULL)
    return;
  table->frame_machine = eh_frame_machine(code->machine);
  struct function function = {.code = code,
                              .table = table,
                              .unit = unit_open(architecture, &(struct parts){.is_fixed = true})};
  uint64_t left = 0; /* bytes: a limit for functions that overlap */
  for (size_t i = 0; i < code->count; i++)
    left += code->parts[i].size;
  for (uint32_t i = 0; i < table->function_count; i++) {
    const struct safepoint_function *of = &table->functions[i];
    const uint8_t *bytes = bytes_of(of, code);
    const uint64_t size = of->end - of->address;
    if (bytes == NULL || size > left || !lacks_frames(table, of) ||
        is_unwound(&code->unwound, of->address, of->end))
      continue;
    left -= size;
    function = (struct function){.code = code,
                                 .table = table,
                                 .of = of,
                                 .address = of->address,
                                 .size = size,
                                 .may_have_short_calls = may_have_short_calls,
                                 .unit = function.unit};
    follow_function(&function, bytes);
  }
  unit_close(&function.unit);
}
