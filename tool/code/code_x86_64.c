/* code_x86_64.c - x86-64 for the call graph, by the disassembler library Zydis.
 *
 * x86-64 code names an address in four ways: as a distance from the next instruction (calls, jumps,
 * and operands in memory, whose address `lea` takes); as a 32-bit constant, where the program is
 * below 2 or 4 GB at a fixed address; as a 64-bit constant; and, in the large code model, as a
 * 64-bit distance from the global offset table. Any constant wide enough is reported, as an address
 * and a number look the same. (AMD64 psABI, 3.5, "Coding Examples")
 *
 * A call through a pointer is sometimes hidden from the processor's branch predictor in a return: a
 * "retpoline" writes the target over its own return address and returns to it; others push it. So
 * each instruction's effects on the stack are reported: the moves of rsp, and of rbp where one is
 * made of the other, and the words near them that are used.
 */
#include "tool/code/code_stack.h"

#include <Zydis/Zydis.h>
#include <assert.h>
#include <elf.h>

/* ---- Operands ---- */

enum {
  NONE = -1,
  RAX = 0,
  RCX = 1,
  RBX = 3,
  RSP = 4,
  RBP = 5,
  RSI = 6,
  RDI = 7,
  R12 = 12,
  REGISTERS = 16,
  WORD = 8
};

/* A decoded instruction. Its visible operands are first; each says whether the instruction reads or
 * writes it. Sets of registers have a bit for each. */
struct operation {
  ZydisDecoder decoder;
  ZydisDecoderContext context;
  ZydisDecodedInstruction raw;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
  const ZydisDecodedOperand *memory; /* the visible one in memory, or NULL */
  int base, index;                   /* its registers, or NONE */
  int near; /* the register that it is at a constant distance from: that may be an index alone */
  int32_t distance;         /* from its registers */
  uint32_t named, address;  /* the visible registers; those of addresses */
  uint32_t read, only_read; /* of the named ones */
  uint32_t written; /* named or not, whole or in part; besides rsp where it pushes or pops */
  bool may_store;   /* something in memory, besides what it pushes */
};

/* The number of the general register that a register is, or is a part of. Most are whole, or lower
 * halves: these are in order. */
static int number_of(ZydisRegister name) {
  if (name >= ZYDIS_REGISTER_RAX && name <= ZYDIS_REGISTER_R15)
    return (int)(name - ZYDIS_REGISTER_RAX);
  if (name >= ZYDIS_REGISTER_EAX && name <= ZYDIS_REGISTER_R15D)
    return (int)(name - ZYDIS_REGISTER_EAX);
  if (name == ZYDIS_REGISTER_NONE)
    return NONE;
  const ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, name);
  return ZydisRegisterGetClass(whole) == ZYDIS_REGCLASS_GPR64 ? ZydisRegisterGetId(whole) : NONE;
}

/* The same of an operand, unless it is in memory, or a constant. */
static int register_of(const ZydisDecodedOperand *operand) {
  return operand->type == ZYDIS_OPERAND_TYPE_REGISTER ? number_of(operand->reg.value) : NONE;
}

static uint32_t bit(int number) {
  assert(number == NONE || (0 <= number && number < REGISTERS));
  return number < 0 ? 0 : (uint32_t)1 << number;
}

static bool is_read(const ZydisDecodedOperand *operand) {
  return (operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
}

static bool is_written(const ZydisDecodedOperand *operand) {
  return (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
}

static bool decode_operation(struct operation *operation, const uint8_t *bytes, size_t size) {
  ZydisDecoderInit(&operation->decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  return ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&operation->decoder, &operation->context, bytes,
                                                    size, &operation->raw));
}

/* Zydis leaves out that some string instructions move their pointers: `cmps`, `scas`, `ins`,
 * `outs`. */
static void add_hidden(struct operation *operation, const ZydisDecodedOperand *operand) {
  if (is_written(operand))
    operation->written |= bit(register_of(operand)) & ~bit(RSP);
  if (operand->type != ZYDIS_OPERAND_TYPE_MEMORY)
    return;
  operation->written |= bit(number_of(operand->mem.base)) & (bit(RSI) | bit(RDI));
  operation->may_store |= is_written(operand) && operand->mem.base != ZYDIS_REGISTER_RSP;
}

static void add_visible(struct operation *operation, const ZydisDecodedOperand *operand) {
  const uint32_t named = bit(register_of(operand));
  operation->named |= named;
  operation->read |= is_read(operand) ? named : 0;
  operation->only_read |= is_read(operand) && !is_written(operand) ? named : 0;
  operation->written |= is_written(operand) ? named : 0;
  if (operand->type != ZYDIS_OPERAND_TYPE_MEMORY)
    return;
  operation->memory = operand;
  operation->base = number_of(operand->mem.base);
  operation->index = number_of(operand->mem.index);
  if (operand->mem.index == ZYDIS_REGISTER_NONE)
    operation->near = operation->base;
  else if (operand->mem.base == ZYDIS_REGISTER_NONE && operand->mem.scale == 1)
    operation->near = operation->index;
  operation->distance = (int32_t)operand->mem.disp.value;
  operation->address = bit(operation->base) | bit(operation->index);
  operation->may_store |= is_written(operand);
}

/* The second half: nearly all calls and jumps do without. */
static bool decode_operands(struct operation *operation) {
  ZydisDecodedOperand *operands = operation->operands;
  const unsigned visible = operation->raw.operand_count_visible;
  operands[0].type = operands[1].type = ZYDIS_OPERAND_TYPE_UNUSED;
  operation->memory = NULL;
  operation->base = operation->index = operation->near = NONE;
  operation->distance = 0;
  operation->named = operation->address = 0;
  operation->read = operation->only_read = operation->written = 0;
  operation->may_store = false;
  if (ZYAN_FAILED(ZydisDecoderDecodeOperands(&operation->decoder, &operation->context,
                                             &operation->raw, operands,
                                             operation->raw.operand_count)))
    return false;
  for (unsigned i = 0; i < operation->raw.operand_count; i++)
    (i < visible ? add_visible : add_hidden)(operation, &operands[i]);
  return true;
}

static bool is_relative(const struct operation *operation) {
  return operation->memory != NULL && (operation->memory->mem.base == ZYDIS_REGISTER_RIP ||
                                       operation->memory->mem.base == ZYDIS_REGISTER_EIP);
}

static bool has_constant(const struct operation *operation) {
  return operation->raw.raw.imm[0].size > 0;
}

/* ---- Kinds and targets ---- */

/* An operand in memory at a fixed address: relative to the next instruction, or a 32-bit constant
 * alone. */
static bool fixed_operand(const struct operation *operation, uint64_t next, uint64_t *address) {
  const ZydisDecodedOperand *memory = operation->memory;
  if (memory == NULL || operation->address != 0 || memory->mem.index != ZYDIS_REGISTER_NONE ||
      (operation->raw.attributes & ZYDIS_ATTRIB_HAS_SEGMENT) != 0)
    return false;
  *address = (is_relative(operation) ? next : 0) + (uint64_t)memory->mem.disp.value;
  return true;
}

static enum code_kind kind_of(const ZydisDecodedInstruction *raw) {
  /* Without a transaction, `xabort` does nothing; with one, xbegin has the way. */
  if (raw->mnemonic == ZYDIS_MNEMONIC_XABORT || raw->mnemonic == ZYDIS_MNEMONIC_XEND)
    return CODE_OTHER;
  switch (raw->meta.category) {
  case ZYDIS_CATEGORY_CALL:
    return CODE_CALL;
  case ZYDIS_CATEGORY_UNCOND_BR:
    return CODE_JUMP;
  case ZYDIS_CATEGORY_COND_BR:
    return CODE_BRANCH;
  case ZYDIS_CATEGORY_RET:
    return CODE_RETURN;
  case ZYDIS_CATEGORY_NOP:
  case ZYDIS_CATEGORY_WIDENOP:
    return CODE_PADDING;
  default:
    break;
  }
  switch (raw->mnemonic) {
  case ZYDIS_MNEMONIC_XBEGIN: /* goes to its operand when the transaction fails */
    return CODE_BRANCH;
  case ZYDIS_MNEMONIC_INT3:
  case ZYDIS_MNEMONIC_HLT:
  case ZYDIS_MNEMONIC_UD0:
  case ZYDIS_MNEMONIC_UD1:
  case ZYDIS_MNEMONIC_UD2:
    return CODE_STOP;
  case ZYDIS_MNEMONIC_NOP:
    return CODE_PADDING;
  case ZYDIS_MNEMONIC_UIRET:
    return CODE_RETURN;
  case ZYDIS_MNEMONIC_INT: /* calls of the operating system with other numbers */
  case ZYDIS_MNEMONIC_SYSENTER:
  case ZYDIS_MNEMONIC_ENTER: /* moves both pointers; compilers use shorter ways */
    return CODE_INVALID;
  default:
    return CODE_OTHER;
  }
}

/* ---- References ---- */

static void add_constant(struct code_instruction *instruction, uint64_t value) {
  if (instruction->constant_count < CODE_CONSTANTS)
    instruction->constants[instruction->constant_count++] = value;
}

static void set_references(const struct operation *operation, uint64_t next,
                           struct code_instruction *instruction) {
  const ZydisDecodedInstruction *raw = &operation->raw;
  uint64_t address;
  if (fixed_operand(operation, next, &address) && is_relative(operation)) {
    /* A comparison keeps the address to itself. */
    instruction->has_reference = raw->mnemonic != ZYDIS_MNEMONIC_CMP || raw->raw.imm[0].size == 0;
    instruction->is_access = raw->mnemonic != ZYDIS_MNEMONIC_LEA;
    instruction->reference = address;
  } else if (raw->raw.disp.size >= 32) {
    add_constant(instruction, (uint64_t)raw->raw.disp.value);
  }
  for (unsigned i = 0; i < 2; i++) {
    const uint64_t value = raw->raw.imm[i].value.u;
    if (raw->raw.imm[i].size < 32 || raw->raw.imm[i].is_relative)
      continue;
    /* Some instructions sign-extend a constant of 32 bits to 64, others zero-extend it. */
    const bool is_short = raw->raw.imm[i].size == 32 && raw->operand_width < 64;
    add_constant(instruction, is_short ? (uint32_t)value : value);
    instruction->is_wide = raw->raw.imm[i].size == 64;
  }
}

/* ---- The stack ---- */

static void set_memory(struct code_stack *stack, int base, int32_t offset, int32_t size,
                       bool is_read) {
  stack_set_memory(&code_x86_64, stack, (unsigned)base, offset, size, is_read);
}

static void set_saved(struct code_stack *stack, int number, bool is_load) {
  if (number != NONE)
    stack_set_saved(&code_x86_64, stack, (unsigned)number, 0, is_load);
}

/* The operand in memory is read, and its value's further way is unseen: a caller's frame pointer
 * points to the return address. */
static void set_read(const struct operation *operation, struct code_stack *stack, int32_t size) {
  if (operation->near == RBP && operation->distance == 0)
    stack_set_address(&code_x86_64, stack, RBP, 0);
  else
    set_memory(stack, operation->near, operation->distance, size, true);
}

/* A word is pushed: the stack pointer is lower afterwards. (2 GB above it, there is no word that is
 * followed.) */
static void set_push(const struct operation *operation, struct code_stack *stack, int from) {
  const int base = operation->near;
  const int32_t offset = operation->distance;
  stack->growth = WORD;
  set_memory(stack, RSP, 0, WORD, false);
  set_saved(stack, from, false);
  if (offset <= INT32_MAX - WORD && (base != RBP || offset != 0))
    set_memory(stack, base, base == RSP ? offset + WORD : offset, WORD, true);
}

static void set_move(const struct operation *operation, struct code_stack *stack, int to,
                     int from) {
  const ZydisDecodedInstruction *raw = &operation->raw;
  const bool is_load = operation->memory == &operation->operands[1];
  const bool is_word = raw->operand_width == 64;
  if (operation->memory == NULL && is_word && from != NONE)
    stack_set_sum(&code_x86_64, stack, (unsigned)to, (unsigned)from, 0);
  if (is_load && to != RBP)
    set_read(operation, stack, raw->operand_width / 8);
  else
    set_memory(stack, operation->near, operation->distance, raw->operand_width / 8, is_load);
  /* Memory of a segment is elsewhere. */
  if (operation->memory != NULL && is_word && !stack->is_address &&
      (raw->attributes & ZYDIS_ATTRIB_HAS_SEGMENT) == 0)
    set_saved(stack, is_load ? to : from, is_load);
}

/* The size of an operand in memory. Zydis has the smallest one of a processor's state. */
static int32_t size_of(const ZydisDecodedInstruction *raw, const ZydisDecodedOperand *operand) {
  const bool is_state =
      raw->meta.category == ZYDIS_CATEGORY_XSAVE || raw->meta.category == ZYDIS_CATEGORY_XSAVEOPT;
  return is_state ? INT32_MAX : operand->size / 8;
}

/* A store at a computed distance may be anywhere in the object at its constant part; `lea` makes
 * the address of one. */
static void set_indexed(const struct operation *operation, struct code_stack *stack) {
  const ZydisDecodedOperand *memory = operation->memory;
  const bool is_address = operation->raw.mnemonic == ZYDIS_MNEMONIC_LEA;
  if (memory == NULL || memory->mem.index == ZYDIS_REGISTER_NONE ||
      (!is_address && !is_written(memory)) || stack->base != CODE_NO_BASE)
    return;
  set_memory(stack, operation->base, operation->distance, 1, false);
  stack->is_address = stack->base != CODE_NO_BASE;
}

static bool is_base(int number) { return number == RSP || number == RBP; }

/* Whether an instruction moves the stack pointer by less than a word, or sets only a part of it or
 * of the frame pointer. */
static bool moves_by_less(const struct operation *operation) {
  const bool is_narrow = operation->raw.operand_width < 64;
  const int to = register_of(&operation->operands[0]);
  switch (operation->raw.mnemonic) {
  case ZYDIS_MNEMONIC_PUSH:
  case ZYDIS_MNEMONIC_POP:
  case ZYDIS_MNEMONIC_LEAVE:
  case ZYDIS_MNEMONIC_PUSHF:
  case ZYDIS_MNEMONIC_POPF:
    return is_narrow;
  case ZYDIS_MNEMONIC_LEA: /* a value other than an address on the stack may be a number in rbp */
    return is_narrow && (to == RSP || (to == RBP && is_base(operation->near)));
  default:
    return false;
  }
}

/* The stack pointer is lost if it is `written`, besides the cases that know its value. */
static void set_stack(const struct operation *operation, uint32_t written,
                      struct code_stack *stack) {
  const ZydisDecodedInstruction *raw = &operation->raw;
  const int32_t constant = (int32_t)raw->raw.imm[0].value.s, distance = operation->distance;
  const int to = register_of(&operation->operands[0]), from = register_of(&operation->operands[1]);
  const int base = operation->near;
  stack->growth = (written & bit(RSP)) != 0 ? CODE_STACK_LOST : 0;
  if (moves_by_less(operation))
    return;
  switch (raw->mnemonic) {
  case ZYDIS_MNEMONIC_PUSH:
  case ZYDIS_MNEMONIC_PUSHFQ:
    set_push(operation, stack, raw->mnemonic == ZYDIS_MNEMONIC_PUSH ? to : NONE);
    return;
  case ZYDIS_MNEMONIC_POP:
  case ZYDIS_MNEMONIC_POPFQ:
    set_memory(stack, RSP, stack->growth == 0 ? -WORD : 0, WORD, true);
    stack->growth = stack->growth == 0 ? -WORD : CODE_STACK_LOST;
    if (operation->memory != NULL)
      set_memory(stack, base, distance, WORD, false);
    else if (raw->mnemonic == ZYDIS_MNEMONIC_POP)
      set_saved(stack, to, true);
    return;
  case ZYDIS_MNEMONIC_LEAVE:
    stack_set_sum(&code_x86_64, stack, RSP, RBP, WORD);
    set_memory(stack, RSP, -WORD, WORD, true);
    set_saved(stack, RBP, true);
    return;
  case ZYDIS_MNEMONIC_LEA:
    stack_set_sum(&code_x86_64, stack, (unsigned)to, (unsigned)base, distance);
    return;
  case ZYDIS_MNEMONIC_MOV:
    set_move(operation, stack, to, from);
    return;
  case ZYDIS_MNEMONIC_SUB:
  case ZYDIS_MNEMONIC_ADD:
  case ZYDIS_MNEMONIC_OR:
    if (has_constant(operation) && to == RSP && raw->operand_width == 64 &&
        raw->mnemonic != ZYDIS_MNEMONIC_OR && constant != INT32_MIN)
      stack->growth = raw->mnemonic == ZYDIS_MNEMONIC_SUB ? constant : -constant;
    if (has_constant(operation) && constant == 0)
      return; /* with `lock`, a barrier */
    break;
  case ZYDIS_MNEMONIC_MOVDIR64B: /* they store 64 bytes at the address in the register */
  case ZYDIS_MNEMONIC_ENQCMD:
  case ZYDIS_MNEMONIC_ENQCMDS:
    set_memory(stack, to, 0, 64, false);
    return;
  default:
    break;
  }
  if (operation->memory != NULL)
    set_memory(stack, base, distance, size_of(raw, operation->memory),
               !is_written(operation->memory));
}

/* Whether an instruction's result is independent of its register. */
static bool clears(const struct operation *operation) {
  const ZydisDecodedInstruction *raw = &operation->raw;
  return (raw->mnemonic == ZYDIS_MNEMONIC_XOR || raw->mnemonic == ZYDIS_MNEMONIC_SUB ||
          raw->mnemonic == ZYDIS_MNEMONIC_SBB) &&
         register_of(&operation->operands[0]) != NONE &&
         register_of(&operation->operands[0]) == register_of(&operation->operands[1]) &&
         raw->operand_width >= 32;
}

/* The registers that an instruction reads to put them into memory, or to make another value of
 * them. A sum is at a computed distance, and moves between registers are set_move's. */
static uint32_t handed_by(const struct operation *operation) {
  const ZydisDecodedInstruction *raw = &operation->raw;
  if ((operation->named & (bit(RSP) | bit(RBP))) == 0 || clears(operation))
    return 0;
  if (raw->mnemonic == ZYDIS_MNEMONIC_MOV)
    return operation->memory == operation->operands && raw->operand_width == 64 ? operation->named
                                                                                : 0;
  if (raw->mnemonic == ZYDIS_MNEMONIC_LEA || raw->mnemonic == ZYDIS_MNEMONIC_ADD ||
      raw->mnemonic == ZYDIS_MNEMONIC_CMP || raw->mnemonic == ZYDIS_MNEMONIC_TEST ||
      raw->mnemonic == ZYDIS_MNEMONIC_POP)
    return 0;
  return raw->mnemonic == ZYDIS_MNEMONIC_XCHG ? operation->read : operation->only_read;
}

/* There may be another pointer to the frame then. (The caller's frame pointer is saved where the
 * own one points to.) */
static void set_handed(const struct operation *operation, struct code_stack *stack) {
  const bool is_callers = operation->near == RBP && operation->distance == 0 &&
                          is_read(operation->memory) &&
                          operation->raw.mnemonic != ZYDIS_MNEMONIC_MOV; /* see set_move */
  const uint32_t handed = handed_by(operation) | (is_callers ? bit(RBP) : 0);
  if ((handed & bit(RBP)) != 0)
    stack_hand(&code_x86_64, stack, RBP);
  else if ((handed & bit(RSP)) != 0)
    stack_hand(&code_x86_64, stack, RSP);
}

/* ---- Registers ---- */

/* Whether an operand in memory may be on the stack, at any distance. */
static bool is_on_stack(const struct operation *operation) {
  return (operation->address & (bit(RSP) | bit(RBP))) != 0;
}

/* Whether an instruction may change registers that Zydis doesn't list. */
static bool changes_any(ZydisMnemonic mnemonic) {
  return mnemonic == ZYDIS_MNEMONIC_ENCLU || mnemonic == ZYDIS_MNEMONIC_ENCLS ||
         mnemonic == ZYDIS_MNEMONIC_ENCLV || mnemonic == ZYDIS_MNEMONIC_GETSEC;
}

/* The registers that an instruction writes to. Zydis leaves out a system call's result. */
static uint32_t written_by(const struct operation *operation) {
  const ZydisMnemonic mnemonic = operation->raw.mnemonic;
  return operation->written | (changes_any(mnemonic) ? UINT16_MAX : 0) |
         (mnemonic == ZYDIS_MNEMONIC_SYSCALL ? bit(RAX) : 0) |
         (moves_by_less(operation) ? bit(RSP) : 0);
}

static enum value_operation operation_of(const ZydisDecodedInstruction *raw) {
  switch (raw->mnemonic) {
  case ZYDIS_MNEMONIC_MOV:
  case ZYDIS_MNEMONIC_MOVSXD:
  case ZYDIS_MNEMONIC_MOVSX:
  case ZYDIS_MNEMONIC_MOVZX:
  case ZYDIS_MNEMONIC_PUSH:
  case ZYDIS_MNEMONIC_POP:
    return VALUE_COPY;
  case ZYDIS_MNEMONIC_LEA:
    return VALUE_ADDRESS;
  case ZYDIS_MNEMONIC_ADD:
  case ZYDIS_MNEMONIC_ADC:
  case ZYDIS_MNEMONIC_XADD:
    return VALUE_SUM;
  case ZYDIS_MNEMONIC_SUB:
  case ZYDIS_MNEMONIC_INC:
  case ZYDIS_MNEMONIC_DEC:
    return VALUE_DIFFERENCE;
  default:
    return raw->meta.category == ZYDIS_CATEGORY_CMOV || raw->mnemonic == ZYDIS_MNEMONIC_XCHG
               ? VALUE_EITHER
               : VALUE_COMPUTED;
  }
}

/* The registers that an instruction makes another one of; none if the result is independent of
 * them. */
static uint32_t read_to_compute(const struct operation *operation) {
  const ZydisDecodedOperand *to = &operation->operands[0];
  return register_of(to) != NONE && is_written(to) && !clears(operation) ? operation->read : 0;
}

/* The registers that a value is made of, and the destinations of sums and copies: `writes` are
 * those that certainly change. */
static void set_registers(const struct operation *operation, enum value_operation kind,
                          uint32_t written, struct code_instruction *instruction) {
  const ZydisDecodedInstruction *raw = &operation->raw;
  const uint32_t to = bit(register_of(&operation->operands[0]));
  const bool is_push = raw->mnemonic == ZYDIS_MNEMONIC_PUSH;
  const bool is_move = raw->mnemonic == ZYDIS_MNEMONIC_MOV;
  struct code_parts *parts = &instruction->parts;
  parts->may_write = written;
  if (kind == VALUE_EITHER)
    parts->writes = written;
  else if (kind != VALUE_COMPUTED && !is_push && (!is_move || raw->operand_width >= 32))
    parts->writes = to;
  if (kind == VALUE_COMPUTED)
    parts->reads = read_to_compute(operation);
  else if (kind == VALUE_ADDRESS)
    parts->reads = operation->address;
  else if (kind != VALUE_COPY || is_push)
    parts->reads = operation->named;
  else if (is_move)
    parts->reads = bit(register_of(&operation->operands[1]));
  instruction->is_sum =
      kind == VALUE_SUM || kind == VALUE_DIFFERENCE || (kind == VALUE_ADDRESS && parts->reads != 0);
  parts->is_copy = kind == VALUE_EITHER || (is_move && parts->reads != 0 && parts->writes != 0);
  parts->is_load = is_move && operation->memory == &operation->operands[1] &&
                   raw->operand_width == 64 && !is_on_stack(operation);
}

/* ---- Values ---- */

static uint8_t operand_of(const ZydisDecodedOperand *operand) {
  switch (operand->type) {
  case ZYDIS_OPERAND_TYPE_REGISTER:
    return (uint8_t)register_of(operand); /* NONE: CODE_NO_REGISTER */
  case ZYDIS_OPERAND_TYPE_MEMORY:
    return VALUE_MEMORY;
  case ZYDIS_OPERAND_TYPE_IMMEDIATE:
    return VALUE_NUMBER;
  default:
    return CODE_NO_REGISTER;
  }
}

/* Memory of a segment is elsewhere. */
static void set_memory_operand(const struct operation *operation, struct code_values *values) {
  const ZydisDecodedOperandMem *memory = &operation->memory->mem;
  const bool is_indexed = memory->index != ZYDIS_REGISTER_NONE;
  values->place = VALUE_ELSEWHERE;
  if (values->operation != VALUE_ADDRESS &&
      (memory->segment == ZYDIS_REGISTER_FS || memory->segment == ZYDIS_REGISTER_GS))
    return;
  values->place = operation->base == NONE && !is_indexed
                      ? CODE_NO_BASE
                      : stack_place(&code_x86_64, (unsigned)operation->base, is_indexed);
  values->base = (uint8_t)operation->base;
  values->index = (uint8_t)operation->index;
  values->shift = memory->scale > 1 ? (uint8_t)__builtin_ctz(memory->scale) : 0;
}

/* The operand that an instruction's value is made of, besides the destination; or NULL. */
static const ZydisDecodedOperand *source_of(const struct operation *operation,
                                            enum value_operation kind) {
  const ZydisDecodedInstruction *raw = &operation->raw;
  if (kind == VALUE_COMPUTED || raw->mnemonic == ZYDIS_MNEMONIC_POP)
    return NULL;
  return &operation->operands[raw->operand_count_visible > 1 ? 1 : 0];
}

/* The number that an instruction moves, or adds; it may be subtracted. */
static uint64_t number_in(ZydisMnemonic mnemonic, const ZydisDecodedOperand *source) {
  return mnemonic == ZYDIS_MNEMONIC_INC   ? UINT64_MAX
         : mnemonic == ZYDIS_MNEMONIC_DEC ? 1
                                          : source->imm.value.u;
}

/* The operands' sizes. A part of a register is computed of the rest, too. */
static void set_sizes(const struct operation *operation, const ZydisDecodedOperand *source,
                      struct code_values *values) {
  const ZydisDecodedInstruction *raw = &operation->raw;
  const bool is_push = raw->mnemonic == ZYDIS_MNEMONIC_PUSH;
  const bool is_number = source == NULL || values->second == VALUE_NUMBER ||
                         values->first == VALUE_NUMBER || values->operation == VALUE_ADDRESS;
  values->size = (uint16_t)((is_push ? raw->operand_width : operation->operands[0].size) / 8);
  values->part = (uint8_t)(is_number ? values->size : source->size / 8);
  if (values->index != CODE_NO_REGISTER && values->operation == VALUE_ADDRESS)
    values->part = WORD;
  values->is_unsigned = values->part < WORD && raw->mnemonic != ZYDIS_MNEMONIC_MOVSX &&
                        raw->mnemonic != ZYDIS_MNEMONIC_MOVSXD;
  if (values->size < 4 && values->to < CODE_REGISTERS)
    values->operation = VALUE_COMPUTED;
}

static void set_values(const struct operation *operation, enum value_operation kind, uint64_t next,
                       struct code_instruction *instruction) {
  const ZydisDecodedInstruction *raw = &operation->raw;
  const ZydisDecodedOperand *source = source_of(operation, kind);
  const bool has_two = kind == VALUE_SUM || kind == VALUE_DIFFERENCE || kind == VALUE_EITHER;
  const bool is_step = raw->mnemonic == ZYDIS_MNEMONIC_INC || raw->mnemonic == ZYDIS_MNEMONIC_DEC;
  struct code_values *values = &instruction->values;
  uint8_t *from = has_two ? &values->second : &values->first;
  values->operation = (uint8_t)kind;
  if (raw->operand_count_visible > 0 && is_written(&operation->operands[0]))
    values->to = operand_of(&operation->operands[0]);
  if (has_two)
    values->first = values->to;
  if (source != NULL)
    *from = is_step ? VALUE_NUMBER : operand_of(source);
  if (values->to == VALUE_MEMORY || *from == VALUE_MEMORY) {
    set_memory_operand(operation, values);
    instruction->target =
        (is_relative(operation) ? next : 0) + (uint64_t)operation->memory->mem.disp.value;
  }
  if (*from == VALUE_NUMBER && values->to == VALUE_MEMORY)
    values->number = (int32_t)number_in(raw->mnemonic, source);
  else if (*from == VALUE_NUMBER)
    instruction->target = number_in(raw->mnemonic, source);
  if (raw->operand_count_visible > 0)
    set_sizes(operation, source, values);
  if (raw->mnemonic == ZYDIS_MNEMONIC_PUSH)
    values->to = VALUE_TOP;
  else if (raw->mnemonic == ZYDIS_MNEMONIC_POP && values->operation == VALUE_COPY)
    values->first = VALUE_TOP;
}

/* The registers that a direct jump changes: a loop's counter; the status of a transaction that
 * starts. */
static uint32_t changed_by_jump(ZydisMnemonic mnemonic) {
  const bool counts = mnemonic == ZYDIS_MNEMONIC_LOOP || mnemonic == ZYDIS_MNEMONIC_LOOPE ||
                      mnemonic == ZYDIS_MNEMONIC_LOOPNE;
  return counts ? bit(RCX) : mnemonic == ZYDIS_MNEMONIC_XBEGIN ? bit(RAX) : 0;
}

static void set_direct(const ZydisDecodedInstruction *raw, uint64_t next,
                       struct code_instruction *instruction) {
  instruction->target_kind = CODE_DIRECT;
  instruction->target = next + raw->raw.imm[0].value.u;
  instruction->is_relative = true;
  instruction->parts.may_write = changed_by_jump(raw->mnemonic);
}

/* A jump or call by a word in memory, or by a register. */
static void set_computed(const struct operation *operation, uint64_t next,
                         struct code_instruction *instruction) {
  const int by = register_of(&operation->operands[0]);
  set_values(operation, VALUE_GO, next, instruction);
  instruction->target_kind = CODE_SLOT;
  if (fixed_operand(operation, next, &instruction->target))
    return;
  instruction->target_kind = CODE_COMPUTED;
  instruction->is_sum = by != NONE;
  instruction->parts.is_load = operation->memory != NULL && !is_on_stack(operation);
  set_read(operation, &instruction->stack, WORD);
  set_references(operation, next, instruction);
}

static void set_other(const struct operation *operation, uint64_t next,
                      struct code_instruction *instruction) {
  const ZydisDecodedInstruction *raw = &operation->raw;
  const uint32_t written = written_by(operation);
  const enum value_operation kind = operation_of(raw);
  instruction->is_system = raw->mnemonic == ZYDIS_MNEMONIC_SYSCALL;
  set_registers(operation, kind, written, instruction);
  instruction->stack.changes = stack_set_of(&code_x86_64, written);
  set_stack(operation, written, &instruction->stack);
  set_indexed(operation, &instruction->stack);
  set_handed(operation, &instruction->stack);
  instruction->may_store = operation->may_store;
  set_references(operation, next, instruction);
  set_values(operation, kind, next, instruction);
  struct code_values *values = &instruction->values;
  if (raw->mnemonic == ZYDIS_MNEMONIC_CDQE) {
    values->operation = VALUE_COPY;
    values->to = values->first = RAX;
    values->part = 4;
    values->size = WORD;
  } else if (clears(operation) && raw->mnemonic != ZYDIS_MNEMONIC_SBB) { /* the number 0 */
    values->operation = VALUE_COPY;
    values->first = VALUE_NUMBER;
    values->second = CODE_NO_REGISTER;
    values->part = values->size = WORD;
    instruction->target = 0;
  }
}

static void decode(const uint8_t *bytes, size_t size, uint64_t address,
                   struct code_instruction *instruction) {
  struct operation operation;
  const ZydisDecodedInstruction *raw = &operation.raw;
  *instruction = (struct code_instruction){
      .length = 1,
      .kind = CODE_INVALID,
      .values = code_computed(CODE_NO_REGISTER, CODE_NO_REGISTER),
  };
  if (!decode_operation(&operation, bytes, size))
    return;
  const uint64_t next = address + raw->length;
  const enum code_kind kind = kind_of(raw);
  const bool is_direct = raw->raw.imm[0].is_relative;
  if (!is_direct && !decode_operands(&operation))
    return;
  instruction->address = address;
  instruction->length = raw->length;
  instruction->kind = (uint8_t)kind;
  instruction->is_break = raw->mnemonic == ZYDIS_MNEMONIC_INT3;
  if (kind == CODE_PADDING)
    return;
  if (kind == CODE_RETURN) {
    instruction->stack.growth = /* besides the return address */
        raw->meta.branch_type == ZYDIS_BRANCH_TYPE_NEAR ? -(int32_t)raw->raw.imm[0].value.u
                                                        : CODE_STACK_LOST;
    return;
  }
  if (is_direct) {
    set_direct(raw, next, instruction);
    return;
  }
  instruction->is_relative = is_relative(&operation);
  if (kind == CODE_CALL || code_jumps(kind))
    set_computed(&operation, next, instruction);
  else
    set_other(&operation, next, instruction);
}

/* rdi, rsi, rdx, rcx, r8, r9 (AMD64 psABI, 3.2.3) */
static const uint8_t arguments[CODE_ARGUMENTS] = {7, 6, 2, 1, 8, 9};

/* The types of a linked file, except for those of a symbol's address. (AMD64 psABI, 4.4) */
static const struct code_relocation_type relocations[] = {
    {R_X86_64_RELATIVE, CODE_RELOCATION_ADDRESS},
    {R_X86_64_RELATIVE64, CODE_RELOCATION_ADDRESS},
    {R_X86_64_IRELATIVE, CODE_RELOCATION_RESOLVER},
    {R_X86_64_JUMP_SLOT, CODE_RELOCATION_CALL},
    {R_X86_64_GLOB_DAT, CODE_RELOCATION_SLOT},
    {R_X86_64_COPY, CODE_RELOCATION_NONE},
    {R_X86_64_DTPMOD64, CODE_RELOCATION_NONE},
    {R_X86_64_DTPOFF64, CODE_RELOCATION_NONE},
    {R_X86_64_TPOFF64, CODE_RELOCATION_NONE},
    {R_X86_64_TLSDESC, CODE_RELOCATION_NONE},
    {R_X86_64_SIZE32, CODE_RELOCATION_NONE},
    {R_X86_64_SIZE64, CODE_RELOCATION_NONE},
    {0},
};

const struct code_architecture code_x86_64 = {
    .machine = EM_X86_64,
    .register_count = REGISTERS,
    .lost = 0x0fc7,
    .passed = 0x3c6,
    .result = RAX,
    .in_sets = {RBP, RBX, R12, R12 + 1, R12 + 2, R12 + 3},
    .in_tables = {6, 3, 12, 13, 14, 15},
    .stack_register = 7,
    .stack_pointer = RSP,
    .entry_offset = 8,
    .relocations = relocations,
    .arguments = arguments,
    .decode = decode,
};
