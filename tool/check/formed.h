/* formed.h - addresses that code forms in more than one instruction, for machines on which no
 * instruction has room for a whole one.
 *
 * AArch64 and RISC-V take the upper part of an address from one instruction, relative to its own place
 * or as a constant, and the lower 12 bits from another: an addition, a load or a store.
 *
 *     adrp x0, 0x412000                 auipc a0, 0x2
 *     add  x0, x0, 0x318                addi  a0, a0, 0x318
 *
 * A compiler may put other code between them. So code is gone through from a section's start to its end,
 * and a register is taken to hold its upper part until something else is put there.
 */
#ifndef STACKPACK_FORMED_H
#define STACKPACK_FORMED_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FORMED_REGISTERS = 32 };

/* All zeros at a section's start. */
struct formed {
  uint64_t upper[FORMED_REGISTERS];
  uint32_t known; /* bit n: of register n */
  bool has_address;
  uint64_t address; /* what the last instruction forms, or uses */
};

/* Goes over one instruction at bytes[0..size), which will run at `address`. Returns its length. */
typedef size_t formed_step(struct formed *formed, const uint8_t *bytes, size_t size,
                           uint64_t address);
formed_step formed_aarch64, formed_riscv64;

/* Notes the upper part in a register. */
static inline void formed_set(struct formed *formed, unsigned reg, uint64_t upper) {
  formed->upper[reg] = upper;
  formed->known |= (uint32_t)1 << reg;
}

/* Something else is put into a register. */
static inline void formed_forget(struct formed *formed, unsigned reg) {
  formed->known &= ~((uint32_t)1 << reg);
}

/* Adds the lower part to what a register holds, if that is known. */
static inline void formed_add(struct formed *formed, unsigned reg, uint64_t lower) {
  formed->has_address = (formed->known >> reg & 1) != 0;
  formed->address = formed->upper[reg] + lower;
}

#endif
