/* code_link.c - see code_link.h. */
#include "tool/code/code_link.h"

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

void link_set_part(struct code_instruction *instruction, enum part_use part, unsigned from,
                   int64_t distance) {
  struct code_values *values = &instruction->values;
  assert(from < CODE_REGISTERS || from == CODE_NO_REGISTER);
  instruction->parts.part = (uint8_t)part;
  instruction->parts.is_constant = from == CODE_NO_REGISTER && !instruction->is_relative;
  instruction->target = (uint64_t)distance;
  values->base = (uint8_t)from;
  values->first = (uint8_t)from;
  if (part == CODE_UPPER || (part == CODE_LOWER && from == CODE_NO_REGISTER))
    link_set_copy(instruction, VALUE_NUMBER);
  else if (part == CODE_LOWER)
    values->operation = VALUE_ADDRESS;
  else if (part == CODE_BITS)
    values->operation = VALUE_BITS;
  else if (part == CODE_THROUGH && distance == 0)
    values->operation = VALUE_GO;
}

static bool has(uint32_t registers, unsigned number) { return (registers >> number & 1) != 0; }

/* An instruction that reads the stack pointer or the frame pointer for something else than to use
 * memory, or to make one of the other. */
static void set_handed(const struct code_architecture *architecture,
                       struct code_instruction *instruction) {
  struct code_stack *stack = &instruction->stack;
  if (instruction->kind != CODE_OTHER || stack->copy != CODE_NO_BASE || stack->growth != 0 ||
      stack->handed != CODE_NO_BASE)
    return;
  if (has(instruction->parts.reads, architecture->in_sets[0]) && stack->base != CODE_FRAME_POINTER)
    stack_hand(architecture, stack, architecture->in_sets[0]);
  else if (has(instruction->parts.reads, architecture->stack_pointer) &&
           stack->base != CODE_STACK_POINTER)
    stack_hand(architecture, stack, architecture->stack_pointer);
}

/* Where the memory is that its value is moved to, or from; and whether a register gets one. */
static void set_place(const struct code_architecture *architecture,
                      struct code_instruction *instruction) {
  const struct code_parts *parts = &instruction->parts;
  struct code_values *values = &instruction->values;
  const bool is_far = values->index != CODE_NO_REGISTER || instruction->stack.size >= LINK_FAR;
  const uint32_t written =
      parts->writes | (values->operation != VALUE_COMPUTED ? parts->may_write : 0);
  values->place = stack_place(architecture, values->base, is_far);
  if (values->to < CODE_REGISTERS && !has(written, values->to))
    values->to = CODE_NO_REGISTER;
}

void link_finish(const struct code_architecture *architecture,
                 struct code_instruction *instruction) {
  const struct code_parts *parts = &instruction->parts;
  struct code_stack *stack = &instruction->stack;
  const uint32_t written = parts->writes | parts->may_write;
  set_place(architecture, instruction);
  stack->changes |= stack_set_of(architecture, written);
  set_handed(architecture, instruction);
  if (has(written, architecture->stack_pointer) && stack->growth == 0 &&
      stack->copy == CODE_NO_BASE)
    stack->growth = CODE_STACK_LOST;
  stack->reads_link = has(parts->reads, architecture->link_register) &&
                      ((stack->saves[0] | stack->saves[1]) & CODE_LINK) == 0;
  assert(stack->copy == CODE_NO_BASE || stack->growth == 0); /* one of them counts */
}
