/* helper.h - straight-line code elsewhere that is a part of the functions that use it.
 *
 * In code optimized for size, functions share instructions. One jumps to the end of another, which
 * pops its frame and returns; or calls instructions that work on the caller's own frame, or save
 * its registers there, and come back by the link register or by another one (the outliner of LLVM
 * on AArch64, RISC-V's -msave-restore):
 *
 *     add sp, sp, #0x30; ret      stp x9, x8, [sp]; ret      addi sp, sp, -16; sd ra, 8(sp); jr t0
 *
 * By themselves, these return anywhere, or write to a caller's frame. Followed in place of the jump
 * or call, they keep the rules of any other code.
 */
#ifndef STACKPACK_HELPER_H
#define STACKPACK_HELPER_H

#include "tool/code/decoder.h"
#include "tool/code/parts.h"

enum { HELPER_INSTRUCTIONS = 32 };

/* The file's code. `bytes_at` sets *bytes and returns the number of bytes at an address; 0 if they
 * are missing or may change. */
struct helper_code {
  const void *context;
  uint64_t (*bytes_at)(const void *context, uint64_t address, const uint8_t **bytes);
};

/* Reads the instructions of the helper that is the direct target of a jump or call, `transfer`,
 * except for its end. Returns their number; 0 if the target is another kind of code. A helper that
 * is called by the link register must use the stack or callee-saved registers, or the caller must
 * have copies of the return address for it to keep. Where calls push the return address, only jumps
 * have helpers. */
size_t helper_read(struct decoder *decoder, const struct parts *parts,
                   const struct helper_code *code, const struct code_instruction *transfer,
                   bool has_copies, struct code_instruction instructions[HELPER_INSTRUCTIONS]);

#endif
