/* sizes_leaves.c - what is whose in the leaves of a packed table: see sizes_packed.c.
 *
 * Leaves stand behind the shared layouts, and what is between the end of one leaf's fields and the
 * start of the next leaf are its own layouts. Nothing tells how long a layout is, but that the next
 * layout, or the next leaf, starts where it ends. So all of these places are sorted, and a layout
 * is what is between two neighbours.
 */
#include "tool/sizes/sizes_packed.h"

#include <stdlib.h>

/* ---- Leaves ---- */

/* The function that a run is of, which must be below their count. */
static uint32_t owner_of_run(const struct division *division, uint64_t run) {
  return division->functions[packed_function_of_run(division->packed, run)];
}

/* Divides bits of a part, which may be of a leaf as a whole, among its records. */
static void divide_among_records(struct division *division, enum part part,
                                 const struct packed_leaf *leaf, uint64_t bits) {
  struct sizes_shared shared = {.bits = bits, .uses = leaf->offsets.count};
  for (uint64_t i = 0; i < shared.uses; i++)
    division_give(division, part, division->owners[leaf->index + i], sizes_take(&shared));
}

/* Adds to a part bits of a leaf, and divides them. */
static void divide_field(struct division *division, enum part part, const struct packed_leaf *leaf,
                         uint64_t bits) {
  division->sizes->parts[part].bits += bits;
  divide_among_records(division, part, leaf, bits);
}

/* Of a run that goes on in the leaf. */
static void divide_continued(struct division *division, const struct packed_leaf *leaf,
                             const struct packed_references *references) {
  const struct packed_table *packed = division->packed;
  const uint64_t bits =
      references->continues ? (uint64_t)packed->continued_width + packed->position_width : 0;
  if (leaf->runs == 0) {
    divide_field(division, PART_MARKS, leaf, bits);
    return;
  }
  division->sizes->parts[PART_MARKS].bits += bits;
  division_give(division, PART_MARKS, owner_of_run(division, leaf->runs - 1), bits);
}

/* What tells where the layouts of the runs are. Where own layouts start is told of all of these
 * together. */
static void divide_references(struct division *division, const struct packed_leaf *leaf,
                              const struct packed_references *references) {
  const struct packed_table *packed = division->packed;
  struct sizes_shared starts = {.bits = references->continued_at - references->own_at,
                                .uses = references->owns};
  for (uint64_t i = 0; i < leaf->run_count; i++) {
    const bool is_own = bits_at(packed->layouts.bytes, leaf->owns_at + i, 1) != 0;
    division_give(division, PART_REFERENCES, owner_of_run(division, leaf->runs + i),
                  1 + (is_own ? sizes_take(&starts) : packed->shared_width));
  }
  division->sizes->parts[PART_REFERENCES].bits +=
      leaf->run_count + references->continued_at - references->shared_at;
}

/* Divides the fields of a leaf that starts at or behind *end; moves *end behind them. */
static bool divide_leaf(struct division *division, const struct packed_leaf *leaf, uint64_t *end) {
  const struct packed_table *packed = division->packed;
  const struct monotone *offsets = &leaf->offsets;
  struct sizes_part *parts = division->sizes->parts;
  struct packed_references references;
  const uint64_t start = (uint64_t)(offsets->high - packed->layouts.bytes) * 8;
  if (start < *end || leaf->runs + leaf->run_count > packed->run_count ||
      !packed_leaf_references(leaf, &references))
    return false;
  division->bounds[division->bound_count++] = start;
  parts[PART_OWN_LAYOUTS].bits += start - *end;
  const uint64_t groups = packed_leaf_groups(offsets->count);
  const uint64_t mark_samples =
      packed_mark_samples(offsets->count) * 2 * packed_mark_sample_width(offsets->count);
  divide_among_records(division, PART_DIRECTORY, leaf, packed->entry_width);
  divide_field(division, PART_ADDRESSES, leaf, leaf->owns_at - start - groups - mark_samples);
  divide_field(division, PART_MARKS, leaf,
               groups + mark_samples + references.shared_at - leaf->marks_at);
  divide_continued(division, leaf, &references);
  divide_references(division, leaf, &references);
  const uint64_t continued =
      references.continues ? (uint64_t)packed->continued_width + packed->position_width : 0;
  *end = references.layouts_at * 8;
  parts[PART_PADDING].bits += *end - references.continued_at - continued;
  return *end <= packed->layouts.size;
}

/* What is between the leaves are the layouts of their functions. */
bool division_of_leaves(struct division *division, struct problem *problem) {
  const struct packed_table *packed = division->packed;
  uint64_t end = (uint64_t)packed->shared_size * 8;
  for (uint64_t i = 0; i < packed->leaf_count; i++) {
    struct packed_leaf leaf;
    if (!packed_leaf_open(&leaf, packed, i) ||
        (leaf.offsets.count > 0 && !divide_leaf(division, &leaf, &end)))
      return problem_set(problem, "a broken packed table: its leaves overlap");
  }
  division->sizes->parts[PART_OWN_LAYOUTS].bits += packed->layouts.size - end;
  division->bounds[division->bound_count++] = (uint64_t)packed->shared_size * 8;
  division->bounds[division->bound_count++] = packed->layouts.size;
  return true;
}

/* ---- Layouts ---- */

/* Takes the layout of each function that has records by the rule, and its frame size. */
static bool find_layouts_of_runs(struct division *division) {
  const struct packed_table *packed = division->packed;
  for (uint64_t run = 0; run < packed->run_count; run++) {
    const uint64_t function = packed_function_of_run(packed, run);
    struct packed_record record;
    if (!packed_run_record(packed, run, &record))
      return false;
    division->places[function] = record.layout;
    division->frames[function] = (uint32_t)packed_frame_number(packed, record.layout);
  }
  return true;
}

/* Of a bare function, only exceptions say where the layout is. */
static void find_layouts_of_exceptions(struct division *division) {
  const struct packed_table *packed = division->packed;
  for (uint32_t i = 0; i < packed->exception_count; i++) {
    const uint8_t *exception = packed->exceptions + (size_t)i * PACKED_EXCEPTION_SIZE;
    const uint32_t function = bits_load32(exception + 4);
    const uint64_t byte = bits_load64(exception + 12);
    if (function < packed->function_count && byte < packed->layouts.size / 8 &&
        division->places[function] == UINT64_MAX)
      division->places[function] = byte * 8;
  }
}

/* Makes a shared thing of what is between two bounds: of a layout, or of a leaf, which nobody
 * uses. */
static void share_layouts(struct division *division) {
  uint64_t *bounds = division->bounds;
  size_t kept = 0;
  for (uint32_t i = 0; i < division->packed->function_count; i++)
    if (division->places[i] != UINT64_MAX)
      bounds[division->bound_count++] = division->places[i];
  qsort(bounds, division->bound_count, sizeof *bounds, bits_compare_words);
  for (size_t i = 0; i < division->bound_count; i++)
    if (kept == 0 || bounds[kept - 1] != bounds[i])
      bounds[kept++] = bounds[i];
  division->bound_count = kept;
  for (size_t i = 0; i + 1 < kept; i++)
    division->shared[i] = (struct sizes_shared){.bits = bounds[i + 1] - bounds[i]};
}

static struct sizes_shared *layout_of(const struct division *division, uint64_t place) {
  const uint64_t *bound = bsearch(&place, division->bounds, division->bound_count,
                                  sizeof *division->bounds, bits_compare_words);
  return &division->shared[bound - division->bounds];
}

static void count_layouts(struct division *division) {
  struct sizes_layouts *layouts = &division->sizes->layouts;
  for (size_t i = 0; i < division->bound_count; i++) {
    const uint32_t uses = (uint32_t)division->shared[i].uses;
    layouts->count += uses > 0;
    layouts->shared += uses > 1;
    layouts->functions += uses > 1 ? uses : 0;
  }
}

/* The part that the layout at a place is in. */
static enum part part_of_layout(const struct division *division, uint64_t place) {
  const uint64_t shared_end = (uint64_t)division->packed->shared_size * 8;
  return place < shared_end ? PART_SHARED_LAYOUTS : PART_OWN_LAYOUTS;
}

static void divide_layouts(struct division *division) {
  const uint32_t functions = division->packed->function_count;
  share_layouts(division);
  for (uint32_t i = 0; i < functions; i++)
    if (division->places[i] != UINT64_MAX)
      layout_of(division, division->places[i])->uses++;
  count_layouts(division);
  for (uint32_t i = 0; i < functions; i++) {
    const uint64_t place = division->places[i];
    if (place != UINT64_MAX)
      division_give(division, part_of_layout(division, place), division->functions[i],
                    sizes_take(layout_of(division, place)));
  }
}

bool division_of_layouts(struct division *division, struct problem *problem) {
  for (uint32_t i = 0; i < division->packed->function_count; i++)
    division->places[i] = UINT64_MAX;
  if (!find_layouts_of_runs(division))
    return problem_set(problem, "a broken packed table: a function whose layout isn't in it");
  find_layouts_of_exceptions(division);
  divide_layouts(division);
  return true;
}
