/* line_rows.h - the rows of a table of lines whose file is the one at the sequence's start.
 *
 * That is file 1 (DWARF 5, 6.2.2). The distributions' libdwarf, of 2019 to 2021, takes file 0 for
 * it in tables of version 5, and hides the difference: so the table's operations are gone through
 * here, for this question alone.
 */
#ifndef STACKPACK_LINE_ROWS_H
#define STACKPACK_LINE_ROWS_H

#include "elf/cursor.h"

struct line_rows {
  struct cursor operations; /* those that are left */
  uint8_t opcode_base, lengths[UINT8_MAX];
  bool is_set; /* the file, in this sequence */
};

/* Starts at the table at an offset of the section .debug_line; one of another version than 5 has no
 * rows here. */
struct line_rows line_rows_of(const uint8_t *section, size_t size, uint64_t offset);

/* Moves on to the next row, and returns whether it has the file that a sequence starts with. */
bool line_rows_next(struct line_rows *rows);

#endif
