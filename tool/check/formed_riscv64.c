/* formed_riscv64.c - RISC-V's: see formed.h. (The RISC-V Instruction Set Manual 1, "RV64I", "C")
 *
 * AUIPC has the upper 20 bits of a distance from itself, LUI and C.LUI those of a constant. ADDI, loads and
 * stores add a signed number of 12 bits, but where one adds to gp, which always points to the same place in
 * an executable: its symbol tells where.
 */
#include "tool/check/formed.h"

#include "format/bits.h"

/* Opcodes: the lowest 7 bits. */
enum {
  LOAD = 0x03,
  LOAD_FLOAT = 0x07,
  ADDI = 0x13,
  AUIPC = 0x17,
  ADD_WORD_CONSTANT = 0x1b,
  STORE = 0x23,
  STORE_FLOAT = 0x27,
  COMPUTE = 0x33,
  LUI = 0x37,
  COMPUTE_WORD = 0x3b,
  JUMP_REGISTER = 0x67,
  JUMP = 0x6f,
};

enum { GLOBAL_POINTER_BIT = 1 << 3 };

static void step_long(struct formed *formed, uint32_t word, uint64_t address) {
  const unsigned to = word >> 7 & 31, from = word >> 15 & 31;
  const uint64_t upper = (uint64_t)(int64_t)(int32_t)(word & 0xfffff000);
  const uint64_t lower = (uint64_t)((int64_t)(int32_t)word >> 20);
  const uint32_t known = formed->known;
  switch (word & 0x7f) {
  case AUIPC:
    formed_set(formed, to, address + upper);
    break;
  case LUI:
    formed_set(formed, to, upper);
    break;
  case ADDI:
    if ((word >> 12 & 7) == 0)
      formed_add(formed, from, lower);
    formed_forget(formed, to);
    break;
  case LOAD:
    formed_add(formed, from, lower);
    formed_forget(formed, to);
    break;
  case LOAD_FLOAT:
    formed_add(formed, from, lower);
    break;
  case STORE:
  case STORE_FLOAT:
    formed_add(formed, from, (lower & ~(uint64_t)31) | to);
    break;
  case ADD_WORD_CONSTANT:
  case COMPUTE:
  case COMPUTE_WORD:
  case JUMP:
  case JUMP_REGISTER:
    formed_forget(formed, to);
    break;
  }
  formed->known |= known & GLOBAL_POINTER_BIT;
}

/* C.LUI is in quadrant 1 with function 3, but for C.ADDI16SP, which has sp there. Of the others, those
 * in quadrant 0 load to one of eight registers or store; and most in quadrants 1 and 2 change a register:
 * one of eight with function 4 of quadrant 1. */
static void step_short(struct formed *formed, uint32_t half) {
  const unsigned quadrant = half & 3, function = half >> 13;
  const unsigned reg = half >> 7 & 31, load_reg = 8 + (half >> 2 & 7),
                 change_reg = 8 + (half >> 7 & 7);
  const uint64_t bits = (half >> 12 & 1) << 5 | (half >> 2 & 31);
  const bool is_jump = quadrant == 2 && function == 4 && (half >> 2 & 31) == 0;
  if (quadrant == 0 && (function == 0 || function == 2 || function == 3))
    formed_forget(formed, load_reg);
  else if (quadrant == 1 && function == 3 && reg != 2)
    formed_set(formed, reg, ((bits ^ 32) - 32) << 12);
  else if (quadrant == 1 && function < 3)
    formed_forget(formed, reg);
  else if (quadrant == 1 && function == 4)
    formed_forget(formed, change_reg);
  else if (quadrant == 2 && (function == 0 || function == 2 || function == 3 || function == 4) &&
           !is_jump)
    formed_forget(formed, reg);
}

size_t formed_riscv64(struct formed *formed, const uint8_t *bytes, size_t size, uint64_t address) {
  formed->has_address = false;
  if (size < 2)
    return size;
  if ((bytes[0] & 3) != 3) {
    step_short(formed, bits_load16(bytes));
    return 2;
  }
  if (size < 4)
    return size;
  step_long(formed, bits_load32(bytes), address);
  return 4;
}
