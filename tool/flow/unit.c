/* unit.c - see unit.h. */
#include "tool/flow/unit.h"

#include "format/search.h"

#include <assert.h>
#include <string.h>

#define SIZE_LIMIT (1u << 31)

struct unit unit_open(const struct code_architecture *architecture, const struct parts *parts) {
  return (struct unit){
      .decoder = decoder_open(architecture), .architecture = architecture, .parts = *parts};
}

void unit_close(struct unit *unit) {
  decoder_close(&unit->decoder);
  free(unit->ranges);
  free(unit->steps);
  free(unit->step_at);
  free(unit->blocks);
  intern_free(&unit->states);
  waiting_free(&unit->waiting);
  waiting_free(&unit->guesses);
}

void unit_clear(struct unit *unit) {
  unit->range_count = unit->at_count = 0;
  unit->step_count = unit->block_count = 0;
  decoder_trim(&unit->decoder);
}

/* ---- Decoding ---- */

const struct unit_range *unit_range(const struct unit *unit, uint64_t address) {
  const size_t next = SEARCH_UP_TO(unit->ranges, unit->range_count, start, address);
  const struct unit_range *range = next == 0 ? NULL : &unit->ranges[next - 1];
  return range != NULL && address - range->start < range->size ? range : NULL;
}

static uint32_t *place_of(const struct unit *unit, const struct unit_range *range,
                          uint64_t address) {
  assert(address - range->start < range->size);
  return &unit->step_at[range->at + (address - range->start)];
}

struct unit_step *unit_step(const struct unit *unit, uint64_t address) {
  const struct unit_range *range = unit_range(unit, address);
  const uint32_t number = range == NULL ? 0 : *place_of(unit, range, address);
  assert(number == 0 || unit->steps[number - 1].address == address);
  return number == 0 ? NULL : &unit->steps[number - 1];
}

struct code_instruction unit_instruction(const struct unit *unit, const struct unit_step *step) {
  struct code_instruction instruction = *unit_form(unit, step);
  instruction.address = step->address;
  instruction.target = step->target;
  return instruction;
}

/* Adds the next step to a range. */
static void put(struct unit *unit, const struct unit_range *range) {
  const struct code_instruction *next = &unit->next;
  const struct unit_step *last = unit->step_count > 0 ? &unit->steps[unit->step_count - 1] : NULL;
  const bool goes_on = last != NULL && unit_after(last) == next->address;
  struct unit_step step = {.address = next->address,
                           .target = next->target,
                           .length = next->length,
                           .kind = next->kind,
                           .target_kind = next->target_kind,
                           .is_start = !goes_on,
                           .is_after_call = goes_on && last->kind == CODE_CALL,
                           .is_idle = state_is_kept(unit->architecture, next)};
  if (unit->note != NULL)
    unit->note(unit->note_context, next);
  step.form = decoder_form(&unit->decoder, next);
  (void)ARRAY_ADD(unit->steps, unit->step_count, unit->step_capacity, step);
  assert(*place_of(unit, range, step.address) == 0 && unit->step_count <= unit->at_count);
  *place_of(unit, range, step.address) = unit->step_count;
}

void unit_put(struct unit *unit) { put(unit, &unit->ranges[unit->range_count - 1]); }

/* Decodes from an address to the next decoded instruction, or to the range's end. */
static void decode(struct unit *unit, const struct unit_range *range, uint64_t at) {
  const uint64_t end = range->start + range->size;
  struct parts parts = unit->parts;
  struct code_instruction *instruction = &unit->next;
  for (uint64_t next; at < end && *place_of(unit, range, at) == 0; at = next) {
    decoder_read(&unit->decoder, range->bytes + (at - range->start), end - at, at, instruction);
    if (unit->architecture->highest != 0)
      (void)parts_follow(&parts, instruction, NULL, NULL);
    assert(instruction->length > 0); /* so that decoding ends */
    next = at + instruction->length;
    put(unit, range);
  }
  assert(at <= end);
  if (at < end) /* it meets what was decoded before */
    unit_step(unit, at)->is_start = true;
}

void unit_cover(struct unit *unit, uint64_t address, const uint8_t *bytes, uint64_t size) {
  const struct unit_range range = {address, size, bytes, unit->at_count};
  assert(unit->range_count == 0 || unit->ranges[unit->range_count - 1].start < address);
  assert(unit->range_count == 0 || unit->ranges[unit->range_count - 1].size <=
                                       address - unit->ranges[unit->range_count - 1].start);
  assert(size < SIZE_LIMIT && unit->at_count + size < SIZE_LIMIT && size <= UINT64_MAX - address);
  array_make_room((void **)&unit->step_at, &unit->at_capacity, unit->at_count + size,
                  sizeof *unit->step_at);
  (void)ARRAY_ADD(unit->ranges, unit->range_count, unit->range_capacity, range);
  memset(unit->step_at + range.at, 0, size * sizeof *unit->step_at);
  unit->at_count += size;
}

void unit_add(struct unit *unit, uint64_t address, const uint8_t *bytes, uint64_t size) {
  unit_cover(unit, address, bytes, size);
  decode(unit, &unit->ranges[unit->range_count - 1], address);
}

/* ---- Blocks ---- */

void unit_start(struct unit *unit, uint64_t address) {
  const struct unit_range *range = unit_range(unit, address);
  if (range == NULL)
    return;
  if (*place_of(unit, range, address) == 0)
    decode(unit, range, address);
  unit_step(unit, address)->is_start = true;
}

/* Whether a step is the last, or the step after it is elsewhere than right behind it in memory. */
static bool ends_run(const struct unit *unit, uint32_t number) {
  return number + 1 == unit->step_count ||
         unit->steps[number + 1].address != unit_after(&unit->steps[number]);
}

bool unit_ends_block(const struct unit *unit, uint32_t number) {
  const enum code_kind kind = unit->steps[number].kind;
  return ends_run(unit, number) || code_jumps(kind) || code_ends(kind) || kind == CODE_INVALID ||
         unit->steps[number + 1].is_start;
}

bool unit_falls_through(const struct unit *unit, const struct unit_step *step) {
  return (!code_ends(step->kind) && step->kind != CODE_INVALID) || unit_form(unit, step)->is_break;
}

void unit_start_targets(struct unit *unit) {
  for (uint32_t i = 0; i < unit->step_count; i++) { /* there may be more of them by each target */
    const struct unit_step step = unit->steps[i];
    if (code_jumps(step.kind) && step.target_kind == CODE_DIRECT)
      unit_start(unit, step.target);
    struct unit_step *next = ends_run(unit, i) && unit_falls_through(unit, &step)
                                 ? unit_step(unit, unit_after(&step))
                                 : NULL;
    if (next != NULL) /* where runs meet */
      next->is_start = true;
  }
}

void unit_make_blocks(struct unit *unit) {
  unit->block_count = 0;
  intern_clear(&unit->states);
  unit->waiting.count = unit->guesses.count = 0;
  for (uint32_t i = 0, first = 0; i < unit->step_count; i++) {
    if (!unit_ends_block(unit, i))
      continue;
    const struct unit_block block = {.first = first, .end = i + 1};
    (void)ARRAY_ADD(unit->blocks, unit->block_count, unit->block_capacity, block);
    first = i + 1;
  }
  assert(unit->step_count == 0 || unit->blocks[unit->block_count - 1].end == unit->step_count);
  for (uint32_t i = 0; i < unit->block_count; i++)
    for (uint32_t k = unit->blocks[i].first; k < unit->blocks[i].end; k++)
      unit->steps[k].block = i;
}

bool unit_has_only(const struct unit *unit, const struct unit_block *block, unsigned kinds) {
  for (uint32_t i = block->first; i < block->end; i++)
    if ((kinds >> unit->steps[i].kind & 1) == 0)
      return false;
  return true;
}

/* ---- Following ---- */

void unit_wait_for(struct unit *unit, uint32_t block) {
  assert(block < unit->block_count);
  if (!unit->blocks[block].is_waiting)
    waiting_add(&unit->waiting, block);
  unit->blocks[block].is_waiting = true;
}

bool unit_take(struct unit *unit, uint32_t *block) {
  if (unit->waiting.count == 0)
    return false;
  *block = waiting_take(&unit->waiting);
  unit->blocks[*block].is_waiting = false;
  return true;
}

/* Whether only one of two states can be a place's, the first one after a call: the stacks' depths
 * differ, or the call has lost a return address that the other state has in the register. */
static bool contradicts(const struct state *guess, const struct state *other,
                        const struct code_architecture *architecture) {
  const bool has_other_depth =
      guess->stack.is_known && other->stack.is_known && guess->stack.offset != other->stack.offset;
  const bool has_link =
      ((guess->own | guess->stored) & KEPT_LINK_BIT) != 0 || guess->link_copies != 0;
  return has_other_depth ||
         (architecture->has_link && (other->own & KEPT_LINK_BIT) != 0 && !has_link);
}

struct state unit_state(const struct unit *unit, const struct unit_block *block) {
  assert(block->is_reached);
  return *(const struct state *)(const void *)intern_get(&unit->states, block->state).words;
}

/* Sets the state at a block's start, and has it followed. */
static void set_state(struct unit *unit, uint32_t number, const struct state *state) {
  uint64_t words[STATE_WORDS];
  memcpy(words, state, sizeof words);
  unit->blocks[number].state = intern_add(&unit->states, words, STATE_WORDS);
  unit->blocks[number].is_reached = true;
  unit_wait_for(unit, number);
}

bool unit_enter(struct unit *unit, uint64_t address, const struct state *state, bool is_guessed) {
  const struct unit_step *step = unit_step(unit, address);
  assert(step == NULL || step->block < unit->block_count);
  if (step == NULL || step != &unit->steps[unit->blocks[step->block].first])
    return false;
  struct unit_block *block = &unit->blocks[step->block];
  if (!block->is_reached) {
    block->is_guessed = is_guessed;
    set_state(unit, step->block, state);
    return true;
  }
  struct state joined = unit_state(unit, block);
  const bool differs = block->is_guessed != is_guessed &&
                       (is_guessed ? contradicts(state, &joined, unit->architecture)
                                   : contradicts(&joined, state, unit->architecture));
  if (differs && !is_guessed) {
    block->is_guessed = false;
    set_state(unit, step->block, state);
  } else if (!differs) {
    block->is_guessed &= is_guessed;
    if (state_join(&joined, state))
      set_state(unit, step->block, &joined);
  }
  return true;
}

bool unit_goes_beyond(const struct unit *unit, const struct unit_step *step) {
  return unit_step(unit, unit_after(step)) == NULL;
}

void unit_go_on(struct unit *unit, const struct unit_step *step, const struct state *state) {
  const bool is_entered = unit_enter(unit, unit_after(step), state, false);
  assert(is_entered || unit_goes_beyond(unit, step)); /* a way that ends is a state lost */
  (void)is_entered;
}

void unit_guess(struct unit *unit, const struct unit_step *step) {
  assert(step == &unit->steps[unit->blocks[step->block].end - 1]);
  waiting_add(&unit->guesses, step->block);
}

static const struct unit_step *follow(struct unit *unit, const struct unit_hooks *hooks,
                                      const struct unit_block *block, struct state *state,
                                      unit_visitor *visit) {
  static const struct state_uses none = {0};
  assert(block->first < block->end);
  for (uint32_t i = block->first; i < block->end; i++) {
    const struct unit_step *step = &unit->steps[i];
    if (step->is_idle && state->link_copies == 0) {
      if (visit != NULL)
        visit(hooks->context, step, state, state, &none);
      continue;
    }
    const bool is_call = step->kind == CODE_CALL && hooks->call != NULL;
    struct state before;
    if (is_call || visit != NULL)
      before = *state;
    const struct state_uses uses = state_follow(state, unit->architecture, unit_form(unit, step));
    if (is_call)
      hooks->call(hooks->context, unit, step, &before, state);
    if (visit != NULL)
      visit(hooks->context, step, &before, state, &uses);
  }
  return &unit->steps[block->end - 1];
}

void unit_run(struct unit *unit, const struct unit_hooks *hooks) {
  for (uint32_t number; unit->waiting.count > 0 || unit->guesses.count > 0;) {
    const bool is_guess = !unit_take(unit, &number);
    if (is_guess)
      number = waiting_take(&unit->guesses);
    struct state state = unit_state(unit, &unit->blocks[number]);
    const struct unit_step *last = follow(unit, hooks, &unit->blocks[number], &state, NULL);
    if (is_guess)
      hooks->guess(hooks->context, unit, last, &state);
    else
      hooks->leave(hooks->context, unit, last, &state);
  }
}

struct state unit_visit(struct unit *unit, const struct unit_hooks *hooks, uint32_t block,
                        unit_visitor *visit) {
  assert(block < unit->block_count);
  struct state state = unit_state(unit, &unit->blocks[block]);
  (void)follow(unit, hooks, &unit->blocks[block], &state, visit);
  return state;
}
