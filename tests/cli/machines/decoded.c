/* Prints the decoder's facts on instructions: for each line "ADDRESS BYTES" of the input, in
 * hexadecimal,
 *
 *     ADDRESS LENGTH KIND TARGET READS WRITES MAY-WRITE GROWTH COPY CHANGES
 *
 * in the same order. The first argument is the machine's number in ELF.
 */
#include "tool/code/code.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static size_t read_bytes(const char *text, uint8_t *bytes) {
  size_t count = 0;
  for (unsigned value; count < 16 && sscanf(text + 2 * count, "%2x", &value) == 1; count++)
    bytes[count] = (uint8_t)value;
  return count;
}

int main(int argc, char **argv) {
  static const char *const kinds[] = {"other",  "padding", "call", "jump",
                                      "branch", "return",  "stop", "invalid"};
  const struct code_architecture *architecture =
      argc == 2 ? code_architecture((uint16_t)atoi(argv[1])) : NULL;
  uint64_t address;
  char text[40];
  if (architecture == NULL)
    return 1;
  while (scanf("%" SCNx64 " %39s", &address, text) == 2) {
    struct code_instruction instruction;
    uint8_t bytes[16];
    const size_t size = read_bytes(text, bytes);
    architecture->decode(bytes, size, address, &instruction);
    const struct code_parts *parts = &instruction.parts;
    const uint8_t base = instruction.values.base;
    const uint32_t from = parts->part != CODE_NO_PART && base < 32 ? (uint32_t)1 << base : 0;
    printf("%" PRIx64 " %u %s %" PRIx64 " %x %x %x %d %u %u\n", address, instruction.length,
           kinds[instruction.kind], instruction.target, parts->reads | from, parts->writes,
           parts->may_write, instruction.stack.growth, instruction.stack.copy,
           instruction.stack.changes);
  }
  return 0;
}
