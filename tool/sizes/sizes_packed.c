/* sizes_packed.c - see sizes.h.
 *
 * What is whose in each part of a packed table (format/packed.h, and FORMAT.md in full):
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
 *   calling conventions
 *                      of all records, in equal parts
 *   details            a compressed block is divided among its records by what they take decoded
 *
 * Where something is of a record, it is given to the function that this is of. Location classes,
 * global roots, entries of leaves without records, and the starts and references of gaps are
 * nobody's.
 */
#include "format/packed_details.h"
#include "tool/sizes/sizes.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

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
  PART_CONVENTIONS,
  PART_DETAILS,
  PART_ROOTS,
  PART_FRAMES,
  PART_PADDING,
  PARTS,
};

_Static_assert((int)PARTS <= (int)SIZES_PARTS_MAX, "there is room for all parts");

/* Something that is shared: first its uses are counted, then each use takes its part. */
struct sizes_shared {
  uint64_t bits, uses, taken;
};
static uint64_t sizes_take(struct sizes_shared *shared) {
  return shared->bits / shared->uses + (shared->taken++ < shared->bits % shared->uses);
}

struct division {
  struct sizes *sizes;
  const struct safepoints *table;
  const struct packed_table *packed;
  uint32_t *functions; /* by stretch: the function in the table of safepoints; UINT32_MAX: a gap */
  uint32_t *owners;    /* by record: its function */
  uint32_t *layouts;   /* by stretch: where the layout is */
  uint64_t *starts;    /* where layouts start, sorted; and where the last one ends */
  size_t start_count;
  struct sizes_shared *shared; /* what is being divided */
};

/* Gives bits of a part to a function. */
static void give(struct division *division, enum part part, uint32_t function, uint64_t bits) {
  sizes_give(division->sizes, part, function, bits);
}

static bool broken(struct problem *problem, const char *what) {
  return problem_set(problem, "a broken packed table: %s", what);
}

/* ---- Functions and records ---- */

/* Finds the functions of the packed table in the other one, and their layouts. */
static bool find_functions(struct division *division, struct problem *problem) {
  const struct packed_table *packed = division->packed;
  for (uint32_t i = 0; i < packed->stretch_count; i++) {
    struct packed_stretch stretch;
    if (!packed_stretch(packed, i, &stretch))
      return broken(problem, "a function that can't be read");
    division->functions[i] = UINT32_MAX;
    if (stretch.is_gap)
      continue;
    division->layouts[i] = stretch.layout;
    division->functions[i] =
        sizes_function(division->table, stretch.start, packed_frame_size(packed, stretch.layout));
    if (division->functions[i] == UINT32_MAX)
      return broken(problem, "a function that isn't in it");
  }
  return true;
}

static bool find_owners(struct division *division, struct problem *problem) {
  for (uint32_t i = 0; i < division->packed->record_count; i++) {
    struct packed_record record;
    if (packed_record_at(division->packed, i, &record) != PACKED_FOUND ||
        division->functions[record.stretch] == UINT32_MAX)
      return broken(problem, "a record that isn't in it");
    division->owners[i] = division->functions[record.stretch];
  }
  return true;
}

/* Divides bits of a part among some records. */
static void divide_among(struct division *division, enum part part, uint32_t first, uint32_t count,
                         uint64_t bits) {
  struct sizes_shared shared = {.bits = bits, .uses = count};
  for (uint32_t i = 0; i < count; i++)
    give(division, part, division->owners[first + i], sizes_take(&shared));
}

static bool divide_leaves(struct division *division, struct problem *problem) {
  const struct packed_table *packed = division->packed;
  struct sizes_part *parts = division->sizes->parts;
  for (uint32_t i = 0; i < packed->leaf_count; i++) {
    struct packed_leaf leaf;
    if (!packed_leaf(packed, i, &leaf))
      return broken(problem, "a leaf that can't be read");
    const uint64_t counts = (sizeof leaf.counts + (size_t)(leaf.lows - leaf.more)) * 8;
    const uint64_t addresses = counts + (uint64_t)leaf.count * packed->low_bytes * 8;
    parts[PART_ADDRESSES].bits += addresses;
    parts[PART_STARTS].bits += (uint64_t)leaf.stretch_count * packed->start_bytes * 8;
    parts[PART_REFERENCES].bits += (uint64_t)leaf.stretch_count * packed->reference_bytes * 8;
    divide_among(division, PART_DIRECTORY, leaf.index, leaf.count, packed->entry_bytes * 8u);
    divide_among(division, PART_ADDRESSES, leaf.index, leaf.count, leaf.count == 0 ? 0 : addresses);
    for (uint32_t k = 0; k < leaf.stretch_count; k++) {
      const uint32_t function = division->functions[leaf.stretch + k];
      if (function == UINT32_MAX)
        continue;
      give(division, PART_STARTS, function, packed->start_bytes * 8u);
      give(division, PART_REFERENCES, function, packed->reference_bytes * 8u);
    }
  }
  return true;
}

/* ---- Layouts ---- */

/* Makes a shared thing of what is between two starts of layouts. */
static void share_layouts(struct division *division) {
  uint64_t *starts = division->starts;
  size_t count = 0, kept = 0;
  for (uint32_t i = 0; i < division->packed->stretch_count; i++)
    if (division->functions[i] != UINT32_MAX)
      starts[count++] = division->layouts[i];
  qsort(starts, count, sizeof *starts, bits_compare_words);
  for (size_t i = 0; i < count; i++)
    if (kept == 0 || starts[kept - 1] != starts[i])
      starts[kept++] = starts[i];
  division->start_count = kept;
  starts[kept] = division->packed->layouts_size;
  for (size_t i = 0; i < kept; i++)
    division->shared[i] = (struct sizes_shared){.bits = (starts[i + 1] - starts[i]) * 8};
}

static struct sizes_shared *layout_of(const struct division *division, uint32_t stretch) {
  const uint64_t place = division->layouts[stretch];
  const uint64_t *start = bsearch(&place, division->starts, division->start_count,
                                  sizeof *division->starts, bits_compare_words);
  return &division->shared[start - division->starts];
}

static void divide_layouts(struct division *division) {
  struct sizes_layouts *layouts = &division->sizes->layouts;
  struct sizes_part *parts = division->sizes->parts;
  share_layouts(division);
  for (uint32_t i = 0; i < division->packed->stretch_count; i++)
    if (division->functions[i] != UINT32_MAX)
      layout_of(division, i)->uses++;
  for (size_t i = 0; i < division->start_count; i++) {
    const struct sizes_shared *layout = &division->shared[i];
    const bool is_shared = layout->uses > 1;
    layouts->count++;
    layouts->shared += is_shared;
    layouts->functions += is_shared ? (uint32_t)layout->uses : 0;
    parts[is_shared ? PART_SHARED_LAYOUTS : PART_OWN_LAYOUTS].bits += layout->bits;
  }
  for (uint32_t i = 0; i < division->packed->stretch_count; i++) {
    if (division->functions[i] == UINT32_MAX)
      continue;
    struct sizes_shared *layout = layout_of(division, i);
    give(division, layout->uses > 1 ? PART_SHARED_LAYOUTS : PART_OWN_LAYOUTS,
         division->functions[i], sizes_take(layout));
  }
}

/* Frame sizes: first their uses are counted, then each is divided. */
static void divide_frame_sizes(struct division *division) {
  const struct packed_table *packed = division->packed;
  for (uint32_t i = 0; i < packed->frame_size_count; i++)
    division->shared[i] = (struct sizes_shared){.bits = packed->frame_bytes * 8u};
  for (int divide = 0; divide < 2; divide++)
    for (uint32_t i = 0; i < packed->stretch_count; i++) {
      if (division->functions[i] == UINT32_MAX)
        continue;
      const uint64_t number = packed_frame_number(packed, division->layouts[i]);
      if (number >= packed->frame_size_count)
        continue;
      if (divide)
        give(division, PART_FRAME_SIZES, division->functions[i],
             sizes_take(&division->shared[number]));
      else
        division->shared[number].uses++;
    }
}

/* ---- Parts of records ---- */

/* The same of lists. What is between two lists' starts is the first one's. */
static void divide_lists(struct division *division) {
  const struct packed_table *packed = division->packed;
  for (uint32_t i = 0; i < packed->list_count; i++) {
    const uint32_t start = bits_load32(packed->list_starts + (size_t)i * 4);
    const uint64_t end = i + 1 == packed->list_count
                             ? packed->lists_size
                             : bits_load32(packed->list_starts + ((size_t)i + 1) * 4);
    division->shared[i] = (struct sizes_shared){.bits = end < start ? 0 : (4 + end - start) * 8};
  }
  for (int divide = 0; divide < 2 && packed->list_count > 0; divide++)
    for (uint32_t i = 0; i < packed->record_count; i++) {
      struct packed_record record;
      if (packed_record_at(packed, i, &record) != PACKED_FOUND)
        continue;
      const struct packed_list list = packed_record_list(&record);
      if (list.table == NULL)
        continue;
      if (divide)
        give(division, PART_LISTS, division->owners[i], sizes_take(&division->shared[list.number]));
      else
        division->shared[list.number].uses++;
    }
}

static void divide_exceptions(struct division *division) {
  const struct packed_table *packed = division->packed;
  for (uint32_t i = 0; i < packed->exception_count; i++) {
    const uint32_t record = bits_load32(packed->exceptions + (size_t)i * PACKED_EXCEPTION_SIZE);
    if (record < packed->record_count)
      give(division, PART_EXCEPTIONS, division->owners[record], PACKED_EXCEPTION_SIZE * 8);
  }
}

/* How many bytes of its streams a decoded block still has. */
static uint64_t bytes_left(const struct packed_block *block) {
  uint64_t left = 0;
  for (unsigned i = 0; i < PACKED_STREAMS; i++)
    left += (uint64_t)(block->streams[i].end - block->streams[i].next);
  return left;
}

/* How many bytes of a block's streams its records take. */
static uint64_t bytes_of_records(struct packed_block block, uint32_t records) {
  struct packed_details details;
  const uint64_t all = bytes_left(&block);
  while (records-- > 0 && packed_block_next(&block, &details))
    ;
  return all - bytes_left(&block);
}

/* Divides `bits` among a block's records by what they take of `total` bytes. A part of it is what is
 * given for all bytes up to its end, less what was given up to its start. */
static void divide_block(struct division *division, struct packed_block *block, uint32_t first,
                         uint32_t records, uint64_t bits) {
  struct packed_details details;
  const uint64_t all = bytes_left(block), total = bytes_of_records(*block, records);
  uint64_t before = 0;
  if (total == 0)
    return;
  for (uint32_t i = 0; i < records && packed_block_next(block, &details); i++) {
    const uint64_t after = all - bytes_left(block);
    const uint64_t rest = bits % total; /* below 2^24, as the number of bytes is */
    give(division, PART_DETAILS, division->owners[first + i],
         bits / total * (after - before) + rest * after / total - rest * before / total);
    before = after;
  }
}

static bool divide_details(struct division *division, struct problem *problem) {
  const struct packed_table *packed = division->packed;
  struct packed_details_header header;
  uint64_t *space = malloc(packed_details_space(packed) + sizeof *space);
  if (space == NULL)
    return problem_set(problem, "not enough memory");
  if (!packed_details_header(packed, &header))
    header.block_count = 0;
  for (uint32_t i = 0; i < header.block_count; i++) {
    struct packed_stream bytes;
    const uint64_t first = (uint64_t)i << header.shift;
    struct packed_block block;
    if (first >= packed->record_count || !packed_block_bytes(packed, &header, i, &bytes) ||
        !packed_block_open(&block, packed, (uint32_t)first, space, ZSTD_decompress))
      break;
    const uint64_t left = packed->record_count - first, most = (uint64_t)1 << header.shift;
    divide_block(division, &block, (uint32_t)first, (uint32_t)(left < most ? left : most),
                 (uint64_t)(bytes.end - bytes.next) * 8);
  }
  free(space);
  return true;
}

/* ---- The whole ---- */

static void set_part(struct sizes *sizes, enum part part, const char *name, uint64_t bytes) {
  sizes->parts[part].name = name;
  sizes->parts[part].bits = bytes * 8;
}

/* But for leaves and layouts, which are added as they are divided. */
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
  set_part(sizes, PART_CONVENTIONS, "calling conventions", packed->conventions_size);
  set_part(sizes, PART_DETAILS, "details", packed->details_size);
  set_part(sizes, PART_ROOTS, "global roots", packed->roots_size);
  set_part(sizes, PART_FRAMES, "frames", packed->frames_size);
  set_part(sizes, PART_PADDING, "padding", BITS_PADDING);
}

/* In a broken table, strings may overlap, or leave something out. */
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
  const struct packed_table *packed = division->packed;
  if (!find_functions(division, problem) || !find_owners(division, problem) ||
      !divide_leaves(division, problem))
    return false;
  divide_layouts(division);
  divide_frame_sizes(division);
  divide_lists(division);
  divide_exceptions(division);
  if (packed->record_count > 0)
    divide_among(division, PART_CONVENTIONS, 0, packed->record_count, packed->conventions_size * 8);
  return divide_details(division, problem);
}

static bool division_open(struct division *division, struct problem *problem) {
  const struct packed_table *packed = division->packed;
  const size_t stretches = (size_t)packed->stretch_count + 1;
  size_t shared = stretches;
  shared = packed->frame_size_count > shared ? packed->frame_size_count : shared;
  shared = packed->list_count > shared ? packed->list_count : shared;
  division->functions = calloc(stretches, sizeof *division->functions);
  division->owners = calloc((size_t)packed->record_count + 1, sizeof *division->owners);
  division->layouts = calloc(stretches, sizeof *division->layouts);
  division->starts = calloc(stretches, sizeof *division->starts);
  division->shared = calloc(shared, sizeof *division->shared);
  return (division->functions != NULL && division->owners != NULL && division->layouts != NULL &&
          division->starts != NULL && division->shared != NULL) ||
         problem_set(problem, "not enough memory");
}

static void division_close(struct division *division) {
  free(division->functions);
  free(division->owners);
  free(division->layouts);
  free(division->starts);
  free(division->shared);
}

bool sizes_of_packed(struct sizes *sizes, const struct safepoints *table,
                     const struct packed_table *packed, struct problem *problem) {
  struct division division = {.sizes = sizes, .table = table, .packed = packed};
  if (!sizes_open(sizes, table->function_count, problem))
    return false;
  set_parts(sizes, packed);
  const bool ok = division_open(&division, problem) && divide(&division, problem) &&
                  check_parts(sizes, problem);
  division_close(&division);
  if (!ok)
    sizes_free(sizes);
  return ok;
}
