/* compare.c - see compare.h.
 *
 * Interned numbers are private to their table, so contents are compared by value. As contents
 * repeat, the pairs of numbers that were found equal are remembered: nearly all comparisons end
 * there.
 */
#include "tool/check/compare.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void differences_add(struct differences *differences, const char *format, ...) {
  if (differences->count++ > 0)
    return;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(differences->first, sizeof differences->first, format, arguments);
  va_end(arguments);
}

/* Two tables, and for each sequence of a the one of b that it was last found equal to, plus 1. */
struct comparison {
  const struct safepoints *a, *b;
  uint32_t *live, *lists;
};

static bool same_location(const struct comparison *comparison, uint64_t a, uint64_t b) {
  return safepoint_location_compare(safepoints_location(comparison->a, (uint32_t)a),
                                    safepoints_location(comparison->b, (uint32_t)b)) == 0;
}

/* Whether two sequences have the same items, by a function for these. *known: the one of b that x
 * was last found equal to, plus 1; y has number `other`. */
static bool same_items(const struct comparison *comparison, struct intern_sequence x,
                       struct intern_sequence y, uint32_t *known, uint32_t other,
                       bool (*same)(const struct comparison *, uint64_t, uint64_t)) {
  if (*known == other + 1)
    return true;
  if (x.count != y.count)
    return false;
  for (uint64_t i = 0; i < x.count; i++)
    if (!same(comparison, x.words[i], y.words[i]))
      return false;
  *known = other + 1;
  return true;
}

static bool same_locations(const struct comparison *comparison, uint32_t a, uint32_t b) {
  return same_items(comparison, intern_get(&comparison->a->lists, a),
                    intern_get(&comparison->b->lists, b), &comparison->lists[a], b, same_location);
}

static bool same_item(const struct comparison *comparison, uint64_t a, uint64_t b) {
  if (a >> 62 != b >> 62 && (safepoint_item_is_list(a) || safepoint_item_is_list(b)))
    return false;
  if (safepoint_item_is_list(a))
    return same_locations(comparison, safepoint_item_list(a), safepoint_item_list(b));
  return same_location(comparison, safepoint_item_base(a), safepoint_item_base(b)) &&
         same_location(comparison, safepoint_item_derived(a), safepoint_item_derived(b));
}

static bool same_live(const struct comparison *comparison, uint32_t a, uint32_t b) {
  return same_items(comparison, intern_get(&comparison->a->live, a),
                    intern_get(&comparison->b->live, b), &comparison->live[a], b, same_item);
}

static bool same_frame(const struct comparison *comparison, uint32_t a, uint32_t b) {
  if (a == 0 || b == 0)
    return a == b;
  return intern_equal(intern_get(&comparison->a->frames, a - 1),
                      intern_get(&comparison->b->frames, b - 1));
}

/* The first difference between two records, by its name; NULL: there is none. */
static const char *record_difference(const struct comparison *comparison, const struct safepoint *a,
                                     const struct safepoint *b) {
  const struct safepoint_function *f = &comparison->a->functions[a->function];
  const struct safepoint_function *g = &comparison->b->functions[b->function];
  if (f->address != g->address)
    return "the function";
  if (f->frame_size != g->frame_size)
    return "the frame size";
  if (a->id != b->id)
    return "the ID";
  if (!same_live(comparison, a->live, b->live))
    return "the live locations";
  if (a->calling_convention != b->calling_convention)
    return "the calling convention";
  if (a->flags != b->flags)
    return "the flags";
  if (!same_locations(comparison, a->deopt, b->deopt))
    return "the deopt state";
  if (!intern_equal(intern_get(&comparison->a->lists, a->live_outs),
                    intern_get(&comparison->b->lists, b->live_outs)))
    return "the live-outs";
  if (!same_frame(comparison, a->frame, b->frame))
    return "the frame";
  return NULL;
}

static void compare_functions(const struct comparison *comparison,
                              struct differences *differences) {
  const struct safepoints *a = comparison->a, *b = comparison->b;
  if (a->function_count != b->function_count) {
    differences_add(differences, "%" PRIu32 " functions, not %" PRIu32, b->function_count,
                    a->function_count);
    return;
  }
  for (uint32_t i = 0; i < a->function_count; i++)
    if (a->functions[i].address != b->functions[i].address ||
        a->functions[i].frame_size != b->functions[i].frame_size)
      differences_add(differences, "the function at 0x%" PRIx64 " differs",
                      a->functions[i].address);
}

static void compare_records(const struct comparison *comparison, struct differences *differences) {
  const struct safepoints *a = comparison->a, *b = comparison->b;
  uint32_t i = 0, k = 0;
  while (i < a->record_count || k < b->record_count) {
    const struct safepoint *of_a = i < a->record_count ? &a->records[i] : NULL;
    const struct safepoint *of_b = k < b->record_count ? &b->records[k] : NULL;
    if (of_b == NULL || (of_a != NULL && of_a->address < of_b->address)) {
      differences_add(differences, "the record at 0x%" PRIx64 " is missing", of_a->address);
      i++;
    } else if (of_a == NULL || of_b->address < of_a->address) {
      differences_add(differences, "there is a record too many at 0x%" PRIx64, of_b->address);
      k++;
    } else {
      const char *difference = record_difference(comparison, of_a, of_b);
      if (difference != NULL)
        differences_add(differences, "%s of the record at 0x%" PRIx64 " differs", difference,
                        of_a->address);
      i++;
      k++;
    }
  }
}

static void compare_global_roots(const struct comparison *comparison,
                                 struct differences *differences) {
  const struct safepoints *a = comparison->a, *b = comparison->b;
  if (a->global_root_count != b->global_root_count) {
    differences_add(differences, "%" PRIu32 " global roots, not %" PRIu32, b->global_root_count,
                    a->global_root_count);
    return;
  }
  for (uint32_t i = 0; i < a->global_root_count; i++)
    if (a->global_roots[i] != b->global_roots[i])
      differences_add(differences, "the global root at 0x%" PRIx64 " differs", a->global_roots[i]);
}

void compare_tables(const struct safepoints *a, const struct safepoints *b,
                    struct differences *differences) {
  const struct comparison comparison = {
      .a = a,
      .b = b,
      .live = calloc((size_t)a->live.count + 1, sizeof(uint32_t)),
      .lists = calloc((size_t)a->lists.count + 1, sizeof(uint32_t)),
  };
  assert(safepoints_are_finished(a) && safepoints_are_finished(b));
  compare_functions(&comparison, differences);
  compare_records(&comparison, differences);
  compare_global_roots(&comparison, differences);
  free(comparison.live);
  free(comparison.lists);
}

/* ---- Positions ---- */

/* Whether two tables have a name in common, by the numbers that each has for it. */
static bool same_name(const struct safepoints *a, const struct safepoints *b, uint32_t x,
                      uint32_t y) {
  return strcmp(sources_name(&a->sources, x), sources_name(&b->sources, y)) == 0;
}

/* Goes from two innermost places to their callers. */
static bool same_places(const struct safepoints *a, const struct safepoints *b, uint32_t x,
                        uint32_t y) {
  while (x != 0 && y != 0) {
    const struct source_place of_a = sources_place(&a->sources, x);
    const struct source_place of_b = sources_place(&b->sources, y);
    if (of_a.line != of_b.line || !same_name(a, b, of_a.function, of_b.function) ||
        !same_name(a, b, of_a.file, of_b.file))
      return false;
    x = of_a.caller;
    y = of_b.caller;
  }
  return x == y;
}

/* Both tables have the records at one address in the same order. */
void compare_positions(const struct safepoints *a, const struct safepoints *b,
                       struct differences *differences) {
  for (uint32_t i = 0, k = 0; i < a->record_count; i++) {
    while (k < b->record_count && b->records[k].address < a->records[i].address)
      k++;
    if (k == b->record_count || b->records[k].address != a->records[i].address)
      continue;
    if (!same_places(a, b, a->records[i].source, b->records[k].source))
      differences_add(differences, "the position of the record at 0x%" PRIx64 " differs",
                      a->records[i].address);
    k++;
  }
}
