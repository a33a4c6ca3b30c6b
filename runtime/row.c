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
  const struct location location = packed_location(table, first);
  const int64_t word = location.value / ROW_WORD;
  const bool fits = location.value % ROW_WORD == 0 && word == (int16_t)word &&
                    location.reg == (uint8_t)location.reg;
  struct reader reader = {.table = table, .row = row, .first = first};
  if (fits && location.kind == LOCATION_INDIRECT && location.size == ROW_WORD &&
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
static unsigned place_of_other(struct row *row, struct location location) {
  const uint64_t distance =
      (uint64_t)location.value - (uint64_t)((int64_t)row->head.first * ROW_WORD);
  if (location.size != ROW_WORD)
    return ROW_PLACES;
  if (location.kind == LOCATION_INDIRECT && location.reg == row->head.reg &&
      distance % ROW_WORD == 0 && distance / ROW_WORD < ROW_SLOTS)
    return (unsigned)(distance / ROW_WORD);
  if (location.kind != LOCATION_REGISTER || location.value != 0 ||
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
  const struct location *location = &table->first_class;
  return location->kind == LOCATION_INDIRECT && location->size == ROW_WORD &&
         location->reg == STACKPACK_STACK_POINTER && location->value % ROW_WORD == 0 &&
         table->first_class_step == ROW_WORD;
}

/* Bit n is for place n. */
__extension__ typedef unsigned __int128 places;

static inline places place_bit(uint64_t place) {
  assert(place < ROW_NEAR);
  return (places)1 << place;
}

/* Adds the plain slots of a group, whose first location is place `shift`: of words, `room` follow. */
static inline bool add_plain(places *bases, const struct packed_pairs *group, uint64_t shift,
                             uint64_t room) {
  const places plain = live_plain(group);
  if (group->in_order == group->plain) {
    *bases |= plain << shift;
    return plain >> (room - 1) >> 1 == 0;
  }
  for (uint64_t live = (uint64_t)plain; live != 0; live &= live - 1) {
    const uint64_t distance = plain_distance(group, (unsigned)__builtin_ctzll(live));
    if (distance >= room)
      return false;
    *bases |= place_bit(shift + distance);
  }
  return true;
}

/* The places found so far; `derived` has the pairs' derived slots. */
struct near {
  places bases, derived;
  unsigned count;
};

/* Adds the other slots. Whether a slot's base is another one can't be guessed: each pair is
 * written, and counts where it is. Of a location that is derived twice, the first pair counts.
 * (Places are bytes, which the compiler takes for parts of anything: so all else is local.) */
static inline __attribute__((always_inline)) bool add_derived(struct near *near,
                                                              struct row_pair *pairs,
                                                              const struct packed_pairs *group,
                                                              uint64_t shift, uint64_t room) {
  const struct packed_pairs own = *group;
  struct near all = *near;
  for (uint64_t live = own.live & ~live_plain(&own); live != 0; live &= live - 1) {
    const struct packed_distances at = slot_distances(&own, (unsigned)__builtin_ctzll(live));
    if ((at.base >= room) | (at.derived >= room))
      return false;
    const places bit = place_bit(shift + at.derived);
    const bool is_move = (at.base != at.derived) & ((all.derived & bit) == 0);
    pairs[all.count] = (struct row_pair){(uint8_t)(shift + at.base), (uint8_t)(shift + at.derived)};
    all.count += is_move;
    all.derived |= bit & -(places)is_move;
    all.bases |= place_bit(shift + at.base);
  }
  *near = all;
  return true;
}

/* Takes out the derived places that turned out to be bases, too; how many are left. */
static unsigned leave_out_bases(places bases, struct row_pair *pairs, unsigned count) {
  unsigned kept = 0;
  for (unsigned i = 0; i < count; i++) {
    const struct row_pair pair = pairs[i];
    pairs[kept] = pair;
    kept += (bases & place_bit(pair.derived)) == 0;
  }
  return kept;
}

static unsigned lowest(places set) {
  return (uint64_t)set != 0 ? (unsigned)__builtin_ctzll((uint64_t)set)
                            : 64 + (unsigned)__builtin_ctzll((uint64_t)(set >> 64));
}

static unsigned highest(places set) {
  return set >> 64 == 0 ? 63 - (unsigned)__builtin_clzll((uint64_t)set)
                        : ROW_NEAR - 1 - (unsigned)__builtin_clzll((uint64_t)(set >> 64));
}

static struct row_moves moves_of(const struct near *near, int64_t value, unsigned count) {
  const places used = near->bases | near->derived;
  assert(count <= ROW_MOVES_ROOM && count <= near->count);
  return (struct row_moves){
      .bases = {(uint64_t)near->bases, (uint64_t)(near->bases >> 64)},
      .value = (int32_t)value,
      .low = used == 0 ? 1 : (uint8_t)lowest(used),
      .high = used == 0 ? 0 : (uint8_t)highest(used),
      .count = (uint8_t)count,
  };
}

bool row_read_moves(struct row_moves *moves, struct row_pair *pairs,
                    const struct packed_record *record) {
  enum { BEFORE = 24 }; /* the first of several groups needn't have the lowest location */
  const struct packed_table *table = record->table;
  if (!has_words(table))
    return false;
  struct packed_pairs group = layout_pairs(table, record->layout, record->position);
  const uint32_t before = group.first < BEFORE ? group.first : BEFORE;
  const uint32_t first = group.next_at == 0 ? group.first : group.first - before;
  const uint64_t value = (uint64_t)table->first_class.value + (uint64_t)first * ROW_WORD;
  struct near near = {0};
  do {
    const uint32_t shift = group.first - first;
    if (group.bad || shift >= ROW_NEAR || group.first >= table->first_class_count)
      return false;
    const uint32_t words = table->first_class_count - group.first;
    const uint32_t room = words < ROW_NEAR - shift ? words : ROW_NEAR - shift;
    if (!add_plain(&near.bases, &group, shift, room) ||
        !add_derived(&near, pairs, &group, shift, room))
      return false;
  } while (next_group(&group));
  *moves = moves_of(&near, (int64_t)value,
                    near.count == 0 ? 0 : leave_out_bases(near.bases, pairs, near.count));
  return !group.bad && (int64_t)value == moves->value;
}
