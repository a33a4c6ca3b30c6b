/* packed_unpack.c - reads a whole packed table back into a table of safepoints, for tools.
 *
 * Several records of a function have the same live set, and several functions the same layout. So a
 * set is read from the layout for the first of the records that have it; for the others it is known
 * by its number in the layout.
 */
#include "format/packed_write.h"

#include <stdlib.h>

struct unpacker {
  const struct packed_table *packed;
  struct safepoints *table;
  packed_decompress *decompress;
  void *space; /* for details */
  unsigned details_shift;
  struct packed_block block; /* the one that the next record's details are in */
  struct intern layouts;     /* those that were met: where each starts */
  uint32_t *first_sets;      /* by number in layouts: where its sets start in `sets` */
  uint32_t *sets;            /* of all these layouts: 1 + the number of a live set, or 0 */
  uint32_t set_count;
  struct packed_items layout; /* the one of the record before, */
  uint64_t layout_at;         /* and where it starts; UINT64_MAX: there is none yet */
  uint32_t *layout_sets;      /* in `sets`; NULL if they aren't kept */
  uint64_t words[PACKED_LIVE_ITEMS_MAX + 2];
};

static bool broken(struct unpacker *unpacker, const char *error) {
  if (unpacker->table->error == NULL)
    unpacker->table->error = error;
  return false;
}

static bool no_memory(struct unpacker *unpacker) {
  unpacker->table->no_memory = true;
  return false;
}

static bool check_sequences(struct unpacker *unpacker) {
  const struct packed_table *packed = unpacker->packed;
  return (packed_leaves_check(packed) && monotone_check(&packed->bare, MONOTONE_GET) &&
          monotone_check(&packed->list_starts, MONOTONE_GET)) ||
         broken(unpacker, "a sorted sequence whose counts or samples are wrong");
}

static bool unpack_functions(struct unpacker *unpacker) {
  struct packed_functions functions = packed_functions(unpacker->packed);
  for (uint32_t i = 0; i < unpacker->packed->function_count; i++) {
    const struct packed_function function = packed_functions_next(&functions);
    if (!safepoints_add_function(unpacker->table, (struct safepoint_function){
                                                      .address = function.extent.start,
                                                      .end = function.extent.end,
                                                      .frame_size = function.frame_size,
                                                  }))
      return false;
  }
  return true;
}

static bool is_location(struct location location) {
  return location.kind >= LOCATION_REGISTER && location.kind <= LOCATION_LARGE_CONSTANT;
}

/* Interns a list of the packed table. */
static uint32_t unpack_list(struct unpacker *unpacker, uint32_t number) {
  struct packed_list list = packed_list(unpacker->packed, number);
  const uint32_t count = list.left;
  uint64_t *words = malloc(((size_t)count + 1) * sizeof *words);
  uint32_t added = INTERN_FAILED;
  struct location location;
  uint32_t read = 0;
  if (words == NULL || count > PACKED_LIVE_ITEMS_MAX) {
    free(words);
    no_memory(unpacker);
    return INTERN_FAILED;
  }
  for (; packed_list_next(&list, &location) && is_location(location); read++)
    words[read] = safepoints_add_location(unpacker->table, location);
  if (read != count || list.reader.bad)
    broken(unpacker, "a broken list of locations");
  else
    added = intern_add(&unpacker->table->lists, words, count);
  free(words);
  return added;
}

/* Interns the live set of a record, which is read from the layout that was taken up. */
static bool read_live(struct unpacker *unpacker, const struct packed_record *packed_record,
                      struct safepoint *record) {
  struct packed_items items;
  struct packed_item item;
  unsigned pairs = 0;
  uint64_t list_item = 0;
  packed_items_of(&items, &unpacker->layout, packed_record->position);
  while (packed_items_next(&items, &item)) {
    if (item.kind != PACKED_PAIR) {
      const uint32_t list = unpack_list(unpacker, item.base);
      if (list == INTERN_FAILED || list_item != 0)
        return broken(unpacker, "a live set with two lists");
      list_item = SAFEPOINT_ITEM_LIST | list |
                  (item.kind == PACKED_LOCATIONS ? SAFEPOINT_ITEM_LOCATIONS : 0);
      continue;
    }
    const struct location base = packed_location(unpacker->packed, item.base);
    const struct location derived = packed_location(unpacker->packed, item.derived);
    if (!is_location(base) || !is_location(derived))
      return broken(unpacker, "a live set with an unknown location");
    const uint64_t base_number = safepoints_add_location(unpacker->table, base);
    const uint64_t derived_number =
        item.derived == item.base ? base_number : safepoints_add_location(unpacker->table, derived);
    unpacker->words[pairs++] = base_number << 32 | derived_number;
  }
  if (items.bad)
    return broken(unpacker, "a broken live set");
  if (safepoint_item_is_locations(list_item) && pairs > 0)
    return broken(unpacker, "a live set of pairs in a record that is no statepoint");
  record->live = safepoints_add_live(unpacker->table, unpacker->words, pairs, list_item);
  return record->live != INTERN_FAILED;
}

/* Takes up a layout. In a sound table, layouts have no more sets than there are records; of a broken
 * one, what is above that isn't kept. */
static bool open_layout(struct unpacker *unpacker, const struct packed_record *record) {
  unpacker->layout_at = record->layout;
  unpacker->layout_sets = NULL;
  packed_items(&unpacker->layout, record);
  if (unpacker->layout.bad)
    return broken(unpacker, "a broken live set");
  const uint32_t known = unpacker->layouts.count;
  const uint32_t number = intern_add(&unpacker->layouts, &record->layout, 1);
  if (number == INTERN_FAILED)
    return no_memory(unpacker);
  if (number == known) {
    unpacker->first_sets[number] = unpacker->set_count;
    if (unpacker->layout.set_count > unpacker->packed->record_count - unpacker->set_count)
      unpacker->first_sets[number] = UINT32_MAX;
    else
      unpacker->set_count += unpacker->layout.set_count;
  }
  if (unpacker->first_sets[number] != UINT32_MAX)
    unpacker->layout_sets = unpacker->sets + unpacker->first_sets[number];
  return true;
}

static bool unpack_live(struct unpacker *unpacker, const struct packed_record *packed_record,
                        struct safepoint *record) {
  if (unpacker->layout_at != packed_record->layout && !open_layout(unpacker, packed_record))
    return false;
  if (unpacker->layout_sets == NULL)
    return read_live(unpacker, packed_record, record);
  const uint32_t set = packed_items_set(&unpacker->layout, packed_record->position);
  if (set >= unpacker->layout.set_count)
    return broken(unpacker, "a broken live set");
  uint32_t *known = &unpacker->layout_sets[set];
  if (*known == 0) {
    if (!read_live(unpacker, packed_record, record))
      return false;
    *known = record->live + 1;
  }
  record->live = *known - 1;
  return true;
}

/* Whether a record is the first of a block. A table without columns has none: then one serves all. */
static bool starts_block(const struct unpacker *unpacker, uint32_t index) {
  return index == 0 ||
         (unpacker->block.columns != 0 && (index & bits_low_mask(unpacker->details_shift)) == 0);
}

/* Interns words[0..count). List 0 is the empty one. */
static uint32_t add_list(struct unpacker *unpacker, uint32_t count) {
  return count == 0 ? 0 : intern_add(&unpacker->table->lists, unpacker->words, count);
}

static bool unpack_details(struct unpacker *unpacker, uint32_t index, struct safepoint *record) {
  struct safepoints *table = unpacker->table;
  struct packed_details details;
  if (starts_block(unpacker, index) &&
      !packed_block_open(&unpacker->block, unpacker->packed, index >> unpacker->details_shift,
                         unpacker->space, unpacker->decompress))
    return broken(unpacker, "a broken block of details");
  if (!packed_block_next(&unpacker->block, &details))
    return broken(unpacker, "a broken block of details");
  record->id = details.id;
  if (safepoints_kind(table, record) == SAFEPOINT_STATEPOINT) {
    record->calling_convention = details.calling_convention;
    record->flags = details.flags;
  }
  for (uint32_t i = 0; i < details.deopt_count; i++) {
    if (!is_location(details.deopt[i]))
      return broken(unpacker, "a deopt state with an unknown location");
    unpacker->words[i] = safepoints_add_location(table, details.deopt[i]);
  }
  record->deopt = add_list(unpacker, details.deopt_count);
  for (uint32_t i = 0; i < details.live_out_count; i++) {
    const uint8_t *bytes = details.live_outs + (size_t)i * 3;
    unpacker->words[i] = (uint64_t)bits_load16(bytes) << 8 | bytes[2];
  }
  record->live_outs = add_list(unpacker, details.live_out_count);
  return (record->deopt != INTERN_FAILED && record->live_outs != INTERN_FAILED) ||
         no_memory(unpacker);
}

static bool unpack_records(struct unpacker *unpacker) {
  const struct packed_table *packed = unpacker->packed;
  struct packed_records records = packed_records(packed);
  struct packed_record packed_record;
  for (uint32_t i = 0; i < packed->record_count; i++) {
    struct safepoint record = {0};
    if (packed_records_next(&records, &packed_record) != PACKED_FOUND)
      return broken(unpacker, "a record that belongs to no function");
    record.address = packed_record.address;
    record.function = packed_record_function(&packed_record);
    if (record.function == UINT32_MAX)
      return broken(unpacker, "a record that belongs to no function");
    if (!unpack_live(unpacker, &packed_record, &record) || !unpack_details(unpacker, i, &record) ||
        !safepoints_add_record(unpacker->table, record))
      return false;
  }
  return true;
}

static bool unpack_global_roots(struct unpacker *unpacker) {
  struct packed_roots roots;
  uint64_t address;
  size_t count = 0;
  if (!packed_roots(unpacker->packed, &roots) ||
      (roots.numbers.count > 0 && !monotone_check(&roots.numbers, MONOTONE_GET)))
    return broken(unpacker, "a list of global roots whose count or samples are wrong");
  uint64_t *addresses = malloc((roots.numbers.count + 1) * sizeof *addresses);
  if (addresses == NULL)
    return no_memory(unpacker);
  while (packed_roots_next(&roots, &address))
    addresses[count++] = address;
  const bool ok = safepoints_set_global_roots(unpacker->table, addresses, count);
  free(addresses);
  return ok;
}

static bool unpack(struct unpacker *unpacker) {
  const size_t records = (size_t)unpacker->packed->record_count + 1;
  unpacker->space = malloc(packed_details_space(unpacker->packed) + 1);
  unpacker->first_sets = malloc(records * sizeof *unpacker->first_sets);
  unpacker->sets = calloc(records, sizeof *unpacker->sets);
  if (unpacker->space == NULL || unpacker->first_sets == NULL || unpacker->sets == NULL)
    return no_memory(unpacker);
  return check_sequences(unpacker) && unpack_functions(unpacker) && unpack_records(unpacker) &&
         unpack_global_roots(unpacker);
}

bool packed_unpack(const struct packed_table *packed, packed_decompress *decompress,
                   struct safepoints *table) {
  struct unpacker *unpacker = calloc(1, sizeof *unpacker);
  if (unpacker == NULL || intern_add(&table->lists, NULL, 0) == INTERN_FAILED) {
    free(unpacker);
    table->no_memory = true;
    return false;
  }
  unpacker->packed = packed;
  unpacker->table = table;
  unpacker->decompress = decompress;
  unpacker->layout_at = UINT64_MAX;
  unpacker->details_shift = packed_details_shift(packed);
  const bool ok = unpack(unpacker);
  free(unpacker->space);
  free(unpacker->first_sets);
  free(unpacker->sets);
  intern_free(&unpacker->layouts);
  free(unpacker);
  return ok && safepoints_finish(table);
}
