/* packed_slots.c - what is live at a record, in a few words: the layouts that nearly all functions
 * have.
 *
 * packed_items.c reads any layout, a location at a time. Here is the short cut for those of at most
 * 56 locations, which are near each other, and no lists: what is known of all locations fits into a
 * register, a bit for each. What nearly all records do, it does without loops and with few branches.
 * Derived references nearly always have one base; then, too, only those that are live are looked at
 * one by one.
 *
 * Hostile bytes: a place in the layouts is checked against their end before it is loaded, and what
 * doesn't fit is left to packed_items.c, which says what is wrong.
 */
#include "packed.h"

enum {
  WORD = 57, /* bits that one load surely has: bits.h */
  LOCATIONS_MAX = PACKED_SLOTS_PAIRS_MAX,
  RUN_MAX = 112,
};

/* Takes fields from the layouts, one behind the other. */
struct fields {
  const struct bit_array *layouts;
  uint64_t place; /* of the lowest bit of word; behind the end if the fields leave the layouts */
  uint64_t word;
  unsigned left; /* bits of word that are to be relied on */
};

static inline uint64_t word_at(const struct bit_array *layouts, uint64_t place) {
  return bits_at(layouts->bytes, place < layouts->size ? place : layouts->size, WORD);
}

static inline void load(struct fields *fields) {
  fields->word = word_at(fields->layouts, fields->place);
  fields->left = WORD;
}

static inline void drop(struct fields *fields, unsigned width) {
  fields->word >>= width;
  fields->place += width;
  fields->left -= width;
}

/* The next `width` <= 57 bits. */
static inline uint64_t take(struct fields *fields, unsigned width) {
  if (fields->left < width)
    load(fields);
  const uint64_t value = fields->word & bits_short_mask(width);
  drop(fields, width);
  return value;
}

/* The next number in Elias's gamma code; UINT32_MAX if it takes more than 17 bits. */
static inline uint64_t take_gamma(struct fields *fields) {
  enum { ZEROS_MAX = 8 };
  if (fields->left < 2 * ZEROS_MAX + 1)
    load(fields);
  const unsigned zeros = (unsigned)__builtin_ctzll(fields->word | (uint64_t)1 << (ZEROS_MAX + 1));
  if (zeros > ZEROS_MAX)
    return UINT32_MAX;
  const uint64_t value =
      (fields->word >> (zeros + 1) & bits_short_mask(zeros)) + bits_short_mask(zeros);
  drop(fields, 2 * zeros + 1);
  return value;
}

/* A layout, as far as it is taken apart. A bit stands for each location, by index. */
struct layout {
  uint64_t form;       /* of the numbers */
  uint64_t map[2];     /* the locations that there are, by number from the first on */
  uint64_t numbers_at; /* in a list */
  unsigned number_width;
  uint64_t selves, derived;     /* those that can be ordinary references, and derived ones */
  uint64_t many;                /* those that have more than the states 0 and 1 */
  bool single;                  /* a derived one has one base */
  uint64_t bases_at, row_width; /* the indices of the bases; bits of a row */
  unsigned locations, base_width;
  /* Of each location that can be derived, if they aren't single: how many bases, and how many bits
   * of a state beyond the lowest. */
  uint8_t counts[LOCATIONS_MAX], more[LOCATIONS_MAX];
};

static inline bool take_locations(const struct packed_table *table, struct fields *fields,
                                  struct layout *layout, struct packed_slots *slots) {
  slots->first = (uint32_t)take(fields, table->location_width);
  const uint64_t form = take(fields, 2);
  uint64_t run = layout->locations; // cppcheck-suppress ctuuninitvar
  layout->form = form;
  layout->map[0] = bits_low_mask(layout->locations);
  layout->map[1] = 0;
  if (form == PACKED_BIT_MAP) {
    run += take_gamma(fields);
    if (run > RUN_MAX)
      return false;
    layout->map[0] = take(fields, run < WORD - 1 ? (unsigned)run : WORD - 1);
    layout->map[1] = take(fields, run < WORD - 1 ? 0 : (unsigned)run - (WORD - 1));
    if (bits_count(layout->map[0]) + bits_count(layout->map[1]) != layout->locations)
      return false;
  } else if (form == PACKED_LIST) {
    layout->numbers_at = fields->place;
    layout->number_width = table->location_width;
    fields->place += (uint64_t)(layout->locations - 1) * table->location_width;
    fields->left = 0;
    run = 1;
  }
  layout->selves = bits_low_mask(layout->locations);
  if (take(fields, 1) == 0)
    layout->selves = take(fields, layout->locations);
  return form <= PACKED_LIST && slots->first + run <= table->first_class_count;
}

/* The numbers of bases, where they differ. */
static bool take_base_counts(struct fields *fields, struct layout *layout, uint64_t *bases) {
  for (uint64_t left = layout->derived; left != 0; left &= left - 1) {
    const unsigned i = (unsigned)__builtin_ctzll(left);
    const uint64_t count = take_gamma(fields) + 1;
    if (count > LOCATIONS_MAX)
      return false;
    layout->counts[i] = (uint8_t)count;
    layout->more[i] = (uint8_t)packed_more_bits(count + (layout->selves >> i & 1));
    layout->many |= (uint64_t)(layout->more[i] > 0) << i;
    layout->row_width += layout->more[i];
    *bases += count;
  }
  return true;
}

static bool take_derived(struct fields *fields, struct layout *layout, bool quick) {
  layout->derived = take(fields, layout->locations);
  layout->base_width = bits_for_count(layout->locations);
  uint64_t bases = 0;
  const unsigned count = bits_quick_count(layout->derived, quick);
  if (fields->left < count)
    load(fields);
  layout->single = (~fields->word & bits_low_mask(count)) == 0; /* all codes are that of 0 */
  if (layout->single) {
    bases = count;
    drop(fields, count);
    layout->many = layout->derived & layout->selves;
    layout->row_width += bits_quick_count(layout->many, quick);
  } else if (!take_base_counts(fields, layout, &bases)) {
    return false;
  }
  layout->bases_at = fields->place;
  fields->place += bases * layout->base_width;
  fields->left = 0;
  return true;
}

static inline unsigned base_count(const struct layout *layout, unsigned i) {
  return layout->single ? 1 : layout->counts[i];
}

static inline unsigned more_bits(const struct layout *layout, unsigned i) {
  return layout->single ? layout->many >> i & 1 : layout->more[i];
}

/* bits_deposit, for maps that are mostly full. */
static inline uint64_t deposit(uint64_t bits, uint64_t map, bool quick) {
  return (map & (map + 1)) == 0 ? bits & map : bits_quick_deposit(bits, map, quick);
}

/* How many numbers the location with an index is above the first one; any number above UINT8_MAX
 * if that is too many. */
static inline uint64_t steps_to(const struct packed_table *table, const struct layout *layout,
                                uint32_t first, unsigned index) {
  if (layout->form == PACKED_CONTIGUOUS || index == 0)
    return index;
  if (layout->form == PACKED_LIST) {
    const uint64_t place = layout->numbers_at + (uint64_t)(index - 1) * layout->number_width;
    const uint64_t number = word_at(&table->layouts, place) & bits_low_mask(layout->number_width);
    return number < table->first_class_count ? number - first : UINT64_MAX;
  }
  const unsigned in_first = bits_count(layout->map[0]);
  return index < in_first ? bits_select(layout->map[0], index)
                          : WORD - 1 + bits_select(layout->map[1], index - in_first);
}

static inline bool add_pair(struct packed_slots *slots, uint64_t base, uint64_t derived) {
  if (slots->pair_count == PACKED_SLOTS_PAIRS_MAX || base > UINT8_MAX || derived > UINT8_MAX)
    return false;
  slots->pairs[slots->pair_count++] = (struct packed_steps){(uint8_t)base, (uint8_t)derived};
  return true;
}

/* Notes the ordinary references: in a word by their numbers, if these are near the first one's. */
static inline bool add_selves(const struct packed_table *table, const struct layout *layout,
                              uint64_t live, struct packed_slots *slots) {
  const bool quick = table->records.quick;
  if (layout->form != PACKED_LIST) {
    const uint64_t near = bits_low_mask(bits_quick_count(layout->map[0], quick));
    slots->selves = deposit(live & near, layout->map[0], quick);
    live &= ~near;
  }
  for (; live != 0; live &= live - 1) {
    const uint64_t steps = steps_to(table, layout, slots->first, (unsigned)__builtin_ctzll(live));
    if (!add_pair(slots, steps, steps))
      return false;
  }
  return true;
}

/* A live set. */
struct set {
  uint64_t row;       /* the lowest bit of each location's state */
  uint64_t states_at; /* the other bits */
  uint64_t flips;     /* locations of two states that are in the other one */
  uint64_t changed;   /* locations of more states that are in another one: states[] */
  uint8_t states[LOCATIONS_MAX];
};

/* Finds a set that is written as a row. */
static inline bool find_row(struct fields *fields, const struct layout *layout, uint64_t sets,
                            uint32_t position, struct set *set) {
  const unsigned width = bits_for_count(sets);
  const uint64_t number_at = fields->place + sets * layout->row_width + (uint64_t)position * width;
  const uint64_t number = word_at(fields->layouts, number_at) & bits_low_mask(width);
  const uint64_t row_at = fields->place + number * layout->row_width;
  set->row = word_at(fields->layouts, row_at);
  set->states_at = row_at + layout->locations;
  fields->place = number_at + width;
  return number < sets;
}

/* Takes the indices of changed locations; returns a bit for each. */
static uint64_t take_numbers(const struct fields *fields, const struct layout *layout,
                             uint64_t *place) {
  struct fields numbers = {.layouts = fields->layouts, .place = *place};
  const unsigned width = bits_for_count(layout->locations);
  uint64_t changed = 0;
  for (uint64_t left = take_gamma(&numbers); left > 0 && left <= LOCATIONS_MAX; left--)
    changed |= (uint64_t)1 << take(&numbers, width);
  *place = numbers.place;
  return changed;
}

/* Passes over the new states of the locations in `changed`, and notes those that aren't known. */
static uint64_t take_changes(const struct fields *fields, const struct layout *layout,
                             uint64_t place, uint64_t changed, struct set *set) {
  for (uint64_t left = changed & layout->many; left != 0; left &= left - 1) {
    const unsigned i = (unsigned)__builtin_ctzll(left), width = 1 + more_bits(layout, i);
    if (set != NULL && (set->changed >> i & 1) == 0)
      set->states[i] = (uint8_t)(word_at(fields->layouts, place) & bits_low_mask(width));
    place += width;
  }
  if (set != NULL) {
    set->flips ^= changed & ~layout->many;
    set->changed |= changed & layout->many;
  }
  return place;
}

/* Finds a set that is written as changes, by going up to the row from which they start. */
static bool find_changes(struct fields *fields, const struct layout *layout, uint64_t sets,
                         uint32_t position, struct set *set) {
  const uint64_t in_sample = bits_low_mask(PACKED_CHANGES_PER_SAMPLE_SHIFT);
  const uint64_t entries = (sets + in_sample) >> PACKED_CHANGES_PER_SAMPLE_SHIFT;
  const bool are_numbers = take(fields, 1) != 0;
  const unsigned width = (unsigned)take(fields, 6), number_width = bits_for_count(sets);
  const unsigned parent_width = bits_for_count(sets + 1);
  const uint64_t directory = fields->place, start = directory + entries * width;
  if (width > 32)
    return false;
  const uint64_t size =
      word_at(fields->layouts, directory + (entries - 1) * width) & bits_low_mask(width);
  fields->place = start + size + (uint64_t)position * number_width;
  fields->left = 0;
  uint64_t number = take(fields, number_width);
  for (unsigned depth = 0; depth <= PACKED_DEPTH_MAX && number < sets; depth++) {
    const uint64_t sample = number >> PACKED_CHANGES_PER_SAMPLE_SHIFT;
    uint64_t place = start;
    if (sample > 0)
      place += word_at(fields->layouts, directory + (sample - 1) * width) & bits_low_mask(width);
    for (uint64_t skip = number & in_sample;; skip--) {
      const uint64_t parent = word_at(fields->layouts, place) & bits_low_mask(parent_width);
      place += parent_width;
      if (place > start + size)
        return false;
      if (parent == 0) {
        set->row = word_at(fields->layouts, place);
        set->states_at = place + layout->locations;
        place += layout->row_width;
        if (skip == 0)
          return place <= start + size;
        continue;
      }
      uint64_t changed = word_at(fields->layouts, place) & bits_low_mask(layout->locations);
      if (are_numbers)
        changed = take_numbers(fields, layout, &place);
      else
        place += layout->locations;
      place = take_changes(fields, layout, place, changed, skip == 0 ? set : NULL);
      if (skip == 0) {
        number = parent - 1;
        break;
      }
    }
  }
  return false;
}

/* Notes a location that is derived from base number `base` of the layout. */
static inline bool add_derived(const struct packed_table *table, const struct layout *layout,
                               unsigned i, uint64_t base, struct packed_slots *slots) {
  const uint64_t place = layout->bases_at + base * layout->base_width;
  const uint64_t index = word_at(&table->layouts, place) & bits_low_mask(layout->base_width);
  return index < layout->locations &&
         add_pair(slots, steps_to(table, layout, slots->first, (unsigned)index),
                  steps_to(table, layout, slots->first, i));
}

/* The state of a location that can be derived; the rest of the row is taken on the way. */
static inline unsigned state_of(const struct layout *layout, const struct set *set, unsigned i,
                                struct fields *rest) {
  const unsigned lowest = (set->row ^ set->flips) >> i & 1;
  const unsigned others = (unsigned)take(rest, more_bits(layout, i));
  return (set->changed >> i & 1) != 0 ? set->states[i] : lowest | others << 1;
}

/* Goes through the locations that can be derived, notes those that are, and leaves in *live the
 * ordinary references. */
static bool find_derived(const struct packed_table *table, const struct layout *layout,
                         const struct set *set, uint64_t *live, struct packed_slots *slots) {
  struct fields rest = {.layouts = &table->layouts, .place = set->states_at};
  uint64_t bases = 0;
  for (uint64_t left = layout->derived; left != 0; left &= left - 1) {
    const unsigned i = (unsigned)__builtin_ctzll(left);
    const unsigned is_self = layout->selves >> i & 1;
    const unsigned state = state_of(layout, set, i, &rest);
    *live &= ~((uint64_t)1 << i);
    if (state > base_count(layout, i) + is_self)
      return false;
    if (state == 1 && is_self)
      *live |= (uint64_t)1 << i;
    else if (state != 0 && !add_derived(table, layout, i, bases + state - 1 - is_self, slots))
      return false;
    bases += base_count(layout, i);
  }
  return true;
}

/* The same for layouts in which a derived location has one base, and sets that are rows. A location
 * that can be either has two bits: 0 0 not live, 1 0 an ordinary reference, 0 1 derived. */
static bool find_single(const struct packed_table *table, const struct layout *layout,
                        const struct set *set, uint64_t *live, struct packed_slots *slots) {
  const bool quick = table->records.quick;
  const uint64_t others = word_at(&table->layouts, set->states_at) &
                          bits_low_mask(bits_quick_count(layout->many, quick));
  const uint64_t second = others == 0 ? 0 : bits_quick_deposit(others, layout->many, quick);
  if ((second & set->row) != 0)
    return false;
  for (uint64_t left = second | (*live & ~layout->selves); left != 0; left &= left - 1) {
    const unsigned i = (unsigned)__builtin_ctzll(left);
    const uint64_t base = bits_quick_count(layout->derived & bits_low_mask(i), quick);
    if (!add_derived(table, layout, i, base, slots))
      return false;
  }
  *live &= layout->selves;
  return true;
}

bool packed_slots(const struct packed_record *record, struct packed_slots *slots) {
  const struct packed_table *table = record->table;
  struct fields fields = {.layouts = &table->layouts, .place = record->layout};
  struct layout layout;
  struct set set;
  take(&fields, table->frame_width);
  const uint64_t sets = take_gamma(&fields);
  layout.locations = (unsigned)take_gamma(&fields);
  layout.row_width = layout.locations;
  layout.derived = layout.many = layout.numbers_at = layout.bases_at = 0;
  layout.single = false;
  layout.number_width = layout.base_width = 0;
  slots->selves = slots->pair_count = 0;
  if (sets == 0 || sets > UINT16_MAX || layout.locations > LOCATIONS_MAX || table->list_count > 0)
    return false;
  if (layout.locations == 0)
    return sets == 1 && fields.place <= table->layouts.size;
  if (!take_locations(table, &fields, &layout, slots))
    return false;
  if (take(&fields, 1) != 0 && !take_derived(&fields, &layout, table->records.quick))
    return false;
  set.flips = set.changed = 0;
  if (sets == 1) { /* all are in state 1 */
    if (layout.many != 0)
      return false;
    set.row = UINT64_MAX;
    set.states_at = 0;
  } else if (take(&fields, 1) == PACKED_SET_ROWS) {
    if (!find_row(&fields, &layout, sets, record->position, &set))
      return false;
  } else if (!find_changes(&fields, &layout, sets, record->position, &set)) {
    return false;
  }
  uint64_t live = (set.row ^ set.flips) & (layout.selves | layout.derived);
  if (layout.derived != 0 && layout.single && set.changed == 0) {
    if (!find_single(table, &layout, &set, &live, slots))
      return false;
  } else if (layout.derived != 0 && !find_derived(table, &layout, &set, &live, slots)) {
    return false;
  }
  return add_selves(table, &layout, live, slots) && fields.place <= table->layouts.size;
}
