/* walk.c - attacks every function of the public header that takes a table, a record or a list.
 *
 * Answers to a broken table may be wrong. But an index must be below its count, an answer one of
 * the four, and every list must end within the limits of the format's header.
 */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum {
  RECORDS_WALKED = 4096,
  DETAILS_WALKED = 32,         /* records whose details are read: each decodes a block */
  LAST_WALKED = 16,            /* records at the end, if some were left out */
  PAIRS_WALKED = 1 << 18,      /* a table of some bytes can give each record 65535 of them */
  FOLLOWERS_WALKED = 8,        /* of records with the same address */
  LIVE_ITEMS_MAX = 65535,      /* as many as a raw record has locations */
  SPACE_MAX = 64 * 1024 * 1024 /* for details: more is a finding of fuzz_packed.c's */
};

/* Keeps the compiler from leaving out unused reads. */
static volatile uint64_t used;

static uint64_t pairs_walked;

static void use_location(struct stackpack_location location) {
  used += location.kind + location.size + location.reg + (uint64_t)location.value;
}

static void walk_pairs(const struct stackpack_record *record) {
  struct stackpack_pairs pairs = stackpack_pairs(record);
  struct stackpack_location base, derived;
  uint32_t count = 0;
  while (stackpack_pairs_next(&pairs, &base, &derived)) {
    use_location(base);
    use_location(derived);
    if (++count > LIVE_ITEMS_MAX)
      finding("a record has no more pairs than a stack map can list", NULL);
  }
  pairs_walked += count;
  used += pairs.is_corrupt;
  if (stackpack_pairs_next(&pairs, &base, &derived))
    finding("there is no pair after the last one", NULL);
}

static void walk_locations(struct stackpack_locations locations) {
  struct stackpack_location location;
  uint32_t count = 0;
  while (stackpack_locations_next(&locations, &location)) {
    use_location(location);
    if (++count > LIVE_ITEMS_MAX)
      finding("a list has no more locations than a stack map can list", NULL);
  }
}

static void walk_details(const struct stackpack_record *record, void *space) {
  struct stackpack_details details;
  if (!stackpack_record_details(record, space, ZSTD_decompress, &details))
    return;
  used += details.id + (uint32_t)details.calling_convention + (uint32_t)details.flags;
  for (size_t i = 0; i < details.deopt_count; i++)
    use_location(details.deopt[i]);
  for (size_t i = 0; i < details.live_out_count; i++)
    used += details.live_outs[i].reg + details.live_outs[i].size;
}

/* Each name ends inside the space. */
static void walk_sources(const struct stackpack_record *record) {
  uint64_t space[128];
  const char *start = (const char *)space, *end = start + sizeof space;
  struct stackpack_sources sources;
  if (stackpack_record_sources(record, space, sizeof space, &sources) != STACKPACK_SOURCE_FOUND)
    return;
  for (size_t i = 0; i < sources.count; i++) {
    const char *names[] = {sources.frames[i].function, sources.frames[i].file};
    for (unsigned k = 0; k < 2; k++)
      if (*names[k] != 0 && (names[k] < start || names[k] + strlen(names[k]) >= end))
        finding("a name is in the caller's space", NULL);
  }
}

static void walk_record(const struct stackpack_table *table, const struct stackpack_record *record,
                        void *space) {
  if (record->index >= stackpack_table_records(table))
    finding("a record's index is below the number of records", NULL);
  if (record->kind != STACKPACK_STATEPOINT && record->kind != STACKPACK_STACKMAP)
    finding("a record is of one of two kinds", NULL);
  used += record->frame_size + stackpack_record_function(record);
  walk_pairs(record);
  walk_locations(stackpack_locations(record));
  walk_sources(record);
  if (space != NULL)
    walk_details(record, space);
}

/* Looks an address up, and goes through the records that are found there. */
static void walk_address(const struct stackpack_table *table, uint64_t address, void *space) {
  struct stackpack_record record;
  const enum stackpack_answer answer = stackpack_table_find(table, address, &record);
  if (answer > STACKPACK_CORRUPT)
    finding("a look-up has one of four answers", NULL);
  if (answer != STACKPACK_FOUND)
    return;
  if (record.address != address)
    finding("a look-up finds a record of the address that was asked for", NULL);
  walk_record(table, &record, space);
  for (unsigned i = 0; i < FOLLOWERS_WALKED && stackpack_record_next(&record); i++)
    walk_record(table, &record, NULL);
}

static void walk_index(const struct stackpack_table *table, uint32_t index, void *space) {
  struct stackpack_record record;
  const enum stackpack_answer answer = stackpack_table_record(table, index, &record);
  if (answer != STACKPACK_FOUND && answer != STACKPACK_CORRUPT)
    finding("a record of a given number is found, or the table is corrupt", NULL);
  if (answer != STACKPACK_FOUND)
    return;
  if (record.index != index)
    finding("a record has the number that was asked for", NULL);
  walk_record(table, &record, NULL);
  for (int offset = -1; offset <= 1; offset++)
    walk_address(table, record.address + (uint64_t)(int64_t)offset, space);
  for (int offset = -1; offset <= 1; offset++)
    walk_address(table, stackpack_record_function(&record) + (uint64_t)(int64_t)offset, NULL);
}

/* Walks records from the first one on. Returns whether these were all. */
static bool walk_records(const struct stackpack_table *table, void *space) {
  const size_t records = stackpack_table_records(table);
  size_t i = 0;
  for (pairs_walked = 0; i < records && i < RECORDS_WALKED && pairs_walked < PAIRS_WALKED; i++)
    walk_index(table, (uint32_t)i, i < DETAILS_WALKED ? space : NULL);
  if (i == records)
    return true;
  for (i = 1; i <= LAST_WALKED && i <= records; i++)
    walk_index(table, (uint32_t)(records - i), NULL);
  return false;
}

/* Asks where look-ups most likely miss. */
static void walk_elsewhere(const struct stackpack_table *table) {
  const size_t records = stackpack_table_records(table);
  struct stackpack_record record;
  if (records <= UINT32_MAX &&
      stackpack_table_record(table, (uint32_t)records, &record) != STACKPACK_CORRUPT)
    finding("there is no record after the last one", NULL);
  for (unsigned bit = 0; bit < 64; bit++)
    walk_address(table, (uint64_t)1 << bit, NULL);
  walk_address(table, 0, NULL);
  walk_address(table, UINT64_MAX, NULL);
}

static void walk_global_roots(const struct stackpack_table *table) {
  struct stackpack_global_roots roots = stackpack_global_roots(table, NULL, NULL);
  uint64_t address;
  while (stackpack_global_roots_next(&roots, &address))
    used += address;
}

bool walk_table(const struct stackpack_table *table) {
  const size_t space_size = stackpack_details_space(table);
  void *space = space_size <= SPACE_MAX ? exact_block(NULL, 0, space_size) : NULL;
  used += stackpack_table_check(table);
  walk_global_roots(table);
  const bool all = walk_records(table, space);
  walk_elsewhere(table);
  free(space);
  return all;
}
