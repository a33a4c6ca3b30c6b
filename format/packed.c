/* packed.c - reads a packed table. See packed.h for the parts, FORMAT.md for every bit.
 *
 * Why hostile bytes do no harm: packed_open computes from the header where each part starts and
 * ends, and refuses a header whose parts don't fill the table exactly. After that, fixed-size parts
 * are indexed with numbers below their counts; sequences clamp (monotone.c); and bit strings of
 * varying shape (layouts, lists, extents) are read through bit_reader, or behind a check against
 * their end. The answers to broken bytes may be wrong, but they are PACKED_CORRUPT or inside the
 * table.
 */
#include "format/packed.h"
#include "format/quick.h"

#define XXH_INLINE_ALL
#include <stddef.h>
#include <xxhash.h>

_Static_assert(sizeof(struct packed_header) == PACKED_HEADER_MAX, "the header has no gaps");

/* ---- Header and parts ---- */

/* A header as it stands. */
static struct packed_header stored_header(const struct packed_header *header) {
  struct packed_header stored = *header;
  stored.id -= PACKED_USUAL_ID;
  stored.header_checksum = 0;
  return stored;
}

static uint32_t header_checksum(const struct packed_header *header) {
  const struct packed_header stored = stored_header(header);
  return XXH32(&stored, header->header_size, 0);
}

void packed_header_read(const uint8_t *bytes, struct packed_header *header) {
  const uint16_t size = packed_stored_header_size(bytes);
  *header = (struct packed_header){0};
  memcpy(header, bytes, size < sizeof *header ? size : sizeof *header);
  header->id += PACKED_USUAL_ID;
}

uint16_t packed_header_size(const struct packed_header *header) {
  const struct packed_header stored = stored_header(header);
  uint8_t bytes[sizeof stored];
  uint16_t size = sizeof stored;
  memcpy(bytes, &stored, sizeof stored);
  while (size > PACKED_HEADER_MIN && bits_load64(bytes + size - 8) == 0)
    size -= 8;
  return size;
}

void packed_header_write(uint8_t *bytes, struct packed_header *header) {
  header->header_checksum = header_checksum(header);
  struct packed_header stored = stored_header(header);
  stored.header_checksum = header->header_checksum;
  memcpy(bytes, &stored, header->header_size);
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
  return bits_for_count((uint64_t)header->extent_bits + 1);
}

static bool shapes(const struct packed_header *header, struct packed_parts *parts) {
  return monotone_shape(&parts->bare, header->bare_functions, header->functions, MONOTONE_GET) &&
         monotone_shape(&parts->list_starts, header->lists, header->list_bits, MONOTONE_GET);
}

static bool widths_agree(const struct packed_header *header) {
  return header->leaf_shift < 48 && header->record_shift < 32 &&
         header->record_shift <= header->leaf_shift && header->function_shift < 32 &&
         header->lead_parameter < 32 && header->tail_parameter < 32 &&
         header->frame_size_shift < 32 && header->frame_size_width <= 64 &&
         header->continued_width <= 32 && header->position_width <= 32 &&
         header->frame_parameter < 32 && header->sets_parameter < 32 &&
         header->locations_parameter < 32 && header->first_parameter < 32 &&
         header->details_shift < 32;
}

static bool counts_agree(const struct packed_header *header) {
  const uint64_t bits_max = (uint64_t)1 << 50;
  return header->bare_functions <= header->functions &&
         header->shared_size <= header->leaves_size &&
         header->text_size >> header->leaf_shift < UINT32_MAX &&
         (header->locations == 0 || header->location_classes > 0) &&
         (header->records > 0 || header->convention_bits == 0) && header->list_bits < bits_max &&
         header->details_size < bits_max && header->details_block_size <= PACKED_BLOCK_SIZE_MAX &&
         header->details_codec <= PACKED_ZSTANDARD && header->details_columns <= PACKED_ALL_COLUMNS;
}

bool packed_parts(const struct packed_header *header, struct packed_parts *parts) {
  *parts = (struct packed_parts){.size = header->header_size};
  if (!widths_agree(header) || !counts_agree(header) || !shapes(header, parts))
    return false;
  const uint64_t functions = header->functions;
  const uint64_t leaves = packed_leaf_count(header);
  parts->directory_at =
      part(parts, leaves == 0 ? 0 : bits_to_bytes((leaves + 1) * packed_entry_width(header)));
  parts->leaves_at = part(parts, header->leaves_size);
  parts->bare_at = part(parts, monotone_size(&parts->bare));
  parts->bare_frames_at = part(
      parts, bits_to_bytes((uint64_t)header->bare_functions * bits_for_count(header->frame_sizes)));
  parts->extent_samples_at = part(
      parts, samples_size(functions, PACKED_EXTENTS_PER_SAMPLE_SHIFT, extent_sample_width(header)));
  parts->extents_at = part(parts, bits_to_bytes(header->extent_bits));
  parts->frame_sizes_at =
      part(parts, bits_to_bytes((uint64_t)header->frame_sizes * header->frame_size_width));
  parts->classes_at = part(parts, (uint64_t)header->location_classes * PACKED_LOCATION_CLASS_SIZE);
  parts->list_starts_at = part(parts, monotone_size(&parts->list_starts));
  parts->lists_at = part(parts, bits_to_bytes(header->list_bits));
  parts->exceptions_at = part(parts, (uint64_t)header->exceptions * PACKED_EXCEPTION_SIZE);
  parts->conventions_at = part(parts, packed_conventions_size(header));
  parts->block_ends_at = part(
      parts,
      header->details_blocks == 0 ? 0 : ((uint64_t)header->details_blocks - 1) * sizeof(uint64_t));
  parts->blocks_at = part(parts, header->details_size);
  parts->size += BITS_PADDING;
  return true;
}

static void open_parts(struct packed_table *table, const struct packed_header *header,
                       const struct packed_parts *parts) {
  const uint8_t *bytes = table->bytes;
  table->directory = bytes + parts->directory_at;
  table->layouts = (struct bit_array){bytes + parts->leaves_at, (uint64_t)header->leaves_size * 8};
  table->readable = (parts->size - BITS_PADDING - parts->leaves_at) * 8;
  table->bare = monotone_open(bytes + parts->bare_at, &parts->bare);
  table->bare_frames = bytes + parts->bare_frames_at;
  table->list_starts = monotone_open(bytes + parts->list_starts_at, &parts->list_starts);
  table->conventions = bytes + parts->conventions_at;
  table->extent_samples = bytes + parts->extent_samples_at;
  table->frame_sizes = bytes + parts->frame_sizes_at;
  table->classes = bytes + parts->classes_at;
  table->exceptions = bytes + parts->exceptions_at;
  table->block_ends = bytes + parts->block_ends_at;
  table->blocks = bytes + parts->blocks_at;
  table->extents = (struct bit_array){bytes + parts->extents_at, header->extent_bits};
  table->lists = (struct bit_array){bytes + parts->lists_at, header->list_bits};
}

static void open_counts(struct packed_table *table, const struct packed_header *header) {
  table->record_count = header->records;
  table->function_count = header->functions;
  table->leaf_count = packed_leaf_count(header);
  table->bare_count = header->bare_functions;
  table->run_count = packed_runs(header);
  table->shared_size = header->shared_size;
  table->leaf_shift = header->leaf_shift;
  table->start_width = (uint8_t)packed_start_width(header);
  table->index_width = (uint8_t)bits_for_count((uint64_t)header->records + 1);
  table->run_width = (uint8_t)bits_for_count((uint64_t)packed_runs(header) + 1);
  table->entry_width = (uint8_t)packed_entry_width(header);
  table->shared_width = (uint8_t)bits_for_count(header->shared_size);
  table->continued_width = header->continued_width;
  table->position_width = header->position_width;
  table->quick = bits_processor_is_quick();
  table->location_classes = header->location_classes;
  table->convention_bits = header->convention_bits;
  table->location_count = header->locations;
  table->list_count = header->lists;
  table->exception_count = header->exceptions;
  table->short_cut = packed_short_cut(table);
  table->frame_size_count = header->frame_sizes;
  table->record_shift = header->record_shift;
  table->function_shift = header->function_shift;
  table->lead_parameter = header->lead_parameter;
  table->tail_parameter = header->tail_parameter;
  table->frame_size_width = header->frame_size_width;
  table->frame_size_shift = header->frame_size_shift;
  table->frame_parameter = header->frame_parameter;
  table->sets_parameter = header->sets_parameter;
  table->locations_parameter = header->locations_parameter;
  table->first_parameter = header->first_parameter;
  table->extent_sample_width = (uint8_t)extent_sample_width(header);
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

/* Reads a header from bytes that may be anything. */
static enum packed_error read_header(const uint8_t *bytes, size_t size,
                                     struct packed_header *header) {
  if (size < PACKED_HEADER_MIN)
    return PACKED_TOO_SHORT;
  memcpy(header, bytes, PACKED_HEADER_MIN);
  if (header->magic != PACKED_MAGIC)
    return PACKED_NOT_A_TABLE;
  if (header->version != PACKED_VERSION)
    return PACKED_NEWER_VERSION;
  const uint16_t header_size = header->header_size;
  if (header_size < PACKED_HEADER_MIN || header_size > sizeof *header || header_size % 8 != 0)
    return PACKED_BAD_HEADER;
  if (size < header_size)
    return PACKED_TOO_SHORT;
  packed_header_read(bytes, header);
  if (header->header_checksum != header_checksum(header))
    return PACKED_BAD_HEADER;
  return (header->features & ~PACKED_FEATURES) != 0 ? PACKED_NEWER_VERSION : PACKED_OK;
}

enum packed_error packed_open(struct packed_table *table, const uint8_t *bytes, size_t size,
                              uint64_t address) {
  struct packed_header header;
  struct packed_parts parts;
  const enum packed_error error = read_header(bytes, size, &header);
  if (error != PACKED_OK)
    return error;
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
  return XXH3_64bits(table->bytes + header.header_size, header.size - header.header_size) ==
         header.checksum;
}

/* ---- Look-up ---- */

QUICK_PATH enum packed_answer packed_find(const struct packed_table *table, uint64_t address,
                                          struct packed_record *record) {
  const uint64_t offset = address - table->text_start;
  if (offset > table->text_size)
    return PACKED_NOT_MANAGED;
  if (table->leaf_count == 0 || (offset & bits_low_mask(table->record_shift)) != 0)
    return packed_missing(table, offset);
  const enum packed_answer answer = packed_find_quickly(table, offset, record);
  return answer == PACKED_NOT_MANAGED ? packed_missing(table, offset) : answer;
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
