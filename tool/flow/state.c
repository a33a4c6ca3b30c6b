/* state.c - see state.h. */
#include "tool/flow/state.h"

#include <assert.h>
#include <string.h>

enum { WORD = 8, OFFSET_MAX = 1 << 29 };

struct state state_at_start(const struct code_architecture *architecture) {
  const struct state_pointer start = {.is_known = true, .is_sure = true};
  struct state state = {.stack = start, .frame.is_foreign = true, .own = KEPT_REGISTERS};
  if (architecture->has_link)
    state.own |= KEPT_LINK_BIT;
  else
    state.stored = state.sure = KEPT_LINK_BIT; /* at 0: the call has pushed it */
  return state;
}

/* ---- Pointers ---- */

static struct state_pointer moved(struct state_pointer pointer, int64_t distance) {
  const int64_t offset = pointer.offset + distance;
  if (!pointer.is_known || offset > OFFSET_MAX || offset < -OFFSET_MAX)
    return (struct state_pointer){.is_foreign = pointer.is_foreign};
  pointer.offset = (int32_t)offset;
  return pointer;
}

static void move_pointers(struct state *state, const struct code_stack *use) {
  assert(use->copy == CODE_NO_BASE || use->growth == 0);
  if (use->copy == CODE_STACK_POINTER)
    state->frame = moved(state->stack, use->copy_offset);
  else if (use->copy == CODE_FRAME_POINTER)
    state->stack = moved(state->frame, use->copy_offset);
  else if (use->growth != CODE_STACK_LOST)
    state->stack = moved(state->stack, -(int64_t)use->growth);
}

/* A register that becomes something else is used first: perhaps to load itself. */
static void lose_bases(struct state *state, const struct code_stack *use) {
  const struct state_pointer lost = {.is_foreign = true};
  if (use->growth == CODE_STACK_LOST && use->copy == CODE_NO_BASE)
    state->stack = lost;
  if (code_loses_frame(use))
    state->frame = lost;
}

/* ---- Memory ---- */

static struct state_use place_of(const struct state *state, uint8_t base, int32_t offset,
                                 int32_t size) {
  const struct state_pointer *pointer = base == CODE_FRAME_POINTER ? &state->frame : &state->stack;
  return (struct state_use){.at = (int64_t)pointer->offset + offset,
                            .size = size,
                            .is_known = base != CODE_NO_BASE && pointer->is_known,
                            .is_sure = pointer->is_sure};
}

static bool overlaps(const struct state *state, unsigned number, const struct state_use *use) {
  return (state->stored >> number & 1) != 0 && use->at < (int64_t)state->places[number] + WORD &&
         state->places[number] < use->at + use->size;
}

/* A store: the old value is lost. */
static void overwrite(struct state *state, const struct state_use *use) {
  for (uint32_t left = state->stored; left != 0; left &= left - 1)
    if (overlaps(state, (unsigned)__builtin_ctz(left), use))
      state->stored &= (uint16_t) ~(left & -left);
}

/* Callees use the stack below their caller's part. */
static void lose_below(struct state *state) {
  for (uint32_t left = state->stack.is_known ? state->stored : 0; left != 0; left &= left - 1)
    if (state->places[__builtin_ctz(left)] < state->stack.offset)
      state->stored &= (uint16_t) ~(left & -left);
}

/* The first place counts. */
static void save(struct state *state, uint32_t values, const struct state_use *use, int32_t more) {
  const uint16_t saved = (uint16_t)(values & state->own & ~(uint32_t)state->stored);
  for (uint32_t left = saved; left != 0; left &= left - 1)
    state->places[__builtin_ctz(left)] = (int32_t)(use->at + more);
  state->stored |= saved;
  state->sure = (uint16_t)(use->is_sure ? state->sure | saved : state->sure & ~saved);
}

static void load(struct state *state, uint32_t values, const struct state_use *use, int32_t more) {
  const uint32_t loaded = use->is_known ? values & state->stored : 0;
  for (uint32_t left = loaded; left != 0; left &= left - 1)
    if (state->places[__builtin_ctz(left)] == use->at + more)
      state->own |= (uint16_t)(left & -left);
}

static void follow_registers(struct state *state, const struct code_stack *stack,
                             const struct state_use *use) {
  state->own &= (uint16_t)~stack->changes;
  for (int32_t i = 0; i < CODE_WORDS; i++)
    load(state, stack->loads[i], use, i * WORD);
  if (!use->is_known || use->is_read || use->is_address)
    return;
  overwrite(state, use);
  for (int32_t i = 0; i < CODE_WORDS; i++)
    save(state, stack->saves[i], use, i * WORD);
}

/* x86-64 pushes a word that it reads elsewhere on the stack. */
static void push_read(struct state *state, const struct code_stack *stack, struct state_use *use) {
  *use = place_of(state, CODE_STACK_POINTER, 0, stack->growth);
  if (use->is_known)
    overwrite(state, use);
}

/* ---- The return address ---- */

/* Whether an instruction puts a copy of the return address into another register, or back. */
static bool copies_link(struct state *state, const struct code_architecture *architecture,
                        const struct code_instruction *instruction) {
  const struct code_values *values = &instruction->values;
  const uint32_t link = (uint32_t)1 << architecture->link_register;
  const uint32_t from = instruction->parts.reads, to = instruction->parts.writes;
  const bool is_copy = instruction->kind == CODE_OTHER && code_is_copy(instruction) &&
                       from == (uint32_t)1 << values->first && to == (uint32_t)1 << values->to;
  const bool is_own = (state->own & KEPT_LINK_BIT) != 0;
  const bool has_copy = is_copy && (from == link ? is_own : (state->link_copies & from) != 0);
  state->link_copies &= ~(to | instruction->parts.may_write);
  if (has_copy && to != link)
    state->link_copies |= to;
  return has_copy;
}

/* Follows it before the registers are. Returns whether the instruction copies it. */
static bool follow_link(struct state *state, const struct code_architecture *architecture,
                        const struct code_instruction *instruction, struct state_uses *uses) {
  const struct code_stack *stack = &instruction->stack;
  const bool was_own = (state->own & KEPT_LINK_BIT) != 0;
  const bool is_saved = ((stack->saves[0] | stack->saves[1]) & CODE_LINK) != 0;
  uint32_t copies = state->link_copies & instruction->parts.reads;
  const bool is_copy = copies_link(state, architecture, instruction);
  copies = is_copy ? 0 : copies;
  uses->reads_return |=
      (!is_copy && stack->reads_link && (was_own || state->has_calls_link)) || copies != 0;
  if (is_saved)
    uses->reads_return |= state->has_calls_link || (was_own && !uses->memory.is_known);
  if ((stack->changes & CODE_LINK) != 0)
    state->has_calls_link = instruction->kind == CODE_CALL;
  state->is_signed ^= stack->signs_link;
  uses->reads_return_surely |= uses->reads_return && instruction->kind == CODE_OTHER && !is_saved;
  return is_copy;
}

/* ---- Instructions ---- */

/* Whether the caller's frame pointer is read where it is saved, other than into its register. */
static bool reads_frame(const struct state *state, const struct code_stack *stack,
                        const struct state_use *use) {
  const int64_t word = (state->places[KEPT_FRAME] - use->at) / WORD;
  if (!use->is_known || !use->is_read || !overlaps(state, KEPT_FRAME, use))
    return false;
  return word < 0 || word >= CODE_WORDS || use->at + word * WORD != state->places[KEPT_FRAME] ||
         (stack->loads[word] & CODE_PRESERVED_FRAME) == 0;
}

/* Whether an instruction changes at most the callee-saved registers, and uses nothing. */
static bool is_apart(const struct code_architecture *architecture,
                     const struct code_instruction *instruction) {
  const struct code_stack *stack = &instruction->stack;
  const bool keeps_link = (stack->changes & CODE_LINK) == 0 && !stack->signs_link &&
                          !stack->reads_link && !code_is_copy(instruction);
  return stack->base == CODE_NO_BASE && stack->copy == CODE_NO_BASE && stack->growth == 0 &&
         stack->handed == CODE_NO_BASE && !code_loses_frame(stack) &&
         instruction->kind != CODE_CALL && (keeps_link || !architecture->has_link);
}

bool state_is_kept(const struct code_architecture *architecture,
                   const struct code_instruction *instruction) {
  return instruction->stack.changes == 0 && is_apart(architecture, instruction);
}

struct state_uses state_follow(struct state *state, const struct code_architecture *architecture,
                               const struct code_instruction *instruction) {
  const struct code_stack *stack = &instruction->stack;
  struct state_uses uses = {0};
  if (state->link_copies == 0 && is_apart(architecture, instruction)) {
    state->own &= (uint16_t)~stack->changes;
    return uses;
  }
  if (stack->handed != CODE_NO_BASE)
    uses.handed = place_of(state, stack->handed, stack->handed_offset, stack->handed_size);
  uses.handed.is_address = true;
  move_pointers(state, stack);
  uses.memory = place_of(state, stack->base, stack->offset, stack->size);
  uses.memory.is_read = stack->is_read;
  uses.memory.is_address = stack->is_address;
  uses.reads_return = uses.reads_return_surely =
      uses.memory.is_known && stack->is_read &&
      ((stack->loads[0] | stack->loads[1]) & CODE_LINK) == 0 &&
      overlaps(state, KEPT_LINK, &uses.memory);
  uses.reads_frame = reads_frame(state, stack, &uses.memory);
  const bool has_copy =
      architecture->has_link && follow_link(state, architecture, instruction, &uses);
  follow_registers(state, stack, &uses.memory);
  if (has_copy)
    state->own |= stack->changes & CODE_LINK;
  if (!architecture->has_link && stack->growth > 0 && stack->growth != CODE_STACK_LOST &&
      stack->is_read)
    push_read(state, stack, &uses.memory);
  lose_bases(state, stack);
  if (instruction->kind == CODE_CALL) {
    lose_below(state);
    state->stack.is_sure = false;
  }
  return uses;
}

/* ---- Two ways to a place ---- */

/* A place of the code has one depth: where one way's is sure, so is the other one's. */
static struct state_pointer joined(struct state_pointer a, struct state_pointer b) {
  if (!a.is_known || !b.is_known || a.offset != b.offset)
    return (struct state_pointer){.is_foreign = a.is_foreign || b.is_foreign};
  a.is_sure |= b.is_sure;
  return a;
}

bool state_join(struct state *state, const struct state *other) {
  const struct state before = *state;
  assert((before.own | before.stored) >> KEPT == 0);
  /* One way signs the return address, and another doesn't: none of them has it. */
  const uint16_t kept =
      state->is_signed == other->is_signed ? UINT16_MAX : (uint16_t)~KEPT_LINK_BIT;
  state->stack = joined(state->stack, other->stack);
  state->frame = joined(state->frame, other->frame);
  state->own &= other->own & kept;
  state->stored &= other->stored & kept;
  for (unsigned i = 0; state->stored >> i != 0; i++)
    if (state->places[i] != other->places[i])
      state->stored &= (uint16_t) ~(1u << i);
  state->sure &= other->sure;
  state->link_copies &= other->link_copies;
  state->has_calls_link |= other->has_calls_link;
  return memcmp(&before, state, sizeof before) != 0;
}

bool state_is_level(const struct state *state, const struct code_architecture *architecture) {
  const uint16_t links = architecture->has_link ? state->own : state->stored;
  return state_is_at_start(state) && (links & KEPT_LINK_BIT) != 0 &&
         (state->own >> KEPT_FRAME & 1) != 0;
}
