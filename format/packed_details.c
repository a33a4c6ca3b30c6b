/* packed_details.c - reads and writes the blocks that packed_details.h draws. */
#include "format/packed_details.h"

#include "format/packed_write.h"

#include <stdlib.h>

enum stream {
  STREAM_IDS,
  STREAM_CONVENTIONS,
  STREAM_FLAGS,
  STREAM_DEOPT_STATES,
  STREAM_FIRST_VALUES,
  STREAM_DEOPT_HEADS,
  STREAM_LIVE_OUT_COUNTS,
  STREAM_LIVE_OUTS,
};

enum {
  HEAD_SIZE = 5,
  LIVE_OUT_SIZE = 3,
  LENGTHS_SIZE = PACKED_STREAMS * 4,
  RECORDS_PER_BLOCK_SHIFT = 12, /* fewer where records are so large that a block would be */
};

static uint64_t zigzag(uint64_t n) { return n << 1 ^ -(n >> 63); }
static uint64_t unzigzag(uint64_t n) { return n >> 1 ^ -(n & 1); }

/* ---- Reading ---- */

static size_t align8(size_t size) { return (size + 7) & ~(size_t)7; }

size_t packed_details_space(const struct packed_table *table) {
  struct packed_header header;
  packed_header_read(table->bytes, &header);
  if (header.details_columns == 0)
    return 0;
  return align8(header.details_block_size) + header.deopt_max * sizeof(struct location);
}

unsigned packed_details_shift(const struct packed_table *table) {
  struct packed_header header;
  packed_header_read(table->bytes, &header);
  return header.details_shift;
}

struct packed_block_range packed_block_range(const struct packed_table *table,
                                             const struct packed_header *header, uint32_t number) {
  const uint8_t *ends = table->block_ends;
  return (struct packed_block_range){
      .start = number == 0 ? 0 : bits_load64(ends + ((size_t)number - 1) * 8),
      .end = number + 1 == header->details_blocks ? header->details_size
                                                  : bits_load64(ends + (size_t)number * 8),
  };
}

/* Finds the bytes of block `number`, decoded: in the table itself, or in space. */
static bool decode_block(const struct packed_table *table, const struct packed_header *header,
                         uint32_t number, void *space, packed_decompress *decompress,
                         struct packed_stream *bytes) {
  if (number >= header->details_blocks)
    return false;
  const struct packed_block_range range = packed_block_range(table, header, number);
  if (range.start > range.end || range.end > header->details_size)
    return false;
  const uint8_t *block = table->blocks + range.start;
  size_t size = range.end - range.start;
  if (header->details_codec == PACKED_ZSTANDARD) {
    if (decompress == NULL)
      return false;
    size = decompress(space, header->details_block_size, block, size);
    block = space;
  } else if (header->details_codec != PACKED_STORED) {
    return false;
  }
  if (size > header->details_block_size)
    return false;
  *bytes = (struct packed_stream){block, block + size};
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

bool packed_block_open(struct packed_block *block, const struct packed_table *table,
                       uint32_t number, void *space, packed_decompress *decompress) {
  struct packed_header header;
  struct packed_stream bytes = {0};
  packed_header_read(table->bytes, &header);
  *block = (struct packed_block){
      .table = table,
      .columns = header.details_columns,
      .deopt_max = header.deopt_max,
      .live_outs_max = header.live_outs_max,
      .id = header.id,
      .default_id = header.id,
      .calling_conventions = {header.calling_convention, header.second_convention},
      .default_flags = header.flags,
      .index = number << header.details_shift,
  };
  if (block->columns == 0)
    return true;
  block->deopt = (struct location *)(void *)((uint8_t *)space + align8(header.details_block_size));
  return decode_block(table, &header, number, space, decompress, &bytes) &&
         open_streams(block, bytes);
}

static uint64_t take_varint(struct packed_block *block, enum stream stream) {
  struct packed_stream *s = &block->streams[stream];
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && s->next < s->end; shift += 7) {
    const uint8_t byte = *s->next++;
    value |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80)
      return value;
  }
  block->bad = true;
  return 0;
}

static const uint8_t *take_bytes(struct packed_block *block, enum stream stream, size_t size) {
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
  if (number < (size_t)(heads->end - heads->next) / HEAD_SIZE)
    return heads->next + number * HEAD_SIZE;
  block->bad = true;
  return NULL;
}

/* Takes a deopt state but for its first value. */
static void take_new_deopt(struct packed_block *block, uint64_t count) {
  block->deopt_count = 0;
  if (count > block->deopt_max)
    block->bad = true;
  for (uint64_t i = 0; i < count && !block->bad; i++) {
    const uint8_t *head = take_head(block);
    const uint64_t value = i == 0 ? 0 : unzigzag(take_varint(block, STREAM_DEOPT_STATES));
    if (!block->bad)
      block->deopt[i] =
          (struct location){head[0], bits_load16(head + 1), bits_load16(head + 3), (int64_t)value};
  }
  if (!block->bad)
    block->deopt_count = (uint32_t)count;
}

static void take_deopt(struct packed_block *block, struct packed_details *details) {
  const uint64_t code = take_varint(block, STREAM_DEOPT_STATES);
  if (code != 0)
    take_new_deopt(block, code - 1);
  if (block->deopt_count > 0) {
    block->first_value += unzigzag(take_varint(block, STREAM_FIRST_VALUES));
    block->deopt[0].value = (int64_t)block->first_value;
  }
  details->deopt_count = block->deopt_count;
  details->deopt = block->deopt;
}

static void take_live_outs(struct packed_block *block, struct packed_details *details) {
  const uint64_t count = take_varint(block, STREAM_LIVE_OUT_COUNTS);
  if (count > block->live_outs_max) {
    block->bad = true;
    return;
  }
  details->live_outs = take_bytes(block, STREAM_LIVE_OUTS, count * LIVE_OUT_SIZE);
  details->live_out_count = (uint32_t)count;
}

static int32_t take_number(struct packed_block *block, enum stream stream, int32_t from) {
  return (int32_t)((uint32_t)from + (uint32_t)unzigzag(take_varint(block, stream)));
}

/* Whether the next record is one of those with the second calling convention. */
static bool take_second(struct packed_block *block) {
  bool is_second;
  if (!block->started)
    block->conventions = packed_conventions(block->table, block->index);
  block->started = true;
  block->bad |= !packed_conventions_next(&block->conventions, &is_second);
  return is_second;
}

bool packed_block_next(struct packed_block *block, struct packed_details *details) {
  const bool second = take_second(block);
  const int32_t calling_convention = block->calling_conventions[second];
  *details = (struct packed_details){
      .id = block->default_id,
      .calling_convention = calling_convention,
      .flags = block->default_flags,
  };
  if ((block->columns & PACKED_COLUMN_ID) != 0)
    details->id = block->id += unzigzag(take_varint(block, STREAM_IDS));
  if ((block->columns & PACKED_COLUMN_CALLING_CONVENTION) != 0)
    details->calling_convention = take_number(block, STREAM_CONVENTIONS, calling_convention);
  if ((block->columns & PACKED_COLUMN_FLAGS) != 0)
    details->flags = take_number(block, STREAM_FLAGS, block->default_flags);
  if ((block->columns & PACKED_COLUMN_DEOPT) != 0)
    take_deopt(block, details);
  if ((block->columns & PACKED_COLUMN_LIVE_OUTS) != 0)
    take_live_outs(block, details);
  return !block->bad;
}

bool packed_details(const struct packed_record *record, void *space, packed_decompress *decompress,
                    struct packed_details *details) {
  const unsigned shift = packed_details_shift(record->table);
  struct packed_block block;
  if (!packed_block_open(&block, record->table, record->index >> shift, space, decompress))
    return false;
  if (block.columns == 0) {
    block.index = record->index;
    return packed_block_next(&block, details);
  }
  for (uint32_t left = record->index & (uint32_t)bits_low_mask(shift);; left--) {
    if (!packed_block_next(&block, details))
      return false;
    if (left == 0)
      return true;
  }
}

/* ---- Writing ---- */

struct block_writer {
  const struct safepoints *table;
  const struct packed_header *header;
  struct bit_writer streams[PACKED_STREAMS];
};

static void put_varint(struct bit_writer *stream, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    bit_writer_put(stream, value | 0x80, 8);
  bit_writer_put(stream, value, 8);
}

static bool is_statepoint(const struct safepoints *table, const struct safepoint *record) {
  return safepoints_kind(table, record) == SAFEPOINT_STATEPOINT;
}

/* The ID and flags that most records have. Ties go to the record that comes first. */
static void choose_defaults(const struct safepoints *table, struct packed_header *header) {
  /* Boyer and Moore's majority vote: right wherever more than half of the records agree, which is
   * when it matters. */
  int64_t id_votes = 0, flags_votes = 0;
  header->id = PACKED_USUAL_ID;
  for (uint32_t i = 0; i < table->record_count; i++) {
    const struct safepoint *record = &table->records[i];
#define VOTE(votes, chosen, own)                                                                   \
  if (votes == 0)                                                                                  \
    chosen = own;                                                                                  \
  votes += chosen == own ? 1 : -1;
    VOTE(id_votes, header->id, record->id)
    if (is_statepoint(table, record)) {
      VOTE(flags_votes, header->flags, record->flags)
    }
#undef VOTE
  }
}

/* The two most frequent calling conventions. A program has a handful: only the first ones count. */
static void choose_conventions(const struct safepoints *table, struct packed_header *header) {
  enum { CONVENTIONS_COUNTED = 16 };
  int32_t conventions[CONVENTIONS_COUNTED] = {0};
  uint32_t counts[CONVENTIONS_COUNTED] = {0};
  unsigned known = 0, first = 0, second = 0;
  for (uint32_t i = 0; i < table->record_count; i++) {
    const struct safepoint *record = &table->records[i];
    unsigned k = 0;
    if (!is_statepoint(table, record))
      continue;
    while (k < known && conventions[k] != record->calling_convention)
      k++;
    if (k == CONVENTIONS_COUNTED)
      continue;
    conventions[k] = record->calling_convention;
    counts[k]++;
    known = k < known ? known : k + 1;
  }
  for (unsigned k = 1; k < known; k++)
    first = counts[k] > counts[first] ? k : first;
  second = first;
  for (unsigned k = 0; k < known; k++)
    if (k != first && (second == first || counts[k] > counts[second]))
      second = k;
  header->calling_convention = conventions[first];
  header->second_convention = conventions[second];
}

/* The convention that the runs say for a record. Records that are no statepoints have no
 * convention: the first will do. */
static int32_t convention_of(const struct safepoints *table, const struct packed_header *header,
                             const struct safepoint *record) {
  return is_statepoint(table, record) && record->calling_convention == header->second_convention
             ? header->second_convention
             : header->calling_convention;
}

/* Appends which records have the second convention, if any has. */
static bool write_conventions(const struct safepoints *table, struct packed_header *header,
                              struct bit_writer *bits) {
  bool *seconds = malloc(((size_t)table->record_count + 1) * sizeof *seconds), any = false;
  if (seconds == NULL)
    return false;
  for (uint32_t i = 0; i < table->record_count; i++) {
    seconds[i] = header->second_convention != header->calling_convention &&
                 convention_of(table, header, &table->records[i]) == header->second_convention;
    any |= seconds[i];
  }
  const bool ok = !any || packed_conventions_write(seconds, table->record_count, header, bits);
  free(seconds);
  return ok;
}

/* Which columns are needed, and how long the longest lists are. Records that are no statepoints
 * have no convention and flags: any will do. */
static void choose_columns(const struct safepoints *table, struct packed_header *header) {
  for (uint32_t i = 0; i < table->record_count; i++) {
    const struct safepoint *record = &table->records[i];
    const uint64_t deopt = intern_get(&table->lists, record->deopt).count;
    const uint64_t live_outs = intern_get(&table->lists, record->live_outs).count;
    if (record->id != header->id)
      header->details_columns |= PACKED_COLUMN_ID;
    if (is_statepoint(table, record)) {
      if (record->calling_convention != convention_of(table, header, record))
        header->details_columns |= PACKED_COLUMN_CALLING_CONVENTION;
      if (record->flags != header->flags)
        header->details_columns |= PACKED_COLUMN_FLAGS;
    }
    if (deopt > 0)
      header->details_columns |= PACKED_COLUMN_DEOPT;
    if (live_outs > 0)
      header->details_columns |= PACKED_COLUMN_LIVE_OUTS;
    if (deopt > header->deopt_max)
      header->deopt_max = (uint16_t)deopt;
    if (live_outs > header->live_outs_max)
      header->live_outs_max = (uint16_t)live_outs;
  }
}

/* The number of a location's head in this block, which is appended if it isn't found. */
static uint64_t head_number(struct bit_writer *heads, const struct location *location) {
  enum { HEADS_SEARCHED = 256 };
  const uint64_t count = heads->size / 8 / HEAD_SIZE;
  for (uint64_t i = 0; i < count && i < HEADS_SEARCHED; i++) {
    const uint8_t *head = heads->bytes + i * HEAD_SIZE;
    if (head[0] == location->kind && bits_load16(head + 1) == location->size &&
        bits_load16(head + 3) == location->reg)
      return i;
  }
  bit_writer_put(heads, location->kind, 8);
  bit_writer_put(heads, location->size, 16);
  bit_writer_put(heads, location->reg, 16);
  return count;
}

static bool same_heads(const struct location *a, const struct location *b) {
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
  const struct location first = safepoints_location(table, (uint32_t)a.words[0]);
  const struct location other = safepoints_location(table, (uint32_t)b.words[0]);
  return same_heads(&first, &other);
}

/* Puts the state of a record behind that of `before`, which is NULL at a block's start. */
static void put_deopt(struct block_writer *writer, const struct safepoint *record,
                      const struct safepoint *before, uint64_t *first_value) {
  const struct safepoints *table = writer->table;
  const struct intern_sequence deopt = intern_get(&table->lists, record->deopt);
  struct intern_sequence last = {0};
  if (before != NULL)
    last = intern_get(&table->lists, before->deopt);
  const bool is_new = !same_but_first(table, deopt, last);
  struct bit_writer *states = &writer->streams[STREAM_DEOPT_STATES];
  put_varint(states, is_new ? deopt.count + 1 : 0);
  for (uint64_t i = 0; i < deopt.count && is_new; i++) {
    const struct location location = safepoints_location(table, (uint32_t)deopt.words[i]);
    put_varint(states, head_number(&writer->streams[STREAM_DEOPT_HEADS], &location));
    if (i > 0)
      put_varint(states, zigzag((uint64_t)location.value));
  }
  if (deopt.count > 0) {
    const struct location first = safepoints_location(table, (uint32_t)deopt.words[0]);
    put_varint(&writer->streams[STREAM_FIRST_VALUES], zigzag((uint64_t)first.value - *first_value));
    *first_value = (uint64_t)first.value;
  }
}

static void put_live_outs(struct block_writer *writer, const struct safepoint *record) {
  const struct intern_sequence live_outs = intern_get(&writer->table->lists, record->live_outs);
  put_varint(&writer->streams[STREAM_LIVE_OUT_COUNTS], live_outs.count);
  for (uint64_t i = 0; i < live_outs.count; i++) {
    bit_writer_put(&writer->streams[STREAM_LIVE_OUTS], live_outs.words[i] >> 8, 16);
    bit_writer_put(&writer->streams[STREAM_LIVE_OUTS], live_outs.words[i], 8);
  }
}

static uint64_t difference(int32_t a, int32_t b) {
  return zigzag((uint64_t)((int64_t)a - (int64_t)b));
}

/* Fills the streams with records [from, to). */
static void put_records(struct block_writer *writer, uint32_t from, uint32_t to) {
  const struct packed_header *header = writer->header;
  uint64_t id = header->id, first_value = 0;
  for (unsigned i = 0; i < PACKED_STREAMS; i++)
    bit_writer_free(&writer->streams[i]);
  for (uint32_t i = from; i < to; i++) {
    const struct safepoint *record = &writer->table->records[i];
    const bool plain = safepoints_kind(writer->table, record) == SAFEPOINT_STACKMAP;
    if ((header->details_columns & PACKED_COLUMN_ID) != 0)
      put_varint(&writer->streams[STREAM_IDS], zigzag(record->id - id));
    id = record->id;
    if ((header->details_columns & PACKED_COLUMN_CALLING_CONVENTION) != 0)
      put_varint(&writer->streams[STREAM_CONVENTIONS],
                 plain ? 0
                       : difference(record->calling_convention,
                                    convention_of(writer->table, header, record)));
    if ((header->details_columns & PACKED_COLUMN_FLAGS) != 0)
      put_varint(&writer->streams[STREAM_FLAGS],
                 plain ? 0 : difference(record->flags, header->flags));
    if ((header->details_columns & PACKED_COLUMN_DEOPT) != 0)
      put_deopt(writer, record, i > from ? record - 1 : NULL, &first_value);
    if ((header->details_columns & PACKED_COLUMN_LIVE_OUTS) != 0)
      put_live_outs(writer, record);
  }
}

/* Puts the streams together into one block. */
static bool join_streams(const struct block_writer *writer, struct bit_writer *block) {
  for (unsigned i = 0; i < PACKED_STREAMS; i++)
    bit_writer_put(block, writer->streams[i].size / 8, 32);
  for (unsigned i = 0; i < PACKED_STREAMS; i++) {
    bit_writer_copy(block, writer->streams[i].bytes, 0, writer->streams[i].size);
    block->failed |= writer->streams[i].failed;
  }
  return !block->failed;
}

static bool append_block(struct bit_writer *blocks, const struct bit_writer *block,
                         packed_compress *compress) {
  const size_t size = block->size / 8;
  if (compress == NULL) {
    bit_writer_copy(blocks, block->bytes, 0, block->size);
    return !blocks->failed;
  }
  /* What can't be compressed grows by less than this. */
  const size_t capacity = size + size / 64 + 1024;
  uint8_t *compressed = malloc(capacity + BITS_PADDING);
  if (compressed == NULL)
    return false;
  const size_t compressed_size = compress(compressed, capacity, block->bytes, size);
  if (compressed_size > 0)
    bit_writer_copy(blocks, compressed, 0, compressed_size * 8);
  free(compressed);
  return compressed_size > 0 && !blocks->failed;
}

/* Writes all blocks, of 2^details_shift records each. False without memory, or if one is too large.
 */
static bool write_blocks(struct block_writer *writer, struct packed_header *header,
                         packed_compress *compress, struct bit_writer *block_ends,
                         struct bit_writer *blocks) {
  const uint32_t records = writer->table->record_count;
  const uint32_t step = (uint32_t)1 << header->details_shift;
  bool ok = true;
  header->details_blocks = header->details_block_size = 0;
  for (uint32_t from = 0; from < records && ok; header->details_blocks++) {
    const uint32_t to = records - from < step ? records : from + step;
    struct bit_writer block = {0};
    put_records(writer, from, to);
    if (from > 0)
      bit_writer_put(block_ends, blocks->size / 8, 64);
    ok = join_streams(writer, &block);
    if (ok && block.size / 8 > header->details_block_size)
      header->details_block_size = (uint32_t)(block.size / 8);
    ok = ok && header->details_block_size <= PACKED_BLOCK_SIZE_MAX &&
         append_block(blocks, &block, compress);
    bit_writer_free(&block);
    from = to;
  }
  header->details_size = blocks->size / 8;
  return ok && !block_ends->failed;
}

bool packed_write_details(const struct safepoints *table, packed_compress *compress,
                          struct packed_header *header, struct bit_writer *conventions,
                          struct bit_writer *block_ends, struct bit_writer *blocks) {
  choose_defaults(table, header);
  choose_conventions(table, header);
  if (!write_conventions(table, header, conventions))
    return false;
  choose_columns(table, header);
  if (header->details_columns == 0)
    return true;
  header->details_codec = compress == NULL ? PACKED_STORED : PACKED_ZSTANDARD;
  header->details_shift = RECORDS_PER_BLOCK_SHIFT;
  struct block_writer writer = {.table = table, .header = header};
  bool ok = write_blocks(&writer, header, compress, block_ends, blocks);
  while (!ok && header->details_block_size > PACKED_BLOCK_SIZE_MAX && header->details_shift > 0) {
    header->details_shift--;
    bit_writer_free(block_ends);
    bit_writer_free(blocks);
    ok = write_blocks(&writer, header, compress, block_ends, blocks);
  }
  for (unsigned i = 0; i < PACKED_STREAMS; i++)
    bit_writer_free(&writer.streams[i]);
  return ok;
}
