/* Finds the records of a file by ID and by place, as stackpack.h says.
 *
 * ids FILE ID...: a line `ID ADDRESS...` for each ID, with the addresses of its records in hexadecimal. The record at or
 * after an address, and the one before it, are compared with a list, for each record's address and its neighbours.
 *
 * by_id.inc is the header's example.
 */
#include "stackpack.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <zstd.h>

struct by_id {
  uint64_t id;
  uint32_t index;
};

static int compare_ids(const void *a, const void *b) {
  const uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;
  return (first > second) - (first < second);
}

static void *allocate(size_t size) {
  void *memory = malloc(size + 1);
  if (memory == NULL)
    abort();
  return memory;
}

static struct by_id *make_index(const struct stackpack_table *table, size_t *number) {
  struct by_id *by_id = allocate(stackpack_table_records(table) * sizeof *by_id);
  void *space = allocate(stackpack_details_space(table));
  stackpack_decompress *decompress = ZSTD_decompress;
  struct stackpack_record record;
  struct stackpack_details details;
  size_t count = 0;
#include "by_id.inc"
  free(space);
  *number = count;
  return by_id;
}

static uint64_t address_of(const struct stackpack_table *table, uint32_t index) {
  struct stackpack_record record;
  if (stackpack_table_record(table, index, &record) != STACKPACK_FOUND)
    abort();
  return record.address;
}

static int compare_numbers(const void *a, const void *b) { return compare_ids(a, b); }

/* The example's bsearch finds one of an ID's records: the others are beside it. */
static void print_records(const struct stackpack_table *table, const struct by_id *by_id,
                          size_t count, uint64_t id) {
  const struct by_id *found = bsearch(&id, by_id, count, sizeof *by_id, compare_ids);
  const struct by_id *first = found, *end = found;
  uint64_t addresses[16];
  size_t number = 0;
  while (found != NULL && first > by_id && first[-1].id == id)
    first--;
  while (found != NULL && end < by_id + count && end->id == id)
    end++;
  for (; first < end && number < 16; first++)
    addresses[number++] = address_of(table, first->index);
  qsort(addresses, number, sizeof *addresses, compare_numbers);
  printf("%" PRIu64, id);
  for (size_t i = 0; i < number; i++)
    printf(" %" PRIx64, addresses[i]);
  putchar('\n');
}

/* The records at or after an address, and before it. */
static void expect_nearest(const struct stackpack_table *table, uint64_t address) {
  const size_t count = stackpack_table_records(table);
  struct stackpack_record record;
  uint32_t expected = 0, before = (uint32_t)count;
  while (expected < count && address_of(table, expected) < address)
    expected++;
  const enum stackpack_answer answer = stackpack_table_from(table, address, &record);
  if (answer == STACKPACK_FOUND)
    before = record.index;
  if (answer != (expected < count ? STACKPACK_FOUND : STACKPACK_NOT_MANAGED) ||
      before != expected || (before > 0 && address_of(table, before - 1) >= address)) {
    printf("at or after %" PRIx64 ": answer %d, record %" PRIu32 " and not %" PRIu32 "\n", address,
           answer, before, expected);
    exit(1);
  }
}

int main(int argc, char **argv) {
  struct stackpack_file file;
  size_t count;
  if (argc < 2 || stackpack_file_open(&file, argv[1]) != STACKPACK_OK)
    return 1;
  struct by_id *by_id = make_index(&file.table, &count);
  if (count != stackpack_table_records(&file.table))
    return 1;
  for (int i = 2; i < argc; i++)
    print_records(&file.table, by_id, count, strtoull(argv[i], NULL, 10));
  for (uint32_t i = 0; i < count; i++)
    for (int step = -1; step <= 1; step++)
      expect_nearest(&file.table, address_of(&file.table, i) + (uint64_t)step);
  expect_nearest(&file.table, 0);
  expect_nearest(&file.table, UINT64_MAX);
  free(by_id);
  stackpack_file_close(&file);
  return 0;
}
