/* packed_details.h - IDs, deopt state, calling conventions, flags and live-outs: the cold part.
 *
 * Most programs have none of this: every record has LLVM's default ID, one of two calling
 * conventions, and no state. Then the header and packed_conventions.c say so, and there is no block. Otherwise the records are cut into blocks of
 * 2^details_shift, each compressed by itself. A decoded block is a row of streams, of which a column
 * that doesn't differ between records leaves its own empty:
 *
 *   u32 length of each stream in bytes, then the streams:
 *     ids              varint (zigzag): difference from the record before (the first: from the
 *                      header's)
 *     conventions      varint (zigzag): difference from the first or the second convention,
 *                      whichever the record has by packed_conventions.c
 *     flags            varint (zigzag): difference from the header's
 *     deopt states     varint: 0 for the state of the record before, but for its first value; else 1
 *                      and how many locations. Then of each varint, the number of its head, and,
 *                      but for the first, varint (zigzag), its value
 *     first values     varint (zigzag): of each state's first location the value's difference from
 *                      that of the last record that had one
 *     deopt heads      5 bytes: u8 kind, u16 size, u16 register: those that occur
 *     live-out counts  varint
 *     live-outs        3 bytes each: u16 register, u8 size
 *
 * Streams keep like with like, and differences turn numbers that count up into runs of ones: so the
 * compressor finds what there is to find. The first deopt value often is a number of the call site,
 * which counts up, or is the ID; the rest, the state of the interpreter, often is the same at the
 * next record. A varint has 7 bits a byte, the lowest first, the high bit set in all but the last;
 * zigzag is n << 1 ^ n >> 63.
 */
#ifndef STACKPACK_PACKED_DETAILS_H
#define STACKPACK_PACKED_DETAILS_H

#include "format/packed.h"

enum { PACKED_STREAMS = 8 };

/* Decompresses as ZSTD_decompress does: returns the size, or more than capacity on failure. */
typedef size_t packed_decompress(void *destination, size_t capacity, const void *source,
                                 size_t size);

struct packed_details {
  uint64_t id;
  int32_t calling_convention, flags;
  uint32_t deopt_count, live_out_count;
  const struct location *deopt;
  const uint8_t *live_outs; /* 3 bytes each, as in the stream */
};

struct packed_stream {
  const uint8_t *next, *end;
};

/* Goes through the records of one decoded block. */
struct packed_block {
  const struct packed_table *table;
  struct packed_stream streams[PACKED_STREAMS];
  struct location *deopt; /* room for the largest deopt state */
  uint32_t deopt_max, live_outs_max;
  uint8_t columns;
  uint64_t id, default_id;
  int32_t calling_conventions[2], default_flags;
  uint32_t index; /* of the first record that comes */
  struct packed_conventions conventions;
  bool started;
  uint64_t first_value; /* of the last deopt state that has one */
  uint32_t deopt_count; /* of the record before */
  bool bad;
};

/* The work space that the two functions below need; 0 if the table has no blocks. */
size_t packed_details_space(const struct packed_table *table);

/* Where block `number` < header->details_blocks lies in table->blocks, as it says itself. */
struct packed_block_range {
  uint64_t start, end;
};
struct packed_block_range packed_block_range(const struct packed_table *table,
                                             const struct packed_header *header, uint32_t number);

/* Decodes block number `number`, from whose first record on packed_block_next goes. False where it
 * is broken. `space` is 8-aligned; `decompress` is not needed for tables that store blocks as they
 * are. */
bool packed_block_open(struct packed_block *block, const struct packed_table *table,
                       uint32_t number, void *space, packed_decompress *decompress);
bool packed_block_next(struct packed_block *block, struct packed_details *details);

/* The number of records in a block, as a shift. */
unsigned packed_details_shift(const struct packed_table *table);

/* The details of one record; decodes its block. */
bool packed_details(const struct packed_record *record, void *space, packed_decompress *decompress,
                    struct packed_details *details);

#endif
