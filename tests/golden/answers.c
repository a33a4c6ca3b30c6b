/* answers.c - prints a packed table's answers, as the library gives them.
 *
 *   answers TABLE...       files with the bytes of one table each
 *
 * For every record all that the library knows; for the addresses after records, and before and after all of
 * them, whether they are managed; and the global roots. Addresses are relative to the first record. */
#include "runtime/stackpack.h"

#include <inttypes.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <zstd.h>

static const uint64_t place = 0x10000000; /* where the table is said to be */
static uint64_t origin;

static void print_location(struct stackpack_location location) {
  printf(" %u:%u%+" PRId64 "/%u", location.kind, location.reg, location.value, location.size);
}

static void print_frame(struct stackpack_frame_facts facts) {
  if (!facts.is_known)
    return;
  printf("  frame cfa %u%+" PRId64 " return %u lost %#x%s saved", facts.cfa_register,
         facts.cfa_offset, facts.return_register, facts.lost, facts.is_signed ? " signed" : "");
  for (unsigned i = 0; i < 32; i++)
    if ((facts.saved >> i & 1) != 0)
      printf(" %u%+d", i, facts.offsets[i]);
  putchar('\n');
}

static void print_details(const struct stackpack_table *table,
                          const struct stackpack_record *record) {
  struct stackpack_details details;
  void *space = malloc(stackpack_details_space(table) + 1);
  if (!stackpack_record_details(record, space, ZSTD_decompress, &details))
    exit(1);
  printf("  id %" PRIu64 " convention %d flags %d deopt", details.id, details.calling_convention,
         details.flags);
  for (size_t i = 0; i < details.deopt_count; i++)
    print_location(details.deopt[i]);
  printf(" live");
  for (size_t i = 0; i < details.live_out_count; i++)
    printf(" %u/%u", details.live_outs[i].reg, details.live_outs[i].size);
  putchar('\n');
  free(space);
}

static void print_record(const struct stackpack_table *table,
                         const struct stackpack_record *record) {
  struct stackpack_pairs pairs = stackpack_pairs(record);
  struct stackpack_locations locations = stackpack_locations(record);
  struct stackpack_location location, derived;
  printf("%+" PRId64 " function %+" PRId64 " kind %d frame %" PRId64 "\n  pairs",
         (int64_t)(record->address - origin), (int64_t)(stackpack_record_function(record) - origin),
         record->kind, (int64_t)record->frame_size);
  while (stackpack_pairs_next(&pairs, &location, &derived)) {
    print_location(location);
    print_location(derived);
  }
  printf(" locations");
  while (stackpack_locations_next(&locations, &location))
    print_location(location);
  puts(pairs.is_corrupt ? " CORRUPT" : "");
  print_frame(stackpack_record_frame(record));
  print_details(table, record);
}

static void print_answer(const struct stackpack_table *table, uint64_t address) {
  struct stackpack_record record;
  const enum stackpack_answer answer = stackpack_table_find(table, address, &record);
  printf("look-up %+" PRId64 ": %d\n", (int64_t)(address - origin), answer);
  if (answer == STACKPACK_FOUND)
    do
      print_record(table, &record);
    while (stackpack_record_next(&record));
}

static void print_roots(const struct stackpack_table *table) {
  struct stackpack_global_roots roots = stackpack_global_roots(table, NULL, NULL);
  for (uint64_t address; stackpack_global_roots_next(&roots, &address);)
    printf("root %+" PRId64 "\n", (int64_t)(address - origin));
}

static void print_table(const uint8_t *bytes, size_t size) {
  struct stackpack_table table;
  struct stackpack_record record;
  const enum stackpack_error error = stackpack_table_open(&table, bytes, size, place);
  printf("%s, %ssound\n", stackpack_error_text(error),
         error == STACKPACK_OK && stackpack_table_check(&table) ? "" : "un");
  uint64_t last = 0;
  for (uint32_t i = 0; error == STACKPACK_OK && i < stackpack_table_records(&table); i++) {
    if (stackpack_table_record(&table, i, &record) != STACKPACK_FOUND)
      exit(1);
    if (i == 0) {
      origin = record.address;
      print_answer(&table, 0);
    }
    if (record.address != last)
      print_answer(&table, record.address);
    print_answer(&table, record.address + 1);
    last = record.address;
  }
  print_answer(&table, UINT64_MAX);
  print_roots(&table);
}

int main(int argc, char **argv) {
  static alignas(8) uint8_t bytes[1 << 16];
  for (int i = 1; i < argc; i++) {
    FILE *file = fopen(argv[i], "rb");
    if (file == NULL)
      return 1;
    const size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    printf("== %s: ", argv[i]);
    print_table(bytes, size);
  }
  return 0;
}
