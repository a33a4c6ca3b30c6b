/* frame_table.c - see frame_table.h. */
#include "tool/print/frame_table.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Slots first, by register and offset. A column begins with its location. */
static int compare_locations(const void *a, const void *b) {
  const struct stackpack_location *x = a, *y = b;
  const bool x_slot = x->kind == STACKPACK_INDIRECT, y_slot = y->kind == STACKPACK_INDIRECT;
  if (x_slot != y_slot)
    return x_slot ? -1 : 1;
  if (x->kind == y->kind && x->reg != y->reg)
    return x->reg > y->reg ? -1 : 1; /* so that rsp (7) comes before rbp (6) */
  return safepoint_location_compare(*x, *y);
}

/* ---- Columns ---- */

static void add_column(struct frame_table *table, const struct stackpack_location *location) {
  for (size_t i = 0; i < table->count; i++)
    if (compare_locations(&table->columns[i].location, location) == 0)
      return;
  if (table->count < FRAME_COLUMNS_MOST)
    table->columns[table->count++].location = *location;
  else
    table->is_too_wide = true;
}

void frame_table_begin(struct frame_table *table) {
  table->count = 0;
  table->is_too_wide = false;
}

void frame_table_add(struct frame_table *table, const struct record_view *view) {
  for (size_t i = 0; i < view->pair_count && !table->is_too_wide; i++) {
    add_column(table, &view->pairs[i].base);
    add_column(table, &view->pairs[i].derived);
  }
}

static bool same_register(struct stackpack_location a, struct stackpack_location b) {
  return a.kind == STACKPACK_INDIRECT && b.kind == STACKPACK_INDIRECT && a.reg == b.reg;
}

/* A slot as `+8`, if another one has its register. */
static void short_text(char text[LOCATION_TEXT_SIZE], struct stackpack_location location,
                       const struct stackpack_location *known, const struct machine *machine) {
  if (known == NULL || !same_register(location, *known)) {
    location_text(text, location, machine);
    return;
  }
  const int length = snprintf(text, LOCATION_TEXT_SIZE, "%+" PRId64, location.value);
  assert(0 < length && length < LOCATION_TEXT_SIZE);
  if (location.size != 8)
    snprintf(text + length, LOCATION_TEXT_SIZE - (size_t)length, ":%u", location.size);
}

void frame_table_arrange(struct frame_table *table, const struct machine *machine) {
  if (table->is_too_wide)
    table->count = 0;
  qsort(table->columns, table->count, sizeof *table->columns, compare_locations);
  for (size_t i = 0; i < table->count; i++) {
    struct frame_column *column = &table->columns[i];
    short_text(column->title, column->location, i > 0 ? &table->columns[i - 1].location : NULL,
               machine);
    column->width = (int)strlen(column->title);
  }
}

/* ---- Cells ---- */

struct cell {
  char text[2 * LOCATION_TEXT_SIZE];
  bool is_derived, is_empty;
};

static void append_base(struct cell *cell, const struct stackpack_location *base,
                        const struct stackpack_location *derived, const struct machine *machine) {
  char text[LOCATION_TEXT_SIZE];
  const size_t length = strlen(cell->text);
  short_text(text, *base, derived, machine);
  snprintf(cell->text + length, sizeof cell->text - length, "%s%s", length == 0 ? "<" : ",", text);
}

/* The contents of a column in a record's row. */
static void fill_cell(struct cell *cell, const struct stackpack_location *column,
                      const struct record_view *view, const struct machine *machine) {
  bool is_base = false;
  *cell = (struct cell){.text = ""};
  for (size_t i = 0; i < view->pair_count; i++) {
    const struct record_pair *pair = &view->pairs[i];
    const bool is_its_base = compare_locations(&pair->base, column) == 0;
    if (compare_locations(&pair->derived, column) != 0) {
      is_base |= is_its_base;
    } else if (is_its_base) {
      snprintf(cell->text, sizeof cell->text, "*");
    } else {
      append_base(cell, &pair->base, column, machine);
      cell->is_derived = true;
    }
  }
  if (*cell->text == 0) {
    cell->is_empty = !is_base;
    snprintf(cell->text, sizeof cell->text, is_base ? "b" : ".");
  }
}

void frame_table_widen(struct frame_table *table, const struct record_view *view,
                       const struct machine *machine) {
  struct cell cell;
  for (size_t i = 0; i < table->count; i++) {
    fill_cell(&cell, &table->columns[i].location, view, machine);
    const int width = (int)strlen(cell.text);
    if (width > table->columns[i].width)
      table->columns[i].width = width;
  }
}

/* ---- Printing ---- */

size_t frame_table_fit(const struct frame_table *table, size_t first, unsigned width) {
  unsigned used = 0;
  for (size_t i = first; i < table->count; i++) {
    used += (unsigned)table->columns[i].width + 1;
    if (width > 0 && used > width && i > first)
      return i;
  }
  return table->count;
}

void frame_table_print_titles(const struct frame_table *table, size_t first, size_t end) {
  assert(first < end && end <= table->count);
  for (size_t i = first; i < end; i++)
    printf(" %*s", table->columns[i].width, table->columns[i].title);
}

void frame_table_print_row(const struct frame_table *table, const struct record_text *text,
                           const struct record_view *view, size_t first, size_t end) {
  struct cell cell;
  for (size_t i = first; i < end; i++) {
    fill_cell(&cell, &table->columns[i].location, view, text->machine);
    printf(" %*s", table->columns[i].width - (int)strlen(cell.text), "");
    style_begin(text->is_coloured && !cell.is_empty,
                cell.is_derived ? STYLE_DERIVED : STYLE_REFERENCE);
    printf("%s", cell.text);
    style_end(text->is_coloured && !cell.is_empty);
  }
}
