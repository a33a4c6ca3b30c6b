/* packed_write_layouts.c - writes layouts, as packed_live.c draws them.
 *
 * A function's live sets are known by their numbers. Here they become pairs of a slot and its base at a row,
 * one row for each distinct set. (At one record a location holds one value, so it is derived in one pair at
 * most. Should a stack map say otherwise, the location gets a slot for each pair.) What the slots' groups
 * are is found in packed_write_groups.c.
 *
 * How wide the fields of the first location and of long heads are is chosen when all layouts are known.
 */
#include "format/array.h"
#include "format/packed_write.h"
#include "format/packed_write_groups.h"

#include <stdlib.h>

enum {
  SLOTS_AT_ONCE = 256
}; /* that are cut into groups: what a layout's writer has in memory is bounded */

/* A live slot: its location's number, which of the location's slots it is, and what is its base. */
struct live_slot {
  uint32_t location, copy, row, base;
};

/* A group's head, while heads' widths aren't known. */
struct head {
  struct written_group group;
  bool is_first, has_next; /* of a layout; */
  uint64_t frame;          /* and then, if it is the first one */
};

/* Memory of one kind that grows. */
struct words {
  void *items;
  size_t count, capacity;
};

struct layouts_writer {
  const struct safepoints *table;
  const struct packed_numbers *numbers;
  struct groups_writer *groups;
  struct bit_writer bodies;
  struct words heads; /* of all layouts' groups */
  /* Of the layout at hand. */
  uint64_t *seen;   /* by number of a live set: 1 + the last layout that has it, */
  uint32_t *set_of; /* and its number there */
  uint32_t rows;
  struct words live; /* slots, in the order of locations */
  struct words row_of, locations, bases;
};

static void *words_add(struct words *words, size_t count, size_t size) {
  if (!array_make_room(&words->items, &words->capacity, words->count + count + 1, size))
    return NULL;
  void *added = (char *)words->items + words->count * size;
  words->count += count;
  return added;
}

/* ---- Live slots ---- */

static int compare_numbers(uint32_t a, uint32_t b) { return a < b ? -1 : a > b; }

static int compare_live(const void *a, const void *b) {
  const struct live_slot *x = a, *y = b;
  int order = compare_numbers(x->location, y->location);
  order = order != 0 ? order : compare_numbers(x->copy, y->copy);
  order = order != 0 ? order : compare_numbers(x->row, y->row);
  return order != 0 ? order : compare_numbers(x->base, y->base);
}

/* A list is a pair: of the location behind the last one, and as base a number for the list. */
static struct live_slot slot_of_item(const struct layouts_writer *writer, uint64_t item) {
  const struct packed_numbers *numbers = writer->numbers;
  if (safepoint_item_is_list(item))
    return (struct live_slot){
        .location = numbers->location_count,
        .base = numbers->location_count + numbers->lists[packed_list_key(item)],
    };
  return (struct live_slot){
      .location = numbers->locations[safepoint_item_derived(item)],
      .base = numbers->locations[safepoint_item_base(item)],
  };
}

static bool add_row(struct layouts_writer *writer, uint32_t live) {
  const struct intern_sequence items = intern_get(&writer->table->live, live);
  struct live_slot *slots = words_add(&writer->live, items.count, sizeof *slots);
  if (slots == NULL)
    return false;
  for (uint64_t i = 0; i < items.count; i++) {
    slots[i] = slot_of_item(writer, items.words[i]);
    slots[i].row = writer->rows;
  }
  writer->rows++;
  return true;
}

/* Sorts the slots of all rows. A location that comes twice in a row is two slots. */
static void sort_live(struct layouts_writer *writer) {
  struct live_slot *live = writer->live.items;
  bool has_copies = false;
  if (writer->live.count > 0)
    qsort(live, writer->live.count, sizeof *live, compare_live);
  for (size_t i = 1; i < writer->live.count; i++)
    if (live[i].location == live[i - 1].location && live[i].row == live[i - 1].row) {
      live[i].copy = live[i - 1].copy + 1;
      has_copies = true;
    }
  if (has_copies)
    qsort(live, writer->live.count, sizeof *live, compare_live);
}

/* Collects the rows of a layout's distinct sets, in the order in which they first come. */
static bool collect_rows(struct layouts_writer *writer, uint64_t layout, const uint64_t *live,
                         uint64_t count) {
  writer->live.count = writer->row_of.count = writer->rows = 0;
  uint32_t *row_of = words_add(&writer->row_of, count, sizeof *row_of);
  if (row_of == NULL)
    return false;
  for (uint64_t i = 0; i < count; i++) {
    if (writer->seen[live[i]] != layout + 1) {
      writer->seen[live[i]] = layout + 1;
      writer->set_of[live[i]] = writer->rows;
      if (!add_row(writer, (uint32_t)live[i]))
        return false;
    }
    row_of[i] = writer->set_of[live[i]];
  }
  writer->rows += count == 0; /* of no record: an empty set */
  sort_live(writer);
  return true;
}

/* ---- Groups ---- */

static bool same_slot(const struct live_slot *a, const struct live_slot *b) {
  return a->location == b->location && a->copy == b->copy;
}

/* Where the next slots end, of which there are SLOTS_AT_ONCE or what is left. */
static size_t slots_end(const struct layouts_writer *writer, size_t from) {
  const struct live_slot *live = writer->live.items;
  uint32_t slots = 0;
  size_t to = from;
  for (; to < writer->live.count; to++) {
    slots += to == from || !same_slot(&live[to], &live[to - 1]);
    if (slots > SLOTS_AT_ONCE)
      break;
  }
  return to;
}

/* Puts the slots live[from..to) of all rows into a matrix. */
static bool collect_sets(struct layouts_writer *writer, size_t from, size_t to,
                         struct live_sets *sets) {
  const struct live_slot *live = writer->live.items;
  writer->bases.count = writer->locations.count = 0;
  uint32_t *row = words_add(&writer->bases, 0, sizeof *row);
  if (row == NULL || words_add(&writer->locations, 0, sizeof(uint32_t)) == NULL)
    return false;
  for (size_t i = from; i < to; i++) {
    if (i == from || !same_slot(&live[i], &live[i - 1])) {
      uint32_t *location = words_add(&writer->locations, 1, sizeof *location);
      row = words_add(&writer->bases, writer->rows, sizeof *row);
      if (location == NULL || row == NULL)
        return false;
      *location = live[i].location;
      memset(row, 0xff, writer->rows * sizeof *row); /* NO_BASE */
    }
    row[live[i].row] = live[i].base;
  }
  *sets = (struct live_sets){
      .slots = (uint32_t)writer->locations.count,
      .rows = writer->rows,
      .positions = (uint32_t)writer->row_of.count,
      .location_count = writer->numbers->location_count,
      .locations = writer->locations.items,
      .bases = writer->bases.items,
      .row_of = writer->row_of.items,
  };
  return true;
}

/* Writes a layout but for its heads, which are added to `heads`. */
static bool write_bodies(struct layouts_writer *writer, uint64_t number,
                         struct intern_sequence layout) {
  struct live_sets sets;
  size_t from = 0;
  bool is_first = true;
  if (layout.count - 1 > UINT32_MAX ||
      !collect_rows(writer, number, layout.words + 1, layout.count - 1))
    return false;
  do {
    const size_t to = slots_end(writer, from);
    const struct written_group *groups;
    if (!collect_sets(writer, from, to, &sets))
      return false;
    const size_t count = groups_write(writer->groups, &sets, &writer->bodies, &groups);
    struct head *heads = words_add(&writer->heads, count, sizeof *heads);
    if (count == 0 || heads == NULL)
      return false;
    for (size_t i = 0; i < count; i++) {
      heads[i] = (struct head){groups[i], is_first, to < writer->live.count || i + 1 < count,
                               layout.words[0]};
      heads[i].group.is_extended |= heads[i].has_next;
      is_first = false;
    }
    from = to;
  } while (from < writer->live.count);
  return true;
}

/* ---- Heads ---- */

static const uint8_t short_widths[HEAD_FIELDS] = {
    [HEAD_PLAIN] = PACKED_PLAIN_WIDTH,
    [HEAD_ROWS] = PACKED_ROWS_WIDTH,
    [HEAD_DERIVED] = PACKED_DERIVED_WIDTH,

    [HEAD_ASSIGNMENTS] = PACKED_ASSIGNMENTS_WIDTH,
};

static unsigned field_count(const struct head *head) {
  return head->group.is_extended ? HEAD_FIELDS : HEAD_DERIVED;
}

static bool is_long(const struct head *head, unsigned first_width) {
  const uint64_t *fields = head->group.fields;
  if (fields[HEAD_FIRST] > bits_low_mask(first_width) || fields[HEAD_PLAIN] >= PACKED_PLAIN_LONG)
    return true;
  for (unsigned i = HEAD_ROWS; i < field_count(head); i++)
    if (fields[i] > bits_low_mask(short_widths[i]))
      return true;
  return false;
}

/* The bits that a head takes. */
static uint64_t head_width(const struct head *head, unsigned first_width, unsigned long_width) {
  const bool is_extended = head->group.is_extended;
  if (is_long(head, first_width))
    return first_width + PACKED_EXTENDED_WIDTH + PACKED_PLAIN_WIDTH +
           (is_extended ? PACKED_FLAGS_WIDTH : 0) + (uint64_t)field_count(head) * long_width;
  return first_width + PACKED_HEAD_WIDTH + (is_extended ? PACKED_EXTENSION_WIDTH : 0);
}

/* The width of the first location's field with which all heads are shortest. */
static uint8_t choose_first_width(const struct words *heads, unsigned long_width) {
  enum { WIDTH_MAX = 12 };
  const struct head *items = heads->items;
  uint64_t least = UINT64_MAX;
  uint8_t best = 0;
  for (uint8_t width = 0; width <= WIDTH_MAX; width++) {
    uint64_t size = 0;
    for (size_t i = 0; i < heads->count; i++)
      size += head_width(&items[i], width, long_width);
    if (size < least) {
      least = size;
      best = width;
    }
  }
  return best;
}

/* The width that holds each field of each head. */
static uint8_t choose_long_width(const struct words *heads) {
  const struct head *items = heads->items;
  uint64_t most = 1;
  for (size_t i = 0; i < heads->count; i++)
    for (unsigned field = 0; field < field_count(&items[i]); field++)
      most = items[i].group.fields[field] > most ? items[i].group.fields[field] : most;
  return (uint8_t)bits_for_number(most);
}

static void put_head(struct bit_writer *bits, const struct head *head,
                     const struct packed_header *header) {
  const struct written_group *group = &head->group;
  const bool in_long = is_long(head, header->first_width);
  bit_writer_put(bits, in_long ? 0 : group->fields[HEAD_FIRST], header->first_width);
  bit_writer_put(bits, group->is_extended, PACKED_EXTENDED_WIDTH);
  if (in_long) {
    bit_writer_put(bits, PACKED_PLAIN_LONG, PACKED_PLAIN_WIDTH);
    bit_writer_put(bits, group->fields[HEAD_FIRST], header->long_width);
  }
  for (unsigned i = HEAD_PLAIN; i < field_count(head); i++) {
    if (i == HEAD_DERIVED) {
      bit_writer_put(bits, group->is_scattered, PACKED_SCATTERED_WIDTH);
      bit_writer_put(bits, head->has_next, PACKED_NEXT_WIDTH);
      bit_writer_put(bits, group->number_width, PACKED_NUMBER_WIDTH);
    }
    bit_writer_put(bits, group->fields[i], in_long ? header->long_width : short_widths[i]);
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

/* The width of the distance from its own field to the next group, of which the longest one is told. */
static uint8_t choose_next_width(const struct words *heads) {
  enum { WIDTH_MAX = 32 };
  const struct head *items = heads->items;
  uint64_t most = 0, from = 0;
  for (size_t i = 0; i < heads->count; from = items[i++].group.end)
    if (items[i].has_next && items[i].group.end - from + WIDTH_MAX > most)
      most = items[i].group.end - from + WIDTH_MAX;
  return (uint8_t)bits_for_number(most);
}

static void join_layouts(const struct layouts_writer *writer, const struct packed_header *header,
                         struct packed_layouts *layouts) {
  const struct head *heads = writer->heads.items;
  const uint64_t unit = (uint64_t)8 << header->reference_shift;
  struct bit_writer *bits = &layouts->bits;
  uint64_t from = 0;
  uint32_t layout = 0;
  bits->size = 0;
  if (bits->bytes != NULL)
    memset(bits->bytes, 0, bits->capacity);
  for (size_t i = 0; i < writer->heads.count; i++) {
    const struct head *head = &heads[i];
    if (head->is_first) {
      while (bits->size % unit != 0 && !bits->failed)
        bit_writer_put(bits, 0, 1);
      layouts->places[layout++] = bits->size / 8;
      bit_writer_put(bits, head->frame, header->frame_width);
    }
    put_head(bits, head, header);
    if (head->has_next)
      bit_writer_put(bits, header->next_width + head->group.end - from, header->next_width);
    copy_bits(bits, &writer->bodies, from, head->group.end);
    from = head->group.end;
  }
  bit_writer_align(bits);
}

/* The bytes of a reference to any place in the layouts; all ones are a gap's. */
static uint8_t bytes_of_references(const struct packed_layouts *layouts, unsigned shift) {
  uint8_t bytes = 1;
  while ((layouts->bits.size / 8) >> shift >= bits_low_mask(bytes * 8u))
    bytes++;
  return bytes;
}

/* Layouts at even places, or at multiples of 4, are larger; but there may be a byte less to tell each
 * stretch's place. */
static void place_layouts(const struct layouts_writer *writer, struct packed_header *header,
                          struct packed_layouts *layouts) {
  enum { SHIFTS = 3 };
  uint64_t least = UINT64_MAX;
  uint8_t best = 0;
  for (header->reference_shift = 0; header->reference_shift < SHIFTS; header->reference_shift++) {
    join_layouts(writer, header, layouts);
    const uint64_t size =
        layouts->bits.size / 8 +
        (uint64_t)header->stretches * bytes_of_references(layouts, header->reference_shift);
    if (size < least) {
      least = size;
      best = header->reference_shift;
    }
  }
  header->reference_shift = best;
  join_layouts(writer, header, layouts);
  header->reference_bytes = bytes_of_references(layouts, best);
}

static bool write_all(struct layouts_writer *writer, struct packed_header *header,
                      struct packed_layouts *layouts) {
  for (uint32_t i = 0; i < layouts->layouts.count; i++)
    if (!write_bodies(writer, i, intern_get(&layouts->layouts, i)))
      return false;
  const struct words *heads = &writer->heads;
  header->long_width = choose_long_width(heads);
  header->first_width = choose_first_width(heads, header->long_width);
  header->next_width = choose_next_width(heads);
  if (header->next_width > 32)
    return false;
  place_layouts(writer, header, layouts);
  return !layouts->bits.failed;
}

bool packed_write_layouts(const struct safepoints *table, const struct packed_numbers *numbers,
                          struct packed_header *header, struct packed_layouts *layouts) {
  struct layouts_writer writer = {
      .table = table,
      .numbers = numbers,
      .groups = groups_writer_open(),
      .seen = calloc((size_t)table->live.count + 1, sizeof *writer.seen),
      .set_of = calloc((size_t)table->live.count + 1, sizeof *writer.set_of),
  };
  layouts->places = calloc((size_t)layouts->layouts.count + 1, sizeof *layouts->places);
  const bool ok = writer.groups != NULL && writer.seen != NULL && writer.set_of != NULL &&
                  layouts->places != NULL && write_all(&writer, header, layouts);
  groups_writer_close(writer.groups);
  free(writer.seen);
  free(writer.set_of);
  free(writer.live.items);
  free(writer.row_of.items);
  free(writer.locations.items);
  free(writer.bases.items);
  free(writer.heads.items);
  bit_writer_free(&writer.bodies);
  return ok;
}
