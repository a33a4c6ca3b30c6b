/* ends_calls.c - compares the answers of elf/machine.h on code with a disassembler's.
 *
 * ends_calls MACHINE: each line of the standard input is an instruction in the order of the code: its bytes, in groups
 * of hexadecimal digits that are little-endian numbers, and the word `call` or `other`. Prints how many there are, how
 * many calls were missed, and after how many other instructions a call may end.
 */
#include "elf/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES_MAX = 64 };

struct code {
  uint8_t bytes[BYTES_MAX]; /* the last ones */
  size_t size;
};

static void append(struct code *code, uint8_t byte) {
  if (code->size == BYTES_MAX)
    memmove(code->bytes, code->bytes + 1, --code->size);
  code->bytes[code->size++] = byte;
}

int main(int count, char **words) {
  const struct machine *machine = count == 2 ? machine_find((uint16_t)atoi(words[1])) : NULL;
  unsigned instructions = 0, missed = 0, more = 0;
  struct code code = {.size = 0};
  char line[256];
  if (machine == NULL)
    return 2;
  while (fgets(line, sizeof line, stdin) != NULL) {
    bool is_call = false;
    for (char *word = strtok(line, " \t\n"); word != NULL; word = strtok(NULL, " \t\n")) {
      is_call = strcmp(word, "call") == 0;
      if (is_call || strcmp(word, "other") == 0)
        break;
      const unsigned long long group = strtoull(word, NULL, 16);
      for (size_t i = 0; i < strlen(word) / 2; i++)
        append(&code, (uint8_t)(group >> 8 * i));
    }
    const bool may = machine->ends_call(code.bytes + code.size, code.size);
    instructions++;
    missed += is_call && !may;
    more += !is_call && may;
  }
  printf("%u instructions, %u calls missed, %u others taken for one\n", instructions, missed, more);
  return missed > 0;
}
