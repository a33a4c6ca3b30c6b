/* packed_write_details.c - writes the details that packed_details.h draws. */
#include "format/packed_details.h"
#include "format/packed_encoder.h"

#include <assert.h>
#include <stdlib.h>

enum {
  RECORDS_PER_BLOCK_SHIFT = 12, /* fewer where large records would make a large block */
};

struct details_writer {
  const struct safepoints *table;
  packed_compress *compress;
  struct packed_details_header header;
  struct bit_writer streams[PACKED_STREAMS];
  struct bit_writer ends, blocks;
};

static bool is_statepoint(const struct safepoints *table, const struct safepoint *record) {
  return safepoints_kind(table, record) == SAFEPOINT_STATEPOINT;
}

/* The ID, convention and flags of the first record that has them. They mostly hold for all
 * records. */
static void choose_defaults(struct details_writer *writer) {
  const struct safepoints *table = writer->table;
  struct packed_details_header *header = &writer->header;
  uint32_t i = 0;
  header->id = table->record_count > 0 ? table->records[0].id : PACKED_USUAL_ID;
  while (i < table->record_count && !is_statepoint(table, &table->records[i]))
    i++;
  if (i == table->record_count)
    return;
  header->calling_convention = table->records[i].calling_convention;
  header->flags = table->records[i].flags;
}

/* Finds the columns that are needed, and the lengths of the longest lists. Stack maps and patch
 * points have no convention and flags: any will do. */
static void choose_columns(struct details_writer *writer) {
  const struct safepoints *table = writer->table;
  struct packed_details_header *header = &writer->header;
  for (uint32_t i = 0; i < table->record_count; i++) {
    const struct safepoint *record = &table->records[i];
    const uint64_t deopt = intern_get(&table->lists, record->deopt).count;
    const uint64_t live_outs = intern_get(&table->lists, record->live_outs).count;
    assert(deopt <= UINT16_MAX && live_outs <= UINT16_MAX);
    if (record->id != header->id)
      header->columns |= PACKED_COLUMN_ID;
    if (is_statepoint(table, record)) {
      if (record->calling_convention != header->calling_convention)
        header->columns |= PACKED_COLUMN_CALLING_CONVENTION;
      if (record->flags != header->flags)
        header->columns |= PACKED_COLUMN_FLAGS;
    }
    if (deopt > 0)
      header->columns |= PACKED_COLUMN_DEOPT;
    if (live_outs > 0)
      header->columns |= PACKED_COLUMN_LIVE_OUTS;
    if (deopt > header->deopt_max)
      header->deopt_max = (uint16_t)deopt;
    if (live_outs > header->live_outs_max)
      header->live_outs_max = (uint16_t)live_outs;
  }
}

/* The number of a location's head in this block, appended if it is new. */
static uint64_t head_number(struct bit_writer *heads, const struct stackpack_location *location) {
  enum { HEADS_SEARCHED = 256 };
  const uint64_t count = heads->size / 8 / PACKED_HEAD_SIZE;
  for (uint64_t i = 0; i < count && i < HEADS_SEARCHED; i++) {
    const uint8_t *head = heads->bytes + i * PACKED_HEAD_SIZE;
    if (head[0] == location->kind && bits_load16(head + 1) == location->size &&
        bits_load16(head + 3) == location->reg)
      return i;
  }
  bit_writer_put(heads, location->kind, 8);
  bit_writer_put(heads, location->size, 16);
  bit_writer_put(heads, location->reg, 16);
  return count;
}

static bool same_heads(const struct stackpack_location *a, const struct stackpack_location *b) {
  return a->kind == b->kind && a->size == b->size && a->reg == b->reg;
}

/* Whether two deopt states differ in the first value only, if at all. */
static bool same_but_first(const struct safepoints *table, struct intern_sequence a,
                           struct intern_sequence b) {
  if (a.count != b.count ||
      (a.count > 1 && memcmp(a.words + 1, b.words + 1, (a.count - 1) * sizeof *a.words) != 0))
    return false;
  if (a.count == 0 || a.words[0] == b.words[0])
    return true;
  const struct stackpack_location first = safepoints_location(table, (uint32_t)a.words[0]);
  const struct stackpack_location other = safepoints_location(table, (uint32_t)b.words[0]);
  return same_heads(&first, &other);
}

/* Writes the state of a record after the state of `before`, which is NULL at a block's start. */
static void put_deopt(struct details_writer *writer, const struct safepoint *record,
                      const struct safepoint *before, uint64_t *first_value) {
  const struct safepoints *table = writer->table;
  const struct intern_sequence deopt = intern_get(&table->lists, record->deopt);
  struct intern_sequence last = {0};
  if (before != NULL)
    last = intern_get(&table->lists, before->deopt);
  const bool is_new = !same_but_first(table, deopt, last);
  struct bit_writer *states = &writer->streams[STREAM_DEOPT_STATES];
  bit_writer_varint(states, is_new ? deopt.count + 1 : 0);
  for (uint64_t i = 0; i < deopt.count && is_new; i++) {
    const struct stackpack_location location = safepoints_location(table, (uint32_t)deopt.words[i]);
    bit_writer_varint(states, head_number(&writer->streams[STREAM_DEOPT_HEADS], &location));
    if (i > 0)
      bit_writer_varint(states, bits_zigzag((uint64_t)location.value));
  }
  if (deopt.count > 0) {
    const struct stackpack_location first = safepoints_location(table, (uint32_t)deopt.words[0]);
    bit_writer_varint(&writer->streams[STREAM_FIRST_VALUES],
                      bits_zigzag((uint64_t)first.value - *first_value));
    *first_value = (uint64_t)first.value;
  }
}

static void put_live_outs(struct details_writer *writer, const struct safepoint *record) {
  const struct intern_sequence live_outs = intern_get(&writer->table->lists, record->live_outs);
  bit_writer_varint(&writer->streams[STREAM_LIVE_OUT_COUNTS], live_outs.count);
  for (uint64_t i = 0; i < live_outs.count; i++) {
    bit_writer_put(&writer->streams[STREAM_LIVE_OUTS], live_outs.words[i] >> 8, 16);
    bit_writer_put(&writer->streams[STREAM_LIVE_OUTS], live_outs.words[i], 8);
  }
}

static uint64_t difference(int32_t a, int32_t b) {
  return bits_zigzag((uint64_t)((int64_t)a - (int64_t)b));
}

/* Fills the streams with records [from, to). */
static void put_records(struct details_writer *writer, uint32_t from, uint32_t to) {
  const struct packed_details_header *header = &writer->header;
  uint64_t id = header->id, first_value = 0;
  for (unsigned i = 0; i < PACKED_STREAMS; i++)
    bit_writer_free(&writer->streams[i]);
  for (uint32_t i = from; i < to; i++) {
    const struct safepoint *record = &writer->table->records[i];
    const bool plain = safepoints_kind(writer->table, record) == SAFEPOINT_STACKMAP;
    if ((header->columns & PACKED_COLUMN_ID) != 0)
      bit_writer_varint(&writer->streams[STREAM_IDS], bits_zigzag(record->id - id));
    id = record->id;
    if ((header->columns & PACKED_COLUMN_CALLING_CONVENTION) != 0)
      bit_writer_varint(&writer->streams[STREAM_CONVENTIONS],
                        plain ? 0
                              : difference(record->calling_convention, header->calling_convention));
    if ((header->columns & PACKED_COLUMN_FLAGS) != 0)
      bit_writer_varint(&writer->streams[STREAM_FLAGS],
                        plain ? 0 : difference(record->flags, header->flags));
    if ((header->columns & PACKED_COLUMN_DEOPT) != 0)
      put_deopt(writer, record, i > from ? record - 1 : NULL, &first_value);
    if ((header->columns & PACKED_COLUMN_LIVE_OUTS) != 0)
      put_live_outs(writer, record);
  }
}

/* Puts the streams together into one block. */
static bool join_streams(const struct details_writer *writer, struct bit_writer *block) {
  for (unsigned i = 0; i < PACKED_STREAMS; i++)
    bit_writer_put(block, writer->streams[i].size / 8, 32);
  for (unsigned i = 0; i < PACKED_STREAMS; i++)
    bit_writer_append(block, &writer->streams[i]);
  return !block->failed;
}

static bool append_block(struct details_writer *writer, const struct bit_writer *block) {
  const size_t size = block->size / 8;
  if (writer->compress == NULL) {
    bit_writer_append(&writer->blocks, block);
    return !writer->blocks.failed;
  }
  /* An incompressible block grows by less than this. */
  const size_t capacity = size + size / 64 + 1024;
  struct bit_writer compressed = {.bytes = malloc(capacity)};
  if (compressed.bytes == NULL)
    return false;
  compressed.size = (uint64_t)writer->compress(compressed.bytes, capacity, block->bytes, size) * 8;
  assert(compressed.size <= capacity * 8);
  bit_writer_append(&writer->blocks, &compressed);
  const bool ok = compressed.size > 0 && !writer->blocks.failed;
  bit_writer_free(&compressed);
  return ok;
}

/* Writes all blocks, of 1 << shift records each. False if memory runs out, or if one is too
 * large. */
static bool write_blocks(struct details_writer *writer) {
  struct packed_details_header *header = &writer->header;
  const uint32_t records = writer->table->record_count;
  const uint32_t step = (uint32_t)1 << header->shift;
  bool ok = true;
  bit_writer_free(&writer->ends);
  bit_writer_free(&writer->blocks);
  header->block_count = header->block_size = 0;
  for (uint32_t from = 0; from < records && ok; header->block_count++) {
    const uint32_t to = records - from < step ? records : from + step;
    struct bit_writer block = {0};
    put_records(writer, from, to);
    ok = join_streams(writer, &block);
    if (ok && block.size / 8 > header->block_size)
      header->block_size = block.size / 8 < UINT32_MAX ? (uint32_t)(block.size / 8) : UINT32_MAX;
    ok = ok && header->block_size <= PACKED_BLOCK_SIZE_MAX && append_block(writer, &block);
    bit_writer_put(&writer->ends, writer->blocks.size / 8, 32);
    bit_writer_free(&block);
    from = to;
  }
  assert(!ok || header->block_count == (records + (uint64_t)step - 1) / step);
  return ok && writer->blocks.size / 8 <= UINT32_MAX;
}

static bool write_columns(struct details_writer *writer) {
  struct packed_details_header *header = &writer->header;
  header->codec = writer->compress == NULL ? PACKED_STORED : PACKED_ZSTANDARD;
  header->shift = RECORDS_PER_BLOCK_SHIFT;
  bool ok = write_blocks(writer);
  while (!ok && header->block_size > PACKED_BLOCK_SIZE_MAX && header->shift > 0) {
    header->shift--;
    ok = write_blocks(writer);
  }
  return ok;
}

bool packed_write_details(struct encoder *encoder) {
  struct details_writer writer = {.table = encoder->table, .compress = encoder->compress};
  struct bit_writer *details = &encoder->parts[PACKED_DETAILS];
  struct packed_details_header *header = &writer.header;
  choose_defaults(&writer);
  choose_columns(&writer);
  const bool ok = header->columns == 0 || write_columns(&writer);
  if (ok && (header->columns != 0 || header->id != PACKED_USUAL_ID || header->flags != 0 ||
             header->calling_convention != 0)) {
    bit_writer_bytes(details, header, sizeof *header);
    bit_writer_append(details, &writer.ends);
    bit_writer_append(details, &writer.blocks);
  }
  for (unsigned i = 0; i < PACKED_STREAMS; i++)
    bit_writer_free(&writer.streams[i]);
  bit_writer_free(&writer.ends);
  bit_writer_free(&writer.blocks);
  return ok;
}
