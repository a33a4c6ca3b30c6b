/* code.c - finds an architecture, and what a function keeps on its stack: see code.h. */
#include "tool/code/code.h"

const struct code_architecture *code_architecture(uint16_t machine) {
  static const struct code_architecture *const architectures[] = {&code_x86_64, &code_aarch64,
                                                                  &code_riscv64};
  for (size_t i = 0; i < sizeof architectures / sizeof *architectures; i++)
    if (architectures[i]->machine == machine)
      return architectures[i];
  return NULL;
}

enum code_relocation code_relocation(const struct code_architecture *architecture, uint64_t type) {
  const struct code_relocation_type *relocation = architecture->relocations;
  while (relocation->type != 0 && relocation->type != type)
    relocation++;
  return relocation->meaning;
}

static struct code_slot *find_slot(struct code_slots *slots, enum code_stack_base base,
                                   int32_t offset) {
  for (uint32_t i = 0; i < slots->count && i < CODE_SLOTS; i++)
    if (slots->items[i].base == base && slots->items[i].offset == offset)
      return &slots->items[i];
  return NULL;
}

bool code_is_code(const struct code_state *state, struct code_value value) {
  const bool is_address =
      value.kind == CODE_ADDRESS || value.kind == CODE_HELD || value.kind == CODE_SUM;
  return is_address && state->slots != NULL &&
         value.table - state->slots->start < state->slots->size;
}

struct code_value code_sum(const struct code_state *state, uint32_t registers) {
  for (; registers != 0; registers &= registers - 1) {
    const struct code_value value = state->registers[__builtin_ctz(registers)];
    if (code_is_code(state, value))
      return (struct code_value){
          .kind = CODE_SUM, .table = value.table, .is_upper = value.is_upper};
  }
  return (struct code_value){.kind = CODE_UNKNOWN};
}

void code_store(struct code_state *state, enum code_stack_base base, int32_t offset,
                struct code_value value) {
  struct code_slots *slots = state->slots;
  if (!code_is_code(state, value) || slots->count > CODE_SLOTS ||
      find_slot(slots, base, offset) != NULL)
    return;
  if (slots->count < CODE_SLOTS)
    slots->items[slots->count] = (struct code_slot){value.table, offset, (uint8_t)base};
  slots->count++;
  slots->has_grown = true;
}

struct code_value code_load(const struct code_state *state, enum code_stack_base base,
                            int32_t offset) {
  struct code_slots *slots = state->slots;
  if (slots == NULL || slots->count == 0)
    return (struct code_value){.kind = CODE_UNKNOWN};
  const struct code_slot *slot =
      slots->count > CODE_SLOTS ? &slots->items[0] : find_slot(slots, base, offset);
  struct code_value loaded = {.kind = CODE_UNKNOWN};
  if (slot != NULL)
    loaded = (struct code_value){.kind = CODE_HELD, .table = slot->address};
  return loaded;
}

bool code_is_idle(const struct code_state *state, const struct code_instruction *instruction) {
  if (!instruction->is_plain || instruction->has_reference || instruction->constant_count > 0 ||
      (instruction->stack.base != CODE_NO_BASE && state->slots->count > 0))
    return false;
  for (uint32_t named = instruction->named; named != 0; named &= named - 1)
    if (state->registers[__builtin_ctz(named)].kind != CODE_UNKNOWN)
      return false;
  return true;
}
