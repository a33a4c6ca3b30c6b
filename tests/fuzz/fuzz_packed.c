/* fuzz_packed.c - attacks the reader of packed tables with made-up tables.
 *
 * The input is a packed table. Its header gets the magic, the size and the checksum that it should
 * have, so that the bytes after it are reached: an attacker can compute them, too. Where the header's
 * counts ask for more bytes than there are, zeros follow. The block ends where the table does.
 *
 * Findings: a read outside the table, a list without an end, an input of a few KB that takes
 * seconds or gigabytes, and an unpacking that fails without a reason.
 */
#include "fuzz.h"

#include "tool/check/answers.h"

#include <stdlib.h>
#include <zstd.h>

enum {
  TABLE_MAX = 1 << 16,
  FUNCTIONS_UNPACKED = 1 << 17,
  DETAILS_SPACE_MAX = 512 * 1024 * 1024 /* more is no work space */
};

static void check_unpack(const struct packed_table *packed) {
  struct safepoints table = {0};
  struct differences differences = {0};
  if (packed_unpack(packed, ZSTD_decompress, &table)) {
    compare_tables(&table, &table, &differences);
    if (differences.count > 0)
      finding("a table equals itself", differences.first);
    /* The answers may disagree: the table may be broken. */
    answers_all(&table, packed, NULL, 0, &differences);
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
  if (walk_table(&table) && packed_open(&packed, block, size, 0x400000) == STACKPACK_OK &&
      packed.function_count <= FUNCTIONS_UNPACKED)
    check_unpack(&packed);
}

/* There is room for a whole header. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const size_t room = size < PACKED_HEADER_SIZE ? PACKED_HEADER_SIZE : size;
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

/* Changes a number of the header. */
static size_t mutate_header(uint8_t *bytes, size_t size, uint64_t *seed) {
  static const unsigned widths[] = {1, 2, 4, 8};
  const unsigned width = widths[random_below(seed, 4)];
  const size_t header = bits_load16(bytes + offsetof(struct packed_header, header_size));
  const size_t end = header < PACKED_HEADER_SIZE || header > size ? PACKED_HEADER_SIZE : header;
  mutate_number(bytes + random_below(seed, (uint32_t)(end / width)) * width, width, size, seed);
  return size;
}

/* Makes a part larger or smaller: the bytes after it move with it. */
static size_t resize_part(uint8_t *bytes, size_t size, size_t max_size, uint64_t *seed) {
  const size_t count = bits_load16(bytes + offsetof(struct packed_header, part_count));
  size_t place = PACKED_HEADER_SIZE + count * PACKED_ENTRY_SIZE;
  if (count == 0 || place > size)
    return size;
  const uint32_t chosen = random_below(seed, (uint32_t)count);
  uint8_t *entries = bytes + PACKED_HEADER_SIZE + 4;
  for (uint32_t i = 0; i <= chosen; i++)
    place += bits_load32(entries + i * PACKED_ENTRY_SIZE);
  uint32_t part = bits_load32(entries + chosen * PACKED_ENTRY_SIZE);
  const uint32_t change = 1 + random_below(seed, 24);
  if (place > size)
    return size;
  if (random_below(seed, 2) == 0) {
    if (change > part)
      return size;
    memmove(bytes + place - change, bytes + place, size - place);
    part -= change;
    size -= change;
  } else {
    if (change > max_size - size)
      return size;
    memmove(bytes + place + change, bytes + place, size - place);
    part += change;
    size += change;
  }
  memcpy(entries + chosen * PACKED_ENTRY_SIZE, &part, sizeof part);
  return size;
}

/* Changes bytes within one part. */
static size_t mutate_part(uint8_t *bytes, size_t size, uint64_t *seed) {
  const size_t count = bits_load16(bytes + offsetof(struct packed_header, part_count));
  size_t start = PACKED_HEADER_SIZE + count * PACKED_ENTRY_SIZE, end = start;
  if (count == 0 || start > size)
    return size;
  const uint32_t chosen = random_below(seed, (uint32_t)count);
  for (uint32_t i = 0; i <= chosen; i++) {
    start = end;
    end += bits_load32(bytes + PACKED_HEADER_SIZE + i * PACKED_ENTRY_SIZE + 4);
  }
  if (start < end && end <= size)
    LLVMFuzzerMutate(bytes + start, end - start, end - start);
  return size;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed_number) {
  uint64_t seed = seed_number;
  const uint32_t choice = random_below(&seed, 8);
  if (size < PACKED_HEADER_SIZE || max_size < size || choice == 0)
    return LLVMFuzzerMutate(data, size, max_size);
  if (choice == 1)
    return resize_part(data, size, max_size, &seed);
  return choice < 4 ? mutate_header(data, size, &seed) : mutate_part(data, size, &seed);
}
