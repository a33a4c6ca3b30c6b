/* packed_slots.c - what is live at a record, in a few words: the layouts that nearly all records
 * have.
 *
 * packed_items.c reads any layout, a location at a time. Here is the short cut for those of at most
 * 56 locations, which are near each other: what is known of all locations fits into a register, a
 * bit for each. So does each plane of a row, and everything is found by masks and by moving bits to
 * the places of others; few branches depend on what a layout is like, as a part that isn't there
 * has no bits and is read all the same. A loop goes only through the derived references that are
 * live, and through what changes.
 *
 * The numbers of states, a 1 for each state of a location above the first one and then a 0, are
 * mostly taken as they stand, in one word: there, the 0 of location i is the i-th 0, and a location
 * has k + 1 states or more if there are k 1s before its 0. So the word shifted by one place tells at
 * the 0s which locations have two; this and the word shifted by two places, which have three; and so
 * on. Functions of very many states are gone through location by location.
 *
 * Hostile bytes: all parts but the sets take at most HEAD bits; so one comparison with the table's
 * end covers them. Behind them, each place is compared before it is read.
 */
#include "format/packed.h"
#include "format/quick.h"

enum {
  LOCATIONS_MAX = PACKED_SLOTS_PAIRS_MAX,
  WORD = 57,     /* bits that one load surely has: bits.h */
  FORM = 2,      /* the most that the locations' form takes */
  FAR_MAX = 56,  /* numbers in the second half of a map */
  PLANES = 6,    /* so that a location has at most 63 states above 0 */
  ZEROS_MAX = 8, /* of a number in Elias's gamma code */
  /* Four numbers and form; map; selves; numbers of states and the bases, if they are in a word; what
   * is read behind them. */
  HEAD = 4 * 64 + 1 + FORM + 130 + 64 + 65 + 64 * 6 + 128,
  SET_MAX = 1024, /* more bits than a set takes: see climb() */
};

/* The next bits of a layout: at least 57 of them, at `place`. */
struct word {
  uint64_t bits, place;
};

QUICK_BODY void reload(const uint8_t *bytes, struct word *word) {
  word->bits = bits_load64(bytes + word->place / 8) >> word->place % 8;
}

QUICK_BODY uint64_t take(struct word *word, unsigned width) {
  const uint64_t value = word->bits & bits_short_mask(width);
  word->bits >>= width;
  word->place += width;
  return value;
}

/* UINT32_MAX or more for a number with more than ZEROS_MAX zeros. */
QUICK_BODY uint64_t take_gamma(struct word *word) {
  const unsigned zeros = (unsigned)__builtin_ctzll(word->bits | (uint64_t)1 << (ZEROS_MAX + 1));
  const uint64_t code = take(word, 2 * zeros + 1);
  return (code >> (zeros + 1)) + bits_short_mask(zeros) + (zeros > ZEROS_MAX ? UINT32_MAX : 0);
}

/* A number in the code of small ones: of at most 16 + 17 + 31 bits. UINT32_MAX or more for others. */
QUICK_BODY uint64_t take_small(const uint8_t *bytes, struct word *word, unsigned parameter) {
  reload(bytes, word);
  uint64_t high = (unsigned)__builtin_ctzll(~word->bits | (uint64_t)1 << BITS_SMALL_UNARY_MAX);
  take(word, (unsigned)high + (high < BITS_SMALL_UNARY_MAX));
  if (high == BITS_SMALL_UNARY_MAX)
    high += take_gamma(word);
  reload(bytes, word);
  return high << parameter | take(word, parameter);
}

/* The same without a reload, for numbers of few 1s: *longest becomes BITS_SMALL_UNARY_MAX or more
 * where this is another one. */
QUICK_BODY uint64_t take_short(struct word *word, unsigned parameter, uint64_t *longest) {
  const unsigned high = (unsigned)__builtin_ctzll(~word->bits | (uint64_t)1 << 32);
  *longest |= high;
  take(word, high + 1);
  return (uint64_t)high << parameter | take(word, parameter);
}

/* A layout, taken apart. In the masks a bit stands for each location, by index. */
struct layout {
  uint64_t sets;
  unsigned locations;
  uint64_t map, far; /* the locations that there are, by number from the first one on: 56 in map */
  unsigned near;     /* how many are in map */
  uint64_t numbers_at; /* the locations' numbers stand here; 0: they are in map and far */
  bool any_derived;
  uint64_t selves; /* mask: those that can be ordinary references */
  /* Masks: those whose states take n + 1 bits or more, for n > 0. Set only if any is derived; and
   * the last two only if the one before isn't 0. */
  uint64_t wide[PLANES];
  uint64_t zeros;    /* of the word of the numbers of states; 0: they don't fit into one */
  uint16_t *firsts;  /* then: the number of each location's first base; and of all */
  uint64_t bases_at; /* each base's number among the selves */
  unsigned base_width, base_count; /* how many selves there are */
  uint64_t sets_at;
};

QUICK_BODY enum packed_location_form take_form(struct word *word) {
  if (take(word, 1) == 0)
    return PACKED_CONTIGUOUS;
  return take(word, 1) == 0 ? PACKED_BIT_MAP : PACKED_LIST;
}

/* False: this layout isn't for the short cut. So for all functions below. */
QUICK_BODY bool take_numbers(const struct packed_table *table, struct word *word,
                             struct layout *layout, uint32_t first, bool quick) {
  const uint8_t *bytes = table->layouts.bytes;
  const uint64_t form = take_form(word);
  uint64_t run = layout->locations;
  layout->map = bits_short_mask(layout->locations);
  layout->near = layout->locations;
  layout->far = layout->numbers_at = 0;
  if (form == PACKED_BIT_MAP) {
    reload(bytes, word);
    run += take_gamma(word);
    if (run > LOCATIONS_MAX + FAR_MAX)
      return false;
    const unsigned near = run < LOCATIONS_MAX ? (unsigned)run : LOCATIONS_MAX;
    reload(bytes, word);
    layout->map = take(word, near);
    layout->near = bits_quick_count(layout->map, quick);
    reload(bytes, word);
    layout->far = take(word, (unsigned)run - near);
    if (layout->near + bits_quick_count(layout->far, quick) != layout->locations)
      return false;
  } else if (form == PACKED_LIST) {
    layout->numbers_at = word->place;
    layout->near = 0;
    word->place += (uint64_t)(layout->locations - 1) * table->location_width;
    if (word->place + HEAD > table->readable)
      return false;
    run = 1;
  }
  return first + run <= table->first_class_count;
}

/* Goes through the numbers of states, location by location, from a bit on. */
static bool take_many_states(const struct packed_table *table, uint64_t place,
                             struct layout *layout) {
  const uint8_t *bytes = table->layouts.bytes;
  uint64_t widest[PLANES] = {0}; /* masks: those whose states take just n + 1 bits */
  uint64_t count = 0;
  for (unsigned i = 0; i < layout->locations; i++) {
    if (place + 64 > table->readable)
      return false;
    const unsigned run = (unsigned)__builtin_ctzll(~bits_at(bytes, place, WORD));
    const uint64_t states = run + 1;
    if (run == WORD)
      return false;
    layout->firsts[i] = (uint16_t)count;
    widest[63 - __builtin_clzll(states)] |= (uint64_t)1 << i;
    count += states - (layout->selves >> i & 1);
    place += states;
  }
  uint64_t wide = 0;
  for (unsigned plane = PLANES; --plane > 0;)
    layout->wide[plane] = wide |= widest[plane];
  layout->zeros = 0;
  layout->firsts[layout->locations] = (uint16_t)count;
  layout->bases_at = place;
  layout->sets_at = place + count * layout->base_width;
  return layout->sets_at + 64 <= table->readable;
}

/* Takes how many states each location can be in, if any can be a derived reference. */
QUICK_BODY bool take_states(const struct packed_table *table, struct word *word,
                            struct layout *layout, bool quick) {
  const uint8_t *bytes = table->layouts.bytes;
  if (!layout->any_derived) {
    layout->selves = bits_short_mask(layout->locations);
    layout->sets_at = word->place;
    return true;
  }
  reload(bytes, word);
  layout->selves = take(word, layout->locations);
  layout->base_count = bits_quick_count(layout->selves, quick);
  layout->base_width = bits_for_count(layout->base_count);
  const uint64_t string = bits_at_wide(bytes, word->place, 64);
  if (bits_quick_count(~string, quick) < layout->locations)
    return take_many_states(table, word->place, layout);
  const unsigned end = bits_quick_select(~string, layout->locations - 1, quick);
  const uint64_t zeros = ~string & (((uint64_t)2 << end) - 1);
  const uint64_t one = string << 1, three = one & string << 2 & string << 3;
  const uint64_t seven = three & string << 4 & three << 4;
  if ((seven & zeros) != 0)
    return take_many_states(table, word->place, layout);
  layout->zeros = zeros;
  layout->wide[1] = bits_quick_extract(one, zeros, quick);
  layout->wide[2] = bits_quick_extract(three, zeros, quick);
  layout->wide[3] = 0;
  layout->bases_at = word->place + end + 1;
  layout->sets_at =
      layout->bases_at + (uint64_t)(end + 1 - layout->base_count) * layout->base_width;
  return true;
}

/* What a layout starts with. */
struct head {
  uint64_t frame, more_sets, locations, first;
  bool any_derived;
};

/* Takes it number by number. Without locations, what follows is taken for the rest. */
static struct head take_long_head(const struct packed_table *table, struct word *word) {
  const uint8_t *bytes = table->layouts.bytes;
  struct head head;
  head.frame = take_small(bytes, word, table->frame_parameter);
  head.more_sets = take_small(bytes, word, table->sets_parameter);
  head.locations = take_small(bytes, word, table->locations_parameter);
  reload(bytes, word);
  head.any_derived = take(word, 1) != 0;
  head.first = take_small(bytes, word, table->first_parameter);
  reload(bytes, word);
  return head;
}

/* The same, where no number is one of the large ones, and all fit into a word. */
QUICK_BODY struct head take_head(const struct packed_table *table, struct word *word) {
  const struct word start = *word;
  uint64_t longest = 0;
  struct head head;
  reload(table->layouts.bytes, word);
  head.frame = take_short(word, table->frame_parameter, &longest);
  head.more_sets = take_short(word, table->sets_parameter, &longest);
  head.locations = take_short(word, table->locations_parameter, &longest);
  head.any_derived = take(word, 1) != 0;
  head.first = take_short(word, table->first_parameter, &longest);
  if (longest < BITS_SMALL_UNARY_MAX && word->place + FORM - start.place <= WORD)
    return head;
  *word = start;
  return take_long_head(table, word);
}

QUICK_BODY bool take_layout(const struct packed_table *table, uint64_t place, struct layout *layout,
                            uint32_t *first, bool quick) {
  struct word word = {.place = place};
  const struct head head = take_head(table, &word);
  layout->sets = head.more_sets + 1;
  layout->locations = (unsigned)head.locations;
  if (head.locations == 0 && head.more_sets == 0 && head.frame < UINT32_MAX) {
    layout->selves = layout->map = layout->near = 0;
    layout->any_derived = false;
    return true;
  }
  if (head.locations - 1 >= LOCATIONS_MAX || head.more_sets >= UINT16_MAX ||
      (head.frame | head.first) >= UINT32_MAX)
    return false;
  *first = (uint32_t)head.first;
  layout->any_derived = head.any_derived;
  return take_numbers(table, &word, layout, *first, quick) &&
         take_states(table, &word, layout, quick);
}

/* ---- Sets ---- */

/* The states of all locations: plane n has bit n of each. Those of which `wide` isn't set aren't
 * set, too. */
struct states {
  uint64_t planes[PLANES];
};

/* How many planes there are. Beyond three it's seldom. */
QUICK_BODY unsigned plane_count(const struct layout *layout) {
  unsigned count = layout->any_derived ? 3 : 1;
  if (layout->any_derived && layout->wide[3] != 0)
    count = PLANES;
  return count;
}

QUICK_BODY unsigned row_width(const struct layout *layout, bool quick) {
  unsigned width = layout->locations;
  for (unsigned plane = 1; plane < plane_count(layout); plane++)
    width += bits_quick_count(layout->wide[plane], quick);
  return width;
}

QUICK_BODY void read_row(const uint8_t *bytes, const struct layout *layout, uint64_t place,
                         struct states *states, bool quick) {
  states->planes[0] = bits_at(bytes, place, layout->locations);
  place += layout->locations;
  for (unsigned plane = 1; plane < plane_count(layout); plane++) {
    const unsigned width = bits_quick_count(layout->wide[plane], quick);
    states->planes[plane] =
        bits_quick_deposit(bits_at(bytes, place, width), layout->wide[plane], quick);
    place += width;
  }
}

/* The locations in states above 1. */
QUICK_BODY uint64_t higher_states(const struct layout *layout, const struct states *states) {
  uint64_t higher = 0;
  for (unsigned plane = 1; plane < plane_count(layout); plane++)
    higher |= states->planes[plane];
  return higher;
}

/* How many bits a location's state takes. */
QUICK_BODY unsigned state_width(const struct layout *layout, unsigned index) {
  unsigned width = 1;
  for (unsigned plane = 1; plane < plane_count(layout); plane++)
    width += layout->wide[plane] >> index & 1;
  return width;
}

/* The number of a record's set: a field of an array that starts at a bit. */
QUICK_BODY uint64_t set_number(const struct packed_table *table, const struct layout *layout,
                               uint64_t numbers_at, uint32_t position) {
  const struct packed_set_number field = packed_set_number(layout->sets, position);
  const uint64_t place = numbers_at + field.at;
  return place + 64 <= table->readable ? bits_at(table->layouts.bytes, place, field.width)
                                       : UINT64_MAX;
}

/* Changes on the way from a set up to a row. */
struct changes {
  uint64_t flips;       /* locations of one bit that have changed */
  uint64_t known;       /* others that have: their states follow */
  struct states states; /* of these */
};

/* Takes the indices of changed locations; returns a bit for each. Mostly they are few: each load has
 * GROUP of them, and what is behind the last one counts for nothing. */
QUICK_BODY uint64_t take_indices(const uint8_t *bytes, uint64_t *place, unsigned locations) {
  enum { GROUP = 4 };
  struct word word = {.place = *place};
  const unsigned width = bits_for_count(locations);
  reload(bytes, &word);
  const uint64_t read = take_gamma(&word), count = read <= LOCATIONS_MAX ? read : 0;
  uint64_t changed = 0;
  *place = word.place + count * width;
  for (uint64_t from = 0; from < count; from += GROUP) {
    uint64_t indices = bits_at(bytes, word.place + from * width, GROUP * width);
    for (uint64_t i = from; i < from + GROUP; i++, indices >>= width)
      changed |= (uint64_t)(i < count) << (indices & bits_short_mask(width));
  }
  return changed;
}

/* Takes the new states of changed locations, but for those that are known. */
QUICK_BODY void take_new_states(const uint8_t *bytes, const struct layout *layout, uint64_t place,
                                uint64_t changed, struct changes *changes) {
  const uint64_t many = layout->any_derived ? layout->wide[1] : 0;
  for (uint64_t left = changed & many; left != 0; left &= left - 1) {
    const unsigned index = (unsigned)__builtin_ctzll(left), width = state_width(layout, index);
    const uint64_t is_new = ~changes->known >> index & 1;
    const uint64_t state = bits_at(bytes, place, width) * is_new;
    place += width;
    for (unsigned plane = 0; plane < plane_count(layout); plane++)
      changes->states.planes[plane] |= (state >> plane & 1) << index;
  }
  changes->flips ^= changed & ~many;
  changes->known |= changed & many;
}

/* Sets that are written as changes: where they lie. */
struct tree {
  bool are_numbers;
  uint64_t start, size, directory_at;
  unsigned width; /* of a field of the directory */
};

/* Takes what is before the sets. */
QUICK_BODY bool take_tree(const struct packed_table *table, const struct layout *layout,
                          struct tree *tree) {
  enum { FIELDS = 7 }; /* their bits */
  const uint8_t *bytes = table->layouts.bytes;
  const uint64_t entries = (layout->sets + bits_low_mask(PACKED_CHANGES_PER_SAMPLE_SHIFT)) >>
                           PACKED_CHANGES_PER_SAMPLE_SHIFT;
  const uint64_t fields = bits_at(bytes, layout->sets_at + 1, FIELDS);
  tree->are_numbers = (fields & 1) != 0;
  tree->width = (unsigned)(fields >> 1);
  tree->directory_at = layout->sets_at + 1 + FIELDS;
  tree->start = tree->directory_at + entries * tree->width;
  if (tree->width > 32 || tree->start > table->readable)
    return false;
  tree->size = bits_at(bytes, tree->start - tree->width, tree->width);
  return tree->start + tree->size <= table->readable;
}

/* The bits that the new states of changed locations take. */
static uint64_t states_width(const struct layout *layout, uint64_t changed, bool quick) {
  uint64_t width = layout->any_derived ? bits_quick_count(changed & layout->wide[1], quick) : 0;
  for (unsigned plane = 1; plane < plane_count(layout); plane++)
    width += bits_quick_count(changed & layout->wide[plane], quick);
  return width;
}

/* Goes from set `number` up to the row from which it is changed. A set is at most 1 + 17 + 32 + 56
 * * 6 + 56 * 6 bits long, and so is a row; so what begins before the end can be read if this is so
 * long before the layouts' end. */
QUICK_BODY bool climb(const struct packed_table *table, const struct layout *layout,
                      const struct tree *tree, uint64_t number, struct changes *changes,
                      uint64_t *row_at, bool quick) {
  const uint8_t *bytes = table->layouts.bytes;
  const uint64_t in_sample = bits_low_mask(PACKED_CHANGES_PER_SAMPLE_SHIFT);
  const uint64_t end = tree->start + tree->size;
  const unsigned parent_width = bits_for_count(layout->sets + 1);
  if (end + SET_MAX > table->readable)
    return false;
  for (unsigned depth = 0; depth <= PACKED_DEPTH_MAX && number < layout->sets; depth++) {
    const uint64_t sample = number >> PACKED_CHANGES_PER_SAMPLE_SHIFT;
    uint64_t place = tree->start;
    if (sample > 0)
      place += bits_at(bytes, tree->directory_at + (sample - 1) * tree->width, tree->width);
    for (uint64_t skip = number & in_sample;; skip--) {
      if (place > end)
        return false;
      const uint64_t parent = bits_at(bytes, place, parent_width);
      place += parent_width;
      if (parent == 0 && skip == 0) {
        *row_at = place;
        return true;
      }
      if (parent == 0) {
        place += row_width(layout, quick);
        continue;
      }
      uint64_t changed = bits_at(bytes, place, layout->locations);
      if (tree->are_numbers)
        changed = take_indices(bytes, &place, layout->locations);
      else
        place += layout->locations;
      if (skip == 0) {
        take_new_states(bytes, layout, place, changed, changes);
        number = parent - 1;
        break;
      }
      place += states_width(layout, changed, quick);
    }
  }
  return false;
}

/* Finds the states at a record whose layout's sets are changes. */
QUICK_BODY bool find_changed(const struct packed_table *table, const struct layout *layout,
                             uint32_t position, struct states *states, bool quick) {
  struct changes changes = {0};
  struct tree tree;
  uint64_t row_at;
  if (!take_tree(table, layout, &tree) ||
      !climb(table, layout, &tree, set_number(table, layout, tree.start + tree.size, position),
             &changes, &row_at, quick))
    return false;
  read_row(table->layouts.bytes, layout, row_at, states, quick);
  states->planes[0] ^= changes.flips;
  for (unsigned plane = 0; plane < plane_count(layout); plane++)
    states->planes[plane] = (states->planes[plane] & ~changes.known) | changes.states.planes[plane];
  return true;
}

QUICK_TARGET static bool find_changed_with_bmi(const struct packed_table *table,
                                               const struct layout *layout, uint32_t position,
                                               struct states *states) {
  return find_changed(table, layout, position, states, true);
}

QUICK_OTHERS static bool find_changed_without_bmi(const struct packed_table *table,
                                                  const struct layout *layout, uint32_t position,
                                                  struct states *states) {
  return find_changed(table, layout, position, states, false);
}

QUICK_BODY bool find_states(const struct packed_table *table, const struct layout *layout,
                            uint32_t position, struct states *states, bool quick) {
  const uint8_t *bytes = table->layouts.bytes;
  if (layout->sets == 1) { /* all are in state 1 */
    states->planes[0] = UINT64_MAX;
    for (unsigned plane = 1; plane < PLANES; plane++)
      states->planes[plane] = 0;
    return true;
  }
  if ((bytes[layout->sets_at / 8] >> layout->sets_at % 8 & 1) != PACKED_SET_ROWS)
    return quick ? find_changed_with_bmi(table, layout, position, states)
                 : find_changed_without_bmi(table, layout, position, states);
  const uint64_t rows_at = layout->sets_at + 1;
  const unsigned width = row_width(layout, quick);
  const uint64_t number = set_number(table, layout, rows_at + layout->sets * width, position);
  if (number >= layout->sets)
    return false;
  read_row(bytes, layout, rows_at + number * width, states, quick);
  return true;
}

/* ---- Pairs ---- */

/* How many numbers the location with an index is above the first one; any number above UINT8_MAX
 * if that is too many. */
QUICK_BODY uint64_t steps_to(const struct packed_table *table, const struct layout *layout,
                             uint32_t first, unsigned index, bool quick) {
  if (index < layout->near)
    return bits_quick_select(layout->map, index, quick);
  if (layout->numbers_at == 0)
    return LOCATIONS_MAX + bits_quick_select(layout->far, index - layout->near, quick);
  if (index == 0)
    return 0;
  const unsigned width = table->location_width;
  const uint64_t number =
      bits_at(table->layouts.bytes, layout->numbers_at + (uint64_t)(index - 1) * width, width);
  return number < table->first_class_count ? number - first : UINT64_MAX;
}

QUICK_BODY bool add_pair(struct packed_slots *slots, uint64_t base, uint64_t derived) {
  slots->pairs[slots->pair_count++] = (struct packed_steps){(uint8_t)base, (uint8_t)derived};
  return base <= UINT8_MAX && derived <= UINT8_MAX;
}

/* The index of the base from which location `index` is derived, in its state. */
QUICK_BODY uint64_t base_index(const struct packed_table *table, const struct layout *layout,
                               const struct states *states, unsigned index, bool quick) {
  uint64_t state = states->planes[0] >> index & 1, first, end;
  for (unsigned plane = 1; plane < plane_count(layout); plane++)
    state |= (states->planes[plane] >> index & 1) << plane;
  const uint64_t is_self = layout->selves >> index & 1;
  if (layout->zeros != 0) { /* a location has a base for each state, but for that of a self */
    const uint64_t before = layout->selves & bits_short_mask(index);
    const unsigned selves = bits_quick_count(before, quick);
    first = bits_quick_select(layout->zeros << 1 | 1, index, quick) - selves;
    end = bits_quick_select(layout->zeros, index, quick) + 1 - selves - is_self;
  } else {
    first = layout->firsts[index];
    end = layout->firsts[index + 1];
  }
  const uint64_t number = first + state - 1 - is_self;
  if (number >= end)
    return UINT64_MAX;
  const uint64_t base = bits_at(table->layouts.bytes,
                                layout->bases_at + number * layout->base_width, layout->base_width);
  return base < layout->base_count ? bits_quick_select(layout->selves, (unsigned)base, quick)
                                   : UINT64_MAX;
}

QUICK_BODY bool find_slots(const struct packed_record *record, struct packed_slots *slots,
                           bool quick) {
  const struct packed_table *table = record->table;
  uint16_t firsts[LOCATIONS_MAX + 1];
  struct layout layout;
  struct states states;
  layout.firsts = firsts;
  slots->first = slots->pair_count = 0;
  if (table->list_count > 0 || !take_layout(table, record->layout, &layout, &slots->first, quick) ||
      !find_states(table, &layout, record->position, &states, quick))
    return false;
  const uint64_t higher = higher_states(&layout, &states);
  const uint64_t selves = states.planes[0] & ~higher & layout.selves;
  for (uint64_t left = (states.planes[0] | higher) & bits_short_mask(layout.locations) & ~selves;
       left != 0; left &= left - 1) {
    const unsigned index = (unsigned)__builtin_ctzll(left);
    const uint64_t base = base_index(table, &layout, &states, index, quick);
    if (base >= layout.locations ||
        !add_pair(slots, steps_to(table, &layout, slots->first, (unsigned)base, quick),
                  steps_to(table, &layout, slots->first, index, quick)))
      return false;
  }
  const uint64_t near = bits_short_mask(layout.near);
  slots->selves = bits_quick_deposit(selves & near, layout.map, quick);
  for (uint64_t left = selves & ~near; left != 0; left &= left - 1) {
    const uint64_t steps =
        steps_to(table, &layout, slots->first, (unsigned)__builtin_ctzll(left), quick);
    if (!add_pair(slots, steps, steps))
      return false;
  }
  return true;
}

QUICK_TARGET static bool find_slots_with_bmi(const struct packed_record *record,
                                             struct packed_slots *slots) {
  return find_slots(record, slots, true);
}

QUICK_OTHERS static bool find_slots_without_bmi(const struct packed_record *record,
                                                struct packed_slots *slots) {
  return find_slots(record, slots, false);
}

static bool find_slots_near_end(const struct packed_record *record, struct packed_slots *slots);

QUICK_PATH bool packed_slots(const struct packed_record *record, struct packed_slots *slots) {
  if (record->layout + HEAD > record->table->readable)
    return find_slots_near_end(record, slots);
  return record->table->quick ? find_slots_with_bmi(record, slots)
                              : find_slots_without_bmi(record, slots);
}

/* The same for a layout so near the table's end that parts which aren't there would be read behind
 * it. (In a small table, most are.) It is copied to where there's room. */
static bool find_slots_near_end(const struct packed_record *record, struct packed_slots *slots) {
  uint8_t copy[HEAD / 8 * 2 + SET_MAX / 8 + BITS_PADDING] = {0};
  struct packed_table table = *record->table;
  if (record->layout >= table.readable)
    return false;
  const size_t size = (table.readable - record->layout) / 8;
  memcpy(copy, table.layouts.bytes + record->layout / 8, size);
  table.layouts = (struct bit_array){copy, size * 8};
  table.readable = (sizeof copy - BITS_PADDING) * 8;
  struct packed_record moved = *record;
  moved.table = &table;
  moved.layout = 0;
  return packed_slots(&moved, slots);
}
