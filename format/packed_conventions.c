/* packed_conventions.c - which of two calling conventions each record has: reader and writer.
 *
 * Nearly every program has two: that of C, and the one that LLVM gives to functions which nobody
 * else can call. Which one a call has is told by the function that it calls, and so neighbours are
 * often alike: the records are cut into runs of one convention. No collector asks for it, so it may
 * take some time to find one record's: it is in one of the blocks of 1024 records, which are gone
 * through from the start.
 *
 *   u8, u8      parameters of the runs' lengths: of those of the first convention, of the second one
 *   directory   for each block the bit at which it starts
 *   blocks      1 bit: the convention of its first record (1: the second one). Then the lengths of
 *               the runs of alternating convention, less 1, in bits.h's code of small numbers
 *
 * Where all records have the first convention, there is nothing.
 */
#include "format/packed_details.h"
#include "format/packed_write.h"

#include <stdlib.h>

enum {
  PARAMETERS = 2, /* bytes */
  BLOCK_SHIFT = PACKED_CONVENTIONS_PER_BLOCK_SHIFT,
  BLOCK = 1 << BLOCK_SHIFT,
};

static uint64_t block_count(uint64_t records) { return (records + BLOCK - 1) >> BLOCK_SHIFT; }

static unsigned start_width(uint64_t bits) { return bits_for_count(bits + 1); }

static uint64_t directory_size(uint64_t records, uint64_t bits) {
  return bits_to_bytes(block_count(records) * start_width(bits));
}

uint64_t packed_conventions_size(const struct packed_header *header) {
  if (header->convention_bits == 0)
    return 0;
  return PARAMETERS + directory_size(header->records, header->convention_bits) +
         bits_to_bytes(header->convention_bits);
}

/* ---- Reading ---- */

struct packed_conventions packed_conventions(const struct packed_table *table, uint32_t index) {
  struct packed_conventions conventions = {.table = table, .index = index & ~(uint32_t)(BLOCK - 1)};
  if (table->convention_bits > 0)
    conventions.reader.bytes = table->conventions + PARAMETERS +
                               directory_size(table->record_count, table->convention_bits);
  conventions.reader.end = table->convention_bits;
  bool ignored;
  while (conventions.index < index && packed_conventions_next(&conventions, &ignored)) {
    const uint32_t wanted = index - conventions.index;
    const uint32_t passed = conventions.left < wanted ? conventions.left : wanted;
    conventions.index += passed;
    conventions.left -= passed;
  }
  return conventions;
}

/* Takes the length of the run that comes. */
static void take_length(struct packed_conventions *conventions) {
  const uint8_t parameter = conventions->table->conventions[conventions->is_second];
  conventions->reader.bad |= parameter >= 32;
  const uint64_t more =
      conventions->reader.bad ? 0 : bit_reader_small(&conventions->reader, parameter);
  conventions->left = more < BLOCK ? (uint32_t)more + 1 : BLOCK;
}

/* Starts block `number`, which the one before must end at, if it was read. */
static void start_block(struct packed_conventions *conventions, uint32_t number) {
  const struct packed_table *table = conventions->table;
  const unsigned width = start_width(table->convention_bits);
  const uint64_t start = bits_at(table->conventions + PARAMETERS, (uint64_t)number * width, width);
  struct bit_reader *reader = &conventions->reader;
  if (conventions->started && (start != reader->position || conventions->left > 0))
    reader->bad = true;
  if (start > reader->end || reader->bad) {
    reader->bad = true;
    return;
  }
  reader->position = start;
  conventions->started = true;
  conventions->is_second = bit_reader_take(reader, 1) != 0;
  take_length(conventions);
}

bool packed_conventions_next(struct packed_conventions *conventions, bool *is_second) {
  *is_second = false;
  if (conventions->table->convention_bits == 0) {
    conventions->index++;
    return true;
  }
  if (conventions->index % BLOCK == 0) {
    start_block(conventions, conventions->index >> BLOCK_SHIFT);
  } else if (conventions->left == 0) {
    conventions->is_second = !conventions->is_second;
    take_length(conventions);
  }
  *is_second = conventions->is_second;
  conventions->index++;
  conventions->left--;
  return !conventions->reader.bad;
}

/* ---- Writing ---- */

/* How many of [from, end) are like the first one. */
static uint32_t run_length(const bool *seconds, uint32_t from, uint32_t end) {
  uint32_t to = from;
  while (to < end && seconds[to] == seconds[from])
    to++;
  return to - from;
}

static uint32_t end_of_block(uint32_t records, uint32_t from) {
  const uint32_t rest = records - from;
  return from + (rest < BLOCK ? rest : BLOCK);
}

static void choose_parameters(const bool *seconds, uint32_t records, unsigned *parameters) {
  struct bits_widths widths[2] = {{{0}}, {{0}}};
  for (uint32_t from = 0; from < records;) {
    const uint32_t length =
        run_length(seconds, from, end_of_block(records, from & ~(uint32_t)(BLOCK - 1)));
    bits_add_small(&widths[seconds[from]], length - 1);
    from += length;
  }
  for (unsigned i = 0; i < 2; i++)
    parameters[i] = bits_best_parameter(&widths[i]);
}

static void write_block(const bool *seconds, uint32_t from, uint32_t end,
                        const unsigned *parameters, struct bit_writer *bits) {
  bit_writer_put(bits, seconds[from], 1);
  while (from < end) {
    const uint32_t length = run_length(seconds, from, end);
    bit_writer_small(bits, length - 1, parameters[seconds[from]]);
    from += length;
  }
}

bool packed_conventions_write(const bool *seconds, uint32_t records, struct packed_header *header,
                              struct bit_writer *out) {
  const uint64_t blocks = block_count(records);
  unsigned parameters[2];
  struct bit_writer bits = {0};
  uint64_t *starts = malloc((blocks + 1) * sizeof *starts);
  if (starts == NULL)
    return false;
  choose_parameters(seconds, records, parameters);
  for (uint32_t block = 0; block < blocks; block++) {
    const uint32_t from = block << BLOCK_SHIFT;
    starts[block] = bits.size;
    write_block(seconds, from, end_of_block(records, from), parameters, &bits);
  }
  header->convention_bits = (uint32_t)bits.size;
  for (unsigned i = 0; i < 2; i++)
    bit_writer_put(out, parameters[i], 8);
  for (uint64_t block = 0; block < blocks; block++)
    bit_writer_put(out, starts[block], start_width(bits.size));
  bit_writer_align(out);
  bit_writer_copy(out, bits.bytes, 0, bits.size);
  const bool ok = !bits.failed && !out->failed && bits.size <= UINT32_MAX;
  bit_writer_free(&bits);
  free(starts);
  return ok;
}
