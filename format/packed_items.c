/* packed_items.c - what is live at a record: reads a function's layout.
 *
 * A layout says for one function, or for all functions that are alike, how large the frame is,
 * which locations (spill slots, mostly) are in the pairs of any of its records, and what each of
 * them is at each record. At one record a location holds one value, if any: an ordinary reference
 * (base and derived of a pair of its own), or a reference derived from one of some bases. So every
 * location is in one of a few states, and a live set is a row of states:
 *
 *   frame size number   bits.h's code of small numbers, as the next two and `first`
 *   sets less 1         how many distinct live sets there are
 *   locations           how many; if not 0:
 *     derived           1 bit: whether any can be a derived reference
 *     first             the lowest location's number
 *     form              0: the numbers follow each other
 *                       10: gamma (bits of the map less locations), then a bit map from `first` on
 *                       11: each other location's number, ascending
 *     states            only if any is derived. A bit for each location: whether it can be an
 *                       ordinary reference. Then for each location a 1 for each state that it can be
 *                       in, above the first one, and a 0. Then the bases, location by location: each
 *                       is one of the locations that can be ordinary references, by its number
 *                       among these (in a layout of very many locations: among all)
 *   lists               only where the table has lists. gamma: how many; then of each a bit (1: the
 *                       locations of a record that is no statepoint, 0: allocas) and a number
 *   set form            only for 2 sets and more. 1 bit
 *     0: rows           a row for each set
 *     1: changes        1 bit: how changed locations are written (0: bit maps, 1: numbers); 6 bits:
 *                       the directory's field width; the directory: where set 8, 16, ... start (with
 *                       more than 56 locations: set 2, 4, ...), and where the last one ends, counted
 *                       from set 0; then each set: its parent (0:
 *                       none, n: set n - 1), and a row or, with a parent, the changes
 *   sets of records     for each record in turn, the number of its set: that of record n is at most
 *                       n, and takes no more bits than n does
 *
 * State 0 is "not live". State 1 is the ordinary reference, if the location can be one; the bases
 * follow. The lists are the states of one location more, behind the last one. A state takes
 * bits_for(n + 1) bits where there are n states above 0, and at least 1. A row has planes: first the
 * lowest bit of each state, which for most layouts is all; then the next bit of those that have one
 * more, and so on. Changes are, first, the
 * locations whose states are other ones than in the parent: a bit for each location, or gamma (how
 * many) and their indices, ascending; then the new states of those of them that have more than the
 * states 0 and 1. A lone set isn't written: in it, every location has state 1.
 *
 * The reader has no memory to decode a set into, and sets can be of any size. So it goes through the
 * locations one by one, with a place in each of the parts that it reads along: the sets of the chain
 * of parents are read side by side.
 */
#include "format/packed.h"

/* The place of bit n (from 0) of those that are set in bits [at, at + size), counted from `at`. */
static uint32_t select_bit(const uint8_t *bytes, uint64_t at, uint32_t size, uint32_t n,
                           bool quick) {
  for (uint32_t done = 0; done < size; done += 56) {
    const uint64_t word = bits_at(bytes, at + done, size - done < 56 ? size - done : 56);
    const unsigned ones = bits_quick_count(word, quick);
    if (n < ones)
      return done + bits_quick_select(word, n, quick);
    n -= ones;
  }
  return size;
}

static bool bit_at(const struct packed_items *items, uint64_t place) {
  return bits_at(items->table->layouts.bytes, place, 1) != 0;
}

/* ---- The parts of a layout ---- */

/* Takes the locations' numbers. */
static void take_locations(struct packed_items *items, struct bit_reader *reader) {
  const struct packed_table *table = items->table;
  const uint64_t first = bit_reader_small(reader, table->first_parameter);
  items->first_location = first < UINT32_MAX ? (uint32_t)first : UINT32_MAX;
  items->location_form = PACKED_CONTIGUOUS;
  if (bit_reader_take(reader, 1) != 0)
    items->location_form = bit_reader_take(reader, 1) != 0 ? PACKED_LIST : PACKED_BIT_MAP;
  if (items->location_form == PACKED_BIT_MAP)
    items->run = items->locations + (uint32_t)bit_reader_gamma(reader);
  if (items->run > PACKED_BIT_MAP_MAX || first > UINT32_MAX)
    reader->bad = true;
  items->locations_at = reader->position;
  if (items->location_form == PACKED_BIT_MAP)
    bit_reader_skip(reader, items->run, 1);
  else if (items->location_form == PACKED_LIST)
    bit_reader_skip(reader, items->locations - 1, table->location_width);
}

/* Takes a number of 1s, and the 0 behind them: of very many, or where the table ends. */
static uint32_t take_long_unary(struct bit_reader *reader) {
  enum { WORD = 57 };
  uint32_t count = 0;
  for (;;) {
    const unsigned ones =
        reader->bad ? 0
                    : (unsigned)__builtin_ctzll(~bits_at(reader->bytes, reader->position, WORD));
    count += ones;
    reader->bad |= count > PACKED_LOCATIONS_MAX;
    bit_reader_skip(reader, ones < WORD ? ones + 1 : ones, 1);
    if (ones < WORD)
      return count;
  }
}

/* The same. Most are few. */
static inline uint32_t take_unary(struct bit_reader *reader) {
  enum { FEW = 32 };
  if (reader->end - reader->position <= FEW)
    return take_long_unary(reader);
  const unsigned ones = (unsigned)__builtin_ctzll(~bits_at(reader->bytes, reader->position, FEW));
  if (ones == FEW)
    return take_long_unary(reader);
  reader->position += ones + 1;
  return ones;
}

/* Moves to the next location, and returns how many states above 0 it has. */
static inline uint32_t next_states(const struct packed_items *items,
                                   struct packed_location_states *location) {
  const uint32_t index = location->index++;
  location->bases += location->base_count;
  location->is_self = !items->any_derived || bit_at(items, items->selves_at + index);
  const uint32_t states = items->any_derived ? 1 + take_unary(&location->counts) : 1;
  location->base_count = states - location->is_self;
  return states;
}

/* Counts the bits that a location's state has in each plane of a row. */
static void count_planes(struct packed_items *items, uint32_t states) {
  const unsigned width = packed_state_width(states);
  for (unsigned plane = 0; plane < width; plane++)
    items->planes[plane]++;
  items->row_width += width;
}

/* Takes how many states each location has, and how many bits of the states are in each plane. */
static void take_counts(struct packed_items *items, struct packed_location_states *location) {
  uint32_t widths[PACKED_PLANES_MAX + 1] = {0}; /* how many states take so many bits */
  for (uint32_t i = 0; i < items->locations && !location->counts.bad; i++) {
    const uint32_t states = next_states(items, location);
    if (states > PACKED_LOCATIONS_MAX)
      location->counts.bad = true;
    else
      widths[packed_state_width(states)]++;
  }
  uint32_t wider = 0;
  items->row_width = 0;
  for (unsigned plane = PACKED_PLANES_MAX; plane-- > 0;) {
    wider += widths[plane + 1];
    items->planes[plane] = wider;
    items->row_width += wider;
  }
}

/* How many of some bits are 1. */
static uint32_t count_bits(const uint8_t *bytes, uint64_t at, uint32_t size, bool quick) {
  uint32_t count = 0;
  for (uint32_t done = 0; done < size; done += 56)
    count +=
        bits_quick_count(bits_at(bytes, at + done, size - done < 56 ? size - done : 56), quick);
  return count;
}

/* Takes which states the locations have, if any is derived. */
static void take_states(struct packed_items *items, struct bit_reader *reader) {
  items->selves_at = reader->position;
  bit_reader_skip(reader, items->locations, 1);
  if (reader->bad)
    return;
  const uint32_t bases =
      packed_bases_are_selves(items->locations)
          ? count_bits(reader->bytes, items->selves_at, items->locations, items->table->quick)
          : items->locations;
  items->start.counts = *reader;
  struct packed_location_states location = items->start;
  take_counts(items, &location);
  *reader = location.counts;
  items->base_width = (uint8_t)bits_for_count(bases);
  items->bases_at = reader->position;
  bit_reader_skip(reader, location.bases + location.base_count, items->base_width);
}

static void take_lists(struct packed_items *items, struct bit_reader *reader) {
  if (items->table->list_count > 0)
    items->lists = (uint32_t)bit_reader_gamma(reader);
  items->lists_at = reader->position;
  bit_reader_skip(reader, items->lists, 1 + items->table->list_width);
  if (items->lists > 0 && !reader->bad)
    count_planes(items, items->lists);
}

/* ---- Sets ---- */

/* The changes between sets: the directory, and where the sets are. */
struct changes {
  uint64_t directory_at, sets_at, sets_end;
  uint32_t sets;
  unsigned width; /* of a directory entry */
};

/* Takes the directory and passes over the sets. */
static struct changes take_changes(struct bit_reader *reader, uint32_t sets) {
  struct changes changes = {.sets = sets, .width = (unsigned)bit_reader_take(reader, 6)};
  const uint64_t entries =
      (sets + bits_low_mask(PACKED_CHANGES_PER_SAMPLE_SHIFT)) >> PACKED_CHANGES_PER_SAMPLE_SHIFT;
  changes.directory_at = reader->position;
  bit_reader_skip(reader, entries, changes.width);
  changes.sets_at = reader->position;
  if (reader->bad)
    return changes;
  const uint64_t size = bits_at_wide(
      reader->bytes, changes.directory_at + (entries - 1) * changes.width, changes.width);
  if (bit_reader_has(reader, size))
    reader->position += size;
  changes.sets_end = reader->position;
  return changes;
}

/* How many locations have states: those of the lists are one more. */
static uint32_t all_locations(const struct packed_items *items) {
  return items->locations + (items->lists > 0);
}

static uint32_t next_of_all(const struct packed_items *items,
                            struct packed_location_states *location) {
  return location->index < items->locations ? next_states(items, location) : items->lists;
}

/* Moves to the next changed location, which must be above the one before. False where it isn't. */
static bool next_changed(const struct packed_items *items, struct packed_set *set, bool is_first) {
  const uint32_t before = set->next;
  if (set->left == 0) {
    set->next = UINT32_MAX;
    return true;
  }
  set->left--;
  set->next = (uint32_t)bits_at(items->table->layouts.bytes, set->bits_at, items->number_width);
  set->bits_at += items->number_width;
  return set->next < all_locations(items) && (is_first || set->next > before);
}

/* Whether a set's changes have location `index`, which goes up from call to call. */
static inline bool is_changed(struct packed_items *items, struct packed_set *set, uint32_t index) {
  if (!items->are_numbers)
    return bit_at(items, set->bits_at + index);
  if (set->next != index)
    return false;
  items->bad |= !next_changed(items, set, false);
  return true;
}

/* Takes changes, but for the new states: *set is before the first location. */
static void take_changed(struct packed_items *items, struct bit_reader *reader,
                         struct packed_set *set) {
  set->left = items->are_numbers ? (uint32_t)bit_reader_gamma(reader) : 0;
  set->bits_at = reader->position;
  if (items->are_numbers)
    bit_reader_skip(reader, set->left, items->number_width);
  else
    bit_reader_skip(reader, all_locations(items), 1);
  set->states_at = reader->position;
  if (items->are_numbers && !reader->bad && !next_changed(items, set, true))
    reader->bad = true;
}

/* Passes over the new states of a set's changes. */
static void skip_states(struct packed_items *items, struct bit_reader *reader,
                        struct packed_set set) {
  struct packed_location_states location = items->start;
  uint64_t width = 0;
  if (!items->any_derived && items->lists < 2)
    return;
  const uint32_t locations = all_locations(items);
  for (uint32_t i = 0; i < locations && (!items->are_numbers || set.next < locations); i++) {
    const uint32_t states = next_of_all(items, &location);
    if (is_changed(items, &set, i) && states > 1)
      width += packed_state_width(states);
  }
  bit_reader_skip(reader, width, 1);
}

/* Finds set `number`, and returns its parent: 0, or 1 + a set's number. */
static uint32_t find_set(struct packed_items *items, const struct changes *changes,
                         struct bit_reader *reader, uint32_t number, struct packed_set *set) {
  const uint32_t sample = number >> PACKED_CHANGES_PER_SAMPLE_SHIFT;
  const unsigned parent_width = bits_for_count((uint64_t)changes->sets + 1);
  uint32_t skip = number & (uint32_t)bits_low_mask(PACKED_CHANGES_PER_SAMPLE_SHIFT);
  uint64_t at = changes->sets_at;
  if (sample > 0)
    at +=
        bits_at_wide(reader->bytes, changes->directory_at + (uint64_t)(sample - 1) * changes->width,
                     changes->width);
  if (at > changes->sets_end || reader->bad) {
    reader->bad = true;
    return 0;
  }
  reader->position = at;
  for (;;) {
    const uint32_t parent = (uint32_t)bit_reader_take(reader, parent_width);
    if (parent == 0) {
      *set = (struct packed_set){.bits_at = reader->position};
      bit_reader_skip(reader, items->row_width, 1);
    } else {
      take_changed(items, reader, set);
      if (!reader->bad && skip > 0)
        skip_states(items, reader, *set);
    }
    if (parent > changes->sets)
      reader->bad = true;
    reader->bad |= items->bad;
    if (skip-- == 0 || reader->bad)
      return parent;
  }
}

/* Finds a set and its parents. */
static void open_chain(struct packed_items *items, const struct changes *changes,
                       struct bit_reader *reader, uint32_t number) {
  for (uint32_t next = number + 1; next != 0 && !reader->bad;) {
    if (items->depth > PACKED_DEPTH_MAX) {
      reader->bad = true;
      return;
    }
    next = find_set(items, changes, reader, next - 1, &items->sets[items->depth++]);
  }
}

/* Takes the sets, and finds the one of the record. */
static void take_sets(struct packed_items *items, struct bit_reader *reader, uint32_t sets,
                      uint32_t position) {
  struct changes changes = {0};
  const bool has_changes = bit_reader_take(reader, 1) == PACKED_SET_CHANGES;
  const uint64_t rows_at = reader->position;
  if (has_changes) {
    items->are_numbers = bit_reader_take(reader, 1) != 0;
    items->number_width = (uint8_t)bits_for_count(all_locations(items));
    changes = take_changes(reader, sets);
  } else {
    bit_reader_skip(reader, (uint64_t)sets * items->row_width, 1);
  }
  items->set_numbers_at = reader->position;
  const struct packed_set_number field = packed_set_number(sets, position);
  bit_reader_skip(reader, field.at, 1);
  const uint32_t number = (uint32_t)bit_reader_take(reader, field.width);
  if (number >= sets)
    reader->bad = true;
  if (has_changes) {
    open_chain(items, &changes, reader, number);
  } else {
    const uint64_t row_at = rows_at + number * items->row_width;
    items->depth = 1;
    items->sets[0] = (struct packed_set){.bits_at = row_at};
  }
}

/* Finds the set of the record at a position, in a layout of several. */
static void take_set(struct packed_items *items, uint32_t position) {
  struct bit_reader reader = bit_reader_at(items->table->layouts, items->sets_at);
  take_sets(items, &reader, items->set_count, position);
  items->bad |= reader.bad;
}

/* Makes of each plane's size in bits where in a row it starts. */
static void start_planes(struct packed_items *items) {
  uint32_t start = 0;
  for (unsigned plane = 0; plane < PACKED_PLANES_MAX; plane++) {
    const uint32_t size = items->planes[plane];
    items->planes[plane] = start;
    start += size;
  }
}

void packed_items(struct packed_items *items, const struct packed_record *record) {
  *items = (struct packed_items){.table = record->table, .left = PACKED_LIVE_ITEMS_MAX};
  struct bit_reader reader = bit_reader_at(record->table->layouts, record->layout);
  bit_reader_small(&reader, record->table->frame_parameter);
  const uint64_t more_sets = bit_reader_small(&reader, record->table->sets_parameter);
  const uint64_t locations = bit_reader_small(&reader, record->table->locations_parameter);
  reader.bad |= more_sets >= PACKED_SETS_MAX || locations > PACKED_LOCATIONS_MAX;
  items->set_count = reader.bad ? 1 : (uint32_t)more_sets + 1;
  items->locations = reader.bad ? 0 : (uint32_t)locations;
  items->planes[0] = items->locations;
  items->row_width = items->locations;
  if (items->locations > 0) {
    items->any_derived = bit_reader_take(&reader, 1) != 0;
    take_locations(items, &reader);
    if (items->any_derived && !reader.bad)
      take_states(items, &reader);
  }
  take_lists(items, &reader);
  start_planes(items);
  items->sets_at = reader.position;
  items->bad |= reader.bad;
  items->location = items->start;
  if (items->set_count > 1 && !reader.bad)
    take_set(items, record->position);
}

void packed_items_of(struct packed_items *items, const struct packed_items *other,
                     uint32_t position) {
  *items = *other;
  items->depth = 0;
  if (items->set_count > 1 && !items->bad)
    take_set(items, position);
}

uint32_t packed_items_set(const struct packed_items *items, uint32_t position) {
  const struct packed_set_number field = packed_set_number(items->set_count, position);
  struct bit_reader reader = bit_reader_at(items->table->layouts, items->set_numbers_at);
  bit_reader_skip(&reader, field.at, 1);
  const uint32_t number = (uint32_t)bit_reader_take(&reader, field.width);
  return reader.bad ? items->set_count : number;
}

/* ---- The items of a set ---- */

/* The next location's state in a row, whose `width` bits stand in as many planes. */
static uint32_t state_in_row(struct packed_items *items, uint64_t row_at, unsigned width) {
  uint32_t state = 0;
  for (unsigned plane = 0; plane < width; plane++)
    state |= (uint32_t)bit_at(items, row_at + items->planes[plane]++) << plane;
  return state;
}

/* The state that a location has in the record's set, of `states` above 0. It is changed nearest to
 * the set, or stands in the row at the chain's end. */
static uint32_t state_of(struct packed_items *items, uint32_t index, uint32_t states) {
  const unsigned width = packed_state_width(states);
  uint32_t state = 0, flips = 0;
  bool is_known = false;
  if (items->depth == 0)
    return 1;
  for (unsigned i = 0; i + 1 < items->depth; i++) {
    struct packed_set *set = &items->sets[i];
    const bool changed = is_changed(items, set, index);
    flips ^= changed;
    if (!changed || width == 1)
      continue;
    if (set->states_at + width > items->table->layouts.size) {
      items->bad = true;
      return 0;
    }
    if (!is_known)
      state = (uint32_t)bits_at(items->table->layouts.bytes, set->states_at, width);
    is_known = true;
    set->states_at += width;
  }
  const uint32_t in_row = state_in_row(items, items->sets[items->depth - 1].bits_at, width);
  return is_known ? state : width == 1 ? in_row ^ flips : in_row;
}

/* The number of location `index` of the layout; no location's number if there is none. */
static uint32_t location_number(const struct packed_items *items, uint64_t index) {
  const struct packed_table *table = items->table;
  if (index >= items->locations)
    return UINT32_MAX;
  if (items->location_form == PACKED_CONTIGUOUS)
    return items->first_location + (uint32_t)index;
  if (items->location_form == PACKED_BIT_MAP)
    return items->first_location + select_bit(table->layouts.bytes, items->locations_at, items->run,
                                              (uint32_t)index, table->quick);
  if (index == 0)
    return items->first_location;
  return (uint32_t)bits_at(table->layouts.bytes,
                           items->locations_at + (index - 1) * table->location_width,
                           table->location_width);
}

/* Fills in the list of number `state` - 1. */
static void list_item(const struct packed_items *items, uint32_t state, struct packed_item *item) {
  const unsigned width = 1 + items->table->list_width;
  const uint64_t bits =
      bits_at(items->table->layouts.bytes, items->lists_at + (uint64_t)(state - 1) * width, width);
  *item = (struct packed_item){.kind = (bits & 1) != 0 ? PACKED_LOCATIONS : PACKED_ALLOCAS,
                               .base = (uint32_t)(bits >> 1)};
}

/* Fills in the pair that a location is in, by its state. */
static void pair_item(const struct packed_items *items, uint32_t index, uint32_t state,
                      struct packed_item *item) {
  const struct packed_location_states *location = &items->location;
  *item = (struct packed_item){.kind = PACKED_PAIR, .derived = location_number(items, index)};
  item->base = item->derived;
  if (location->is_self && state == 1)
    return;
  const struct packed_table *table = items->table;
  const uint64_t number = location->bases + state - 1 - location->is_self;
  uint32_t base = (uint32_t)bits_at(
      table->layouts.bytes, items->bases_at + number * items->base_width, items->base_width);
  if (packed_bases_are_selves(items->locations))
    base = select_bit(table->layouts.bytes, items->selves_at, items->locations, base, table->quick);
  item->base = location_number(items, base);
}

bool packed_items_next(struct packed_items *items, struct packed_item *item) {
  while (!items->bad && items->next < all_locations(items)) {
    const uint32_t index = items->next++;
    const bool is_list = index == items->locations;
    const uint32_t states = is_list ? items->lists : next_states(items, &items->location);
    const uint32_t state = state_of(items, index, states);
    if (state == 0)
      continue;
    if (items->bad || state > states || items->left-- == 0) {
      items->bad = true;
      return false;
    }
    if (is_list)
      list_item(items, state, item);
    else
      pair_item(items, index, state, item);
    return true;
  }
  return false;
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
