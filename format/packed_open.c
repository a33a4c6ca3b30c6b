/* packed_open.c - opens a packed table: the header, and the place of each part.
 *
 * Opening reads the header alone. It has each part's size, so that an absent part costs nothing,
 * and an unknown one can be passed over. The numbers for look-ups follow from a few others, and are
 * computed once.
 */
#include "format/checksum.h"
#include "format/packed.h"

_Static_assert(sizeof(struct packed_header) == PACKED_HEADER_SIZE, "the header has no gaps");

uint32_t packed_header_checksum(const uint8_t *bytes, size_t size) {
  const size_t at = offsetof(struct packed_header, header_checksum);
  const size_t after = at + sizeof((struct packed_header){0}).header_checksum;
  return checksum32_around_zeros(bytes, at, bytes + after, size - after);
}

/* Reads the fixed fields from any bytes. */
static enum stackpack_error read_header(const uint8_t *bytes, size_t size,
                                        struct packed_header *header) {
  if (size < sizeof *header)
    return STACKPACK_BAD_TABLE;
  memcpy(header, bytes, sizeof *header);
  if (header->magic != PACKED_MAGIC)
    return STACKPACK_BAD_TABLE;
  if (header->version != PACKED_VERSION)
    return STACKPACK_UNSUPPORTED;
  return header->header_size == sizeof *header + (size_t)header->part_count * PACKED_ENTRY_SIZE &&
                 size >= header->header_size &&
                 header->header_checksum == packed_header_checksum(bytes, header->header_size)
             ? STACKPACK_OK
             : STACKPACK_BAD_TABLE;
}

static bool is_size(uint8_t size, uint8_t most) { return size >= 1 && size <= most; }

/* Whether the widths are in range: sums of them can't overflow. One load has a group's head. */
static bool widths_agree(const struct packed_header *header) {
  return header->bucket_shift < 60 && header->record_shift <= header->bucket_shift &&
         header->start_shift <= header->bucket_shift && header->index_width <= 32 &&
         is_size(header->stretch_width, 32) && header->position_width <= 32 &&
         header->full_width <= PACKED_FULL_WIDTH_MAX && is_size(header->reference_bytes, 4) &&
         header->reference_shift < 8 && is_size(header->frame_bytes, 8) &&
         header->frame_shift < 32 && header->frame_width <= 25 && header->first_width <= 25 &&
         is_size(header->long_width, 32) && header->next_width <= 32;
}

/* Places of the parts, by number, and their sizes; 0: there is none. */
struct parts {
  const uint8_t *at[PACKED_PARTS];
  uint64_t sizes[PACKED_PARTS];
};

static enum stackpack_error find_parts(struct packed_table *table,
                                       const struct packed_header *header, struct parts *parts) {
  uint64_t place = header->header_size;
  uint32_t last = 0;
  for (unsigned i = 0; i < header->part_count; i++) {
    const uint8_t *entry = table->bytes + PACKED_HEADER_SIZE + (size_t)i * PACKED_ENTRY_SIZE;
    const uint32_t number = bits_load32(entry), size = bits_load32(entry + 4);
    if (number <= last || size == 0)
      return STACKPACK_BAD_TABLE;
    if (number == PACKED_NO_PART ||
        (number >= PACKED_PARTS_KNOWN && number < PACKED_PARTS_OPTIONAL))
      return STACKPACK_UNSUPPORTED;
    if (number < PACKED_PARTS) {
      parts->at[number] = table->bytes + place;
      parts->sizes[number] = size;
    }
    last = number;
    place += size;
  }
  return place + BITS_PADDING == header->size ? STACKPACK_OK : STACKPACK_BAD_TABLE;
}

/* Divides a part into items of one size. */
static bool count_items(uint64_t size, uint64_t item, uint32_t *count) {
  *count = (uint32_t)(size / item);
  return size % item == 0;
}

static bool open_widths(struct packed_table *table, const struct packed_header *header) {
  if (!widths_agree(header))
    return false;
  const struct packed_leaf_form leaves = {header->bucket_shift, header->record_shift,
                                          header->start_shift, header->reference_bytes,
                                          header->reference_shift};
  table->form = packed_form(leaves);
  table->form.is_usual = memcmp(&leaves, &packed_usual_leaves, sizeof leaves) == 0;
  const unsigned first = header->index_width + header->stretch_width;
  table->stretch_shift = header->index_width;
  table->rest_at = (uint8_t)(first / 8);
  table->position_shift = first % 8;
  table->full_shift = table->position_shift + header->position_width;
  table->entry_bytes = (uint8_t)bits_to_bytes(first + header->position_width + header->full_width);
  table->index_mask = (uint32_t)bits_low_mask(header->index_width);
  table->stretch_mask = (uint32_t)bits_low_mask(header->stretch_width);
  table->position_mask = (uint32_t)bits_low_mask(header->position_width);
  table->full_mask = (uint32_t)bits_low_mask(header->full_width);
  table->frame_width = header->frame_width;
  table->first_width = header->first_width;
  table->long_width = header->long_width;
  table->next_width = header->next_width;
  table->varying_from = header->varying_from;
  table->frame_mask = (uint32_t)bits_low_mask(header->frame_width);
  table->first_mask = (uint32_t)bits_low_mask(header->first_width);
  table->next_mask = (uint32_t)bits_low_mask(header->next_width);
  table->frame_bytes = header->frame_bytes;
  table->frame_size_mask = bits_low_mask(header->frame_bytes * 8u);
  table->frame_shift = header->frame_shift;
  return true;
}

static bool open_counts(struct packed_table *table, const struct packed_header *header,
                        const struct parts *parts) {
  const uint64_t *sizes = parts->sizes;
  uint32_t entries;
  table->record_count = header->records;
  table->stretch_count = header->stretches;
  table->function_count = header->functions;
  if (!count_items(sizes[PACKED_DIRECTORY], table->entry_bytes, &entries) ||
      !count_items(sizes[PACKED_FRAME_SIZES], table->frame_bytes, &table->frame_size_count) ||
      !count_items(sizes[PACKED_CLASSES], PACKED_CLASS_SIZE, &table->class_count) ||
      !count_items(sizes[PACKED_LIST_STARTS], 4, &table->list_count) ||
      !count_items(sizes[PACKED_EXCEPTIONS], PACKED_EXCEPTION_SIZE, &table->exception_count))
    return false;
  table->leaf_count = entries == 0 ? 0 : entries - 1;
  if (header->stretches == 0)
    return header->records == 0 && header->functions == 0 && entries == 0 &&
           sizes[PACKED_REFERENCES] == 0;
  return header->functions <= header->stretches &&
         (uint64_t)header->records * table->form.low_bytes +
                 (uint64_t)header->stretches * table->form.start_bytes +
                 table->leaf_count * sizeof(uint64_t) <=
             sizes[PACKED_LEAVES] &&
         (uint64_t)header->stretches * table->form.reference_bytes == sizes[PACKED_REFERENCES] &&
         (header->text_size >> table->form.leaf_shift) + 1 == table->leaf_count;
}

static void open_parts(struct packed_table *table, const struct parts *parts) {
  table->directory = parts->at[PACKED_DIRECTORY];
  table->leaves = parts->at[PACKED_LEAVES];
  table->leaves_size = parts->sizes[PACKED_LEAVES];
  table->references = parts->at[PACKED_REFERENCES];
  table->layouts = parts->at[PACKED_LAYOUTS];
  table->layouts_size = parts->sizes[PACKED_LAYOUTS];
  table->frame_sizes = parts->at[PACKED_FRAME_SIZES];
  table->classes = parts->at[PACKED_CLASSES];
  table->list_starts = parts->at[PACKED_LIST_STARTS];
  table->lists = parts->at[PACKED_LISTS];
  table->lists_size = parts->sizes[PACKED_LISTS];
  table->exceptions = parts->at[PACKED_EXCEPTIONS];
  table->details = parts->at[PACKED_DETAILS];
  table->details_size = parts->sizes[PACKED_DETAILS];
  table->roots = parts->at[PACKED_GLOBAL_ROOTS];
  table->roots_size = parts->sizes[PACKED_GLOBAL_ROOTS];
  table->sources = parts->at[PACKED_SOURCES];
  table->sources_size = parts->sizes[PACKED_SOURCES];
}

/* Whether there are leaves, and so many starts can be read from any place in them on: not in a
 * table of a few records. */
static bool can_read_starts(const struct packed_table *table, const uint8_t *end) {
  return table->leaf_count > 0 && table->leaves != NULL &&
         (uint64_t)(end - table->leaves) >= table->leaves_size + PACKED_USUAL_STARTS;
}

/* Frames have a format of their own. */
static bool open_frames(struct packed_table *table, const struct parts *parts) {
  table->frames_size = (uint32_t)parts->sizes[PACKED_FRAMES];
  if (table->frames_size > 0)
    return frames_open(&table->frames, parts->at[PACKED_FRAMES], table->frames_size,
                       table->stretch_count, table->record_count);
  table->varying_from = UINT32_MAX;
  return true;
}

/* The first class has nearly all locations: it is kept at hand. */
static void open_classes(struct packed_table *table) {
  const uint8_t *class = table->classes;
  if (table->class_count == 0)
    return;
  const uint8_t *last = class + (size_t)(table->class_count - 1) * PACKED_CLASS_SIZE;
  table->location_count = bits_load32(last + 8);
  table->first_class = (struct stackpack_location){
      class[4], bits_load16(class), bits_load16(class + 2), (int64_t)bits_load64(class + 16)};
  /* (Where the last class ends before the first one does, the table is broken: none is in both.) */
  const uint32_t first_end = bits_load32(class + 8);
  table->first_class_count = first_end < table->location_count ? first_end : table->location_count;
  table->first_class_step = bits_load32(class + 12);
}

enum stackpack_error packed_open(struct packed_table *table, const uint8_t *bytes, size_t size,
                                 uint64_t address) {
  struct packed_header header;
  struct parts parts = {0};
  enum stackpack_error error = read_header(bytes, size, &header);
  if (error != STACKPACK_OK)
    return error;
  *table = (struct packed_table){
      .bytes = bytes,
      .address = address,
      .text_start = address + (uint64_t)header.text_start,
      .text_size = header.text_size,
      .code_end = header.code_end,
      .machine = header.machine,
  };
  error = find_parts(table, &header, &parts);
  if (error != STACKPACK_OK)
    return error;
  if (!open_widths(table, &header) || !open_counts(table, &header, &parts) || header.size > size)
    return STACKPACK_BAD_TABLE;
  open_parts(table, &parts);
  table->form.is_usual &= can_read_starts(table, bytes + header.size);
  open_classes(table);
  return open_frames(table, &parts) ? STACKPACK_OK : STACKPACK_BAD_TABLE;
}

bool packed_code_was_added(const struct packed_table *table, uint64_t code_end) {
  return table->code_end != 0 && (int64_t)(code_end - table->address) > table->code_end;
}

uint64_t packed_size(const struct packed_table *table) {
  return bits_load64(table->bytes + offsetof(struct packed_header, size));
}

bool packed_check(const struct packed_table *table) {
  const size_t start = bits_load16(table->bytes + offsetof(struct packed_header, header_size));
  return checksum64(table->bytes + start, packed_size(table) - start) ==
         bits_load64(table->bytes + offsetof(struct packed_header, checksum));
}
