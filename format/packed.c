/* packed.c - reads a packed table. See packed.h for the parts, FORMAT.md for every bit.
 *
 * Why hostile bytes do no harm: packed_open computes from the header where each part starts and
 * ends, and refuses a header whose parts don't fill the table exactly. After that, fixed-size parts
 * are indexed with numbers below their counts; sequences clamp (monotone.c); and bit strings of
 * varying shape (layouts, lists, extents) are read through bit_reader, or behind a check against
 * their end. The answers to broken bytes may be wrong, but they are PACKED_CORRUPT or inside the
 * table.
 */
#include "packed.h"

#define XXH_INLINE_ALL
#include <stddef.h>
#include <xxhash.h>

_Static_assert(sizeof(struct packed_header) == PACKED_HEADER_SIZE, "the header has no gaps");

/* ---- Header and parts ---- */

static uint32_t header_checksum(const struct packed_header *header) {
  struct packed_header copy = *header;
  copy.header_checksum = 0;
  return XXH32(&copy, sizeof copy, 0);
}

void packed_header_read(const uint8_t *bytes, struct packed_header *header) {
  memcpy(header, bytes, sizeof *header);
}

void packed_header_write(uint8_t *bytes, struct packed_header *header) {
  header->header_checksum = header_checksum(header);
  memcpy(bytes, header, sizeof *header);
}

/* Appends a part of `size` bytes, and returns where it starts. */
static uint64_t part(struct packed_parts *parts, uint64_t size) {
  const uint64_t start = parts->size;
  parts->size += size;
  return start;
}

static uint64_t samples_size(uint64_t count, unsigned shift, unsigned width) {
  return bits_to_bytes(((count + bits_low_mask(shift)) >> shift) * width);
}

static unsigned extent_sample_width(const struct packed_header *header) {
  return bits_for_count(header->extent_bits + 1);
}

static unsigned mark_sample_width(const struct packed_header *header) {
  return bits_for_count((uint64_t)header->shared_functions + 1);
}

static bool shapes(const struct packed_header *header, struct packed_parts *parts) {
  return monotone_shape(&parts->records, header->records, header->text_size >> header->record_shift,
                        MONOTONE_FIND) &&
         monotone_shape(&parts->firsts, header->functions, header->records, MONOTONE_FIND) &&
         monotone_shape(&parts->layout_starts, packed_layouts(header), header->layout_bits,
                        MONOTONE_GET) &&
         monotone_shape(&parts->list_starts, header->lists, header->list_bits, MONOTONE_GET) &&
         monotone_shape(&parts->conventions, header->conventions, header->records, MONOTONE_FIND);
}

static bool counts_agree(const struct packed_header *header) {
  const uint64_t bits_max = (uint64_t)1 << 50;
  return header->record_shift < 32 && header->function_shift < 32 && header->lead_parameter < 32 &&
         header->tail_parameter < 32 && header->frame_size_width <= 64 &&
         header->details_shift < 32 && header->shared_functions <= header->functions &&
         header->shared_layouts <= header->shared_functions &&
         (header->locations == 0 || header->location_classes > 0) &&
         header->layout_bits < bits_max && header->list_bits < bits_max &&
         header->extent_bits <= UINT32_MAX && header->details_size < bits_max &&
         header->details_block_size <= PACKED_BLOCK_SIZE_MAX &&
         header->details_codec <= PACKED_ZSTANDARD &&
         header->details_columns <= PACKED_ALL_COLUMNS && header->conventions <= header->records;
}

bool packed_parts(const struct packed_header *header, struct packed_parts *parts) {
  *parts = (struct packed_parts){.size = PACKED_HEADER_SIZE};
  if (!counts_agree(header) || !shapes(header, parts))
    return false;
  const uint64_t functions = header->functions;
  parts->records_at = part(parts, monotone_size(&parts->records));
  parts->firsts_at = part(parts, monotone_size(&parts->firsts));
  parts->extent_samples_at = part(
      parts, samples_size(functions, PACKED_EXTENTS_PER_SAMPLE_SHIFT, extent_sample_width(header)));
  parts->extents_at = part(parts, bits_to_bytes(header->extent_bits));
  parts->marks_at = part(parts, bits_to_bytes(functions));
  parts->mark_samples_at = part(
      parts, samples_size(functions, PACKED_MARKS_PER_SAMPLE_SHIFT, mark_sample_width(header)));
  parts->shared_at = part(parts, bits_to_bytes((uint64_t)header->shared_functions *
                                               bits_for_count(header->shared_layouts)));
  parts->layout_starts_at = part(parts, monotone_size(&parts->layout_starts));
  parts->layouts_at = part(parts, bits_to_bytes(header->layout_bits));
  parts->frame_sizes_at =
      part(parts, bits_to_bytes((uint64_t)header->frame_sizes * header->frame_size_width));
  parts->classes_at = part(parts, (uint64_t)header->location_classes * PACKED_LOCATION_CLASS_SIZE);
  parts->list_starts_at = part(parts, monotone_size(&parts->list_starts));
  parts->lists_at = part(parts, bits_to_bytes(header->list_bits));
  parts->exceptions_at = part(parts, (uint64_t)header->exceptions * PACKED_EXCEPTION_SIZE);
  parts->conventions_at = part(parts, monotone_size(&parts->conventions));
  parts->block_starts_at = part(parts, (uint64_t)header->details_blocks * sizeof(uint64_t));
  parts->blocks_at = part(parts, header->details_size);
  parts->size += BITS_PADDING;
  return true;
}

static void open_parts(struct packed_table *table, const struct packed_header *header,
                       const struct packed_parts *parts) {
  const uint8_t *bytes = table->bytes;
  table->records = monotone_open(bytes + parts->records_at, &parts->records);
  table->firsts = monotone_open(bytes + parts->firsts_at, &parts->firsts);
  table->layout_starts = monotone_open(bytes + parts->layout_starts_at, &parts->layout_starts);
  table->list_starts = monotone_open(bytes + parts->list_starts_at, &parts->list_starts);
  table->conventions = monotone_open(bytes + parts->conventions_at, &parts->conventions);
  table->extent_samples = bytes + parts->extent_samples_at;
  table->marks = bytes + parts->marks_at;
  table->mark_samples = bytes + parts->mark_samples_at;
  table->shared = bytes + parts->shared_at;
  table->frame_sizes = bytes + parts->frame_sizes_at;
  table->classes = bytes + parts->classes_at;
  table->exceptions = bytes + parts->exceptions_at;
  table->block_starts = bytes + parts->block_starts_at;
  table->blocks = bytes + parts->blocks_at;
  table->extents = (struct bit_array){bytes + parts->extents_at, header->extent_bits};
  table->layouts = (struct bit_array){bytes + parts->layouts_at, header->layout_bits};
  table->lists = (struct bit_array){bytes + parts->lists_at, header->list_bits};
}

static void open_counts(struct packed_table *table, const struct packed_header *header) {
  table->record_count = header->records;
  table->function_count = header->functions;
  table->shared_layouts = header->shared_layouts;
  table->shared_functions = header->shared_functions;
  table->layout_count = packed_layouts(header);
  table->location_classes = header->location_classes;
  table->location_count = header->locations;
  table->list_count = header->lists;
  table->exception_count = header->exceptions;
  table->frame_size_count = header->frame_sizes;
  table->record_shift = header->record_shift;
  table->function_shift = header->function_shift;
  table->lead_parameter = header->lead_parameter;
  table->tail_parameter = header->tail_parameter;
  table->frame_size_width = header->frame_size_width;
  table->extent_sample_width = (uint8_t)extent_sample_width(header);
  table->mark_sample_width = (uint8_t)mark_sample_width(header);
  table->shared_width = (uint8_t)bits_for_count(header->shared_layouts);
  table->frame_width = (uint8_t)bits_for_count(header->frame_sizes);
  table->location_width = (uint8_t)bits_for_count(header->locations);
  table->list_width = (uint8_t)bits_for_count(header->lists);
}

/* A class as it stands: u16 size, u16 register, u8 kind, 3 bytes of 0, u32 number of its first
 * location, u32 step between values, i64 value of its first location. */
static uint32_t class_first_number(const struct packed_table *table, uint32_t class) {
  return class < table->location_classes
             ? bits_load32(table->classes + (size_t) class * PACKED_LOCATION_CLASS_SIZE + 8)
             : table->location_count;
}

static struct location class_location(const struct packed_table *table, uint32_t class,
                                      uint32_t nth) {
  const uint8_t *bytes = table->classes + (size_t) class * PACKED_LOCATION_CLASS_SIZE;
  const uint64_t value = bits_load64(bytes + 16) + (uint64_t)nth * bits_load32(bytes + 12);
  return (struct location){bytes[4], bits_load16(bytes), bits_load16(bytes + 2), (int64_t)value};
}

enum packed_error packed_open(struct packed_table *table, const uint8_t *bytes, size_t size,
                              uint64_t address) {
  struct packed_header header;
  struct packed_parts parts;
  if (size < sizeof header)
    return PACKED_TOO_SHORT;
  packed_header_read(bytes, &header);
  if (header.magic != PACKED_MAGIC)
    return PACKED_NOT_A_TABLE;
  if (header.version != PACKED_VERSION)
    return PACKED_NEWER_VERSION;
  if (header.header_size != sizeof header || header.header_checksum != header_checksum(&header))
    return PACKED_BAD_HEADER;
  if ((header.features & ~PACKED_FEATURES) != 0)
    return PACKED_NEWER_VERSION;
  const bool has_roots = (header.features & PACKED_GLOBAL_ROOTS) != 0;
  if (!packed_parts(&header, &parts) || parts.size > header.size ||
      (parts.size != header.size && !has_roots))
    return PACKED_BAD_HEADER;
  if (header.size > size)
    return PACKED_TOO_SHORT;
  *table = (struct packed_table){
      .bytes = bytes,
      .address = address,
      .text_start = address + (uint64_t)header.text_start,
      .text_size = header.text_size,
  };
  open_parts(table, &header, &parts);
  open_counts(table, &header);
  if (has_roots) {
    struct packed_roots roots;
    table->roots = bytes + parts.size - BITS_PADDING;
    table->roots_size = header.size - parts.size;
    if (!packed_roots(table, &roots))
      return PACKED_BAD_HEADER;
  }
  if (table->location_classes > 0) {
    if (class_first_number(table, 0) != 0)
      return PACKED_BAD_HEADER;
    table->first_class = class_location(table, 0, 0);
    table->first_class_count = class_first_number(table, 1);
    table->first_class_step = bits_load32(table->classes + 12);
  }
  return PACKED_OK;
}

uint64_t packed_identity(const struct packed_table *table) {
  struct packed_header header;
  packed_header_read(table->bytes, &header);
  return header.checksum ^ header.header_checksum;
}

bool packed_check(const struct packed_table *table) {
  struct packed_header header;
  packed_header_read(table->bytes, &header);
  return XXH3_64bits(table->bytes + sizeof header, header.size - sizeof header) == header.checksum;
}

/* ---- Functions ---- */

/* The number of marks before mark `function`. */
static inline uint32_t marks_before(const struct packed_table *table, uint32_t function) {
  const uint32_t sample = function >> PACKED_MARKS_PER_SAMPLE_SHIFT;
  const unsigned width = table->mark_sample_width;
  const bool quick = table->records.quick;
  uint32_t count = (uint32_t)bits_at(table->mark_samples, (uint64_t)sample * width, width);
  uint32_t word = sample << (PACKED_MARKS_PER_SAMPLE_SHIFT - 6);
  for (; word < function / 64; word++)
    count += bits_quick_count(bits_load64(table->marks + (size_t)word * 8), quick);
  const uint64_t last = bits_load64(table->marks + (size_t)word * 8);
  return count + bits_quick_count(last & bits_low_mask(function % 64), quick);
}

uint64_t packed_layout(const struct packed_table *table, uint32_t function) {
  const uint32_t shared = marks_before(table, function);
  const bool is_shared = (table->marks[function / 8] >> function % 8 & 1) != 0;
  uint64_t layout;
  if (is_shared) {
    const unsigned width = table->shared_width;
    if (shared >= table->shared_functions)
      return table->layouts.size;
    layout = bits_at(table->shared, (uint64_t)shared * width, width);
  } else {
    layout = (uint64_t)table->shared_layouts + function - shared;
  }
  if (layout >= table->layout_count)
    return table->layouts.size;
  const struct monotone_cursor cursor = monotone_get(&table->layout_starts, layout, MONOTONE_GET);
  return monotone_value(&table->layout_starts, cursor);
}

uint64_t packed_frame_size(const struct packed_table *table, uint64_t layout) {
  if (layout > table->layouts.size || table->frame_width > table->layouts.size - layout)
    return UINT64_MAX;
  const uint64_t number = bits_at(table->layouts.bytes, layout, table->frame_width);
  if (number >= table->frame_size_count)
    return UINT64_MAX;
  const unsigned width = table->frame_size_width;
  const uint64_t size = bits_at_wide(table->frame_sizes, number * width, width);
  return size == bits_low_mask(width) ? UINT64_MAX : size;
}

/* ---- Extents of functions ---- */

/* How far a function's code goes before its first record and behind its last one, as stored. */
struct extent {
  uint64_t lead;
  bool adjacent; /* the end is the next function's start, else `tail` behind what is known */
  uint64_t tail;
};

static uint64_t take_rice(struct bit_reader *reader, unsigned parameter) {
  const uint64_t zeros = ~bits_at(reader->bytes, reader->position, PACKED_RICE_UNARY_MAX);
  const unsigned unary = (unsigned)__builtin_ctzll(zeros);
  if (unary == PACKED_RICE_UNARY_MAX) {
    bit_reader_take(reader, PACKED_RICE_UNARY_MAX);
    return bit_reader_take(reader, 64);
  }
  bit_reader_take(reader, unary + 1);
  return (uint64_t)unary << parameter | bit_reader_take(reader, parameter);
}

static struct extent take_long_extent(const struct packed_table *table, struct bit_reader *reader) {
  struct extent extent = {.lead = take_rice(reader, table->lead_parameter)};
  extent.adjacent = bit_reader_take(reader, 1) != 0;
  if (!extent.adjacent)
    extent.tail = take_rice(reader, table->tail_parameter);
  return extent;
}

/* The next extent: from one word, in which nearly every one fits. */
static inline struct extent take_extent(const struct packed_table *table,
                                        struct bit_reader *reader) {
  enum { WORD = 57, UNARY_MAX = 12 }; /* 13 + 31 bits of a lead, and 1 */
  const uint64_t stop = (uint64_t)1 << UNARY_MAX;
  const uint64_t word = bits_at(reader->bytes, reader->position, WORD);
  const unsigned lead_unary = (unsigned)__builtin_ctzll(~word | stop);
  const unsigned lead_width = lead_unary + 1 + table->lead_parameter;
  const uint64_t rest = word >> lead_width;
  const bool adjacent = (rest & 1) != 0;
  const unsigned tail_unary = (unsigned)__builtin_ctzll(~(rest >> 1) | stop);
  const unsigned tail_width = adjacent ? 0 : tail_unary + 1 + table->tail_parameter;
  const unsigned width = lead_width + 1 + tail_width;
  if (lead_unary == UNARY_MAX || (!adjacent && tail_unary == UNARY_MAX) || width > WORD)
    return take_long_extent(table, reader);
  if (!bit_reader_has(reader, width))
    return (struct extent){0};
  reader->position += width;
  return (struct extent){
      .lead = (uint64_t)lead_unary << table->lead_parameter |
              (word >> (lead_unary + 1) & bits_short_mask(table->lead_parameter)),
      .adjacent = adjacent,
      .tail = adjacent ? 0
                       : (uint64_t)tail_unary << table->tail_parameter |
                             (rest >> (tail_unary + 2) & bits_short_mask(table->tail_parameter)),
  };
}

/* The extent of a function: 32 of them to a sample. All zeros where the table is broken. */
static struct extent extent_of(const struct packed_table *table, uint32_t function) {
  const uint32_t sample = function >> PACKED_EXTENTS_PER_SAMPLE_SHIFT;
  const unsigned width = table->extent_sample_width;
  struct bit_reader reader = bit_reader_at(
      table->extents, bits_at(table->extent_samples, (uint64_t)sample * width, width));
  for (uint32_t skip = function & (uint32_t)bits_low_mask(PACKED_EXTENTS_PER_SAMPLE_SHIFT);;
       skip--) {
    const struct extent extent = take_extent(table, &reader);
    if (reader.bad)
      return (struct extent){0};
    if (skip == 0)
      return extent;
  }
}

void packed_extent_skip(const struct packed_table *table, struct bit_reader *reader) {
  take_extent(table, reader);
}

static uint64_t first_record(const struct packed_table *table, uint32_t function) {
  return monotone_value(&table->firsts, monotone_get(&table->firsts, function, MONOTONE_FIND));
}

static uint64_t record_offset(const struct packed_table *table, uint64_t index) {
  return monotone_value(&table->records, monotone_get(&table->records, index, MONOTONE_FIND))
         << table->record_shift;
}

/* Where a function starts: some steps of 1 << function_shift before its first record, or, if no
 * record follows, before the text's end. */
static uint64_t function_offset(const struct packed_table *table, uint32_t function) {
  const uint64_t first = first_record(table, function);
  const uint64_t last_byte =
      first < table->record_count ? record_offset(table, first) - 1 : table->text_size;
  const uint64_t steps = last_byte >> table->function_shift;
  const uint64_t lead = extent_of(table, function).lead;
  return lead <= steps ? (steps - lead) << table->function_shift : 0;
}

uint64_t packed_function_address(const struct packed_table *table, uint32_t function) {
  return table->text_start + function_offset(table, function);
}

static uint64_t function_end_offset(const struct packed_table *table, uint32_t function) {
  const bool is_last = function + 1 >= table->function_count;
  const struct extent extent = extent_of(table, function);
  if (extent.adjacent && !is_last)
    return function_offset(table, function + 1);
  const uint64_t next_first = is_last ? table->record_count : first_record(table, function + 1);
  uint64_t known = function_offset(table, function);
  if (next_first > 0 && next_first <= table->record_count) {
    const uint64_t last = record_offset(table, next_first - 1);
    known = last > known ? last : known;
  }
  return known + extent.tail;
}

uint64_t packed_function_end(const struct packed_table *table, uint32_t function) {
  return table->text_start + function_end_offset(table, function);
}

/* ---- Look-up ---- */

/* Whether record `index` is an exception: then its function and position are filled in. */
static bool find_exception(const struct packed_table *table, struct packed_record *record) {
  uint32_t from = 0, to = table->exception_count;
  while (from < to) {
    const uint32_t middle = from + (to - from) / 2;
    const uint8_t *bytes = table->exceptions + (size_t)middle * PACKED_EXCEPTION_SIZE;
    const uint32_t index = bits_load32(bytes);
    if (index == record->index) {
      record->function = bits_load32(bytes + 4);
      record->position = bits_load32(bytes + 8);
      return true;
    }
    if (index < record->index)
      from = middle + 1;
    else
      to = middle;
  }
  return false;
}

/* Fills in a record of known index and address. */
static enum packed_answer place_record(const struct packed_table *table, uint64_t index,
                                       uint64_t offset, struct packed_record *record) {
  record->table = table;
  record->index = (uint32_t)index;
  record->address = table->text_start + offset;
  if (table->exception_count == 0 || !find_exception(table, record)) {
    struct monotone_cursor function;
    if (!monotone_find_last(&table->firsts, index, &function))
      return PACKED_CORRUPT;
    const uint64_t first = monotone_value(&table->firsts, function);
    if (first > index)
      return PACKED_CORRUPT;
    record->function = (uint32_t)function.index;
    record->position = (uint32_t)(index - first);
  }
  if (record->function >= table->function_count)
    return PACKED_CORRUPT;
  record->layout = packed_layout(table, record->function);
  return PACKED_FOUND;
}

/* The number of functions that start at or before `offset`, which has no record. Those that do so
 * before the record below it are known by their first records; the others, of which there is
 * seldom more than one, have the record above as their first. */
static uint32_t functions_up_to(const struct packed_table *table, uint64_t offset) {
  const uint64_t above = monotone_find(&table->records, (offset >> table->record_shift) + 1).index;
  struct monotone_cursor last;
  if (!monotone_find_last(&table->firsts, above, &last))
    return 0;
  uint64_t from = monotone_find(&table->firsts, above).index, to = last.index + 1;
  while (from < to) {
    const uint64_t middle = from + (to - from) / 2;
    if (middle < table->function_count && function_offset(table, (uint32_t)middle) <= offset)
      from = middle + 1;
    else
      to = middle;
  }
  return (uint32_t)from;
}

/* Which of the two other answers holds for an address that has no record. */
static enum packed_answer missing(const struct packed_table *table, uint64_t offset) {
  const uint32_t functions = functions_up_to(table, offset);
  if (functions == 0)
    return PACKED_NOT_MANAGED;
  if (functions > table->function_count)
    return PACKED_CORRUPT;
  return offset < function_end_offset(table, functions - 1) ? PACKED_NOT_SAFEPOINT
                                                            : PACKED_NOT_MANAGED;
}

void packed_prefetch(const struct packed_table *table, uint64_t address, unsigned step) {
  monotone_prefetch(&table->records, (address - table->text_start) >> table->record_shift, step);
}

enum packed_answer packed_find(const struct packed_table *table, uint64_t address,
                               struct packed_record *record) {
  const uint64_t offset = address - table->text_start;
  if (offset > table->text_size)
    return PACKED_NOT_MANAGED;
  if ((offset & bits_low_mask(table->record_shift)) != 0)
    return missing(table, offset);
  const uint64_t x = offset >> table->record_shift;
  const struct monotone_cursor cursor = monotone_find(&table->records, x);
  if (cursor.index >= table->record_count || monotone_value(&table->records, cursor) != x)
    return missing(table, offset);
  return place_record(table, cursor.index, offset, record);
}

enum packed_answer packed_record_at(const struct packed_table *table, uint32_t index,
                                    struct packed_record *record) {
  const struct monotone_cursor cursor = monotone_get(&table->records, index, MONOTONE_FIND);
  if (cursor.index != index)
    return PACKED_CORRUPT;
  return place_record(table, index, monotone_value(&table->records, cursor) << table->record_shift,
                      record);
}

/* Whether a record's function, which the rule gave, has the next record, too. */
static bool is_in_function(const struct packed_records *records) {
  return records->table->exception_count == 0 && records->cursor.index > 0 &&
         records->cursor.index < records->next_first;
}

struct packed_records packed_records(const struct packed_table *table) {
  struct packed_records records = {.table = table};
  if (table->record_count > 0)
    records.cursor = monotone_get(&table->records, 0, MONOTONE_FIND);
  return records;
}

enum packed_answer packed_records_next(struct packed_records *records,
                                       struct packed_record *record) {
  const struct packed_table *table = records->table;
  const uint64_t offset = monotone_value(&table->records, records->cursor) << table->record_shift;
  enum packed_answer answer = PACKED_FOUND;
  if (is_in_function(records)) {
    record->index++;
    record->position++;
    record->address = table->text_start + offset;
  } else {
    answer = place_record(table, records->cursor.index, offset, record);
    records->next_first = answer != PACKED_FOUND || record->function + 1 >= table->function_count
                              ? 0
                              : first_record(table, record->function + 1);
  }
  records->cursor = monotone_next(&table->records, records->cursor);
  return answer;
}

/* ---- Locations ---- */

uint32_t packed_location_class(const struct packed_table *table, uint32_t number) {
  uint32_t from = 0, to = table->location_classes;
  while (to - from > 1) {
    const uint32_t middle = from + (to - from) / 2;
    if (class_first_number(table, middle) <= number)
      from = middle;
    else
      to = middle;
  }
  return from;
}

struct location packed_location(const struct packed_table *table, uint32_t number) {
  if (number < table->first_class_count) {
    struct location location = table->first_class;
    location.value =
        (int64_t)((uint64_t)location.value + (uint64_t)number * table->first_class_step);
    return location;
  }
  if (number >= table->location_count)
    return (struct location){0};
  const uint32_t class = packed_location_class(table, number);
  return class_location(table, class, number - class_first_number(table, class));
}

struct packed_list packed_list(const struct packed_table *table, uint32_t number) {
  struct packed_list list = {.table = table, .reader.bad = number >= table->list_count};
  if (list.reader.bad)
    return list;
  const struct monotone_cursor cursor = monotone_get(&table->list_starts, number, MONOTONE_GET);
  list.reader = bit_reader_at(table->lists, monotone_value(&table->list_starts, cursor));
  list.left = (uint32_t)bit_reader_gamma(&list.reader);
  if (list.left > PACKED_LIVE_ITEMS_MAX) {
    list.left = 0;
    list.reader.bad = true;
  }
  return list;
}

bool packed_list_next(struct packed_list *list, struct location *location) {
  if (list->left == 0)
    return false;
  const uint32_t number = (uint32_t)bit_reader_take(&list->reader, list->table->location_width);
  if (list->reader.bad) {
    list->left = 0;
    return false;
  }
  list->left--;
  *location = packed_location(list->table, number);
  return true;
}
