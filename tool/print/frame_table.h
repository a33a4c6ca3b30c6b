/* frame_table.h - the frame of a function, drawn: a column for each slot, a row for each record.
 *
 *                        [rsp+8] +16 +24
 *     0x401176     +0x36       *   *   .
 *     0x401189     +0x49       * <+8   .
 *     0x4011a0     +0x60       b <+8   *
 *
 * In a slot, `*` is a reference, `<+8` one that is derived from the one at +8, and `b` a reference
 * that is needed only as the base of others. A column's register is named if the column before has
 * another one. Columns beyond the terminal's width are in another table below.
 */
#ifndef STACKPACK_FRAME_TABLE_H
#define STACKPACK_FRAME_TABLE_H

#include "tool/print/record_text.h"

struct frame_column {
  struct stackpack_location location;
  char title[LOCATION_TEXT_SIZE];
  int width;
};

/* With more than these, a table is hard to read: records list their slots instead. */
enum { FRAME_COLUMNS_MOST = 64 };

struct frame_table {
  struct frame_column columns[FRAME_COLUMNS_MOST]; /* by location */
  size_t count;
  bool is_too_wide; /* there would be more columns: it has none */
};

/* Lay a table out for some records: it begins; each record adds its columns; they get their order
 * and titles; and each record makes them as wide as its cells. */
void frame_table_begin(struct frame_table *table);
void frame_table_add(struct frame_table *table, const struct record_view *view);
void frame_table_arrange(struct frame_table *table, const struct machine *machine);
void frame_table_widen(struct frame_table *table, const struct record_view *view,
                       const struct machine *machine);

/* The column after the last one that fits into a width; at least one does. 0: any width. */
size_t frame_table_fit(const struct frame_table *table, size_t first, unsigned width);

/* Print the titles, or a row, of the columns [first, end), with the line left open. */
void frame_table_print_titles(const struct frame_table *table, size_t first, size_t end);
void frame_table_print_row(const struct frame_table *table, const struct record_text *text,
                           const struct record_view *view, size_t first, size_t end);

#endif
