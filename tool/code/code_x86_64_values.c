/* code_x86_64_values.c - the values that x86-64's instructions move, and the addresses that they
 * make.
 *
 * Compilers make `switch` out of these sequences (in position-independent code; in other code, the
 * jump is `jmp *table(,%index,8)`):
 *
 *     lea    table(%rip), %base              lea    table(%rip), %base
 *     movslq (%base,%index,4), %target       jmp    *(%base,%index,8)
 *     add    %base, %target
 *     jmp    *%target
 *
 * with other instructions between them, and GCC without optimisation with a few more moves. So four
 * kinds of values are followed through registers: table, entry, entry plus table, and pointer.
 */
#include "tool/code/code_x86_64.h"

enum { WORD = 8, HALF = 4 }; /* bytes: a register, and the part whose store clears the rest */

static const struct code_value unknown = {.kind = CODE_UNKNOWN};

static struct code_value value(enum code_value_kind kind, uint64_t table) {
  return (struct code_value){.kind = kind, .table = table};
}

/* Whether numbers in instructions may be addresses. */
static bool has_numbers(const struct code_state *state) {
  return state->slots == NULL || state->slots->is_fixed;
}

/* The value of a whole register; for other operands it's unresolved. */
static struct code_value value_of(const struct code_state *state, uint8_t number) {
  return number < CODE_REGISTERS ? state->registers[number] : unknown;
}

/* ---- Memory ---- */

static uint64_t displacement_of(const struct code_instruction *instruction) {
  return instruction->target;
}

static int32_t first_word_of(const struct code_instruction *instruction) {
  return (int32_t)displacement_of(instruction) & -WORD;
}

/* A word in memory, or a part of one, that instructions store to, too. */
static struct code_value kept_value(const struct code_instruction *instruction,
                                    const struct code_state *state) {
  const struct code_operands *operands = &instruction->operands;
  const struct code_value kept = operands->place == X86_AT_PLACE
                                     ? code_load(state, operands->stack, first_word_of(instruction))
                                 : operands->place == X86_ON_STACK ? code_load_anywhere(state)
                                                                   : unknown;
  return operands->memory_size == WORD ? kept : (struct code_value){.is_made = kept.is_made};
}

/* The value of a word in memory, by its address: base + index * scale + displacement. An entry of a
 * table if there is a variable part. */
static struct code_value loaded_value(const struct code_instruction *instruction,
                                      const struct code_state *state) {
  const struct code_operands *operands = &instruction->operands;
  const struct code_value base = value_of(state, operands->base);
  const struct code_value index = value_of(state, operands->index);
  uint64_t table = displacement_of(instruction);
  const bool has_index = operands->index != CODE_NO_REGISTER;
  if (operands->place == X86_OF_THREAD)
    return unknown;
  const struct code_value kept = kept_value(instruction, state);
  if (kept.kind != CODE_UNKNOWN || kept.is_made)
    return kept;
  if (!has_index && (base.kind != CODE_PLACE || table != 0))
    return unknown;
  if (base.kind == CODE_ADDRESS || !has_index)
    table += base.table;
  else if (index.kind == CODE_ADDRESS && !operands->is_scaled)
    table += index.table; /* GCC without optimisation swaps the two */
  else if (operands->base != CODE_NO_REGISTER)
    return unknown;
  return operands->memory_size == WORD || operands->memory_size == HALF
             ? (struct code_value){.kind = CODE_ENTRY,
                                   .table = table,
                                   .size = (uint8_t)operands->memory_size}
             : unknown;
}

/* Stores a value; vectors have several. */
static void store(const struct code_instruction *instruction, struct code_state *state,
                  struct code_value result) {
  const struct code_operands *operands = &instruction->operands;
  const int32_t from = (int32_t)displacement_of(instruction), first = first_word_of(instruction);
  if (operands->place == X86_ELSEWHERE || operands->place == X86_OF_THREAD)
    code_store_elsewhere(state, result);
  else if (operands->place == X86_ON_STACK)
    code_store_anywhere(state, result);
  else if (operands->size == WORD && from == first)
    code_store(state, operands->stack, from, result);
  else
    for (int64_t at = first, end = (int64_t)from + operands->size; at < end; at += WORD)
      code_store(state, operands->stack, (int32_t)at,
                 (struct code_value){.is_made = result.is_made});
}

/* ---- Sums ---- */

static bool is_short_entry(struct code_value value) {
  return value.kind == CODE_ENTRY && value.size == HALF;
}

static bool is_address(struct code_value value) {
  return value.kind == CODE_ADDRESS || value.kind == CODE_HELD || value.kind == CODE_SUM;
}

/* The sum of an address and another value. */
static struct code_value sum_with(struct code_value address) {
  return is_address(address) ? code_sum_of(address) : unknown;
}

/* A number in an instruction may be an address of code, with the rest added to it. */
static struct code_value sum_with_number(const struct code_state *state, uint64_t number) {
  const bool is_code = state->slots != NULL && state->slots->is_fixed &&
                       number - state->slots->start < state->slots->size;
  return is_code ? value(CODE_SUM, number) : unknown;
}

/* The sum of two values: table and entry make a target. */
static struct code_value sum_of(struct code_value a, struct code_value b) {
  if (((a.kind == CODE_ADDRESS && is_short_entry(b)) ||
       (is_short_entry(a) && b.kind == CODE_ADDRESS)) &&
      a.table == b.table)
    return (struct code_value){
        .kind = CODE_TARGET, .table = a.table, .base = a.table, .size = HALF};
  return sum_with(is_address(a) ? a : b);
}

/* A value plus a constant. */
static struct code_value plus(struct code_state *state, struct code_value from, uint64_t constant) {
  if (from.kind != CODE_ADDRESS)
    return is_address(from) ? sum_with(from) : sum_with_number(state, constant);
  state->made = from.table + constant;
  return value(CODE_ADDRESS, state->made);
}

/* The address that `lea` computes. */
static struct code_value address_of(const struct code_instruction *instruction,
                                    struct code_state *state) {
  const struct code_operands *operands = &instruction->operands;
  const uint64_t displacement = displacement_of(instruction);
  const struct code_value base = value_of(state, operands->base);
  const struct code_value index = value_of(state, operands->index);
  const bool has_base = operands->base != CODE_NO_REGISTER;
  const bool has_index = operands->index != CODE_NO_REGISTER;
  const bool is_plain = has_index && !operands->is_scaled;
  if (!has_index && !has_base)
    return value(CODE_ADDRESS, displacement);
  if (!has_index && base.kind == CODE_ADDRESS)
    return plus(state, base, displacement);
  if (is_plain && displacement == 0 && has_base)
    return sum_of(base, index);
  const struct code_value sum = sum_of(base, is_plain ? index : unknown);
  return sum.kind == CODE_UNKNOWN ? sum_with_number(state, displacement) : sum;
}

/* ---- Results ---- */

/* The value of a word in memory, or of the whole register that contains an operand. */
static struct code_value whole_value(const struct code_instruction *instruction,
                                     const struct code_state *state, uint8_t operand) {
  return operand == X86_MEMORY ? loaded_value(instruction, state) : value_of(state, operand);
}

/* The value that an instruction's result is made of. */
static struct code_value source_value(const struct code_instruction *instruction,
                                      const struct code_state *state) {
  const struct code_operands *operands = &instruction->operands;
  return operands->operation == X86_POP       ? code_load(state, CODE_STACK_POINTER, 0)
         : operands->operation == X86_ADDRESS ? unknown /* no memory is read */
                                              : whole_value(instruction, state, operands->from);
}

/* The value of a destination; parts of registers are unresolved. */
static struct code_value old_value(const struct code_instruction *instruction,
                                   const struct code_state *state) {
  const struct code_operands *operands = &instruction->operands;
  return operands->to == X86_MEMORY || operands->size >= HALF
             ? whole_value(instruction, state, operands->to)
             : unknown;
}

static uint64_t number_of(const struct code_instruction *instruction) {
  return instruction->operands.to == X86_MEMORY ? instruction->operands.number
                                                : instruction->target;
}

static struct code_value moved_number(const struct code_instruction *instruction,
                                      const struct code_state *state) {
  const uint64_t number = number_of(instruction);
  const bool is_half = instruction->operands.size == HALF;
  return instruction->operands.size >= HALF && has_numbers(state)
             ? value(CODE_ADDRESS, is_half ? (uint32_t)number : number)
             : unknown;
}

static struct code_value moved_value(const struct code_instruction *instruction,
                                     const struct code_state *state, struct code_value from) {
  const struct code_operands *operands = &instruction->operands;
  if (operands->from == X86_NUMBER)
    return moved_number(instruction, state);
  if (operands->from == X86_MEMORY && instruction->is_relative && operands->place == X86_AT_PLACE)
    return operands->size == WORD && !from.is_made ? value(CODE_WORD, displacement_of(instruction))
                                                   : unknown;
  /* The low half of an address is another one, unless it is low itself; of an entry, it is all. */
  const bool is_whole_in_half =
      is_short_entry(from) || (is_address(from) && from.table <= UINT32_MAX);
  return operands->from == X86_MEMORY || operands->size == WORD ||
                 (operands->size == HALF && is_whole_in_half)
             ? from
             : unknown;
}

/* The result of an addition, or a subtraction. */
static struct code_value added_value(const struct code_instruction *instruction,
                                     struct code_state *state, struct code_value from) {
  const struct code_operands *operands = &instruction->operands;
  const bool is_subtraction = operands->operation == X86_SUBTRACT;
  const struct code_value to = old_value(instruction, state);
  if (operands->from == X86_NUMBER) {
    const uint64_t number = number_of(instruction);
    /* GCC without optimisation adds a table's address to an index that is scaled already. */
    if (!is_subtraction && operands->size == WORD && to.kind == CODE_UNKNOWN && has_numbers(state))
      return value(CODE_PLACE, number);
    return plus(state, to, is_subtraction ? -number : number);
  }
  from = operands->from == X86_MEMORY || operands->size >= HALF ? from : unknown;
  if (is_subtraction && is_address(from))
    return unknown; /* a distance */
  return operands->size == WORD && !is_subtraction ? sum_of(to, from)
                                                   : sum_with(is_address(to) ? to : from);
}

static struct code_value chosen_value(const struct code_instruction *instruction,
                                      const struct code_state *state, struct code_value from) {
  const struct code_value to = old_value(instruction, state);
  return is_address(to)     ? value(CODE_HELD, to.table)
         : is_address(from) ? value(CODE_HELD, from.table)
                            : unknown;
}

/* The value that the instruction puts into its destination. */
static struct code_value result_of(const struct code_instruction *instruction,
                                   struct code_state *state, struct code_value from) {
  switch ((enum x86_operation)instruction->operands.operation) {
  case X86_ADDRESS:
    return address_of(instruction, state);
  case X86_MOVE:
    return moved_value(instruction, state, from);
  case X86_EXTEND_WORD: /* an entry's number has the sign */
    return instruction->operands.from == X86_MEMORY || is_short_entry(from) ? from : unknown;
  case X86_ADD:
  case X86_SUBTRACT:
    return added_value(instruction, state, from);
  case X86_POP:
    return from;
  case X86_CHOOSE:
    return chosen_value(instruction, state, from);
  default:
    return unknown;
  }
}

/* Whether an instruction may write any address: a computed value. Others move existing values. */
static bool makes(const struct code_instruction *instruction, const struct code_state *state,
                  struct code_value from) {
  const struct code_operands *operands = &instruction->operands;
  switch ((enum x86_operation)operands->operation) {
  case X86_MOVE:
    return operands->size < HALF || code_is_made(from);
  case X86_EXTEND_WORD:
  case X86_EXTEND:
    return operands->size < HALF || operands->from != X86_MEMORY || code_is_made(from);
  case X86_CHOOSE:
  case X86_EXCHANGE:
    return code_is_made(from) || code_is_made(whole_value(instruction, state, operands->to));
  case X86_PUSH:
  case X86_POP:
    return code_is_made(from);
  case X86_ADDRESS:
    return !instruction->is_relative;
  default:
    return true;
  }
}

/* ---- Following ---- */

/* Puts an instruction's result into its destination. */
static void keep_result(const struct code_instruction *instruction, struct code_state *state,
                        struct code_value result) {
  const struct code_operands *operands = &instruction->operands;
  if (result.kind == CODE_SUM || result.kind == CODE_PLACE)
    state->summed = result;
  if (operands->to == X86_MEMORY)
    store(instruction, state, result);
  else if (operands->size >= HALF)
    state->registers[operands->to] = result;
}

/* Whether a new frame pointer points elsewhere than to the stack: it is loaded, or was moved from a
 * register while none has an address on the stack. */
static bool points_elsewhere(const struct code_operands *operands, const struct code_state *state) {
  switch ((enum x86_operation)operands->operation) {
  case X86_MOVE:
  case X86_EXTEND_WORD:
  case X86_EXTEND:
    return operands->from >= X86_NUMBER || state->slots == NULL || !state->slots->has_address;
  default:
    return operands->operation == X86_POP;
  }
}

static void follow(const struct code_instruction *instruction, struct code_state *state,
                   struct code_value from) {
  const struct code_operands *operands = &instruction->operands;
  struct code_value result = result_of(instruction, state, from);
  const bool is_made = makes(instruction, state, from);
  result.is_made = is_made && (result.kind == CODE_UNKNOWN || result.kind == CODE_HELD);
  if (operands->operation == X86_PUSH)
    code_store(state, CODE_STACK_POINTER, -WORD, from);
  else if (instruction->may_store && operands->to != X86_MEMORY) /* by a register not named */
    code_store_elsewhere(state, (struct code_value){.is_made = true});
  for (uint32_t left = instruction->parts.may_write; left != 0; left &= left - 1)
    state->registers[__builtin_ctz(left)] = (struct code_value){.is_made = is_made};
  if (operands->to != CODE_NO_REGISTER && (result.kind != CODE_UNKNOWN || result.is_made))
    keep_result(instruction, state, result);
}

void x86_follow(const struct code_instruction *instruction, struct code_state *state,
                struct code_value *jump) {
  const struct code_operands *operands = &instruction->operands;
  const struct code_value from = source_value(instruction, state);
  *jump = operands->operation == X86_GO ? from : unknown;
  if (instruction->kind == CODE_INVALID) {
    *state = (struct code_state){.slots = state->slots};
  } else if (instruction->kind == CODE_CALL) {
    code_call(state, code_x86_64.lost, code_x86_64.result, code_x86_64.in_sets[0]);
  } else if (operands->operation == X86_EXTEND_RESULT) {
    struct code_value *extended = &state->registers[code_x86_64.result];
    *extended = is_short_entry(*extended) ? *extended : unknown;
  } else {
    follow(instruction, state, from);
    code_move_pointers(state, &instruction->stack, points_elsewhere(operands, state));
  }
}
