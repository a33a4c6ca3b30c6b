/* helpers.c - see helpers.h.
 *
 * Where code is to be small, functions that save the same registers share the instructions that do
 * so. One is called with its return address in another register than usual, makes room on the
 * stack, stores the registers there, and jumps back by that register; another one is jumped to, and
 * loads the registers and returns for the function (RISC-V's -msave-restore: __riscv_save_2,
 * __riscv_restore_2). By themselves, these lead anywhere: by a pointer, or by what was on the stack
 * before. Followed together with the function, they show that it returns to its caller.
 */
#include "tool/calls/helpers.h"

#include "tool/code/code.h"
#include "tool/code/parts.h"

enum { HELPER_INSTRUCTIONS = 32 };

/* Whether an instruction of a helper does nothing else than to move the stack pointer, by a number
 * in a register, perhaps, and to use the stack: to load registers before a return, or to store
 * those that the function has from its caller. */
static bool moves_frame(const struct code_instruction *instruction, const struct stack *stack,
                        const struct code_instruction *transfer) {
  const struct code_stack *use = &instruction->stack;
  const uint8_t part = instruction->parts.part;
  const bool saves_own = use->saves[1] == 0 &&
                         (use->link == CODE_LINK_SAVED
                              ? stack->depth.link <= LINK_SAVED
                              : use->saves[0] != 0 && (use->saves[0] & stack->depth.changed) == 0);
  if (instruction->kind != CODE_OTHER || instruction->is_system || instruction->has_reference ||
      use->growth == CODE_STACK_LOST || use->is_address)
    return false;
  if (use->base != CODE_STACK_POINTER)
    return use->growth != 0 || part == CODE_SUBTRACT || part == CODE_ADD;
  return use->is_read ? transfer->kind == CODE_JUMP : saves_own;
}

/* Whether an instruction makes a number, in a register that calls may change, but for the one with
 * the return address. */
static bool makes_number(const struct graph_builder *builder, const struct parts *parts,
                         const struct code_instruction *instruction,
                         const struct code_instruction *transfer) {
  const struct code_parts *made = &instruction->parts;
  const uint32_t scratch = builder->architecture->lost & ~transfer->parts.writes;
  return (made->part == CODE_LOWER || made->part == CODE_SHIFT) && made->writes != 0 &&
         (made->writes & ~scratch) == 0 && parts->registers[made->to].kind == PART_WHOLE &&
         parts->registers[made->to].is_constant;
}

/* Whether a helper goes back where it was called, or returns for the function that jumped to it. */
static bool is_end(const struct code_instruction *instruction,
                   const struct code_instruction *transfer) {
  return transfer->kind == CODE_JUMP
             ? instruction->kind == CODE_RETURN
             : instruction->kind == CODE_JUMP && instruction->target_kind == CODE_COMPUTED &&
                   instruction->parts.distance == 0 &&
                   instruction->parts.reads == transfer->parts.writes;
}

/* The instructions of a helper, without its end; none if it is no helper. */
static size_t read_helper(const struct graph_builder *builder, const struct stack *stack,
                          const struct code_instruction *transfer,
                          struct code_instruction *instructions) {
  struct parts parts = graph_parts(builder);
  uint64_t at = transfer->target;
  parts.is_straight = true;
  for (size_t count = 0; count < HELPER_INSTRUCTIONS; count++) {
    const struct area *area = areas_find(&builder->graph->areas, at);
    struct code_instruction *instruction = &instructions[count];
    if (area == NULL || !area->is_code || area->is_undecodable)
      return 0;
    builder->architecture->decode(area->bytes + (at - area->address),
                                  area->address + area->size - at, at, instruction);
    (void)parts_follow(&parts, instruction, NULL, NULL);
    if (is_end(instruction, transfer))
      return count;
    const bool goes_on = instruction->kind == CODE_JUMP && instruction->target_kind == CODE_DIRECT;
    if (!goes_on && !moves_frame(instruction, stack, transfer) &&
        !makes_number(builder, &parts, instruction, transfer))
      return 0;
    at = goes_on ? instruction->target : at + instruction->length;
  }
  return 0;
}

bool helper_follow(const struct graph_builder *builder, struct stack_notes *notes,
                   struct stack *stack, const struct code_instruction *transfer) {
  struct code_instruction instructions[HELPER_INSTRUCTIONS];
  const bool is_call = transfer->kind == CODE_CALL && transfer->parts.writes != 0;
  const bool may_be_one = stack->depth.bytes != 0 ? transfer->kind == CODE_JUMP : is_call;
  if (!builder->architecture->has_link || transfer->target_kind != CODE_DIRECT || !may_be_one)
    return false;
  const size_t count = read_helper(builder, stack, transfer, instructions);
  for (size_t i = 0; i < count; i++)
    if (instructions[i].kind == CODE_OTHER)
      stack_follow(notes, stack, &instructions[i]);
  return count > 0;
}
