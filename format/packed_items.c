/* packed_items.c - what is live at a record: reads a function's layout.
 *
 * A layout says for one function, or for all functions that are alike, how large the frame is,
 * which items (pairs of slots, mostly) occur at any of its records, and which of them at each:
 *
 *   frame size number   as many bits as the table's frame sizes need
 *   sets                gamma: how many distinct live sets there are; 0 ends the layout
 *   locations           gamma: how many; if not 0:
 *     first             the lowest location's number
 *     form (2 bits)     0: the numbers follow each other
 *                       1: gamma (bits of the map less locations), then a bit map from `first` on
 *                       2: each other location's number, ascending
 *     self pairs        1 bit: every location is base and derived of one pair; else a bit for each
 *     derived pairs     gamma: how many; then base and derived of each, as indices of locations
 *   lists               only where the table has lists. gamma: how many; then of each a bit (1: the
 *                       locations of a record that is no statepoint, 0: allocas) and a number
 *   set form            only for 2 sets and more. 1 bit
 *     0: bit maps       a bit per item for each set
 *     1: a tree         6 bits: the directory's field width; the directory: where set 8, 16, ...
 *                       start, and where the last one ends, counted from set 0; then each set: its
 *                       parent (0: the empty set, n: set n - 1), gamma (how many items differ), the
 *                       items' numbers, ascending
 *   sets of records     for each record in turn, the number of its set
 *
 * Items are numbered: self pairs by location, then derived pairs, then lists. A lone set has them
 * all.
 *
 * The reader has no memory to decode a set into, and sets can have any number of items. So it goes
 * through them in windows of 64: a window is a word of the bit map, or all the flips in a set's
 * chain of parents that fall into it, applied to 0.
 */
#include "packed.h"

/* The place of bit n (from 0) of those that are set in bits [at, at + size), counted from `at`. */
static uint32_t select_bit(const uint8_t *bytes, uint64_t at, uint32_t size, uint32_t n) {
  for (uint32_t done = 0; done < size; done += 56) {
    const uint64_t word = bits_at(bytes, at + done, size - done < 56 ? size - done : 56);
    const unsigned ones = bits_count(word);
    if (n < ones)
      return done + bits_select(word, n);
    n -= ones;
  }
  return size;
}

static uint32_t count_ones(const uint8_t *bytes, uint64_t at, uint32_t size) {
  uint32_t count = 0;
  for (uint32_t done = 0; done < size; done += 56)
    count += bits_count(bits_at(bytes, at + done, size - done < 56 ? size - done : 56));
  return count;
}

/* Takes the locations and the pairs of a layout. */
static void take_pairs(struct packed_items *items, struct bit_reader *reader) {
  const struct packed_table *table = items->table;
  items->locations = (uint32_t)bit_reader_gamma(reader);
  if (items->locations == 0)
    return;
  items->first_location = (uint32_t)bit_reader_take(reader, table->location_width);
  items->location_form = (uint8_t)bit_reader_take(reader, 2);
  if (items->location_form == PACKED_BIT_MAP)
    items->run = items->locations + (uint32_t)bit_reader_gamma(reader);
  if (items->run > PACKED_BIT_MAP_MAX)
    reader->bad = true;
  items->locations_at = reader->position;
  if (items->location_form == PACKED_BIT_MAP)
    bit_reader_skip(reader, items->run, 1);
  else if (items->location_form == PACKED_LIST)
    bit_reader_skip(reader, items->locations - 1, table->location_width);
  else if (items->location_form != PACKED_CONTIGUOUS)
    reader->bad = true;
  items->all_selves = (uint8_t)bit_reader_take(reader, 1);
  items->selves_at = reader->position;
  if (items->all_selves) {
    items->selves = items->locations;
  } else {
    bit_reader_skip(reader, items->locations, 1);
    if (!reader->bad)
      items->selves = count_ones(reader->bytes, items->selves_at, items->locations);
  }
  items->derived = (uint32_t)bit_reader_gamma(reader);
  items->derived_width = (uint8_t)bits_for_count(items->locations);
  items->derived_at = reader->position;
  bit_reader_skip(reader, items->derived, 2 * items->derived_width);
}

static void take_lists(struct packed_items *items, struct bit_reader *reader) {
  uint32_t lists = 0;
  if (items->table->list_count > 0)
    lists = (uint32_t)bit_reader_gamma(reader);
  items->lists_at = reader->position;
  bit_reader_skip(reader, lists, 1 + items->table->list_width);
  const uint64_t all = (uint64_t)items->selves + items->derived + lists;
  if (all > PACKED_ITEMS_MAX)
    reader->bad = true;
  items->items = (uint32_t)all;
  items->item_width = (uint8_t)bits_for_count(all);
}

/* A tree's sets, and how to find one. */
struct tree {
  uint64_t directory_at, sets_at, sets_end;
  uint32_t sets;
  unsigned width; /* of a directory entry */
};

/* Takes a tree's directory and passes over its sets. */
static struct tree take_tree(struct bit_reader *reader, uint32_t sets) {
  struct tree tree = {.sets = sets, .width = (unsigned)bit_reader_take(reader, 6)};
  const uint64_t mask = bits_low_mask(PACKED_TREE_PER_SAMPLE_SHIFT);
  const uint64_t entries = (sets + mask) >> PACKED_TREE_PER_SAMPLE_SHIFT;
  tree.directory_at = reader->position;
  bit_reader_skip(reader, entries, tree.width);
  tree.sets_at = reader->position;
  if (reader->bad)
    return tree;
  const uint64_t size =
      bits_at_wide(reader->bytes, tree.directory_at + (entries - 1) * tree.width, tree.width);
  if (bit_reader_has(reader, size))
    reader->position += size;
  tree.sets_end = reader->position;
  return tree;
}

/* Reads the head of set `number`, and returns its parent: 0, or 1 + a set's number. */
static uint32_t tree_set(const struct packed_items *items, const struct tree *tree,
                         struct bit_reader *reader, uint32_t number, struct packed_flips *flips) {
  const uint32_t sample = number >> PACKED_TREE_PER_SAMPLE_SHIFT;
  uint64_t at = tree->sets_at;
  if (sample > 0)
    at += bits_at_wide(reader->bytes, tree->directory_at + (uint64_t)(sample - 1) * tree->width,
                       tree->width);
  if (at > tree->sets_end)
    reader->bad = true;
  if (reader->bad)
    return 0;
  reader->position = at;
  const unsigned parent_width = bits_for_count((uint64_t)tree->sets + 1);
  uint32_t skip = number & (uint32_t)bits_low_mask(PACKED_TREE_PER_SAMPLE_SHIFT);
  for (;;) {
    const uint32_t parent = (uint32_t)bit_reader_take(reader, parent_width);
    const uint32_t count = (uint32_t)bit_reader_gamma(reader);
    if (count > items->items)
      reader->bad = true;
    *flips = (struct packed_flips){.place = reader->position, .left = count};
    bit_reader_skip(reader, count, items->item_width);
    if (parent > tree->sets)
      reader->bad = true;
    if (skip-- == 0 || reader->bad)
      return parent;
  }
}

/* Moves to the next flip of a set, which must be above the one before. */
static void flips_next(struct packed_items *items, struct packed_flips *flips, bool is_first) {
  if (flips->left == 0) {
    flips->next = UINT32_MAX;
    return;
  }
  const uint32_t before = flips->next;
  flips->next = (uint32_t)bits_at(items->table->layouts.bytes, flips->place, items->item_width);
  flips->place += items->item_width;
  flips->left--;
  items->bad |= !is_first && flips->next <= before;
}

/* Collects the flips of a set and its parents. */
static void open_chain(struct packed_items *items, const struct tree *tree,
                       struct bit_reader *reader, uint32_t set) {
  for (uint32_t next = set + 1; next != 0 && !reader->bad;) {
    if (items->depth > PACKED_TREE_DEPTH_MAX) {
      reader->bad = true;
      return;
    }
    struct packed_flips *flips = &items->flips[items->depth++];
    next = tree_set(items, tree, reader, next - 1, flips);
    if (!reader->bad)
      flips_next(items, flips, true);
  }
}

/* The flips of all sets in the chain that fall into the window. A set's items ascend; where they
 * don't, the table is broken, and what is behind its window is passed over. */
static uint64_t flips_in_window(struct packed_items *items) {
  uint64_t window = 0;
  for (unsigned i = 0; i < items->depth; i++) {
    struct packed_flips *flips = &items->flips[i];
    while (flips->next < items->window_start + 64 && flips->next != UINT32_MAX) {
      if (flips->next >= items->window_start && flips->next < items->items)
        window ^= (uint64_t)1 << (flips->next - items->window_start);
      else
        items->bad = true;
      flips_next(items, flips, false);
    }
  }
  return window;
}

static void fill_window(struct packed_items *items) {
  const uint32_t left = items->items - items->window_start;
  const unsigned width = left < 64 ? left : 64;
  if (items->set_form == PACKED_SET_ALL)
    items->window = bits_low_mask(width);
  else if (items->set_form == PACKED_SET_BIT_MAP)
    items->window =
        bits_at_wide(items->table->layouts.bytes, items->set_at + items->window_start, width);
  else
    items->window = flips_in_window(items);
}

void packed_items(struct packed_items *items, const struct packed_record *record) {
  const struct packed_table *table = record->table;
  *items = (struct packed_items){
      .table = table,
      .set_form = PACKED_SET_ALL,
      .left = PACKED_LIVE_ITEMS_MAX,
      .last_self = UINT32_MAX,
      .last_self_at = UINT32_MAX,
  };
  struct bit_reader reader = bit_reader_at(table->layouts, record->layout);
  bit_reader_take(&reader, table->frame_width);
  const uint32_t sets = (uint32_t)bit_reader_gamma(&reader);
  if (sets == 0) {
    items->bad = true;
    return;
  }
  take_pairs(items, &reader);
  take_lists(items, &reader);
  if (sets == 1 && items->items > PACKED_LIVE_ITEMS_MAX)
    reader.bad = true;
  if (sets > 1 && !reader.bad) {
    struct tree tree = {0};
    items->set_form = (uint8_t)bit_reader_take(&reader, 1);
    items->set_at = reader.position;
    if (items->set_form == PACKED_SET_TREE) {
      tree = take_tree(&reader, sets);
      /* Each item is in some set, so some set flips it: a bit at least. */
      if (items->items > tree.sets_end - tree.sets_at)
        reader.bad = true;
    } else {
      bit_reader_skip(&reader, (uint64_t)sets * items->items, 1);
    }
    const unsigned width = bits_for_count(sets);
    bit_reader_skip(&reader, record->position, width);
    const uint32_t set = (uint32_t)bit_reader_take(&reader, width);
    if (set >= sets)
      reader.bad = true;
    if (items->set_form == PACKED_SET_TREE && !reader.bad)
      open_chain(items, &tree, &reader, set);
    else
      items->set_at += (uint64_t)set * items->items;
  }
  items->bad |= reader.bad;
  if (items->bad)
    items->items = 0;
  else
    fill_window(items);
}

/* The number of location `index` of the layout; no location's number if there is none. */
static uint32_t location_number(const struct packed_items *items, uint32_t index) {
  const struct packed_table *table = items->table;
  if (index >= items->locations)
    return UINT32_MAX;
  if (items->location_form == PACKED_CONTIGUOUS)
    return items->first_location + index;
  if (items->location_form == PACKED_BIT_MAP)
    return items->first_location +
           select_bit(table->layouts.bytes, items->locations_at, items->run, index);
  if (index == 0)
    return items->first_location;
  return (uint32_t)bits_at(table->layouts.bytes,
                           items->locations_at + (uint64_t)(index - 1) * table->location_width,
                           table->location_width);
}

static void derived_pair(const struct packed_items *items, uint32_t n, struct packed_item *item) {
  const unsigned width = items->derived_width;
  const uint64_t at = items->derived_at + (uint64_t)n * 2 * width;
  const uint8_t *bytes = items->table->layouts.bytes;
  item->base = location_number(items, (uint32_t)bits_at(bytes, at, width));
  item->derived = location_number(items, (uint32_t)bits_at(bytes, at + width, width));
}

/* The location of self pair `number`, which are asked for in ascending order: so the search goes on
 * from the last one. Before the first, both numbers are -1. */
static uint32_t self_location(struct packed_items *items, uint32_t number) {
  if (items->all_selves)
    return number;
  const uint32_t from = items->last_self_at + 1;
  items->last_self_at = from + select_bit(items->table->layouts.bytes, items->selves_at + from,
                                          items->locations - from, number - items->last_self - 1);
  items->last_self = number;
  return items->last_self_at;
}

/* Fills in item `number` < items->items of the layout. */
static void layout_item(struct packed_items *items, uint32_t number, struct packed_item *item) {
  *item = (struct packed_item){0};
  if (number < items->selves) {
    item->base = item->derived = location_number(items, self_location(items, number));
    return;
  }
  number -= items->selves;
  if (number < items->derived) {
    derived_pair(items, number, item);
    return;
  }
  number -= items->derived;
  const unsigned width = 1 + items->table->list_width;
  const uint64_t bits =
      bits_at(items->table->layouts.bytes, items->lists_at + (uint64_t)number * width, width);
  item->kind = (bits & 1) != 0 ? PACKED_LOCATIONS : PACKED_ALLOCAS;
  item->base = (uint32_t)(bits >> 1);
}

bool packed_items_next(struct packed_items *items, struct packed_item *item) {
  while (items->window == 0) {
    if (items->items <= items->window_start + 64)
      return false;
    items->window_start += 64;
    fill_window(items);
  }
  if (items->left-- == 0) {
    items->bad = true;
    items->items = 0;
    items->window = 0;
    return false;
  }
  const uint32_t number = items->window_start + (uint32_t)__builtin_ctzll(items->window);
  items->window &= items->window - 1;
  layout_item(items, number, item);
  return true;
}

bool packed_is_stackmap(const struct packed_record *record) {
  struct packed_items items;
  struct packed_item item;
  if (record->table->list_count == 0)
    return false;
  packed_items(&items, record);
  while (packed_items_next(&items, &item))
    if (item.kind == PACKED_LOCATIONS)
      return true;
  return false;
}
