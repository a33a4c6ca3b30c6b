/* code_riscv64.c - RISC-V with 64 bits for the call graph. (The RISC-V Instruction Set Manual,
 * Volume I: "RV32/64G Instruction Set Listings", and the chapter on the extension C.) Without a
 * library: Capstone 4.0.2, in Debian 12 and Ubuntu 24.04, lacks RISC-V.
 *
 * Instructions have 4 bytes, or 2 if the extension C has a short form. A short one is first turned
 * into the fields of the long one: its operation and three registers, as far as they matter here.
 *
 * An address is the program counter (AUIPC) or a constant (LUI), with the 20 bits above the lowest
 * 12, and those 12, signed, in an addition, a load, a store or a jump; so is the target of a call
 * that may be far. The linker shortens these where it can, and turns those near the global pointer
 * (gp) into a distance from it. (RISC-V ELF psABI, "Linker Relaxation")
 *
 * ra (x1) has the return address; calls by other registers are of helpers that save registers. s0
 * (x8) is the frame pointer.
 *
 * A `switch` becomes this, with the table's address in a register, or entries that are addresses:
 *
 *     slli  index, index, 2; add entry, table, index; lw entry, 0(entry); add target, entry, table
 *     jr    target
 */
#include "tool/code/code_link.h"

#include "format/bits.h"

#include <assert.h>
#include <elf.h>

enum {
  ZERO = 0,
  RA = 1,
  SP = 2,
  GP = 3,
  T0 = 5,
  T1 = 6,
  FRAME = 8,
  A0 = 10,
  T3 = 28,
  CALLERS_FRAME = -16
};

/* sp, gp, tp and s0 to s11 are as before a call (RISC-V Calling Conventions, "Integer Register
 * Convention"). */
enum { CALL_CLOBBERS = (int)0xf003fce2 };

/* Bits 2 to 6 of a long instruction. */
enum operation {
  LOAD = 0x00,
  LOAD_FP = 0x01,
  FENCE = 0x03,
  ADD_CONSTANT = 0x04, /* and others with a constant */
  AUIPC = 0x05,
  ADD_CONSTANT_WORD = 0x06,
  STORE = 0x08,
  STORE_FP = 0x09,
  ATOMIC = 0x0b,
  REGISTERS = 0x0c,
  LUI = 0x0d,
  REGISTERS_WORD = 0x0e,
  MULTIPLY_0 = 0x10, /* of floating-point numbers, with an addition */
  MULTIPLY_1 = 0x11,
  MULTIPLY_2 = 0x12,
  MULTIPLY_3 = 0x13,
  FLOAT = 0x14,
  VECTOR = 0x15,
  BRANCH = 0x18,
  JUMP_REGISTER = 0x19,
  JUMP = 0x1b,
  SYSTEM = 0x1c,
  NOTHING = 0x20, /* a short one without effect */
  INVALID,
};

enum { LENGTHS = 7 }; /* VECTOR: the function that sets the length */

/* The fields of an instruction, long or short. */
struct fields {
  enum operation operation;
  uint8_t function; /* funct3: of loads and stores, the size; of additions, 0 */
  uint8_t to, first, second;
  bool is_sum;                /* REGISTERS: it adds; with a shift, too */
  bool is_subtract;           /* REGISTERS */
  bool is_vector;             /* LOAD_FP, STORE_FP: of vectors */
  bool is_general;            /* FLOAT, VECTOR: `to` may be a general register, */
  bool has_first, has_second; /* and these are */
  int64_t constant;
};

/* Some bits of the instruction at another place. */
static uint32_t bits(uint32_t word, unsigned low, unsigned width, unsigned to) {
  return link_field(word, low, width) << to;
}

/* ---- Long instructions ---- */

static int64_t constant_of(uint32_t word, enum operation operation) {
  switch (operation) {
  case AUIPC:
  case LUI:
    return (int32_t)(word & 0xfffff000);
  case STORE:
  case STORE_FP:
    return link_signed(bits(word, 25, 7, 5) | link_field(word, 7, 5), 12);
  case BRANCH:
    return link_signed(bits(word, 31, 1, 12) | bits(word, 7, 1, 11) | bits(word, 25, 6, 5) |
                           bits(word, 8, 4, 1),
                       13);
  case JUMP:
    return link_signed(bits(word, 31, 1, 20) | bits(word, 12, 8, 12) | bits(word, 20, 1, 11) |
                           bits(word, 21, 10, 1),
                       21);
  default:
    return link_signed(link_field(word, 20, 12), 12);
  }
}

/* ADD, and SH1ADD to SH3ADD of the extension Zba, which shift the first register. */
static bool adds(uint32_t word) {
  const unsigned function = link_field(word, 12, 3), more = link_field(word, 25, 7);
  return (more == 0 && function == 0) || (more == 0x10 && function % 2 == 0 && function != 0);
}

/* Of floating-point numbers: comparisons, conversions, moves and classes, and all unlisted ones. Of
 * vectors: their lengths, and moves and counts of elements. */
static bool has_general_result(uint32_t word, enum operation operation) {
  enum {
    FLOATS = 1 << 0x00 | 1 << 0x01 | 1 << 0x02 | 1 << 0x03 | 1 << 0x04 | 1 << 0x05 | 1 << 0x08 |
             1 << 0x0b | 1 << 0x1a | 1 << 0x1e
  };
  enum { MASKS = 2, ELEMENTS = 0x10 };
  const unsigned function = link_field(word, 12, 3);
  if (operation == FLOAT)
    return ((uint32_t)FLOATS >> link_field(word, 27, 5) & 1) == 0;
  return function == LENGTHS || (function == MASKS && link_field(word, 26, 6) == ELEMENTS);
}

/* Whether `first` is a general register: of floating-point numbers, in conversions and moves from
 * one and all unlisted instructions; of vectors, with a scalar operand or a length. */
static bool has_general_operand(uint32_t word, enum operation operation, bool has_general_result) {
  /* Of general results: comparisons, and from a number with a point. */
  enum { FROM_FLOATS = 1 << 0x14 | 1 << 0x18 | 1 << 0x1c, TO_FLOATS = 1 << 0x1a | 1 << 0x1e };
  enum { SCALAR = 4, SCALAR_MASKS = 6, CONSTANT_LENGTH = 3 };
  const unsigned function = link_field(word, 12, 3);
  const uint32_t which = (uint32_t)1 << link_field(word, 27, 5);
  if (operation == FLOAT)
    return has_general_result ? (FROM_FLOATS & which) == 0 : (TO_FLOATS & which) != 0;
  return function == SCALAR || function == SCALAR_MASKS ||
         (function == LENGTHS && link_field(word, 30, 2) != CONSTANT_LENGTH);
}

static struct fields read_long(uint32_t word) {
  struct fields fields = {.operation = (enum operation)link_field(word, 2, 5),
                          .function = (uint8_t)link_field(word, 12, 3),
                          .to = (uint8_t)link_field(word, 7, 5),
                          .first = (uint8_t)link_field(word, 15, 5),
                          .second = (uint8_t)link_field(word, 20, 5)};
  fields.constant = constant_of(word, fields.operation);
  fields.is_sum = adds(word);
  fields.is_subtract = link_field(word, 25, 7) == 0x20 && fields.function == 0;
  fields.is_vector = fields.function == 0 || fields.function > 4;
  fields.is_general = has_general_result(word, fields.operation);
  fields.has_first = has_general_operand(word, fields.operation, fields.is_general);
  fields.has_second = fields.function == LENGTHS && link_field(word, 30, 2) == 2; /* VSETVL */
  return fields;
}

/* ---- Short instructions ---- */

/* clang-format off */ /* tables */

/* Where a short instruction has a register: its number in 5 bits, or in 3, from x8; or it's
 * implied. */
enum place { NO_PLACE, AT_7, AT_2, SHORT_AT_7, SHORT_AT_2, IN_SP, IN_RA };

/* How its constant is put together, and its sign's place. (The extension C has the bits in an order
 * that suits processors.) */
enum form {
  NO_CONSTANT, ONE, NUMBER, UPPER, STACK_16, STACK_PLACE, NEAR, FAR,
  AMOUNT, OF_BYTE, OF_HALF, OF_WORD, OF_DOUBLE, LOAD_WORD, LOAD_DOUBLE, STORE_WORD, STORE_DOUBLE,
};
enum { PIECES = 8 };
static const struct {
  uint8_t width; /* of a signed constant; 0: unsigned */
  struct {
    uint8_t low, width, to;
  } pieces[PIECES];
} forms[] = {
    [ONE] = {0, {{1, 1, 0}}},
    [NUMBER] = {6, {{12, 1, 5}, {2, 5, 0}}},
    [UPPER] = {18, {{12, 1, 17}, {2, 5, 12}}},
    [STACK_16] = {10, {{12, 1, 9}, {6, 1, 4}, {5, 1, 6}, {3, 2, 7}, {2, 1, 5}}},
    [STACK_PLACE] = {0, {{11, 2, 4}, {7, 4, 6}, {6, 1, 2}, {5, 1, 3}}},
    [NEAR] = {9, {{12, 1, 8}, {10, 2, 3}, {5, 2, 6}, {3, 2, 1}, {2, 1, 5}}},
    [FAR] = {12, {{12, 1, 11}, {11, 1, 4}, {9, 2, 8}, {8, 1, 10}, {7, 1, 6}, {6, 1, 7}, {3, 3, 1}, {2, 1, 5}}},
    [AMOUNT] = {0, {{12, 1, 5}, {2, 5, 0}}},
    [OF_BYTE] = {0, {{5, 1, 1}, {6, 1, 0}}},
    [OF_HALF] = {0, {{5, 1, 1}}},
    [OF_WORD] = {0, {{10, 3, 3}, {6, 1, 2}, {5, 1, 6}}},
    [OF_DOUBLE] = {0, {{10, 3, 3}, {5, 2, 6}}},
    [LOAD_WORD] = {0, {{12, 1, 5}, {4, 3, 2}, {2, 2, 6}}},
    [LOAD_DOUBLE] = {0, {{12, 1, 5}, {5, 2, 3}, {2, 3, 6}}},
    [STORE_WORD] = {0, {{9, 4, 2}, {7, 2, 6}}},
    [STORE_DOUBLE] = {0, {{10, 3, 3}, {7, 3, 6}}},
};

enum { BYTE, HALF, WORD, DOUBLE, SHIFT = 1, OTHER_FUNCTION = 7, SUM };

/* The fields of the instructions whose bits under `mask` are those of `bits`; the first row that
 * fits counts. */
static const struct {
  uint16_t mask, bits;
  enum operation operation;
  uint8_t function; /* or SUM */
  enum place to, first, second;
  enum form constant;
} short_ones[] = {
    {0xffe3, 0x0000, INVALID, 0, 0, 0, 0, 0},
    {0xe003, 0x0000, ADD_CONSTANT, 0, SHORT_AT_2, IN_SP, 0, STACK_PLACE},
    {0xe003, 0x2000, LOAD_FP, DOUBLE, SHORT_AT_2, SHORT_AT_7, 0, OF_DOUBLE},
    {0xe003, 0x4000, LOAD, WORD, SHORT_AT_2, SHORT_AT_7, 0, OF_WORD},
    {0xe003, 0x6000, LOAD, DOUBLE, SHORT_AT_2, SHORT_AT_7, 0, OF_DOUBLE},
    {0xfc03, 0x8000, LOAD, BYTE, SHORT_AT_2, SHORT_AT_7, 0, OF_BYTE}, /* to 0x8c00: Zcb */
    {0xfc03, 0x8400, LOAD, HALF, SHORT_AT_2, SHORT_AT_7, 0, OF_HALF},
    {0xfc03, 0x8800, STORE, BYTE, 0, SHORT_AT_7, SHORT_AT_2, OF_BYTE},
    {0xfc03, 0x8c00, STORE, HALF, 0, SHORT_AT_7, SHORT_AT_2, OF_HALF},
    {0xe003, 0x8000, INVALID, 0, 0, 0, 0, 0},
    {0xe003, 0xa000, STORE_FP, DOUBLE, 0, SHORT_AT_7, SHORT_AT_2, OF_DOUBLE},
    {0xe003, 0xc000, STORE, WORD, 0, SHORT_AT_7, SHORT_AT_2, OF_WORD},
    {0xe003, 0xe000, STORE, DOUBLE, 0, SHORT_AT_7, SHORT_AT_2, OF_DOUBLE},
    {0xef83, 0x0001, NOTHING, 0, 0, 0, 0, 0},
    {0xe003, 0x0001, ADD_CONSTANT, 0, AT_7, AT_7, 0, NUMBER},
    {0xe003, 0x2001, ADD_CONSTANT_WORD, 0, AT_7, AT_7, 0, NUMBER},
    {0xe003, 0x4001, ADD_CONSTANT, 0, AT_7, 0, 0, NUMBER},
    {0xef83, 0x6101, ADD_CONSTANT, 0, IN_SP, IN_SP, 0, STACK_16},
    {0xf07f, 0x6001, NOTHING, 0, 0, 0, 0, 0},
    {0xe003, 0x6001, LUI, 0, AT_7, 0, 0, UPPER},
    {0xfc43, 0x9c01, REGISTERS_WORD, 0, SHORT_AT_7, SHORT_AT_7, SHORT_AT_2, 0},
    {0xfc63, 0x9c61, REGISTERS, 0, SHORT_AT_7, SHORT_AT_7, 0, 0}, /* of one register (Zcb) */
    {0xec03, 0x8c01, REGISTERS, 0, SHORT_AT_7, SHORT_AT_7, SHORT_AT_2, 0},
    {0xe003, 0x8001, ADD_CONSTANT, OTHER_FUNCTION, SHORT_AT_7, SHORT_AT_7, 0, 0},
    {0xe003, 0xa001, JUMP, 0, 0, 0, 0, FAR},
    {0xc003, 0xc001, BRANCH, 0, 0, SHORT_AT_7, 0, NEAR},
    {0xe003, 0x0002, ADD_CONSTANT, SHIFT, AT_7, AT_7, 0, AMOUNT},
    {0xe003, 0x2002, LOAD_FP, DOUBLE, AT_7, IN_SP, 0, LOAD_DOUBLE},
    {0xe003, 0x4002, LOAD, WORD, AT_7, IN_SP, 0, LOAD_WORD},
    {0xe003, 0x6002, LOAD, DOUBLE, AT_7, IN_SP, 0, LOAD_DOUBLE},
    {0xffff, 0x8002, INVALID, 0, 0, 0, 0, 0},
    {0xffff, 0x9002, SYSTEM, 0, 0, 0, 0, ONE}, /* EBREAK */
    {0xf07f, 0x8002, JUMP_REGISTER, 0, 0, AT_7, 0, 0},
    {0xf07f, 0x9002, JUMP_REGISTER, 0, IN_RA, AT_7, 0, 0},
    {0xf003, 0x8002, REGISTERS, SUM, AT_7, 0, AT_2, 0},
    {0xf003, 0x9002, REGISTERS, SUM, AT_7, AT_7, AT_2, 0},
    {0xe003, 0xa002, STORE_FP, DOUBLE, 0, IN_SP, AT_2, STORE_DOUBLE},
    {0xe003, 0xc002, STORE, WORD, 0, IN_SP, AT_2, STORE_WORD},
    {0xe003, 0xe002, STORE, DOUBLE, 0, IN_SP, AT_2, STORE_DOUBLE},
};

/* clang-format on */

static uint8_t register_at(uint32_t half, enum place place) {
  const uint8_t numbers[] = {
      [NO_PLACE] = ZERO,
      [AT_7] = (uint8_t)link_field(half, 7, 5),
      [AT_2] = (uint8_t)link_field(half, 2, 5),
      [SHORT_AT_7] = (uint8_t)(8 + link_field(half, 7, 3)),
      [SHORT_AT_2] = (uint8_t)(8 + link_field(half, 2, 3)),
      [IN_SP] = SP,
      [IN_RA] = RA,
  };
  return numbers[place];
}

static int64_t short_constant(uint32_t half, enum form form) {
  uint32_t value = 0;
  for (unsigned i = 0; i < PIECES; i++)
    value |= bits(half, forms[form].pieces[i].low, forms[form].pieces[i].width,
                  forms[form].pieces[i].to);
  return forms[form].width == 0 ? value : link_signed(value, forms[form].width);
}

static struct fields read_short(uint32_t half) {
  unsigned i = 0;
  assert((half & 3) != 3 && half <= UINT16_MAX);
  while ((half & short_ones[i].mask) != short_ones[i].bits)
    i++;
  assert(i < sizeof short_ones / sizeof *short_ones);
  return (struct fields){.operation = short_ones[i].operation,
                         .function = short_ones[i].function,
                         .to = register_at(half, short_ones[i].to),
                         .first = register_at(half, short_ones[i].first),
                         .second = register_at(half, short_ones[i].second),
                         .is_sum = short_ones[i].function == SUM,
                         .constant = short_constant(half, short_ones[i].constant)};
}

/* Decodes the instruction at bytes[0..size). Returns its length; 0 if it is invalid. */
static unsigned read_fields(const uint8_t *bytes, size_t size, struct fields *fields) {
  if (size < 2)
    return 0;
  const uint32_t half = (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8;
  if ((half & 3) == 3) {
    if (size < 4 || (half & 0x1f) == 0x1f)
      return 0;
    *fields = read_long(bits_load32(bytes));
    return 4;
  }
  *fields = read_short(half);
  return 2;
}

/* ---- Effects ---- */

static uint32_t bit(unsigned number) { return number != ZERO ? (uint32_t)1 << number : 0; }

static void set_part(struct code_instruction *instruction, enum part_use part,
                     const struct fields *fields, int64_t distance) {
  link_set_part(instruction, part, fields->first == ZERO ? CODE_NO_REGISTER : fields->first,
                distance);
}

static void decode_registers(struct code_instruction *instruction, const struct fields *fields) {
  const bool is_sum = fields->is_sum && fields->operation == REGISTERS;
  const uint8_t shift = fields->function == SUM ? 0 : fields->function / 2; /* of the first */
  instruction->stack.growth = fields->to == SP ? CODE_STACK_LOST : 0; /* unless it's resolved */
  if (is_sum && (fields->first == ZERO || (fields->second == ZERO && shift == 0))) {
    stack_set_sum(&code_riscv64, &instruction->stack, fields->to, fields->first | fields->second,
                  0);
    link_set_copy(instruction, fields->first | fields->second);
    return;
  }
  instruction->is_sum = is_sum;
  if (is_sum) {
    instruction->values.operation = VALUE_ADDRESS;
    instruction->values.base = fields->second;
    instruction->values.index = fields->first;
    instruction->values.shift = shift;
  }
  if (fields->to != SP || shift != 0)
    return;
  if (fields->first == SP && (is_sum || fields->is_subtract))
    set_part(instruction, is_sum ? CODE_ADD : CODE_SUBTRACT,
             &(struct fields){.first = fields->second}, 0);
  else if (fields->second == SP && is_sum)
    set_part(instruction, CODE_ADD, &(struct fields){.first = fields->first}, 0);
}

static void decode_memory(struct code_instruction *instruction, const struct fields *fields) {
  const bool is_load = fields->operation == LOAD || fields->operation == LOAD_FP;
  const bool is_general = fields->operation == LOAD || fields->operation == STORE;
  const bool is_whole = is_general && fields->function == DOUBLE;
  const unsigned value = is_load ? fields->to : fields->second;
  struct code_stack *stack = &instruction->stack;
  struct code_parts *parts = &instruction->parts;
  instruction->may_store = !is_load;
  instruction->target = (uint64_t)fields->constant;
  if (!is_general && fields->is_vector) {
    parts->reads |= bit(fields->second); /* a distance */
    stack_set_memory(&code_riscv64, stack, fields->first, -LINK_FAR, 2 * LINK_FAR, is_load);
    return;
  }
  if (is_load && is_whole && fields->first == FRAME && fields->constant == CALLERS_FRAME &&
      value != FRAME)
    stack_set_address(&code_riscv64, stack, FRAME, CALLERS_FRAME);
  else
    stack_set_memory(&code_riscv64, stack, fields->first, (int32_t)fields->constant,
                     1 << (fields->function & (is_general ? 3 : 7)), is_load);
  const bool is_elsewhere = stack_base(&code_riscv64, fields->first) == CODE_NO_BASE;
  parts->is_load = is_load && is_whole && is_elsewhere;
  if (fields->first != SP && (is_load || value != fields->first))
    set_part(instruction, is_load && is_whole ? CODE_LOAD : CODE_ACCESS, fields, fields->constant);
  if (is_whole)
    stack_set_saved(&code_riscv64, stack, value, 0, is_load);
  instruction->values.is_unsigned = fields->function >= 4;
  if (is_general)
    link_set_value(instruction, value, is_load, 1u << (fields->function & 3));
}

/* At an address without a distance; of pairs of registers, too (AMOCAS.Q). */
static void decode_atomic(struct code_instruction *instruction, const struct fields *fields) {
  const unsigned more = fields->function > DOUBLE;
  instruction->parts.reads |= bit(fields->second | more);
  instruction->parts.writes |= bit(fields->to | more);
  link_set_value(instruction, fields->to, true, 1u << (fields->function & 3));
  instruction->may_store = true;
  stack_set_memory(&code_riscv64, &instruction->stack, fields->first, 0,
                   1 << (fields->function & 7), false);
}

static bool is_link(unsigned number) { return number == RA || number == T0; }

/* A call leaves its return address in ra or t0. In another register, this is an address of code
 * that may be used for anything: such jumps are unsupported, besides that of a stub of the linkage
 * table. */
static enum code_kind kind_of_jump(const struct fields *fields, bool is_stub) {
  return fields->to == ZERO || is_stub ? CODE_JUMP : is_link(fields->to) ? CODE_CALL : CODE_INVALID;
}

static void decode_jump_register(struct code_instruction *instruction,
                                 const struct fields *fields) {
  const bool is_stub = fields->to == T1 && fields->first == T3 && fields->constant == 0;
  if (fields->to == ZERO && fields->first == RA && fields->constant == 0) {
    instruction->kind = CODE_RETURN;
    instruction->parts.reads = 0;
    return;
  }
  instruction->kind = (uint8_t)kind_of_jump(fields, is_stub);
  instruction->target_kind = CODE_COMPUTED;
  instruction->is_sum = true; /* it may be one */
  set_part(instruction, CODE_THROUGH, fields, fields->constant);
}

static void decode_jump(struct code_instruction *instruction, const struct fields *fields) {
  const bool is_branch = fields->operation == BRANCH;
  link_set_direct(instruction, is_branch ? CODE_BRANCH : kind_of_jump(fields, false),
                  instruction->address + (uint64_t)fields->constant);
}

static void decode_system(struct code_instruction *instruction, const struct fields *fields) {
  enum { EBREAK = 1, URET = 0x002, SRET = 0x102, MRET = 0x302, MNRET = 0x702, DRET = 0x7b2 };
  const int64_t called = fields->function == 0 && fields->to == ZERO ? fields->constant : 0;
  instruction->is_break = called == EBREAK; /* LLVM's llvm.debugtrap */
  if (called == EBREAK)
    instruction->kind = CODE_STOP;
  else if (called == URET || called == SRET || called == MRET || called == MNRET || called == DRET)
    instruction->kind = CODE_INVALID; /* they go to an address in a control register */
  instruction->parts.reads = fields->function < 4 ? bit(fields->first) : 0;
  if (fields->function == 0)
    instruction->parts.may_write = bit(A0); /* a system call's result */
}

static void decode_upper(struct code_instruction *instruction, const struct fields *fields) {
  instruction->is_relative = fields->operation == AUIPC;
  const uint64_t base = instruction->is_relative ? instruction->address : 0;
  link_set_part(instruction, CODE_UPPER, CODE_NO_REGISTER,
                (int64_t)(base + (uint64_t)fields->constant));
}

static void decode_add(struct code_instruction *instruction, const struct fields *fields) {
  const bool is_word = fields->operation == ADD_CONSTANT_WORD;
  const bool has_part = fields->to != SP && fields->first != SP;
  instruction->stack.growth = fields->to == SP ? CODE_STACK_LOST : 0; /* unless it's resolved */
  if (fields->function == 0 && fields->to == ZERO) {
    instruction->kind = is_word ? CODE_OTHER : CODE_PADDING;
  } else if (fields->function == 0) {
    if (!is_word || stack_base(&code_riscv64, fields->to) == CODE_NO_BASE)
      stack_set_sum(&code_riscv64, &instruction->stack, fields->to, fields->first,
                    (int32_t)fields->constant);
    if (has_part)
      set_part(instruction, CODE_LOWER, fields, fields->constant);
    instruction->parts.is_constant |= is_word;
    if (fields->constant == 0)
      link_set_copy(instruction, fields->first);
    instruction->values.part = is_word ? 4 : 8;
  }
  if (!is_word && fields->function == SHIFT && fields->constant >> 6 == 0)
    set_part(instruction, CODE_SHIFT, fields, fields->constant);
}

static void decode_vector(struct code_instruction *instruction, const struct fields *fields) {
  instruction->parts.reads =
      (fields->has_first ? bit(fields->first) : 0) | (fields->has_second ? bit(fields->second) : 0);
  instruction->parts.may_write = fields->is_general ? bit(fields->to) : 0;
}

static void decode_nothing(struct code_instruction *instruction, const struct fields *fields) {
  instruction->kind = fields->operation == NOTHING ? CODE_PADDING : CODE_OTHER;
}

/* The registers that instructions read and write; the functions add to them. An operation without a
 * function is invalid. */
enum { TO = 1, FIRST = 2, SECOND = 4 };
static const struct {
  uint8_t reads, writes;
  void (*decode)(struct code_instruction *instruction, const struct fields *fields);
} operations[INVALID + 1] = {
    [LOAD] = {FIRST, TO, decode_memory},
    [LOAD_FP] = {FIRST, 0, decode_memory},
    [FENCE] = {0, 0, decode_nothing},
    [ADD_CONSTANT] = {FIRST, TO, decode_add},
    [AUIPC] = {0, TO, decode_upper},
    [ADD_CONSTANT_WORD] = {FIRST, TO, decode_add},
    [STORE] = {FIRST | SECOND, 0, decode_memory},
    [STORE_FP] = {FIRST, 0, decode_memory},
    [ATOMIC] = {FIRST | SECOND, TO, decode_atomic},
    [REGISTERS] = {FIRST | SECOND, TO, decode_registers},
    [LUI] = {0, TO, decode_upper},
    [REGISTERS_WORD] = {FIRST | SECOND, TO, decode_registers},
    [MULTIPLY_0] = {0, 0, decode_nothing},
    [MULTIPLY_1] = {0, 0, decode_nothing},
    [MULTIPLY_2] = {0, 0, decode_nothing},
    [MULTIPLY_3] = {0, 0, decode_nothing},
    [FLOAT] = {0, 0, decode_vector},
    [VECTOR] = {0, 0, decode_vector},
    [BRANCH] = {FIRST | SECOND, 0, decode_jump},
    [JUMP_REGISTER] = {FIRST, TO, decode_jump_register},
    [JUMP] = {0, TO, decode_jump},
    [SYSTEM] = {0, TO, decode_system},
    [NOTHING] = {0, 0, decode_nothing},
};

static uint32_t registers(const struct fields *fields, unsigned places) {
  return ((places & TO) != 0 ? bit(fields->to) : 0) |
         ((places & FIRST) != 0 ? bit(fields->first) : 0) |
         ((places & SECOND) != 0 ? bit(fields->second) : 0);
}

static void decode(const uint8_t *bytes, size_t size, uint64_t address,
                   struct code_instruction *instruction) {
  struct fields fields;
  *instruction = (struct code_instruction){.length = 1, .kind = CODE_INVALID};
  const unsigned length = read_fields(bytes, size, &fields);
  if (length == 0)
    return;
  instruction->length = (uint8_t)length;
  if (length == 2 && bytes[0] == 0 && bytes[1] == 0) { /* an instruction that is illegal forever */
    instruction->kind = CODE_STOP;
    return;
  }
  if (operations[fields.operation].decode == NULL)
    return;
  *instruction = (struct code_instruction){
      .address = address,
      .length = (uint8_t)length,
      .is_system = length == 4 && bits_load32(bytes) == 0x73, /* ecall */
      .may_be_call = length == 2 && (bytes[0] & 3) == 2 && bytes[1] >> 5 == 5,
      .parts.reads = registers(&fields, operations[fields.operation].reads),
      .parts.writes = registers(&fields, operations[fields.operation].writes),
      .values = code_computed(fields.to, fields.first)};
  operations[fields.operation].decode(instruction, &fields);
  link_finish(&code_riscv64, instruction);
}

/* auipc gp, ...; addi gp, gp, ... */
static bool sets_global(const uint8_t *bytes, size_t size, uint64_t address, uint64_t *value) {
  struct fields upper, rest;
  if (size < 8 || read_fields(bytes, size, &upper) != 4 || upper.operation != AUIPC ||
      upper.to != GP || read_fields(bytes + 4, size - 4, &rest) != 4 ||
      rest.operation != ADD_CONSTANT || rest.function != 0 || rest.to != GP || rest.first != GP)
    return false;
  *value = address + (uint64_t)upper.constant + (uint64_t)rest.constant;
  return true;
}

static const uint8_t arguments[CODE_ARGUMENTS] = {10, 11, 12, 13, 14, 15};

/* The types of a linked file, except for those of a symbol's address. (RISC-V ELF psABI,
 * "Relocations") */
enum { TLSDESC = 12 }; /* absent in Debian 12's elf.h */
static const struct code_relocation_type relocations[] = {
    {R_RISCV_RELATIVE, CODE_RELOCATION_ADDRESS},
    {R_RISCV_IRELATIVE, CODE_RELOCATION_RESOLVER},
    {R_RISCV_JUMP_SLOT, CODE_RELOCATION_CALL},
    {R_RISCV_COPY, CODE_RELOCATION_NONE},
    {R_RISCV_TLS_DTPMOD64, CODE_RELOCATION_NONE},
    {R_RISCV_TLS_DTPREL64, CODE_RELOCATION_NONE},
    {R_RISCV_TLS_TPREL64, CODE_RELOCATION_NONE},
    {TLSDESC, CODE_RELOCATION_NONE},
    {0},
};

const struct code_architecture code_riscv64 = {
    .machine = EM_RISCV,
    .register_count = 32,
    .has_link = true,
    .lowest = -2048,
    .highest = 2047,
    .global_register = GP,
    .sets_global = sets_global,
    .stack_register = SP,
    .stack_pointer = SP,
    .lost = (uint32_t)CALL_CLOBBERS,
    .passed = 0x3fc00,
    .result = A0,
    .link_register = RA,
    .in_sets = {FRAME, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 9},
    .in_tables = {FRAME, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 9},
    .entry_offset = 0,
    .callers_frame = -16,
    .relocations = relocations,
    .arguments = arguments,
    .decode = decode,
};
