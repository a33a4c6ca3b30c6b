/* code_link.c - see code_link.h. */
#include "tool/code/code_link.h"

enum code_stack_base link_base(const struct link_machine *machine, unsigned number) {
  return number == machine->stack   ? CODE_STACK_POINTER
         : number == machine->frame ? CODE_FRAME_POINTER
                                    : CODE_NO_BASE;
}

void link_set_direct(struct code_instruction *instruction, enum code_kind kind, uint64_t target) {
  instruction->kind = (uint8_t)kind;
  instruction->target_kind = CODE_DIRECT;
  instruction->target = target;
  instruction->is_relative = true;
  instruction->values = (struct code_values){0};
}

void link_set_part(struct code_instruction *instruction, enum part_use part, unsigned to,
                   unsigned from, int64_t distance) {
  struct code_parts *parts = &instruction->parts;
  parts->part = (uint8_t)part;
  parts->to = (uint8_t)to;
  parts->from = (uint8_t)from;
  parts->distance = (uint64_t)distance;
}

void link_set_address(const struct link_machine *machine, struct code_stack *stack, unsigned from,
                      int32_t offset) {
  const bool is_frame = from == machine->frame && (offset == 0 || offset == machine->callers_frame);
  stack->base = (uint8_t)link_base(machine, from);
  stack->offset = is_frame ? machine->callers_frame : offset;
  stack->size = is_frame ? 16 : 1;
  stack->is_read = false;
  stack->is_address = true;
}

void link_set_memory(const struct link_machine *machine, struct code_stack *stack, unsigned from,
                     int32_t offset, int32_t size, bool is_read) {
  if (link_base(machine, from) == CODE_NO_BASE)
    return;
  stack->base = (uint8_t)link_base(machine, from);
  stack->offset = offset;
  stack->size = size;
  stack->is_read = is_read;
}

void link_set_anywhere(const struct link_machine *machine, struct code_stack *stack, unsigned from,
                       bool is_read) {
  link_set_memory(machine, stack, from, -LINK_FAR, 2 * LINK_FAR, is_read);
}

/* There may be another pointer to the frame then. */
static void hand(const struct link_machine *machine, struct code_stack *stack, unsigned number) {
  const bool is_frame = number == machine->frame;
  if (link_base(machine, number) == CODE_NO_BASE)
    return;
  stack->handed = (uint8_t)link_base(machine, number);
  stack->handed_offset = is_frame ? machine->callers_frame : 0;
  stack->handed_size = is_frame ? 16 : 1;
}

void link_set_moving(const struct link_machine *machine, struct code_stack *stack, unsigned from,
                     int32_t offset, int32_t size) {
  if (link_base(machine, from) == CODE_NO_BASE)
    return;
  hand(machine, stack, from);
  const int32_t end = stack->handed_offset + stack->handed_size;
  const int32_t memory_end = offset + size;
  stack->handed_offset = offset < stack->handed_offset ? offset : stack->handed_offset;
  stack->handed_size = (memory_end > end ? memory_end : end) - stack->handed_offset;
}

void link_set_sum(const struct link_machine *machine, struct code_stack *stack, unsigned to,
                  unsigned from, int32_t distance) {
  const enum code_stack_base base = link_base(machine, from);
  if (to == machine->stack && from == to) {
    stack->growth = -distance;
  } else if (to == machine->stack && from != machine->frame) {
    stack->growth = CODE_STACK_LOST;
  } else if (link_base(machine, to) != CODE_NO_BASE && to != from && base != CODE_NO_BASE) {
    stack->copy = (uint8_t)base;
    stack->copy_offset = distance;
  } else if (to != machine->frame && base != CODE_NO_BASE) {
    link_set_address(machine, stack, from, distance);
  }
}

static bool has(uint32_t registers, unsigned number) { return (registers >> number & 1) != 0; }

/* The callee-saved ones, as a set of struct code_stack's. */
static uint16_t preserved_of(const struct link_machine *machine, uint32_t registers) {
  enum { RUN = 10 };
  return (uint16_t)(has(registers, machine->frame) |
                    link_field(registers, machine->preserved, RUN) << 1 |
                    ((registers & machine->also) != 0) << (RUN + 1));
}

void link_set_saved(const struct link_machine *machine, struct code_stack *stack, unsigned number,
                    int32_t offset, bool is_load) {
  if (!is_load)
    hand(machine, stack, number);
  if (stack->base == CODE_NO_BASE)
    return;
  uint16_t *registers = is_load ? stack->loads : stack->saves;
  registers[offset / 8] = preserved_of(machine, (uint32_t)1 << number);
  if (number != machine->link)
    return;
  stack->link = is_load ? CODE_LINK_LOADED : CODE_LINK_SAVED;
  stack->link_offset = stack->offset + offset;
}

/* An instruction that reads the stack pointer or the frame pointer for something else than to use
 * memory, or to make one of the other. */
static void set_handed(const struct link_machine *machine, struct code_instruction *instruction) {
  struct code_stack *stack = &instruction->stack;
  if (instruction->kind != CODE_OTHER || stack->copy != CODE_NO_BASE || stack->growth != 0 ||
      stack->handed != CODE_NO_BASE)
    return;
  if (has(instruction->parts.reads, machine->frame) && stack->base != CODE_FRAME_POINTER)
    hand(machine, stack, machine->frame);
  else if (has(instruction->parts.reads, machine->stack) && stack->base != CODE_STACK_POINTER)
    hand(machine, stack, machine->stack);
}

void link_finish(const struct link_machine *machine, struct code_instruction *instruction) {
  const struct code_parts *parts = &instruction->parts;
  struct code_stack *stack = &instruction->stack;
  const uint32_t written = parts->writes | parts->may_write;
  stack->changes = preserved_of(machine, written);
  stack->loses_frame = has(written, machine->frame) && stack->copy != CODE_STACK_POINTER;
  set_handed(machine, instruction);
  if (has(written, machine->stack) && stack->growth == 0 && stack->copy == CODE_NO_BASE &&
      parts->part != CODE_ADD && parts->part != CODE_SUBTRACT)
    stack->growth = CODE_STACK_LOST;
  stack->reads_link |= has(parts->reads, machine->link) && stack->link != CODE_LINK_SAVED;
  if (has(written, machine->link) && stack->link == CODE_LINK_KEPT)
    stack->link = instruction->kind == CODE_CALL ? CODE_LINK_CALLED : CODE_LINK_CHANGED;
}

/* ---- Following values ---- */

static struct code_value address_of(uint64_t address) {
  return (struct code_value){.kind = CODE_ADDRESS, .table = address};
}

static struct code_value value_of(const struct link_machine *machine,
                                  const struct code_state *state, unsigned number) {
  return number < CODE_REGISTERS && number != machine->zero ? state->registers[number]
                                                            : (struct code_value){0};
}

/* Whether an entry of a table stays what it is where it is extended. */
static bool keeps_entry(struct code_value entry, const struct code_values *values) {
  const bool has_sign = entry.is_unsigned || !values->is_unsigned || values->size == 8;
  return !values->is_extended || values->size == entry.size ||
         (values->size > entry.size && has_sign);
}

/* A sum, where b is shifted and extended first: a table's address and an entry make a target. */
static struct code_value sum_of(struct code_value a, struct code_value b,
                                const struct code_values *values) {
  const bool is_first = a.kind == CODE_ADDRESS;
  const struct code_value address = is_first ? a : b, entry = is_first ? b : a;
  if (address.kind != CODE_ADDRESS)
    return (struct code_value){0};
  if (entry.kind != CODE_ENTRY || entry.size >= 8 ||
      (is_first ? !keeps_entry(entry, values) : values->shift != 0 || values->is_extended))
    return code_sum_of(address);
  return (struct code_value){.kind = CODE_TARGET,
                             .table = entry.table,
                             .base = address.table,
                             .size = entry.size,
                             .shift = is_first ? values->shift : 0,
                             .is_unsigned = values->is_extended && values->size == entry.size
                                                ? values->is_unsigned
                                                : entry.is_unsigned};
}

/* Where the memory is that an instruction uses, from its base before the instruction. */
static int32_t offset_of(const struct code_stack *stack) {
  const bool moves = stack->base == CODE_STACK_POINTER && stack->growth != CODE_STACK_LOST;
  return stack->offset - (moves ? stack->growth : 0);
}

/* The value loaded from the stack, `more` bytes further on. */
static struct code_value load(const struct code_instruction *instruction,
                              const struct code_state *state, int32_t more) {
  return code_load(state, instruction->stack.base, offset_of(&instruction->stack) + more);
}

/* The address that a part makes, or CODE_UNKNOWN. */
static struct code_value part_of(const struct link_machine *machine,
                                 const struct code_instruction *instruction,
                                 const struct code_state *state) {
  const struct code_parts *parts = &instruction->parts;
  const bool has_numbers = state->slots == NULL || state->slots->is_fixed;
  struct code_value from = value_of(machine, state, parts->from);
  if (parts->part == CODE_UPPER && (has_numbers || !parts->is_constant))
    return (struct code_value){.kind = CODE_ADDRESS, .table = parts->distance, .is_upper = true};
  if (parts->part == CODE_LOWER && parts->from == CODE_NO_REGISTER)
    from = address_of(0);
  if ((parts->part != CODE_LOWER && parts->part != CODE_BITS) || from.kind != CODE_ADDRESS ||
      (instruction->values.result == RESULT_NUMBER && !has_numbers))
    return (struct code_value){0};
  if (parts->part == CODE_BITS)
    return address_of((from.table & ~((uint64_t)UINT16_MAX << parts->shift)) | parts->distance);
  const uint64_t sum = from.table + parts->distance;
  return address_of(instruction->values.result == RESULT_WORD ? (uint64_t)(int64_t)(int32_t)sum
                                                              : sum);
}

/* The value that an instruction puts into its register. */
static struct code_value result_of(const struct link_machine *machine,
                                   const struct code_instruction *instruction,
                                   const struct code_state *state) {
  const struct code_values *values = &instruction->values;
  const struct code_value part = part_of(machine, instruction, state);
  const struct code_value first = value_of(machine, state, values->first);
  const struct code_value second = value_of(machine, state, values->second);
  if (part.kind != CODE_UNKNOWN)
    return part;
  switch (values->result) {
  case RESULT_WORD:
    if (first.kind == CODE_ENTRY && instruction->parts.distance == 0)
      return first;
    break;
  case RESULT_SUM:
    return sum_of(first, second, values);
  case RESULT_COPY:
    return first;
  case RESULT_EITHER:
    return code_either(state->slots, first, second);
  case RESULT_STACK:
    return load(instruction, state, 0);
  case RESULT_ANYWHERE:
    return code_load_anywhere(state);
  case RESULT_ENTRY:
    if (first.kind == (values->is_indexed ? CODE_ADDRESS : CODE_SUM))
      return (struct code_value){.kind = CODE_ENTRY,
                                 .table = first.table + instruction->parts.distance,
                                 .size = values->size,
                                 .is_unsigned = values->is_unsigned};
    break;
  default:
    break;
  }
  return (struct code_value){0};
}

static bool is_store(const struct code_stack *stack) {
  return stack->base != CODE_NO_BASE && !stack->is_read && !stack->is_address;
}

/* A store on the stack: of registers; or of an unresolved value, which may be computed, or made of
 * an address of code. */
static void store(const struct link_machine *machine, const struct code_instruction *instruction,
                  struct code_state *state) {
  const struct code_stack *stack = &instruction->stack;
  const struct code_values *values = &instruction->values;
  const bool is_followed = values->count > 0;
  const int32_t offset = offset_of(stack);
  struct code_value made = code_sum(state, instruction->parts.reads);
  made.is_made = true;
  const struct code_value first = is_followed ? value_of(machine, state, values->to) : made;
  if (values->stores_anywhere)
    code_store_anywhere(state, first);
  if (instruction->may_store && stack->base == CODE_NO_BASE)
    code_store_elsewhere(state, first);
  if (!is_store(stack))
    return;
  if (!is_followed && stack->size >= LINK_FAR) {
    code_store_anywhere(state, made);
    return;
  }
  code_store(state, stack->base, offset, first);
  if (values->count > 1)
    code_store(state, stack->base, offset + 8, value_of(machine, state, values->second));
  for (int32_t more = 8; !is_followed && more < stack->size; more += 8)
    code_store(state, stack->base, offset + more, made);
}

/* Forgets the values that the instruction changes. All registers but those that are loaded, or
 * copied, are computed. */
static void forget(const struct link_machine *machine, const struct code_instruction *instruction,
                   struct code_state *state) {
  const struct code_parts *parts = &instruction->parts;
  const struct code_values *values = &instruction->values;
  uint32_t lost = parts->writes | parts->may_write;
  if (instruction->kind == CODE_CALL)
    code_call(state, machine->clobbers, machine->result, machine->frame);
  const bool swaps =
      lost != 0 && is_store(&instruction->stack); /* it swaps a register with memory */
  for (; lost != 0; lost &= lost - 1) {
    const unsigned number = (unsigned)__builtin_ctz(lost);
    const bool is_taken =
        values->result >= RESULT_COPY &&
        (number == values->to || (values->count == 2 && number == values->second));
    struct code_value *value = &state->registers[number];
    struct code_value written = swaps ? code_load_anywhere(state) : (struct code_value){0};
    written.is_made |= instruction->kind == CODE_OTHER && !is_taken;
    *value = has(parts->writes, number) ? written : code_either(state->slots, *value, written);
  }
}

static void assign(const struct link_machine *machine, const struct code_instruction *instruction,
                   struct code_state *state, struct code_value result) {
  const struct code_parts *parts = &instruction->parts;
  const struct code_values *values = &instruction->values;
  const bool is_computed = instruction->kind == CODE_OTHER && parts->part != CODE_LOAD &&
                           parts->part != CODE_ACCESS && instruction->stack.size == 0;
  if (is_computed && result.kind == CODE_UNKNOWN) {
    const struct code_value sum = code_sum(state, parts->reads & ~((uint32_t)1 << machine->stack));
    result = sum.kind != CODE_UNKNOWN ? sum : result;
  }
  if (parts->part == CODE_LOWER && result.kind == CODE_ADDRESS)
    state->made = result.table;
  forget(machine, instruction, state);
  if (result.kind == CODE_SUM || result.kind == CODE_TARGET)
    state->summed = result;
  if ((result.kind != CODE_UNKNOWN || result.is_made) &&
      has(parts->writes | parts->may_write, values->to))
    state->registers[values->to] = result;
  if (values->result == RESULT_STACK && values->count == 2 && has(parts->writes, values->second))
    state->registers[values->second] = load(instruction, state, 8);
}

/* Whether a new frame pointer points elsewhere than to the stack: it is loaded, or made of other
 * registers while none has an address on the stack. */
static bool points_elsewhere(const struct link_machine *machine,
                             const struct code_instruction *instruction,
                             const struct code_state *state) {
  const bool has_address = state->slots != NULL && state->slots->has_address;
  return instruction->values.result >= RESULT_LOADED ||
         (!has_address && !has(instruction->parts.reads, machine->frame));
}

void link_follow(const struct link_machine *machine, const struct code_instruction *instruction,
                 struct code_state *state, struct code_value *jump) {
  *jump = (struct code_value){0};
  if (instruction->kind == CODE_INVALID) {
    *state = (struct code_state){.slots = state->slots};
    return;
  }
  if (instruction->parts.part == CODE_THROUGH && instruction->parts.distance == 0)
    *jump = value_of(machine, state, instruction->parts.from);
  store(machine, instruction, state);
  assign(machine, instruction, state, result_of(machine, instruction, state));
  code_move_pointers(state, &instruction->stack, points_elsewhere(machine, instruction, state));
}
