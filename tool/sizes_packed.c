/* sizes_packed.c - see sizes.h.
 *
 * What is whose in each part of a packed table (format/packed.h, and FORMAT.md in full):
 *
 *   record addresses, first records, calling conventions
 *                      an element of a sorted sequence is its low bits, and the high bits from the
 *                      element before up to its own 1: its record's or its function's
 *   extents, marks     a function's own
 *   layouts            a layout, with its element in the sequence of starts: of the functions that
 *                      have it
 *   frame sizes        of the functions that have it
 *   location classes   of the functions that have a live location of the class
 *   lists              a list, with its element in the sequence of starts: of the records that use it
 *   exceptions         of its record
 *   details            a compressed block is divided among its records by what they take decoded
 *
 * Global roots, samples, the ends of sequences, the starts of blocks and the bits that fill up a byte
 * are nobody's.
 */
#include "sizes.h"

#include "../format/packed_details.h"

#include <stdlib.h>
#include <zstd.h>

enum part {
  PART_HEADER,
  PART_RECORDS,
  PART_FIRSTS,
  PART_EXTENTS,
  PART_MARKS,
  PART_LAYOUTS,
  PART_FRAME_SIZES,
  PART_CLASSES,
  PART_LISTS,
  PART_EXCEPTIONS,
  PART_CONVENTIONS,
  PART_DETAILS,
  PART_ROOTS,
  PART_PADDING,
  PARTS,
};

struct division {
  struct sizes *sizes;
  const struct safepoints *table;
  const struct packed_table *packed;
  uint32_t *functions;         /* by number in the packed table: the one in the other */
  uint32_t *owners;            /* by record: its function, in the other table */
  uint32_t *layouts;           /* by number in the packed table: the function's layout */
  struct sizes_shared *shared; /* what is being divided: of the larger of the counts below, and 1 */
  uint32_t *last_users;        /* of each of them: 1 + the function that was counted last */
};

static void give(struct division *division, enum part part, uint32_t function, uint64_t bits) {
  sizes_give(division->sizes, part, function, bits);
}

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

/* Gives the elements of a sequence to the owners of the same number. */
static void divide_elements(struct division *division, enum part part,
                            const struct monotone *sequence, const uint32_t *owners) {
  struct elements elements = elements_of(sequence, MONOTONE_FIND);
  uint64_t value, bits;
  for (uint64_t i = 0; elements_next(&elements, &value, &bits); i++)
    give(division, part, owners[i], bits);
}

/* The calling conventions' elements are numbers of records. */
static void divide_conventions(struct division *division) {
  struct elements elements = elements_of(&division->packed->conventions, MONOTONE_FIND);
  uint64_t value, bits;
  while (elements_next(&elements, &value, &bits))
    if (value < division->packed->record_count)
      give(division, PART_CONVENTIONS, division->owners[value], bits);
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

static void divide_extents(struct division *division) {
  const struct packed_table *packed = division->packed;
  struct bit_reader reader = bit_reader_at(packed->extents, 0);
  for (uint32_t i = 0; i < packed->function_count; i++) {
    const uint64_t start = reader.position;
    packed_extent_skip(packed, &reader);
    give(division, PART_EXTENTS, division->functions[i], reader.position - start);
  }
}

/* Finds each function's layout on the way. UINT32_MAX: the number is out of bounds. */
static void divide_marks(struct division *division) {
  const struct packed_table *packed = division->packed;
  const unsigned width = packed->shared_width;
  uint32_t marks = 0;
  for (uint32_t i = 0; i < packed->function_count; i++) {
    const bool is_shared =
        (packed->marks[i / 8] >> i % 8 & 1) != 0 && marks < packed->shared_functions;
    const uint64_t layout = is_shared ? bits_at(packed->shared, (uint64_t)marks * width, width)
                                      : (uint64_t)packed->shared_layouts + i - marks;
    give(division, PART_MARKS, division->functions[i], 1 + (is_shared ? width : 0));
    division->layouts[i] = layout < packed->layout_count ? (uint32_t)layout : UINT32_MAX;
    marks += is_shared;
  }
}

static void divide_layouts(struct division *division) {
  const struct packed_table *packed = division->packed;
  share_strings(division, &packed->layout_starts, packed->layouts.size);
  for (uint32_t i = 0; i < packed->function_count; i++)
    if (division->layouts[i] != UINT32_MAX)
      division->shared[division->layouts[i]].uses++;
  for (uint32_t i = 0; i < packed->function_count; i++)
    if (division->layouts[i] != UINT32_MAX)
      give(division, PART_LAYOUTS, division->functions[i],
           sizes_take(&division->shared[division->layouts[i]]));
}

/* The number of a function's frame size; UINT32_MAX where the table is broken. */
static uint32_t frame_number(const struct packed_table *packed, uint32_t function) {
  struct bit_reader reader = bit_reader_at(packed->layouts, packed_layout(packed, function));
  const uint64_t number = bit_reader_take(&reader, packed->frame_width);
  return reader.bad || number >= packed->frame_size_count ? UINT32_MAX : (uint32_t)number;
}

static void divide_frame_sizes(struct division *division) {
  const struct packed_table *packed = division->packed;
  for (uint32_t i = 0; i < packed->frame_size_count; i++)
    division->shared[i] = (struct sizes_shared){.bits = packed->frame_size_width};
  for (int divide = 0; divide < 2; divide++)
    for (uint32_t i = 0; i < packed->function_count; i++) {
      const uint32_t number = frame_number(packed, i);
      if (number == UINT32_MAX)
        continue;
      if (divide)
        give(division, PART_FRAME_SIZES, division->functions[i],
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
    give(pass->division, pass->part, function, sizes_take(shared));
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
      give(division, PART_EXCEPTIONS, division->owners[record], PACKED_EXCEPTION_SIZE * 8);
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
    give(division, PART_DETAILS, division->owners[first + i],
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
    const uint64_t start = bits_load64(packed->block_starts + (size_t)i * 8);
    const uint64_t end = i + 1 == header->details_blocks
                             ? header->details_size
                             : bits_load64(packed->block_starts + (size_t)i * 8 + 8);
    const uint64_t first = (uint64_t)i << header->details_shift;
    struct packed_block block;
    if (first >= packed->record_count ||
        !packed_block_open(&block, packed, i, space, ZSTD_decompress))
      break;
    const uint64_t left = packed->record_count - first, most = (uint64_t)1 << header->details_shift;
    divide_block(division, &block, (uint32_t)first, (uint32_t)(left < most ? left : most),
                 (end - start) * 8);
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

static void set_parts(struct sizes *sizes, const struct packed_header *header) {
  struct packed_parts at;
  packed_parts(header, &at);
  sizes->part_count = PARTS;
  sizes->bits = header->size * 8;
  set_part(sizes, PART_HEADER, "header", 0, at.records_at);
  set_part(sizes, PART_RECORDS, "record addresses", at.records_at, at.firsts_at);
  set_part(sizes, PART_FIRSTS, "first records", at.firsts_at, at.extent_samples_at);
  set_part(sizes, PART_EXTENTS, "function extents", at.extent_samples_at, at.marks_at);
  set_part(sizes, PART_MARKS, "layout numbers", at.marks_at, at.layout_starts_at);
  set_part(sizes, PART_LAYOUTS, "layouts", at.layout_starts_at, at.frame_sizes_at);
  set_part(sizes, PART_FRAME_SIZES, "frame sizes", at.frame_sizes_at, at.classes_at);
  set_part(sizes, PART_CLASSES, "location classes", at.classes_at, at.list_starts_at);
  set_part(sizes, PART_LISTS, "location lists", at.list_starts_at, at.exceptions_at);
  set_part(sizes, PART_EXCEPTIONS, "exceptions", at.exceptions_at, at.conventions_at);
  set_part(sizes, PART_CONVENTIONS, "calling conventions", at.conventions_at, at.block_starts_at);
  set_part(sizes, PART_DETAILS, "details", at.block_starts_at, at.size - BITS_PADDING);
  set_part(sizes, PART_ROOTS, "global roots", at.size - BITS_PADDING, header->size - BITS_PADDING);
  set_part(sizes, PART_PADDING, "padding", header->size - BITS_PADDING, header->size);
}

/* Finds the functions of the packed table in the other one. They are the same in the same order,
 * unless another writer repeats itself. */
static bool find_functions(struct division *division, struct problem *problem) {
  const struct packed_table *packed = division->packed;
  for (uint32_t i = 0; i < packed->function_count; i++) {
    const uint64_t address = packed_function_address(packed, i);
    const uint64_t frame_size = packed_frame_size(packed, packed_layout(packed, i));
    division->functions[i] = sizes_function(division->table, address, frame_size);
    if (division->functions[i] == UINT32_MAX)
      return problem_set(problem, "a broken packed table: a function that isn't in it");
  }
  for (uint32_t i = 0; i < packed->record_count; i++) {
    struct packed_record record;
    if (packed_record_at(packed, i, &record) != PACKED_FOUND ||
        record.function >= packed->function_count)
      return problem_set(problem, "a broken packed table: a record that isn't in it");
    division->owners[i] = division->functions[record.function];
  }
  return true;
}

static bool divide(struct division *division, const struct packed_header *header,
                   struct problem *problem) {
  const struct packed_table *packed = division->packed;
  if (!find_functions(division, problem))
    return false;
  divide_elements(division, PART_RECORDS, &packed->records, division->owners);
  divide_elements(division, PART_FIRSTS, &packed->firsts, division->functions);
  divide_extents(division);
  divide_marks(division);
  divide_layouts(division);
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

static size_t largest_count(const struct packed_table *packed) {
  const uint32_t counts[] = {packed->layout_count, packed->frame_size_count,
                             packed->location_classes, packed->list_count};
  size_t largest = 0;
  for (unsigned i = 0; i < sizeof counts / sizeof *counts; i++)
    largest = counts[i] > largest ? counts[i] : largest;
  return largest;
}

bool sizes_of_packed(struct sizes *sizes, const struct safepoints *table,
                     const struct packed_table *packed, struct problem *problem) {
  struct packed_header header;
  packed_header_read(packed->bytes, &header);
  if (!sizes_open(sizes, table->function_count, problem))
    return false;
  set_parts(sizes, &header);
  struct division division = {
      .sizes = sizes,
      .table = table,
      .packed = packed,
      .functions = calloc((size_t)packed->function_count + 1, sizeof *division.functions),
      .owners = calloc((size_t)packed->record_count + 1, sizeof *division.owners),
      .layouts = calloc((size_t)packed->function_count + 1, sizeof *division.layouts),
      .shared = calloc(largest_count(packed) + 1, sizeof *division.shared),
      .last_users = calloc((size_t)packed->location_classes + 1, sizeof *division.last_users),
  };
  bool ok = division.functions != NULL && division.owners != NULL && division.layouts != NULL &&
            division.shared != NULL && division.last_users != NULL;
  ok = ok ? divide(&division, &header, problem) && check_parts(sizes, problem)
          : problem_set(problem, "not enough memory");
  free(division.functions);
  free(division.owners);
  free(division.layouts);
  free(division.shared);
  free(division.last_users);
  if (!ok)
    sizes_free(sizes);
  return ok;
}
