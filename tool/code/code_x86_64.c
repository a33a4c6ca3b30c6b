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
#include "tool/code/code.h"

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
 * writes it. */
struct operation {
  ZydisDecoder decoder;
  ZydisDecoderContext context;
  ZydisDecodedInstruction raw;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
  const ZydisDecodedOperand *memory; /* the first visible one in memory, or NULL */
  uint32_t named, address;           /* the visible registers; those of addresses: a bit each */
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

/* The second half: nearly all calls and jumps do without. */
static bool decode_operands(struct operation *operation) {
  ZydisDecodedOperand *operands = operation->operands;
  operands[0].type = operands[1].type = ZYDIS_OPERAND_TYPE_UNUSED;
  operation->memory = NULL;
  operation->named = operation->address = 0;
  if (ZYAN_FAILED(ZydisDecoderDecodeOperands(&operation->decoder, &operation->context,
                                             &operation->raw, operands,
                                             operation->raw.operand_count)))
    return false;
  for (unsigned i = 0; i < operation->raw.operand_count_visible; i++) {
    const ZydisDecodedOperand *operand = &operands[i];
    operation->named |= bit(register_of(operand));
    if (operand->type != ZYDIS_OPERAND_TYPE_MEMORY)
      continue;
    operation->memory = operation->memory == NULL ? operand : operation->memory;
    operation->address |= bit(number_of(operand->mem.base)) | bit(number_of(operand->mem.index));
  }
  return true;
}

/* Whether a register, or a part of it, is a visible operand. */
static bool may_name(const struct operation *operation, int number) {
  return (operation->named & bit(number)) != 0;
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

static enum code_stack_base base_of(int number) {
  return number == RSP ? CODE_STACK_POINTER : number == RBP ? CODE_FRAME_POINTER : CODE_NO_BASE;
}

/* The base of the operand in memory at a constant distance from it; that may be an index alone. */
static enum code_stack_base memory_base(const struct operation *operation) {
  const ZydisDecodedOperand *memory = operation->memory;
  if (memory == NULL)
    return CODE_NO_BASE;
  if (memory->mem.index == ZYDIS_REGISTER_NONE)
    return base_of(number_of(memory->mem.base));
  return memory->mem.base == ZYDIS_REGISTER_NONE && memory->mem.scale == 1
             ? base_of(number_of(memory->mem.index))
             : CODE_NO_BASE;
}

/* The constant distance of the operand in memory, from its base. */
static int32_t distance_of(const struct operation *operation) {
  return operation->memory == NULL ? 0 : (int32_t)operation->memory->mem.disp.value;
}

/* The growth of the stack when a constant is added to the stack pointer. */
static int32_t growth_by(int32_t constant) {
  return constant == INT32_MIN ? CODE_STACK_LOST : -constant;
}

/* One of the two registers becomes the other one, or itself, plus a constant. */
static void set_copy(struct code_stack *stack, int to, enum code_stack_base from, int32_t offset) {
  if (to == RSP && from == CODE_STACK_POINTER)
    stack->growth = growth_by(offset);
  else if (to == RSP && from == CODE_NO_BASE)
    stack->growth = CODE_STACK_LOST;
  else if ((to == RSP || to == RBP) && from != base_of(to)) {
    stack->copy = (uint8_t)from;
    stack->copy_offset = offset;
  }
}

static void set_memory(struct code_stack *stack, enum code_stack_base base, int32_t offset,
                       int32_t size, bool is_read) {
  stack->base = (uint8_t)base;
  stack->offset = offset;
  stack->size = size;
  stack->is_read = is_read;
}

/* `lea` of a place on the stack, or a copy of the stack pointer, lets other instructions write
 * there. */
static void set_address(struct code_stack *stack, enum code_stack_base base, int32_t offset) {
  set_memory(stack, base, offset, 1, false);
  stack->is_address = true;
}

/* A register outside the stack's analysis gets the frame pointer, or the caller's, which is saved
 * where it points to: return addresses are right above both. */
static void set_frame_taken(struct code_stack *stack) {
  set_memory(stack, CODE_FRAME_POINTER, 0, 16, false);
  stack->is_address = true;
}

/* A word that is called or jumped to, if it's on the stack: its further way is unseen. */
static void set_read(const struct operation *operation, struct code_stack *stack) {
  const enum code_stack_base base = memory_base(operation);
  const int32_t offset = distance_of(operation);
  if (base == CODE_FRAME_POINTER && offset == 0)
    set_frame_taken(stack);
  else if (base != CODE_NO_BASE)
    set_memory(stack, base, offset, WORD, true);
}

/* One that is pushed: the stack pointer is lower afterwards. (2 GB above it, there is no word that
 * is followed.) */
static void set_push(const struct operation *operation, struct code_stack *stack) {
  const enum code_stack_base base = memory_base(operation);
  const int32_t offset = distance_of(operation);
  stack->growth = WORD;
  if (base == CODE_NO_BASE || offset > INT32_MAX - WORD ||
      (base == CODE_FRAME_POINTER && offset == 0))
    set_memory(stack, CODE_STACK_POINTER, 0, WORD, false);
  else
    set_memory(stack, base, base == CODE_STACK_POINTER ? offset + WORD : offset, WORD, true);
}

static void set_move(const struct operation *operation, struct code_stack *stack) {
  const enum code_stack_base base = memory_base(operation);
  const int32_t distance = distance_of(operation);
  const bool is_load = operation->operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER;
  const int to = register_of(&operation->operands[0]);
  const enum code_stack_base copied = base_of(register_of(&operation->operands[1]));
  if (base != CODE_NO_BASE)
    set_memory(stack, base, distance, operation->raw.operand_width / 8, is_load);
  if (is_load && base == CODE_FRAME_POINTER && distance == 0 && to != RBP)
    set_frame_taken(stack);
  if (is_load)
    set_copy(stack, to, copied, 0);
  if (operation->memory != NULL || base_of(to) != CODE_NO_BASE)
    return;
  if (copied == CODE_STACK_POINTER)
    set_address(stack, copied, 0);
  else if (copied == CODE_FRAME_POINTER)
    set_frame_taken(stack);
}

/* The size of an operand in memory. Zydis has the smallest one of a processor's state. */
static int32_t size_of(const ZydisDecodedInstruction *raw, const ZydisDecodedOperand *operand) {
  const bool is_state =
      raw->meta.category == ZYDIS_CATEGORY_XSAVE || raw->meta.category == ZYDIS_CATEGORY_XSAVEOPT;
  return is_state ? INT32_MAX : operand->size / 8;
}

/* Any other instruction, by its operands. */
static void set_operands(const struct operation *operation, struct code_stack *stack) {
  const enum code_stack_base base = memory_base(operation);
  for (unsigned i = 0; i < operation->raw.operand_count_visible; i++) {
    const ZydisDecodedOperand *operand = &operation->operands[i];
    if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY && base != CODE_NO_BASE)
      set_memory(stack, base, (int32_t)operand->mem.disp.value, size_of(&operation->raw, operand),
                 !is_written(operand));
    else if (register_of(operand) == RSP && is_written(operand))
      stack->growth = CODE_STACK_LOST;
  }
}

/* A store at a computed distance may be anywhere in the object at its constant part; `lea` makes the
 * address of one. */
static void set_indexed(const struct operation *operation, struct code_stack *stack) {
  const ZydisDecodedOperand *memory = operation->memory;
  const bool is_address = operation->raw.mnemonic == ZYDIS_MNEMONIC_LEA;
  if (memory == NULL || memory->mem.index == ZYDIS_REGISTER_NONE ||
      (!is_address && !is_written(memory)))
    return;
  const enum code_stack_base base = base_of(number_of(memory->mem.base));
  if (base != CODE_NO_BASE && stack->base == CODE_NO_BASE)
    set_address(stack, base, (int32_t)memory->mem.disp.value);
}

/* Whether an instruction moves the stack pointer by less than a word, or sets only a part of it or
 * of the frame pointer. */
static bool moves_by_less(const struct operation *operation) {
  const bool is_narrow = operation->raw.operand_width < 64;
  const int to = register_of(&operation->operands[0]);
  switch (operation->raw.mnemonic) {
  case ZYDIS_MNEMONIC_PUSH:
  case ZYDIS_MNEMONIC_POP:
  case ZYDIS_MNEMONIC_LEAVE:
  case ZYDIS_MNEMONIC_ENTER:
    return is_narrow;
  case ZYDIS_MNEMONIC_LEA: /* a value other than an address on the stack may be a number in rbp */
    return is_narrow && (to == RSP || (to == RBP && memory_base(operation) != CODE_NO_BASE));
  case ZYDIS_MNEMONIC_PUSHF:
  case ZYDIS_MNEMONIC_POPF:
    return true;
  default:
    return false;
  }
}

static void set_pop(const struct operation *operation, struct code_stack *stack) {
  const bool loads_stack = operation->raw.mnemonic == ZYDIS_MNEMONIC_POP &&
                           may_name(operation, RSP); /* pop %rsp, pop (%rsp) */
  if (memory_base(operation) != CODE_NO_BASE)
    set_operands(operation, stack);
  else
    set_memory(stack, CODE_STACK_POINTER, loads_stack ? 0 : -8, 8, true);
  stack->growth = loads_stack ? CODE_STACK_LOST : -8;
}

static void set_stack(const struct operation *operation, struct code_stack *stack) {
  const ZydisDecodedInstruction *raw = &operation->raw;
  const enum code_stack_base base = memory_base(operation);
  const int32_t constant = (int32_t)raw->raw.imm[0].value.s, distance = distance_of(operation);
  const int to = register_of(&operation->operands[0]);
  if (moves_by_less(operation)) {
    stack->growth = CODE_STACK_LOST;
    stack->loses_frame = true;
    return;
  }
  if (raw->operand_width < 64 && operation->memory == NULL) { /* a part of a register */
    if (may_name(operation, RSP))
      set_operands(operation, stack);
    return;
  }
  switch (raw->mnemonic) {
  case ZYDIS_MNEMONIC_PUSH:
  case ZYDIS_MNEMONIC_PUSHFQ:
    set_push(operation, stack);
    return;
  case ZYDIS_MNEMONIC_POP:
  case ZYDIS_MNEMONIC_POPFQ:
    set_pop(operation, stack);
    return;
  case ZYDIS_MNEMONIC_LEAVE:
    set_copy(stack, RSP, CODE_FRAME_POINTER, 8);
    stack->loses_frame = true;
    return;
  case ZYDIS_MNEMONIC_ENTER:
    stack->growth = CODE_STACK_LOST;
    stack->loses_frame = true;
    return;
  case ZYDIS_MNEMONIC_LEA:
    set_copy(stack, to, base, distance);
    if (base != CODE_NO_BASE && base_of(to) == CODE_NO_BASE)
      set_address(stack, base, distance);
    if (base == CODE_FRAME_POINTER && distance == 0)
      set_frame_taken(stack);
    return;
  case ZYDIS_MNEMONIC_MOV:
    set_move(operation, stack);
    return;
  case ZYDIS_MNEMONIC_SUB:
  case ZYDIS_MNEMONIC_ADD:
  case ZYDIS_MNEMONIC_OR:
    if (has_constant(operation) && constant == 0)
      return; /* with `lock`, a barrier */
    if (has_constant(operation) && to == RSP && raw->mnemonic != ZYDIS_MNEMONIC_OR) {
      stack->growth = raw->mnemonic == ZYDIS_MNEMONIC_SUB ? constant : growth_by(constant);
      return;
    }
    break;
  case ZYDIS_MNEMONIC_MOVDIR64B: /* they store 64 bytes at the address in the register */
  case ZYDIS_MNEMONIC_ENQCMD:
  case ZYDIS_MNEMONIC_ENQCMDS:
    set_memory(stack, base_of(to), 0, 64, false);
    return;
  default:
    break;
  }
  if (base != CODE_NO_BASE || may_name(operation, RSP))
    set_operands(operation, stack);
}

/* Whether an instruction's result is independent of its register. */
static bool clears(const struct operation *operation) {
  const ZydisDecodedInstruction *raw = &operation->raw;
  return (raw->mnemonic == ZYDIS_MNEMONIC_XOR || raw->mnemonic == ZYDIS_MNEMONIC_SUB ||
          raw->mnemonic == ZYDIS_MNEMONIC_SBB) &&
         register_of(&operation->operands[0]) == register_of(&operation->operands[1]) &&
         raw->operand_width >= 32;
}

/* Whether an instruction reads one of the two registers to put it into memory, or to make another
 * value of it. A sum is at a computed distance, and moves between registers are set_move's. */
static bool hands(const struct operation *operation, int number) {
  const ZydisDecodedInstruction *raw = &operation->raw;
  const ZydisDecodedOperand *operands = operation->operands;
  bool is_handed = false;
  if (!may_name(operation, number) || clears(operation))
    return false;
  switch (raw->mnemonic) {
  case ZYDIS_MNEMONIC_MOV:
    return operation->memory == &operands[0] && raw->operand_width == 64;
  case ZYDIS_MNEMONIC_LEA:
  case ZYDIS_MNEMONIC_ADD:
  case ZYDIS_MNEMONIC_CMP:
  case ZYDIS_MNEMONIC_TEST:
  case ZYDIS_MNEMONIC_POP:
    return false;
  default:
    break;
  }
  for (unsigned i = 0; i < raw->operand_count_visible; i++)
    is_handed |= register_of(&operands[i]) == number && is_read(&operands[i]) &&
                 (raw->mnemonic == ZYDIS_MNEMONIC_XCHG || !is_written(&operands[i]));
  return is_handed;
}

/* There may be another pointer to the frame then. (The caller's frame pointer is saved where the own
 * one points to.) */
static void set_handed(const struct operation *operation, struct code_stack *stack) {
  const bool is_callers = memory_base(operation) == CODE_FRAME_POINTER &&
                          distance_of(operation) == 0 && is_read(operation->memory) &&
                          operation->raw.mnemonic != ZYDIS_MNEMONIC_MOV; /* see set_move */
  const bool is_frame = is_callers || hands(operation, RBP);
  if (!is_frame && !hands(operation, RSP))
    return;
  stack->handed = is_frame ? CODE_FRAME_POINTER : CODE_STACK_POINTER;
  stack->handed_size = is_frame ? 16 : 1;
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

/* The registers that an instruction writes to, whole or in part, besides rsp where it pushes or pops:
 * that is in struct code_stack. Zydis lists neither a system call's result, nor the pointers that
 * some string instructions move: `cmps`, `scas`, `ins`, `outs`. */
static uint32_t written_by(const struct operation *operation) {
  const ZydisDecodedInstruction *raw = &operation->raw;
  const bool has_result = raw->mnemonic == ZYDIS_MNEMONIC_SYSCALL;
  uint32_t written = changes_any(raw->mnemonic) ? UINT16_MAX : has_result ? bit(RAX) : 0;
  uint32_t hidden = 0;
  for (unsigned i = 0; i < raw->operand_count; i++) {
    const ZydisDecodedOperand *operand = &operation->operands[i];
    const bool is_hidden = i >= raw->operand_count_visible;
    if (is_written(operand))
      *(is_hidden ? &hidden : &written) |= bit(register_of(operand));
    if (is_hidden && operand->type == ZYDIS_OPERAND_TYPE_MEMORY)
      hidden |= bit(number_of(operand->mem.base)) & (bit(RSI) | bit(RDI));
  }
  return written | (hidden & ~bit(RSP));
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

static void set_copied_registers(const struct operation *operation, struct code_parts *parts) {
  const ZydisDecodedInstruction *raw = &operation->raw;
  const uint32_t to = bit(register_of(&operation->operands[0]));
  switch (raw->mnemonic) {
  case ZYDIS_MNEMONIC_MOV:
    parts->reads = bit(register_of(&operation->operands[1]));
    parts->writes = raw->operand_width >= 32 ? to : 0;
    parts->is_copy = parts->reads != 0 && parts->writes != 0;
    parts->is_load = operation->memory == &operation->operands[1] && raw->operand_width == 64 &&
                     !is_on_stack(operation);
    break;
  case ZYDIS_MNEMONIC_PUSH:
    parts->reads = to;
    break;
  default:
    parts->writes = to;
    break;
  }
}

/* The registers that an instruction makes another one of; none if the result is independent of
 * them. */
static uint32_t read_to_compute(const struct operation *operation) {
  const ZydisDecodedOperand *operands = operation->operands;
  uint32_t reads = 0;
  if (register_of(&operands[0]) == NONE || !is_written(&operands[0]) || clears(operation))
    return 0;
  for (unsigned i = 0; i < operation->raw.operand_count_visible; i++)
    reads |= is_read(&operands[i]) ? bit(register_of(&operands[i])) : 0;
  return reads;
}

/* The registers that a value is made of, and the destinations of sums and copies: `writes` are those
 * that certainly change. */
static void set_registers(const struct operation *operation, enum value_operation kind,
                          uint32_t written, struct code_instruction *instruction) {
  struct code_parts *parts = &instruction->parts;
  parts->may_write = written;
  switch (kind) {
  case VALUE_COPY:
    set_copied_registers(operation, parts);
    break;
  case VALUE_ADDRESS:
    parts->reads = operation->address;
    parts->writes = bit(register_of(&operation->operands[0]));
    instruction->is_sum = parts->reads != 0;
    break;
  case VALUE_SUM:
  case VALUE_DIFFERENCE:
    parts->reads = operation->named;
    parts->writes = bit(register_of(&operation->operands[0]));
    instruction->is_sum = true;
    break;
  case VALUE_EITHER:
    parts->reads = operation->named;
    parts->writes = written;
    parts->is_copy = true;
    break;
  default:
    parts->reads = read_to_compute(operation);
    break;
  }
}

/* ---- Registers that calls preserve ---- */

enum { PRESERVED = 0xf028, CLOBBERED = 0xffff & ~PRESERVED };

/* The same as a set of struct code_stack's: rbp, rbx, r12 to r15. */
static uint16_t preserved_of(uint32_t registers) {
  return (uint16_t)((registers >> RBP & 1) | (registers >> RBX & 1) << 1 |
                    (registers >> R12 & 15) << 2);
}

/* An instruction's effects on callee-saved registers: a store on the stack saves them, without a
 * segment. */
static void set_preserved(const ZydisDecodedInstruction *raw, uint32_t written,
                          struct code_instruction *instruction) {
  struct code_stack *stack = &instruction->stack;
  const bool is_word = stack->base != CODE_NO_BASE && stack->size == 8 &&
                       (raw->attributes & ZYDIS_ATTRIB_HAS_SEGMENT) == 0;
  const bool is_store = is_word && !stack->is_read && !stack->is_address;
  const bool is_load = is_word && stack->is_read;
  stack->changes = preserved_of(written);
  switch (raw->mnemonic) {
  case ZYDIS_MNEMONIC_LEAVE:
    if (stack->growth == CODE_STACK_LOST)
      break;
    set_memory(stack, CODE_STACK_POINTER, -8, 8, true);
    stack->loads[0] = preserved_of(bit(RBP));
    break;
  case ZYDIS_MNEMONIC_PUSH:
  case ZYDIS_MNEMONIC_MOV:
    if (is_store)
      stack->saves[0] = preserved_of(instruction->parts.reads);
    else if (is_load)
      stack->loads[0] = stack->changes;
    break;
  case ZYDIS_MNEMONIC_POP:
    if (is_load)
      stack->loads[0] = stack->changes;
    break;
  default:
    break;
  }
}

/* Whether it may store something in memory, besides what it pushes. */
static bool may_store(const struct operation *operation) {
  bool stores = false;
  for (unsigned i = 0; i < operation->raw.operand_count; i++) {
    const ZydisDecodedOperand *operand = &operation->operands[i];
    const bool is_pushed =
        i >= operation->raw.operand_count_visible && operand->mem.base == ZYDIS_REGISTER_RSP;
    stores |= operand->type == ZYDIS_OPERAND_TYPE_MEMORY && is_written(operand) && !is_pushed;
  }
  return stores;
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

static uint8_t place_of(const ZydisDecodedOperandMem *memory) {
  const bool has_index = memory->index != ZYDIS_REGISTER_NONE;
  const int base = number_of(memory->base);
  if (has_index)
    return base == RSP ? VALUE_ON_STACK : base == RBP ? VALUE_BY_FRAME : VALUE_ELSEWHERE;
  return base == NONE || base_of(base) != CODE_NO_BASE ? (uint8_t)base_of(base) : VALUE_ELSEWHERE;
}

/* Memory of a segment is elsewhere. */
static void set_memory_operand(const ZydisDecodedOperandMem *memory, struct code_values *values) {
  values->place = VALUE_ELSEWHERE;
  if (values->operation != VALUE_ADDRESS &&
      (memory->segment == ZYDIS_REGISTER_FS || memory->segment == ZYDIS_REGISTER_GS))
    return;
  values->place = place_of(memory);
  values->base = (uint8_t)number_of(memory->base);
  values->index = (uint8_t)number_of(memory->index);
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
    set_memory_operand(&operation->memory->mem, values);
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

/* Of direct jumps, the ones that count in rcx and a transaction's start change registers. */
static uint32_t changed_by_jump(ZydisMnemonic mnemonic) {
  switch (mnemonic) {
  case ZYDIS_MNEMONIC_LOOP:
  case ZYDIS_MNEMONIC_LOOPE:
  case ZYDIS_MNEMONIC_LOOPNE:
    return bit(RCX);
  case ZYDIS_MNEMONIC_XBEGIN:
    return bit(RAX);
  default:
    return 0;
  }
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
  instruction->parts.from = (uint8_t)by; /* NONE: CODE_NO_REGISTER */
  instruction->parts.is_load = operation->memory != NULL && !is_on_stack(operation);
  set_read(operation, &instruction->stack);
  set_references(operation, next, instruction);
}

static void set_other(const struct operation *operation, uint64_t next,
                      struct code_instruction *instruction) {
  const ZydisDecodedInstruction *raw = &operation->raw;
  const uint32_t written = written_by(operation);
  const enum value_operation kind = operation_of(raw);
  instruction->is_system = raw->mnemonic == ZYDIS_MNEMONIC_SYSCALL;
  set_registers(operation, kind, written, instruction);
  instruction->stack.loses_frame = (written & bit(RBP)) != 0;
  set_stack(operation, &instruction->stack);
  set_indexed(operation, &instruction->stack);
  set_handed(operation, &instruction->stack);
  set_preserved(raw, written, instruction);
  if (instruction->stack.copy == CODE_STACK_POINTER)
    instruction->stack.loses_frame = false;
  instruction->may_store = may_store(operation);
  set_references(operation, next, instruction);
  set_values(operation, kind, next, instruction);
  if (raw->mnemonic != ZYDIS_MNEMONIC_CDQE)
    return;
  instruction->values.operation = VALUE_COPY;
  instruction->values.to = instruction->values.first = RAX;
  instruction->values.part = 4;
  instruction->values.size = WORD;
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
    .lost = CLOBBERED,
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
