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

static bool is_at(struct code_place a, struct code_place b) {
  return a.base == b.base && a.offset == b.offset;
}

static struct code_slot *find_slot(struct code_slots *slots, struct code_place place) {
  for (uint32_t i = 0; i < slots->count && i < CODE_SLOTS; i++)
    if (is_at(slots->items[i].place, place))
      return &slots->items[i];
  return NULL;
}

/* Whether a computed value may be at a place. */
static bool is_made_at(const struct code_slots *slots, struct code_place place) {
  bool is_made = slots->made_count > CODE_MADE_SLOTS;
  for (uint32_t i = 0; i < slots->made_count && !is_made; i++)
    is_made = is_at(slots->made[i], place);
  return is_made;
}

static void keep_made(struct code_slots *slots, struct code_place place) {
  if (is_made_at(slots, place))
    return;
  const bool is_below = place.base == CODE_STACK_POINTER && place.offset < 0;
  if (slots->made_count < CODE_MADE_SLOTS)
    slots->made[slots->made_count] = place;
  slots->made_count = is_below ? CODE_MADE_SLOTS + 1 : slots->made_count + 1;
  slots->has_grown = true;
}

bool code_is_code(const struct code_slots *slots, struct code_value value) {
  const bool is_address =
      value.kind == CODE_ADDRESS || value.kind == CODE_HELD || value.kind == CODE_SUM;
  return is_address && slots != NULL && value.table - slots->start < slots->size;
}

bool code_is_made(struct code_value value) {
  return value.is_made || value.kind == CODE_SUM || value.kind == CODE_PLACE ||
         value.kind == CODE_TARGET || (value.kind == CODE_ENTRY && value.size < 8);
}

struct code_value code_either(const struct code_slots *slots, struct code_value a,
                              struct code_value b) {
  struct code_value either = {.kind = CODE_UNKNOWN};
  if (code_is_code(slots, a) || code_is_code(slots, b))
    either =
        (struct code_value){.kind = CODE_HELD, .table = code_is_code(slots, a) ? a.table : b.table};
  either.is_made = code_is_made(a) || code_is_made(b);
  return either;
}

void code_lose(struct code_state *state, uint32_t registers, unsigned result) {
  for (; registers != 0; registers &= registers - 1) {
    struct code_value *value = &state->registers[__builtin_ctz(registers)];
    *value = code_either(state->slots, *value, (struct code_value){.kind = CODE_UNKNOWN});
  }
  state->registers[result] = (struct code_value){.is_made = state->registers[result].is_made};
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

void code_store(struct code_state *state, enum code_stack_base base, int32_t offset,
                struct code_value value) {
  struct code_slots *slots = state->slots;
  const struct code_place place = {offset, (uint8_t)base};
  if (slots != NULL && code_is_made(value))
    keep_made(slots, place);
  if (!code_is_code(slots, value) || slots->count > CODE_SLOTS || find_slot(slots, place) != NULL)
    return;
  if (slots->count < CODE_SLOTS)
    slots->items[slots->count] = (struct code_slot){value.table, place};
  slots->count++;
  slots->has_grown = true;
}

struct code_value code_load(const struct code_state *state, enum code_stack_base base,
                            int32_t offset) {
  struct code_slots *slots = state->slots;
  const struct code_place place = {offset, (uint8_t)base};
  struct code_value loaded = {.kind = CODE_UNKNOWN};
  if (slots == NULL)
    return loaded;
  slots->has_load = true;
  const struct code_slot *slot =
      slots->count > CODE_SLOTS ? &slots->items[0] : find_slot(slots, place);
  if (slot != NULL)
    loaded = (struct code_value){.kind = CODE_HELD, .table = slot->address};
  loaded.is_made = is_made_at(slots, place) || (slots->has_address && slots->has_distant_store) ||
                   (slots->moves && slots->made_count > 0 && base == CODE_STACK_POINTER);
  return loaded;
}

void code_store_anywhere(struct code_state *state, struct code_value value) {
  struct code_slots *slots = state->slots;
  const bool is_made = slots != NULL && code_is_made(value) && slots->made_count <= CODE_MADE_SLOTS;
  const bool is_code = code_is_code(slots, value) && slots->count <= CODE_SLOTS;
  if (is_made)
    slots->made_count = CODE_MADE_SLOTS + 1;
  if (is_code) {
    slots->items[0].address = value.table;
    slots->count = CODE_SLOTS + 1;
  }
  if (is_made || is_code)
    slots->has_grown = true;
}

void code_store_elsewhere(struct code_state *state, struct code_value value) {
  struct code_slots *slots = state->slots;
  if (slots == NULL || slots->has_distant_store || !code_is_made(value))
    return;
  slots->has_distant_store = true;
  slots->has_grown |= slots->has_address;
}

struct code_value code_load_anywhere(const struct code_state *state) {
  struct code_slots *slots = state->slots;
  struct code_value loaded = {.kind = CODE_UNKNOWN};
  if (slots == NULL)
    return loaded;
  slots->has_load = true;
  if (slots->count > 0)
    loaded = (struct code_value){.kind = CODE_HELD, .table = slots->items[0].address};
  loaded.is_made = slots->made_count > 0;
  return loaded;
}
