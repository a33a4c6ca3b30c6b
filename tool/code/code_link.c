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
  instruction->values = code_computed(CODE_NO_REGISTER, CODE_NO_REGISTER);
}

void link_set_copy(struct code_instruction *instruction, unsigned from) {
  instruction->values.operation = VALUE_COPY;
  instruction->values.first = (uint8_t)from;
}

void link_set_value(struct code_instruction *instruction, unsigned number, bool is_load,
                    unsigned size) {
  assert(number < CODE_REGISTERS && 0 < size && size <= 8);
  struct code_values *values = &instruction->values;
  link_set_copy(instruction, is_load ? VALUE_MEMORY : number);
  values->to = (uint8_t)(is_load ? number : VALUE_MEMORY);
  values->part = (uint8_t)(is_load ? size : 8);
  values->size = is_load ? 0 : (uint16_t)size;
}

/* The value that a part makes. */
static void set_value(struct code_instruction *instruction) {
  const struct code_parts *parts = &instruction->parts;
  struct code_values *values = &instruction->values;
  values->base = parts->from;
  values->first = parts->to;
  if (parts->part == CODE_UPPER || (parts->part == CODE_LOWER && parts->from == CODE_NO_REGISTER))
    link_set_copy(instruction, VALUE_NUMBER);
  else if (parts->part == CODE_LOWER)
    values->operation = VALUE_ADDRESS;
  else if (parts->part == CODE_BITS)
    values->operation = VALUE_BITS;
  if (parts->part != CODE_THROUGH || parts->distance != 0)
    return;
  values->operation = VALUE_GO;
  values->first = parts->from;
}

void link_set_part(struct code_instruction *instruction, enum part_use part, unsigned to,
                   unsigned from, int64_t distance) {
  assert(to < CODE_REGISTERS && (from < CODE_REGISTERS || from == CODE_NO_REGISTER));
  struct code_parts *parts = &instruction->parts;
  parts->part = (uint8_t)part;
  parts->to = (uint8_t)to;
  parts->from = (uint8_t)from;
  parts->distance = instruction->target = (uint64_t)distance;
  set_value(instruction);
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
  assert(-CODE_STACK_LOST < distance && distance < CODE_STACK_LOST);
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
  _Static_assert(RUN + 2 == CODE_PRESERVED, "a bit for each");
  assert((machine->also & (machine->also - 1)) == 0);
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
  assert(offset >= 0 && offset % 8 == 0 && offset / 8 < CODE_WORDS);
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

/* Where the memory is that its value is moved to, or from; and whether a register gets one. */
static void set_place(const struct link_machine *machine, struct code_instruction *instruction) {
  const struct code_parts *parts = &instruction->parts;
  struct code_values *values = &instruction->values;
  const enum code_stack_base base = link_base(machine, values->base);
  const bool is_far = values->index != CODE_NO_REGISTER || instruction->stack.size >= LINK_FAR;
  const uint32_t written =
      parts->writes | (values->operation != VALUE_COMPUTED ? parts->may_write : 0);
  values->place = (uint8_t)(base == CODE_NO_BASE         ? VALUE_ELSEWHERE
                            : !is_far                    ? base
                            : base == CODE_STACK_POINTER ? VALUE_ON_STACK
                                                         : VALUE_BY_FRAME);
  if (values->to < CODE_REGISTERS && !has(written, values->to))
    values->to = CODE_NO_REGISTER;
}

void link_finish(const struct link_machine *machine, struct code_instruction *instruction) {
  const struct code_parts *parts = &instruction->parts;
  struct code_stack *stack = &instruction->stack;
  const uint32_t written = parts->writes | parts->may_write;
  set_place(machine, instruction);
  stack->changes = preserved_of(machine, written);
  stack->loses_frame = has(written, machine->frame) && stack->copy != CODE_STACK_POINTER;
  set_handed(machine, instruction);
  if (has(written, machine->stack) && stack->growth == 0 && stack->copy == CODE_NO_BASE &&
      parts->part != CODE_ADD && parts->part != CODE_SUBTRACT)
    stack->growth = CODE_STACK_LOST;
  stack->reads_link |= has(parts->reads, machine->link) && stack->link != CODE_LINK_SAVED;
  if (has(written, machine->link) && stack->link == CODE_LINK_KEPT)
    stack->link = instruction->kind == CODE_CALL ? CODE_LINK_CALLED : CODE_LINK_CHANGED;
  assert(stack->copy == CODE_NO_BASE || stack->growth == 0); /* one of them counts */
}
