/* packed_slots.c - what is live at a record, in a few words: the layouts that nearly all functions
 * have.
 *
 * packed_items.c reads any layout, a location at a time. Here is the short cut for those of at most
 * 56 locations and no lists: what is known of all locations fits into a register, a bit for each. What nearly all records do, it does without loops and with few
 * branches; only derived references are looked at one by one.
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
  const uint64_t value = fields->word & bits_low_mask(width);
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
      (fields->word >> (zeros + 1) & bits_low_mask(zeros)) + bits_low_mask(zeros);
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
  uint64_t bases_at, row_width; /* the indices of the bases; bits of a row */
  unsigned locations, base_width;
  /* Of each location that can be derived: how many bases, and how many bits of a state beyond the
   * lowest. */
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

static bool take_derived(struct fields *fields, struct layout *layout) {
  uint64_t bases = 0;
  layout->derived = take(fields, layout->locations);
  layout->base_width = bits_for_count(layout->locations);
  for (uint64_t left = layout->derived; left != 0; left &= left - 1) {
    const unsigned i = (unsigned)__builtin_ctzll(left);
    const uint64_t count = take_gamma(fields) + 1;
    if (count > LOCATIONS_MAX)
      return false;
    layout->counts[i] = (uint8_t)count;
    layout->more[i] = (uint8_t)packed_more_bits(count + (layout->selves >> i & 1));
    layout->many |= (uint64_t)(layout->more[i] > 0) << i;
    layout->row_width += layout->more[i];
    bases += count;
  }
  layout->bases_at = fields->place;
  fields->place += bases * layout->base_width;
  fields->left = 0;
  return true;
}

/* Moves the low bits of a word to the places of the 1s in `map`, in order. */
static inline uint64_t deposit(uint64_t bits, uint64_t map) {
  if ((map & (map + 1)) == 0)
    return bits;
  uint64_t result = 0;
  for (; bits != 0; bits >>= 1, map &= map - 1)
    result |= bits & 1 ? map & -map : 0;
  return result;
}

/* The number of the location with an index. */
static inline uint32_t number_of(const struct bit_array *layouts, const struct layout *layout,
                                 uint32_t first, unsigned index) {
  if (layout->form == PACKED_CONTIGUOUS || index == 0)
    return first + index;
  if (layout->form == PACKED_LIST)
    return (uint32_t)(word_at(layouts,
                              layout->numbers_at + (uint64_t)(index - 1) * layout->number_width) &
                      bits_low_mask(layout->number_width));
  const unsigned in_first = bits_count(layout->map[0]);
  return first + (index < in_first ? bits_select(layout->map[0], index)
                                   : WORD - 1 + bits_select(layout->map[1], index - in_first));
}

static inline bool add_pair(struct packed_slots *slots, uint32_t base, uint32_t derived) {
  if (slots->pair_count == PACKED_SLOTS_PAIRS_MAX)
    return false;
  slots->pairs[slots->pair_count++] = (struct packed_slots_pair){base, derived};
  return true;
}

/* Notes the ordinary references: in a word by their numbers, if these are near the first one's. */
static inline bool add_selves(const struct bit_array *layouts, const struct layout *layout,
                              uint64_t live, struct packed_slots *slots) {
  if (layout->form != PACKED_LIST) {
    const uint64_t near = bits_low_mask(bits_count(layout->map[0]));
    slots->selves = deposit(live & near, layout->map[0]);
    live &= ~near;
  }
  for (; live != 0; live &= live - 1) {
    const uint32_t number =
        number_of(layouts, layout, slots->first, (unsigned)__builtin_ctzll(live));
    if (!add_pair(slots, number, number))
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
    const unsigned i = (unsigned)__builtin_ctzll(left), width = 1 + layout->more[i];
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

/* The state of a location that can be derived; *states_at moves along the row. */
static inline unsigned state_of(const struct bit_array *layouts, const struct layout *layout,
                                const struct set *set, unsigned i, uint64_t *states_at) {
  const unsigned more = layout->more[i];
  const unsigned lowest = (set->row ^ set->flips) >> i & 1;
  const unsigned others = (unsigned)(word_at(layouts, *states_at) & bits_low_mask(more));
  *states_at += more;
  return (set->changed >> i & 1) != 0 ? set->states[i] : lowest | others << 1;
}

/* Goes through the locations that can be derived, notes those that are, and leaves in *live the
 * ordinary references. */
static bool find_derived(const struct bit_array *layouts, const struct layout *layout,
                         const struct set *set, uint64_t *live, struct packed_slots *slots) {
  uint64_t bases = 0, states_at = set->states_at;
  for (uint64_t left = layout->derived; left != 0; left &= left - 1) {
    const unsigned i = (unsigned)__builtin_ctzll(left);
    const unsigned is_self = layout->selves >> i & 1;
    const unsigned state = state_of(layouts, layout, set, i, &states_at);
    *live &= ~((uint64_t)1 << i);
    if (state > layout->counts[i] + is_self)
      return false;
    if (state == 1 && is_self) {
      *live |= (uint64_t)1 << i;
    } else if (state != 0) {
      const uint64_t place = layout->bases_at + (bases + state - 1 - is_self) * layout->base_width;
      const uint64_t base = word_at(layouts, place) & bits_low_mask(layout->base_width);
      if (base >= layout->locations ||
          !add_pair(slots, number_of(layouts, layout, slots->first, (unsigned)base),
                    number_of(layouts, layout, slots->first, i)))
        return false;
    }
    bases += layout->counts[i];
  }
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
  layout.derived = layout.many = layout.numbers_at = 0;
  layout.number_width = 0;
  slots->selves = slots->pair_count = 0;
  if (sets == 0 || sets > UINT16_MAX || layout.locations > LOCATIONS_MAX || table->list_count > 0)
    return false;
  if (layout.locations == 0)
    return sets == 1 && fields.place <= table->layouts.size;
  if (!take_locations(table, &fields, &layout, slots))
    return false;
  if (take(&fields, 1) != 0 && !take_derived(&fields, &layout))
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
  if (layout.derived != 0 && !find_derived(&table->layouts, &layout, &set, &live, slots))
    return false;
  return add_selves(&table->layouts, &layout, live, slots) && fields.place <= table->layouts.size;
}
