/* decoder.h - decodes instructions, and remembers short ones by their bytes.
 *
 * Instructions repeat: `push %rbx` is the same in each function. So where decoding is slow, on
 * x86-64, a decoder remembers the form of the last instructions with each hash of their bytes. Two
 * thirds of CPython's instructions are found there.
 */
#ifndef STACKPACK_DECODER_H
#define STACKPACK_DECODER_H

#include "tool/code/code.h"

struct decoder {
  const struct code_architecture *architecture;
  struct decoder_memory *memory; /* NULL: each instruction is decoded */
};

/* Without memory to remember instructions, it decodes each. */
struct decoder decoder_open(const struct code_architecture *architecture);
void decoder_close(struct decoder *decoder);

/* Decodes as the architecture's `decode` does. */
void decoder_read(const struct decoder *decoder, const uint8_t *bytes, size_t size,
                  uint64_t address, struct code_instruction *instruction);

#endif
