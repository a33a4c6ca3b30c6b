/* row.c - reads live sets as rows: see row.h. */
#include "runtime/row.h"

#include "format/packed_live.h"

#include <assert.h>

/* On the way through a live set. */
struct reader {
  const struct packed_table *table;
  struct row *row;
  uint32_t first; /* location of the row's first slot; */
  uint32_t words; /* from there on, so many locations are words one after the other */
};

static struct reader start(struct row *row, const struct packed_table *table, uint32_t first) {
  const struct stackpack_location location = packed_location(table, first);
  const int64_t word = location.value / ROW_WORD;
  const bool fits = location.value % ROW_WORD == 0 && word == (int16_t)word &&
                    location.reg == (uint8_t)location.reg;
  struct reader reader = {.table = table, .row = row, .first = first};
  if (fits && location.kind == STACKPACK_INDIRECT && location.size == ROW_WORD &&
      first < table->first_class_count && table->first_class_step == ROW_WORD)
    reader.words = table->first_class_count - first;
  row->head.first = fits ? (int16_t)word : 0;
  row->head.reg = (uint8_t)location.reg;
  row->head.slots = row->head.count = 0;
  row->head.is_plain = true;
  row->head.has_registers = false;
  return reader;
}

/* The place of a location; ROW_PLACES: none. */
static unsigned place_of_other(struct row *row, struct stackpack_location location) {
  const uint64_t distance =
      (uint64_t)location.value - (uint64_t)((int64_t)row->head.first * ROW_WORD);
  if (location.size != ROW_WORD)
    return ROW_PLACES;
  if (location.kind == STACKPACK_INDIRECT && location.reg == row->head.reg &&
      distance % ROW_WORD == 0 && distance / ROW_WORD < ROW_SLOTS)
    return (unsigned)(distance / ROW_WORD);
  if (location.kind != STACKPACK_REGISTER || location.value != 0 ||
      location.reg >= ROW_PLACES - ROW_SLOTS)
    return ROW_PLACES;
  row->head.has_registers = true;
  return ROW_SLOTS + location.reg;
}

static inline bool find_place(const struct reader *reader, uint32_t number, uint8_t *place) {
  struct row *row = reader->row;
  unsigned found = number - reader->first;
  if (found >= reader->words || found >= ROW_SLOTS)
    found = place_of_other(row, packed_location(reader->table, number));
  *place = (uint8_t)found;
  if (found < ROW_SLOTS && found >= row->head.slots)
    row->head.slots = (uint8_t)(found + 1);
  return found < ROW_PLACES;
}

/* Adds a pair. False: it doesn't fit in. */
static inline bool add_pair(const struct reader *reader, struct packed_pair pair) {
  struct row *row = reader->row;
  struct row_pair *own = &row->pairs[row->head.count];
  if (row->head.count == ROW_PAIRS || !find_place(reader, pair.derived, &own->derived))
    return false;
  own->base = own->derived;
  if (pair.base != pair.derived && !find_place(reader, pair.base, &own->base))
    return false;
  if (own->base != own->derived || (row->head.count > 0 && own->derived <= own[-1].derived))
    row->head.is_plain = false;
  row->head.count++;
  assert(row->head.count <= ROW_PAIRS);
  return true;
}

/* The lowest of the groups' first locations. */
static uint32_t first_location(struct packed_pairs group) {
  uint32_t first = group.first;
  while (next_group(&group))
    first = group.first < first ? group.first : first;
  return first;
}

/* Adds the pairs of a group. */
static inline bool add_group(const struct reader *reader, struct packed_pairs *group) {
  const uint64_t plain = live_plain(group);
  for (uint64_t live = plain; live != 0; live &= live - 1) {
    const uint32_t number = plain_location(group, (unsigned)__builtin_ctzll(live));
    if (!add_pair(reader, (struct packed_pair){number, number}))
      return false;
  }
  for (uint64_t live = group->live ^ plain; live != 0; live &= live - 1) {
    const struct packed_pair pair = slot_pair(group, (unsigned)__builtin_ctzll(live));
    if (is_references(group, pair) && !add_pair(reader, pair))
      return false;
  }
  return true;
}

bool row_read(struct row *row, const struct packed_record *record) {
  struct packed_pairs left = layout_pairs(record->table, record->layout, record->position);
  const uint32_t first = left.next_at == 0 ? left.first : first_location(left);
  const struct reader reader = start(row, record->table, first);
  do
    if (!add_group(&reader, &left))
      return false;
  while (next_group(&left));
  return !left.bad;
}

/* ---- Moves ---- */

/* Whether the locations of the first class are words at the stack pointer. */
static bool has_words(const struct packed_table *table) {
  const struct stackpack_location *location = &table->first_class;
  return location->kind == STACKPACK_INDIRECT && location->size == ROW_WORD &&
         location->reg == STACKPACK_STACK_POINTER && location->value % ROW_WORD == 0 &&
         table->first_class_step == ROW_WORD;
}

/* Bit n is for place n. */
__extension__ typedef unsigned __int128 places;

static inline places place_bit(uint64_t place) { return (places)1 << place % ROW_NEAR; }

/* The places found so far: the bases; the pairs of two places, before `end`; and the bits of all
 * numbers of places, which are below ROW_NEAR if these are. */
struct near {
  places bases;
  struct row_pair *end;
  uint64_t numbers;
};

enum { NEAR_PAIRS_ROOM = ROW_NEAR + PACKED_ROW_MAX }; /* a group's are added at once */

/* Adds the plain slots of a group, whose first location is place `shift`. */
static inline void add_plain(struct near *near, const struct packed_pairs *group, uint64_t shift) {
  const uint64_t plain = live_plain(group);
  assert(shift < ROW_NEAR);
  if (group->in_order == group->plain) {
    near->numbers |= shift + bits_for_number(plain >> 1); /* the last one's */
    near->bases |= (places)plain << shift;
    return;
  }
  for (uint64_t live = plain; live != 0; live &= live - 1) {
    const uint64_t place = shift + plain_distance(group, (unsigned)__builtin_ctzll(live));
    near->numbers |= place;
    near->bases |= place_bit(place);
  }
}

/* Adds the other slots; one load has the fields of several. Whether a slot's base is another one
 * can't be guessed: each pair is written, and counts where it is. (Places are bytes, which the
 * compiler takes for parts of anything: so all else is local.) */
static inline __attribute__((always_inline)) void
add_derived(struct near *near, const struct packed_pairs *group, uint64_t shift) {
  const struct packed_pairs own = *group;
  const uint64_t width = own.number_width;
  uint64_t live = own.live & ~live_plain(&own);
  if (live == 0)
    return;
  struct near all = *near;
  uint64_t from = (unsigned)__builtin_ctzll(live);
  struct packed_distances loaded = load_distances(&own, from);
  for (; live != 0; live &= live - 1) {
    const uint64_t slot = (unsigned)__builtin_ctzll(live);
    uint64_t field = (slot - from) * width;
    if (field + width > BITS_LOADED) {
      loaded = load_distances(&own, slot);
      from = slot;
      field = 0;
    }
    const uint64_t base = shift + (loaded.base >> field & own.number_mask);
    const uint64_t derived = shift + (loaded.derived >> field & own.number_mask);
    *all.end = (struct row_pair){(uint8_t)base, (uint8_t)derived};
    all.end += base != derived;
    all.numbers |= base | derived;
    all.bases |= place_bit(base);
  }
  *near = all;
}

/* Chooses the pairs whose derived place is no base, and adds it to the bases: all places in use. Of
 * a location that is derived twice, the first pair counts. */
static unsigned choose_moves(struct row_pair *moves, places *used, const struct row_pair *pairs,
                             const struct row_pair *end) {
  unsigned count = 0;
  for (; pairs < end; pairs++) {
    const places bit = place_bit(pairs->derived);
    moves[count] = *pairs;
    count += (*used & bit) == 0;
    *used |= bit;
  }
  assert(count < ROW_MOVES_ROOM);
  return count;
}

static unsigned lowest(places set) {
  assert(set != 0);
  return (uint64_t)set != 0 ? (unsigned)__builtin_ctzll((uint64_t)set)
                            : 64 + (unsigned)__builtin_ctzll((uint64_t)(set >> 64));
}

static unsigned highest(places set) {
  assert(set != 0);
  return set >> 64 == 0 ? 63 - (unsigned)__builtin_clzll((uint64_t)set)
                        : ROW_NEAR - 1 - (unsigned)__builtin_clzll((uint64_t)(set >> 64));
}

/* Adds the live slots of a group; place 0 is location `first`. False: they are too far away. */
static inline __attribute__((always_inline)) bool add_near(struct near *near,
                                                           const struct row_pair *pairs,
                                                           const struct packed_pairs *group,
                                                           uint32_t first) {
  const uint32_t shift = group->first - first;
  if (group->live == 0)
    return true;
  if (shift >= ROW_NEAR || near->end - pairs > ROW_NEAR)
    return false;
  add_plain(near, group, shift);
  add_derived(near, group, shift);
  assert(near->end - pairs <= NEAR_PAIRS_ROOM);
  return true;
}

/* Reads a live set's places; place 0 is location *first. False: they are too far apart, or
 * unreadable. */
static inline bool read_near(struct near *near, struct row_pair pairs[NEAR_PAIRS_ROOM],
                             uint32_t *first, const struct packed_record *record) {
  enum { BEFORE = 24 }; /* the first of several groups needn't have the lowest location */
  const struct packed_table *table = record->table;
  const uint64_t positions_end = (uint64_t)record->layout * 8;
  const uint64_t start = positions_end + table->frame_width;
  *near = (struct near){.end = pairs};
  if (start >= layouts_end(table))
    return false;
  struct packed_head head = read_head(table, start);
  struct packed_pairs group;
  if ((head.flags | head.derived | head.assignments) == 0) {
    /* As many are. With these constants, the compiler leaves half of the code out. */
    head.flags = head.derived = head.assignments = 0;
    group = head_pairs(table, head, positions_end, record->position);
    *first = group.first;
    return !group.bad && add_near(near, pairs, &group, *first);
  }
  group = head_pairs(table, head, positions_end, record->position);
  *first = group.next_at == 0 ? group.first
                              : group.first - (group.first < BEFORE ? group.first : BEFORE);
  while (!group.bad && add_near(near, pairs, &group, *first)) {
    if (group.next_at == 0)
      return near->numbers < ROW_NEAR;
    const uint64_t next = next_start(table, group.next_at);
    group = group_pairs(table, next, next, record->position);
  }
  return false;
}

bool row_read_moves(struct row_moves *moves, struct row_pair *pairs,
                    const struct packed_record *record) {
  const struct packed_table *table = record->table;
  struct row_pair found[NEAR_PAIRS_ROOM];
  struct near near;
  uint32_t first = 0;
  if (!has_words(table) || !read_near(&near, found, &first, record))
    return false;
  assert(near.numbers < ROW_NEAR);
  places used = near.bases;
  const unsigned count = choose_moves(pairs, &used, found, near.end);
  const uint64_t value = (uint64_t)table->first_class.value + (uint64_t)first * ROW_WORD;
  *moves = (struct row_moves){
      .bases = {(uint64_t)near.bases, (uint64_t)(near.bases >> 64)},
      .value = (int32_t)value,
      .low = used == 0 ? 1 : (uint8_t)lowest(used),
      .high = used == 0 ? 0 : (uint8_t)highest(used),
      .count = (uint8_t)count,
  };
  return (int64_t)value == moves->value &&
         (used == 0 || (uint64_t)first + moves->high < table->first_class_count);
}
