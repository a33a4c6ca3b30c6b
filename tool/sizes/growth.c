/* growth.c - see growth.h. Both builds' rows are sorted by name, and then gone through side by
 * side. */
#include "tool/sizes/growth.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

const char *const growth_kinds[GROWTH_KINDS] = {"new", "grown", "shrunk", "gone"};

/* Whether two rows, of different builds, may be the same thing. A nameless one is identified by its
 * address. */
static int compare_keys(const struct survey_row *x, const struct survey_row *y) {
  const int names = survey_compare_text(x->name, y->name);
  if (names != 0)
    return names;
  const int units = survey_compare_text(x->unit, y->unit);
  if (units != 0 || x->name != NULL)
    return units;
  return x->address < y->address ? -1 : x->address > y->address;
}

static int compare_rows(const void *a, const void *b) {
  const struct survey_row *x = *(const struct survey_row *const *)a;
  const struct survey_row *y = *(const struct survey_row *const *)b;
  const int keys = compare_keys(x, y);
  return keys != 0 ? keys : x->address < y->address ? -1 : x->address > y->address;
}

/* A build's rows, by name. */
struct sorted_rows {
  const struct survey_row **items; /* owned */
  uint32_t count, next;
};

static struct sorted_rows sort(const struct survey_row *rows, uint32_t count) {
  struct sorted_rows sorted = {calloc((size_t)count + 1, sizeof *sorted.items), count, 0};
  for (uint32_t i = 0; i < count; i++)
    sorted.items[i] = &rows[i];
  qsort(sorted.items, count, sizeof *sorted.items, compare_rows);
  return sorted;
}

static uint64_t change_of(const struct growth_row *row) {
  return row->after > row->before ? row->after - row->before : row->before - row->after;
}

static int compare_changes(const void *a, const void *b) {
  const struct growth_row *x = a, *y = b;
  if (change_of(x) != change_of(y))
    return change_of(x) > change_of(y) ? -1 : 1;
  return compare_rows(&x->row, &y->row);
}

static void add_row(struct growth_rows *rows, const struct survey_row *before,
                    const struct survey_row *after) {
  struct growth_row row = {
      .row = after != NULL ? after : before,
      .kind = GROWTH_NEW,
      .before = before != NULL ? before->packed : 0,
      .after = after != NULL ? after->packed : 0,
  };
  if (before != NULL && after != NULL && row.before == row.after) {
    rows->same++;
    return;
  }
  if (before != NULL)
    row.kind = after == NULL ? GROWTH_GONE : row.after > row.before ? GROWTH_GROWN : GROWTH_SHRUNK;
  rows->counts[row.kind]++;
  rows->items[rows->count++] = row;
}

/* Whether the next row is the only one of its name. */
static bool is_only(const struct sorted_rows *rows) {
  const struct survey_row *row = rows->items[rows->next];
  return row->name != NULL &&
         (rows->next == 0 ||
          survey_compare_text(rows->items[rows->next - 1]->name, row->name) != 0) &&
         (rows->next + 1 == rows->count ||
          survey_compare_text(rows->items[rows->next + 1]->name, row->name) != 0);
}

/* The order of the next rows of both builds; 0 if they are the same thing. */
static int compare_next(const struct sorted_rows *before, const struct sorted_rows *after) {
  if (before->next == before->count)
    return 1;
  if (after->next == after->count)
    return -1;
  const struct survey_row *x = before->items[before->next], *y = after->items[after->next];
  if (survey_compare_text(x->name, y->name) == 0 && is_only(before) && is_only(after))
    return 0;
  return compare_keys(x, y);
}

/* Pairs the rows of both builds, and frees them. */
static void pair_up(struct growth_rows *rows, struct sorted_rows before, struct sorted_rows after) {
  rows->items = calloc((size_t)before.count + after.count + 1, sizeof *rows->items);
  while (before.next < before.count || after.next < after.count) {
    const int order = compare_next(&before, &after);
    const struct survey_row *old = order <= 0 ? before.items[before.next++] : NULL;
    add_row(rows, old, order >= 0 ? after.items[after.next++] : NULL);
  }
  assert(rows->count + rows->same <= before.count + after.count);
  qsort(rows->items, rows->count, sizeof *rows->items, compare_changes);
  free(before.items);
  free(after.items);
}

void growth_open(struct growth *growth, const struct survey *before, const struct survey *after) {
  *growth = (struct growth){0};
  growth->percent = 100.0 * ((double)after->packed.bits - (double)before->packed.bits) /
                    (double)before->packed.bits;
  pair_up(&growth->functions, sort(before->functions, before->function_count),
          sort(after->functions, after->function_count));
  pair_up(&growth->units, sort(before->units, before->unit_count),
          sort(after->units, after->unit_count));
}

void growth_close(struct growth *growth) {
  free(growth->functions.items);
  free(growth->units.items);
  *growth = (struct growth){0};
}
