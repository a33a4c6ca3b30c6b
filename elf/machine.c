/* machine.c - see machine.h. */
#include "elf/machine.h"

static const struct machine *const machines[] = {
    &machine_x86_64,
    &machine_aarch64,
    &machine_riscv64,
};

const struct machine *machine_find(uint16_t elf_number) {
  for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
    if (machines[i]->elf_number == elf_number)
      return machines[i];
  return NULL;
}
