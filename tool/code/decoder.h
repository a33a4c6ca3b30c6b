/* decoder.h - decodes instructions, and remembers them.
 *
 * Instructions repeat: `push %rbx` is the same in each function. So a decoder remembers the last
 * short instruction with each hash of its bytes: two thirds of CPython's instructions are found
 * there, without decoding. An instruction without its addresses and constants is a form. A decoder
 * keeps each form once, until decoder_trim: the 690,000 instructions of CPython have 17,500 of
 * them.
 */
#ifndef STACKPACK_DECODER_H
#define STACKPACK_DECODER_H

#include "format/intern.h"
#include "tool/code/code.h"

struct decoder {
  const struct code_architecture *architecture;
  struct intern forms;           /* all that were met */
  struct decoder_memory *memory; /* of the last short ones */
};

struct decoder decoder_open(const struct code_architecture *architecture);
void decoder_close(struct decoder *decoder);

/* Decodes as the architecture's `decode` does. */
void decoder_read(struct decoder *decoder, const uint8_t *bytes, size_t size, uint64_t address,
                  struct code_instruction *instruction);

/* The number of an instruction's form. Whoever has changed the instruction since it was read has
 * set its `form` to 0. */
uint32_t decoder_form(struct decoder *decoder, const struct code_instruction *instruction);

/* The form of a number; valid until another one is kept. */
static inline const struct code_instruction *decoder_get(const struct decoder *decoder,
                                                         uint32_t form) {
  return (const struct code_instruction *)(const void *)intern_get(&decoder->forms, form).words;
}

/* Forgets all forms and remembered instructions, if forms are many; none may be in use. */
void decoder_trim(struct decoder *decoder);

#endif
