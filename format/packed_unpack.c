/* packed_unpack.c - reads a whole packed table back into a table of safepoints, for tools.
 *
 * Records and functions are gone through in order, and each record's live set is read from its
 * layout.
 */
#include "format/array.h"
#include "format/frames_find.h"
#include "format/packed_live.h"
#include "format/packed_write.h"
#include "format/sources_unpack.h"

#include <assert.h>
#include <stdlib.h>

struct unpacker {
  const struct packed_table *packed;
  struct safepoints *table;
  stackpack_decompress *decompress;
  void *space;               /* for details */
  struct packed_block block; /* the block with the next record's details */
  uint64_t details_size;     /* of the details that were read: see charge_details */
  uint32_t layout;           /* of the record before; */
  uint64_t layout_groups;    /* its groups, 0 before the first record; */
  uint64_t groups;           /* and of all records: see charge_groups */
  uint32_t *functions;       /* by stretch: the function's number; UINT32_MAX: a gap */
  uint64_t *words;           /* of a live set, or of a list */
  size_t words_capacity;
  struct sources_part sources_part;
  struct sources_unpacker sources;
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

static bool make_room(struct unpacker *unpacker, size_t count) {
  return array_make_room((void **)&unpacker->words, &unpacker->words_capacity, count,
                         sizeof *unpacker->words) ||
         no_memory(unpacker);
}

/* ---- Functions ---- */

/* Whether a leaf's counts add up to the directory's numbers of records and full buckets. */
static bool counts_agree(const struct packed_leaf *leaf) {
  uint64_t records = 0;
  uint32_t full = 0;
  for (unsigned i = 0; i < PACKED_BUCKETS; i++) {
    const unsigned count = leaf->counts >> i * 4 & PACKED_BUCKET_FULL;
    records += count;
    if (count < PACKED_BUCKET_FULL)
      continue;
    if (full == leaf->full_count)
      return false;
    records += bits_load16(leaf->more + full++ * sizeof(uint16_t));
  }
  return full == leaf->full_count && records == leaf->count;
}

/* Whether numbers[0..count) of `size` bytes are up to `most`. */
static bool numbers_are_up_to(const uint8_t *numbers, uint64_t count, unsigned size,
                              uint64_t most) {
  for (uint64_t i = 0; i < count; i++)
    if (bits_load(numbers + i * size, size) > most)
      return false;
  return true;
}

/* Whether each leaf starts at the end of the one before, so that none of the part's bytes is read
 * twice, and has all its records and stretches in its text: so a look-up finds the same ones
 * there. */
static bool check_leaves(struct unpacker *unpacker) {
  const struct packed_table *packed = unpacker->packed;
  const uint8_t *end = packed->leaves;
  uint64_t records = 0, stretches = 0, position = 0;
  for (uint32_t i = 0; i < packed->leaf_count; i++) {
    struct packed_leaf leaf;
    if (!packed_leaf(packed, i, &leaf) || leaf.index != records || leaf.stretch != stretches ||
        leaf.position != position || leaf.starts - sizeof leaf.counts != end ||
        !counts_agree(&leaf))
      return broken(unpacker, "a leaf that isn't what the directory says");
    if (!numbers_are_up_to(leaf.lows, leaf.count, packed->form.low_bytes,
                           packed->form.bucket_mask >> packed->form.record_shift) ||
        !numbers_are_up_to(leaf.starts, leaf.stretch_count, packed->form.start_bytes,
                           packed->form.leaf_mask >> packed->form.start_shift))
      return broken(unpacker, "a record or function outside of its place in a leaf");
    records += leaf.count;
    stretches += leaf.stretch_count;
    position = packed_leaf_next_position(&leaf);
    end = leaf.more + leaf.full_count * sizeof(uint16_t);
  }
  return (records == packed->record_count && stretches == packed->stretch_count) ||
         broken(unpacker, "more records or functions than its leaves have");
}

/* Whether the u32s that are `at` bytes into items of `size` bytes ascend. */
static bool ascend(const uint8_t *items, uint32_t count, size_t size, size_t at) {
  for (uint32_t i = 1; i < count; i++) {
    const uint8_t *item = items + i * size + at;
    if (bits_load32(item - size) >= bits_load32(item))
      return false;
  }
  return true;
}

/* Whether the items that are found by bisection are in order. */
static bool check_order(struct unpacker *unpacker) {
  enum { END_OF_CLASS = 8 };
  const struct packed_table *packed = unpacker->packed;
  if (!ascend(packed->exceptions, packed->exception_count, PACKED_EXCEPTION_SIZE, 0))
    return broken(unpacker, "exceptions out of order");
  return ascend(packed->classes, packed->class_count, PACKED_CLASS_SIZE, END_OF_CLASS) ||
         broken(unpacker, "classes of locations out of order");
}

static bool unpack_functions(struct unpacker *unpacker) {
  const struct packed_table *packed = unpacker->packed;
  const uint64_t layouts = packed->layouts_size * 8;
  struct packed_stretch stretch;
  uint32_t functions = 0;
  uint64_t last = 0;
  for (uint32_t i = 0; i < packed->stretch_count; i++) {
    if (!packed_stretch(packed, i, &stretch) || stretch.start - packed->text_start < last ||
        stretch.start - packed->text_start > packed->text_size)
      return broken(unpacker, "functions out of order");
    last = stretch.start - packed->text_start;
    unpacker->functions[i] = stretch.is_gap ? UINT32_MAX : functions++;
    if (stretch.is_gap)
      continue;
    if ((uint64_t)stretch.layout * 8 + packed->frame_width >= layouts)
      return broken(unpacker, "a function whose layout isn't there");
    if (!safepoints_add_function(unpacker->table,
                                 (struct safepoint_function){
                                     .address = stretch.start,
                                     .end = stretch.end,
                                     .frame_size = packed_frame_size(packed, stretch.layout),
                                 }))
      return false;
  }
  return functions == packed->function_count ||
         broken(unpacker, "another number of functions than its leaves have");
}

/* ---- Live sets ---- */

static bool is_location(struct stackpack_location location) {
  return location.kind >= STACKPACK_REGISTER && location.kind <= STACKPACK_LARGE_CONSTANT;
}

/* Interns the list that a record has, if any. */
static bool unpack_list(struct unpacker *unpacker, struct packed_list list, uint64_t *item) {
  uint32_t count = 0, location;
  *item = 0;
  if (list.table == NULL)
    return !list.bad || broken(unpacker, "a broken live set");
  if (!make_room(unpacker, (size_t)list.left + 1))
    return false;
  while (packed_list_next(&list, &location)) {
    const struct stackpack_location read = packed_location(unpacker->packed, location);
    if (!is_location(read))
      return broken(unpacker, "a broken list of locations");
    unpacker->words[count++] = safepoints_add_location(unpacker->table, read);
  }
  if (list.bad)
    return broken(unpacker, "a broken list of locations");
  *item = SAFEPOINT_ITEM_LIST | safepoints_add_list(unpacker->table, unpacker->words, count) |
          (list.is_locations ? SAFEPOINT_ITEM_LOCATIONS : 0);
  return !unpacker->table->no_memory;
}

/* Groups without rows of their own take few bytes, and many records may share a long chain of
 * them. So the groups of all records are limited by the table's size. (FORMAT.md, "Limits") */
static bool charge_groups(struct unpacker *unpacker, uint32_t layout) {
  enum { LEAST = 1 << 24, GROWTH = 256 };
  if (unpacker->layout_groups == 0 || layout != unpacker->layout) {
    struct packed_pairs pairs = layout_pairs(unpacker->packed, layout, 0);
    unpacker->layout = layout;
    unpacker->layout_groups = 1;
    while (next_group(&pairs))
      unpacker->layout_groups++;
  }
  unpacker->groups += unpacker->layout_groups;
  return unpacker->groups <= LEAST + packed_size(unpacker->packed) * GROWTH ||
         broken(unpacker, "live sets of more parts than any program has");
}

/* Interns a record's live set. */
static bool unpack_live(struct unpacker *unpacker, const struct packed_record *packed_record,
                        struct safepoint *record) {
  const struct packed_table *packed = unpacker->packed;
  struct packed_pair pair;
  unsigned count = 0;
  uint64_t list_item;
  if (!charge_groups(unpacker, packed_record->layout) ||
      !unpack_list(unpacker, packed_record_list(packed_record), &list_item))
    return false;
  struct packed_pairs pairs = layout_pairs(packed, packed_record->layout, packed_record->position);
  while (packed_pairs_next(&pairs, &pair)) {
    const struct stackpack_location base = packed_location(packed, pair.base);
    const struct stackpack_location derived = packed_location(packed, pair.derived);
    if (!is_location(base) || !is_location(derived))
      return broken(unpacker, "a live set with an unknown location");
    if (!make_room(unpacker, (size_t)count + 2))
      return false;
    const uint64_t base_number = safepoints_add_location(unpacker->table, base);
    const uint64_t derived_number =
        pair.derived == pair.base ? base_number : safepoints_add_location(unpacker->table, derived);
    unpacker->words[count++] = base_number << 32 | derived_number;
  }
  if (pairs.bad)
    return broken(unpacker, "a broken live set");
  if (safepoint_item_is_locations(list_item) && count > 0)
    return broken(unpacker, "a live set of pairs in a record that is no statepoint");
  if (!make_room(unpacker, (size_t)count + 1))
    return false;
  record->live = safepoints_add_live(unpacker->table, unpacker->words, count, list_item);
  return record->live != INTERN_FAILED;
}

/* ---- Details ---- */

/* Whether a record is the first of a block. A table without columns has no blocks: then one serves
 * all. */
static bool starts_block(const struct unpacker *unpacker, uint32_t index) {
  const struct packed_details_header *header = &unpacker->block.header;
  return index == 0 || (header->columns != 0 && (index & bits_low_mask(header->shift)) == 0);
}

/* A Zstandard frame of some bytes may decode to megabytes, and a record with the deopt state of
 * the one before takes one byte. So the sizes of the decoded blocks, and of the details in
 * LLVM's stack maps, are limited by the table's size. (FORMAT.md, "Limits") */
static bool charge_details(struct unpacker *unpacker, uint64_t size) {
  enum { LEAST = 1 << 26, GROWTH = 2048 };
  unpacker->details_size += size;
  return unpacker->details_size <= LEAST + packed_size(unpacker->packed) * GROWTH ||
         broken(unpacker, "details that expand to more than any program has");
}

static bool unpack_details(struct unpacker *unpacker, uint32_t index, struct safepoint *record) {
  enum { LOCATION_SIZE = 12, LIVE_OUT_SIZE = 4 }; /* LLVM's */
  struct safepoints *table = unpacker->table;
  struct stackpack_details details;
  if (starts_block(unpacker, index)) {
    if (!packed_block_open(&unpacker->block, unpacker->packed, index, unpacker->space,
                           unpacker->decompress))
      return broken(unpacker, "a broken block of details");
    if (!charge_details(unpacker, unpacker->block.size))
      return false;
  }
  if (!packed_block_next(&unpacker->block, &details))
    return broken(unpacker, "a broken block of details");
  if (!charge_details(unpacker, (uint64_t)details.deopt_count * LOCATION_SIZE +
                                    (uint64_t)details.live_out_count * LIVE_OUT_SIZE))
    return false;
  record->id = details.id;
  if (safepoints_kind(table, record) == SAFEPOINT_STATEPOINT) {
    record->calling_convention = details.calling_convention;
    record->flags = details.flags;
  }
  if (!make_room(unpacker, (size_t)details.deopt_count + details.live_out_count + 1))
    return false;
  for (uint32_t i = 0; i < details.deopt_count; i++) {
    if (!is_location(details.deopt[i]))
      return broken(unpacker, "a deopt state with an unknown location");
    unpacker->words[i] = safepoints_add_location(table, details.deopt[i]);
  }
  record->deopt = safepoints_add_list(table, unpacker->words, details.deopt_count);
  for (uint32_t i = 0; i < details.live_out_count; i++)
    unpacker->words[i] = (uint64_t)details.live_outs[i].reg << 8 | details.live_outs[i].size;
  record->live_outs = safepoints_add_list(table, unpacker->words, details.live_out_count);
  return !table->no_memory;
}

/* ---- Frames ---- */

static bool unpack_frame(struct unpacker *unpacker, const struct packed_record *packed_record,
                         struct safepoint *record) {
  const struct frame_view view =
      packed_frame(packed_record, packed_record_frame_size(packed_record));
  if (!view.is_known)
    return true;
  const struct frame_facts facts = frames_facts(&unpacker->packed->frames, &view);
  record->frame = frame_facts_add(&unpacker->table->frames, &facts);
  return record->frame != 0 || no_memory(unpacker);
}

/* ---- Sources ---- */

static bool answer_sources(struct unpacker *unpacker, enum sources_unpacked answer) {
  if (answer == SOURCES_NO_MEMORY)
    return no_memory(unpacker);
  return answer == SOURCES_UNPACKED || broken(unpacker, "broken source positions");
}

static bool open_sources(struct unpacker *unpacker) {
  const struct packed_table *packed = unpacker->packed;
  if (packed->sources_size == 0)
    return true;
  if (!sources_open(&unpacker->sources_part, packed->sources, packed->sources_size,
                    packed->stretch_count))
    return answer_sources(unpacker, SOURCES_BROKEN);
  return answer_sources(unpacker, sources_unpack_open(&unpacker->sources, &unpacker->sources_part,
                                                      &unpacker->table->sources));
}

static bool unpack_source(struct unpacker *unpacker, const struct packed_record *packed_record,
                          struct safepoint *record) {
  return unpacker->packed->sources_size == 0 ||
         answer_sources(unpacker, sources_unpack(&unpacker->sources, packed_record->stretch,
                                                 packed_record->position, &record->source));
}

/* ---- All ---- */

static bool unpack_records(struct unpacker *unpacker) {
  const struct packed_table *packed = unpacker->packed;
  struct packed_record packed_record;
  uint64_t last = 0;
  for (uint32_t i = 0; i < packed->record_count; i++) {
    struct safepoint record = {0};
    if (packed_record_at(packed, i, &packed_record) != STACKPACK_FOUND)
      return broken(unpacker, "a record that belongs to no function");
    assert(packed_record.stretch < packed->stretch_count);
    record.address = packed_record.address;
    record.function = unpacker->functions[packed_record.stretch];
    const uint64_t offset = record.address - packed->text_start;
    if (record.function == UINT32_MAX || offset < last || offset > packed->text_size)
      return broken(unpacker, "a record that belongs to no function, or is out of order");
    last = offset;
    if (!unpack_live(unpacker, &packed_record, &record) || !unpack_details(unpacker, i, &record) ||
        !unpack_frame(unpacker, &packed_record, &record) ||
        !unpack_source(unpacker, &packed_record, &record) ||
        !safepoints_add_record(unpacker->table, record))
      return false;
  }
  return true;
}

static bool unpack_global_roots(struct unpacker *unpacker) {
  struct packed_roots roots = packed_roots(unpacker->packed);
  uint64_t address;
  size_t count = 0;
  while (packed_roots_next(&roots, &address)) {
    if (count > 0 && address <= unpacker->words[count - 1])
      return broken(unpacker, "global roots out of order");
    if (!make_room(unpacker, count + 1))
      return false;
    unpacker->words[count++] = address;
  }
  if (roots.bad)
    return broken(unpacker, "a broken list of global roots");
  return safepoints_set_global_roots(unpacker->table, unpacker->words, count);
}

/* A look-up compares the numbers of a block at once, and finds them only where they ascend. */
static bool check_frames(struct unpacker *unpacker) {
  const struct packed_table *packed = unpacker->packed;
  return packed->frames_size == 0 || frames_are_in_order(&packed->frames) ||
         broken(unpacker, "exceptions of frames out of order");
}

static bool unpack(struct unpacker *unpacker) {
  unpacker->space = malloc(packed_details_space(unpacker->packed) + 1);
  unpacker->functions =
      malloc(((size_t)unpacker->packed->stretch_count + 1) * sizeof *unpacker->functions);
  if (unpacker->space == NULL || unpacker->functions == NULL ||
      intern_add(&unpacker->table->lists, NULL, 0) == INTERN_FAILED)
    return no_memory(unpacker);
  return check_leaves(unpacker) && check_order(unpacker) && check_frames(unpacker) &&
         open_sources(unpacker) && unpack_functions(unpacker) && unpack_records(unpacker) &&
         unpack_global_roots(unpacker);
}

bool packed_unpack(const struct packed_table *packed, stackpack_decompress *decompress,
                   struct safepoints *table) {
  struct unpacker unpacker = {.packed = packed, .table = table, .decompress = decompress};
  assert(table->function_count == 0 && table->record_count == 0);
  table->frame_machine = packed->frames.machine;
  table->machine = packed->machine;
  if (packed->code_end != 0)
    table->code_end = packed->address + (uint64_t)packed->code_end;
  const bool ok = unpack(&unpacker);
  free(unpacker.space);
  free(unpacker.functions);
  free(unpacker.words);
  sources_unpack_close(&unpacker.sources);
  return ok && safepoints_finish(table);
}
