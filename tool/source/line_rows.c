/* line_rows.c - see line_rows.h. Sections are those of the DWARF 5 document. */
#include "tool/source/line_rows.h"

#include <dwarf.h>

/* 6.2.4 */
struct line_rows line_rows_of(const uint8_t *section, size_t size, uint64_t offset) {
  enum { VERSION = 5, LONG = 0xffffffff, BEFORE_OPCODE_BASE = 5 };
  struct line_rows rows = {.operations = cursor_open(section, size, 0)};
  struct cursor *at = &rows.operations;
  cursor_skip(at, offset);
  uint64_t length = cursor_take(at, 4);
  const unsigned offset_size = length == LONG ? 8 : 4;
  length = length == LONG ? cursor_take(at, 8) : length;
  if (length < at->end - at->position)
    at->end = at->position + length;
  if (cursor_take(at, 2) != VERSION)
    return (struct line_rows){0};
  cursor_skip(at, 2); /* sizes of addresses */
  const uint64_t header = cursor_take(at, offset_size);
  struct cursor inside = *at;
  cursor_skip(at, header);
  cursor_skip(&inside, BEFORE_OPCODE_BASE);
  rows.opcode_base = (uint8_t)cursor_take(&inside, 1);
  for (unsigned i = 1; i < rows.opcode_base; i++)
    rows.lengths[i] = (uint8_t)cursor_take(&inside, 1);
  return rows;
}

/* Takes the operands of a standard operation (6.2.5.2). */
static void take_standard(struct line_rows *rows, uint8_t operation) {
  rows->is_set |= operation == DW_LNS_set_file;
  if (operation == DW_LNS_fixed_advance_pc)
    cursor_skip(&rows->operations, 2);
  else
    for (unsigned i = 0; i < rows->lengths[operation]; i++)
      cursor_take_leb128(&rows->operations, false);
}

bool line_rows_next(struct line_rows *rows) {
  struct cursor *at = &rows->operations;
  while (at->position < at->end) {
    const uint8_t operation = (uint8_t)cursor_take(at, 1);
    if (operation >= rows->opcode_base || operation == DW_LNS_copy)
      return !rows->is_set;
    if (operation != 0) {
      take_standard(rows, operation);
      continue;
    }
    const uint64_t length = cursor_take_leb128(at, false);
    struct cursor extended = *at;
    const bool ends = length > 0 && cursor_take(&extended, 1) == DW_LNE_end_sequence;
    const bool result = !rows->is_set;
    cursor_skip(at, length);
    if (ends) {
      rows->is_set = false;
      return result;
    }
  }
  return false;
}
