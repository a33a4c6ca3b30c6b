/* frame_rules.c - runs the instructions of unwind tables: see frame_rules.h. */
#include "elf/frame_rules.h"

#include <assert.h>

/* DW_CFA_*: the instructions. The first three have their first operand in the low bits. (DWARF 5,
 * 7.24; LSB, "DWARF Extensions", for the last two; "DWARF for the Arm 64-bit Architecture", 4.2) */
enum {
  CFA_ADVANCE_LOC = 0x40,
  CFA_OFFSET = 0x80,
  CFA_RESTORE = 0xc0,
  CFA_NOP = 0x00,
  CFA_SET_LOC = 0x01,
  CFA_ADVANCE_LOC1 = 0x02,
  CFA_ADVANCE_LOC2 = 0x03,
  CFA_ADVANCE_LOC4 = 0x04,
  CFA_OFFSET_EXTENDED = 0x05,
  CFA_RESTORE_EXTENDED = 0x06,
  CFA_UNDEFINED = 0x07,
  CFA_SAME_VALUE = 0x08,
  CFA_REGISTER = 0x09,
  CFA_REMEMBER_STATE = 0x0a,
  CFA_RESTORE_STATE = 0x0b,
  CFA_DEF_CFA = 0x0c,
  CFA_DEF_CFA_REGISTER = 0x0d,
  CFA_DEF_CFA_OFFSET = 0x0e,
  CFA_DEF_CFA_EXPRESSION = 0x0f,
  CFA_EXPRESSION = 0x10,
  CFA_OFFSET_EXTENDED_SF = 0x11,
  CFA_DEF_CFA_SF = 0x12,
  CFA_DEF_CFA_OFFSET_SF = 0x13,
  CFA_VAL_OFFSET = 0x14,
  CFA_VAL_OFFSET_SF = 0x15,
  CFA_VAL_EXPRESSION = 0x16,
  CFA_AARCH64_NEGATE_RA_STATE_WITH_PC = 0x2c,
  CFA_AARCH64_NEGATE_RA_STATE = 0x2d,
  CFA_GNU_ARGS_SIZE = 0x2e,
  CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

enum {
  /* More than compilers need. A CIE's instructions run once for each FDE: the limit keeps time in
   * proportion to the section's size. */
  REMEMBERED_MAX = 16,
  CIE_INSTRUCTIONS_MAX = 256,
};

/* The interpreter of the instructions, on its way through a function. */
struct interpreter {
  const struct cie_facts *cie;
  struct frame_rules now, initial, remembered[REMEMBERED_MAX];
  unsigned remembered_count;
  uint64_t place; /* in the code: `now` holds from here on */
  uint64_t end;   /* of the function */
  frame_row_visitor *visit;
  void *context;
};

/* ---- Places ---- */

/* The present row holds up to a place. False if that is behind, or the CFA has had no rule yet. */
static bool go_to(struct interpreter *interpreter, uint64_t place) {
  if (place < interpreter->place || interpreter->now.cfa == RULE_NONE)
    return false;
  const uint64_t start = interpreter->place;
  const uint64_t end = place < interpreter->end ? place : interpreter->end;
  interpreter->place = place;
  return start >= end || interpreter->visit(interpreter->context, &interpreter->now,
                                            (struct code_range){start, end});
}

static bool advance(struct interpreter *interpreter, uint64_t delta) {
  uint64_t distance, place;
  return !__builtin_mul_overflow(delta, interpreter->cie->code_alignment, &distance) &&
         !__builtin_add_overflow(interpreter->place, distance, &place) && go_to(interpreter, place);
}

static bool set_location(struct interpreter *interpreter, struct cursor *code) {
  uint64_t base, value;
  return cursor_take_relative(code, interpreter->cie->encoding, &base, &value) &&
         go_to(interpreter, base + value);
}

static bool remember(struct interpreter *interpreter) {
  if (interpreter->remembered_count == REMEMBERED_MAX)
    return false;
  interpreter->remembered[interpreter->remembered_count++] = interpreter->now;
  return true;
}

static bool restore_all(struct interpreter *interpreter) {
  if (interpreter->remembered_count == 0)
    return false;
  interpreter->now = interpreter->remembered[--interpreter->remembered_count];
  return true;
}

/* ---- Rules ---- */

/* The start of an expression, which is passed over. */
static uint64_t take_expression(struct cursor *code) {
  const uint64_t place = code->position;
  cursor_skip(code, cursor_take_leb128(code, false));
  return place;
}

static bool has_room(uint64_t value) { return (int64_t)value == (int32_t)value; }

static void set_cfa(struct interpreter *interpreter, enum frame_rule rule, uint64_t reg,
                    uint64_t value) {
  struct frame_rules *rules = &interpreter->now;
  assert(rule != RULE_NONE);
  rules->cfa = reg <= UINT32_MAX && has_room(value) ? rule : RULE_LOST;
  rules->cfa_register = (uint32_t)reg;
  rules->cfa_value = (int32_t)value;
}

/* Sets the CFA's whole rule, or changes one that is a register and an offset. */
static bool define_cfa(struct interpreter *interpreter, unsigned instruction, struct cursor *code) {
  struct frame_rules *now = &interpreter->now;
  const bool is_factored = instruction == CFA_DEF_CFA_SF || instruction == CFA_DEF_CFA_OFFSET_SF;
  const bool is_whole = instruction == CFA_DEF_CFA || instruction == CFA_DEF_CFA_SF;
  /* GNU as lets the CIEs of RISC-V name the register alone: its offset is 0. */
  const bool is_first = instruction == CFA_DEF_CFA_REGISTER && now->cfa == RULE_NONE;
  if (!is_whole && !is_first && now->cfa != RULE_REGISTER)
    return false;
  uint64_t reg = now->cfa_register, offset = (uint64_t)(int64_t)now->cfa_value;
  if (is_whole || instruction == CFA_DEF_CFA_REGISTER)
    reg = cursor_take_leb128(code, false);
  if (instruction != CFA_DEF_CFA_REGISTER)
    offset = cursor_take_leb128(code, is_factored) *
             (is_factored ? interpreter->cie->data_alignment : 1);
  set_cfa(interpreter, RULE_REGISTER, reg, offset);
  return !code->bad;
}

/* Registers with a number from FRAME_REGISTERS on are left out. */
static void set_rule(struct interpreter *interpreter, uint64_t reg, enum frame_rule rule,
                     uint64_t value) {
  if (reg >= FRAME_REGISTERS)
    return;
  assert(rule != RULE_NONE);
  interpreter->now.kinds[reg] = has_room(value) ? rule : RULE_LOST;
  interpreter->now.values[reg] = (int32_t)value;
}

/* The rule that the CIE's instructions gave. */
static void restore_one(struct interpreter *interpreter, uint64_t reg) {
  if (reg >= FRAME_REGISTERS)
    return;
  interpreter->now.kinds[reg] = interpreter->initial.kinds[reg];
  interpreter->now.values[reg] = interpreter->initial.values[reg];
}

/* Runs an instruction about one register. False if the instruction is another one. */
static bool run_register(struct interpreter *interpreter, struct cursor *code,
                         unsigned instruction) {
  const uint64_t reg = cursor_take_leb128(code, false);
  const uint64_t factor = interpreter->cie->data_alignment;
  switch (instruction) {
  case CFA_SAME_VALUE:
    set_rule(interpreter, reg, RULE_SAME, 0);
    return true;
  case CFA_UNDEFINED:
    set_rule(interpreter, reg, RULE_LOST, 0);
    return true;
  case CFA_RESTORE_EXTENDED:
    restore_one(interpreter, reg);
    return true;
  case CFA_OFFSET_EXTENDED:
  case CFA_OFFSET_EXTENDED_SF:
    set_rule(interpreter, reg, RULE_AT,
             cursor_take_leb128(code, instruction == CFA_OFFSET_EXTENDED_SF) * factor);
    return true;
  case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
    set_rule(interpreter, reg, RULE_AT, -cursor_take_leb128(code, false) * factor);
    return true;
  case CFA_VAL_OFFSET:
  case CFA_VAL_OFFSET_SF:
    set_rule(interpreter, reg, RULE_IS,
             cursor_take_leb128(code, instruction == CFA_VAL_OFFSET_SF) * factor);
    return true;
  case CFA_REGISTER:
    set_rule(interpreter, reg, RULE_REGISTER, cursor_take_leb128(code, false));
    return true;
  case CFA_EXPRESSION:
    set_rule(interpreter, reg, RULE_AT_EXPRESSION, take_expression(code));
    return true;
  case CFA_VAL_EXPRESSION:
    set_rule(interpreter, reg, RULE_IS_EXPRESSION, take_expression(code));
    return true;
  default:
    return false;
  }
}

/* ---- Instructions ---- */

/* Runs an instruction whose own byte has no operand. */
static bool run_extended(struct interpreter *interpreter, struct cursor *code,
                         unsigned instruction) {
  switch (instruction) {
  case CFA_NOP:
    return true;
  case CFA_SET_LOC:
    return set_location(interpreter, code);
  case CFA_ADVANCE_LOC1:
  case CFA_ADVANCE_LOC2:
  case CFA_ADVANCE_LOC4: {
    const uint64_t delta = cursor_take(code, 1U << (instruction - CFA_ADVANCE_LOC1));
    return !code->bad && advance(interpreter, delta);
  }
  case CFA_REMEMBER_STATE:
    return remember(interpreter);
  case CFA_RESTORE_STATE:
    return restore_all(interpreter);
  case CFA_DEF_CFA:
  case CFA_DEF_CFA_SF:
  case CFA_DEF_CFA_REGISTER:
  case CFA_DEF_CFA_OFFSET:
  case CFA_DEF_CFA_OFFSET_SF:
    return define_cfa(interpreter, instruction, code);
  case CFA_DEF_CFA_EXPRESSION:
    set_cfa(interpreter, RULE_IS_EXPRESSION, 0, take_expression(code));
    return true;
  case CFA_GNU_ARGS_SIZE:
    (void)cursor_take_leb128(code, false);
    return true;
  case CFA_AARCH64_NEGATE_RA_STATE:
  case CFA_AARCH64_NEGATE_RA_STATE_WITH_PC:
    interpreter->now.is_signed = !interpreter->now.is_signed;
    return true;
  default:
    return run_register(interpreter, code, instruction);
  }
}

/* Runs one instruction. False if it is unreadable. */
static bool run_one(struct interpreter *interpreter, struct cursor *code) {
  enum { OPERAND_MASK = 0x3f };
  const unsigned byte = (unsigned)cursor_take(code, 1), operand = byte & OPERAND_MASK;
  switch (byte & ~(unsigned)OPERAND_MASK) {
  case CFA_ADVANCE_LOC:
    return advance(interpreter, operand);
  case CFA_OFFSET:
    set_rule(interpreter, operand, RULE_AT,
             cursor_take_leb128(code, false) * interpreter->cie->data_alignment);
    return !code->bad;
  case CFA_RESTORE:
    restore_one(interpreter, operand);
    return true;
  default:
    return run_extended(interpreter, code, byte) && !code->bad;
  }
}

static bool run(struct interpreter *interpreter, struct cursor code) {
  while (code.position < code.end)
    if (!run_one(interpreter, &code))
      return false;
  return true;
}

bool frame_rules_run(const struct cie_facts *cie, struct cursor fde, struct code_range function,
                     frame_row_visitor *visit, void *context) {
  struct interpreter interpreter;
  interpreter.cie = cie;
  interpreter.now = (struct frame_rules){.cfa = RULE_NONE};
  interpreter.remembered_count = 0;
  interpreter.place = function.start;
  interpreter.end = function.end;
  interpreter.visit = visit;
  interpreter.context = context;
  const struct cursor start = cie->instructions;
  if (cie->has_augmentation)
    cursor_skip(&fde, cursor_take_leb128(&fde, false));
  interpreter.initial = interpreter.now;
  if (fde.bad || start.bad || start.end - start.position > CIE_INSTRUCTIONS_MAX ||
      !run(&interpreter, start))
    return false;
  interpreter.initial = interpreter.now;
  return run(&interpreter, fde) && go_to(&interpreter, interpreter.end);
}
