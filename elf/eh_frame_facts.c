/* eh_frame_facts.c - runs the instructions of unwind tables: see eh_frame.h.
 *
 * A function's instructions go through its code from its start. Some move the place from which the
 * next ones count; the others change the facts from there on: the canonical frame address, and the
 * saved places of the caller's registers.
 */
#include "elf/eh_frame.h"

#include "elf/eh_frame_entries.h"
#include "elf/map_entries.h"
#include "format/search.h"

/* DW_CFA_*: the instructions. The first three have their first operand in the low bits. (DWARF 5,
 * 7.24; LSB, "DWARF Extensions", for the last two; "DWARF for the
 * Arm 64-bit Architecture", 4.2) */
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

  NO_RULE = FRAME_NO_REGISTER - 1, /* the CFA has had none yet */
};

/* The number of facts at an address where FDEs differ, or one is unreadable. */
#define IN_CONFLICT UINT32_MAX

/* The interpreter of the instructions, on its way through a function. */
struct interpreter {
  const struct cie_facts *cie;
  const struct code *code;
  bool has_frame; /* some instruction of the function has made one */
  struct frame_facts now, initial;
  struct frame_facts *remembered; /* REMEMBERED_MAX */
  unsigned remembered_count;
  uint64_t place;      /* in the code: from here on, `now` holds */
  uint64_t start, end; /* of the function */

  /* The addresses from `place` on. */
  struct intern *set;
  uint32_t *numbers;
  const uint64_t *addresses;
  size_t next, count;
  size_t again; /* how often an address already had facts of another FDE */
  bool no_memory;
};

/* The next address has these facts. */
static void note(struct interpreter *interpreter, uint32_t number) {
  uint32_t *known = &interpreter->numbers[interpreter->next++];
  if (*known != 0)
    interpreter->again++;
  *known = *known == 0 || *known == number ? number : IN_CONFLICT;
}

/* The first instruction that makes a frame may have saved more than its FDE says. */
static void complete(struct interpreter *interpreter) {
  const struct code *code = interpreter->code;
  struct frame_facts *now = &interpreter->now;
  uint64_t size;
  if (interpreter->has_frame || now->cfa_offset == interpreter->initial.cfa_offset)
    return;
  interpreter->has_frame = true;
  if (code == NULL || code->machine == NULL || code->machine->save_more == NULL ||
      (now->saved >> code->machine->return_address & 1) == 0)
    return;
  const uint8_t *end = code_before(code, interpreter->place, &size);
  const uint64_t own = interpreter->place - interpreter->start;
  if (end != NULL)
    code->machine->save_more(now, end, size < own ? size : (size_t)own);
}

/* Goes on to a place: the addresses up to it have the present facts. False if the place is behind,
 * or the CFA has had no rule yet. */
static bool go_to(struct interpreter *interpreter, uint64_t place) {
  uint64_t words[FRAME_WORDS_MAX];
  uint32_t number = 0;
  if (place < interpreter->place || interpreter->now.cfa_register == NO_RULE)
    return false;
  complete(interpreter);
  const uint64_t end = place < interpreter->end ? place : interpreter->end;
  while (interpreter->next < interpreter->count &&
         interpreter->addresses[interpreter->next] < end) {
    if (number == 0)
      number = 1 + intern_add(interpreter->set, words, frame_words(&interpreter->now, words));
    if (number == 0) {
      interpreter->no_memory = true;
      return false;
    }
    note(interpreter, number);
  }
  interpreter->place = place;
  return true;
}

static bool advance(struct interpreter *interpreter, uint64_t delta) {
  uint64_t distance, place;
  return !__builtin_mul_overflow(delta, interpreter->cie->code_alignment, &distance) &&
         !__builtin_add_overflow(interpreter->place, distance, &place) && go_to(interpreter, place);
}

static bool set_location(struct interpreter *interpreter, struct cursor *code) {
  const unsigned encoding = interpreter->cie->encoding;
  const bool is_relative = (encoding & RELATIVE_MASK) == RELATIVE_TO_PLACE;
  const uint64_t place = code->address + code->position;
  const uint64_t value = cursor_take_encoded(code, encoding);
  return !code->bad && go_to(interpreter, is_relative ? value + place : value);
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

/* ---- The canonical frame address ---- */

/* With an impossible register or offset, the CFA is unknown. */
static void set_cfa(struct frame_facts *facts, uint64_t reg, int64_t offset) {
  const bool is_known = reg < FRAME_REGISTERS && offset == (int32_t)offset;
  facts->cfa_register = is_known ? (uint8_t)reg : FRAME_NO_REGISTER;
  facts->cfa_offset = is_known ? (int32_t)offset : 0;
}

/* The CFA's rule is a whole one, or changes one that is a register and an offset. */
static bool define_cfa(struct interpreter *interpreter, unsigned instruction, struct cursor *code) {
  struct frame_facts *now = &interpreter->now;
  const bool is_factored = instruction == CFA_DEF_CFA_SF || instruction == CFA_DEF_CFA_OFFSET_SF;
  const bool is_whole = instruction == CFA_DEF_CFA || instruction == CFA_DEF_CFA_SF;
  if (!is_whole && now->cfa_register >= FRAME_REGISTERS)
    return false;
  uint64_t reg = now->cfa_register, offset = (uint64_t)(int64_t)now->cfa_offset;
  if (is_whole || instruction == CFA_DEF_CFA_REGISTER)
    reg = cursor_take_leb128(code, false);
  if (instruction != CFA_DEF_CFA_REGISTER)
    offset = cursor_take_leb128(code, is_factored) *
             (is_factored ? interpreter->cie->data_alignment : 1);
  set_cfa(now, reg, (int64_t)offset);
  return !code->bad;
}

/* ---- Registers ---- */

static void set_same(struct frame_facts *facts, uint64_t reg) {
  if (reg >= FRAME_REGISTERS)
    return;
  facts->saved &= ~((uint32_t)1 << reg);
  facts->lost &= ~((uint32_t)1 << reg);
  facts->offsets[reg] = 0;
}

static void set_lost(struct frame_facts *facts, uint64_t reg) {
  set_same(facts, reg);
  if (reg < FRAME_REGISTERS)
    facts->lost |= (uint32_t)1 << reg;
}

static void set_saved(struct interpreter *interpreter, uint64_t reg, uint64_t factored_offset) {
  const int64_t offset = (int64_t)(factored_offset * interpreter->cie->data_alignment);
  set_lost(&interpreter->now, reg);
  if (reg >= FRAME_REGISTERS || offset != (int32_t)offset)
    return;
  interpreter->now.lost &= ~((uint32_t)1 << reg);
  interpreter->now.saved |= (uint32_t)1 << reg;
  interpreter->now.offsets[reg] = (int32_t)offset;
}

/* As the CIE's instructions left it. */
static void restore_one(struct interpreter *interpreter, uint64_t reg) {
  if (reg >= FRAME_REGISTERS)
    return;
  const uint32_t bit = (uint32_t)1 << reg;
  set_same(&interpreter->now, reg);
  interpreter->now.saved |= interpreter->initial.saved & bit;
  interpreter->now.lost |= interpreter->initial.lost & bit;
  interpreter->now.offsets[reg] = interpreter->initial.offsets[reg];
}

/* Instructions about one register. False for an unknown instruction. */
static bool run_register(struct interpreter *interpreter, struct cursor *code,
                         unsigned instruction) {
  const uint64_t reg = cursor_take_leb128(code, false);
  switch (instruction) {
  case CFA_SAME_VALUE:
    set_same(&interpreter->now, reg);
    return true;
  case CFA_UNDEFINED:
    set_lost(&interpreter->now, reg);
    return true;
  case CFA_RESTORE_EXTENDED:
    restore_one(interpreter, reg);
    return true;
  case CFA_OFFSET_EXTENDED:
  case CFA_OFFSET_EXTENDED_SF:
    set_saved(interpreter, reg, cursor_take_leb128(code, instruction == CFA_OFFSET_EXTENDED_SF));
    return true;
  case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
    set_saved(interpreter, reg, -cursor_take_leb128(code, false));
    return true;
  case CFA_REGISTER:
  case CFA_VAL_OFFSET:
  case CFA_VAL_OFFSET_SF:
    (void)cursor_take_leb128(code, false);
    set_lost(&interpreter->now, reg);
    return true;
  case CFA_EXPRESSION:
  case CFA_VAL_EXPRESSION:
    cursor_skip(code, cursor_take_leb128(code, false));
    set_lost(&interpreter->now, reg);
    return true;
  default:
    return false;
  }
}

/* ---- Instructions ---- */

/* Instructions whose own byte has no operand. */
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
    cursor_skip(code, cursor_take_leb128(code, false));
    set_cfa(&interpreter->now, FRAME_NO_REGISTER, 0);
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

/* Runs one instruction. False if it is unreadable: then the facts after it are unknown. */
static bool run_one(struct interpreter *interpreter, struct cursor *code) {
  enum { OPERAND_MASK = 0x3f };
  const unsigned byte = (unsigned)cursor_take(code, 1), operand = byte & OPERAND_MASK;
  switch (byte & ~(unsigned)OPERAND_MASK) {
  case CFA_ADVANCE_LOC:
    return advance(interpreter, operand);
  case CFA_OFFSET:
    set_saved(interpreter, operand, cursor_take_leb128(code, false));
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

/* A CIE's instructions give the rules that a function starts with. False if one is unreadable. */
static bool run_fde(struct interpreter *interpreter, struct cursor fde) {
  const struct cursor start = interpreter->cie->instructions;
  if (interpreter->cie->has_augmentation)
    cursor_skip(&fde, cursor_take_leb128(&fde, false));
  if (fde.bad || start.bad || start.end - start.position > CIE_INSTRUCTIONS_MAX ||
      interpreter->now.return_register >= FRAME_REGISTERS || !run(interpreter, start))
    return false;
  interpreter->initial = interpreter->now;
  return run(interpreter, fde) && go_to(interpreter, interpreter->end);
}

bool eh_frame_facts(struct intern *set, uint32_t *numbers, const uint64_t *addresses, size_t count,
                    const struct code *code, const uint8_t *bytes, size_t size, uint64_t address) {
  struct cursor section = cursor_open(bytes, size, address);
  struct last_cie cie = {.position = SIZE_MAX};
  struct cursor fde;
  struct code_range range;
  struct frame_facts remembered[REMEMBERED_MAX];
  size_t again = 0;
  bool no_memory = false;
  while (!no_memory && again <= size + count && eh_frame_next(&section, &cie, &fde, &range)) {
    const size_t first = search_words_below(addresses, count, range.start);
    if (first == count || addresses[first] >= range.end)
      continue;
    const uint64_t return_register = cie.facts.return_register;
    struct interpreter interpreter = {.cie = &cie.facts,
                                      .code = code,
                                      .remembered = remembered,
                                      .now = {.cfa_register = NO_RULE,
                                              .return_register = return_register < FRAME_REGISTERS
                                                                     ? (uint8_t)return_register
                                                                     : FRAME_NO_REGISTER},
                                      .place = range.start,
                                      .start = range.start,
                                      .end = range.end,
                                      .set = set,
                                      .numbers = numbers,
                                      .addresses = addresses,
                                      .next = first,
                                      .count = count,
                                      .again = again};
    const bool has_all = run_fde(&interpreter, fde);
    while (!has_all && interpreter.next < count && addresses[interpreter.next] < range.end)
      note(&interpreter, IN_CONFLICT);
    no_memory = interpreter.no_memory;
    again = interpreter.again;
  }
  for (size_t i = 0; i < count; i++)
    if (numbers[i] == IN_CONFLICT || again > size + count)
      numbers[i] = 0;
  return !no_memory;
}
