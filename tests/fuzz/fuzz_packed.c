/* fuzz_packed.c - attacks the reader of packed tables with tables that no encoder wrote.
 *
 * The input is a packed table. Its header gets the magic, the size and the checksum that it should
 * have, so that the bytes behind are reached: an attacker can compute them, too. Where the header's
 * counts ask for more bytes than there are, zeros follow. The block ends where the table does.
 *
 * Findings: a read outside the table, a list without an end, an input of a few KB that takes
 * seconds or gigabytes, and an unpacking that fails without saying why.
 */
#include "fuzz.h"

#include "tool/check/answers.h"

#include <stdlib.h>

enum {
  TABLE_MAX = 1 << 16,
  FUNCTIONS_UNPACKED = 1 << 17,
  DETAILS_SPACE_MAX = 512 * 1024 * 1024 /* more is no work space */
};

static void check_unpack(const struct packed_table *packed) {
  struct safepoints table = {0};
  struct differences differences = {0};
  if (packed_unpack(packed, decompress_block, &table)) {
    compare_tables(&table, &table, &differences);
    if (differences.count > 0)
      finding("a table equals itself", differences.first);
    /* Whether the answers agree is of no interest: the table may be broken. */
    answers_all(&table, packed, &differences);
  } else if (table.error == NULL && !table.no_memory) {
    finding("a failure says what is wrong", NULL);
  }
  safepoints_free(&table);
}

static void check_table(const uint8_t *block, size_t size) {
  struct stackpack_table table;
  struct packed_table packed;
  if (stackpack_table_open(&table, block, size, 0x400000) != STACKPACK_OK)
    return;
  if (stackpack_details_space(&table) > DETAILS_SPACE_MAX)
    finding("a small table needs no gigabytes of work space", NULL);
  if (walk_table(&table) && stackpack_table_functions(&table) <= FUNCTIONS_UNPACKED &&
      packed_open(&packed, block, size, 0x400000) == PACKED_OK)
    check_unpack(&packed);
}

/* A small table may have a header that is cut; there is room for a whole one. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const size_t room = size < PACKED_HEADER_MAX ? PACKED_HEADER_MAX : size;
  uint8_t *block = exact_block(data, size, size), *padded = exact_block(data, size, room);
  struct stackpack_table table;
  stackpack_table_open(&table, block, size, 0);
  const size_t table_size = repair_header(padded, room, TABLE_MAX);
  if (table_size > 0) {
    uint8_t *repaired = exact_block(padded, room < table_size ? room : table_size, table_size);
    check_table(repaired, table_size);
    free(repaired);
  }
  free(padded);
  free(block);
  return 0;
}

/* ---- The mutator ----------------------------------------------------------------------------- */

/* packed_parts holds the places of all parts one after another, from directory_at to size. */
enum {
  PLACES_AT = offsetof(struct packed_parts, directory_at),
  PLACES = (offsetof(struct packed_parts, size) - PLACES_AT) / sizeof(uint64_t) + 1,
};

static uint64_t place_of(const struct packed_parts *parts, unsigned n) {
  uint64_t place;
  memcpy(&place, (const char *)parts + PLACES_AT + n * sizeof place, sizeof place);
  return place;
}

/* Copies every part of a table to where it is under another header, cut or filled with zeros. */
static size_t move_parts(const uint8_t *old, size_t size, const struct packed_parts *from,
                         const struct packed_parts *to, uint8_t *bytes) {
  memset(bytes + to->directory_at, 0, to->size - to->directory_at);
  for (unsigned i = 0; i + 1 < PLACES; i++) {
    const uint64_t start = place_of(from, i), end = place_of(from, i + 1);
    const uint64_t there = place_of(to, i), room = place_of(to, i + 1) - there;
    const uint64_t length = end - start < room ? end - start : room;
    if (end <= size)
      memcpy(bytes + there, old + start, length);
  }
  return to->size;
}

/* Changes a number of the header. The parts stay behind the counts that they belong to. */
static size_t mutate_header(uint8_t *bytes, size_t size, size_t max_size, uint64_t *seed) {
  struct packed_header before, after;
  struct packed_parts from, to;
  static const unsigned widths[] = {1, 2, 4, 8};
  const unsigned width = widths[random_below(seed, 4)];
  packed_header_read(bytes, &before);
  after = before;
  mutate_number((uint8_t *)&after + random_below(seed, PACKED_HEADER_MAX / width) * width, width,
                size, seed);
  after.header_size = PACKED_HEADER_MAX;
  if (!packed_parts(&before, &from) || !packed_parts(&after, &to) || to.size > max_size) {
    packed_header_write(bytes, &after);
    return size;
  }
  uint8_t *old = exact_block(bytes, size, size);
  const size_t new_size = move_parts(old, size, &from, &to, bytes);
  free(old);
  packed_header_write(bytes, &after);
  return new_size;
}

/* Changes bytes within one part. */
static size_t mutate_part(uint8_t *bytes, size_t size, uint64_t *seed) {
  struct packed_header header;
  struct packed_parts parts;
  packed_header_read(bytes, &header);
  if (packed_parts(&header, &parts)) {
    const unsigned part = random_below(seed, PLACES - 1);
    const uint64_t start = place_of(&parts, part), end = place_of(&parts, part + 1);
    if (start < end && end <= size)
      LLVMFuzzerMutate(bytes + start, end - start, end - start);
  }
  return size;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed_number) {
  uint64_t seed = seed_number;
  const uint32_t choice = random_below(&seed, 8);
  if (size < PACKED_HEADER_MAX || max_size < size || choice == 0)
    return LLVMFuzzerMutate(data, size, max_size);
  if (choice < 4)
    return mutate_header(data, size, max_size, &seed);
  return mutate_part(data, size, &seed);
}
