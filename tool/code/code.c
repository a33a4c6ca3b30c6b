/* code.c - finds an architecture, and follows the values that a function keeps on its stack: see
 * code.h. */
#include "tool/code/code.h"

const struct code_architecture *code_architecture(uint16_t machine) {
  static const struct code_architecture *const architectures[] = {&code_x86_64, &code_aarch64,
                                                                  &code_riscv64};
  for (size_t i = 0; i < sizeof architectures / sizeof *architectures; i++)
    if (architectures[i]->machine == machine)
      return architectures[i];
  return NULL;
}

uint32_t code_registers(const struct code_architecture *architecture, uint16_t set) {
  uint32_t registers = 0;
  for (unsigned i = 0; i < CODE_PRESERVED; i++)
    registers |= (uint32_t)(set >> i & 1) << architecture->in_sets[i];
  return registers;
}

enum code_relocation code_relocation(const struct code_architecture *architecture, uint64_t type) {
  const struct code_relocation_type *relocation = architecture->relocations;
  while (relocation->type != 0 && relocation->type != type)
    relocation++;
  return relocation->type == type ? relocation->meaning : CODE_RELOCATION_SYMBOL;
}

/* ---- Places ---- */

static bool is_at(struct code_place a, struct code_place b) {
  return a.region == b.region && a.offset == b.offset;
}

static struct code_place moved(struct code_place place, int64_t distance) {
  enum { OFFSET_MAX = (1 << 28) - 1 }; /* with the region, in 32 bits */
  const int64_t offset = place.offset + distance;
  if (place.region == REGION_ANYWHERE || place.region == REGION_OTHER)
    return place;
  if (offset > OFFSET_MAX || offset < -OFFSET_MAX)
    return (struct code_place){.region = REGION_ANYWHERE};
  place.offset = (int32_t)offset;
  return place;
}

/* A pointer that the stack pointer may become. */
static struct code_place on_stack(struct code_place place) {
  const bool is_resolved = place.region == REGION_START || place.region == REGION_LATER;
  return is_resolved ? place : (struct code_place){.region = REGION_ANYWHERE};
}

void code_move_pointers(struct code_state *state, const struct code_stack *stack,
                        bool points_elsewhere) {
  const struct code_place before = state->stack;
  if (stack->copy == CODE_FRAME_POINTER)
    state->stack = on_stack(moved(state->frame, stack->copy_offset));
  else if (stack->growth == CODE_STACK_LOST)
    state->stack = (struct code_place){.region = before.region == REGION_START ? REGION_LATER
                                                                               : REGION_ANYWHERE};
  else
    state->stack = moved(state->stack, -(int64_t)stack->growth);
  if (stack->copy == CODE_STACK_POINTER)
    state->frame = moved(before, stack->copy_offset);
  else if (stack->loses_frame)
    state->frame = (struct code_place){.region = points_elsewhere ? REGION_OTHER : REGION_FRAME};
}

struct code_place code_place_at(const struct code_state *state, enum code_stack_base base,
                                int32_t offset) {
  return base == CODE_NO_BASE         ? (struct code_place){offset, REGION_FIXED}
         : base == CODE_STACK_POINTER ? moved(state->stack, offset)
                                      : moved(state->frame, offset);
}

bool code_is_on_stack(const struct code_state *state, enum code_stack_base base) {
  return base != CODE_NO_BASE && code_place_at(state, base, 0).region <= REGION_LATER;
}

/* Whether two places may be the same. On the stack, places of different regions may be, and places
 * by an unresolved frame pointer. */
static bool may_be_at(struct code_place a, struct code_place b) {
  const bool is_fixed = a.region == REGION_FIXED || b.region == REGION_FIXED;
  return is_at(a, b) || (!is_fixed && (a.region != b.region || a.region == REGION_FRAME));
}

typedef bool place_relation(struct code_place a, struct code_place b);

static const struct code_slot *find_slot(const struct code_slots *slots, struct code_place place,
                                         place_relation *is_same) {
  for (uint32_t i = 0; i < slots->count && i < CODE_SLOTS; i++)
    if (is_same(slots->items[i].place, place))
      return &slots->items[i];
  return NULL;
}

/* Whether one of the places may be this one. */
static bool is_among(const struct code_places *places, struct code_place place,
                     place_relation *is_same) {
  bool is_found = places->count > CODE_PLACES;
  for (uint32_t i = 0; i < places->count && !is_found; i++)
    is_found = is_same(places->items[i], place);
  return is_found;
}

static void add_place(struct code_slots *slots, struct code_places *places,
                      struct code_place place) {
  if (is_among(places, place, is_at))
    return;
  if (places->count < CODE_PLACES)
    places->items[places->count] = place;
  places->count++;
  slots->has_grown = true;
}

bool code_is_code(const struct code_slots *slots, struct code_value value) {
  const bool is_address =
      value.kind == CODE_ADDRESS || value.kind == CODE_HELD || value.kind == CODE_SUM;
  return is_address && value.table - slots->start < slots->size;
}

bool code_is_made(struct code_value value) {
  return value.is_made || value.kind == CODE_SUM || value.kind == CODE_TARGET ||
         (value.kind == CODE_ENTRY && value.size < 8);
}

struct code_value code_either(const struct code_slots *slots, struct code_value a,
                              struct code_value b) {
  struct code_value either = {.kind = CODE_UNKNOWN};
  if (code_is_code(slots, a) || code_is_code(slots, b))
    either =
        (struct code_value){.kind = CODE_HELD, .table = code_is_code(slots, a) ? a.table : b.table};
  either.is_made = code_is_made(a) || code_is_made(b);
  either.is_stack = a.is_stack || b.is_stack;
  return either;
}

void code_call(struct code_state *state, uint32_t registers, unsigned result, unsigned frame) {
  const uint32_t lost = state->slots->lost;
  const uint32_t computed = registers & ~((uint32_t)1 << result); /* by outlined code */
  for (uint32_t left = registers | lost; left != 0; left &= left - 1) {
    struct code_value *value = &state->registers[__builtin_ctz(left)];
    *value = code_either(state->slots, *value, (struct code_value){.kind = CODE_UNKNOWN});
    value->is_made |= (computed & left & -left) != 0;
  }
  state->registers[result] = (struct code_value){.is_made = state->registers[result].is_made};
  if ((lost >> frame & 1) != 0)
    state->frame = (struct code_place){.region = REGION_FRAME};
}

struct code_value code_sum_of(struct code_value address) {
  return (struct code_value){.kind = CODE_SUM,
                             .table = address.table,
                             .is_upper = address.is_upper,
                             .is_uncertain = address.kind == CODE_HELD || address.is_uncertain};
}

struct code_value code_sum(const struct code_state *state, uint32_t registers) {
  struct code_value sum = {.kind = CODE_UNKNOWN};
  for (; registers != 0; registers &= registers - 1) {
    const struct code_value value = state->registers[__builtin_ctz(registers)];
    const bool is_one_more = sum.kind == CODE_SUM;
    if (!code_is_code(state->slots, value))
      continue;
    sum = code_sum_of(value);
    sum.is_uncertain |= is_one_more;
  }
  return sum;
}

static void keep(struct code_slots *slots, struct code_place place, struct code_value value) {
  if (code_is_made(value))
    add_place(slots, &slots->made, place);
  if (value.is_stack)
    add_place(slots, &slots->stacks, place);
  if (!code_is_code(slots, value) || slots->count > CODE_SLOTS ||
      find_slot(slots, place, is_at) != NULL)
    return;
  if (slots->count < CODE_SLOTS)
    slots->items[slots->count] = (struct code_slot){value.table, place};
  slots->count++;
  slots->has_grown = true;
}

void code_store(struct code_state *state, enum code_stack_base base, int32_t offset,
                struct code_value value) {
  const struct code_place place = code_place_at(state, base, offset);
  if (place.region == REGION_OTHER)
    code_store_elsewhere(state, value);
  else
    keep(state->slots, place, value);
}

static struct code_value load(struct code_slots *slots, struct code_place place) {
  struct code_value loaded = {.kind = CODE_UNKNOWN};
  if (place.region == REGION_OTHER)
    return loaded;
  const struct code_slot *slot =
      slots->count > CODE_SLOTS ? &slots->items[0] : find_slot(slots, place, may_be_at);
  slots->has_load = true;
  if (slot != NULL)
    loaded = (struct code_value){.kind = CODE_HELD, .table = slot->address};
  loaded.is_stack = is_among(&slots->stacks, place, may_be_at);
  loaded.is_made =
      is_among(&slots->made, place, may_be_at) || (slots->has_address && slots->has_distant_store);
  return loaded;
}

struct code_value code_load(const struct code_state *state, enum code_stack_base base,
                            int32_t offset) {
  return load(state->slots, code_place_at(state, base, offset));
}

struct code_value code_load_anywhere(const struct code_state *state) {
  return load(state->slots, (struct code_place){.region = REGION_ANYWHERE});
}

void code_store_anywhere(struct code_state *state, struct code_value value) {
  keep(state->slots, (struct code_place){.region = REGION_ANYWHERE}, value);
}

void code_store_elsewhere(struct code_state *state, struct code_value value) {
  struct code_slots *slots = state->slots;
  if (slots->has_distant_store || !code_is_made(value))
    return;
  slots->has_distant_store = true;
  slots->has_grown |= slots->has_address;
}
