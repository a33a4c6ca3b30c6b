/* decoder.c - see decoder.h.
 *
 * Only decoding gives an instruction's length. But its first three bytes nearly decide
 * it: so the last length after these bytes is remembered, and instructions of that many bytes:
 *
 *   lengths    by a hash of three bytes: 0, or the length of the last instruction that began so
 *   items      by a hash of an instruction's bytes: its form, its constants, and its target as at
 *              address 0
 *   recent     by a weak hash of an instruction's effects: its form's number
 *
 * A wrong length only finds nothing: the first bytes decide an instruction, and its length.
 */
#include "tool/code/decoder.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
  LENGTH_BITS = 13,
  MEMORY_BITS = 12,
  RECENT_BITS = 10,
  BYTES_MAX = sizeof(uint64_t),
  BYTES_THAT_DECIDE = 3,
  RELATIVE_MAX = 3,     /* longer distances are too many to be met again */
  FORMS_KEPT = 1 << 13, /* 1.2 MB */
  FORM_WORDS = sizeof(struct code_instruction) / sizeof(uint64_t),
};

struct memory {
  uint64_t bytes; /* followed by zeros */
  uint64_t target;
  uint64_t constants[CODE_CONSTANTS];
  uint32_t form;
  uint8_t length; /* 0: nothing is remembered */
};

struct decoder_memory {
  uint8_t lengths[1 << LENGTH_BITS];
  struct memory items[1 << MEMORY_BITS];
  uint32_t recent[1 << RECENT_BITS]; /* forms */
};

struct decoder decoder_open(const struct code_architecture *architecture) {
  return (struct decoder){.architecture = architecture,
                          .memory = calloc(1, sizeof(struct decoder_memory))};
}

void decoder_close(struct decoder *decoder) {
  intern_free(&decoder->forms);
  free(decoder->memory);
}

/* ---- Forms ---- */

/* By the golden ratio (Knuth, "The Art of Computer Programming", volume 3, 6.4). */
static size_t hash(uint64_t bytes, unsigned bits) {
  return bytes * 0x9e3779b97f4a7c15 >> (64 - bits);
}

/* Of some of an instruction's effects. */
static size_t weak_hash(const struct code_instruction *instruction) {
  const struct code_stack *stack = &instruction->stack;
  const struct code_parts *parts = &instruction->parts;
  const struct code_values *values = &instruction->values;
  const uint64_t registers = parts->reads | (uint64_t)(parts->writes | parts->may_write) << 32;
  const uint64_t named = values->base ^ (uint64_t)values->to << 8 ^
                         (uint64_t)(values->first ^ values->second) << 16 ^
                         (uint64_t)values->operation << 24;
  const uint64_t others = named << 16 ^ (uint64_t)instruction->length << 8 ^
                          (uint32_t)stack->offset ^ (uint64_t)stack->changes << 40;
  return hash(registers ^ others ^ (uint64_t)instruction->kind << 56, RECENT_BITS);
}

union form {
  struct code_instruction instruction;
  uint64_t words[FORM_WORDS];
};

static union form form_of(const struct code_instruction *instruction) {
  union form form = {*instruction};
  form.instruction.form = 0;
  form.instruction.address = form.instruction.target = form.instruction.reference = 0;
  memset(form.instruction.constants, 0, sizeof form.instruction.constants);
  return form;
}

/* Whether a number has this form. */
static bool is_form(const struct decoder *decoder, uint32_t number, union form form) {
  return number < decoder->forms.count &&
         memcmp(intern_get(&decoder->forms, number).words, form.words, sizeof form) == 0;
}

/* Most are among the last ones, where a weak hash finds them sooner than the set does. */
uint32_t decoder_form(struct decoder *decoder, const struct code_instruction *instruction) {
  if (instruction->form != 0) {
    /* cppcheck-suppress assertWithSideEffect - it has none */
    assert(is_form(decoder, instruction->form - 1, form_of(instruction)));
    return instruction->form - 1;
  }
  const union form form = form_of(instruction);
  uint32_t *recent = &decoder->memory->recent[weak_hash(&form.instruction)];
  if (!is_form(decoder, *recent, form))
    *recent = intern_add(&decoder->forms, form.words, FORM_WORDS);
  return *recent;
}

void decoder_trim(struct decoder *decoder) {
  if (decoder->forms.count <= FORMS_KEPT)
    return;
  intern_free(&decoder->forms);
  memset(decoder->memory, 0, sizeof *decoder->memory);
}

/* ---- Memory ---- */

static uint64_t first_bytes(uint64_t bytes, unsigned count) {
  assert(0 < count && count <= BYTES_MAX);
  return bytes & UINT64_MAX >> (64 - 8 * count);
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

static uint8_t *length_after(struct decoder_memory *memory, uint64_t word) {
  return &memory->lengths[hash(first_bytes(word, BYTES_THAT_DECIDE), LENGTH_BITS)];
}

static struct memory *memory_of(struct decoder_memory *memory, uint64_t bytes) {
  return &memory->items[hash(bytes, MEMORY_BITS)];
}

/* False if the instruction that a word begins with isn't remembered. */
static bool recall(const struct decoder *decoder, uint64_t word, uint64_t address,
                   struct code_instruction *instruction) {
  const uint8_t length = *length_after(decoder->memory, word);
  if (length == 0)
    return false;
  const uint64_t bytes = first_bytes(word, length);
  const struct memory *memory = memory_of(decoder->memory, bytes);
  if (memory->bytes != bytes || memory->length != length)
    return false;
  *instruction = *decoder_get(decoder, memory->form);
  assert(instruction->length == length);
  instruction->form = memory->form + 1;
  instruction->target = memory->target + (has_distance(instruction) ? address : 0);
  memcpy(instruction->constants, memory->constants, sizeof memory->constants);
  return true;
}

static void remember(struct decoder *decoder, uint64_t word, uint64_t address,
                     struct code_instruction *instruction) {
  const uint64_t bytes = first_bytes(word, instruction->length);
  struct memory *memory = memory_of(decoder->memory, bytes);
  const uint32_t form = decoder_form(decoder, instruction);
  instruction->form = form + 1;
  *length_after(decoder->memory, word) = instruction->length;
  *memory =
      (struct memory){.bytes = bytes,
                      .target = instruction->target - (has_distance(instruction) ? address : 0),
                      .form = form,
                      .length = instruction->length};
  memcpy(memory->constants, instruction->constants, sizeof memory->constants);
}

void decoder_read(struct decoder *decoder, const uint8_t *bytes, size_t size, uint64_t address,
                  struct code_instruction *instruction) {
  const bool may_remember = size >= sizeof(uint64_t);
  uint64_t word = 0;
  if (may_remember)
    memcpy(&word, bytes, sizeof word);
  if (!may_remember || !recall(decoder, word, address, instruction)) {
    decoder->architecture->decode(bytes, size, address, instruction);
    if (may_remember && is_rememberable(instruction))
      remember(decoder, word, address, instruction);
  }
  instruction->address = address;
  assert(instruction->length > 0 && instruction->length <= size);
}
