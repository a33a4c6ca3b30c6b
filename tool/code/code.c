/* code.c - finds an architecture, and the entries of its tables: see code.h. */
#include "tool/code/code.h"

#include <assert.h>

const struct code_architecture *code_architecture(uint16_t machine) {
  static const struct code_architecture *const architectures[] = {&code_x86_64, &code_aarch64,
                                                                  &code_riscv64};
  for (size_t i = 0; i < sizeof architectures / sizeof *architectures; i++)
    if (architectures[i]->machine == machine)
      return architectures[i];
  return NULL;
}

uint32_t code_registers(const struct code_architecture *architecture, uint16_t set) {
  uint32_t registers = 0;
  assert(set >> CODE_PRESERVED == 0);
  for (unsigned i = 0; i < CODE_PRESERVED; i++) {
    assert((set >> i & 1) == 0 || architecture->in_sets[i] != 0); /* not every machine has all */
    registers |= (uint32_t)(set >> i & 1) << architecture->in_sets[i];
  }
  return registers;
}

enum code_relocation code_relocation(const struct code_architecture *architecture, uint64_t type) {
  const struct code_relocation_type *relocation = architecture->relocations;
  while (relocation->type != 0 && relocation->type != type)
    relocation++;
  return relocation->type == type ? relocation->meaning : CODE_RELOCATION_SYMBOL;
}
