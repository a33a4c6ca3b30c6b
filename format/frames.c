/* frames.c - facts of frames as sequences of words: see frames.h.
 *
 * Word 0: the registers of CFA and return address, a byte each; a bit for the signature; the lost
 * registers from bit 32 on. Word 1: the CFA's offset. Then for each register that is saved, by
 * number: the number, and its offset from bit 32 on.
 */
#include "format/frames.h"

enum { RETURN_BYTE = 8, SIGNED_BIT = 16, HIGH_HALF = 32 };

unsigned frame_words(const struct frame_facts *facts, uint64_t words[FRAME_WORDS_MAX]) {
  unsigned count = 0;
  words[count++] = facts->cfa_register | (uint64_t)facts->return_register << RETURN_BYTE |
                   (uint64_t)facts->is_signed << SIGNED_BIT | (uint64_t)facts->lost << HIGH_HALF;
  words[count++] = (uint32_t)facts->cfa_offset;
  for (uint32_t bits = facts->saved; bits != 0; bits &= bits - 1) {
    const unsigned reg = (unsigned)__builtin_ctz(bits);
    words[count++] = reg | (uint64_t)(uint32_t)facts->offsets[reg] << HIGH_HALF;
  }
  return count;
}

struct frame_facts frame_from_words(struct intern_sequence sequence) {
  struct frame_facts facts = {.cfa_register = (uint8_t)sequence.words[0],
                              .return_register = (uint8_t)(sequence.words[0] >> RETURN_BYTE),
                              .is_signed = (sequence.words[0] >> SIGNED_BIT & 1) != 0,
                              .cfa_offset = (int32_t)sequence.words[1],
                              .lost = (uint32_t)(sequence.words[0] >> HIGH_HALF)};
  for (uint64_t i = 2; i < sequence.count; i++) {
    const unsigned reg = (unsigned)(sequence.words[i] % FRAME_REGISTERS);
    facts.saved |= (uint32_t)1 << reg;
    facts.offsets[reg] = (int32_t)(sequence.words[i] >> HIGH_HALF);
  }
  return facts;
}
