/* helper.c - see helper.h. */
#include "tool/flow/helper.h"

/* Whether a helper goes back where it was called, or returns for the function that jumped to it. */
static bool is_end(const struct code_instruction *instruction,
                   const struct code_instruction *transfer, bool by_link) {
  if (transfer->kind == CODE_JUMP || by_link)
    return instruction->kind == CODE_RETURN;
  return instruction->kind == CODE_JUMP && instruction->target_kind == CODE_COMPUTED &&
         instruction->values.operation == VALUE_GO &&
         instruction->parts.reads == transfer->parts.writes;
}

/* Whether an instruction may belong to a helper: a called one keeps the register that holds its
 * return address. */
static bool is_straight(const struct code_instruction *instruction, uint32_t back) {
  const struct code_parts *parts = &instruction->parts;
  const bool is_kept = ((parts->writes | parts->may_write) & back) == 0;
  const bool is_other = instruction->kind == CODE_OTHER || instruction->kind == CODE_PADDING;
  return is_other && is_kept && !instruction->is_system;
}

/* Whether an instruction only moves the stack pointer, perhaps by a number in a register, or uses
 * the stack. Helpers are limited to these, and may jump from one to the next, unless the link
 * register calls them. */
static bool moves_frame(const struct code_instruction *instruction) {
  const struct code_stack *stack = &instruction->stack;
  const struct code_parts *parts = &instruction->parts;
  const bool is_number =
      (parts->part == CODE_UPPER || parts->part == CODE_LOWER) && parts->is_constant;
  if (instruction->has_reference || stack->growth == CODE_STACK_LOST || stack->is_address)
    return false;
  return stack->base == CODE_STACK_POINTER || stack->growth != 0 || parts->part == CODE_ADD ||
         parts->part == CODE_SUBTRACT || is_number || parts->part == CODE_SHIFT;
}

/* Whether an instruction uses the caller's frame or registers. */
static bool is_frames(const struct code_instruction *instruction) {
  const struct code_stack *stack = &instruction->stack;
  return stack->growth != 0 || stack->base != CODE_NO_BASE || stack->copy != CODE_NO_BASE ||
         stack->handed != CODE_NO_BASE || (stack->changes & ~CODE_LINK) != 0;
}

size_t helper_read(struct decoder *decoder, const struct parts *parts,
                   const struct helper_code *code, const struct code_instruction *transfer,
                   bool has_copies, struct code_instruction instructions[HELPER_INSTRUCTIONS]) {
  const struct code_architecture *architecture = decoder->architecture;
  const uint32_t link = (uint32_t)1 << architecture->link_register;
  const bool is_call = transfer->kind == CODE_CALL;
  const bool by_link = code_calls_by_link(transfer);
  const uint32_t back = !is_call ? 0 : by_link ? link : transfer->parts.writes;
  bool is_for_frame = !is_call || !by_link || has_copies;
  uint64_t at = transfer->target;
  struct parts straight = *parts;
  straight.is_straight = true;
  if (transfer->target_kind != CODE_DIRECT || (!is_call && transfer->kind != CODE_JUMP) ||
      (is_call && !architecture->has_link))
    return 0;
  for (size_t count = 0, read = 0; read < HELPER_INSTRUCTIONS; read++) {
    struct code_instruction *instruction = &instructions[count];
    const uint8_t *bytes;
    const uint64_t size = code->bytes_at(code->context, at, &bytes);
    if (size == 0)
      return 0;
    decoder_read(decoder, bytes, size, at, instruction);
    if (architecture->highest != 0)
      (void)parts_follow(&straight, instruction, NULL, NULL);
    if (is_end(instruction, transfer, by_link))
      return is_for_frame ? count : 0;
    /* A jump of a function's that is called may be to another function. */
    const bool goes_on =
        instruction->kind == CODE_JUMP && instruction->target_kind == CODE_DIRECT && !by_link;
    if (!goes_on && (!is_straight(instruction, back) || (!by_link && !moves_frame(instruction))))
      return 0;
    is_for_frame |= is_frames(instruction);
    at = goes_on ? instruction->target : at + instruction->length;
    count += !goes_on;
  }
  return 0;
}
