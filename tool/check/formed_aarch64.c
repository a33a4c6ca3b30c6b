/* formed_aarch64.c - AArch64's: see formed.h. (Arm Architecture Reference Manual, C4.1)
 *
 * ADR and loads from literal pools have a whole address. ADRP has that of a page, to which an addition,
 * or a load or store with a scaled offset, adds the rest. MOVZ and MOVK make a constant in parts.
 */
#include "tool/check/formed.h"

#include "format/bits.h"

static uint64_t field(uint32_t word, unsigned low, unsigned width) {
  return word >> low & (((uint32_t)1 << width) - 1);
}

static uint64_t signed_field(uint64_t value, unsigned width) {
  const uint64_t sign = (uint64_t)1 << (width - 1);
  return (value ^ sign) - sign;
}

/* What an instruction puts into a register: the result of a computation (but CCMP and CCMN have none), or
 * what is loaded. */
static void forget_result(struct formed *formed, uint32_t word) {
  const bool computes = (word & 0x1c000000) == 0x10000000 ||
                        ((word & 0x0e000000) == 0x0a000000 && (word & 0x1fe00000) != 0x1a400000);
  const bool is_pair = (word & 0x3a000000) == 0x28000000;
  const bool loads =
      (word & 0x0e000000) == 0x08000000 && (is_pair ? field(word, 22, 1) : field(word, 22, 2)) != 0;
  if (computes || loads)
    formed_forget(formed, word & 31);
  if (loads && is_pair)
    formed_forget(formed, (unsigned)field(word, 10, 5));
}

static void step(struct formed *formed, uint32_t word, uint64_t address) {
  enum { PAGE = 4096 };
  const unsigned to = word & 31, from = word >> 5 & 31;
  const uint64_t relative = signed_field(field(word, 5, 19) << 2 | field(word, 29, 2), 21);
  const unsigned shift = (unsigned)field(word, 21, 2) * 16;
  if ((word & 0x9f000000) == 0x90000000) { /* ADRP */
    formed_set(formed, to, (address & -(uint64_t)PAGE) + relative * PAGE);
  } else if ((word & 0x9f000000) == 0x10000000) { /* ADR */
    formed->has_address = true;
    formed->address = address + relative;
  } else if ((word & 0x3b000000) == 0x18000000) { /* LDR (literal) */
    formed->has_address = true;
    formed->address = address + signed_field(field(word, 5, 19), 19) * 4;
  } else if ((word & 0xff800000) == 0x91000000) { /* ADD (immediate) */
    formed_add(formed, from, field(word, 10, 12) << (field(word, 22, 1) * 12));
  } else if ((word & 0x3b000000) == 0x39000000) { /* LDR, STR and others (unsigned immediate) */
    const bool is_quad = field(word, 26, 1) != 0 && field(word, 23, 1) != 0;
    formed_add(formed, from, field(word, 10, 12) << (is_quad ? 4 : field(word, 30, 2)));
  } else if ((word & 0xff800000) == 0xd2800000) { /* MOVZ */
    formed_set(formed, to, field(word, 5, 16) << shift);
    formed_add(formed, to, 0);
  } else if ((word & 0xff800000) == 0xf2800000) { /* MOVK */
    formed->upper[to] &= ~((uint64_t)0xffff << shift);
    formed_add(formed, to, field(word, 5, 16) << shift);
    formed->upper[to] = formed->address;
    return;
  }
  if ((word & 0x9f000000) != 0x90000000 && (word & 0xff800000) != 0xd2800000)
    forget_result(formed, word);
}

size_t formed_aarch64(struct formed *formed, const uint8_t *bytes, size_t size, uint64_t address) {
  formed->has_address = false;
  if (size < 4)
    return size;
  step(formed, bits_load32(bytes), address);
  return 4;
}
