/* sizes_packed.c - see sizes.h.
 *
 * What is whose in each part of a packed table (format/packed.h, and FORMAT.md in full). The leaves
 * are several parts, as what takes the space in them are different things:
 *
 *   directory          an entry: of its leaf's records
 *   record addresses   of a leaf, with their samples: of its records. Each record has as many bits
 *                      to itself; buckets and samples are those of all together
 *   function marks     a mark is its run's, or, where no run starts, its record's; samples are of
 *                      the leaf's records; what a leaf says of a run that began before it is that
 *                      run's
 *   layout references  of their runs
 *   shared layouts, own layouts
 *                      up to whole bytes: of the functions that have them
 *   bare functions     an element of a sorted sequence is its low bits, and the high bits from the
 *                      element before up to its own 1: with the frame size, its function's
 *   function extents   a function's own
 *   frame sizes        of the functions that have it
 *   location classes   of the functions that have a live location of the class
 *   location lists     a list, with its element in the sequence of starts: of the records that use
 *                      it
 *   exceptions, calling conventions
 *                      of their records
 *   details            a compressed block is divided among its records by what they take decoded
 *
 * Where something is of a run or a record, it is given to the function that this is of. Global
 * roots, entries of leaves without records, samples of sequences and of extents, the ends of
 * sequences, the starts of blocks and the bits that fill up a byte are nobody's.
 */
#include "tool/sizes/sizes_packed.h"

#include "format/packed_details.h"

#include <stdlib.h>
#include <zstd.h>

_Static_assert((int)PARTS <= (int)SIZES_PARTS_MAX, "there is room for all parts");

/* ---- Sorted sequences ---- */

/* Goes through a sequence: each element's value and bits. */
struct elements {
  const struct monotone *sequence;
  struct monotone_cursor cursor;
  uint64_t end; /* of the element before, in the high bits */
};

static struct elements elements_of(const struct monotone *sequence, enum monotone_use use) {
  struct elements elements = {.sequence = sequence};
  if (sequence->count > 0)
    elements.cursor = monotone_get(sequence, 0, use);
  return elements;
}

static bool elements_next(struct elements *elements, uint64_t *value, uint64_t *bits) {
  const struct monotone *sequence = elements->sequence;
  if (elements->cursor.index >= sequence->count)
    return false;
  *value = monotone_value(sequence, elements->cursor);
  *bits = sequence->low_width + (elements->cursor.place + 1 - elements->end);
  elements->end = elements->cursor.place + 1;
  elements->cursor = monotone_next(sequence, elements->cursor);
  return true;
}

/* What is read for a record is that of its function: a run's length for the first one of the run. */
static void divide_conventions(struct division *division) {
  const struct packed_table *packed = division->packed;
  struct packed_conventions conventions = packed_conventions(packed, 0);
  bool ignored;
  for (uint32_t i = 0; i < packed->record_count && packed->convention_bits > 0; i++) {
    const uint64_t start = conventions.reader.position;
    if (!packed_conventions_next(&conventions, &ignored))
      return;
    division_give(division, PART_CONVENTIONS, division->owners[i],
                  conventions.reader.position - start);
  }
}

/* Makes a shared thing of each bit string whose starts are a sequence. */
static void share_strings(struct division *division, const struct monotone *starts, uint64_t size) {
  struct elements elements = elements_of(starts, MONOTONE_GET);
  uint64_t start, bits, previous = 0;
  for (uint64_t i = 0; elements_next(&elements, &start, &bits); i++) {
    division->shared[i] = (struct sizes_shared){.bits = bits};
    if (i > 0 && start >= previous)
      division->shared[i - 1].bits += start - previous;
    previous = start;
  }
  if (starts->count > 0 && size >= previous)
    division->shared[starts->count - 1].bits += size - previous;
}

/* ---- Functions ---- */

/* Finds the frame sizes of bare functions on the way. */
static void divide_bare(struct division *division) {
  const struct packed_table *packed = division->packed;
  const unsigned width = packed->frame_width;
  struct elements elements = elements_of(&packed->bare, MONOTONE_GET);
  uint64_t function, bits;
  for (uint64_t i = 0; elements_next(&elements, &function, &bits); i++) {
    if (function >= packed->function_count)
      continue;
    division->frames[function] = (uint32_t)bits_at(packed->bare_frames, i * width, width);
    division_give(division, PART_BARE, division->functions[function], bits + width);
  }
}

static void divide_extents(struct division *division) {
  const struct packed_table *packed = division->packed;
  struct bit_reader reader = bit_reader_at(packed->extents, 0);
  for (uint32_t i = 0; i < packed->function_count; i++) {
    const uint64_t start = reader.position;
    packed_extent_skip(packed, &reader);
    division_give(division, PART_EXTENTS, division->functions[i], reader.position - start);
  }
}

static void divide_frame_sizes(struct division *division) {
  const struct packed_table *packed = division->packed;
  for (uint32_t i = 0; i < packed->frame_size_count; i++)
    division->shared[i] = (struct sizes_shared){.bits = packed->frame_size_width};
  for (int divide = 0; divide < 2; divide++)
    for (uint32_t i = 0; i < packed->function_count; i++) {
      const uint32_t number = division->frames[i];
      if (number >= packed->frame_size_count)
        continue;
      if (divide)
        division_give(division, PART_FRAME_SIZES, division->functions[i],
                      sizes_take(&division->shared[number]));
      else
        division->shared[number].uses++;
    }
}

/* ---- Records ---- */

/* One of two passes: the uses are counted, or divided. */
struct pass {
  struct division *division;
  enum part part;
  bool divide;
};

static void use(const struct pass *pass, uint32_t number, uint32_t function) {
  struct sizes_shared *shared = &pass->division->shared[number];
  if (pass->divide)
    division_give(pass->division, pass->part, function, sizes_take(shared));
  else
    shared->uses++;
}

/* A class counts once for each function, whose records follow one another. */
static void use_class(const struct pass *pass, uint32_t location, uint32_t function) {
  const struct packed_table *packed = pass->division->packed;
  if (location >= packed->location_count)
    return;
  const uint32_t class = packed_location_class(packed, location);
  uint32_t *last_user = &pass->division->last_users[class];
  if (*last_user == function + 1)
    return;
  *last_user = function + 1;
  use(pass, class, function);
}

static void use_classes_of_list(const struct pass *pass, uint32_t number, uint32_t function) {
  struct packed_list list = packed_list(pass->division->packed, number);
  for (; list.left > 0 && !list.reader.bad; list.left--)
    use_class(pass, (uint32_t)bit_reader_take(&list.reader, pass->division->packed->location_width),
              function);
}

static void use_item(const struct pass *pass, const struct packed_item *item, uint32_t function) {
  if (pass->part == PART_LISTS) {
    if (item->kind != PACKED_PAIR && item->base < pass->division->packed->list_count)
      use(pass, item->base, function);
  } else if (item->kind == PACKED_PAIR) {
    use_class(pass, item->base, function);
    use_class(pass, item->derived, function);
  } else {
    use_classes_of_list(pass, item->base, function);
  }
}

static void go_through_live_sets(const struct pass *pass) {
  const struct division *division = pass->division;
  for (uint32_t i = 0; i < division->packed->record_count; i++) {
    struct packed_record record;
    struct packed_items items;
    struct packed_item item;
    if (packed_record_at(division->packed, i, &record) != PACKED_FOUND)
      continue;
    packed_items(&items, &record);
    while (packed_items_next(&items, &item))
      use_item(pass, &item, division->owners[i]);
  }
}

static void divide_live_sets(struct division *division, enum part part) {
  go_through_live_sets(&(struct pass){division, part, false});
  for (uint32_t i = 0; i < division->packed->location_classes; i++)
    division->last_users[i] = 0;
  go_through_live_sets(&(struct pass){division, part, true});
}

static void divide_classes(struct division *division) {
  for (uint32_t i = 0; i < division->packed->location_classes; i++) {
    division->shared[i] = (struct sizes_shared){.bits = PACKED_LOCATION_CLASS_SIZE * 8};
    division->last_users[i] = 0;
  }
  divide_live_sets(division, PART_CLASSES);
}

static void divide_lists(struct division *division) {
  share_strings(division, &division->packed->list_starts, division->packed->lists.size);
  if (division->packed->list_count > 0)
    divide_live_sets(division, PART_LISTS);
}

static void divide_exceptions(struct division *division) {
  const struct packed_table *packed = division->packed;
  for (uint32_t i = 0; i < packed->exception_count; i++) {
    const uint32_t record = bits_load32(packed->exceptions + (size_t)i * PACKED_EXCEPTION_SIZE);
    if (record < packed->record_count)
      division_give(division, PART_EXCEPTIONS, division->owners[record], PACKED_EXCEPTION_SIZE * 8);
  }
}

/* ---- Details ---- */

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
    division_give(division, PART_DETAILS, division->owners[first + i],
                  bits / total * (after - before) + rest * after / total - rest * before / total);
    before = after;
  }
}

static bool divide_details(struct division *division, const struct packed_header *header,
                           struct problem *problem) {
  const struct packed_table *packed = division->packed;
  uint64_t *space = malloc(packed_details_space(packed) + sizeof *space);
  if (space == NULL)
    return problem_set(problem, "not enough memory");
  for (uint32_t i = 0; i < header->details_blocks; i++) {
    const struct packed_block_range range = packed_block_range(packed, header, i);
    const uint64_t first = (uint64_t)i << header->details_shift;
    struct packed_block block;
    if (first >= packed->record_count ||
        !packed_block_open(&block, packed, i, space, ZSTD_decompress))
      break;
    const uint64_t left = packed->record_count - first, most = (uint64_t)1 << header->details_shift;
    divide_block(division, &block, (uint32_t)first, (uint32_t)(left < most ? left : most),
                 (range.end - range.start) * 8);
  }
  free(space);
  return true;
}

/* ---- The whole ---- */

static void set_part(struct sizes *sizes, enum part part, const char *name, uint64_t from,
                     uint64_t to) {
  sizes->parts[part].name = name;
  sizes->parts[part].bits = (to - from) * 8;
}

/* But for what stands in leaves, which division_of_leaves() adds. */
static void set_parts(struct sizes *sizes, const struct packed_header *header) {
  struct packed_parts at;
  packed_parts(header, &at);
  sizes->part_count = PARTS;
  sizes->bits = header->size * 8;
  set_part(sizes, PART_HEADER, "header", 0, at.directory_at);
  set_part(sizes, PART_DIRECTORY, "directory", at.directory_at, at.leaves_at);
  set_part(sizes, PART_ADDRESSES, "record addresses", 0, 0);
  set_part(sizes, PART_MARKS, "function marks", 0, 0);
  set_part(sizes, PART_REFERENCES, "layout references", 0, 0);
  set_part(sizes, PART_SHARED_LAYOUTS, "shared layouts", 0, header->shared_size);
  set_part(sizes, PART_OWN_LAYOUTS, "own layouts", 0, 0);
  set_part(sizes, PART_BARE, "bare functions", at.bare_at, at.extent_samples_at);
  set_part(sizes, PART_EXTENTS, "function extents", at.extent_samples_at, at.frame_sizes_at);
  set_part(sizes, PART_FRAME_SIZES, "frame sizes", at.frame_sizes_at, at.classes_at);
  set_part(sizes, PART_CLASSES, "location classes", at.classes_at, at.list_starts_at);
  set_part(sizes, PART_LISTS, "location lists", at.list_starts_at, at.exceptions_at);
  set_part(sizes, PART_EXCEPTIONS, "exceptions", at.exceptions_at, at.conventions_at);
  set_part(sizes, PART_CONVENTIONS, "calling conventions", at.conventions_at, at.block_ends_at);
  set_part(sizes, PART_DETAILS, "details", at.block_ends_at, at.size - BITS_PADDING);
  set_part(sizes, PART_ROOTS, "global roots", at.size - BITS_PADDING, header->size - BITS_PADDING);
  set_part(sizes, PART_PADDING, "padding", header->size - BITS_PADDING, header->size);
}

static bool broken(struct problem *problem, const char *what) {
  return problem_set(problem, "a broken packed table: %s", what);
}

/* Finds the functions of the packed table in the other one. They are the same in the same order,
 * unless another writer repeats itself. */
static bool find_functions(struct division *division, struct problem *problem) {
  const struct packed_table *packed = division->packed;
  for (uint32_t i = 0; i < packed->function_count; i++) {
    division->functions[i] =
        sizes_function(division->table, packed_function_extent(packed, i).start,
                       packed_function_frame_size(packed, i));
    if (division->functions[i] == UINT32_MAX)
      return broken(problem, "a function that isn't in it");
  }
  return true;
}

static bool find_owners(struct division *division, struct problem *problem) {
  struct packed_records records = packed_records(division->packed);
  for (uint32_t i = 0; i < division->packed->record_count; i++) {
    struct packed_record record;
    const bool found = packed_records_next(&records, &record) == PACKED_FOUND;
    const uint32_t function = found ? packed_record_function(&record) : UINT32_MAX;
    if (function == UINT32_MAX)
      return broken(problem, "a record that isn't in it");
    division->owners[i] = division->functions[function];
  }
  return true;
}

static bool divide(struct division *division, const struct packed_header *header,
                   struct problem *problem) {
  if (!find_functions(division, problem) || !find_owners(division, problem) ||
      !division_of_leaves(division, problem) || !division_of_layouts(division, problem))
    return false;
  divide_bare(division);
  divide_extents(division);
  divide_frame_sizes(division);
  divide_classes(division);
  divide_lists(division);
  divide_exceptions(division);
  divide_conventions(division);
  return divide_details(division, header, problem);
}

/* In a broken table, strings may overlap. */
static bool check_parts(const struct sizes *sizes, struct problem *problem) {
  for (unsigned i = 0; i < sizes->part_count; i++)
    if (sizes->parts[i].owned > sizes->parts[i].bits)
      return problem_set(problem, "a broken packed table: its %s overlap", sizes->parts[i].name);
  return true;
}

/* How many bounds of layouts there can be: their starts, those of leaves, and 2 ends. */
static size_t most_bounds(const struct packed_table *packed) {
  return (size_t)packed->function_count + (size_t)packed->leaf_count + 2;
}

static size_t largest_count(const struct packed_table *packed) {
  const size_t counts[] = {most_bounds(packed), packed->frame_size_count, packed->location_classes,
                           packed->list_count};
  size_t largest = 0;
  for (unsigned i = 0; i < sizeof counts / sizeof *counts; i++)
    largest = counts[i] > largest ? counts[i] : largest;
  return largest;
}

static bool division_open(struct division *division, struct problem *problem) {
  const struct packed_table *packed = division->packed;
  const size_t functions = (size_t)packed->function_count + 1;
  division->functions = calloc(functions, sizeof *division->functions);
  division->owners = calloc((size_t)packed->record_count + 1, sizeof *division->owners);
  division->places = calloc(functions, sizeof *division->places);
  division->frames = calloc(functions, sizeof *division->frames);
  division->bounds = calloc(most_bounds(packed), sizeof *division->bounds);
  division->shared = calloc(largest_count(packed) + 1, sizeof *division->shared);
  division->last_users = calloc((size_t)packed->location_classes + 1, sizeof *division->last_users);
  return (division->functions != NULL && division->owners != NULL && division->places != NULL &&
          division->frames != NULL && division->bounds != NULL && division->shared != NULL &&
          division->last_users != NULL) ||
         problem_set(problem, "not enough memory");
}

static void division_close(struct division *division) {
  free(division->functions);
  free(division->owners);
  free(division->places);
  free(division->frames);
  free(division->bounds);
  free(division->shared);
  free(division->last_users);
}

bool sizes_of_packed(struct sizes *sizes, const struct safepoints *table,
                     const struct packed_table *packed, struct problem *problem) {
  struct packed_header header;
  struct division division = {.sizes = sizes, .table = table, .packed = packed};
  packed_header_read(packed->bytes, &header);
  if (!sizes_open(sizes, table->function_count, problem))
    return false;
  set_parts(sizes, &header);
  const bool ok = division_open(&division, problem) && divide(&division, &header, problem) &&
                  check_parts(sizes, problem);
  division_close(&division);
  if (!ok)
    sizes_free(sizes);
  return ok;
}
