/* crel.c - see crel.h. */
#include "tool/image/crel.h"

#include <assert.h>

struct crel crel_open(const uint8_t *bytes, uint64_t size) {
  struct crel crel = {.bytes = cursor_open(bytes, size, 0)};
  const uint64_t header = cursor_take_leb128(&crel.bytes, false);
  crel.left = header >> 3;
  crel.has_addends = (header & 4) != 0;
  crel.shift = header & 3;
  assert(crel.bytes.position <= size);
  crel.bytes.bad |= crel.left > size - crel.bytes.position;
  return crel;
}

bool crel_next(struct crel *crel, Elf64_Rela *relocation) {
  struct cursor *bytes = &crel->bytes;
  if (bytes->bad || crel->left == 0)
    return false;
  const unsigned flags = crel->has_addends ? 3 : 2;
  const uint64_t first = cursor_take(bytes, 1);
  Elf64_Rela *last = &crel->relocation;
  uint64_t symbol = ELF64_R_SYM(last->r_info), type = ELF64_R_TYPE(last->r_info);
  crel->left--;
  last->r_offset += (first & 0x7f) >> flags;
  if (first >= 0x80)
    last->r_offset += cursor_take_leb128(bytes, false) << (7 - flags);
  symbol += (first & 1) != 0 ? cursor_take_leb128(bytes, true) : 0;
  type += (first & 2) != 0 ? cursor_take_leb128(bytes, true) : 0;
  if (crel->has_addends && (first & 4) != 0)
    last->r_addend = (int64_t)((uint64_t)last->r_addend + cursor_take_leb128(bytes, true));
  last->r_info = ELF64_R_INFO(symbol & UINT32_MAX, type & UINT32_MAX);
  *relocation = *last;
  relocation->r_offset <<= crel->shift;
  return !bytes->bad;
}
