/* code_aarch64.c - AArch64 for the call graph. (Arm Architecture Reference Manual, C4.1, "A64
 * instruction set encoding": the names of the groups below are those of its tables.)
 *
 * Without a library: Capstone 4.0.2, in Debian 12 and Ubuntu 24.04, lacks returns and calls by
 * signed pointers (RETAA, BLRAA) and the atomic instructions of Armv8.1. Each instruction has 4
 * bytes, and its fields are at the places of its group, so a decoder for the call graph is a table:
 * a row for each group of instructions has the places of the general registers that they read and
 * write, and a function for the rest: the targets, and the effects on the stack pointer, the frame
 * pointer (x29) and the link register (x30). Vector instructions matter only where they write to a
 * general register. A word without a row is invalid.
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

#include <assert.h>
#include <elf.h>

enum {
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

static int64_t signed_field(uint32_t word, unsigned low, unsigned width) {
  return link_signed(link_field(word, low, width), width);
}

static bool flag(uint32_t word, unsigned place) { return link_field(word, place, 1) != 0; }

static unsigned to_of(uint32_t word) { return word & 31; }
static unsigned from_of(uint32_t word) { return word >> 5 & 31; }
static unsigned other_of(uint32_t word) { return word >> 16 & 31; }
static unsigned second_of(uint32_t word) { return word >> 10 & 31; }

/* Of a register's number; 31 is the zero register or the stack pointer. */
static uint32_t bit(unsigned number) { return number < 31 ? (uint32_t)1 << number : 0; }

/* ---- Branches, exceptions and system instructions ---- */

static void decode_far(uint32_t word, struct code_instruction *instruction) {
  link_set_direct(instruction, word >> 31 != 0 ? CODE_CALL : CODE_JUMP,
                  instruction->address + (uint64_t)signed_field(word, 0, 26) * 4);
}

static void decode_branch(uint32_t word, struct code_instruction *instruction) {
  enum { TEST_BIT = 0x1b, COMPARE = 0x3a };
  const unsigned group = link_field(word, 25, 6);
  const unsigned width = group == TEST_BIT ? 14 : group == COMPARE ? 9 : 19;
  link_set_direct(instruction, CODE_BRANCH,
                  instruction->address + (uint64_t)signed_field(word, 5, width) * 4);
}

/* BR, BLR, RET by another register than x30, and their forms that check a signature. */
static void decode_through(uint32_t word, struct code_instruction *instruction) {
  instruction->target_kind = CODE_COMPUTED;
  instruction->is_sum = true; /* it may be one */
  link_set_part(instruction, CODE_THROUGH, from_of(word), 0);
}

/* Hints do nothing, sign x30 or x17, or query by x16. */
static void decode_hint(uint32_t word, struct code_instruction *instruction) {
  enum { X16 = 16, X17 = 17, SIGNS_LINK = 3 /* PACIAZ to AUTIBSP */, CHKFEAT = 0xd503251f };
  instruction->parts.may_write = bit(X16) | bit(X17);
  if (word == CHKFEAT)
    instruction->parts.reads |= bit(X16);
  if (link_field(word, 8, 4) == SIGNS_LINK)
    instruction->stack.signs_link = true;
}

static void decode_exception(uint32_t word, struct code_instruction *instruction) {
  enum { SVC = 0xd4000001, SVC_MASK = 0xffe0001f };
  /* BRK #0xf000 is LLVM's llvm.debugtrap, and programs have #0 and #22. Compilers' other traps have
   * other numbers. */
  instruction->is_break = word == 0xd43e0000 || word == 0xd4200000 || word == 0xd42002c0;
  instruction->is_system = (word & SVC_MASK) == SVC;
  instruction->parts.may_write = bit(0); /* a system call's result */
}

/* ---- Data processing ---- */

static void decode_address(uint32_t word, struct code_instruction *instruction) {
  const uint64_t near = (uint64_t)signed_field(word, 5, 19) * 4 + link_field(word, 29, 2);
  instruction->is_relative = true;
  if (word >> 31 != 0)
    link_set_part(instruction, CODE_UPPER, CODE_NO_REGISTER,
                  (int64_t)((instruction->address & -(uint64_t)PAGE) + near * PAGE));
  else
    link_set_part(instruction, CODE_LOWER, CODE_NO_REGISTER,
                  (int64_t)(instruction->address + near));
}

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

static void decode_logical(uint32_t word, struct code_instruction *instruction) {
  enum { ORR = 1, ANDS = 3 };
  if (to_of(word) == SP && link_field(word, 29, 2) != ANDS)
    instruction->stack.growth = CODE_STACK_LOST;
  else if (link_field(word, 29, 2) == ORR && from_of(word) == ZERO)
    link_set_part(instruction, CODE_LOWER, CODE_NO_REGISTER, (int64_t)logical_constant(word));
}

static void decode_add_constant(uint32_t word, struct code_instruction *instruction) {
  const int32_t constant = (int32_t)(link_field(word, 10, 12) << (link_field(word, 22, 1) * 12));
  const int32_t distance = flag(word, 30) ? -constant : constant;
  const unsigned to = to_of(word), from = from_of(word);
  if (flag(word, 29) && to == ZERO)
    return;
  if (to == SP && word >> 31 == 0) {
    instruction->stack.growth = CODE_STACK_LOST;
    return;
  }
  stack_set_sum(&code_aarch64, &instruction->stack, to, from, distance);
  if (from != SP && to != SP && word >> 31 != 0)
    link_set_part(instruction, CODE_LOWER, from, distance);
}

/* Additions with tags, and minima and maxima. */
static void decode_tagged(uint32_t word, struct code_instruction *instruction) {
  const int32_t tagged = (int32_t)link_field(word, 16, 6) * TAGGED;
  if (flag(word, 22))
    return;
  if (to_of(word) == SP)
    instruction->stack.growth = CODE_STACK_LOST;
  else if (from_of(word) == SP)
    stack_set_address(&code_aarch64, &instruction->stack, SP, flag(word, 30) ? -tagged : tagged);
}

static void decode_move_wide(uint32_t word, struct code_instruction *instruction) {
  enum { MOVN = 0, MOVZ = 2, MOVK = 3 };
  const unsigned operation = link_field(word, 29, 2), shift = link_field(word, 21, 2) * 16;
  const uint64_t bits = (uint64_t)link_field(word, 5, 16) << shift;
  const uint64_t mask = word >> 31 != 0 ? UINT64_MAX : UINT32_MAX;
  const uint64_t value = (operation == MOVN ? ~bits : bits) & mask;
  if (operation == MOVK)
    link_set_part(instruction, CODE_BITS, to_of(word), (int64_t)bits);
  else
    link_set_part(instruction, CODE_LOWER, CODE_NO_REGISTER, (int64_t)value);
  instruction->values.shift = operation == MOVK ? (uint8_t)shift : 0;
}

static void decode_move(uint32_t word, struct code_instruction *instruction) {
  if (other_of(word) == FRAME && to_of(word) != FRAME)
    stack_set_address(&code_aarch64, &instruction->stack, FRAME, 0);
  link_set_copy(instruction, other_of(word));
}

/* Arithmetic on pointers, possibly the stack's. */
static void decode_pointer(uint32_t word, struct code_instruction *instruction) {
  if (!flag(word, 29) && to_of(word) == SP)
    instruction->stack.growth = CODE_STACK_LOST;
  else if (from_of(word) == SP)
    stack_set_address(&code_aarch64, &instruction->stack, SP, 0);
}

/* ADD: the second register is shifted, or extended and shifted (UXTB, UXTH, UXTW, UXTX, SXTB ...);
 * with another kind of shift, it is computed. */
static void decode_sum(uint32_t word, struct code_instruction *instruction) {
  struct code_values *values = &instruction->values;
  const bool is_extended = flag(word, 21);
  instruction->is_sum = true;
  if (is_extended)
    decode_pointer(word, instruction);
  else if (link_field(word, 22, 2) != 0)
    return;
  values->operation = VALUE_ADDRESS;
  values->index = (uint8_t)other_of(word);
  values->shift = (uint8_t)link_field(word, 10, is_extended ? 3 : 6);
  values->part = (uint8_t)(is_extended ? 1 << link_field(word, 13, 2) : 8);
  values->is_unsigned = link_field(word, 13, 3) < 4;
}

static void decode_select(uint32_t word, struct code_instruction *instruction) {
  instruction->values.operation = VALUE_EITHER;
  instruction->values.first = (uint8_t)from_of(word);
  instruction->values.second = (uint8_t)other_of(word);
}

/* The signature of a pointer is made, checked or left out. */
static void decode_signature(uint32_t word, struct code_instruction *instruction) {
  link_set_copy(instruction, to_of(word));
}

/* ---- Loads and stores ---- */

/* An instruction uses memory at a distance from a register, and gives the register an unresolved
 * value: the memory counts as used by others. */
static void set_moving(struct code_stack *stack, unsigned from, int32_t offset, int32_t size) {
  if (stack_base(&code_aarch64, from) == CODE_NO_BASE)
    return;
  if (from == SP)
    stack->growth = CODE_STACK_LOST;
  stack_hand(&code_aarch64, stack, from);
  const int32_t end = stack->handed_offset + stack->handed_size;
  const int32_t memory_end = offset + size;
  stack->handed_offset = offset < stack->handed_offset ? offset : stack->handed_offset;
  stack->handed_size = (memory_end > end ? memory_end : end) - stack->handed_offset;
}

/* Memory at a constant distance from a register; with `moves`, that register becomes it plus
 * that. */
static void set_memory(struct code_instruction *instruction, unsigned from, int32_t offset,
                       int32_t size, int32_t moves, bool is_read) {
  instruction->target = (uint64_t)offset;
  if (from == SP)
    instruction->stack.growth = -moves;
  if (from != FRAME || moves == 0)
    stack_set_memory(&code_aarch64, &instruction->stack, from, offset - moves, size, is_read);
  else
    set_moving(&instruction->stack, from, offset, size);
}

/* A register is loaded, or stored. Number 31 is 0 here. */
static void set_saved(struct code_stack *stack, unsigned number, int32_t offset, bool is_load) {
  if (number != ZERO)
    stack_set_saved(&code_aarch64, stack, number, offset, is_load);
}

static bool moves_base(unsigned mode) { return mode == 1 || mode == 3; } /* after, and before */

static void decode_pair(uint32_t word, struct code_instruction *instruction) {
  struct code_parts *parts = &instruction->parts;
  const bool is_load = flag(word, 22), is_vector = flag(word, 26);
  const unsigned mode = link_field(word, 23, 2), size = link_field(word, 30, 2);
  const unsigned scale = is_vector ? 2 + size : size == 2 ? 3 : 2;
  const unsigned first = to_of(word), second = second_of(word), from = from_of(word);
  const bool has_tag = !is_vector && size == 1 && !is_load; /* STGP: of whole registers */
  const int32_t bytes = has_tag ? 8 : 1 << scale;
  const int32_t distance = (int32_t)signed_field(word, 15, 7) * (has_tag ? TAGGED : bytes);
  set_memory(instruction, from, mode == 1 ? 0 : distance, 2 * bytes,
             moves_base(mode) ? distance : 0, is_load);
  instruction->may_store = !is_load;
  parts->writes |= moves_base(mode) ? bit(from) : 0;
  if (is_vector)
    return;
  *(is_load ? &parts->writes : &parts->reads) |= bit(first) | bit(second);
  link_set_value(instruction, first, is_load, (unsigned)bytes);
  instruction->values.second = (uint8_t)second;
  instruction->values.is_unsigned = size == 0;
  if (size != 2 && !has_tag)
    return;
  set_saved(&instruction->stack, first, 0, is_load);
  set_saved(&instruction->stack, second, bytes, is_load);
}

/* Of one register, at a constant distance: scaled, or signed. */
static void decode_single(uint32_t word, struct code_instruction *instruction) {
  enum { WHOLE = 3 };
  struct code_parts *parts = &instruction->parts;
  const bool is_vector = flag(word, 26), is_scaled = flag(word, 24);
  const unsigned operation = link_field(word, 22, 2), size = link_field(word, 30, 2);
  const unsigned scale = is_vector ? (operation >> 1) * 4 + size : size;
  const bool is_prefetch = !is_vector && size == WHOLE && operation == 2;
  const bool is_load = is_vector ? (operation & 1) != 0 : operation != 0;
  const bool is_whole = !is_vector && !is_prefetch && size == WHOLE;
  const unsigned mode = is_scaled ? 0 : link_field(word, 10, 2);
  const bool moves = moves_base(mode);
  const unsigned to = to_of(word), from = from_of(word);
  const int32_t distance =
      is_scaled ? (int32_t)(link_field(word, 10, 12) << scale) : (int32_t)signed_field(word, 12, 9);
  if (is_load && !is_prefetch && from == FRAME && distance == 0 && to != FRAME)
    stack_set_address(&code_aarch64, &instruction->stack, from, 0);
  else if (!is_prefetch)
    set_memory(instruction, from, mode == 1 ? 0 : distance, 1 << scale, moves ? distance : 0,
               is_load);
  instruction->may_store = !is_load;
  parts->reads |= is_load || is_vector ? 0 : bit(to);
  parts->writes = (moves ? bit(from) : 0) | (is_load && !is_vector && !is_prefetch ? bit(to) : 0);
  parts->is_load = parts->writes == bit(to) && size == WHOLE &&
                   stack_base(&code_aarch64, from) == CODE_NO_BASE && is_load;
  if (is_whole)
    set_saved(&instruction->stack, to, 0, is_load);
  if (from != SP && !moves && (is_load || is_vector || to != from))
    link_set_part(instruction, is_whole && is_load ? CODE_LOAD : CODE_ACCESS, from, distance);
  if (is_vector || is_prefetch)
    return;
  link_set_value(instruction, to, is_load, 1u << size);
  instruction->values.is_unsigned = operation == 1;
}

/* With a register as distance. */
static void decode_indexed(uint32_t word, struct code_instruction *instruction) {
  enum { WHOLE = 3 };
  struct code_parts *parts = &instruction->parts;
  struct code_values *values = &instruction->values;
  const unsigned operation = link_field(word, 22, 2), size = link_field(word, 30, 2);
  const bool is_vector = flag(word, 26),
             is_stack = stack_base(&code_aarch64, from_of(word)) != CODE_NO_BASE;
  const bool is_prefetch = !is_vector && size == WHOLE && operation == 2;
  const bool is_load = is_vector ? flag(word, 22) : operation != 0;
  instruction->may_store = !is_load;
  values->index = (uint8_t)other_of(word);
  if (from_of(word) == SP && !is_prefetch)
    stack_set_address(&code_aarch64, &instruction->stack, SP, 0);
  if (is_vector || is_prefetch)
    return;
  *(is_load ? &parts->writes : &parts->reads) |= bit(to_of(word));
  parts->is_load = is_load && size == WHOLE && !is_stack;
  link_set_value(instruction, to_of(word), is_load, 1u << size);
  values->shift = (uint8_t)(flag(word, 12) ? size : 0);
  values->is_unsigned = operation == 1;
}

static void decode_atomic(uint32_t word, struct code_instruction *instruction) {
  enum { LARGE = 64 /* bytes of LD64B, ST64B */, LDAPR = 12 };
  const unsigned which = link_field(word, 12, 4);
  const bool is_large = link_field(word, 30, 2) == 3 && which > 8 && which != LDAPR;
  instruction->may_store = true;
  instruction->parts.reads |= is_large ? (uint32_t)UINT8_MAX << to_of(word) : 0;
  set_memory(instruction, from_of(word), 0, is_large ? LARGE : 8, 0, false);
  instruction->parts.may_write =
      is_large ? (uint32_t)UINT8_MAX << to_of(word) | bit(other_of(word)) : bit(to_of(word));
  if (!flag(word, 26))
    link_set_value(instruction, to_of(word), true, 1u << link_field(word, 30, 2));
}

/* LDRAA, LDRAB, by signed pointers: with an index, they move it. */
static void decode_signed_load(uint32_t word, struct code_instruction *instruction) {
  if (from_of(word) == SP && link_field(word, 10, 2) == 3)
    instruction->stack.growth = CODE_STACK_LOST;
  instruction->parts.may_write = bit(from_of(word));
  instruction->target =
      (uint64_t)link_signed(link_field(word, 22, 1) << 9 | link_field(word, 12, 9), 10) * 8;
  if (!flag(word, 26))
    link_set_value(instruction, to_of(word), true, 8);
}

/* A load of data near the code. */
static void decode_literal(uint32_t word, struct code_instruction *instruction) {
  enum { WORD64 = 1, PREFETCH = 3 };
  const unsigned size = link_field(word, 30, 2);
  const bool loads = !flag(word, 26) && size != PREFETCH;
  instruction->parts.writes = loads ? bit(to_of(word)) : 0;
  instruction->is_relative = true;
  link_set_part(instruction, loads && size == WORD64 ? CODE_LOAD : CODE_ACCESS, CODE_NO_REGISTER,
                (int64_t)instruction->address + signed_field(word, 5, 19) * 4);
  if (loads)
    link_set_value(instruction, to_of(word), true, size == WORD64 ? 8 : 4);
}

/* Of several vectors or elements; they may advance the address by the size of these. */
static void decode_vectors(uint32_t word, struct code_instruction *instruction) {
  enum { LARGEST = 64 };
  const unsigned from = from_of(word);
  instruction->may_store = !flag(word, 22);
  set_memory(instruction, from, 0, LARGEST, 0, flag(word, 22));
  if (!flag(word, 23))
    return;
  set_moving(&instruction->stack, from, 0, LARGEST);
  instruction->parts.reads |= bit(other_of(word));
  instruction->parts.writes = bit(from);
}

/* All other loads and stores have their registers in the same places (CASP also in the next
 * register), and may write to any of them. Their memory: without a distance; with one, for ordered
 * ones, and for tags of TAGGED bytes each; anywhere, for pairs and copies. */
static void decode_rare(uint32_t word, struct code_instruction *instruction) {
  enum { INDEXED = 2, LARGEST = 32, CASP_MASK = 0xbfa07c00, CASP = 0x08207c00 };
  struct code_parts *parts = &instruction->parts;
  const bool is_vector = flag(word, 26), is_second = flag(word, 21);
  const unsigned from = from_of(word), mode = link_field(word, 10, 2);
  const int32_t distance = (int32_t)signed_field(word, 12, 9);
  const bool is_plain = link_field(word, 28, 2) != 1;
  const bool is_ordered = !is_plain && !is_second && mode == (is_vector ? INDEXED : 0);
  const bool has_tags =
      !is_plain && is_second && !is_vector && link_field(word, 30, 2) == 3 && mode % 2 == 0;
  parts->reads |= bit(other_of(word) + 1) | ((word & CASP_MASK) == CASP ? bit(to_of(word) + 1) : 0);
  if (is_ordered || has_tags) /* the others are parts of the distance */
    parts->reads = (is_vector ? 0 : bit(to_of(word))) | bit(from);
  parts->may_write = parts->reads;
  instruction->may_store = true;
  if (is_plain) {
    set_memory(instruction, from, 0, 16, 0, false);
  } else if (is_ordered) {
    set_memory(instruction, from, distance, 16, 0, link_field(word, 22, is_vector ? 1 : 2) != 0);
  } else if (has_tags) {
    set_memory(instruction, from, distance * TAGGED, LARGEST, 0, false);
  } else {
    stack_set_memory(&code_aarch64, &instruction->stack, from, -LINK_FAR, 2 * LINK_FAR, false);
    set_moving(&instruction->stack, from, -LINK_FAR, 2 * LINK_FAR);
  }
  if (!is_vector)
    link_set_value(instruction, to_of(word), true, 8);
}

/* ---- Vectors ---- */

/* Whether an instruction of SVE's puts general registers into a vector. (DUP and CPY take the stack
 * pointer, too.) */
static bool fills_vector(uint32_t word, bool *may_be_stack) {
  enum { DUP_MASK = 0xff3ffc00, DUP = 0x05203800, INSR = 0x05243800 };
  enum { CPY_MASK = 0xff3fe000, CPY = 0x0528a000, INDEX_MASK = 0xff20f000, INDEX = 0x04204000 };
  *may_be_stack = (word & DUP_MASK) == DUP || (word & CPY_MASK) == CPY;
  return *may_be_stack || (word & DUP_MASK) == INSR || (word & INDEX_MASK) == INDEX;
}

/* Of SVE and SME, whose instructions are many: any may write to a general register. Stores are of
 * any size. */
static void decode_scalable(uint32_t word, struct code_instruction *instruction) {
  enum { ADDS_LENGTH_MASK = 0xffa0f000, ADDS_LENGTH = 0x04205000, STORES = 7 };
  enum { TILE_MEMORY = 0xe0 >> 1, FIRST_SELECTOR = 12 }; /* LD1B ... ST1Q, LDR, STR of SME's ZA */
  enum { STORES_SEVERAL_MASK = 0xfea00000, STORES_SEVERAL = 0xa0200000 }; /* of SME2 and SVE2.1 */
  struct code_stack *stack = &instruction->stack;
  const bool adds_length = (word & ADDS_LENGTH_MASK) == ADDS_LENGTH;
  bool may_be_stack;
  const bool is_filled = fills_vector(word, &may_be_stack);
  *(adds_length ? &instruction->parts.writes : &instruction->parts.may_write) = bit(to_of(word));
  if (!is_filled && !adds_length) /* an address, or a vector */
    instruction->parts.reads &= ~bit(LINK);
  instruction->may_store =
      link_field(word, 29, 3) == STORES || (word & STORES_SEVERAL_MASK) == STORES_SEVERAL;
  if (link_field(word, 25, 7) == TILE_MEMORY)
    instruction->parts.reads |= bit(FIRST_SELECTOR + (unsigned)link_field(word, 13, 2));
  if (adds_length && to_of(word) == SP)
    stack->growth = CODE_STACK_LOST;
  else if (adds_length && stack_base(&code_aarch64, other_of(word)) != CODE_NO_BASE)
    stack_set_address(&code_aarch64, stack, other_of(word), (int32_t)signed_field(word, 5, 6));
  else if (may_be_stack && from_of(word) == SP)
    stack_set_address(&code_aarch64, stack, SP, 0);
  else if (instruction->may_store)
    stack_set_memory(&code_aarch64, stack, from_of(word), -LINK_FAR, 2 * LINK_FAR, false);
  else if (!is_filled &&
           (instruction->parts.reads & bit(FRAME)) != 0) /* or a vector, or a distance in vectors */
    set_memory(instruction, FRAME, 0, 0, 0, true);
}

/* ---- All ---- */

/* clang-format off */ /* a table */

/* Where instructions have registers: to_of, from_of, other_of, second_of. */
enum { T = 1, F = 2, O = 4, S = 8 };

/* The instructions whose bits under `mask` are those of `value`. The first row that fits counts: so
 * a form with effects of its own has a row above its group's. `reads` and `writes` are the
 * registers; the functions add to them, and to all other effects (code.h). */
static const struct {
  uint32_t mask, value;
  enum code_kind kind;
  uint8_t reads, writes;
  void (*decode)(uint32_t word, struct code_instruction *instruction);
} rows[] = {
    /* Branches, exceptions and system instructions */
    {0x7c000000, 0x14000000, CODE_JUMP, 0, 0, decode_far},          /* B, BL */
    {0xff000000, 0x54000000, CODE_BRANCH, 0, 0, decode_branch},     /* B.cond, BC.cond */
    {0x7e000000, 0x34000000, CODE_BRANCH, T, 0, decode_branch},     /* CBZ, CBNZ */
    {0x7e000000, 0x36000000, CODE_BRANCH, T, 0, decode_branch},     /* TBZ, TBNZ */
    {0x7e000000, 0x74000000, CODE_BRANCH, T | O, 0, decode_branch}, /* CBcc */
    {0xfeffffe0, 0xd65f03c0, CODE_RETURN, 0, 0, NULL},
    {0xfefff800, 0xd65f0800, CODE_RETURN, 0, 0, NULL}, /* RETAA, RETAB */
    {0xfefffc00, 0xd61f0000, CODE_JUMP, F, 0, decode_through},
    {0xfefffc00, 0xd63f0000, CODE_CALL, F, 0, decode_through},
    {0xfefffc00, 0xd65f0000, CODE_JUMP, F, 0, decode_through}, /* RET */
    {0xfffff800, 0xd61f0800, CODE_JUMP, F, 0, decode_through},
    {0xfffff800, 0xd63f0800, CODE_CALL, F, 0, decode_through},
    {0xfffff800, 0xd71f0800, CODE_JUMP, F | T, 0, decode_through},
    {0xfffff800, 0xd73f0800, CODE_CALL, F | T, 0, decode_through},
    {0xffe00000, 0xd4200000, CODE_STOP, 0, 0, decode_exception}, /* BRK, HLT */
    {0xffe00000, 0xd4400000, CODE_STOP, 0, 0, decode_exception},
    {0xff000000, 0xd4000000, CODE_OTHER, 0, 0, decode_exception},
    {0xffffffff, 0xd503201f, CODE_PADDING, 0, 0, NULL},
    /* DSB, DMB, ISB, SB: they follow returns and jumps, to stop speculation */
    {0xfffff09f, 0xd503309f, CODE_PADDING, 0, 0, NULL},
    {0xfffff01f, 0xd503201f, CODE_OTHER, 0, 0, decode_hint},
    {0xffe00000, 0xd5200000, CODE_OTHER, 0, T, NULL}, /* MRS, SYSL: they write a register */
    {0xffe00000, 0xd5000000, CODE_OTHER, T, 0, NULL},

    /* Data processing, with a constant */
    {0x1f000000, 0x10000000, CODE_OTHER, 0, T, decode_address}, /* ADR, ADRP */
    {0x1f800000, 0x11000000, CODE_OTHER, F, T, decode_add_constant},
    {0x1f800000, 0x11800000, CODE_OTHER, F, T, decode_tagged},
    {0x1f800000, 0x12000000, CODE_OTHER, F, T, decode_logical},
    {0x1f800000, 0x12800000, CODE_OTHER, 0, T, decode_move_wide},
    {0x7f800000, 0x33000000, CODE_OTHER, F | T, T, NULL}, /* BFM: a part of it stays */
    {0x1f800000, 0x13000000, CODE_OTHER, F, T, NULL},
    {0x1f800000, 0x13800000, CODE_OTHER, F | O, T, NULL},

    /* Data processing, of registers */
    {0xffe0ffe0, 0xaa0003e0, CODE_OTHER, O, T, decode_move},
    {0xff000000, 0x8b000000, CODE_OTHER, F | O, T, decode_sum},
    {0x1f200000, 0x0b200000, CODE_OTHER, F | O, T, decode_pointer},
    {0xffe0fc00, 0x9ac01000, CODE_OTHER, F | O, T, decode_pointer}, /* IRG */
    {0xbfe0e000, 0x9a002000, CODE_OTHER, F | O, T, decode_pointer}, /* ADDPT, SUBPT */
    {0xffe00c00, 0x9a800000, CODE_OTHER, F | O, T, decode_select},  /* CSEL */
    {0xffff0000, 0xdac10000, CODE_OTHER, F | O, T, decode_signature},
    {0x1fe00800, 0x1a400000, CODE_OTHER, F | O, 0, NULL}, /* CCMN, CCMP */
    {0x1fe00800, 0x1a400800, CODE_OTHER, F, 0, NULL},
    {0x3fe0fc00, 0x3a000000, CODE_OTHER, F | O, T, NULL}, /* ADCS, SBCS */
    {0x3fe00000, 0x3a000000, CODE_OTHER, F | O, 0, NULL}, /* RMIF, SETF8, SETF16 */
    {0x1f000000, 0x1b000000, CODE_OTHER, F | O | S, T, NULL}, /* three sources */
    {0x0e000000, 0x0a000000, CODE_OTHER, F | O, T, NULL},

    /* Loads and stores */
    {0x3b000000, 0x18000000, CODE_OTHER, 0, 0, decode_literal},
    {0x3a000000, 0x28000000, CODE_OTHER, F, 0, decode_pair},
    {0x3b000000, 0x39000000, CODE_OTHER, F, 0, decode_single},
    {0x3b200000, 0x38000000, CODE_OTHER, F, 0, decode_single},
    {0x3b200c00, 0x38200800, CODE_OTHER, F | O, 0, decode_indexed},
    {0x3b200c00, 0x38200000, CODE_OTHER, F | O, 0, decode_atomic},
    {0x3b200000, 0x38200000, CODE_OTHER, F, T, decode_signed_load},
    {0x3e000000, 0x0c000000, CODE_OTHER, F, 0, decode_vectors},
    {0x0a000000, 0x08000000, CODE_OTHER, T | F | O | S, 0, decode_rare},

    /* Vectors: conversions, moves, and copies of elements have general registers */
    {0xfffffc00, 0x1e7e0000, CODE_OTHER, 0, T, NULL}, /* FJCVTZS */
    {0x5f34fc00, 0x1e340000, CODE_OTHER, 0, 0, NULL}, /* with FEAT_FPRCVT, from vector to vector */
    {0x5f26fc00, 0x1e220000, CODE_OTHER, F, 0, NULL},
    {0x5f27fc00, 0x1e270000, CODE_OTHER, F, 0, NULL},
    {0x5f20fc00, 0x1e200000, CODE_OTHER, 0, T, NULL},
    {0x5f260000, 0x1e020000, CODE_OTHER, F, 0, NULL},
    {0x5f270000, 0x1e070000, CODE_OTHER, F, 0, NULL},
    {0x5f200000, 0x1e000000, CODE_OTHER, 0, T, NULL},
    {0xbfe0ec00, 0x0e002c00, CODE_OTHER, 0, T, NULL}, /* SMOV, UMOV */
    {0xbfe0ec00, 0x0e000c00, CODE_OTHER, F, 0, NULL}, /* DUP */
    {0xffe0fc00, 0x4e001c00, CODE_OTHER, F, 0, NULL}, /* INS */
    {0x0e000000, 0x0e000000, CODE_OTHER, 0, 0, NULL},
    {0x1e000000, 0x04000000, CODE_OTHER, F | O, 0, decode_scalable}, /* SVE */
    {0x9e000000, 0x80000000, CODE_OTHER, F | O, 0, decode_scalable}, /* SME */

    {0xffff0000, 0x00000000, CODE_STOP, 0, 0, NULL}, /* UDF: never run */
    {0, 0, CODE_INVALID, 0, 0, NULL},
};

/* clang-format on */

static uint32_t registers(uint32_t word, unsigned places) {
  return ((places & T) != 0 ? bit(to_of(word)) : 0) | ((places & F) != 0 ? bit(from_of(word)) : 0) |
         ((places & O) != 0 ? bit(other_of(word)) : 0) |
         ((places & S) != 0 ? bit(second_of(word)) : 0);
}

static void decode(const uint8_t *bytes, size_t size, uint64_t address,
                   struct code_instruction *instruction) {
  unsigned i = 0;
  *instruction = (struct code_instruction){.length = 1, .kind = CODE_INVALID};
  if (size < 4)
    return;
  const uint32_t word = bits_load32(bytes);
  while ((word & rows[i].mask) != rows[i].value)
    i++;
  assert(i < sizeof rows / sizeof *rows);
  *instruction = (struct code_instruction){.length = 4, .kind = (uint8_t)rows[i].kind};
  if (instruction->kind == CODE_INVALID)
    return;
  instruction->address = address;
  instruction->parts.reads = registers(word, rows[i].reads);
  instruction->parts.writes = registers(word, rows[i].writes);
  instruction->values = code_computed(to_of(word), from_of(word));
  if (rows[i].decode != NULL)
    rows[i].decode(word, instruction);
  if (instruction->kind == CODE_CALL)
    instruction->stack.changes = CODE_LINK;
  link_finish(&code_aarch64, instruction);
}

static const uint8_t arguments[CODE_ARGUMENTS] = {0, 1, 2, 3, 4, 5};

/* The types of a linked file, except for those of a symbol's address. (ELF for the Arm 64-bit
 * Architecture, 5.7) */
static const struct code_relocation_type relocations[] = {
    {R_AARCH64_RELATIVE, CODE_RELOCATION_ADDRESS}, {R_AARCH64_IRELATIVE, CODE_RELOCATION_RESOLVER},
    {R_AARCH64_JUMP_SLOT, CODE_RELOCATION_CALL},   {R_AARCH64_GLOB_DAT, CODE_RELOCATION_SLOT},
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
    .stack_pointer = 31,
    .lost = CALL_CLOBBERS,
    .passed = 0xff,
    .result = 0,
    .link_register = LINK,
    .in_sets = {FRAME, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28},
    .in_tables = {FRAME, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28},
    .entry_offset = 0,
    .relocations = relocations,
    .arguments = arguments,
    .decode = decode,
};
