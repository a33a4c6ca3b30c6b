/* line_rows.c - see line_rows.h. Sections are those of the DWARF 5 document. */
#include "tool/source/line_rows.h"

#include <dwarf.h>
#include <string.h>

/* Takes bytes, little-endian; zeros behind the end, where the rows then end, too. */
static uint64_t take(struct line_rows *rows, size_t bytes) {
  uint64_t value = 0;
  if ((size_t)(rows->end - rows->at) < bytes)
    rows->at = rows->end;
  else
    memcpy(&value, rows->at, bytes);
  rows->at += rows->at == rows->end ? 0 : bytes;
  return value;
}

static void skip(struct line_rows *rows, uint64_t bytes) {
  rows->at +=
      bytes < (uint64_t)(rows->end - rows->at) ? (size_t)bytes : (size_t)(rows->end - rows->at);
}

static uint64_t take_leb(struct line_rows *rows) {
  uint64_t value = 0, byte = 0x80;
  for (unsigned shift = 0; (byte & 0x80) != 0 && rows->at < rows->end; shift += 7) {
    byte = *rows->at++;
    value |= shift < 64 ? (byte & 0x7f) << shift : 0;
  }
  return value;
}

/* 6.2.4 */
struct line_rows line_rows_of(const uint8_t *section, size_t size, uint64_t offset) {
  enum { VERSION = 5, LONG = 0xffffffff, BEFORE_OPCODE_BASE = 5 };
  struct line_rows rows = {0};
  if (section == NULL || offset >= size)
    return rows;
  rows.at = section + offset;
  rows.end = section + size;
  uint64_t length = take(&rows, 4);
  const size_t offset_size = length == LONG ? 8 : 4;
  length = length == LONG ? take(&rows, 8) : length;
  if (length < (uint64_t)(rows.end - rows.at))
    rows.end = rows.at + length;
  if (take(&rows, 2) != VERSION)
    return (struct line_rows){0};
  skip(&rows, 2); /* sizes of addresses */
  const uint64_t header = take(&rows, offset_size);
  struct line_rows inside = rows;
  skip(&rows, header);
  skip(&inside, BEFORE_OPCODE_BASE);
  rows.opcode_base = (uint8_t)take(&inside, 1);
  for (unsigned i = 1; i < rows.opcode_base; i++)
    rows.lengths[i] = (uint8_t)take(&inside, 1);
  return rows;
}

/* Takes the operands of a standard operation (6.2.5.2). */
static void take_standard(struct line_rows *rows, uint8_t operation) {
  rows->is_set |= operation == DW_LNS_set_file;
  if (operation == DW_LNS_fixed_advance_pc)
    skip(rows, 2);
  else
    for (unsigned i = 0; i < rows->lengths[operation]; i++)
      take_leb(rows);
}

bool line_rows_next(struct line_rows *rows) {
  while (rows->at < rows->end) {
    const uint8_t operation = *rows->at++;
    if (operation >= rows->opcode_base || operation == DW_LNS_copy)
      return !rows->is_set;
    if (operation != 0) {
      take_standard(rows, operation);
      continue;
    }
    const uint64_t length = take_leb(rows);
    const bool ends = rows->at < rows->end && length > 0 && *rows->at == DW_LNE_end_sequence;
    const bool result = !rows->is_set;
    skip(rows, length);
    if (ends) {
      rows->is_set = false;
      return result;
    }
  }
  return false;
}
