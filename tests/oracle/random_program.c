/* random_program.c - writes a file of random stack maps, from a seed, for scripts: made by the unit
 * tests' generator.
 *
 *   random_program SEED RECORDS FILE
 *
 * It lacks code, symbols and unwind tables: only the maps, of about so many records.
 */
#include "tests/unit/elf_writer.h"
#include "tests/unit/generator.h"

#include <stdio.h>
#include <stdlib.h>

enum { BASE = 0x10000 };

int main(int argc, char **argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: random_program SEED RECORDS FILE\n");
    return 2;
  }
  struct model model = {0};
  struct elf elf;
  generate(&model, strtoull(argv[1], NULL, 10), (uint32_t)strtoul(argv[2], NULL, 10));
  elf_begin(&elf, BASE);
  elf_add_raw_model(&elf, &model);
  elf_finish(&elf);
  FILE *file = fopen(argv[3], "wb");
  const bool ok = file != NULL && fwrite(elf.bytes.data, 1, elf.bytes.size, file) == elf.bytes.size;
  if (file == NULL || fclose(file) != 0 || !ok) {
    perror(argv[3]);
    return 1;
  }
  elf_free(&elf);
  model_free(&model);
  return 0;
}
