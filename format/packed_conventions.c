/* packed_conventions.c - which of two calling conventions each record has.
 *
 * Nearly every program has two: that of C, and the one that LLVM gives to functions that other
 * files can't call. A call has the convention of the function that it calls, and so neighbours are
 * often alike: the records are cut into runs of one convention. No collector asks for it, so
 * finding one record's may take some time: a reader goes through its block of 4096 records from the
 * start.
 *
 *   i32, i32   the two conventions
 *   u8, u8     Rice parameters of the lengths of runs of the first one, and of the second one
 *   u16        0
 *   u32        of each block: where it starts, in bytes after these numbers
 *   blocks     1 bit: which convention its first record has. Then the lengths of the runs of
 *              alternating convention, less 1, in Rice's code
 *
 * Where all records have one convention, there is no such part.
 */
#include "format/packed_details.h"

enum { BLOCK = PACKED_CONVENTIONS_PER_BLOCK, CONVENTIONS_HEADER = 12 };

/* Takes the length of the run that comes. */
static void take_length(struct packed_conventions *conventions) {
  const uint64_t more =
      bit_reader_rice(&conventions->reader, conventions->parameters[conventions->is_second]);
  conventions->reader.bad |= more >= BLOCK;
  conventions->left = (uint32_t)more + 1;
}

/* Goes to the block that record `index` is the first of. */
static void start_block(struct packed_conventions *conventions) {
  const uint8_t *starts = conventions->table->conventions + CONVENTIONS_HEADER;
  const uint64_t start = (uint64_t)bits_load32(starts + (size_t)conventions->index / BLOCK * 4) * 8;
  struct bit_reader *reader = &conventions->reader;
  reader->bad |= start > reader->end;
  if (reader->bad)
    return;
  reader->position = start;
  conventions->is_second = bit_reader_take(reader, 1) != 0;
  take_length(conventions);
}

struct packed_conventions packed_conventions(const struct packed_table *table, uint32_t index,
                                             int32_t convention) {
  struct packed_conventions conventions = {
      .table = table, .index = index & ~(uint32_t)(BLOCK - 1), .values = {convention, convention}};
  if (table->conventions == NULL)
    return conventions;
  const uint64_t blocks = ((uint64_t)table->record_count + BLOCK - 1) / BLOCK;
  const uint64_t header = CONVENTIONS_HEADER + blocks * 4;
  if (table->conventions_size < header || table->conventions[8] >= 32 ||
      table->conventions[9] >= 32) {
    conventions.reader.bad = true;
    return conventions;
  }
  memcpy(conventions.values, table->conventions, sizeof conventions.values);
  memcpy(conventions.parameters, table->conventions + 8, sizeof conventions.parameters);
  conventions.reader.bytes = table->conventions + header;
  conventions.reader.end = (table->conventions_size - header) * 8;
  int32_t ignored;
  while (conventions.index < index && packed_conventions_next(&conventions, &ignored))
    ;
  return conventions;
}

bool packed_conventions_next(struct packed_conventions *conventions, int32_t *convention) {
  *convention = conventions->values[0];
  if (conventions->table->conventions == NULL)
    return true;
  if (conventions->reader.bad)
    return false;
  if (conventions->index % BLOCK == 0) {
    start_block(conventions);
  } else if (conventions->left == 0) {
    conventions->is_second = !conventions->is_second;
    take_length(conventions);
  }
  *convention = conventions->values[conventions->is_second];
  conventions->index++;
  conventions->left--;
  return !conventions->reader.bad;
}
