/* values.c - follows the values that instructions move, and the addresses that they make, through
 * registers and the stack: see struct code_values.
 *
 * Compilers make `switch` out of sequences like these, with other instructions between them, and
 * without optimisation with a few more moves (the machines' files have theirs):
 *
 *     lea    table(%rip), %base              lea    table(%rip), %base
 *     movslq (%base,%index,4), %target       jmp    *(%base,%index,8)
 *     add    %base, %target
 *     jmp    *%target
 *
 * So a table's address, its entry, and an entry plus an address are followed. Sums of an address of
 * code and something else, and all other computed values, may be any address.
 */
#include "tool/code/code.h"

#include <assert.h>

enum { WORD = 8, HALF = 4 }; /* bytes: a register, and the part whose change clears the rest */

static const struct code_value unknown = {.kind = CODE_UNKNOWN};

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

/* Moves the two pointers as an instruction does. `points_elsewhere`: a new frame pointer points
 * elsewhere than to the stack. */
static void move_pointers(struct code_state *state, const struct code_stack *stack,
                          bool points_elsewhere) {
  const struct code_place before = state->stack;
  assert(stack->copy == CODE_NO_BASE || stack->growth == 0);
  if (stack->copy == CODE_FRAME_POINTER)
    state->stack = on_stack(moved(state->frame, stack->copy_offset));
  else if (stack->growth == CODE_STACK_LOST)
    state->stack = (struct code_place){.region = before.region == REGION_START ? REGION_LATER
                                                                               : REGION_ANYWHERE};
  else
    state->stack = moved(state->stack, -(int64_t)stack->growth);
  if (stack->copy == CODE_STACK_POINTER)
    state->frame = moved(before, stack->copy_offset);
  else if (code_loses_frame(stack))
    state->frame = (struct code_place){.region = points_elsewhere ? REGION_OTHER : REGION_FRAME};
}

/* The place at a distance from one of the two, or at a fixed address (CODE_NO_BASE). */
static struct code_place place_at(const struct code_state *state, enum code_stack_base base,
                                  int32_t offset) {
  assert(base <= CODE_FRAME_POINTER); /* at another enum value_place, the distance is computed */
  return base == CODE_NO_BASE         ? (struct code_place){offset, REGION_FIXED}
         : base == CODE_STACK_POINTER ? moved(state->stack, offset)
                                      : moved(state->frame, offset);
}

/* Whether one of the two, the base, points to the stack. */
static bool is_on_stack(const struct code_state *state, enum code_stack_base base) {
  return base != CODE_NO_BASE && place_at(state, base, 0).region <= REGION_LATER;
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
  assert(places->count <= CODE_PLACES + 1);
  slots->has_grown = true;
}

/* Whether a value is an address of code, possibly a part of a sum. */
static bool is_code(const struct code_slots *slots, struct code_value value) {
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
  if (is_code(slots, a) || is_code(slots, b))
    either = (struct code_value){.kind = CODE_HELD, .table = is_code(slots, a) ? a.table : b.table};
  either.is_made = code_is_made(a) || code_is_made(b);
  either.is_stack = a.is_stack || b.is_stack;
  return either;
}

/* A call may change registers, or preserve them: also those that it should preserve, where some
 * function loses them. The one for its result then has another value, possibly a computed one. */
static void follow_call(const struct code_architecture *architecture, struct code_state *state) {
  const uint32_t lost = state->slots->lost, result = (uint32_t)1 << architecture->result;
  const uint32_t computed = architecture->lost & ~result; /* by outlined code */
  assert((architecture->lost & result) != 0);
  for (uint32_t left = architecture->lost | lost; left != 0; left &= left - 1) {
    struct code_value *value = &state->registers[__builtin_ctz(left)];
    *value = code_either(state->slots, *value, unknown);
    value->is_made |= (computed & left & -left) != 0;
  }
  struct code_value *value = &state->registers[architecture->result];
  *value = (struct code_value){.is_made = value->is_made};
  if ((lost >> architecture->in_sets[0] & 1) == 0)
    return;
  state->frame = (struct code_place){.region = REGION_FRAME};
  state->registers[architecture->in_sets[0]].is_stack |= state->slots->makes_frame;
}

/* The sum of an address, or of one of several, and something else. */
static struct code_value sum_with(struct code_value address) {
  return (struct code_value){.kind = CODE_SUM,
                             .table = address.table,
                             .is_upper = address.is_upper,
                             .is_uncertain = address.kind == CODE_HELD || address.is_uncertain};
}

/* The sum that an instruction may make of an address of code in one of the registers (a bit each),
 * or CODE_UNKNOWN. */
static struct code_value sum_in(const struct code_state *state, uint32_t registers) {
  struct code_value sum = {.kind = CODE_UNKNOWN};
  for (; registers != 0; registers &= registers - 1) {
    const struct code_value value = state->registers[__builtin_ctz(registers)];
    const bool is_one_more = sum.kind == CODE_SUM;
    if (!is_code(state->slots, value))
      continue;
    sum = sum_with(value);
    sum.is_uncertain |= is_one_more;
  }
  return sum;
}

static void keep(struct code_slots *slots, struct code_place place, struct code_value value) {
  if (code_is_made(value))
    add_place(slots, &slots->made, place);
  if (value.is_stack)
    add_place(slots, &slots->stacks, place);
  if (!is_code(slots, value) || slots->count > CODE_SLOTS || find_slot(slots, place, is_at) != NULL)
    return;
  if (slots->count < CODE_SLOTS)
    slots->items[slots->count] = (struct code_slot){value.table, place};
  slots->count++;
  assert(slots->count <= CODE_SLOTS + 1);
  slots->has_grown = true;
}

/* A register is stored where another one points to: on the stack, too, if that may be its
 * address. */
static void store_elsewhere(struct code_state *state, struct code_value value) {
  struct code_slots *slots = state->slots;
  if (slots->has_distant_store || !code_is_made(value))
    return;
  slots->has_distant_store = true;
  slots->has_grown |= slots->has_address;
}

/* Stores a value in such a place, the start of a word. */
static void store_at(struct code_state *state, enum code_stack_base base, int32_t offset,
                     struct code_value value) {
  const struct code_place place = place_at(state, base, offset);
  if (place.region == REGION_OTHER)
    store_elsewhere(state, value);
  else
    keep(state->slots, place, value);
}

static struct code_value load_place(struct code_slots *slots, struct code_place place) {
  struct code_value loaded = {.kind = CODE_UNKNOWN};
  if (place.region == REGION_OTHER)
    return loaded;
  const struct code_slot *slot =
      slots->count > CODE_SLOTS ? &slots->items[0] : find_slot(slots, place, may_be_at);
  slots->has_load = true;
  if (slot != NULL)
    loaded = (struct code_value){.kind = CODE_HELD, .table = slot->address};
  loaded.is_stack = is_among(&slots->stacks, place, may_be_at);
  loaded.is_made = is_among(&slots->made, place, may_be_at) ||
                   (place.region != REGION_FIXED && slots->has_address && slots->has_distant_store);
  return loaded;
}

static struct code_value load_at(const struct code_state *state, enum code_stack_base base,
                                 int32_t offset) {
  return load_place(state->slots, place_at(state, base, offset));
}

static struct code_value load_anywhere(const struct code_state *state) {
  return load_place(state->slots, (struct code_place){.region = REGION_ANYWHERE});
}

static void store_anywhere(struct code_state *state, struct code_value value) {
  keep(state->slots, (struct code_place){.region = REGION_ANYWHERE}, value);
}

void code_copy_anywhere(struct code_state *state) { store_anywhere(state, load_anywhere(state)); }

/* ---- Operands ---- */

static struct code_value address_of(uint64_t address) {
  return (struct code_value){.kind = CODE_ADDRESS, .table = address};
}

/* Of other operands than registers it's unresolved. */
static struct code_value value_of(const struct code_state *state, uint8_t number) {
  return number < CODE_REGISTERS ? state->registers[number] : unknown;
}

/* A part of a value, extended: of a small address, and of an entry, it may be all. */
static struct code_value extend(struct code_value value, const struct code_values *values) {
  const bool keeps_sign = value.is_unsigned || !values->is_unsigned;
  if (values->part == WORD)
    return value;
  if (value.kind == CODE_ENTRY && value.size == values->part) {
    value.is_unsigned = values->is_unsigned;
    return value;
  }
  if (value.kind == CODE_ENTRY && value.size < values->part && keeps_sign)
    return value;
  if (value.kind == CODE_ADDRESS && values->part == HALF)
    return address_of(values->is_unsigned ? (uint32_t)value.table
                                          : (uint64_t)(int64_t)(int32_t)value.table);
  if ((value.kind == CODE_HELD || value.kind == CODE_SUM) && values->part == HALF &&
      value.table <= INT32_MAX)
    return value;
  const bool is_half = values->part == HALF && values->is_unsigned;
  return (struct code_value){.is_made = code_is_made(value) || !is_half};
}

/* ---- Memory ---- */

/* How far a word on the stack is below a place in it. */
static int32_t into_word(const struct code_state *state, uint8_t base, int32_t offset) {
  return place_at(state, base, offset).offset & (WORD - 1);
}

/* The value in memory at a distance from one of the two pointers, or at a fixed address: a word, or
 * a part of two. */
static struct code_value load_words(const struct code_state *state, uint8_t base, int32_t from,
                                    unsigned size) {
  const int32_t into = into_word(state, base, from);
  struct code_value value = load_at(state, base, from - into);
  if (into + size > WORD) {
    const int64_t next = (int64_t)from - into + WORD;
    value = code_either(state->slots, value, load_at(state, base, (int32_t)next));
  }
  return value;
}

/* An entry of the table in memory; with an index, or an address that has one in it already. */
static struct code_value entry_of(const struct code_instruction *instruction,
                                  const struct code_state *state) {
  const struct code_values *values = &instruction->values;
  const struct code_value base = value_of(state, values->base);
  const struct code_value index = value_of(state, values->index);
  const bool has_index = values->index != CODE_NO_REGISTER;
  const bool is_indexed = base.kind == CODE_SUM && !base.is_uncertain;
  const bool is_short = values->size == HALF && values->part < HALF && !values->is_unsigned;
  struct code_value entry = {.kind = CODE_ENTRY,
                             .table = instruction->target,
                             .size = values->part,
                             .is_unsigned = values->is_unsigned};
  if (has_index ? base.kind == CODE_ADDRESS : is_indexed)
    entry.table += base.table;
  else if (has_index && index.kind == CODE_ADDRESS && values->shift == 0)
    entry.table += index.table; /* GCC without optimisation swaps the two */
  else if (!has_index || values->base != CODE_NO_REGISTER)
    return unknown;
  return values->part <= WORD && !is_short ? entry : unknown;
}

/* Whether a register has an address elsewhere than on the stack. */
static bool is_elsewhere(const struct code_state *state, uint8_t number) {
  const struct code_value address = value_of(state, number);
  return !state->slots->is_fixed && (address.kind == CODE_ADDRESS || address.kind == CODE_SUM);
}

/* Where the memory is: by another register, it may be on the stack. */
static uint8_t place_of(const struct code_values *values, const struct code_state *state) {
  const bool is_by_stack =
      value_of(state, values->base).is_stack || value_of(state, values->index).is_stack;
  return values->place == VALUE_ELSEWHERE && is_by_stack ? VALUE_BY_FRAME : values->place;
}

/* The value in memory, `more` bytes further on: a word that instructions store to, too, or a part
 * of one; or an entry. */
static struct code_value load(const struct code_instruction *instruction,
                              const struct code_state *state, int32_t more) {
  const struct code_values *values = &instruction->values;
  const int32_t at = (int32_t)instruction->target + more;
  const uint8_t place = place_of(values, state);
  if (place == VALUE_ELSEWHERE || is_elsewhere(state, values->base))
    return more == 0 ? entry_of(instruction, state) : unknown;
  struct code_value kept =
      place >= VALUE_ON_STACK ? load_anywhere(state) : load_words(state, place, at, values->part);
  if (values->part != WORD)
    kept = (struct code_value){.is_made = kept.is_made};
  const bool is_kept = kept.kind != CODE_UNKNOWN || kept.is_made || kept.is_stack;
  return is_kept || more != 0 ? kept : entry_of(instruction, state);
}

/* Stores `size` bytes of a value at a distance from one of the two pointers, or at a fixed address:
 * of a part of a word, it only matters whether it is computed. */
static void store_words(struct code_state *state, enum code_stack_base base, int32_t from,
                        int64_t size, struct code_value value) {
  assert(0 <= size && size <= UINT16_MAX); /* larger memory is at an unresolved place */
  if (size < WORD)
    value = (struct code_value){.is_made = code_is_made(value)};
  for (int64_t more = -into_word(state, base, from); more < size; more += WORD)
    store_at(state, base, (int32_t)(from + more), value);
}

static void store_unresolved(struct code_state *state, enum value_place place,
                             struct code_value value) {
  if (place != VALUE_ELSEWHERE)
    store_anywhere(state, value);
  if (place != VALUE_ON_STACK)
    store_elsewhere(state, value);
}

static void store(const struct code_instruction *instruction, struct code_state *state,
                  struct code_value value, int32_t more) {
  const struct code_values *values = &instruction->values;
  const int32_t at = (int32_t)instruction->target + more;
  const uint8_t place = place_of(values, state);
  value.is_made |= values->size < WORD; /* with the rest of a word */
  if (place >= VALUE_ON_STACK)
    store_unresolved(state, place, value);
  else
    store_words(state, place, at, values->size, value);
}

/* Whether one of the registers that an instruction reads may have an address on the stack. */
static bool reads_stack(const struct code_instruction *instruction,
                        const struct code_state *state) {
  for (uint32_t left = instruction->parts.reads; left != 0; left &= left - 1)
    if (state->registers[__builtin_ctz(left)].is_stack)
      return true;
  return false;
}

static bool stores_on_stack(const struct code_stack *stack) {
  return stack->base != CODE_NO_BASE && !stack->is_read && !stack->is_address;
}

/* Stores a computed value in memory that isn't the destination. */
static void store_unnamed(const struct code_instruction *instruction, struct code_state *state) {
  const struct code_stack *stack = &instruction->stack;
  struct code_value made = sum_in(state, instruction->parts.reads);
  made.is_made = true;
  const enum value_place place = instruction->values.place;
  if (place < VALUE_ON_STACK && stores_on_stack(stack))
    store_words(state, stack->base, (int32_t)instruction->target, stack->size, made);
  else if (place == VALUE_ON_STACK || place == VALUE_BY_FRAME)
    store_unresolved(state, place, made);
  else
    store_unresolved(state, reads_stack(instruction, state) ? VALUE_BY_FRAME : VALUE_ELSEWHERE,
                     made);
}

/* ---- Results ---- */

static uint64_t number_of(const struct code_instruction *instruction) {
  return instruction->values.to == VALUE_MEMORY ? (uint64_t)instruction->values.number
                                                : instruction->target;
}

static struct code_value number_in(const struct code_instruction *instruction,
                                   const struct code_state *state) {
  const bool is_relative = instruction->is_relative && instruction->values.to != VALUE_MEMORY;
  struct code_value number = address_of(number_of(instruction));
  number.is_upper = instruction->parts.part == CODE_UPPER;
  return is_relative || state->slots->is_fixed ? number : unknown;
}

static struct code_value operand_of(const struct code_instruction *instruction,
                                    const struct code_state *state, uint8_t operand) {
  switch (operand) {
  case VALUE_NUMBER:
    return number_in(instruction, state);
  case VALUE_MEMORY:
    return load(instruction, state, 0);
  case VALUE_TOP:
    return load_words(state, CODE_STACK_POINTER, 0, WORD);
  default:
    return value_of(state, operand);
  }
}

/* The sum of two values, the second one shifted, and a number: a table's entry and an address make
 * a target. */
static struct code_value sum_of(const struct code_state *state, const struct code_values *values,
                                struct code_value a, struct code_value b, uint64_t number) {
  const bool a_is_code = is_code(state->slots, a), b_is_code = is_code(state->slots, b);
  const bool is_first = a_is_code || (a.kind == CODE_ADDRESS && !b_is_code);
  const struct code_value address = is_first ? a : b, entry = is_first ? b : a;
  const uint8_t shift = values->operation == VALUE_ADDRESS ? values->shift : 0;
  const bool is_shifted = !is_first && shift != 0;
  if (!a_is_code && !b_is_code && (address.kind != CODE_ADDRESS || is_shifted))
    return unknown;
  if (address.kind == CODE_ADDRESS && entry.kind == CODE_ENTRY && entry.size < WORD &&
      !is_shifted && values->size != HALF)
    return (struct code_value){.kind = CODE_TARGET,
                               .table = entry.table,
                               .base = address.table + number,
                               .size = entry.size,
                               .shift = shift,
                               .is_unsigned = entry.is_unsigned};
  struct code_value sum = sum_with(address);
  sum.table += a_is_code || b_is_code ? 0 : number;
  sum.is_uncertain |= a_is_code && b_is_code;
  return sum;
}

/* A value plus a number, which may be an address, too. */
static struct code_value plus(struct code_state *state, const struct code_values *values,
                              struct code_value from, uint64_t number) {
  if (from.kind != CODE_ADDRESS)
    return sum_of(state, values, from, state->slots->is_fixed ? address_of(number) : unknown, 0);
  const struct code_value sum = extend(address_of(from.table + number), values);
  state->named = sum.table;
  return sum;
}

static struct code_value address_in(const struct code_instruction *instruction,
                                    struct code_state *state) {
  const struct code_values *values = &instruction->values;
  const uint64_t number = instruction->target;
  const struct code_value base = value_of(state, values->base);
  const struct code_value index = extend(value_of(state, values->index), values);
  if (values->base == CODE_NO_REGISTER && values->index == CODE_NO_REGISTER)
    return number_in(instruction, state);
  if (values->index == CODE_NO_REGISTER)
    return plus(state, values, base, number);
  const struct code_value sum = sum_of(state, values, base, index, number);
  const bool may_be_number = sum.kind == CODE_UNKNOWN && number != 0;
  return may_be_number ? plus(state, values, unknown, number) : sum;
}

/* A difference of addresses of code is a distance. */
static struct code_value difference_of(const struct code_state *state, struct code_value a,
                                       struct code_value b) {
  const bool is_sum = is_code(state->slots, a) && !is_code(state->slots, b);
  return is_sum ? sum_with(a) : unknown;
}

static struct code_value bits_of(const struct code_instruction *instruction,
                                 struct code_value from) {
  assert(instruction->values.shift <= 48);
  const uint64_t mask = (uint64_t)UINT16_MAX << instruction->values.shift;
  return from.kind == CODE_ADDRESS ? address_of((from.table & ~mask) | instruction->target)
                                   : unknown;
}

static struct code_value copy_of(const struct code_instruction *instruction,
                                 struct code_state *state) {
  const struct code_values *values = &instruction->values;
  struct code_value first = operand_of(instruction, state, values->first);
  if (values->first == VALUE_MEMORY && instruction->is_relative)
    return values->part == WORD && first.kind == CODE_UNKNOWN && !first.is_made
               ? (struct code_value){.kind = CODE_WORD, .table = instruction->target}
               : first;
  if (values->first == VALUE_MEMORY || values->first == VALUE_TOP)
    return first;
  if (values->first < CODE_REGISTERS)
    first.is_upper = false;
  if (instruction->parts.part == CODE_LOWER && first.kind == CODE_ADDRESS)
    state->named = first.table;
  return extend(first, values);
}

/* The sum that an instruction may make of an address of code in a register. */
static struct code_value computed_of(const struct code_instruction *instruction,
                                     const struct code_state *state) {
  const uint8_t part = instruction->parts.part;
  const bool uses_memory = part == CODE_LOAD || part == CODE_ACCESS || instruction->stack.size != 0;
  return instruction->kind == CODE_OTHER && !uses_memory ? sum_in(state, instruction->parts.reads)
                                                         : unknown;
}

static struct code_value result_of(const struct code_instruction *instruction,
                                   struct code_state *state) {
  const struct code_values *values = &instruction->values;
  const enum value_operation operation = values->operation;
  if (operation == VALUE_COMPUTED)
    return computed_of(instruction, state);
  if (operation == VALUE_COPY)
    return copy_of(instruction, state);
  if (operation == VALUE_ADDRESS)
    return address_in(instruction, state);
  const uint64_t number = number_of(instruction);
  const bool has_number = values->second == VALUE_NUMBER;
  const struct code_value first = operand_of(instruction, state, values->first);
  const struct code_value second = operand_of(instruction, state, values->second);
  switch (operation) {
  case VALUE_EITHER:
    return code_either(state->slots, first, second);
  case VALUE_SUM:
    return has_number ? plus(state, values, first, number)
                      : sum_of(state, values, first, second, 0);
  case VALUE_DIFFERENCE:
    return has_number ? plus(state, values, first, -number) : difference_of(state, first, second);
  case VALUE_BITS:
    return bits_of(instruction, first);
  default:
    return unknown;
  }
}

/* ---- Following ---- */

/* The value that one of the other registers gets. An address on the stack stays one: it moves by
 * the size of the memory. */
static struct code_value other_value(const struct code_instruction *instruction,
                                     const struct code_state *state, unsigned number,
                                     struct code_value result) {
  const struct code_values *values = &instruction->values;
  const bool swaps = stores_on_stack(&instruction->stack) && number != values->base;
  if (values->operation == VALUE_EITHER)
    return result;
  struct code_value other = swaps ? load_anywhere(state) : unknown;
  other.is_made |= instruction->kind != CODE_CALL;
  other.is_stack |= state->registers[number].is_stack;
  return other;
}

/* Changes the registers: one that the instruction writes to conditionally has one of two values. */
static void write(const struct code_instruction *instruction, struct code_state *state,
                  struct code_value result) {
  const struct code_parts *parts = &instruction->parts;
  const struct code_values *values = &instruction->values;
  const bool has_second = values->operation == VALUE_COPY && values->second < CODE_REGISTERS;
  const struct code_value second = has_second ? load(instruction, state, values->part) : unknown;
  for (uint32_t left = parts->writes | parts->may_write; left != 0; left &= left - 1) {
    const unsigned number = (unsigned)__builtin_ctz(left);
    const bool is_result = number == values->to;
    const bool is_sure = (parts->writes >> number & 1) != 0 || (is_result && values->size != 0);
    const struct code_value written = is_result ? result
                                      : has_second && number == values->second
                                          ? second
                                          : other_value(instruction, state, number, result);
    struct code_value *value = &state->registers[number];
    *value = is_sure ? written : code_either(state->slots, *value, written);
  }
}

/* Whether a new frame pointer points elsewhere than to the stack: it is loaded, or made of other
 * registers while none has an address on the stack. */
static bool points_elsewhere(const struct code_architecture *architecture,
                             const struct code_instruction *instruction,
                             const struct code_state *state, bool is_stack) {
  const struct code_values *values = &instruction->values;
  const uint32_t reads = instruction->parts.reads;
  const unsigned frame = architecture->in_sets[0];
  const bool is_copy = values->operation == VALUE_COPY;
  const bool is_of_others =
      is_copy ? values->first != frame : reads != 0 && (reads >> frame & 1) == 0;
  return !is_stack && ((is_copy && values->first >= CODE_REGISTERS) ||
                       (!state->slots->has_address && is_of_others));
}

/* Whether the result is made of one of the two pointers, or of another address on the stack. */
static bool makes_stack_address(const struct code_instruction *instruction,
                                const struct code_state *state) {
  const struct code_stack *stack = &instruction->stack;
  const struct code_values *values = &instruction->values;
  const bool loads = values->operation != VALUE_ADDRESS &&
                     (values->first == VALUE_MEMORY || values->first == VALUE_TOP);
  if (instruction->kind != CODE_OTHER || values->to >= CODE_REGISTERS || loads)
    return false;
  return (stack->is_address && is_on_stack(state, stack->base)) ||
         is_on_stack(state, stack->handed) || reads_stack(instruction, state) ||
         (values->operation == VALUE_COMPUTED && state->registers[values->to].is_stack);
}

/* Notes the registers that have addresses on the stack: memory there may be used by them. */
static void note_stack_addresses(const struct code_architecture *architecture,
                                 struct code_state *state, const struct code_values *values) {
  const unsigned frame = architecture->in_sets[0], stack = architecture->stack_pointer;
  const bool is_new = values->to < CODE_REGISTERS && values->to != frame && values->to != stack &&
                      state->registers[values->to].is_stack;
  state->registers[stack].is_stack = true;
  state->registers[frame].is_stack |= is_on_stack(state, CODE_FRAME_POINTER);
  if (!is_new || state->slots->has_address)
    return;
  state->slots->has_address = true;
  state->slots->has_grown |= state->slots->has_distant_store;
}

void code_follow(const struct code_architecture *architecture,
                 const struct code_instruction *instruction, struct code_state *state,
                 struct code_value *jump) {
  const struct code_values *values = &instruction->values;
  *jump = unknown;
  if (instruction->kind == CODE_INVALID) {
    *state = (struct code_state){.slots = state->slots};
    return;
  }
  if (values->operation == VALUE_GO)
    *jump = operand_of(instruction, state, values->first);
  struct code_value result = result_of(instruction, state);
  const bool is_computed = values->operation != VALUE_COPY && values->operation != VALUE_EITHER &&
                           instruction->kind != CODE_CALL && values->operation != VALUE_GO;
  result.is_made |= is_computed && result.kind == CODE_UNKNOWN;
  if (!is_code(state->slots, result) && makes_stack_address(instruction, state))
    result = (struct code_value){.is_made = code_is_made(result), .is_stack = true};
  if (result.kind == CODE_SUM || result.kind == CODE_TARGET)
    state->summed = result;
  if (values->to == VALUE_MEMORY)
    store(instruction, state, result, 0);
  else if (values->to == VALUE_TOP)
    store_words(state, CODE_STACK_POINTER, -WORD, WORD, result);
  else if (instruction->may_store)
    store_unnamed(instruction, state);
  if (values->to == VALUE_MEMORY && values->operation == VALUE_COPY &&
      values->second != CODE_NO_REGISTER)
    store(instruction, state, value_of(state, values->second), values->size);
  if (instruction->kind == CODE_CALL)
    follow_call(architecture, state);
  write(instruction, state, result);
  move_pointers(state, &instruction->stack,
                points_elsewhere(architecture, instruction, state, result.is_stack));
  note_stack_addresses(architecture, state, values);
}
