/* expression.c - evaluates the expressions of unwind tables (DWARF 5, 2.5.1 and 6.4.2).
 *
 * An expression is a small program for a stack of words. GCC writes one for a function that
 * realigns its stack, linkers for a PLT, and the C library for its signal trampoline. Those read
 * registers and the stack; so memory is read within the walk's stack only.
 */
#include "runtime/unwind/unwinder.h"

#include <assert.h>

/* DW_OP_*: DWARF 5, 7.7.1. Of the ranges, the first and the last. */
enum {
  OP_ADDR = 0x03,
  OP_DEREF = 0x06,
  OP_CONST1U = 0x08,
  OP_CONST1S = 0x09,
  OP_CONST2U = 0x0a,
  OP_CONST2S = 0x0b,
  OP_CONST4U = 0x0c,
  OP_CONST4S = 0x0d,
  OP_CONST8U = 0x0e,
  OP_CONST8S = 0x0f,
  OP_CONSTU = 0x10,
  OP_CONSTS = 0x11,
  OP_DUP = 0x12,
  OP_DROP = 0x13,
  OP_OVER = 0x14,
  OP_PICK = 0x15,
  OP_SWAP = 0x16,
  OP_ROT = 0x17,
  OP_ABS = 0x19,
  OP_AND = 0x1a,
  OP_DIV = 0x1b,
  OP_MINUS = 0x1c,
  OP_MOD = 0x1d,
  OP_MUL = 0x1e,
  OP_NEG = 0x1f,
  OP_NOT = 0x20,
  OP_OR = 0x21,
  OP_PLUS = 0x22,
  OP_PLUS_UCONST = 0x23,
  OP_SHL = 0x24,
  OP_SHR = 0x25,
  OP_SHRA = 0x26,
  OP_XOR = 0x27,
  OP_BRA = 0x28,
  OP_EQ = 0x29,
  OP_GE = 0x2a,
  OP_GT = 0x2b,
  OP_LE = 0x2c,
  OP_LT = 0x2d,
  OP_NE = 0x2e,
  OP_SKIP = 0x2f,
  OP_LIT0 = 0x30,
  OP_LIT31 = 0x4f,
  OP_BREG0 = 0x70,
  OP_BREG31 = 0x8f,
  OP_BREGX = 0x92,
  OP_DEREF_SIZE = 0x94,
  OP_NOP = 0x96,
};

enum { DEPTH_MAX = 32, STEPS_MAX = 1024 };

struct evaluation {
  struct cursor code;
  struct target *target;
  uint64_t stack[DEPTH_MAX];
  unsigned depth;
};

/* ---- The stack of words ---- */

static bool push(struct evaluation *evaluation, uint64_t value) {
  if (evaluation->depth == DEPTH_MAX)
    return false;
  evaluation->stack[evaluation->depth++] = value;
  return true;
}

/* The word `below` the uppermost one; NULL if there are fewer. */
static uint64_t *word(struct evaluation *evaluation, uint64_t below) {
  return below < evaluation->depth ? &evaluation->stack[evaluation->depth - 1 - below] : NULL;
}

/* ---- Operations ---- */

static uint64_t take_number(struct cursor *code, unsigned size, bool is_signed) {
  assert(size > 0 && size <= WORD);
  const uint64_t value = cursor_take(code, size);
  const unsigned unused = 64 - 8 * size;
  return is_signed ? (uint64_t)((int64_t)(value << unused) >> unused) : value;
}

static bool push_register(struct evaluation *evaluation, uint64_t reg) {
  const uint64_t offset = cursor_take_leb128(&evaluation->code, true);
  uintptr_t value;
  return target_register(evaluation->target, reg, &value) && push(evaluation, value + offset);
}

/* Replaces an address by the `size` bytes there, all in one word of the stack. */
static bool load(struct evaluation *evaluation, uint64_t size) {
  uint64_t *address = word(evaluation, 0);
  if (address == NULL || size == 0 || size > WORD)
    return false;
  const unsigned skipped = (unsigned)(*address % WORD);
  uintptr_t value;
  if (skipped + size > WORD || !target_read(evaluation->target, *address - skipped, &value))
    return false;
  *address = value >> 8 * skipped & UINT64_MAX >> (64 - 8 * size);
  return true;
}

/* The result of `left OP right`. *is_known: false for an unknown OP. */
static uint64_t compute(unsigned operation, uint64_t left, uint64_t right, bool *is_known) {
  assert(right != 0 || (operation != OP_DIV && operation != OP_MOD));
  const int64_t signed_left = (int64_t)left, signed_right = (int64_t)right;
  *is_known = true;
  switch (operation) {
  case OP_AND:
    return left & right;
  case OP_OR:
    return left | right;
  case OP_XOR:
    return left ^ right;
  case OP_PLUS:
    return left + right;
  case OP_MINUS:
    return left - right;
  case OP_MUL:
    return left * right;
  case OP_DIV:
    return right == UINT64_MAX ? -left : (uint64_t)(signed_left / signed_right);
  case OP_MOD:
    return left % right;
  case OP_SHL:
    return right < 64 ? left << right : 0;
  case OP_SHR:
    return right < 64 ? left >> right : 0;
  case OP_SHRA:
    return (uint64_t)(right < 63 ? signed_left >> right : signed_left < 0 ? -1 : 0);
  case OP_EQ:
    return left == right;
  case OP_NE:
    return left != right;
  case OP_GE:
    return signed_left >= signed_right;
  case OP_GT:
    return signed_left > signed_right;
  case OP_LE:
    return signed_left <= signed_right;
  case OP_LT:
    return signed_left < signed_right;
  default:
    *is_known = false;
    return 0;
  }
}

static bool binary(struct evaluation *evaluation, unsigned operation) {
  uint64_t *left = word(evaluation, 1), *right = word(evaluation, 0);
  const bool divides = operation == OP_DIV || operation == OP_MOD;
  bool is_known;
  if (left == NULL || (divides && *right == 0))
    return false;
  *left = compute(operation, *left, *right, &is_known);
  evaluation->depth--;
  return is_known;
}

static bool unary(struct evaluation *evaluation, unsigned operation) {
  uint64_t *value = word(evaluation, 0);
  if (value == NULL)
    return false;
  if (operation == OP_NOT)
    *value = ~*value;
  else if (operation == OP_NEG || (int64_t)*value < 0)
    *value = -*value;
  return true;
}

/* Copies or exchanges words. */
static bool arrange(struct evaluation *evaluation, unsigned operation) {
  const unsigned needed = operation == OP_ROT ? 2 : operation == OP_SWAP;
  uint64_t *top = word(evaluation, 0);
  if (word(evaluation, needed) == NULL)
    return false;
  const uint64_t first = *top;
  if (operation == OP_DROP) {
    evaluation->depth--;
  } else if (operation == OP_SWAP) {
    *top = top[-1];
    top[-1] = first;
  } else {
    *top = top[-1];
    top[-1] = top[-2];
    top[-2] = first;
  }
  return true;
}

static bool copy(struct evaluation *evaluation, uint64_t below) {
  const uint64_t *from = word(evaluation, below);
  return from != NULL && push(evaluation, *from);
}

/* Goes to another place in the expression: always, or if the uppermost word is nonzero. */
static bool jump(struct evaluation *evaluation, bool is_conditional) {
  struct cursor *code = &evaluation->code;
  const uint64_t distance = take_number(code, 2, true);
  if (is_conditional) {
    const uint64_t *condition = word(evaluation, 0);
    if (condition == NULL)
      return false;
    evaluation->depth--;
    if (*condition == 0)
      return true;
  }
  code->position += (size_t)distance; /* may wrap: then it is beyond the end */
  return code->position <= code->end;
}

static bool run_operation(struct evaluation *evaluation, unsigned operation) {
  struct cursor *code = &evaluation->code;
  if (operation >= OP_LIT0 && operation <= OP_LIT31)
    return push(evaluation, operation - OP_LIT0);
  if (operation >= OP_BREG0 && operation <= OP_BREG31)
    return push_register(evaluation, operation - OP_BREG0);
  if (operation >= OP_CONST1U && operation <= OP_CONST8S)
    return push(evaluation,
                take_number(code, 1U << (operation - OP_CONST1U) / 2, (operation & 1) != 0));
  switch (operation) {
  case OP_ADDR:
    return push(evaluation, cursor_take(code, 8));
  case OP_CONSTU:
    return push(evaluation, cursor_take_leb128(code, false));
  case OP_CONSTS:
    return push(evaluation, cursor_take_leb128(code, true));
  case OP_BREGX:
    return push_register(evaluation, cursor_take_leb128(code, false));
  case OP_DEREF:
    return load(evaluation, WORD);
  case OP_DEREF_SIZE:
    return load(evaluation, cursor_take(code, 1));
  case OP_DUP:
    return copy(evaluation, 0);
  case OP_OVER:
    return copy(evaluation, 1);
  case OP_PICK:
    return copy(evaluation, cursor_take(code, 1));
  case OP_DROP:
  case OP_SWAP:
  case OP_ROT:
    return arrange(evaluation, operation);
  case OP_ABS:
  case OP_NEG:
  case OP_NOT:
    return unary(evaluation, operation);
  case OP_PLUS_UCONST:
    return push(evaluation, cursor_take_leb128(code, false)) && binary(evaluation, OP_PLUS);
  case OP_BRA:
  case OP_SKIP:
    return jump(evaluation, operation == OP_BRA);
  case OP_NOP:
    return true;
  default:
    return binary(evaluation, operation);
  }
}

/* The expression's own bytes, after their size. */
static struct cursor open_expression(struct cursor memory, int32_t place) {
  assert(place >= 0 && (size_t)place <= memory.end);
  memory.position = (size_t)place;
  const uint64_t size = cursor_take_leb128(&memory, false);
  struct cursor rest = memory;
  cursor_skip(&rest, size);
  memory.bad = rest.bad;
  memory.end = rest.position;
  return memory;
}

bool expression_evaluate(struct cursor memory, int32_t place, struct target *target,
                         const uintptr_t *cfa, uintptr_t *result) {
  struct evaluation evaluation = {.code = open_expression(memory, place), .target = target};
  unsigned steps = 0;
  if (cfa != NULL)
    push(&evaluation, *cfa);
  while (!evaluation.code.bad && evaluation.code.position < evaluation.code.end)
    if (++steps > STEPS_MAX ||
        !run_operation(&evaluation, (unsigned)cursor_take(&evaluation.code, 1)))
      return false;
  if (evaluation.code.bad || evaluation.depth == 0)
    return false;
  *result = *word(&evaluation, 0);
  return true;
}

bool expression_is_offset(struct cursor memory, int32_t place, unsigned reg, int32_t *offset) {
  struct cursor code = open_expression(memory, place);
  const uint64_t operation = cursor_take(&code, 1);
  const int64_t value = (int64_t)cursor_take_leb128(&code, true);
  *offset = (int32_t)value;
  return !code.bad && code.position == code.end && operation == OP_BREG0 + reg && *offset == value;
}
