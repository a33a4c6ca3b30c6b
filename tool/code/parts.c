/* parts.c - see parts.h. */
#include "tool/code/parts.h"

#include <assert.h>
#include <string.h>

void parts_reset(struct parts *parts) { memset(parts->registers, 0, sizeof parts->registers); }

static void open_upper(const struct parts *parts, struct part_value *value, parts_visitor *open,
                       void *context) {
  if (open != NULL && value->kind == PART_UPPER && !value->is_open &&
      (!value->is_constant || parts->is_fixed))
    open(context, value->value);
  value->is_open = true;
}

void parts_leave(struct parts *parts, parts_visitor *open, void *context) {
  for (unsigned i = 0; i < CODE_REGISTERS; i++)
    open_upper(parts, &parts->registers[i], open, context);
}

static void open_registers(struct parts *parts, uint32_t bits, parts_visitor *open, void *context) {
  for (; bits != 0; bits &= bits - 1)
    open_upper(parts, &parts->registers[__builtin_ctz(bits)], open, context);
}

static void add_constant(struct code_instruction *instruction, uint64_t value) {
  instruction->form = 0;
  assert(instruction->constant_count < CODE_CONSTANTS);
  instruction->constants[instruction->constant_count++] = value;
}

static void refer(const struct parts *parts, struct code_instruction *instruction,
                  struct part_value whole, bool is_access) {
  if (whole.is_constant && !parts->is_fixed)
    return;
  if (whole.is_constant && !is_access) {
    add_constant(instruction, whole.value);
    return;
  }
  instruction->form = 0;
  instruction->has_reference = true;
  instruction->is_access = is_access;
  instruction->reference = whole.value;
}

/* Whether a part makes a whole address, of an upper part, or of another address; *whole is that. */
static bool make_whole(const struct code_instruction *instruction, struct part_value from,
                       struct part_value *whole) {
  const struct code_parts *use = &instruction->parts;
  const bool is_sum = use->part == CODE_LOWER && from.kind == PART_WHOLE;
  if (instruction->values.base != CODE_NO_REGISTER && from.kind != PART_UPPER && !is_sum)
    return false;
  *whole = (struct part_value){.value = from.value + instruction->target,
                               .kind = PART_WHOLE,
                               .is_constant = from.is_constant || use->is_constant};
  return true;
}

static void go_through(struct code_instruction *instruction, struct part_value from) {
  const bool is_address = from.kind == PART_UPPER || from.kind == PART_WHOLE;
  if (is_address && !from.is_constant) {
    instruction->target_kind = CODE_DIRECT;
    instruction->target += from.value;
  } else if (from.kind == PART_SLOT && !from.is_constant && instruction->target == 0) {
    instruction->target_kind = CODE_SLOT;
    instruction->target = from.value;
  } else {
    return;
  }
  instruction->form = 0;
  instruction->is_sum = false;
}

static void move_stack(struct code_instruction *instruction, struct part_value from,
                       bool is_subtraction) {
  const int64_t distance = (int64_t)from.value;
  if ((from.kind != PART_UPPER && from.kind != PART_WHOLE) || !from.is_constant ||
      distance > INT32_MAX || distance < -INT32_MAX)
    return;
  instruction->form = 0;
  instruction->stack.growth = (int32_t)(is_subtraction ? distance : -distance);
}

/* The new value of a part's register. */
static struct part_value use_part(const struct parts *parts, struct code_instruction *instruction,
                                  struct part_value from, bool *is_understood) {
  const struct code_parts *use = &instruction->parts;
  const uint64_t number = instruction->target;
  const uint8_t shift = instruction->values.shift;
  const bool is_access = use->part == CODE_LOAD || use->part == CODE_ACCESS;
  const struct part_value none = {0};
  struct part_value whole = from;
  switch (use->part) {
  case CODE_UPPER:
    return (struct part_value){
        .value = number, .kind = PART_UPPER, .is_constant = use->is_constant};
  case CODE_BITS:
    *is_understood &= from.kind == PART_WHOLE || !parts->is_fixed;
    if (from.kind != PART_WHOLE)
      return none;
    assert(shift <= 48);
    whole.value = (from.value & ~((uint64_t)UINT16_MAX << shift)) | number;
    break;
  case CODE_SHIFT:
    if (from.kind != PART_WHOLE || !from.is_constant)
      return none;
    assert(number < 64);
    whole.value <<= number;
    break;
  case CODE_LOWER:
  case CODE_LOAD:
  case CODE_ACCESS:
    if (!make_whole(instruction, from, &whole))
      return none;
    break;
  case CODE_THROUGH:
    go_through(instruction, from);
    return none;
  case CODE_SUBTRACT:
  case CODE_ADD:
    move_stack(instruction, from, use->part == CODE_SUBTRACT);
    return none;
  default:
    return none;
  }
  refer(parts, instruction, whole, is_access);
  whole.kind = is_access ? PART_SLOT : PART_WHOLE;
  return use->part == CODE_ACCESS ? none : whole;
}

/* Whether a part is added to the global pointer. */
static bool uses_global(const struct parts *parts, const struct code_instruction *instruction) {
  const struct code_values *values = &instruction->values;
  return instruction->parts.part != CODE_NO_PART && parts->global_register != 0 &&
         values->base == parts->global_register && values->to != parts->global_register;
}

/* The value of the register that a part is added to. */
static struct part_value from_of(const struct parts *parts,
                                 const struct code_instruction *instruction) {
  const uint8_t base = instruction->values.base;
  if (instruction->parts.part == CODE_NO_PART || base >= CODE_REGISTERS)
    return (struct part_value){.kind = PART_UNKNOWN};
  if (parts->global != 0 && uses_global(parts, instruction))
    return (struct part_value){.kind = PART_UPPER, .value = parts->global, .is_open = true};
  return parts->registers[base];
}

static bool goes(uint8_t kind) { return kind >= CODE_CALL && kind <= CODE_STOP; }

bool parts_follow(struct parts *parts, struct code_instruction *instruction, parts_visitor *open,
                  void *context) {
  const struct code_parts *use = &instruction->parts;
  const struct code_values *values = &instruction->values;
  const struct part_value from = from_of(parts, instruction);
  /* An addition of 0 may be a copy, with the rest added later. */
  const bool is_used = use->part != CODE_NO_PART && values->base < CODE_REGISTERS &&
                       use->part != CODE_SHIFT &&
                       !(use->part == CODE_LOWER && instruction->target == 0);
  const uint32_t others = use->reads & ~(is_used ? (uint32_t)1 << values->base : 0);
  bool is_understood = parts->global != 0 || !uses_global(parts, instruction);
  const struct part_value value = use_part(parts, instruction, from, &is_understood);
  open_registers(parts, others | use->may_write, open, context);
  for (uint32_t bits = use->writes | use->may_write; bits != 0; bits &= bits - 1)
    parts->registers[__builtin_ctz(bits)] = (struct part_value){0};
  if (value.kind != PART_UNKNOWN && values->to < CODE_REGISTERS &&
      (use->writes >> values->to & 1) != 0)
    parts->registers[values->to] = value;
  if (goes(instruction->kind) && !parts->is_straight)
    parts_leave(parts, open, context);
  if (goes(instruction->kind) && instruction->kind != CODE_BRANCH && !parts->is_straight)
    parts_reset(parts);
  return is_understood;
}
