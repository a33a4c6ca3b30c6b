/* relocate.c - see relocate.h.
 *
 * The tables have the relocation types of data: stack maps, unwind tables and debug information
 * ("System V ABI, AMD64 Supplement", Table 4.9; "ELF for the Arm 64-bit Architecture", 5.7; "RISC-V
 * ELF psABI", "Relocations"). RISC-V's linkers move code, so its assembler expresses a difference
 * of addresses as a pair of relocations: one adds, the other subtracts.
 */
#include "tool/objects/relocate.h"

#include <stddef.h>
#include <string.h>

enum operation { NOTHING, STORE, RELATIVE, ADD, SUBTRACT, SET_ULEB128, SUBTRACT_ULEB128 };

struct kind {
  uint32_t type;
  uint8_t operation;
  uint8_t bits;
};

static const struct kind x86_64[] = {
    {R_X86_64_NONE, NOTHING, 0},   {R_X86_64_64, STORE, 64},      {R_X86_64_32, STORE, 32},
    {R_X86_64_32S, STORE, 32},     {R_X86_64_PC32, RELATIVE, 32}, {R_X86_64_PLT32, RELATIVE, 32},
    {R_X86_64_PC64, RELATIVE, 64},
};
static const struct kind aarch64[] = {
    {R_AARCH64_NONE, NOTHING, 0},     {R_AARCH64_ABS64, STORE, 64},
    {R_AARCH64_ABS32, STORE, 32},     {R_AARCH64_PREL64, RELATIVE, 64},
    {R_AARCH64_PREL32, RELATIVE, 32},
};
enum { RISCV_32_PCREL = 57, RISCV_PLT32 = 59, RISCV_SET_ULEB128, RISCV_SUB_ULEB128 };
static const struct kind riscv64[] = {
    {R_RISCV_NONE, NOTHING, 0},
    {R_RISCV_64, STORE, 64},
    {R_RISCV_32, STORE, 32},
    {RISCV_32_PCREL, RELATIVE, 32},
    {RISCV_PLT32, RELATIVE, 32},
    {R_RISCV_ADD8, ADD, 8},
    {R_RISCV_ADD16, ADD, 16},
    {R_RISCV_ADD32, ADD, 32},
    {R_RISCV_ADD64, ADD, 64},
    {R_RISCV_SUB8, SUBTRACT, 8},
    {R_RISCV_SUB16, SUBTRACT, 16},
    {R_RISCV_SUB32, SUBTRACT, 32},
    {R_RISCV_SUB64, SUBTRACT, 64},
    {R_RISCV_SUB6, SUBTRACT, 6},
    {R_RISCV_SET6, STORE, 6},
    {R_RISCV_SET8, STORE, 8},
    {R_RISCV_SET16, STORE, 16},
    {R_RISCV_SET32, STORE, 32},
    {RISCV_SET_ULEB128, SET_ULEB128, 0},
    {RISCV_SUB_ULEB128, SUBTRACT_ULEB128, 0},
};

static const struct {
  uint16_t machine;
  const struct kind *kinds;
  size_t count;
} tables[] = {
    {EM_X86_64, x86_64, sizeof x86_64 / sizeof *x86_64},
    {EM_AARCH64, aarch64, sizeof aarch64 / sizeof *aarch64},
    {EM_RISCV, riscv64, sizeof riscv64 / sizeof *riscv64},
};

static const struct kind *kind_of(uint16_t machine, uint32_t type) {
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
    for (size_t k = 0; tables[i].machine == machine && k < tables[i].count; k++)
      if (tables[i].kinds[k].type == type)
        return &tables[i].kinds[k];
  return NULL;
}

/* Changes a number within its length in bytes. */
static bool change_uleb128(uint8_t *bytes, uint64_t size, uint64_t value, bool subtract) {
  uint64_t length = 0, old = 0;
  do {
    if (length == size)
      return false;
    if (length < 10)
      old |= (uint64_t)(bytes[length] & 0x7f) << 7 * length;
  } while (bytes[length++] >= 0x80);
  value = subtract ? old - value : value;
  for (uint64_t i = 0; i < length; i++, value >>= 7)
    bytes[i] = (uint8_t)((bytes[i] & 0x80) | (value & 0x7f));
  return true;
}

bool relocate(const struct relocated *section, const Elf64_Rela *relocation, bool has_addend,
              uint64_t symbol, bool is_defined) {
  const struct kind *kind = kind_of(section->machine, ELF64_R_TYPE(relocation->r_info));
  const uint64_t at = relocation->r_offset;
  if (kind == NULL)
    return false;
  if (kind->operation == NOTHING)
    return true;
  const unsigned size = (kind->bits + 7u) / 8;
  if (at > section->size || size > section->size - at)
    return false;
  uint64_t value = 0, old = 0;
  memcpy(&old, section->bytes + at, size);
  const uint64_t mask = kind->bits == 64 ? UINT64_MAX : (UINT64_C(1) << kind->bits) - 1;
  if (has_addend)
    value = symbol + (uint64_t)relocation->r_addend;
  else /* in place; the mask below removes excess bits */
    value = symbol + (kind->operation == STORE || kind->operation == RELATIVE ? old : 0);
  switch (kind->operation) {
  case SET_ULEB128:
  case SUBTRACT_ULEB128:
    return change_uleb128(section->bytes + at, section->size - at, value,
                          kind->operation == SUBTRACT_ULEB128);
  case RELATIVE:
    value -= section->address + at;
    break;
  case ADD:
    value = old + value;
    break;
  case SUBTRACT:
    value = old - value;
    break;
  default:
    value = is_defined ? value : 0;
  }
  value = (old & ~mask) | (value & mask);
  memcpy(section->bytes + at, &value, size);
  return true;
}
