/* crel.c - see crel.h. */
#include "tool/image/crel.h"

/* The numbers wrap as unsigned ones do; bits beyond the 64th are dropped. */
static uint64_t read_leb128(struct crel *crel, bool is_signed) {
  uint64_t number = 0;
  for (unsigned shift = 0; crel->next < crel->end; shift += 7) {
    const uint8_t byte = *crel->next++;
    if (shift < 64)
      number |= (uint64_t)(byte & 0x7f) << shift;
    if (byte >= 0x80)
      continue;
    return is_signed && (byte & 0x40) != 0 && shift + 7 < 64 ? number | UINT64_MAX << (shift + 7)
                                                             : number;
  }
  crel->bad = true;
  return 0;
}

struct crel crel_open(const uint8_t *bytes, uint64_t size) {
  struct crel crel = {.next = bytes, .end = bytes + size};
  const uint64_t header = read_leb128(&crel, false);
  crel.left = header >> 3;
  crel.has_addends = (header & 4) != 0;
  crel.shift = header & 3;
  crel.bad |= crel.left > (uint64_t)(crel.end - crel.next);
  return crel;
}

bool crel_next(struct crel *crel, Elf64_Rela *relocation) {
  if (crel->bad || crel->left == 0 || crel->next == crel->end) {
    crel->bad |= crel->left > 0;
    return false;
  }
  const unsigned flags = crel->has_addends ? 3 : 2;
  const uint8_t first = *crel->next++;
  Elf64_Rela *last = &crel->relocation;
  uint64_t symbol = ELF64_R_SYM(last->r_info), type = ELF64_R_TYPE(last->r_info);
  crel->left--;
  last->r_offset += (first & 0x7f) >> flags;
  if (first >= 0x80)
    last->r_offset += read_leb128(crel, false) << (7 - flags);
  symbol += (first & 1) != 0 ? read_leb128(crel, true) : 0;
  type += (first & 2) != 0 ? read_leb128(crel, true) : 0;
  if (crel->has_addends && (first & 4) != 0)
    last->r_addend = (int64_t)((uint64_t)last->r_addend + read_leb128(crel, true));
  last->r_info = ELF64_R_INFO(symbol & UINT32_MAX, type & UINT32_MAX);
  *relocation = *last;
  relocation->r_offset <<= crel->shift;
  return !crel->bad;
}
