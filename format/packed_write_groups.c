/* packed_write_groups.c - cuts a layout's slots into groups, and writes them as packed_live.c draws
 * them.
 *
 * A group has a row for each of the sets in which its slots are live together. Neighbours on the
 * stack often come and go together and have few such rows, so a large function is smallest as
 * several groups. The slots, in the order of their locations, are cut where the groups are smallest
 * in all: the best cuts of the first n slots follow from those of fewer slots.
 */
#include "format/packed_write_groups.h"
#include "format/array.h"
#include "format/owned.h"

#include <stdlib.h>

#define TOO_LARGE ((uint64_t)1 << 60) /* to be a group */

enum {
  SLOTS_MAX = 48,     /* of a group: a row has an assignment, too */
  HEAD_SIZE = 18,     /* in bits, about; */
  EXTENSION = 18,     /* of an extended head; */
  NEXT_SIZE = 20,     /* and the cost of another group, the time to read it included */
  FRUITLESS_MAX = 16, /* slots that may be added to a group in vain */
  /* Of a group of several slots, so that measuring it takes little time. */
  ROWS_MAX = 1024,
  ASSIGNMENTS_MAX = 256
};

/* A group while it is put together. */
struct group {
  uint32_t rows;           /* distinct ones */
  unsigned plain, derived; /* how many slots, of which these are in their order: */
  uint32_t plain_slots[SLOTS_MAX], derived_slots[SLOTS_MAX];
  bool has_copies;      /* a location is that of two plain slots */
  uint32_t assignments; /* at least 1 */
  uint32_t first, span; /* span: of the plain slots from `first` on, if all have places there */
  unsigned number_width;
  uint64_t size; /* in bits, nearly */
};

struct row_key {
  uint64_t key;
  uint32_t stamp, row;
};

/* One layout on its way. */
struct groups_writer {
  const struct live_sets *sets;
  struct group group;
  uint64_t best[LIVE_SLOTS_MAX + 1]; /* of the first n slots: the size of their best groups, */
  uint32_t cuts[LIVE_SLOTS_MAX + 1]; /* and where the last of these groups begins */
  struct owned owned;                /* the arrays that follow */
  struct row_key *keys;              /* a hash table, in which only those with this stamp count */
  uint32_t stamp;
  uint64_t keys_mask;
  uint32_t *rows;    /* by row of all slots: the group's row */
  uint32_t *samples; /* of each of the group's rows: a row of all slots that gives it, */
  uint32_t *choices; /* and the assignment that has its bases */
  uint32_t *bases;   /* of each assignment: a location for each derived slot, or NO_BASE */
};

static uint32_t base_of(const struct groups_writer *writer, uint32_t slot, uint32_t row) {
  return writer->sets->bases[(size_t)slot * writer->sets->rows + row];
}

static uint32_t location_of(const struct groups_writer *writer, uint32_t slot) {
  return writer->sets->locations[slot];
}

static unsigned slot_count(const struct group *group) { return group->plain + group->derived; }

/* ---- Slots and rows ---- */

static void start_group(struct groups_writer *writer) {
  writer->group = (struct group){.rows = 1};
  writer->samples[0] = 0;
  memset(writer->rows, 0, writer->sets->rows * sizeof *writer->rows);
}

static bool is_derived(const struct groups_writer *writer, uint32_t slot) {
  const uint32_t location = location_of(writer, slot);
  bool is = location >= writer->sets->location_count;
  for (uint32_t row = 0; row < writer->sets->rows && !is; row++) {
    const uint32_t base = base_of(writer, slot, row);
    is = base != NO_BASE && base != location;
  }
  return is;
}

/* The row in which a group's row and the base of one more slot come together. */
static uint32_t refine_row(struct groups_writer *writer, uint32_t row, uint32_t base) {
  const uint64_t key = (uint64_t)writer->rows[row] << 32 | base;
  uint64_t at = (key * 0x9e3779b97f4a7c15u >> 32) & writer->keys_mask;
  while (writer->keys[at].stamp == writer->stamp && writer->keys[at].key != key)
    at = (at + 1) & writer->keys_mask;
  if (writer->keys[at].stamp != writer->stamp) {
    writer->samples[writer->group.rows] = row;
    writer->keys[at] = (struct row_key){key, writer->stamp, writer->group.rows++};
  }
  return writer->keys[at].row;
}

/* Adds the next slot, and finds the rows anew. */
static void add_slot(struct groups_writer *writer, uint32_t slot) {
  struct group *group = &writer->group;
  if (is_derived(writer, slot)) {
    group->derived_slots[group->derived++] = slot;
  } else {
    group->has_copies |=
        group->plain > 0 &&
        location_of(writer, group->plain_slots[group->plain - 1]) == location_of(writer, slot);
    group->plain_slots[group->plain++] = slot;
  }
  group->rows = 0;
  writer->stamp++;
  for (uint32_t row = 0; row < writer->sets->rows; row++)
    writer->rows[row] = refine_row(writer, row, base_of(writer, slot, row));
}

/* ---- Bases ---- */

/* A derived slot's base in a row of the group. */
static uint32_t derived_base(const struct groups_writer *writer, unsigned derived, uint32_t row) {
  return base_of(writer, writer->group.derived_slots[derived], writer->samples[row]);
}

/* Whether a row's bases and an assignment don't differ where both have one. */
static bool fits(const uint32_t *bases, const uint32_t *assignment, unsigned derived) {
  for (unsigned i = 0; i < derived; i++)
    if (bases[i] != assignment[i] && bases[i] != NO_BASE && assignment[i] != NO_BASE)
      return false;
  return true;
}

/* Adds a row's bases to the first assignment that they fit, or to a new one. */
static void assign_row(struct groups_writer *writer, uint32_t row) {
  struct group *group = &writer->group;
  uint32_t bases[SLOTS_MAX], *assignment = writer->bases, number = 0;
  for (unsigned i = 0; i < group->derived; i++)
    bases[i] = derived_base(writer, i, row);
  for (; number < group->assignments && !fits(bases, assignment, group->derived); number++)
    assignment += group->derived;
  for (unsigned i = 0; i < group->derived; i++)
    if (bases[i] != NO_BASE || number == group->assignments)
      assignment[i] = bases[i];
  group->assignments += number == group->assignments;
  writer->choices[row] = number;
}

static bool is_too_large(const struct group *group) {
  return slot_count(group) > 1 && (group->rows > ROWS_MAX || group->assignments > ASSIGNMENTS_MAX);
}

/* ---- Sizes ---- */

static void include(uint32_t number, uint32_t *low, uint32_t *high) {
  *low = number < *low ? number : *low;
  *high = number > *high ? number : *high;
}

/* Finds the lowest number of the group's locations and bases, and how many bits all of them take
 * from there on. */
static void find_numbers(struct groups_writer *writer) {
  struct group *group = &writer->group;
  uint32_t low = UINT32_MAX, high = 0;
  for (unsigned i = 0; i < group->plain; i++)
    include(location_of(writer, group->plain_slots[i]), &low, &high);
  for (unsigned i = 0; i < group->derived; i++)
    include(location_of(writer, group->derived_slots[i]), &low, &high);
  for (size_t i = 0; i < (size_t)group->assignments * group->derived; i++)
    if (writer->bases[i] != NO_BASE)
      include(writer->bases[i], &low, &high);
  group->first = low == UINT32_MAX ? 0 : low;
  group->number_width = high <= low ? 1 : bits_for_count((uint64_t)high - low + 1);
}

/* The bits of the numbers of `count` positions. */
static uint64_t positions_size(uint64_t count, uint64_t rows) {
  if (count == 0)
    return 0;
  const unsigned most = bits_for_count(rows), up_to = bits_for_count(count);
  const unsigned width = up_to < most ? up_to : most;
  return (count - 1) * width - bits_low_mask(width) + width;
}

/* The group's size with its plain slots in order from `first` on (span > 0), or with a number for
 * each. */
static uint64_t size_with(const struct groups_writer *writer, uint32_t span) {
  const struct group *group = &writer->group;
  const uint64_t plain = span > 0 ? span : group->plain, slots = plain + group->derived;
  const uint64_t numbers = (span > 0 ? 0 : plain) + group->derived;
  if (slots + bits_for_count(group->assignments) > PACKED_ROW_MAX)
    return TOO_LARGE;
  return HEAD_SIZE + (numbers > 0 ? EXTENSION : 0) +
         (numbers + (uint64_t)group->assignments * group->derived) * group->number_width +
         group->rows * (slots + bits_for_count(group->assignments)) +
         positions_size(writer->sets->positions, group->rows);
}

/* Finds how the group is smallest. */
static void measure_group(struct groups_writer *writer) {
  struct group *group = &writer->group;
  group->size = TOO_LARGE;
  group->assignments = 0;
  for (uint32_t row = 0; row < group->rows && !is_too_large(group); row++)
    assign_row(writer, row);
  if (is_too_large(group))
    return;
  find_numbers(writer);
  group->span = 0;
  group->size = size_with(writer, 0);
  if (group->plain == 0 || group->has_copies)
    return;
  const uint32_t span =
      location_of(writer, group->plain_slots[group->plain - 1]) - group->first + 1;
  if (span + group->derived > SLOTS_MAX)
    return;
  const uint64_t size = size_with(writer, span);
  if (size <= group->size) {
    group->size = size;
    group->span = span;
  }
}

/* ---- Cutting ---- */

/* Finds the best cuts up to each slot. */
static void find_cuts(struct groups_writer *writer) {
  const uint32_t slots = writer->sets->slots;
  for (uint32_t i = 1; i <= slots; i++)
    writer->best[i] = UINT64_MAX;
  for (uint32_t from = 0; from < slots; from++) {
    unsigned fruitless = 0;
    start_group(writer);
    for (uint32_t to = from; to < slots && to - from < SLOTS_MAX && fruitless <= FRUITLESS_MAX;
         to++) {
      add_slot(writer, to);
      measure_group(writer);
      if (writer->group.size == TOO_LARGE)
        break;
      const uint64_t size = writer->best[from] + writer->group.size + NEXT_SIZE;
      fruitless++;
      if (size < writer->best[to + 1]) {
        writer->best[to + 1] = size;
        writer->cuts[to + 1] = from;
        fruitless = 0;
      }
    }
  }
}

/* ---- Writing ---- */

static void put_number(const struct group *group, uint32_t number, struct bit_writer *bodies) {
  bit_writer_put(bodies, number - group->first, group->number_width);
}

static void put_numbers(const struct groups_writer *writer, struct bit_writer *bodies) {
  const struct group *group = &writer->group;
  for (unsigned i = 0; i < group->plain && group->span == 0; i++)
    put_number(group, location_of(writer, group->plain_slots[i]), bodies);
  for (unsigned i = 0; i < group->derived; i++)
    put_number(group, location_of(writer, group->derived_slots[i]), bodies);
  for (size_t i = 0; i < (size_t)group->assignments * group->derived; i++)
    put_number(group, writer->bases[i] == NO_BASE ? group->first : writer->bases[i], bodies);
}

static void put_rows(const struct groups_writer *writer, unsigned plain,
                     struct bit_writer *bodies) {
  const struct group *group = &writer->group;
  for (uint32_t row = 0; row < group->rows; row++) {
    uint64_t bits = 0;
    for (unsigned i = 0; i < group->plain; i++) {
      const uint32_t slot = group->plain_slots[i];
      const unsigned place = group->span > 0 ? location_of(writer, slot) - group->first : i;
      bits |= (uint64_t)(base_of(writer, slot, writer->samples[row]) != NO_BASE) << place;
    }
    for (unsigned i = 0; i < group->derived; i++)
      bits |= (uint64_t)(derived_base(writer, i, row) != NO_BASE) << (plain + i);
    bit_writer_put(bodies, bits, plain + group->derived);
    bit_writer_put(bodies, writer->choices[row], bits_for_count(group->assignments));
  }
}

static void put_positions(const struct groups_writer *writer, struct bit_writer *bodies) {
  const struct live_sets *sets = writer->sets;
  const unsigned most = bits_for_count(writer->group.rows);
  for (uint32_t i = sets->positions; i-- > 0 && most > 0;) {
    const unsigned up_to = bits_for_count((uint64_t)i + 1);
    bit_writer_put(bodies, writer->rows[sets->row_of[i]], up_to < most ? up_to : most);
  }
}

/* Writes the group that is put together. */
static struct group_head put_group(const struct groups_writer *writer, struct bit_writer *bodies) {
  const struct group *group = &writer->group;
  const unsigned plain = group->span > 0 ? group->span : group->plain;
  const bool is_scattered = group->span == 0 && group->plain > 0;
  put_positions(writer, bodies);
  const uint64_t positions_end = bodies->size;
  put_numbers(writer, bodies);
  put_rows(writer, plain, bodies);
  return (struct group_head){
      .fields = {group->first, plain, group->rows - 1, group->derived, group->assignments - 1},
      .is_extended = group->derived > 0 || is_scattered,
      .is_scattered = is_scattered,
      .number_width = group->number_width,
      .positions_end = positions_end,
      .end = bodies->size,
  };
}

/* Writes all slots as they are cut, from the last group on. */
static bool put_groups(struct groups_writer *writer, struct bit_writer *bodies,
                       struct group_heads *heads) {
  uint32_t to = writer->sets->slots;
  do {
    const uint32_t from = writer->cuts[to];
    start_group(writer);
    while (from + slot_count(&writer->group) < to)
      add_slot(writer, from + slot_count(&writer->group));
    measure_group(writer);
    struct group_head head = put_group(writer, bodies);
    head.has_next = from > 0;
    head.is_extended |= head.has_next;
    if (!ARRAY_ADD(heads->items, heads->count, heads->capacity, head))
      return false;
    to = from;
  } while (to > 0);
  return !bodies->failed;
}

static bool open_writer(struct groups_writer *writer, const struct live_sets *sets) {
  const size_t rows = sets->rows;
  /* A group of one slot has at most as many assignments as rows. */
  const size_t bases = (rows <= ASSIGNMENTS_MAX ? rows : ASSIGNMENTS_MAX + 1) * SLOTS_MAX + rows;
  size_t keys = 1;
  while (keys < 2 * rows)
    keys *= 2;
  *writer = (struct groups_writer){.sets = sets, .keys_mask = keys - 1};
  writer->keys = owned_array(&writer->owned, keys, sizeof *writer->keys);
  writer->rows = owned_array(&writer->owned, rows, sizeof *writer->rows);
  writer->samples = owned_array(&writer->owned, rows, sizeof *writer->samples);
  writer->choices = owned_array(&writer->owned, rows, sizeof *writer->choices);
  writer->bases = owned_array(&writer->owned, bases, sizeof *writer->bases);
  return !writer->owned.failed;
}

bool groups_write(const struct live_sets *sets, struct bit_writer *bodies,
                  struct group_heads *heads) {
  struct groups_writer writer;
  bool ok = open_writer(&writer, sets);
  if (ok) {
    find_cuts(&writer);
    ok = put_groups(&writer, bodies, heads);
  }
  owned_free(&writer.owned);
  return ok;
}
