/* packed_details.c - reads the blocks that packed_details.h draws. */
#include "format/packed_details.h"

#include <assert.h>

enum { LENGTHS_SIZE = PACKED_STREAMS * 4 };

static size_t align8(size_t size) { return (size + 7) & ~(size_t)7; }

/* ---- The part ---- */

bool packed_details_header(const struct packed_table *table, struct packed_details_header *header) {
  *header = (struct packed_details_header){.id = PACKED_USUAL_ID};
  if (table->details == NULL)
    return true;
  if (table->details_size < sizeof *header)
    return false;
  memcpy(header, table->details, sizeof *header);
  const uint64_t records = table->record_count;
  return header->shift < 32 && header->codec <= PACKED_ZSTANDARD &&
         header->columns <= PACKED_ALL_COLUMNS && header->block_size <= PACKED_BLOCK_SIZE_MAX &&
         header->block_count == (header->columns == 0
                                     ? 0
                                     : (records + bits_low_mask(header->shift)) >> header->shift) &&
         sizeof *header + (uint64_t)header->block_count * 4 <= table->details_size;
}

size_t packed_details_space(const struct packed_table *table) {
  struct packed_details_header header;
  if (!packed_details_header(table, &header) || header.columns == 0)
    return 0;
  return align8(header.block_size) + header.deopt_max * sizeof(struct stackpack_location);
}

bool packed_block_bytes(const struct packed_table *table,
                        const struct packed_details_header *header, uint32_t number,
                        struct packed_stream *bytes) {
  assert(number < header->block_count);
  const uint8_t *ends = table->details + sizeof *header;
  const uint8_t *blocks = ends + (size_t)header->block_count * 4;
  const uint32_t start = number == 0 ? 0 : bits_load32(ends + ((size_t)number - 1) * 4);
  const uint32_t end = bits_load32(ends + (size_t)number * 4);
  if (start > end || end > table->details_size - (size_t)(blocks - table->details))
    return false;
  *bytes = (struct packed_stream){blocks + start, blocks + end};
  return true;
}

/* ---- Blocks ---- */

/* Finds the bytes of a block, decoded: in the table itself, or in space. */
static bool decode_block(const struct packed_table *table,
                         const struct packed_details_header *header, uint32_t number, void *space,
                         stackpack_decompress *decompress, struct packed_stream *bytes) {
  if (number >= header->block_count || !packed_block_bytes(table, header, number, bytes))
    return false;
  size_t size = (size_t)(bytes->end - bytes->next);
  if (header->codec == PACKED_ZSTANDARD) {
    if (decompress == NULL)
      return false;
    size = decompress(space, header->block_size, bytes->next, size);
    bytes->next = space;
  }
  if (size > header->block_size)
    return false;
  bytes->end = bytes->next + size;
  return true;
}

/* Cuts a decoded block into its streams. */
static bool open_streams(struct packed_block *block, struct packed_stream bytes) {
  if (bytes.end - bytes.next < LENGTHS_SIZE)
    return false;
  const uint8_t *lengths = bytes.next;
  bytes.next += LENGTHS_SIZE;
  for (unsigned i = 0; i < PACKED_STREAMS; i++) {
    const uint32_t length = bits_load32(lengths + i * 4);
    if (length > (size_t)(bytes.end - bytes.next))
      return false;
    block->streams[i] = (struct packed_stream){bytes.next, bytes.next + length};
    bytes.next += length;
  }
  return true;
}

bool packed_block_open(struct packed_block *block, const struct packed_table *table, uint32_t index,
                       void *space, stackpack_decompress *decompress) {
  struct packed_stream bytes;
  *block = (struct packed_block){0};
  struct packed_details_header *header = &block->header;
  assert(index < table->record_count && (uintptr_t)space % 8 == 0);
  if (!packed_details_header(table, header))
    return false;
  block->id = header->id;
  if (header->columns == 0)
    return true;
  const uint32_t number = index >> header->shift;
  block->deopt =
      (struct stackpack_location *)(void *)((uint8_t *)space + align8(header->block_size));
  if (!decode_block(table, header, number, space, decompress, &bytes))
    return false;
  block->size = (uint32_t)(bytes.end - bytes.next);
  return open_streams(block, bytes);
}

static uint64_t take_varint(struct packed_block *block, enum packed_stream_number stream) {
  uint64_t value;
  if (bits_varint(&block->streams[stream].next, block->streams[stream].end, &value))
    return value;
  block->bad = true;
  return 0;
}

static const uint8_t *take_bytes(struct packed_block *block, enum packed_stream_number stream,
                                 size_t size) {
  struct packed_stream *s = &block->streams[stream];
  if (size > (size_t)(s->end - s->next)) {
    block->bad = true;
    return NULL;
  }
  const uint8_t *bytes = s->next;
  s->next += size;
  return bytes;
}

static const uint8_t *take_head(struct packed_block *block) {
  const struct packed_stream *heads = &block->streams[STREAM_DEOPT_HEADS];
  const uint64_t number = take_varint(block, STREAM_DEOPT_STATES);
  if (number < (size_t)(heads->end - heads->next) / PACKED_HEAD_SIZE)
    return heads->next + number * PACKED_HEAD_SIZE;
  block->bad = true;
  return NULL;
}

/* Takes a deopt state except its first value. */
static void take_new_deopt(struct packed_block *block, uint64_t count) {
  block->deopt_count = 0;
  if (count > block->header.deopt_max)
    block->bad = true;
  for (uint64_t i = 0; i < count && !block->bad; i++) {
    const uint8_t *head = take_head(block);
    const uint64_t value = i == 0 ? 0 : bits_unzigzag(take_varint(block, STREAM_DEOPT_STATES));
    if (!block->bad)
      block->deopt[i] = (struct stackpack_location){head[0], bits_load16(head + 1),
                                                    bits_load16(head + 3), (int64_t)value};
  }
  if (!block->bad)
    block->deopt_count = (uint32_t)count;
}

static void take_deopt(struct packed_block *block, struct stackpack_details *details) {
  const uint64_t code = take_varint(block, STREAM_DEOPT_STATES);
  if (code != 0)
    take_new_deopt(block, code - 1);
  if (block->deopt_count > 0) {
    block->first_value += bits_unzigzag(take_varint(block, STREAM_FIRST_VALUES));
    block->deopt[0].value = (int64_t)block->first_value;
  }
  details->deopt_count = block->deopt_count;
  details->deopt = block->deopt;
}

_Static_assert(sizeof(struct stackpack_live_out) == 3, "a live-out lies in the stream as it is");

static void take_live_outs(struct packed_block *block, struct stackpack_details *details) {
  const uint64_t count = take_varint(block, STREAM_LIVE_OUT_COUNTS);
  if (count > block->header.live_outs_max) {
    block->bad = true;
    return;
  }
  details->live_outs = (const struct stackpack_live_out *)take_bytes(
      block, STREAM_LIVE_OUTS, count * sizeof *details->live_outs);
  details->live_out_count = count;
}

static int32_t take_number(struct packed_block *block, enum packed_stream_number stream,
                           int32_t from) {
  return (int32_t)((uint32_t)from + (uint32_t)bits_unzigzag(take_varint(block, stream)));
}

bool packed_block_next(struct packed_block *block, struct stackpack_details *details) {
  const struct packed_details_header *header = &block->header;
  *details = (struct stackpack_details){
      .id = header->id, .calling_convention = header->calling_convention, .flags = header->flags};
  if ((header->columns & PACKED_COLUMN_ID) != 0)
    details->id = block->id += bits_unzigzag(take_varint(block, STREAM_IDS));
  if ((header->columns & PACKED_COLUMN_CALLING_CONVENTION) != 0)
    details->calling_convention =
        take_number(block, STREAM_CONVENTIONS, header->calling_convention);
  if ((header->columns & PACKED_COLUMN_FLAGS) != 0)
    details->flags = take_number(block, STREAM_FLAGS, header->flags);
  if ((header->columns & PACKED_COLUMN_DEOPT) != 0)
    take_deopt(block, details);
  if ((header->columns & PACKED_COLUMN_LIVE_OUTS) != 0)
    take_live_outs(block, details);
  return !block->bad;
}

bool packed_details(const struct packed_record *record, void *space,
                    stackpack_decompress *decompress, struct stackpack_details *details) {
  struct packed_block block;
  if (!packed_block_open(&block, record->table, record->index, space, decompress))
    return false;
  uint32_t left = 0;
  if (block.header.columns != 0)
    left = record->index & (uint32_t)bits_low_mask(block.header.shift);
  for (;; left--) {
    if (!packed_block_next(&block, details))
      return false;
    if (left == 0)
      return true;
  }
}
