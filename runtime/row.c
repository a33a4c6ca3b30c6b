/* row.c - reads live sets as rows: see row.h. */
#include "runtime/row.h"

#include "format/packed_live.h"

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
