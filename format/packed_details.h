/* packed_details.h - IDs, deopt state, calling conventions, flags and live-outs: the cold part.
 *
 * Most programs have little of this: every record has LLVM's default ID, and no state; calls have
 * the convention of C, or LLVM's for functions that are local to their file. Where all records
 * agree in all of it, a record takes no bytes. Otherwise the records are cut into blocks of 1 <<
 * shift, each compressed by itself:
 *
 *   header   struct packed_details_header
 *   ends     u32 of each block: its end, in bytes from the first one's start
 *   blocks
 *
 * A decoded block is a row of streams. The stream of a column that is equal for all records is
 * empty:
 *
 *   u32 length of each stream in bytes, then the streams:
 *     ids              varint (zigzag): difference from the record before (the first: from the
 *                      header's)
 *     conventions      varint (zigzag): difference from the header's
 *     flags            the same
 *     deopt states     varint: 0 (that of the record before, but for its first value), else 1
 *                      and the number of locations. Then of each varint, its head's number, and,
 *                      but for the first, varint (zigzag), its value
 *     first values     varint (zigzag): of each state's first location the value, less the one
 *                      of the last record that had one
 *     deopt heads      5 bytes: u8 kind, u16 size, u16 register: the distinct ones
 *     live-out counts  varint
 *     live-outs        3 bytes each: u16 register, u8 size
 *
 * Streams keep like with like, and differences turn numbers that count up into runs of ones: both
 * help the compressor. The first deopt value often is a number of the call site, counting up, or is
 * the ID; the rest, the state of the interpreter, often is the same at the next record. A varint
 * has 7 bits a byte, the lowest first, the high bit set in all but the last. Zigzag is n << 1 ^ n
 * >> 63.
 */
#ifndef STACKPACK_PACKED_DETAILS_H
#define STACKPACK_PACKED_DETAILS_H

#include "format/packed.h"

enum {
  PACKED_BLOCK_SIZE_MAX = 1 << 24, /* decoded */
  PACKED_HEAD_SIZE = 5,            /* of a deopt state's location */
};

/* The streams of a block, in their order. */
enum packed_stream_number {
  STREAM_IDS,
  STREAM_CONVENTIONS,
  STREAM_FLAGS,
  STREAM_DEOPT_STATES,
  STREAM_FIRST_VALUES,
  STREAM_DEOPT_HEADS,
  STREAM_LIVE_OUT_COUNTS,
  STREAM_LIVE_OUTS,
  PACKED_STREAMS
};

#define PACKED_USUAL_ID 0xabcdef00u /* LLVM's, of statepoints that have none of their own */

enum packed_codec { PACKED_STORED = 0, PACKED_ZSTANDARD = 1 };

/* Columns of the details: the ones that differ between records. */
enum packed_column {
  PACKED_COLUMN_ID = 1,
  PACKED_COLUMN_CALLING_CONVENTION = 2,
  PACKED_COLUMN_FLAGS = 4,
  PACKED_COLUMN_DEOPT = 8,
  PACKED_COLUMN_LIVE_OUTS = 16,
  PACKED_ALL_COLUMNS = 31,
};

/* The start of the part. */
struct packed_details_header {
  uint64_t id; /* this and the next two: of all records whose column has no other value */
  int32_t calling_convention, flags;
  uint32_t block_size; /* of the largest block, decoded, in bytes */
  uint16_t deopt_max, live_outs_max;
  uint32_t block_count;
  uint8_t shift; /* 1 << shift records in a block */
  uint8_t codec, columns, unused;
};

/* ---- Details: packed_details.c ---- */

/* Reads the header; the default one for a table without the part. False: the part is broken. */
bool packed_details_header(const struct packed_table *table, struct packed_details_header *header);

struct packed_stream {
  const uint8_t *next, *end;
};

/* Goes through the records of one decoded block. */
struct packed_block {
  struct packed_details_header header;
  struct packed_stream streams[PACKED_STREAMS];
  uint32_t size;                    /* decoded, in bytes */
  struct stackpack_location *deopt; /* room for the largest deopt state */
  uint64_t id;
  uint64_t first_value; /* of the last deopt state that has one */
  uint32_t deopt_count; /* of the record before */
  bool bad;
};

/* The work space that the two functions below need; 0 if the table has no blocks. */
size_t packed_details_space(const struct packed_table *table);

/* The place of block `number` < header->block_count. */
bool packed_block_bytes(const struct packed_table *table,
                        const struct packed_details_header *header, uint32_t number,
                        struct packed_stream *bytes);

/* Decodes the block that record `index` is in; a table without blocks is one block from there on.
 * packed_block_next goes from the block's first record on. False where it is broken. `space` is
 * 8-aligned; `decompress` may be NULL for tables with uncompressed blocks. */
bool packed_block_open(struct packed_block *block, const struct packed_table *table, uint32_t index,
                       void *space, stackpack_decompress *decompress);
bool packed_block_next(struct packed_block *block, struct stackpack_details *details);

/* The details of one record; decodes its block. */
bool packed_details(const struct packed_record *record, void *space,
                    stackpack_decompress *decompress, struct stackpack_details *details);

#endif
