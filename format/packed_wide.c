/* packed_wide.c - what is live at a record whose layout has many locations, all at once.
 *
 * packed_slots.c has the layouts of at most 56 locations: a word has a bit for each. The large
 * functions of a program, an interpreter's loop above all, have more, and are often on the stack.
 * packed_items.c reads these, too, but as it keeps nothing in memory, it finds again for each
 * location what it found for the one before. Here is memory for up to 256 locations: so the map, the
 * numbers of states, the row and each of the changes are gone through once, one after another.
 *
 * It begins with what packed_items() has found: where the parts of the layout are, and that they are
 * within the table. Whatever is unusual is left to packed_items_next, too. The results are those of
 * packed_slots: steps from the first location, in bytes.
 */
#include "format/packed.h"

enum {
  PART = 56,  /* bits that one load surely has, whole bytes: bits.h */
  UNARY = 57, /* and of a run of 1s */
  WORDS = PACKED_WIDE_MAX / 64,
  PLANES = 8, /* so that a location has at most 255 states above 0 */
  BASES_MAX = UINT16_MAX,
};

struct wide {
  const struct packed_items *items;
  const uint8_t *bytes;
  uint64_t end; /* of the layouts, in bits */
  uint32_t locations;
  /* Of each location: its number less the first one's; how many states it has above 0, how many bits
   * one takes, and which it has at the record; the number of its first base; whether state 1 is the
   * ordinary reference. */
  uint8_t steps[PACKED_WIDE_MAX], states[PACKED_WIDE_MAX], width[PACKED_WIDE_MAX];
  uint8_t state[PACKED_WIDE_MAX];
  uint16_t first_base[PACKED_WIDE_MAX];
  bool is_self[PACKED_WIDE_MAX];
  uint8_t selves[PACKED_WIDE_MAX]; /* the locations that can be ordinary references */
  uint32_t self_count;
  uint64_t of_width[PLANES + 1][WORDS]; /* a bit for each location whose states take so many bits */
};

/* ---- Locations ---- */

static bool take_map(struct wide *wide) {
  const struct packed_items *items = wide->items;
  uint32_t count = 0;
  if (items->run > PACKED_WIDE_MAX)
    return false;
  for (uint32_t done = 0; done < items->run; done += PART) {
    const unsigned width = items->run - done < PART ? items->run - done : PART;
    for (uint64_t left = bits_at(wide->bytes, items->locations_at + done, width); left != 0;
         left &= left - 1) {
      if (count == items->locations)
        return false;
      wide->steps[count++] = (uint8_t)(done + (unsigned)__builtin_ctzll(left));
    }
  }
  return count == items->locations;
}

static bool take_list(struct wide *wide) {
  const struct packed_items *items = wide->items;
  const unsigned width = items->table->location_width;
  wide->steps[0] = 0;
  for (uint32_t i = 1; i < items->locations; i++) {
    const uint64_t number = bits_at(wide->bytes, items->locations_at + (i - 1) * width, width);
    if (number < items->first_location || number - items->first_location >= PACKED_WIDE_MAX)
      return false;
    wide->steps[i] = (uint8_t)(number - items->first_location);
  }
  return true;
}

static bool take_steps(struct wide *wide) {
  switch (wide->items->location_form) {
  case PACKED_CONTIGUOUS:
    for (uint32_t i = 0; i < wide->locations; i++)
      wide->steps[i] = (uint8_t)i;
    return true;
  case PACKED_BIT_MAP:
    return take_map(wide);
  default:
    return take_list(wide);
  }
}

/* Notes how many states a location has; false if there are too many. */
static bool add_states(struct wide *wide, uint32_t index, unsigned states) {
  const unsigned width = packed_state_width(states);
  if (width > PLANES)
    return false;
  wide->states[index] = (uint8_t)states;
  wide->width[index] = (uint8_t)width;
  wide->of_width[width][index / 64] |= (uint64_t)1 << index % 64;
  return true;
}

/* Takes how many states there are, and which locations can be ordinary references. */
static bool take_states(struct wide *wide) {
  const struct packed_items *items = wide->items;
  const bool any_derived = items->any_derived;
  const uint32_t locations = wide->locations;
  uint64_t place = items->start.counts.position;
  uint32_t bases = 0;
  for (uint32_t i = 0; i < locations; i++) {
    const bool is_self = !any_derived || bits_at(wide->bytes, items->selves_at + i, 1) != 0;
    unsigned run = 0; /* of states above the first one */
    if (any_derived) {
      if (place >= wide->end)
        return false;
      run = (unsigned)__builtin_ctzll(~bits_at(wide->bytes, place, UNARY));
      place += run + 1;
    }
    wide->is_self[i] = is_self;
    if (is_self)
      wide->selves[wide->self_count++] = (uint8_t)i;
    wide->first_base[i] = (uint16_t)bases;
    bases += run + !is_self;
    if (run == UNARY || bases > BASES_MAX || !add_states(wide, i, run + 1))
      return false;
  }
  return true;
}

/* ---- The set ---- */

/* Takes what a plane of a row says of 64 locations. */
static void take_plane(struct wide *wide, unsigned plane, unsigned word, uint64_t bits) {
  for (; bits != 0; bits &= bits - 1)
    wide->state[word * 64 + (unsigned)__builtin_ctzll(bits)] |= (uint8_t)(1 << plane);
}

/* A row has, plane by plane, a bit for each location whose state takes so many. */
static void take_row(struct wide *wide, uint64_t row_at) {
  const bool quick = wide->items->table->quick;
  const unsigned words = (wide->locations + 63) / 64;
  uint64_t places[PLANES];
  for (unsigned plane = 0; plane < PLANES; plane++)
    places[plane] = row_at + wide->items->planes[plane];
  for (unsigned word = 0; word < words; word++) {
    uint64_t map = 0;
    for (unsigned plane = PLANES; plane-- > 0;) {
      map |= wide->of_width[plane + 1][word];
      if (map == 0)
        continue;
      const unsigned count = bits_quick_count(map, quick);
      const uint64_t bits = bits_at_wide(wide->bytes, places[plane], count);
      take_plane(wide, plane, word, bits_quick_deposit(bits, map, quick));
      places[plane] += count;
    }
  }
}

/* Takes the new state of a changed location, of those that stand at *place. */
static bool change(struct wide *wide, uint32_t index, uint64_t *place) {
  const unsigned width = wide->width[index];
  if (wide->states[index] < 2) {
    wide->state[index] ^= 1;
    return true;
  }
  if (*place + width > wide->end)
    return false;
  wide->state[index] = (uint8_t)bits_at(wide->bytes, *place, width);
  *place += width;
  return true;
}

static bool take_numbered_changes(struct wide *wide, struct packed_set set) {
  const unsigned width = wide->items->number_width;
  while (set.next < wide->locations) {
    const uint32_t index = set.next;
    if (!change(wide, index, &set.states_at))
      return false;
    if (set.left == 0)
      return true;
    set.left--;
    set.next = (uint32_t)bits_at(wide->bytes, set.bits_at, width);
    set.bits_at += width;
    if (set.next <= index)
      return false;
  }
  return set.next == UINT32_MAX;
}

static bool take_mapped_changes(struct wide *wide, struct packed_set set) {
  const uint32_t locations = wide->locations;
  for (uint32_t done = 0; done < locations; done += PART) {
    const unsigned width = locations - done < PART ? locations - done : PART;
    for (uint64_t left = bits_at(wide->bytes, set.bits_at + done, width); left != 0;
         left &= left - 1)
      if (!change(wide, done + (unsigned)__builtin_ctzll(left), &set.states_at))
        return false;
  }
  return true;
}

/* Finds the state of each location: from the row on, along the chain. */
static bool take_set(struct wide *wide) {
  const struct packed_items *items = wide->items;
  memset(wide->state, items->depth == 0 ? 1 : 0, sizeof wide->state);
  if (items->depth == 0)
    return true;
  take_row(wide, items->sets[items->depth - 1].bits_at);
  for (unsigned i = items->depth - 1; i-- > 0;)
    if (items->are_numbers ? !take_numbered_changes(wide, items->sets[i])
                           : !take_mapped_changes(wide, items->sets[i]))
      return false;
  return true;
}

/* ---- Pairs ---- */

/* The index of the location from which location `index` is derived in its state, or its own. */
static uint64_t base_index(const struct wide *wide, uint32_t index, unsigned state) {
  const struct packed_items *items = wide->items;
  if (state == 1 && wide->is_self[index])
    return index;
  const uint64_t number = (uint64_t)wide->first_base[index] + state - 1 - wide->is_self[index];
  const uint64_t base =
      bits_at(wide->bytes, items->bases_at + number * items->base_width, items->base_width);
  return base < wide->self_count ? wide->selves[base] : UINT64_MAX;
}

static bool take_pairs(const struct wide *wide, struct packed_wide *pairs) {
  for (uint32_t i = wide->locations; i-- > 0;) {
    const unsigned state = wide->state[i];
    if (state == 0)
      continue;
    if (state > wide->states[i])
      return false;
    const uint64_t base = base_index(wide, i, state);
    if (base >= wide->locations)
      return false;
    pairs->pairs[pairs->count++] = (struct packed_steps){wide->steps[base], wide->steps[i]};
  }
  return true;
}

bool packed_wide(const struct packed_items *items, struct packed_wide *pairs) {
  pairs->count = 0;
  pairs->first = pairs->last = items->first_location;
  if (items->bad || items->lists > 0 || items->locations > PACKED_WIDE_MAX)
    return false;
  if (items->locations == 0)
    return true;
  struct wide wide = {
      .items = items,
      .bytes = items->table->layouts.bytes,
      .end = items->table->layouts.size,
      .locations = items->locations,
  };
  if (!take_steps(&wide) || !take_states(&wide) || !take_set(&wide))
    return false;
  pairs->last += wide.steps[items->locations - 1];
  return take_pairs(&wide, pairs);
}
