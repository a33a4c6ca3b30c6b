/* packed_write_layouts.c - writes layouts, as packed_live.c draws them.
 *
 * A function's live sets are numbers so far. Here they become pairs of a slot and its base at a
 * row, one row for each distinct set. (At one record a location holds one value, so it is derived
 * in one pair at most. If a stack map breaks this rule, the location gets a slot for each pair.)
 * packed_write_groups.c cuts the slots into groups.
 *
 * The widths of heads' fields are chosen after all groups are written; then the heads are written.
 */
#include "format/packed_encoder.h"
#include "format/packed_write_groups.h"

#include <assert.h>
#include <stdlib.h>

enum {
  SLOTS_AT_ONCE = 256, /* that are cut into groups: a layout's writer has bounded memory */
  CELLS_MOST = 1 << 22 /* slots times rows of a layout; the smallest groups of more take long */
};

/* A live slot: its location's number, its number among the location's slots, its row, and its
 * base. */
struct live_slot {
  uint32_t location, copy, row, base;
};

struct layouts_writer {
  struct encoder *encoder;
  struct bit_writer bodies; /* of all layouts' groups, */
  struct group_heads heads; /* and their heads */
  struct {
    uint64_t layout; /* 1 + the last layout that has a live set, */
    uint32_t row;    /* and the set's row there */
  } * seen;          /* by number of a live set */
  /* Of the layout at hand. */
  uint32_t rows;
  uint32_t *row_of; /* by position; owned */
  size_t row_of_capacity;
  struct live_slot *live; /* by row; owned */
  size_t live_count, live_capacity;
  struct live_slot *sorted; /* the same in the order of locations; owned */
  size_t sorted_capacity;
  uint32_t *ends; /* by location: zeros, but while slots are sorted */
  uint32_t locations[SLOTS_AT_ONCE];
  uint32_t *bases; /* of each of these slots: a row of the matrix; owned */
  size_t bases_capacity;
  uint64_t cells; /* of the matrices so far */
};

/* ---- Live slots ---- */

static int compare_live(const void *a, const void *b) {
  const struct live_slot *x = a, *y = b;
  ORDER_BY(x, y, location)
  ORDER_BY(x, y, copy)
  ORDER_BY(x, y, row)
  ORDER_BY(x, y, base)
  return 0;
}

/* A list is a pair: of the number after the last location's, and as base a number for the list. */
static struct live_slot slot_of_item(const struct layouts_writer *writer, uint64_t item) {
  const struct encoder *encoder = writer->encoder;
  const uint32_t row = writer->rows, locations = encoder->location_count;
  assert(row < UINT32_MAX);
  if (safepoint_item_is_list(item)) {
    const uint32_t list = encoder->lists[encoder_list_key(item)];
    assert(list < encoder->list_count);
    return (struct live_slot){.location = locations, .row = row, .base = locations + list};
  }
  const uint32_t derived = encoder->locations[safepoint_item_derived(item)];
  const uint32_t base = encoder->locations[safepoint_item_base(item)];
  assert(derived < locations && base < locations);
  return (struct live_slot){.location = derived, .row = row, .base = base};
}

static bool add_row(struct layouts_writer *writer, uint32_t live) {
  const struct intern_sequence items = intern_get(&writer->encoder->table->live, live);
  for (uint64_t i = 0; i < items.count; i++)
    if (!ARRAY_ADD(writer->live, writer->live_count, writer->live_capacity,
                   slot_of_item(writer, items.words[i])))
      return false;
  writer->rows++;
  return true;
}

/* Sorts the slots by their locations, by counting these: rows are in order. False if a location
 * comes twice in a row. `low` and `high` are the lowest location and the highest. */
static bool sort_by_location(struct layouts_writer *writer, uint32_t low, uint32_t high) {
  const struct live_slot *live = writer->live;
  struct live_slot *sorted = writer->sorted;
  uint32_t *ends = writer->ends;
  bool is_twice = false;
  for (size_t i = 0; i < writer->live_count; i++)
    ends[live[i].location]++;
  for (uint32_t location = low; location < high; location++)
    ends[location + 1] += ends[location];
  for (size_t i = writer->live_count; i-- > 0;)
    sorted[--ends[live[i].location]] = live[i];
  assert(ends[low] == 0);
  memset(ends + low, 0, ((size_t)high - low + 1) * sizeof *ends);
  for (size_t i = 1; i < writer->live_count; i++)
    is_twice |= sorted[i].location == sorted[i - 1].location && sorted[i].row == sorted[i - 1].row;
  return !is_twice;
}

/* The same for all slots. A location that comes twice in a row is two slots. */
static void sort_with_copies(struct layouts_writer *writer) {
  struct live_slot *sorted = writer->sorted;
  const size_t count = writer->live_count;
  bool has_copies = false;
  memcpy(sorted, writer->live, count * sizeof *sorted);
  qsort(sorted, count, sizeof *sorted, compare_live);
  for (size_t i = 1; i < count; i++)
    if (sorted[i].location == sorted[i - 1].location && sorted[i].row == sorted[i - 1].row) {
      sorted[i].copy = sorted[i - 1].copy + 1;
      has_copies = true;
    }
  if (has_copies)
    qsort(sorted, count, sizeof *sorted, compare_live);
}

static bool sort_live(struct layouts_writer *writer) {
  enum { NEAR = 4 }; /* locations a slot: counting them takes less time than sorting */
  const size_t count = writer->live_count;
  uint32_t low = UINT32_MAX, high = 0;
  if (!array_make_room((void **)&writer->sorted, &writer->sorted_capacity, count,
                       sizeof *writer->sorted))
    return false;
  for (size_t i = 0; i < count; i++) {
    const uint32_t location = writer->live[i].location;
    low = location < low ? location : low;
    high = location > high ? location : high;
  }
  if (count > 0 && ((high - low) / NEAR > count || !sort_by_location(writer, low, high)))
    sort_with_copies(writer);
  return true;
}

/* Collects the rows of a layout's distinct sets, in the order of their first use. */
static bool collect_rows(struct layouts_writer *writer, uint64_t layout, const uint64_t *live,
                         uint64_t count) {
  writer->live_count = writer->rows = 0;
  writer->cells = 0;
  if (!array_make_room((void **)&writer->row_of, &writer->row_of_capacity, count,
                       sizeof *writer->row_of))
    return false;
  for (uint64_t i = 0; i < count; i++) {
    if (writer->seen[live[i]].layout != layout + 1) {
      writer->seen[live[i]].layout = layout + 1;
      writer->seen[live[i]].row = writer->rows;
      if (!add_row(writer, (uint32_t)live[i]))
        return false;
    }
    writer->row_of[i] = writer->seen[live[i]].row;
  }
  writer->rows += count == 0; /* of no record: an empty set */
  return sort_live(writer);
}

/* ---- Groups ---- */

/* Puts the next SLOTS_AT_ONCE slots, or the rest of them, into a matrix. Moves *next on, from the
 * first slot in `live` to the one after the last. */
static bool collect_sets(struct layouts_writer *writer, size_t *next, struct live_sets *sets) {
  const uint32_t rows = writer->rows;
  const struct live_slot *last = NULL;
  const bool is_first = *next == 0;
  uint32_t slots = 0;
  for (; *next < writer->live_count; ++*next) {
    const struct live_slot *live = &writer->sorted[*next];
    if (last == NULL || live->location != last->location || live->copy != last->copy) {
      if (slots == SLOTS_AT_ONCE)
        break;
      if (!array_make_room((void **)&writer->bases, &writer->bases_capacity,
                           (size_t)rows * (slots + 1), sizeof *writer->bases))
        return false;
      writer->locations[slots] = live->location;
      memset(writer->bases + (size_t)slots++ * rows, 0xff, rows * sizeof *writer->bases);
    }
    uint32_t *base = &writer->bases[(size_t)(slots - 1) * rows + live->row];
    assert(live->row < rows && *base == NO_BASE);
    *base = live->base;
    last = live;
  }
  writer->cells += (uint64_t)slots * rows;
  *sets = (struct live_sets){
      .slots = slots,
      .rows = rows,
      .location_count = writer->encoder->location_count,
      .locations = writer->locations,
      .bases = writer->bases,
      .row_of = writer->row_of,
      .are_all = is_first && *next == writer->live_count,
      .is_quick = writer->encoder->is_quick || writer->cells > CELLS_MOST,
  };
  return true;
}

/* Writes a layout except its heads, and adds these to `heads`. */
static bool write_bodies(struct layouts_writer *writer, uint64_t number,
                         const struct encoder_layout *layout) {
  assert(layout->count > 0); /* a frame size is first */
  const uint64_t positions = layout->count - 1;
  size_t next = 0;
  if (positions > UINT32_MAX || !collect_rows(writer, number, layout->words + 1, positions))
    return false;
  do {
    struct live_sets sets;
    if (!collect_sets(writer, &next, &sets))
      return false;
    sets.positions = (uint32_t)positions;
    if (!groups_write(&sets, &writer->bodies, &writer->heads))
      return false;
    struct group_head *last = &writer->heads.items[writer->heads.count - 1];
    last->has_next = next < writer->live_count;
    last->is_extended |= last->has_next;
  } while (next < writer->live_count);
  return true;
}

/* ---- Heads ---- */

static const uint8_t short_widths[HEAD_FIELDS] = {
    [HEAD_PLAIN] = PACKED_PLAIN_WIDTH,
    [HEAD_ROWS] = PACKED_ROWS_WIDTH,
    [HEAD_DERIVED] = PACKED_DERIVED_WIDTH,

    [HEAD_ASSIGNMENTS] = PACKED_ASSIGNMENTS_WIDTH,
};

static unsigned field_count(const struct group_head *head) {
  return head->is_extended ? HEAD_FIELDS : HEAD_DERIVED;
}

static bool is_long(const struct group_head *head, unsigned first_width) {
  const uint64_t *fields = head->fields;
  if (fields[HEAD_FIRST] > bits_low_mask(first_width) || fields[HEAD_PLAIN] >= PACKED_PLAIN_LONG)
    return true;
  for (unsigned i = HEAD_ROWS; i < field_count(head); i++)
    if (fields[i] > bits_low_mask(short_widths[i]))
      return true;
  return false;
}

/* The bits that a head takes. */
static uint64_t head_width(const struct group_head *head, unsigned first_width,
                           unsigned long_width) {
  const bool is_extended = head->is_extended;
  if (is_long(head, first_width))
    return first_width + PACKED_EXTENDED_WIDTH + PACKED_PLAIN_WIDTH +
           (is_extended ? PACKED_FLAGS_WIDTH : 0) + (uint64_t)field_count(head) * long_width;
  return first_width + PACKED_HEAD_WIDTH + (is_extended ? PACKED_EXTENSION_WIDTH : 0);
}

/* The width of the first location's field that makes all heads shortest. */
static uint8_t choose_first_width(const struct group_heads *heads, unsigned long_width) {
  enum { WIDTH_MAX = 12 };
  uint64_t least = UINT64_MAX;
  uint8_t best = 0;
  for (uint8_t width = 0; width <= WIDTH_MAX; width++) {
    uint64_t size = 0;
    for (size_t i = 0; i < heads->count; i++)
      size += head_width(&heads->items[i], width, long_width);
    if (size < least) {
      least = size;
      best = width;
    }
  }
  return best;
}

/* The width that holds each field of each head. */
static uint8_t choose_long_width(const struct group_heads *heads) {
  uint64_t most = 1;
  for (size_t i = 0; i < heads->count; i++)
    for (unsigned field = 0; field < field_count(&heads->items[i]); field++)
      most = heads->items[i].fields[field] > most ? heads->items[i].fields[field] : most;
  return (uint8_t)bits_for_number(most);
}

static void put_head(struct bit_writer *bits, const struct group_head *head,
                     const struct packed_header *header) {
  const bool in_long = is_long(head, header->first_width);
  bit_writer_put(bits, in_long ? 0 : head->fields[HEAD_FIRST], header->first_width);
  bit_writer_put(bits, head->is_extended, PACKED_EXTENDED_WIDTH);
  if (in_long) {
    bit_writer_put(bits, PACKED_PLAIN_LONG, PACKED_PLAIN_WIDTH);
    bit_writer_put(bits, head->fields[HEAD_FIRST], header->long_width);
  }
  for (unsigned i = HEAD_PLAIN; i < field_count(head); i++) {
    if (i == HEAD_DERIVED) {
      assert(head->number_width <= bits_low_mask(PACKED_NUMBER_WIDTH));
      bit_writer_put(bits, head->is_scattered, PACKED_SCATTERED_WIDTH);
      bit_writer_put(bits, head->has_next, PACKED_NEXT_WIDTH);
      bit_writer_put(bits, head->number_width, PACKED_NUMBER_WIDTH);
    }
    const unsigned width = in_long ? header->long_width : short_widths[i];
    assert(head->fields[i] <= bits_low_mask(width));
    bit_writer_put(bits, head->fields[i], width);
  }
}

/* Appends bits [from, to) of another string. */
static void copy_bits(struct bit_writer *out, const struct bit_writer *bits, uint64_t from,
                      uint64_t to) {
  enum { PIECE = 56 };
  for (; from < to; from += PIECE) {
    const unsigned width = to - from < PIECE ? (unsigned)(to - from) : PIECE;
    bit_writer_put(out, bits_at(bits->bytes, from, width), width);
  }
}

/* ---- All ---- */

/* The width of the distance from its own field to the next group, given the longest distance. */
static uint8_t choose_next_width(const struct group_heads *heads) {
  enum { WIDTH_MAX = 32 };
  uint64_t most = 0;
  for (size_t i = 0; i < heads->count; i++)
    if (heads->items[i].has_next) {
      assert(i + 1 < heads->count);
      const uint64_t size = heads->items[i + 1].positions_end - heads->items[i].positions_end;
      most = size + WIDTH_MAX > most ? size + WIDTH_MAX : most;
    }
  return (uint8_t)bits_for_number(most);
}

static void join_layouts(const struct layouts_writer *writer) {
  struct encoder *encoder = writer->encoder;
  const struct packed_header *header = &encoder->header;
  struct bit_writer *bits = &encoder->parts[PACKED_LAYOUTS];
  uint64_t from = 0;
  uint32_t layout = 0;
  bool is_first = true; /* of a layout */
  bits->size = 0;
  if (bits->bytes != NULL)
    memset(bits->bytes, 0, bits->capacity);
  for (size_t i = 0; i < writer->heads.count; i++) {
    const struct group_head *head = &writer->heads.items[i];
    if (is_first)
      bit_writer_align_before(bits, head->positions_end - from, 8u << header->reference_shift);
    copy_bits(bits, &writer->bodies, from, head->positions_end);
    if (is_first) {
      assert(layout < encoder->layout_count &&
             (bits->failed || bits->size % (8u << header->reference_shift) == 0));
      encoder->places[layout] = bits->size / 8;
      bit_writer_put(bits, encoder->layouts[layout++].words[0], header->frame_width);
    }
    is_first = !head->has_next;
    put_head(bits, head, header);
    if (head->has_next)
      bit_writer_put(bits, header->next_width + head[1].positions_end - head->positions_end,
                     header->next_width);
    copy_bits(bits, &writer->bodies, head->positions_end, head->end);
    from = head->end;
  }
  assert(layout == encoder->layout_count);
  bit_writer_align(bits, 8);
}

/* Joins the layouts with a shift of their places. The bytes of a reference hold any place; all
 * ones are a gap's. Returns the size of layouts and references. */
static uint64_t join_with(const struct layouts_writer *writer, uint8_t shift) {
  struct packed_header *header = &writer->encoder->header;
  header->reference_shift = shift;
  join_layouts(writer);
  const uint64_t size = writer->encoder->parts[PACKED_LAYOUTS].size / 8;
  header->reference_bytes = bits_bytes_for((size >> shift) + 1);
  return size + (uint64_t)header->stretches * header->reference_bytes;
}

/* Layouts at even places, or at multiples of 4, are larger; but each stretch's place may take a
 * byte less. */
static void place_layouts(const struct layouts_writer *writer) {
  enum { SHIFTS = 3 };
  uint64_t least = UINT64_MAX;
  uint8_t best = 0, last = 0;
  for (uint8_t shift = 0; shift < SHIFTS && !writer->encoder->is_quick; shift++) {
    const uint64_t size = join_with(writer, shift);
    last = shift;
    if (size < least) {
      least = size;
      best = shift;
    }
  }
  if (last != best || writer->encoder->is_quick)
    join_with(writer, best);
}

static bool write_all(struct layouts_writer *writer) {
  const struct encoder *encoder = writer->encoder;
  const struct group_heads *heads = &writer->heads;
  struct packed_header *header = &writer->encoder->header;
  for (uint32_t i = 0; i < encoder->layout_count; i++)
    if (!write_bodies(writer, i, &encoder->layouts[i]))
      return false;
  header->long_width = choose_long_width(heads);
  header->first_width = choose_first_width(heads, header->long_width);
  header->next_width = choose_next_width(heads);
  if (header->next_width > 32)
    return false;
  place_layouts(writer);
  return true;
}

bool packed_write_layouts(struct encoder *encoder) {
  struct layouts_writer writer = {.encoder = encoder};
  writer.seen = encoder_array(encoder, encoder->table->live.count, sizeof *writer.seen);
  encoder->places = encoder_array(encoder, encoder->layout_count, sizeof *encoder->places);
  writer.ends = encoder_array(encoder, (uint64_t)encoder->location_count + 1, sizeof *writer.ends);
  const bool ok = encoder->error == NULL && write_all(&writer);
  free(writer.row_of);
  free(writer.live);
  free(writer.sorted);
  free(writer.bases);
  free(writer.heads.items);
  bit_writer_free(&writer.bodies);
  return ok;
}
