/* code_riscv64.c - RISC-V with 64 bits for the call graph. (The RISC-V Instruction Set Manual, Volume
 * I: "RV32/64G Instruction Set Listings", and the chapter on the extension C.)
 *
 * Instructions have 4 bytes, or 2 if the extension C has a short form. A short one is first made into
 * what the long one says: its operation and three registers, as far as they matter here.
 *
 * An address is the program counter (AUIPC) or a constant (LUI), with the 20 bits above the lowest 12,
 * and those 12, signed, in an addition, a load, a store or a jump; so is the target of a call that may
 * be far. The linker makes shorter ones of these where it can, and of those near the global pointer
 * (gp), a distance from that. (RISC-V ELF psABI, "Linker Relaxation")
 *
 * ra (x1) has the return address; calls by other registers are of helpers that save registers. s0 (x8)
 * is the frame pointer.
 *
 * A `switch` becomes this, with the table's address in a register, or entries that are addresses:
 *
 *     slli  index, index, 2; add entry, table, index; lw entry, 0(entry); add target, entry, table
 *     jr    target
 */
#include "tool/code/code.h"

#include "format/bits.h"

#include <elf.h>
#include <stdlib.h>

enum { ZERO = 0, RA = 1, SP = 2, GP = 3, T0 = 5, FRAME = 8 };

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
  NOTHING = 0x20, /* a short one that does nothing */
  INVALID,
};

/* What an instruction says, long or short. */
struct fields {
  enum operation operation;
  uint8_t function; /* funct3: of loads and stores, the size; of additions, 0 */
  uint8_t to, first, second;
  bool is_sum;      /* REGISTERS: it adds; with a shift, too */
  bool is_subtract; /* REGISTERS */
  bool is_vector;   /* LOAD_FP, STORE_FP: of vectors */
  int64_t constant;
};

static struct code_decoder *open_decoder(void) { return malloc(1); }
static void close_decoder(struct code_decoder *decoder) { free(decoder); }

static uint32_t field(uint32_t word, unsigned low, unsigned width) {
  return word >> low & (((uint32_t)1 << width) - 1);
}

/* Some bits of the instruction at another place. */
static uint32_t bits(uint32_t word, unsigned low, unsigned width, unsigned to) {
  return field(word, low, width) << to;
}

static int64_t extended(uint32_t value, unsigned width) {
  const int64_t sign = (int64_t)1 << (width - 1);
  return ((int64_t)value ^ sign) - sign;
}

/* ---- Long instructions ---- */

static int64_t constant_of(uint32_t word, enum operation operation) {
  switch (operation) {
  case AUIPC:
  case LUI:
    return (int32_t)(word & 0xfffff000);
  case STORE:
  case STORE_FP:
    return extended(bits(word, 25, 7, 5) | field(word, 7, 5), 12);
  case BRANCH:
    return extended(bits(word, 31, 1, 12) | bits(word, 7, 1, 11) | bits(word, 25, 6, 5) |
                        bits(word, 8, 4, 1),
                    13);
  case JUMP:
    return extended(bits(word, 31, 1, 20) | bits(word, 12, 8, 12) | bits(word, 20, 1, 11) |
                        bits(word, 21, 10, 1),
                    21);
  default:
    return extended(field(word, 20, 12), 12);
  }
}

/* ADD, and SH1ADD to SH3ADD and ADD.UW of the extension Zba. */
static bool adds(uint32_t word) {
  const unsigned function = field(word, 12, 3), more = field(word, 25, 7);
  return (more == 0 && function == 0) || (more == 0x10 && function % 2 == 0 && function != 0) ||
         (more == 0x04 && function == 0);
}

static struct fields read_long(uint32_t word) {
  struct fields fields = {.operation = (enum operation)field(word, 2, 5),
                          .function = (uint8_t)field(word, 12, 3),
                          .to = (uint8_t)field(word, 7, 5),
                          .first = (uint8_t)field(word, 15, 5),
                          .second = (uint8_t)field(word, 20, 5)};
  fields.constant = constant_of(word, fields.operation);
  fields.is_sum = adds(word);
  fields.is_subtract = field(word, 25, 7) == 0x20 && fields.function == 0;
  fields.is_vector = fields.function == 0 || fields.function > 4;
  return fields;
}

/* ---- Short instructions ---- */

static uint8_t short_register(uint32_t half, unsigned low) {
  return (uint8_t)(8 + field(half, low, 3));
}

static struct fields memory(enum operation operation, unsigned function, unsigned value,
                            unsigned from, uint32_t distance) {
  struct fields fields = {.operation = operation,
                          .function = (uint8_t)function,
                          .first = (uint8_t)from,
                          .constant = distance};
  *(operation == LOAD || operation == LOAD_FP ? &fields.to : &fields.second) = (uint8_t)value;
  return fields;
}

enum { WORD = 2, DOUBLE = 3 };

/* Loads and stores, and the address of what is on the stack. */
static struct fields read_short_0(uint32_t half) {
  const uint8_t value = short_register(half, 2), from = short_register(half, 7);
  const uint32_t word = bits(half, 10, 3, 3) | bits(half, 6, 1, 2) | bits(half, 5, 1, 6);
  const uint32_t twice = bits(half, 10, 3, 3) | bits(half, 5, 2, 6);
  const uint32_t place =
      bits(half, 11, 2, 4) | bits(half, 7, 4, 6) | bits(half, 6, 1, 2) | bits(half, 5, 1, 3);
  switch (field(half, 13, 3)) {
  case 0:
    return (struct fields){.operation = place == 0 ? INVALID : ADD_CONSTANT,
                           .to = value,
                           .first = SP,
                           .constant = place};
  case 1:
    return memory(LOAD_FP, DOUBLE, value, from, twice);
  case 2:
    return memory(LOAD, WORD, value, from, word);
  case 3:
    return memory(LOAD, DOUBLE, value, from, twice);
  case 4: /* bytes and half words (Zcb) */
    if (field(half, 10, 3) > 3)
      return (struct fields){.operation = INVALID};
    return memory(field(half, 11, 1) == 0 ? LOAD : STORE, field(half, 10, 1), value, from,
                  field(half, 10, 1) != 0 ? bits(half, 5, 1, 1)
                                          : bits(half, 5, 1, 1) | field(half, 6, 1));
  case 5:
    return memory(STORE_FP, DOUBLE, value, from, twice);
  case 6:
    return memory(STORE, WORD, value, from, word);
  default:
    return memory(STORE, DOUBLE, value, from, twice);
  }
}

static struct fields read_short_arithmetic(uint32_t half) {
  const uint8_t to = short_register(half, 7);
  struct fields fields = {.operation = REGISTERS, .to = to, .first = to};
  if (field(half, 10, 2) != 3) { /* shifts, and with a constant */
    fields.operation = ADD_CONSTANT;
    fields.function = 7;
    return fields;
  }
  fields.second = short_register(half, 2);
  if (field(half, 12, 1) != 0 && field(half, 5, 2) < 2)
    fields.operation = REGISTERS_WORD;
  if (field(half, 12, 1) != 0 && field(half, 5, 2) == 3) /* of one register (Zcb) */
    fields.second = ZERO;
  return fields;
}

static struct fields read_short_1(uint32_t half) {
  const uint8_t to = (uint8_t)field(half, 7, 5);
  const int64_t constant = extended(bits(half, 12, 1, 5) | field(half, 2, 5), 6);
  const int64_t near = extended(bits(half, 12, 1, 8) | bits(half, 10, 2, 3) | bits(half, 5, 2, 6) |
                                    bits(half, 3, 2, 1) | bits(half, 2, 1, 5),
                                9);
  switch (field(half, 13, 3)) {
  case 0:
    return (struct fields){
        .operation = to == 0 ? NOTHING : ADD_CONSTANT, .to = to, .first = to, .constant = constant};
  case 1:
    return (struct fields){
        .operation = ADD_CONSTANT_WORD, .to = to, .first = to, .constant = constant};
  case 2:
    return (struct fields){.operation = ADD_CONSTANT, .to = to, .constant = constant};
  case 3:
    if (to == SP)
      return (struct fields){.operation = ADD_CONSTANT,
                             .to = SP,
                             .first = SP,
                             .constant = extended(bits(half, 12, 1, 9) | bits(half, 6, 1, 4) |
                                                      bits(half, 5, 1, 6) | bits(half, 3, 2, 7) |
                                                      bits(half, 2, 1, 5),
                                                  10)};
    return (struct fields){
        .operation = constant == 0 ? NOTHING : LUI, .to = to, .constant = constant * 4096};
  case 4:
    return read_short_arithmetic(half);
  case 5:
    return (struct fields){.operation = JUMP,
                           .constant = extended(bits(half, 12, 1, 11) | bits(half, 11, 1, 4) |
                                                    bits(half, 9, 2, 8) | bits(half, 8, 1, 10) |
                                                    bits(half, 7, 1, 6) | bits(half, 6, 1, 7) |
                                                    bits(half, 3, 3, 1) | bits(half, 2, 1, 5),
                                                12)};
  default:
    return (struct fields){.operation = BRANCH, .first = short_register(half, 7), .constant = near};
  }
}

static struct fields read_short_2(uint32_t half) {
  const uint8_t to = (uint8_t)field(half, 7, 5), second = (uint8_t)field(half, 2, 5);
  const uint32_t load_word = bits(half, 12, 1, 5) | bits(half, 4, 3, 2) | bits(half, 2, 2, 6);
  const uint32_t load_twice = bits(half, 12, 1, 5) | bits(half, 5, 2, 3) | bits(half, 2, 3, 6);
  const uint32_t store_word = bits(half, 9, 4, 2) | bits(half, 7, 2, 6);
  const uint32_t store_twice = bits(half, 10, 3, 3) | bits(half, 7, 3, 6);
  switch (field(half, 13, 3)) {
  case 0:
    return (struct fields){.operation = ADD_CONSTANT, .function = 1, .to = to, .first = to};
  case 1:
    return memory(LOAD_FP, DOUBLE, to, SP, load_twice);
  case 2:
    return memory(LOAD, WORD, to, SP, load_word);
  case 3:
    return memory(LOAD, DOUBLE, to, SP, load_twice);
  case 4:
    if (second != 0) /* moves and additions */
      return (struct fields){.operation = REGISTERS,
                             .is_sum = true,
                             .to = to,
                             .first = field(half, 12, 1) != 0 ? to : ZERO,
                             .second = second};
    if (to == 0) /* EBREAK; no instruction */
      return (struct fields){.operation = field(half, 12, 1) != 0 ? SYSTEM : INVALID,
                             .constant = 1};
    return (struct fields){
        .operation = JUMP_REGISTER, .to = field(half, 12, 1) != 0 ? RA : ZERO, .first = to};
  case 5:
    return memory(STORE_FP, DOUBLE, second, SP, store_twice);
  case 6:
    return memory(STORE, WORD, second, SP, store_word);
  default:
    return memory(STORE, DOUBLE, second, SP, store_twice);
  }
}

/* The instruction at bytes[0..size); its length, or 0 if it is none. */
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
  *fields = (half & 3) == 0   ? read_short_0(half)
            : (half & 3) == 1 ? read_short_1(half)
                              : read_short_2(half);
  return 2;
}

/* ---- What they do ---- */

static uint32_t bit(unsigned number) { return number != ZERO ? (uint32_t)1 << number : 0; }

static void set_part(struct code_instruction *instruction, enum part_use part,
                     const struct fields *fields, int64_t distance) {
  struct code_parts *parts = &instruction->parts;
  parts->part = (uint8_t)part;
  parts->to = fields->to;
  parts->from = fields->first == ZERO ? CODE_NO_REGISTER : fields->first;
  parts->distance = (uint64_t)distance;
  parts->is_constant = fields->first == ZERO;
}

static enum code_stack_base base_of(unsigned number) {
  return number == SP ? CODE_STACK_POINTER : number == FRAME ? CODE_FRAME_POINTER : CODE_NO_BASE;
}

/* Others may write to a place. The frame pointer points right above the return address, and the caller's frame
 * pointer below that, which the same holds for. */
enum { CALLERS_FRAME = -16, FRAME_SIZE = 16 };
static void set_address(struct code_stack *stack, unsigned from, int32_t offset) {
  const bool is_frame = from == FRAME && (offset == 0 || offset == CALLERS_FRAME);
  stack->base = (uint8_t)base_of(from);
  stack->offset = is_frame ? CALLERS_FRAME : offset;
  stack->size = is_frame ? FRAME_SIZE : 1;
  stack->is_read = false;
  stack->is_address = true;
}

/* A register plus a constant, or the same as another one. */
static void set_addition(struct code_instruction *instruction, const struct fields *fields) {
  struct code_stack *stack = &instruction->stack;
  const unsigned to = fields->to, from = fields->first;
  if (to == SP && from == SP) {
    stack->growth = -(int32_t)fields->constant;
  } else if (to == SP && from != FRAME) {
    stack->growth = CODE_STACK_LOST;
  } else if ((to == SP || to == FRAME) && to != from && base_of(from) != CODE_NO_BASE) {
    stack->copy = (uint8_t)base_of(from);
    stack->copy_offset = (int32_t)fields->constant;
  } else if (to != FRAME && base_of(from) != CODE_NO_BASE) {
    set_address(stack, from, (int32_t)fields->constant);
  }
}

static void decode_registers(struct code_instruction *instruction, const struct fields *fields) {
  const bool is_sum = fields->is_sum && fields->operation == REGISTERS;
  const struct fields copy = {.to = fields->to,
                              .first = fields->first == ZERO ? fields->second : fields->first};
  if (is_sum && (fields->first == ZERO || fields->second == ZERO)) {
    set_addition(instruction, &copy);
    return;
  }
  instruction->is_sum = is_sum;
  if (fields->to != SP)
    return;
  instruction->stack.growth = CODE_STACK_LOST; /* unless the other register's value is known */
  if (fields->first == SP && (is_sum || fields->is_subtract))
    set_part(instruction, is_sum ? CODE_ADD : CODE_SUBTRACT,
             &(struct fields){.to = SP, .first = fields->second}, 0);
  else if (fields->second == SP && is_sum)
    set_part(instruction, CODE_ADD, &(struct fields){.to = SP, .first = fields->first}, 0);
}

static void decode_memory(struct code_instruction *instruction, const struct fields *fields) {
  const bool is_load = fields->operation == LOAD || fields->operation == LOAD_FP;
  const bool is_general = fields->operation == LOAD || fields->operation == STORE;
  const bool is_whole = is_general && fields->function == DOUBLE;
  const unsigned value = is_load ? fields->to : fields->second;
  struct code_stack *stack = &instruction->stack;
  struct code_parts *parts = &instruction->parts;
  parts->reads = bit(fields->first) | (is_general && !is_load ? bit(value) : 0);
  parts->writes = is_general && is_load ? bit(value) : 0;
  if (!is_general && fields->is_vector) {
    parts->reads |= bit(fields->second); /* a distance */
    return;
  }
  if (is_load && is_whole && fields->first == FRAME && fields->constant == CALLERS_FRAME &&
      value != FRAME) {
    set_address(stack, FRAME, CALLERS_FRAME);
  } else if (base_of(fields->first) != CODE_NO_BASE) {
    stack->base = (uint8_t)base_of(fields->first);
    stack->offset = (int32_t)fields->constant;
    stack->size = 1 << (fields->function & 3);
    stack->is_read = is_load;
  }
  if (fields->first != SP && (is_load || value != fields->first))
    set_part(instruction, is_load && is_whole ? CODE_LOAD : CODE_ACCESS, fields, fields->constant);
  if (value != RA || !is_whole || stack->base == CODE_NO_BASE)
    return;
  stack->link = is_load ? CODE_LINK_LOADED : CODE_LINK_SAVED;
  stack->link_offset = stack->offset;
}

static bool is_link(unsigned number) { return number == RA || number == T0; }

/* A call leaves its return address in ra or t0; stubs of the linkage table have another register. */
static void decode_jump_register(struct code_instruction *instruction,
                                 const struct fields *fields) {
  struct code_parts *parts = &instruction->parts;
  if (fields->to == ZERO && fields->first == RA && fields->constant == 0) {
    instruction->kind = CODE_RETURN;
    return;
  }
  instruction->kind = is_link(fields->to) ? CODE_CALL : CODE_JUMP;
  instruction->target_kind = CODE_COMPUTED;
  instruction->is_sum = true; /* it may be one */
  set_part(instruction, CODE_THROUGH, fields, fields->constant);
  parts->reads = bit(fields->first);
  parts->writes = bit(fields->to);
}

static void set_direct(struct code_instruction *instruction, enum code_kind kind, uint64_t target) {
  instruction->kind = (uint8_t)kind;
  instruction->target_kind = CODE_DIRECT;
  instruction->target = target;
}

static void decode_system(struct code_instruction *instruction, const struct fields *fields) {
  enum { EBREAK = 1 };
  if (fields->function == 0 && fields->to == ZERO && fields->constant == EBREAK)
    instruction->kind = CODE_STOP;
  instruction->parts.reads = fields->function < 4 ? bit(fields->first) : 0;
  instruction->parts.writes = bit(fields->to);
  if (fields->function == 0)
    instruction->parts.may_write = bit(10); /* a0: a system call's result */
}

static void decode_arithmetic(struct code_instruction *instruction, const struct fields *fields,
                              uint64_t address) {
  struct code_parts *parts = &instruction->parts;
  parts->writes = bit(fields->to);
  switch (fields->operation) {
  case AUIPC:
  case LUI:
    set_part(instruction, CODE_UPPER, fields,
             (int64_t)((fields->operation == AUIPC ? address : 0) + (uint64_t)fields->constant));
    parts->from = CODE_NO_REGISTER;
    parts->is_constant = fields->operation == LUI;
    break;
  case ADD_CONSTANT:
  case ADD_CONSTANT_WORD:
    parts->reads = bit(fields->first);
    if (fields->function == 0 && fields->to != ZERO) {
      set_addition(instruction, fields);
      if (fields->to != SP && fields->first != SP)
        set_part(instruction, CODE_LOWER, fields, fields->constant);
      parts->is_constant |= fields->operation == ADD_CONSTANT_WORD;
    } else if (fields->to == SP) {
      instruction->stack.growth = CODE_STACK_LOST;
    }
    if (fields->operation == ADD_CONSTANT && fields->function == 0 && fields->to == ZERO)
      instruction->kind = CODE_PADDING;
    break;
  default:
    parts->reads = bit(fields->first) | bit(fields->second);
    decode_registers(instruction, fields);
    break;
  }
}

static void decode_fields(struct code_instruction *instruction, const struct fields *fields,
                          uint64_t address) {
  struct code_parts *parts = &instruction->parts;
  const uint64_t target = address + (uint64_t)fields->constant;
  switch (fields->operation) {
  case LOAD:
  case LOAD_FP:
  case STORE:
  case STORE_FP:
    decode_memory(instruction, fields);
    break;
  case AUIPC:
  case LUI:
  case ADD_CONSTANT:
  case ADD_CONSTANT_WORD:
  case REGISTERS:
  case REGISTERS_WORD:
    decode_arithmetic(instruction, fields, address);
    break;
  case BRANCH:
    set_direct(instruction, CODE_BRANCH, target);
    parts->reads = bit(fields->first) | bit(fields->second);
    break;
  case JUMP:
    set_direct(instruction, is_link(fields->to) ? CODE_CALL : CODE_JUMP, target);
    parts->writes = bit(fields->to);
    break;
  case JUMP_REGISTER:
    decode_jump_register(instruction, fields);
    break;
  case SYSTEM:
    decode_system(instruction, fields);
    break;
  case ATOMIC:
    parts->reads = bit(fields->first) | bit(fields->second);
    parts->writes = bit(fields->to);
    break;
  case FLOAT: /* comparisons and conversions have a general register */
  case VECTOR:
    parts->reads = bit(fields->first) | (fields->operation == VECTOR ? bit(fields->second) : 0);
    parts->may_write = bit(fields->to);
    break;
  case FENCE:
  case MULTIPLY_0:
  case MULTIPLY_1:
  case MULTIPLY_2:
  case MULTIPLY_3:
    break;
  case NOTHING:
    instruction->kind = CODE_PADDING;
    break;
  default:
    instruction->kind = CODE_INVALID;
  }
}

static void set_frame_and_link(struct code_instruction *instruction) {
  const struct code_parts *parts = &instruction->parts;
  struct code_stack *stack = &instruction->stack;
  const uint32_t written = parts->writes | parts->may_write;
  stack->loses_frame = (written & bit(FRAME)) != 0 && stack->copy != CODE_STACK_POINTER;
  if ((written & bit(SP)) != 0 && stack->growth == 0 && stack->copy == CODE_NO_BASE &&
      parts->part != CODE_ADD && parts->part != CODE_SUBTRACT)
    stack->growth = CODE_STACK_LOST;
  stack->reads_link |= (parts->reads & bit(RA)) != 0 && stack->link != CODE_LINK_SAVED;
  if (instruction->kind == CODE_CALL && (written & bit(RA)) != 0)
    stack->link = CODE_LINK_CALLED;
  else if ((written & bit(RA)) != 0 && stack->link == CODE_LINK_KEPT)
    stack->link = CODE_LINK_CHANGED;
}

static void decode(const struct code_decoder *decoder, const uint8_t *bytes, size_t size,
                   uint64_t address, struct code_instruction *instruction) {
  struct fields fields;
  (void)decoder;
  *instruction = (struct code_instruction){.length = 1, .kind = CODE_INVALID};
  const unsigned length = read_fields(bytes, size, &fields);
  if (length == 0)
    return;
  instruction->length = (uint8_t)length;
  instruction->kind = CODE_OTHER;
  if (length == 2 && bytes[0] == 0 && bytes[1] == 0) { /* no instruction, for good */
    instruction->kind = CODE_STOP;
    return;
  }
  decode_fields(instruction, &fields, address);
  if (instruction->kind == CODE_INVALID)
    *instruction = (struct code_instruction){.length = (uint8_t)length, .kind = CODE_INVALID};
  else
    set_frame_and_link(instruction);
}

/* ---- Following values ---- */

static const struct code_value unknown = {.kind = CODE_UNKNOWN};

static struct code_value address_value(uint64_t address) {
  return (struct code_value){.kind = CODE_ADDRESS, .table = address};
}

static struct code_value sum_of(struct code_value a, struct code_value b) {
  const struct code_value *address = a.kind == CODE_ADDRESS ? &a : &b;
  const struct code_value *entry = a.kind == CODE_ADDRESS ? &b : &a;
  if (address->kind != CODE_ADDRESS)
    return unknown;
  if (entry->kind == CODE_ENTRY && entry->size < 8)
    return (struct code_value){.kind = CODE_TARGET,
                               .table = entry->table,
                               .base = address->table,
                               .size = entry->size,
                               .is_unsigned = entry->is_unsigned};
  return (struct code_value){.kind = CODE_SUM, .table = address->table};
}

/* A load from a sum: the rest of the table's address may be in the load. */
static struct code_value loaded_value(struct code_value from, const struct fields *fields) {
  if (from.kind != CODE_SUM)
    return unknown;
  return (struct code_value){.kind = CODE_ENTRY,
                             .table = from.table + (uint64_t)fields->constant,
                             .size = (uint8_t)(1 << (fields->function & 3)),
                             .is_unsigned = fields->function >= 4};
}

static struct code_value result_of(const struct fields *fields, uint64_t address,
                                   const struct code_state *state) {
  const struct code_value zero = address_value(0);
  const struct code_value first = fields->first == ZERO ? zero : state->registers[fields->first];
  const struct code_value second = fields->second == ZERO ? zero : state->registers[fields->second];
  switch (fields->operation) {
  case AUIPC:
    return address_value(address + (uint64_t)fields->constant);
  case LUI:
    return address_value((uint64_t)fields->constant);
  case LOAD:
    return loaded_value(first, fields);
  case ADD_CONSTANT_WORD: /* extends the sign of a word */
    if (fields->function == 0 && fields->constant == 0 && first.kind == CODE_ENTRY)
      return first;
    return fields->function == 0 && first.kind == CODE_ADDRESS
               ? address_value(
                     (uint64_t)(int64_t)(int32_t)(first.table + (uint64_t)fields->constant))
               : unknown;
  case ADD_CONSTANT:
    if (fields->function == 0 && first.kind == CODE_ADDRESS)
      return address_value(first.table + (uint64_t)fields->constant);
    return fields->function == 0 && fields->constant == 0 ? first : unknown;
  case REGISTERS:
    if (!fields->is_sum)
      return unknown;
    if (fields->first == ZERO)
      return second;
    return fields->second == ZERO ? first : sum_of(first, second);
  default:
    return unknown;
  }
}

/* sp, gp, tp and s0 to s11 are as before (RISC-V Calling Conventions, "Integer Register Convention"). */
enum { CALL_CLOBBERS = (int)0xf003fce2 };

static void follow(const struct code_decoder *decoder, const uint8_t *bytes, size_t size,
                   uint64_t address, struct code_state *state, struct code_value *jump) {
  struct code_instruction instruction;
  struct fields fields;
  *jump = unknown;
  decode(decoder, bytes, size, address, &instruction);
  if (instruction.kind == CODE_INVALID || read_fields(bytes, size, &fields) == 0) {
    *state = (struct code_state){0};
    return;
  }
  if (instruction.parts.part == CODE_THROUGH && fields.constant == 0 && fields.first != ZERO)
    *jump = state->registers[fields.first];
  const struct code_value result = result_of(&fields, address, state);
  uint32_t lost = instruction.parts.writes | instruction.parts.may_write;
  if (instruction.kind == CODE_CALL)
    lost |= (uint32_t)CALL_CLOBBERS;
  for (; lost != 0; lost &= lost - 1)
    state->registers[__builtin_ctz(lost)] = unknown;
  if (result.kind == CODE_SUM)
    state->summed = result.table;
  if (result.kind != CODE_UNKNOWN && fields.to != ZERO && instruction.kind == CODE_OTHER)
    state->registers[fields.to] = result;
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

/* Of the types that a linked file may have (RISC-V ELF psABI, "Relocations"). */
static enum code_relocation meaning_of(uint64_t type) {
  switch (type) {
  case R_RISCV_RELATIVE:
    return CODE_RELOCATION_ADDRESS;
  case R_RISCV_IRELATIVE:
    return CODE_RELOCATION_RESOLVER;
  case R_RISCV_JUMP_SLOT:
    return CODE_RELOCATION_CALL;
  case R_RISCV_64:
  case R_RISCV_32:
    return CODE_RELOCATION_SYMBOL;
  default:
    return CODE_RELOCATION_NONE;
  }
}

const struct code_architecture code_riscv64 = {
    .machine = EM_RISCV,
    .register_count = 32,
    .has_link = true,
    .lowest = -2048,
    .highest = 2047,
    .global_register = GP,
    .sets_global = sets_global,
    .stack_register = SP,
    .entry_offset = 0,
    .meaning = meaning_of,
    .arguments = arguments,
    .open = open_decoder,
    .close = close_decoder,
    .decode = decode,
    .follow = follow,
};
