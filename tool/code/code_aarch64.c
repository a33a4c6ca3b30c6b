/* code_aarch64.c - AArch64 for the call graph. (Arm Architecture Reference Manual, C4.1, "A64
 * instruction set encoding": the names of the groups below are those of its tables.)
 *
 * By no library: Capstone 4.0.2, which Debian 12 and Ubuntu 24.04 have, knows neither returns and
 * calls by signed pointers (RETAA, BLRAA) nor the atomic instructions of Armv8.1. Each instruction
 * has 4 bytes, and its fields lie where its group has them, so a decoder of what the call graph
 * asks is short: which instructions go elsewhere, what becomes of the stack pointer, the frame
 * pointer (x29) and the link register (x30), and which general registers are read and written.
 * Vector instructions matter only where they write to a general register. What no group has is no
 * instruction.
 *
 * An address has an upper part (ADRP: a page of 4 KiB) and the rest in another instruction, an
 * addition, a load or a store; or it is near (ADR, LDR of a literal), or made of 16 bits at a time
 * (MOVZ, MOVK).
 *
 * A `switch` becomes one of these (entries have 1, 2 or 4 bytes):
 *
 *     adrp  table, page; add table, table, rest        adr   base, label
 *     ldrsw entry, [table, index, lsl 2]               ldrb  entry, [table, index]
 *     add   target, table, entry                       add   target, base, entry, lsl 2
 *     br    target                                     br    target
 */
#include "tool/code/code_link.h"

#include "format/bits.h"

#include <elf.h>

enum {
  RESULT = 0,
  FRAME = 29,
  LINK = 30,
  SP = 31,
  ZERO = 31,
  PAGE = 4096,
  TAGGED = 16 /* bytes with one tag */
};

/* x19 to x29 are as before a call (Procedure Call Standard for the Arm 64-bit Architecture,
 * 6.1.1). */
enum { CALL_CLOBBERS = 0x4007ffff };
static const struct link_machine machine = {SP, FRAME, LINK, 0, 19, 0, CALL_CLOBBERS, RESULT};

static int64_t signed_field(uint32_t word, unsigned low, unsigned width) {
  return link_signed(link_field(word, low, width), width);
}

static unsigned to_of(uint32_t word) { return word & 31; }
static unsigned from_of(uint32_t word) { return word >> 5 & 31; }
static unsigned other_of(uint32_t word) { return word >> 16 & 31; }

/* Of a register's number, where 31 is none or the stack pointer. */
static uint32_t bit(unsigned number) { return number < 31 ? (uint32_t)1 << number : 0; }

/* ---- Branches, exceptions and system instructions ---- */

/* BR, BLR, RET and their forms that check a signature. */
static void decode_branch_register(uint32_t word, struct code_instruction *instruction) {
  enum { BR, BLR, RET };
  const unsigned operation = link_field(word, 21, 4) & 7, register_number = from_of(word);
  const bool is_signed = link_field(word, 11, 5) == 1;
  const bool is_known = link_field(word, 10, 6) == 0 || is_signed;
  if (!is_known || link_field(word, 16, 5) != 31 || operation > RET ||
      link_field(word, 25, 7) != 0x6b)
    return;
  if (operation == RET && (register_number == LINK || is_signed)) {
    instruction->kind = CODE_RETURN;
    return;
  }
  instruction->kind = operation == BLR ? CODE_CALL : CODE_JUMP;
  instruction->target_kind = CODE_COMPUTED;
  instruction->is_sum = true; /* it may be one */
  link_set_part(instruction, CODE_THROUGH, ZERO, register_number, 0);
  instruction->parts.reads =
      bit(register_number) | (is_signed && link_field(word, 24, 1) != 0 ? bit(to_of(word)) : 0);
}

/* Hints do nothing, sign x30 or x17, or ask by x16. Barriers stand after returns and jumps, for
 * processors that guess. Of the others, those that read a system register write one. */
static void decode_system(uint32_t word, struct code_instruction *instruction) {
  enum { NOP = 0xd503201f, HINT_MASK = 0xfffff01f, X16 = 16, X17 = 17 };
  enum { BARRIER = 0xd503309f, BARRIER_MASK = 0xfffff09f }; /* DSB, DMB, ISB, SB */
  instruction->kind = CODE_OTHER;
  if (word == NOP || (word & BARRIER_MASK) == BARRIER)
    instruction->kind = CODE_PADDING;
  else if ((word & HINT_MASK) == NOP)
    instruction->parts.may_write = bit(X16) | bit(X17);
  else if (link_field(word, 21, 1) != 0)
    instruction->parts.writes = bit(to_of(word));
  else
    instruction->parts.reads = bit(to_of(word));
}

static void decode_exception(uint32_t word, struct code_instruction *instruction) {
  enum { BRK = 1, HLT = 2 };
  const unsigned operation = link_field(word, 21, 3);
  instruction->kind = operation == BRK || operation == HLT ? CODE_STOP : CODE_OTHER;
  instruction->parts.may_write = bit(0); /* a system call's result */
}

static void decode_branch(uint32_t word, uint64_t address, struct code_instruction *instruction) {
  if (link_field(word, 26, 5) == 5) /* B, BL */
    link_set_direct(instruction, word >> 31 != 0 ? CODE_CALL : CODE_JUMP,
                    address + (uint64_t)signed_field(word, 0, 26) * 4);
  else if (link_field(word, 24, 8) == 0x54) /* B.cond, BC.cond */
    link_set_direct(instruction, CODE_BRANCH, address + (uint64_t)signed_field(word, 5, 19) * 4);
  else if (link_field(word, 25, 6) == 0x1a) /* CBZ, CBNZ */
    link_set_direct(instruction, CODE_BRANCH, address + (uint64_t)signed_field(word, 5, 19) * 4);
  else if (link_field(word, 25, 6) == 0x1b) /* TBZ, TBNZ */
    link_set_direct(instruction, CODE_BRANCH, address + (uint64_t)signed_field(word, 5, 14) * 4);
  else if (link_field(word, 25, 6) == 0x3a) /* CBcc: compare and branch */
    link_set_direct(instruction, CODE_BRANCH, address + (uint64_t)signed_field(word, 5, 9) * 4);
  else if (link_field(word, 24, 8) == 0xd4)
    decode_exception(word, instruction);
  else if (link_field(word, 22, 10) == 0x354)
    decode_system(word, instruction);
  else
    decode_branch_register(word, instruction);
  if (instruction->kind == CODE_BRANCH && link_field(word, 24, 8) != 0x54)
    instruction->parts.reads = bit(to_of(word)) | bit(other_of(word));
  if (instruction->kind == CODE_CALL)
    instruction->stack.link = CODE_LINK_CALLED;
}

/* ---- Data processing ---- */

/* The constant of a logical instruction: a run of ones, rotated, in each element (Arm ARM, J1.1,
 * DecodeBitMasks). */
static uint64_t logical_constant(uint32_t word) {
  const uint32_t n = link_field(word, 22, 1), ones = link_field(word, 10, 6),
                 rotation = link_field(word, 16, 6);
  const uint32_t key = n << 6 | (~ones & 63);
  if (key < 2)
    return 0;
  const uint32_t size = (uint32_t)1 << (31 - __builtin_clz(key));
  const uint32_t count = (ones & (size - 1)) + 1, turn = rotation & (size - 1);
  const uint64_t element = size == 64 ? UINT64_MAX : ((uint64_t)1 << size) - 1;
  const uint64_t run = count >= 64 ? UINT64_MAX : ((uint64_t)1 << count) - 1;
  uint64_t value = turn == 0 ? run : (run >> turn | run << (size - turn)) & element;
  for (uint32_t bits = size; bits < 64; bits *= 2)
    value |= value << bits;
  return word >> 31 != 0 ? value : (uint32_t)value;
}

static void decode_add_constant(uint32_t word, struct code_instruction *instruction) {
  const bool is_subtraction = link_field(word, 30, 1) != 0,
             sets_flags = link_field(word, 29, 1) != 0;
  const int32_t constant = (int32_t)(link_field(word, 10, 12) << (link_field(word, 22, 1) * 12));
  const int32_t distance = is_subtraction ? -constant : constant;
  const unsigned to = to_of(word), from = from_of(word);
  instruction->parts.reads = bit(from);
  instruction->parts.writes = bit(to);
  if (sets_flags && to == ZERO)
    return;
  if (to == SP && word >> 31 == 0) {
    instruction->stack.growth = CODE_STACK_LOST;
    return;
  }
  link_set_sum(&machine, &instruction->stack, to, from, distance);
  if (from != SP && to != SP && word >> 31 != 0)
    link_set_part(instruction, CODE_LOWER, to, from, distance);
}

static void decode_move_wide(uint32_t word, struct code_instruction *instruction) {
  enum { MOVN = 0, MOVZ = 2, MOVK = 3 };
  const unsigned operation = link_field(word, 29, 2), shift = link_field(word, 21, 2) * 16;
  const uint64_t bits = (uint64_t)link_field(word, 5, 16) << shift;
  const uint64_t mask = word >> 31 != 0 ? UINT64_MAX : UINT32_MAX;
  if (operation == MOVK) {
    link_set_part(instruction, CODE_BITS, to_of(word), to_of(word), (int64_t)bits);
    instruction->parts.shift = (uint8_t)shift;
  } else {
    const uint64_t value = (operation == MOVN ? ~bits : bits) & mask;
    link_set_part(instruction, CODE_LOWER, to_of(word), CODE_NO_REGISTER, (int64_t)value);
  }
  instruction->parts.is_constant = true;
  instruction->parts.writes = bit(to_of(word));
}

static void decode_constant(uint32_t word, uint64_t address, struct code_instruction *instruction) {
  enum { ORR = 1, ANDS = 3 };
  const uint64_t near = (uint64_t)signed_field(word, 5, 19) * 4 + link_field(word, 29, 2);
  const unsigned to = to_of(word);
  const int32_t tagged = (int32_t)link_field(word, 16, 6) * TAGGED;
  switch (link_field(word, 23, 3)) {
  case 0:
  case 1:
    instruction->parts.writes = bit(to);
    if (word >> 31 != 0)
      link_set_part(instruction, CODE_UPPER, to, CODE_NO_REGISTER,
                    (int64_t)((address & -(uint64_t)PAGE) + near * PAGE));
    else
      link_set_part(instruction, CODE_LOWER, to, CODE_NO_REGISTER, (int64_t)(address + near));
    return;
  case 2:
    decode_add_constant(word, instruction);
    return;
  case 4:
    instruction->parts.reads = bit(from_of(word));
    instruction->parts.writes = bit(to);
    if (to == SP && link_field(word, 29, 2) != ANDS)
      instruction->stack.growth = CODE_STACK_LOST;
    else if (link_field(word, 29, 2) == ORR && from_of(word) == ZERO)
      link_set_part(instruction, CODE_LOWER, to, CODE_NO_REGISTER, (int64_t)logical_constant(word));
    instruction->parts.is_constant = true;
    return;
  case 5:
    decode_move_wide(word, instruction);
    return;
  case 3: /* additions with tags, minima and maxima */
    if (to == SP && link_field(word, 22, 1) == 0)
      instruction->stack.growth = CODE_STACK_LOST;
    else if (from_of(word) == SP && link_field(word, 22, 1) == 0)
      link_set_address(&machine, &instruction->stack, SP,
                       link_field(word, 30, 1) != 0 ? -tagged : tagged);
    break;
  default: /* bit fields */
    break;
  }
  instruction->parts.reads =
      bit(from_of(word)) | (link_field(word, 23, 3) == 7 ? bit(other_of(word)) : 0);
  if (link_field(word, 23, 3) == 6 && link_field(word, 29, 2) == 1) /* BFM: a part of it stays */
    instruction->parts.reads |= bit(to);
  instruction->parts.writes = bit(to);
}

/* Of pointers, which may be the stack's: IRG; and ADDPT and SUBPT, which add a register to one. */
static const uint32_t make_tag = 0x9ac01000, make_tag_mask = 0xffe0fc00;
static const uint32_t add_pointer = 0x9a002000, add_pointer_mask = 0xbfe0e000;
static const uint32_t move = 0xaa0003e0, move_mask = 0xffe0ffe0; /* from a register to another */

static void decode_registers(uint32_t word, struct code_instruction *instruction) {
  struct code_parts *parts = &instruction->parts;
  const bool is_sum = (word & 0x1f000000) == 0x0b000000, is_extended = link_field(word, 21, 1) != 0;
  const bool is_compare = (word & 0x1fe00000) == 0x1a400000;
  const bool sets_flags_only = (word & 0x3fe00000) == 0x3a000000 && link_field(word, 10, 6) != 0;
  parts->reads =
      bit(from_of(word)) | (is_compare && link_field(word, 11, 1) != 0 ? 0 : bit(other_of(word)));
  if (link_field(word, 24, 5) == 0x1b) /* three sources */
    parts->reads |= bit(link_field(word, 10, 5));
  if (is_compare || sets_flags_only)
    return;
  parts->writes = bit(to_of(word));
  const bool is_plain_sum = is_sum && link_field(word, 29, 2) == 0;
  instruction->is_sum = is_plain_sum && word >> 31 != 0;
  const bool may_have_stack = (is_sum && is_extended) || (word & make_tag_mask) == make_tag ||
                              (word & add_pointer_mask) == add_pointer;
  if (may_have_stack && link_field(word, 29, 1) == 0 && to_of(word) == SP)
    instruction->stack.growth = CODE_STACK_LOST;
  else if (may_have_stack && from_of(word) == SP)
    link_set_address(&machine, &instruction->stack, SP, 0);
  if ((word & move_mask) == move && other_of(word) == FRAME && to_of(word) != FRAME)
    link_set_address(&machine, &instruction->stack, FRAME, 0);
}

/* ---- Loads and stores ---- */

/* Memory at a constant distance from a register; with `moves`, that register becomes it plus
 * that. */
static void set_memory(struct code_stack *stack, unsigned from, int32_t offset, int32_t size,
                       int32_t moves, bool is_read) {
  if (from == SP)
    stack->growth = -moves;
  if (link_base(&machine, from) == CODE_NO_BASE || (from == FRAME && moves != 0))
    return;
  stack->base = (uint8_t)link_base(&machine, from);
  stack->offset = offset - moves;
  stack->size = size;
  stack->is_read = is_read;
}

/* Number 31 is 0 here. */
static void set_saved(struct code_stack *stack, unsigned number, int32_t offset, bool is_load) {
  if (number != ZERO)
    link_set_saved(&machine, stack, number, offset, is_load);
}

static void decode_pair(uint32_t word, struct code_instruction *instruction) {
  enum { POST = 1, PRE = 3 };
  struct code_parts *parts = &instruction->parts;
  const bool is_load = link_field(word, 22, 1) != 0, is_vector = link_field(word, 26, 1) != 0;
  const unsigned mode = link_field(word, 23, 2), size = link_field(word, 30, 2);
  const unsigned scale = is_vector ? 2 + size : size == 2 ? 3 : 2;
  const unsigned first = to_of(word), second = link_field(word, 10, 5), from = from_of(word);
  const bool has_tag = !is_vector && size == 1 && !is_load; /* STGP: of whole registers */
  const int32_t bytes = has_tag ? 8 : 1 << scale;
  const int32_t distance = (int32_t)signed_field(word, 15, 7) * (has_tag ? TAGGED : bytes);
  const bool moves = mode == POST || mode == PRE;
  set_memory(&instruction->stack, from, mode == POST ? 0 : distance, 2 * bytes,
             moves ? distance : 0, is_load);
  parts->reads = bit(from) | (is_load || is_vector ? 0 : bit(first) | bit(second));
  parts->writes = (moves ? bit(from) : 0) | (is_load && !is_vector ? bit(first) | bit(second) : 0);
  if (is_vector || (size != 2 && !has_tag))
    return;
  set_saved(&instruction->stack, first, 0, is_load);
  set_saved(&instruction->stack, second, bytes, is_load);
}

/* Loads and stores of one register with a constant distance. */
static void decode_single(uint32_t word, struct code_instruction *instruction) {
  enum { UNSCALED, POST, UNPRIVILEGED, PRE, PREFETCH_SIZE = 3 };
  struct code_parts *parts = &instruction->parts;
  const bool is_vector = link_field(word, 26, 1) != 0, is_scaled = link_field(word, 24, 1) != 0;
  const unsigned operation = link_field(word, 22, 2), size = link_field(word, 30, 2);
  const unsigned scale = is_vector ? (operation >> 1) * 4 + size : size;
  const bool is_prefetch = !is_vector && size == PREFETCH_SIZE && operation == 2;
  const bool is_load = is_vector ? (operation & 1) != 0 : operation != 0;
  const unsigned mode = is_scaled ? UNSCALED : link_field(word, 10, 2);
  const bool moves = mode == POST || mode == PRE;
  const unsigned to = to_of(word), from = from_of(word);
  const int32_t distance =
      is_scaled ? (int32_t)(link_field(word, 10, 12) << scale) : (int32_t)signed_field(word, 12, 9);
  if (is_load && !is_prefetch && from == FRAME && distance == 0 && to != FRAME)
    link_set_address(&machine, &instruction->stack, from, 0);
  else if (!is_prefetch)
    set_memory(&instruction->stack, from, mode == POST ? 0 : distance, 1 << scale,
               moves ? distance : 0, is_load);
  parts->reads = bit(from) | (is_load || is_vector ? 0 : bit(to));
  parts->writes = (moves ? bit(from) : 0) | (is_load && !is_vector && !is_prefetch ? bit(to) : 0);
  parts->is_load =
      parts->writes == bit(to) && size == 3 && link_base(&machine, from) == CODE_NO_BASE && is_load;
  if (!is_vector && !is_prefetch && size == 3)
    set_saved(&instruction->stack, to, 0, is_load);
  if (from != SP && !moves && (is_load || is_vector || to != from))
    link_set_part(instruction,
                  is_load && !is_vector && size == 3 && !is_prefetch ? CODE_LOAD : CODE_ACCESS,
                  is_vector ? ZERO : to, from, distance);
}

/* With a register as distance; atomic ones; and loads by signed pointers. */
static void decode_other_single(uint32_t word, struct code_instruction *instruction) {
  enum { ATOMIC = 0, REGISTER = 2, LARGE = 64 /* bytes of LD64B, ST64B */, LDAPR = 12 };
  struct code_parts *parts = &instruction->parts;
  const bool is_vector = link_field(word, 26, 1) != 0;
  const unsigned kind = link_field(word, 10, 2), operation = link_field(word, 22, 2);
  parts->reads = bit(from_of(word)) | bit(other_of(word));
  if (kind == REGISTER) {
    const bool is_prefetch = !is_vector && link_field(word, 30, 2) == 3 && operation == 2;
    if (from_of(word) == SP && !is_prefetch)
      link_set_address(&machine, &instruction->stack, SP, 0);
    if (is_vector || is_prefetch)
      return;
    *(operation == 0 ? &parts->reads : &parts->writes) |= bit(to_of(word));
    parts->is_load = operation != 0 && link_field(word, 30, 2) == 3 &&
                     link_base(&machine, from_of(word)) == CODE_NO_BASE;
    return;
  }
  if (kind == ATOMIC) {
    const unsigned which = link_field(word, 12, 4);
    const bool is_large = link_field(word, 30, 2) == 3 && which > 8 && which != LDAPR;
    set_memory(&instruction->stack, from_of(word), 0, is_large ? LARGE : 8, 0, false);
    parts->may_write = bit(to_of(word));
    if (is_large)
      parts->may_write = (uint32_t)UINT8_MAX << to_of(word) | bit(other_of(word));
    return;
  }
  parts->reads = bit(from_of(word)); /* LDRAA, LDRAB: with an index, they move it */
  parts->writes = bit(to_of(word));
  parts->may_write = bit(from_of(word));
  if (from_of(word) == SP && kind == 3)
    instruction->stack.growth = CODE_STACK_LOST;
}

/* A load of what is near the code. */
static void decode_literal(uint32_t word, uint64_t address, struct code_instruction *instruction) {
  enum { WORD64 = 1, PREFETCH = 3 };
  const bool is_vector = link_field(word, 26, 1) != 0;
  const unsigned size = link_field(word, 30, 2);
  const bool loads = !is_vector && size != PREFETCH;
  instruction->parts.writes = loads ? bit(to_of(word)) : 0;
  link_set_part(instruction, loads && size == WORD64 ? CODE_LOAD : CODE_ACCESS,
                loads ? to_of(word) : ZERO, CODE_NO_REGISTER,
                (int64_t)address + signed_field(word, 5, 19) * 4);
}

/* The memory of the others: without a distance; with one, of ordered ones, and of tags, which are
 * each of TAGGED bytes; of pairs and copies, it may be anywhere. */
static void set_rare_memory(uint32_t word, struct code_stack *stack) {
  enum { INDEXED = 2, LARGEST = 32 };
  const bool is_vector = link_field(word, 26, 1) != 0, is_second = link_field(word, 21, 1) != 0;
  const unsigned from = from_of(word), mode = link_field(word, 10, 2);
  const unsigned operation = link_field(word, 22, 2);
  const int32_t distance = (int32_t)signed_field(word, 12, 9);
  const bool is_ordered = !is_second && (mode == 0 || (is_vector && mode == INDEXED));
  const bool has_tags = is_second && !is_vector && link_field(word, 30, 2) == 3;
  if (link_field(word, 28, 2) != 1) {
    set_memory(stack, from, 0, 16, 0, false);
  } else if (is_ordered) {
    set_memory(stack, from, distance, 16, 0, is_vector ? (operation & 1) != 0 : operation != 0);
  } else if (has_tags && mode % 2 == 0) {
    set_memory(stack, from, distance * TAGGED, LARGEST, 0, false);
  } else {
    link_set_anywhere(&machine, stack, from, false);
    if (from == SP)
      stack->growth = CODE_STACK_LOST;
  }
}

/* All others have their registers in the same places, CASP in the next one, too; which are written
 * to, is left open. */
static void decode_rare(uint32_t word, struct code_instruction *instruction) {
  struct code_parts *parts = &instruction->parts;
  const unsigned from = from_of(word);
  const uint32_t all = bit(to_of(word)) | bit(other_of(word)) | bit(other_of(word) + 1) |
                       bit(link_field(word, 10, 5));
  const bool is_vector = link_field(word, 26, 1) != 0 && link_field(word, 28, 2) != 1;
  if (is_vector) { /* of several registers or elements; they may move the address by what they load */
    const bool moves = link_field(word, 23, 1) != 0;
    parts->reads = bit(from) | (moves ? bit(other_of(word)) : 0);
    parts->writes = moves ? bit(from) : 0;
    set_memory(&instruction->stack, from, 0, 64, 0, link_field(word, 22, 1) != 0);
    if (moves && from == SP)
      instruction->stack.growth = CODE_STACK_LOST;
    return;
  }
  parts->reads = all | bit(from);
  parts->may_write = all | bit(from);
  set_rare_memory(word, &instruction->stack);
}

static bool is_pair(uint32_t word) { return link_field(word, 27, 3) == 5; }

static bool is_single(uint32_t word) {
  const bool is_other = link_field(word, 24, 1) == 0 && link_field(word, 21, 1) != 0;
  return link_field(word, 28, 2) == 3 && !is_other;
}

static void decode_memory(uint32_t word, uint64_t address, struct code_instruction *instruction) {
  const unsigned group = link_field(word, 28, 2);
  if (group == 1 && link_field(word, 24, 1) == 0)
    decode_literal(word, address, instruction);
  else if (is_pair(word))
    decode_pair(word, instruction);
  else if (is_single(word))
    decode_single(word, instruction);
  else if (group == 3)
    decode_other_single(word, instruction);
  else
    decode_rare(word, instruction);
}

/* ---- Vectors ---- */

/* Which of a vector instruction's registers are general ones: of conversions, moves, and copies of
 * elements. */
static void decode_vector(uint32_t word, struct code_instruction *instruction) {
  enum { FROM_GENERAL = 1 << 2 | 1 << 3 | 1 << 7 };
  struct code_parts *parts = &instruction->parts;
  const bool converts = (word & 0x5f20fc00) == 0x1e200000 || (word & 0x5f200000) == 0x1e000000;
  if (converts && (FROM_GENERAL >> link_field(word, 16, 3) & 1) != 0)
    parts->reads = bit(from_of(word));
  else if (converts || (word & 0xbfe0ec00) == 0x0e002c00) /* SMOV, UMOV */
    parts->writes = bit(to_of(word));
  else if ((word & 0xbfe0ec00) == 0x0e000c00 || (word & 0xffe0fc00) == 0x4e001c00) /* DUP, INS */
    parts->reads = bit(from_of(word));
}

/* Of SVE and SME, whose instructions are many: any may write to a general register. Stores are of
 * any size. */
static void decode_scalable(uint32_t word, struct code_instruction *instruction) {
  enum { ADDS_LENGTH_MASK = 0xff20f000, ADDS_LENGTH = 0x04205000, STORES = 7 };
  struct code_stack *stack = &instruction->stack;
  const bool adds_length = (word & ADDS_LENGTH_MASK) == ADDS_LENGTH;
  instruction->parts.reads = bit(from_of(word)) | bit(other_of(word));
  instruction->parts.may_write = bit(to_of(word));
  if (adds_length && to_of(word) == SP)
    stack->growth = CODE_STACK_LOST;
  else if (adds_length && other_of(word) == SP)
    link_set_address(&machine, stack, SP, 0);
  else if (link_field(word, 29, 3) == STORES)
    link_set_anywhere(&machine, stack, from_of(word), false);
  else if ((instruction->parts.reads & bit(FRAME)) !=
           0) /* or a vector's number, or a distance in vectors */
    set_memory(stack, FRAME, 0, 0, 0, true);
}

/* ---- All ---- */

static void decode(const uint8_t *bytes, size_t size, uint64_t address,
                   struct code_instruction *instruction) {
  *instruction = (struct code_instruction){.length = 1, .kind = CODE_INVALID};
  if (size < 4)
    return;
  const uint32_t word = bits_load32(bytes);
  instruction->length = 4;
  instruction->kind = CODE_OTHER;
  instruction->is_system = (word & 0xffe0001f) == 0xd4000001 /* svc */;
  switch (link_field(word, 25, 4)) {
  case 0: /* UDF: nothing that runs; above it, SME */
    if (word >> 31 != 0)
      decode_scalable(word, instruction);
    else
      instruction->kind = word >> 16 == 0 ? CODE_STOP : CODE_INVALID;
    break;
  case 2:
    decode_scalable(word, instruction);
    break;
  case 8:
  case 9:
    decode_constant(word, address, instruction);
    break;
  case 10:
  case 11:
    instruction->kind = CODE_INVALID; /* unless it is one */
    decode_branch(word, address, instruction);
    break;
  case 4:
  case 6:
  case 12:
  case 14:
    decode_memory(word, address, instruction);
    break;
  case 5:
  case 13:
    decode_registers(word, instruction);
    break;
  case 7:
  case 15:
    decode_vector(word, instruction);
    break;
  default:
    instruction->kind = CODE_INVALID;
  }
  if (instruction->kind == CODE_INVALID) {
    *instruction = (struct code_instruction){.length = 4, .kind = CODE_INVALID};
    return;
  }
  link_finish(&machine, instruction);
}

/* ---- Following values ---- */

static const struct code_value unknown = {.kind = CODE_UNKNOWN};

static struct code_value value_of(const struct code_state *state, unsigned number) {
  return number < 31 ? state->registers[number] : unknown;
}

/* How an added register is extended and shifted; false if it isn't known to be a whole one. */
static bool extension_of(uint32_t word, bool *is_unsigned, uint8_t *shift) {
  if (link_field(word, 21, 1) != 0) { /* UXTB, UXTH, UXTW, UXTX, SXTB ... */
    *is_unsigned = link_field(word, 13, 3) < 4;
    *shift = (uint8_t)link_field(word, 10, 3);
    return true;
  }
  *shift = (uint8_t)link_field(word, 10, 6);
  return link_field(word, 22, 2) == 0;
}

static struct code_value sum_of(uint32_t word, const struct code_state *state) {
  const struct code_value a = value_of(state, from_of(word)), b = value_of(state, other_of(word));
  bool is_unsigned = b.is_unsigned;
  uint8_t shift = 0;
  if (!extension_of(word, &is_unsigned, &shift))
    return a.kind == CODE_ADDRESS
               ? (struct code_value){.kind = CODE_SUM, .table = a.table, .is_upper = a.is_upper}
               : unknown;
  return link_sum(a, b, shift, is_unsigned);
}

/* An entry of a table: where a table's address and a register are added, in the load or before
 * it. */
static struct code_value loaded_value(uint32_t word, const struct code_state *state) {
  const unsigned size = 1u << link_field(word, 30, 2), operation = link_field(word, 22, 2);
  const bool has_register =
      link_field(word, 24, 1) == 0 && link_field(word, 21, 1) != 0 && link_field(word, 10, 2) == 2;
  const struct code_value from = value_of(state, from_of(word));
  const bool is_load = link_field(word, 26, 1) == 0 && link_field(word, 28, 2) == 3 &&
                       operation != 0 && !(size == 8 && operation == 2);
  const bool is_entry = has_register ? from.kind == CODE_ADDRESS
                                     : from.kind == CODE_SUM && link_field(word, 24, 1) != 0 &&
                                           link_field(word, 10, 12) == 0;
  if (!is_load || !is_entry)
    return unknown;
  return (struct code_value){.kind = CODE_ENTRY,
                             .table = from.table,
                             .size = (uint8_t)size,
                             .is_unsigned = operation == 1};
}

/* CSEL: one of two registers. */
static bool is_select(uint32_t word) { return (word & 0xffe00c00) == 0x9a800000; }

/* The signature of a pointer is made, checked or left out. */
static bool is_signature(uint32_t word) { return (word & 0xffff0000) == 0xdac10000; }

static unsigned second_of(uint32_t word) { return link_field(word, 10, 5); } /* of a pair */

/* What is loaded from the stack, `more` bytes further on. */
static struct code_value load(const struct code_instruction *instruction,
                              const struct code_state *state, int32_t more) {
  const struct code_stack *stack = &instruction->stack;
  const int32_t moved = stack->growth != CODE_STACK_LOST ? stack->growth : 0;
  return code_load(state, stack->base, stack->offset - moved + more);
}

/* A load or store on the stack whose distance is in a register. */
static bool has_distance_register(uint32_t word) {
  return (word & 0x3b200c00) == 0x38200800 && (from_of(word) == SP || from_of(word) == FRAME);
}

/* What an instruction puts into its register. */
static struct code_value result_of(uint32_t word, const struct code_instruction *instruction,
                                   const struct code_state *state) {
  const struct code_parts *parts = &instruction->parts;
  const unsigned group = link_field(word, 25, 4);
  if (parts->part == CODE_UPPER)
    return link_upper(state, parts->distance, parts->is_constant);
  if (parts->part == CODE_LOWER && parts->from == CODE_NO_REGISTER)
    return link_address(parts->distance);
  if (parts->part == CODE_LOWER)
    return value_of(state, parts->from).kind == CODE_ADDRESS
               ? link_address(value_of(state, parts->from).table + parts->distance)
               : unknown;
  if (parts->part == CODE_BITS && value_of(state, parts->to).kind == CODE_ADDRESS)
    return link_address((value_of(state, parts->to).table & ~((uint64_t)0xffff << parts->shift)) |
                        parts->distance);
  if (instruction->is_sum && instruction->kind == CODE_OTHER)
    return sum_of(word, state);
  if ((word & move_mask) == move)
    return value_of(state, other_of(word));
  if (is_select(word))
    return code_either(state, value_of(state, from_of(word)), value_of(state, other_of(word)));
  if (is_signature(word))
    return value_of(state, to_of(word));
  if ((group & 5) != 4)
    return unknown;
  if (has_distance_register(word))
    return code_load_anywhere(state);
  return instruction->stack.base != CODE_NO_BASE && instruction->stack.is_read
             ? load(instruction, state, 0)
             : loaded_value(word, state);
}

/* The registers that become what memory, or other registers, hold. */
static uint32_t taken_by(uint32_t word) {
  const bool is_memory = (link_field(word, 25, 4) & 5) == 4;
  if (is_memory)
    return link_field(word, 26, 1) != 0
               ? 0
               : bit(to_of(word)) | (is_pair(word) ? bit(second_of(word)) : 0);
  return (word & move_mask) == move || is_select(word) || is_signature(word) ? bit(to_of(word)) : 0;
}

/* What a store puts on the stack: a pair of registers, or one; or what isn't known. */
static void store(uint32_t word, const struct code_instruction *instruction,
                  struct code_state *state) {
  const struct code_stack *stack = &instruction->stack;
  const bool is_vector = link_field(word, 26, 1) != 0;
  const bool is_load = (is_vector ? link_field(word, 22, 1) : link_field(word, 22, 2)) != 0;
  const struct code_value made = {.is_made = true};
  if (has_distance_register(word) && !is_load)
    code_store_anywhere(state, is_vector ? made : value_of(state, to_of(word)));
  if (!link_stores(instruction))
    return;
  if (is_vector || !(is_pair(word) || is_single(word))) {
    link_store_made(instruction, state);
    return;
  }
  code_store(state, stack->base, stack->offset, value_of(state, to_of(word)));
  if (is_pair(word))
    code_store(state, stack->base, stack->offset + 8, value_of(state, second_of(word)));
}

static void follow(const uint8_t *bytes, size_t size, uint64_t address, struct code_state *state,
                   struct code_value *jump) {
  struct code_instruction instruction;
  *jump = unknown;
  decode(bytes, size, address, &instruction);
  if (instruction.kind == CODE_INVALID) {
    *state = (struct code_state){.slots = state->slots};
    return;
  }
  const uint32_t word = bits_load32(bytes);
  if (instruction.parts.part == CODE_THROUGH)
    *jump = value_of(state, instruction.parts.from);
  store(word, &instruction, state);
  link_assign(&machine, &instruction, state, to_of(word) < 31 ? to_of(word) : CODE_NO_REGISTER,
              result_of(word, &instruction, state), taken_by(word));
  const bool loads_pair = (link_field(word, 25, 4) & 5) == 4 && is_pair(word) &&
                          (instruction.parts.writes & bit(second_of(word))) != 0;
  if (loads_pair && instruction.stack.base != CODE_NO_BASE)
    state->registers[second_of(word)] = load(&instruction, state, 8);
}

static const uint8_t arguments[CODE_ARGUMENTS] = {0, 1, 2, 3, 4, 5};

/* Of the types that a linked file may have (ELF for the Arm 64-bit Architecture, 5.7). */
static const struct code_relocation_type relocations[] = {
    {R_AARCH64_RELATIVE, CODE_RELOCATION_ADDRESS}, {R_AARCH64_IRELATIVE, CODE_RELOCATION_RESOLVER},
    {R_AARCH64_JUMP_SLOT, CODE_RELOCATION_CALL},   {R_AARCH64_GLOB_DAT, CODE_RELOCATION_SLOT},
    {R_AARCH64_ABS64, CODE_RELOCATION_SYMBOL},     {R_AARCH64_ABS32, CODE_RELOCATION_SYMBOL},
    {R_AARCH64_PREL64, CODE_RELOCATION_SYMBOL},    {R_AARCH64_PREL32, CODE_RELOCATION_SYMBOL},
    {R_AARCH64_COPY, CODE_RELOCATION_NONE},        {R_AARCH64_TLS_DTPMOD, CODE_RELOCATION_NONE},
    {R_AARCH64_TLS_DTPREL, CODE_RELOCATION_NONE},  {R_AARCH64_TLS_TPREL, CODE_RELOCATION_NONE},
    {R_AARCH64_TLSDESC, CODE_RELOCATION_NONE},     {0},
};

const struct code_architecture code_aarch64 = {
    .machine = EM_AARCH64,
    .register_count = 31,
    .has_link = true,
    .lowest = 0,
    .highest = PAGE - 1,
    .stack_register = 31,
    .lost = CALL_CLOBBERS,
    .result = RESULT,
    .in_sets = {FRAME, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28},
    .entry_offset = 0,
    .relocations = relocations,
    .arguments = arguments,
    .system_register = 8,
    .system_leaves = link_system_leaves,
    .decode = decode,
    .follow = follow,
};
