/* sizes_packed.c - see sizes.h.
 *
 * The owners of each part of a packed table (format/packed.h, and FORMAT.md in full):
 *
 *   directory          an entry: of its leaf's records
 *   record addresses   of a leaf the counts, of its records; and each record's own low byte
 *   function starts, layout references
 *                      a function's own
 *   shared layouts, own layouts
 *                      of the functions that have them
 *   frame sizes        of the functions that have it
 *   location lists     of the records that use it
 *   exceptions         of their records
 *   details            a compressed block: of its records
 *
 * The share of a record is given to its function. Location classes, global roots, frames, source
 * positions, entries of leaves without records, and the starts and references of gaps are the rest
 * of their parts. A part of the table that is missing here makes check_parts refuse the table.
 */
#include "format/array.h"
#include "format/packed_details.h"
#include "tool/image/integers.h"
#include "tool/sizes/sizes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum part {
  PART_HEADER,
  PART_DIRECTORY,
  PART_ADDRESSES,
  PART_STARTS,
  PART_REFERENCES,
  PART_SHARED_LAYOUTS,
  PART_OWN_LAYOUTS,
  PART_FRAME_SIZES,
  PART_CLASSES,
  PART_LISTS,
  PART_EXCEPTIONS,
  PART_DETAILS,
  PART_ROOTS,
  PART_FRAMES,
  PART_SOURCES,
  PART_PADDING,
  PARTS,
};

_Static_assert((int)PARTS <= (int)SIZES_PARTS_MAX, "there is room for all parts");

struct division {
  struct sizes *sizes;
  const struct safepoints *table;
  const struct packed_table *packed;
  uint32_t *functions;  /* by stretch: the function in the table of safepoints; UINT32_MAX: a gap */
  uint32_t *layouts;    /* by stretch: where the layout is */
  uint64_t layouts_end; /* so many bits of layouts are divided */
};

static bool broken(struct problem *problem, const char *fault) {
  return problem_set(problem, "a broken packed table: %s", fault);
}

/* ---- Functions and records ---- */

/* Numbers the functions as in the other table, by the common order, and finds their layouts. */
static bool find_functions(struct division *division, struct problem *problem) {
  const struct packed_table *packed = division->packed;
  uint32_t function = 0;
  for (uint32_t i = 0; i < packed->stretch_count; i++) {
    struct packed_stretch stretch;
    if (!packed_stretch(packed, i, &stretch))
      return broken(problem, "a function that can't be read");
    division->functions[i] = stretch.is_gap ? UINT32_MAX : function++;
    division->layouts[i] = stretch.is_gap ? 0 : stretch.layout;
  }
  return (function == division->table->function_count &&
          packed->record_count == division->table->record_count) ||
         broken(problem, "functions or records that aren't in it");
}

/* Divides bits of a part among some functions, with repetitions. A function is the low half of a
 * word. */
static void divide_among(struct division *division, enum part part, const uint64_t *functions,
                         size_t count, uint64_t bits) {
  for (size_t i = 0; i < count; i++)
    sizes_give(division->sizes, part, (uint32_t)functions[i], bits / count + (i < bits % count));
}

/* The same among the functions of some records. */
static void divide_among_records(struct division *division, enum part part, uint32_t first,
                                 uint64_t count, uint64_t bits) {
  assert(first + count <= division->table->record_count);
  for (uint64_t i = 0; i < count; i++)
    sizes_give(division->sizes, part, division->table->records[first + i].function,
               bits / count + (i < bits % count));
}

static bool divide_leaves(struct division *division, struct problem *problem) {
  const struct packed_table *packed = division->packed;
  struct sizes_part *parts = division->sizes->parts;
  for (uint32_t i = 0; i < packed->leaf_count; i++) {
    struct packed_leaf leaf;
    if (!packed_leaf(packed, i, &leaf))
      return broken(problem, "a leaf that can't be read");
    const uint64_t counts = (sizeof leaf.counts + leaf.full_count * sizeof(uint16_t)) * 8;
    const uint64_t addresses = counts + (uint64_t)leaf.count * packed->form.low_bytes * 8;
    parts[PART_ADDRESSES].bits += addresses;
    parts[PART_STARTS].bits += (uint64_t)leaf.stretch_count * packed->form.start_bytes * 8;
    parts[PART_REFERENCES].bits += (uint64_t)leaf.stretch_count * packed->form.reference_bytes * 8;
    divide_among_records(division, PART_DIRECTORY, leaf.index, leaf.count,
                         packed->entry_bytes * 8u);
    divide_among_records(division, PART_ADDRESSES, leaf.index, leaf.count, addresses);
    assert(leaf.stretch + leaf.stretch_count <= packed->stretch_count);
    for (uint32_t k = 0; k < leaf.stretch_count; k++) {
      const uint32_t function = division->functions[leaf.stretch + k];
      if (function == UINT32_MAX)
        continue;
      sizes_give(division->sizes, PART_STARTS, function, packed->form.start_bytes * 8u);
      sizes_give(division->sizes, PART_REFERENCES, function, packed->form.reference_bytes * 8u);
    }
  }
  return true;
}

/* ---- Shared parts ---- */

/* Adds that a function uses a thing of a part: the thing's number or place above the function's
 * number. */
static void add_use(struct integers *uses, uint64_t thing, uint64_t function) {
  assert(thing >> 32 == 0 && function >> 32 == 0);
  integers_add(uses, thing << 32 | function);
}

/* The uses of one thing. */
struct thing {
  const uint64_t *uses;
  size_t count;
  uint64_t number;
  bool is_last;
};

/* Divides the bits of each thing, and frees the uses. */
static void divide_things(struct division *division, struct integers *uses,
                          void (*divide)(struct division *, const struct thing *)) {
  array_sort(uses->items, uses->count, sizeof *uses->items, bits_compare_words);
  for (size_t from = 0, to = 0; from < uses->count; from = to) {
    const uint64_t number = uses->items[from] >> 32;
    while (to < uses->count && uses->items[to] >> 32 == number)
      to++;
    divide(division, &(struct thing){&uses->items[from], to - from, number, to == uses->count});
  }
  free(uses->items);
}

/* A layout's bits start at the end of the previous one's. */
static void divide_layout(struct division *division, const struct thing *layout) {
  struct sizes_layouts *layouts = &division->sizes->layouts;
  const struct packed_table *packed = division->packed;
  const uint64_t end = layout->is_last ? packed->layouts_size * 8
                                       : packed_layout_end(packed, (uint32_t)layout->number);
  const uint64_t bits = end > division->layouts_end ? end - division->layouts_end : 0;
  const bool is_shared = layout->count > 1;
  const enum part part = is_shared ? PART_SHARED_LAYOUTS : PART_OWN_LAYOUTS;
  layouts->count++;
  layouts->shared += is_shared;
  layouts->functions += is_shared ? (uint32_t)layout->count : 0;
  division->sizes->parts[part].bits += bits;
  division->layouts_end += bits;
  divide_among(division, part, layout->uses, layout->count, bits);
}

static void divide_frame_size(struct division *division, const struct thing *size) {
  divide_among(division, PART_FRAME_SIZES, size->uses, size->count,
               division->packed->frame_bytes * 8u);
}

static void divide_functions(struct division *division) {
  const struct packed_table *packed = division->packed;
  struct integers layouts = {0}, sizes = {0};
  for (uint32_t i = 0; i < packed->stretch_count; i++) {
    const uint32_t function = division->functions[i];
    if (function == UINT32_MAX)
      continue;
    const uint64_t number = packed_frame_number(packed, division->layouts[i]);
    add_use(&layouts, division->layouts[i], function);
    if (number < packed->frame_size_count)
      add_use(&sizes, number, function);
  }
  divide_things(division, &layouts, divide_layout);
  divide_things(division, &sizes, divide_frame_size);
}

/* ---- Parts of records ---- */

/* A list reaches up to the next one's start. */
static void divide_list(struct division *division, const struct thing *list) {
  const struct packed_table *packed = division->packed;
  assert(list->number < packed->list_count);
  const uint8_t *place = packed->list_starts + list->number * 4;
  const uint64_t start = bits_load32(place);
  const uint64_t end =
      list->number + 1 == packed->list_count ? packed->lists_size : bits_load32(place + 4);
  divide_among(division, PART_LISTS, list->uses, list->count,
               end < start ? 0 : (4 + end - start) * 8);
}

static void divide_lists(struct division *division) {
  const struct packed_table *packed = division->packed;
  struct integers uses = {0};
  for (uint32_t i = 0; i < packed->record_count && packed->list_count > 0; i++) {
    struct packed_record record;
    if (packed_record_at(packed, i, &record) != STACKPACK_FOUND)
      continue;
    const struct packed_list list = packed_record_list(&record);
    if (list.table != NULL)
      add_use(&uses, list.number, division->table->records[i].function);
  }
  divide_things(division, &uses, divide_list);
}

static void divide_exceptions(struct division *division) {
  const struct packed_table *packed = division->packed;
  for (uint32_t i = 0; i < packed->exception_count; i++) {
    const uint32_t record = bits_load32(packed->exceptions + (size_t)i * PACKED_EXCEPTION_SIZE);
    if (record < packed->record_count)
      divide_among_records(division, PART_EXCEPTIONS, record, 1, PACKED_EXCEPTION_SIZE * 8);
  }
}

static void divide_details(struct division *division) {
  const struct packed_table *packed = division->packed;
  struct packed_details_header header;
  if (!packed_details_header(packed, &header))
    return;
  for (uint32_t i = 0; i < header.block_count; i++) {
    struct packed_stream bytes;
    const uint64_t first = (uint64_t)i << header.shift;
    if (first >= packed->record_count || !packed_block_bytes(packed, &header, i, &bytes))
      break;
    const uint64_t left = packed->record_count - first, most = (uint64_t)1 << header.shift;
    divide_among_records(division, PART_DETAILS, (uint32_t)first, left < most ? left : most,
                         (uint64_t)(bytes.end - bytes.next) * 8);
  }
}

/* ---- The whole ---- */

static void set_part(struct sizes *sizes, enum part part, const char *name, uint64_t bytes) {
  sizes->parts[part].name = name;
  sizes->parts[part].bits = bytes * 8;
}

/* But for leaves and layouts: these are added during the division. */
static void set_parts(struct sizes *sizes, const struct packed_table *packed) {
  sizes->part_count = PARTS;
  sizes->bits = packed_size(packed) * 8;
  set_part(sizes, PART_HEADER, "header",
           bits_load16(packed->bytes + offsetof(struct packed_header, header_size)));
  set_part(sizes, PART_DIRECTORY, "directory",
           packed->leaf_count == 0 ? 0 : ((uint64_t)packed->leaf_count + 1) * packed->entry_bytes);
  set_part(sizes, PART_ADDRESSES, "record addresses", 0);
  set_part(sizes, PART_STARTS, "function starts", 0);
  set_part(sizes, PART_REFERENCES, "layout references", 0);
  set_part(sizes, PART_SHARED_LAYOUTS, "shared layouts", 0);
  set_part(sizes, PART_OWN_LAYOUTS, "own layouts", 0);
  set_part(sizes, PART_FRAME_SIZES, "frame sizes",
           (uint64_t)packed->frame_size_count * packed->frame_bytes);
  set_part(sizes, PART_CLASSES, "location classes",
           (uint64_t)packed->class_count * PACKED_CLASS_SIZE);
  set_part(sizes, PART_LISTS, "location lists",
           packed->lists_size + (uint64_t)packed->list_count * 4);
  set_part(sizes, PART_EXCEPTIONS, "exceptions",
           (uint64_t)packed->exception_count * PACKED_EXCEPTION_SIZE);
  set_part(sizes, PART_DETAILS, "details", packed->details_size);
  set_part(sizes, PART_ROOTS, "global roots", packed->roots_size);
  set_part(sizes, PART_FRAMES, "frames", packed->frames_size);
  set_part(sizes, PART_SOURCES, "source positions", packed->sources_size);
  set_part(sizes, PART_PADDING, "padding", BITS_PADDING);
}

/* In a broken table, strings may overlap, or have gaps. */
static bool check_parts(const struct sizes *sizes, struct problem *problem) {
  uint64_t bits = 0;
  for (unsigned i = 0; i < sizes->part_count; i++) {
    bits += sizes->parts[i].bits;
    if (sizes->parts[i].owned > sizes->parts[i].bits)
      return problem_set(problem, "a broken packed table: its %s overlap", sizes->parts[i].name);
  }
  return bits == sizes->bits || broken(problem, "bytes that are in none of its parts");
}

static bool divide(struct division *division, struct problem *problem) {
  if (!find_functions(division, problem) || !divide_leaves(division, problem))
    return false;
  divide_functions(division);
  divide_lists(division);
  divide_exceptions(division);
  divide_details(division);
  return true;
}

bool sizes_of_packed(struct sizes *sizes, const struct safepoints *table,
                     const struct packed_table *packed, struct problem *problem) {
  const size_t stretches = (size_t)packed->stretch_count + 1;
  struct division division = {
      .sizes = sizes,
      .table = table,
      .packed = packed,
      .functions = calloc(stretches, sizeof *division.functions),
      .layouts = calloc(stretches, sizeof *division.layouts),
  };
  sizes_open(sizes, table->function_count);
  set_parts(sizes, packed);
  const bool ok = divide(&division, problem) && check_parts(sizes, problem);
  free(division.functions);
  free(division.layouts);
  return ok;
}
