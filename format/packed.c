/* packed.c - reads a packed table. See packed.h for the parts, FORMAT.md for every bit.
 *
 * Why hostile bytes do no harm: packed_open computes from the header where each part starts and
 * ends, and refuses a header whose parts don't fill the table exactly. After that, fixed-size parts
 * are indexed with numbers below their counts; sequences clamp (monotone.c); and bit strings of
 * varying shape (layouts, lists, tails) are read through bit_reader, or behind a check against
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
  parts->size += (size + 7) & ~(uint64_t)7;
  return start;
}

static uint64_t samples_size(uint64_t count, unsigned shift) {
  return ((count + bits_low_mask(shift)) >> shift) * sizeof(uint32_t);
}

static bool shapes(const struct packed_header *header, struct packed_parts *parts) {
  return monotone_shape(&parts->records, header->records, header->text_size >> header->record_shift,
                        MONOTONE_FIND) &&
         monotone_shape(&parts->functions, header->functions,
                        header->text_size >> header->function_shift, MONOTONE_FIND) &&
         monotone_shape(&parts->layout_starts, packed_layouts(header), header->layout_bits,
                        MONOTONE_GET) &&
         monotone_shape(&parts->list_starts, header->lists, header->list_bits, MONOTONE_GET);
}

static bool counts_agree(const struct packed_header *header) {
  const uint64_t bits_max = (uint64_t)1 << 50;
  return header->record_shift < 32 && header->function_shift < 32 && header->tail_parameter < 32 &&
         header->frame_size_width <= 64 && header->details_shift < 32 &&
         header->shared_functions <= header->functions &&
         header->shared_layouts <= header->shared_functions &&
         (header->locations == 0 || header->location_classes > 0) &&
         header->layout_bits < bits_max && header->list_bits < bits_max &&
         header->tail_bits <= UINT32_MAX && header->details_size < bits_max &&
         header->details_block_size <= PACKED_BLOCK_SIZE_MAX &&
         header->details_codec <= PACKED_ZSTANDARD &&
         header->details_columns <= PACKED_ALL_COLUMNS && header->reserved == 0;
}

bool packed_parts(const struct packed_header *header, struct packed_parts *parts) {
  *parts = (struct packed_parts){.size = PACKED_HEADER_SIZE};
  if (!counts_agree(header) || !shapes(header, parts))
    return false;
  const uint64_t functions = header->functions;
  parts->records_at = part(parts, monotone_size(&parts->records));
  parts->functions_at = part(parts, monotone_size(&parts->functions));
  parts->marks_at = part(parts, bits_to_bytes(functions));
  parts->mark_samples_at = part(parts, samples_size(functions, PACKED_MARKS_PER_SAMPLE_SHIFT));
  parts->shared_at = part(parts, bits_to_bytes((uint64_t)header->shared_functions *
                                               bits_for_count(header->shared_layouts)));
  parts->tail_samples_at = part(parts, samples_size(functions, PACKED_TAILS_PER_SAMPLE_SHIFT));
  parts->tails_at = part(parts, bits_to_bytes(header->tail_bits));
  parts->layout_starts_at = part(parts, monotone_size(&parts->layout_starts));
  parts->layouts_at = part(parts, bits_to_bytes(header->layout_bits));
  parts->frame_sizes_at =
      part(parts, bits_to_bytes((uint64_t)header->frame_sizes * header->frame_size_width));
  parts->classes_at = part(parts, (uint64_t)header->location_classes * PACKED_LOCATION_CLASS_SIZE);
  parts->list_starts_at = part(parts, monotone_size(&parts->list_starts));
  parts->lists_at = part(parts, bits_to_bytes(header->list_bits));
  parts->exceptions_at = part(parts, (uint64_t)header->exceptions * PACKED_EXCEPTION_SIZE);
  parts->block_starts_at = part(parts, (uint64_t)header->details_blocks * sizeof(uint64_t));
  parts->blocks_at = part(parts, header->details_size);
  parts->size += BITS_PADDING;
  return true;
}

static void open_parts(struct packed_table *table, const struct packed_header *header,
                       const struct packed_parts *parts) {
  const uint8_t *bytes = table->bytes;
  table->records = monotone_open(bytes + parts->records_at, &parts->records);
  table->functions = monotone_open(bytes + parts->functions_at, &parts->functions);
  table->layout_starts = monotone_open(bytes + parts->layout_starts_at, &parts->layout_starts);
  table->list_starts = monotone_open(bytes + parts->list_starts_at, &parts->list_starts);
  table->marks = bytes + parts->marks_at;
  table->mark_samples = bytes + parts->mark_samples_at;
  table->shared = bytes + parts->shared_at;
  table->tail_samples = bytes + parts->tail_samples_at;
  table->frame_sizes = bytes + parts->frame_sizes_at;
  table->classes = bytes + parts->classes_at;
  table->exceptions = bytes + parts->exceptions_at;
  table->block_starts = bytes + parts->block_starts_at;
  table->blocks = bytes + parts->blocks_at;
  table->tails = (struct bit_array){bytes + parts->tails_at, header->tail_bits};
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
  table->tail_parameter = header->tail_parameter;
  table->frame_size_width = header->frame_size_width;
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
  if (!packed_parts(&header, &parts) || parts.size != header.size)
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
static uint32_t marks_before(const struct packed_table *table, uint32_t function) {
  const uint32_t sample = function >> PACKED_MARKS_PER_SAMPLE_SHIFT;
  uint32_t count = bits_load32(table->mark_samples + (size_t)sample * sizeof count);
  uint32_t word = sample << (PACKED_MARKS_PER_SAMPLE_SHIFT - 6);
  for (; word < function / 64; word++)
    count += bits_count(bits_load64(table->marks + (size_t)word * 8));
  const uint64_t last = bits_load64(table->marks + (size_t)word * 8);
  return count + bits_count(last & bits_low_mask(function % 64));
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
  struct bit_reader reader = bit_reader_at(table->layouts, layout);
  const uint64_t number = bit_reader_take(&reader, table->frame_width);
  if (reader.bad || number >= table->frame_size_count)
    return UINT64_MAX;
  const unsigned width = table->frame_size_width;
  const uint64_t size = bits_at_wide(table->frame_sizes, number * width, width);
  return size == bits_low_mask(width) ? UINT64_MAX : size;
}

static uint64_t function_offset(const struct packed_table *table, struct monotone_cursor cursor) {
  return monotone_value(&table->functions, cursor) << table->function_shift;
}

uint64_t packed_function_address(const struct packed_table *table, uint32_t function) {
  const struct monotone_cursor cursor = monotone_get(&table->functions, function, MONOTONE_FIND);
  return table->text_start + function_offset(table, cursor);
}

static uint64_t shift_up(uint64_t offset, unsigned shift) {
  return (offset >> shift) + ((offset & bits_low_mask(shift)) != 0);
}

/* The first record whose address is above `offset`. */
static struct monotone_cursor record_above(const struct packed_table *table, uint64_t offset) {
  return monotone_find(&table->records, (offset >> table->record_shift) + 1);
}

/* How far the code of a function goes behind its last record: Rice code, 32 to a sample. */
static uint64_t tail_of(const struct packed_table *table, uint32_t function) {
  const uint32_t sample = function >> PACKED_TAILS_PER_SAMPLE_SHIFT;
  uint32_t skip = function & (uint32_t)bits_low_mask(PACKED_TAILS_PER_SAMPLE_SHIFT);
  struct bit_reader reader =
      bit_reader_at(table->tails, bits_load32(table->tail_samples + (size_t)sample * 4));
  for (;;) {
    unsigned unary = 0;
    while (unary < PACKED_TAIL_UNARY_MAX && bit_reader_take(&reader, 1) != 0)
      unary++;
    const uint64_t tail = unary == PACKED_TAIL_UNARY_MAX
                              ? bit_reader_take(&reader, 64)
                              : (uint64_t)unary << table->tail_parameter |
                                    bit_reader_take(&reader, table->tail_parameter);
    if (reader.bad)
      return 0;
    if (skip-- == 0)
      return tail;
  }
}

/* The end of the function under a cursor, as an offset: behind its last record by its tail. Its
 * last record is the last one before the next function's first. */
static uint64_t function_end_offset(const struct packed_table *table,
                                    struct monotone_cursor function) {
  const uint64_t start = function_offset(table, function);
  uint64_t known = start;
  struct monotone_cursor after = {table->records.count, table->records.high_bits};
  if (function.index + 1 < table->function_count)
    after = record_above(table, function_offset(table, monotone_next(&table->functions, function)));
  if (after.index > 0) {
    const struct monotone_cursor last = monotone_previous(&table->records, after);
    const uint64_t offset = last.index < table->record_count
                                ? monotone_value(&table->records, last) << table->record_shift
                                : 0;
    if (offset > known)
      known = offset;
  }
  return known + tail_of(table, (uint32_t)function.index);
}

uint64_t packed_function_end(const struct packed_table *table, uint32_t function) {
  const struct monotone_cursor cursor = monotone_get(&table->functions, function, MONOTONE_FIND);
  return table->text_start + function_end_offset(table, cursor);
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

/* The first record above `start`, which the record under the cursor is, too. As most functions have
 * few records, it is nearly always some steps back. */
static struct monotone_cursor first_record(const struct packed_table *table, uint64_t start,
                                           struct monotone_cursor record) {
  enum { STEPS = 8 };
  for (unsigned i = 0; i < STEPS; i++) {
    if (record.index == 0)
      return record;
    const struct monotone_cursor before = monotone_previous(&table->records, record);
    if (monotone_value(&table->records, before) << table->record_shift <= start)
      return record;
    record = before;
  }
  return record_above(table, start);
}

/* Fills in a record that is under the cursor, at `offset`. */
static enum packed_answer place_record(const struct packed_table *table,
                                       struct monotone_cursor cursor, uint64_t offset,
                                       struct packed_record *record) {
  record->table = table;
  record->index = (uint32_t)cursor.index;
  record->address = table->text_start + offset;
  if (find_exception(table, record)) {
    if (record->function >= table->function_count)
      return PACKED_CORRUPT;
    record->function_address = packed_function_address(table, record->function);
  } else {
    struct monotone_cursor function =
        monotone_find(&table->functions, shift_up(offset, table->function_shift));
    if (function.index == 0)
      return PACKED_CORRUPT;
    function = monotone_previous(&table->functions, function);
    if (function.index >= table->function_count)
      return PACKED_CORRUPT;
    const uint64_t start = function_offset(table, function);
    const struct monotone_cursor first = first_record(table, start, cursor);
    if (first.index > record->index)
      return PACKED_CORRUPT;
    record->function = (uint32_t)function.index;
    record->function_address = table->text_start + start;
    record->position = record->index - (uint32_t)first.index;
  }
  record->layout = packed_layout(table, record->function);
  return PACKED_FOUND;
}

/* Which of the two other answers holds for an address that has no record. */
static enum packed_answer missing(const struct packed_table *table, uint64_t offset) {
  const struct monotone_cursor above =
      monotone_find(&table->functions, (offset >> table->function_shift) + 1);
  if (above.index == 0)
    return PACKED_NOT_MANAGED;
  const struct monotone_cursor function = monotone_previous(&table->functions, above);
  if (function.index >= table->function_count)
    return PACKED_CORRUPT;
  return offset < function_end_offset(table, function) ? PACKED_NOT_SAFEPOINT : PACKED_NOT_MANAGED;
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
  return place_record(table, cursor, offset, record);
}

enum packed_answer packed_record_at(const struct packed_table *table, uint32_t index,
                                    struct packed_record *record) {
  const struct monotone_cursor cursor = monotone_get(&table->records, index, MONOTONE_FIND);
  if (cursor.index != index)
    return PACKED_CORRUPT;
  return place_record(table, cursor, monotone_value(&table->records, cursor) << table->record_shift,
                      record);
}

/* ---- Locations ---- */

struct location packed_location(const struct packed_table *table, uint32_t number) {
  if (number < table->first_class_count) {
    struct location location = table->first_class;
    location.value =
        (int64_t)((uint64_t)location.value + (uint64_t)number * table->first_class_step);
    return location;
  }
  if (number >= table->location_count)
    return (struct location){0};
  uint32_t from = 0, to = table->location_classes;
  while (to - from > 1) {
    const uint32_t middle = from + (to - from) / 2;
    if (class_first_number(table, middle) <= number)
      from = middle;
    else
      to = middle;
  }
  return class_location(table, from, number - class_first_number(table, from));
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
