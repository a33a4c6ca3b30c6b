/* range_tables.h - the tables of lists of ranges in DWARF 5 (.debug_rnglists, there 7.28).
 *
 * Each unit has a table. libdwarf looks for a list's table in all of them, one by one, so that the
 * lists of n units take n * n steps. Here the tables are read once, and a list's is found by
 * bisection.
 */
#ifndef STACKPACK_RANGE_TABLES_H
#define STACKPACK_RANGE_TABLES_H

#include <libdwarf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Offsets in the section. */
struct range_table {
  uint64_t array;      /* of the lists' offsets from here */
  uint64_t start, end; /* of the lists */
};

struct range_tables {
  Dwarf_Debug dwarf;
  struct range_table *items; /* owned; by offset */
  size_t count;
};

/* A place in a list: that of its next entry. */
struct range_list {
  size_t table;
  uint64_t at;
};

struct range_entry {
  unsigned kind; /* DW_RLE_* */
  uint64_t a, b; /* its operands */
};

/* Reads the tables of a file; none if it lacks them. */
struct range_tables range_tables_read(Dwarf_Debug dwarf);
void range_tables_free(struct range_tables *tables);

/* The list at an offset in the section; and list `number` of the table whose array is at `base`.
 * False if there is none. */
bool range_list_at(const struct range_tables *tables, uint64_t offset, struct range_list *list);
bool range_list_numbered(const struct range_tables *tables, uint64_t base, uint64_t number,
                         struct range_list *list);

/* Reads a list's next entry; false at its end. */
bool range_list_next(const struct range_tables *tables, struct range_list *list,
                     struct range_entry *entry);

#endif
