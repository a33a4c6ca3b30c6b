/* sizes_leaves.c - what is whose in the leaves of a packed table: see sizes_packed.c.
 *
 * Leaves stand behind the shared layouts, and what is between the end of one leaf's fields and the
 * start of the next leaf are its own layouts. Nothing tells how long a layout is, but that the next
 * layout, or the next leaf, starts where it ends. So all of these places are sorted, and a layout
 * is what is between two neighbours.
 */
#include "sizes_packed.h"

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

/* How many bits a leaf has of the run that goes on in it, if one does. */
static uint64_t continued_bits(const struct packed_leaf *leaf) {
  const struct monotone *offsets = &leaf->offsets;
  return leaf->references_at - offsets->count * offsets->low_width - leaf->continued_at;
}

static void divide_continued(struct division *division, const struct packed_leaf *leaf) {
  const uint64_t bits = continued_bits(leaf);
  if (leaf->runs == 0) {
    divide_field(division, PART_MARKS, leaf, bits);
    return;
  }
  division->sizes->parts[PART_MARKS].bits += bits;
  division_give(division, PART_MARKS, owner_of_run(division, leaf->runs - 1), bits);
}

/* Divides marks and references. Returns how many runs start in the leaf; there may be more than the
 * table has, which is broken then. */
static uint64_t divide_runs(struct division *division, const struct packed_leaf *leaf) {
  const struct packed_table *packed = division->packed;
  uint64_t run = leaf->runs;
  for (uint64_t i = 0; i < leaf->offsets.count && run <= packed->run_count; i++) {
    const bool starts = bits_at(packed->layouts.bytes, leaf->marks_at + i, 1) != 0;
    if (starts && run < packed->run_count) {
      division_give(division, PART_MARKS, owner_of_run(division, run), 1);
      division_give(division, PART_REFERENCES, owner_of_run(division, run),
                    packed->reference_width);
    } else {
      division_give(division, PART_MARKS, division->owners[leaf->index + i], 1);
    }
    run += starts;
  }
  division->sizes->parts[PART_MARKS].bits += leaf->offsets.count;
  division->sizes->parts[PART_REFERENCES].bits += (run - leaf->runs) * packed->reference_width;
  return run - leaf->runs;
}

/* Divides the fields of a leaf that starts at or behind *end; moves *end behind them. */
static bool divide_leaf(struct division *division, const struct packed_leaf *leaf, uint64_t *end) {
  const struct packed_table *packed = division->packed;
  const struct monotone *offsets = &leaf->offsets;
  struct sizes_part *parts = division->sizes->parts;
  const uint64_t start = (uint64_t)(offsets->high - packed->layouts.bytes) * 8;
  if (start < *end || leaf->runs > packed->run_count)
    return false;
  division->bounds[division->bound_count++] = start;
  parts[PART_OWN_LAYOUTS].bits += start - *end;
  divide_among_records(division, PART_DIRECTORY, leaf, packed->entry_width);
  divide_field(division, PART_ADDRESSES, leaf,
               offsets->high_bits + offsets->count * offsets->low_width + leaf->mark_samples_at -
                   (leaf->marks_at + offsets->count));
  divide_field(division, PART_MARKS, leaf, leaf->continued_at - leaf->mark_samples_at);
  divide_continued(division, leaf);
  const uint64_t runs = divide_runs(division, leaf);
  const uint64_t fields_end = leaf->references_at + runs * packed->reference_width;
  *end = bits_to_bytes(fields_end) * 8;
  parts[PART_PADDING].bits += *end - fields_end;
  return leaf->runs + runs <= packed->run_count && *end <= packed->layouts.size;
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
