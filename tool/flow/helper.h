/* helper.h - straight code elsewhere that is a part of the functions that use it.
 *
 * Where code is to be small, functions share it. One jumps to the end of another one, which takes
 * its frame off the stack and returns; or calls instructions that work on the caller's own frame,
 * or save its registers there, and come back by the register for return addresses or by another one
 * (the outliner of LLVM on AArch64, RISC-V's -msave-restore):
 *
 *     add sp, sp, #0x30; ret         stp x9, x8, [sp]; ret         addi sp, sp, -16; sd ra, 8(sp); jr t0
 *
 * By themselves, these lead anywhere, or write to a frame that isn't theirs. Followed as if they
 * stood where they are used, they do as compilers do.
 */
#ifndef STACKPACK_HELPER_H
#define STACKPACK_HELPER_H

#include "tool/code/parts.h"

enum { HELPER_INSTRUCTIONS = 32 };

/* The file's code: how many bytes are at an address, and which; 0 if there are none that can be
 * relied on. */
struct helper_code {
  const void *context;
  uint64_t (*bytes_at)(const void *context, uint64_t address, const uint8_t **bytes);
};

/* The instructions of a helper, without its end, to which a jump or a call leads directly; none if
 * it is no helper. One that is called is none if it does nothing with the stack, nor with registers
 * that calls preserve, unless the caller has copies of the return address, which it may keep; nor
 * are any, where calls push the return address. */
size_t helper_read(const struct code_architecture *architecture, const struct parts *parts,
                   const struct helper_code *code, const struct code_instruction *transfer,
                   bool has_copies, struct code_instruction instructions[HELPER_INSTRUCTIONS]);

#endif
