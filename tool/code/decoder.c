/* decoder.c - see decoder.h.
 *
 * An instruction's length isn't known before it is decoded. But its first three bytes nearly decide
 * it: so the last length after these bytes is remembered, and instructions by as many bytes as that:
 *
 *   lengths   by a hash of three bytes: 0, or the length of the last instruction that began so
 *   bytes     by a hash of an instruction's bytes: these, followed by zeros
 *   forms     beside them: the instruction as it was decoded there
 *
 * A wrong length only finds nothing: the first bytes decide an instruction, and its length.
 */
#include "tool/code/decoder.h"

#include <stdlib.h>
#include <string.h>

enum {
  LENGTH_BITS = 13,
  FORM_BITS = 12,
  BYTES_MAX = sizeof(uint64_t),
  BYTES_THAT_DECIDE = 3,
  RELATIVE_MAX = 3, /* longer distances are too many to be met again */
};

struct decoder_memory {
  uint8_t lengths[1 << LENGTH_BITS];
  uint64_t bytes[1 << FORM_BITS];
  struct code_instruction forms[1 << FORM_BITS];
};

struct decoder decoder_open(const struct code_architecture *architecture) {
  return (struct decoder){.architecture = architecture,
                          .memory = architecture->is_slow ? calloc(1, sizeof(struct decoder_memory))
                                                          : NULL};
}

void decoder_close(struct decoder *decoder) { free(decoder->memory); }

static uint64_t first_bytes(uint64_t bytes, unsigned count) {
  return bytes & UINT64_MAX >> (64 - 8 * count);
}

/* By the golden ratio (Knuth, "The Art of Computer Programming", volume 3, 6.4). */
static size_t hash(uint64_t bytes, unsigned bits) {
  return bytes * 0x9e3779b97f4a7c15 >> (64 - bits);
}

/* Whether the target is at a distance from the instruction. */
static bool has_distance(const struct code_instruction *instruction) {
  return instruction->is_relative && instruction->target_kind == CODE_DIRECT &&
         (instruction->kind == CODE_CALL || code_jumps(instruction->kind));
}

/* Whether the same bytes elsewhere are the same, but for a target's distance. */
static bool is_rememberable(const struct code_instruction *instruction) {
  return instruction->kind != CODE_INVALID && instruction->length <= BYTES_MAX &&
         (!instruction->is_relative ||
          (has_distance(instruction) && instruction->length <= RELATIVE_MAX));
}

/* Moves an instruction by a distance. */
static void move(struct code_instruction *instruction, uint64_t distance) {
  instruction->address += distance;
  instruction->target += has_distance(instruction) ? distance : 0;
}

static uint8_t *length_after(struct decoder_memory *memory, uint64_t word) {
  return &memory->lengths[hash(first_bytes(word, BYTES_THAT_DECIDE), LENGTH_BITS)];
}

/* False if the instruction that a word begins with isn't remembered. */
static bool recall(struct decoder_memory *memory, uint64_t word, uint64_t address,
                   struct code_instruction *instruction) {
  const uint8_t length = *length_after(memory, word);
  if (length == 0)
    return false;
  const uint64_t bytes = first_bytes(word, length);
  const size_t place = hash(bytes, FORM_BITS);
  if (memory->bytes[place] != bytes || memory->forms[place].length != length)
    return false;
  *instruction = memory->forms[place];
  move(instruction, address);
  return true;
}

static void remember(struct decoder_memory *memory, uint64_t word, uint64_t address,
                     const struct code_instruction *instruction) {
  const uint64_t bytes = first_bytes(word, instruction->length);
  const size_t place = hash(bytes, FORM_BITS);
  *length_after(memory, word) = instruction->length;
  memory->bytes[place] = bytes;
  memory->forms[place] = *instruction;
  move(&memory->forms[place], -address);
}

void decoder_read(const struct decoder *decoder, const uint8_t *bytes, size_t size,
                  uint64_t address, struct code_instruction *instruction) {
  struct decoder_memory *memory = decoder->memory;
  uint64_t word;
  if (memory == NULL || size < sizeof word) {
    decoder->architecture->decode(bytes, size, address, instruction);
    return;
  }
  memcpy(&word, bytes, sizeof word);
  if (recall(memory, word, address, instruction))
    return;
  decoder->architecture->decode(bytes, size, address, instruction);
  if (is_rememberable(instruction))
    remember(memory, word, address, instruction);
}
