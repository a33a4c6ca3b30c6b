/* machine_riscv64.c - RISC-V with 64 bits, as its ABI has it (RISC-V ELF psABI).
 *
 * Instructions have 4 bytes, and with the C extension 2 bytes, too. A call leaves the return
 * address in ra (x1), by JAL or JALR, or by C.JALR; a far call is AUIPC and JALR, and linkers
 * shorten it where they can (psABI, "Function Calls", "Linker Relaxation"). t0 (x5) is the other
 * link register: calls of shared prologues use it (`-msave-restore`), and are no statepoints. (The
 * RISC-V Instruction Set Manual 1, "Unconditional Jumps", "Control Transfer Instructions")
 *
 * A shared prologue saves ra and the first of the registers s0 to s11, from the CFA down, as many
 * as its frame has room for. The instruction CM.PUSH saves ra and so many of them as it says, from
 * the CFA down, too, but the last one first, and ra as the last. ("Zc* Extension Specification")
 *
 * Read backwards, two bytes that look like C.JALR may be the upper half of another instruction's
 * constant. Only a pass over the function from its start could show that.
 */
#include "elf/machine.h"

#include "format/bits.h"
#include "format/frames.h"

#include <assert.h>

/* RISC-V DWARF Specification, "DWARF Register Numbers", by their names in the calling
 * convention. */
static const char register_names[][MACHINE_REGISTER_NAME_SIZE] = {
    "zero", "ra",  "sp",   "gp",   "tp",        "t0",  "t1",  "t2",  "s0",  "s1",  "a0",   "a1",
    "a2",   "a3",  "a4",   "a5",   "a6",        "a7",  "s2",  "s3",  "s4",  "s5",  "s6",   "s7",
    "s8",   "s9",  "s10",  "s11",  "t3",        "t4",  "t5",  "t6",  "ft0", "ft1", "ft2",  "ft3",
    "ft4",  "ft5", "ft6",  "ft7",  "fs0",       "fs1", "fa0", "fa1", "fa2", "fa3", "fa4",  "fa5",
    "fa6",  "fa7", "fs2",  "fs3",  "fs4",       "fs5", "fs6", "fs7", "fs8", "fs9", "fs10", "fs11",
    "ft8",  "ft9", "ft10", "ft11", [96] = "v0", "v1",  "v2",  "v3",  "v4",  "v5",  "v6",   "v7",
    "v8",   "v9",  "v10",  "v11",  "v12",       "v13", "v14", "v15", "v16", "v17", "v18",  "v19",
    "v20",  "v21", "v22",  "v23",  "v24",       "v25", "v26", "v27", "v28", "v29", "v30",  "v31",
};

static uint32_t half_before(const uint8_t *end, size_t size) {
  return size < 2 ? 0 : bits_load16(end - 2);
}

static uint32_t word_before(const uint8_t *end, size_t size) {
  return size < 4 ? 0 : bits_load32(end - 4);
}

static bool ends_call(const uint8_t *end, size_t size) {
  const uint32_t word = word_before(end, size), half = half_before(end, size);
  return (word & 0xfff) == 0xef                           /* JAL ra */
         || (word & 0x7fff) == 0xe7                       /* JALR ra */
         || ((half & 0xf07f) == 0x9002 && half > 0x9002); /* C.JALR; 0x9002 is C.EBREAK */
}

static bool ends_nop(const uint8_t *end, size_t size) {
  return word_before(end, size) == 0x13 || half_before(end, size) == 0x1;
}

/* Whether an instruction may make room on the stack, behind the one that saves registers: ADDI,
 * ADDIW, LUI, SUB from the stack pointer, C.ADDI, C.ADDIW, C.LI, C.LUI and C.ADDI16SP. */
static bool makes_room(uint32_t word) {
  const unsigned rd = word >> 7 & 31, opcode = word & 0x707f;
  if ((word & 3) != 3)
    return (word & 3) == 1 && (word >> 13 & 7) <= 3;
  return opcode == 0x13 || opcode == 0x1b || (word & 0x7f) == 0x37 ||
         ((word & 0xfe00707f) == 0x40000033 && rd == 2);
}

static bool only_makes_room(const uint8_t *code, size_t size) {
  size_t at = 0;
  while (at < size) {
    const size_t length = (code[at] & 3) == 3 ? 4 : 2;
    if (length > size - at ||
        !makes_room(length == 4 ? word_before(code + at + 4, 4) : half_before(code + at + 2, 2)))
      return false;
    at += length;
  }
  return true;
}

enum { WORD = 8, RA = 1, S_REGISTERS = 12, LIST_OF_RA = 4, LIST_OF_ALL = 15 };
static const uint8_t s_registers[S_REGISTERS] = {8, 9, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27};

/* The frame of a shared prologue: the registers that the unwind table lists, and 16 bytes for each
 * two. */
static int32_t shared_frame(const struct frame_facts *facts) {
  int32_t lowest = -WORD;
  for (int32_t i = 0; i < S_REGISTERS; i++) {
    const unsigned reg = s_registers[i];
    if ((facts->saved >> reg & 1) != 0 && facts->offsets[reg] == -WORD * (i + 2))
      lowest = facts->offsets[reg];
  }
  return (-lowest + 2 * WORD - 1) & -(2 * WORD);
}

static bool calls_shared_prologue(const uint8_t *end, size_t size) {
  const uint32_t word = word_before(end, size);
  return (word & 0xfff) == 0x2ef || (word & 0x7fff) == 0x2e7; /* JAL t0, JALR t0 */
}

static bool pushes(const uint8_t *end, size_t size) {
  const uint32_t half = half_before(end, size);
  return (half & 0xff03) == 0xb802 && (half >> 4 & 0xf) >= LIST_OF_RA; /* CM.PUSH */
}

/* The bytes of code behind the instruction that saves registers; SIZE_MAX if there is none. */
static size_t room_after_saving(const uint8_t *end, size_t size) {
  /* LUI, ADDI and SUB: until LLVM 19, the unwind table's first row is behind them. */
  enum { ROOM_MAX = 12 };
  for (size_t room = 0; room <= ROOM_MAX && room <= size; room += 2)
    if ((calls_shared_prologue(end - room, size - room) || pushes(end - room, size - room)) &&
        only_makes_room(end - room, room))
      return room;
  return SIZE_MAX;
}

static void save_more(struct frame_facts *facts, const uint8_t *end, size_t size) {
  const size_t room = room_after_saving(end, size);
  if (room == SIZE_MAX)
    return;
  const bool is_shared = calls_shared_prologue(end - room, size - room);
  const int32_t list = (int32_t)(half_before(end - room, size - room) >> 4 & 0xf);
  assert(is_shared || list >= LIST_OF_RA);
  int32_t count = list == LIST_OF_ALL ? S_REGISTERS : list - LIST_OF_RA;
  if (is_shared)
    count = (room == 0 ? facts->cfa_offset : shared_frame(facts)) / WORD - 1;
  if (facts->offsets[RA] != (is_shared ? -WORD : -WORD * (count + 1)))
    return;
  for (int32_t i = 0; i < count && i < S_REGISTERS; i++) {
    facts->saved |= (uint32_t)1 << s_registers[i];
    facts->offsets[s_registers[i]] = -WORD * (is_shared ? i + 2 : count - i);
  }
}

const struct machine machine_riscv64 = {
    .elf_number = EM_RISCV,
    .name = "RISC-V",
    .relocations = {.none = R_RISCV_NONE, .relative = R_RISCV_RELATIVE, .absolute = R_RISCV_64},
    .linker_moves_code = true,
    .stack_pointer = 2,
    .frame_pointer = 8,
    .return_address = 1,
    .register_count = sizeof register_names / sizeof *register_names,
    .register_names = register_names,
    .ends_call = ends_call,
    .ends_nop = ends_nop,
    .save_more = save_more,
};
