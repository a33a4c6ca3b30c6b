/* packed_write_groups.c - cuts a layout's slots into groups, and writes them as packed_live.c draws
 * them.
 *
 * A group has a row for each different set of its slots that are live together. Slots that come and
 * go together have few such rows, so a large function is smallest as several groups. To find them,
 * the slots are ordered: each is live in nearly the same rows as the one before. Then this sequence
 * is cut at the places with the smallest total of groups: the best cuts of the first n slots follow
 * from the best cuts of fewer slots.
 */
#include "format/packed_write_groups.h"
#include "format/array.h"
#include "format/checksum.h"
#include "format/packed_live.h"

#include <assert.h>
#include <stdlib.h>

#define TOO_LARGE ((uint64_t)1 << 60) /* to be a group */

enum {
  SLOTS_MAX = 48,    /* of a group: a row has an assignment, too */
  HEAD_SIZE = 18,    /* in bits, about; */
  EXTENSION = 18,    /* of an extended head; */
  NEXT_SIZE = 20,    /* and the cost of another group, the time to read it included */
  SMALL = 150,       /* a group that stays whole */
  FRUITLESS_MAX = 8, /* slots that may be added to a group in vain */
  /* Of a group of several slots, so that measuring it takes little time. */
  ROWS_MAX = 1024,
  ASSIGNMENTS_MAX = 256
};

/* A group while it is put together. */
struct group {
  uint32_t from, to; /* it has order[from..to) */
  unsigned count;
  uint32_t slots[SLOTS_MAX]; /* in their order */
  uint32_t rows;             /* distinct ones */
  unsigned plain, derived;   /* the slots, apart */
  uint32_t plain_slots[SLOTS_MAX], derived_slots[SLOTS_MAX];
  uint32_t assignments; /* at least 1 */
  uint32_t first, span; /* span: of the plain slots from `first` on, if all have places there */
  unsigned number_width;
  uint64_t size; /* in bits, nearly */
};

struct row_key {
  uint64_t key;
  uint32_t stamp, row;
};

/* One layout on its way. The arrays are in one block of memory, from the first of them on: see
 * open_writer. */
struct groups_writer {
  const struct live_sets *sets;
  struct group group;
  struct row_key *keys; /* a hash table, where only keys with this stamp count */
  uint32_t stamp;
  uint64_t keys_mask;
  uint64_t seed;          /* an odd number that keys are multiplied by */
  uint64_t *live;         /* of each slot: a bit for each row, */
  bool *derived;          /* and whether it has a base other than itself in any */
  uint64_t *best;         /* of the first n slots: the size of their best groups, */
  uint32_t *cuts;         /* and the start of the last of these groups */
  uint32_t *order;        /* the slots in the order of the cuts */
  uint32_t *rows;         /* by row of all slots: the group's row */
  uint32_t *samples;      /* of each of the group's rows: a row of all slots that gives it */
  uint32_t *row_bases;    /* of each of them: each derived slot's base, or NO_BASE, */
  uint32_t *live_derived; /* the number of bases among these, */
  uint32_t *choices;      /* and the assignment that has them */
  uint32_t *most_first;   /* the group's rows, those with most bases first */
  uint32_t *bases;        /* of each assignment: a location for each derived slot, or NO_BASE */
};

static uint32_t base_of(const struct groups_writer *writer, uint32_t slot, uint32_t row) {
  assert(slot < writer->sets->slots && row < writer->sets->rows);
  return writer->sets->bases[(size_t)slot * writer->sets->rows + row];
}

static uint32_t location_of(const struct groups_writer *writer, uint32_t slot) {
  assert(slot < writer->sets->slots);
  return writer->sets->locations[slot];
}

/* ---- Rows ---- */

/* All slots of a layout distinguish all of its rows. */
static void take_all(struct groups_writer *writer) {
  struct group *group = &writer->group;
  assert(writer->sets->are_all && writer->sets->slots <= SLOTS_MAX);
  group->count = writer->sets->slots;
  for (uint32_t slot = 0; slot < group->count; slot++)
    group->slots[slot] = slot;
  group->rows = writer->sets->rows;
  for (uint32_t row = 0; row < group->rows; row++)
    writer->rows[row] = writer->samples[row] = row;
}

static void start_group(struct groups_writer *writer) {
  writer->group.count = writer->group.to = 0;
  writer->group.rows = 1;
  writer->samples[0] = 0;
  memset(writer->rows, 0, writer->sets->rows * sizeof *writer->rows);
}

/* The row that joins a group's row and the base of one more slot. */
static uint32_t refine_row(struct groups_writer *writer, uint32_t row, uint32_t base) {
  const uint64_t key = (uint64_t)writer->rows[row] << 32 | base;
  uint64_t at = (key * writer->seed >> 32) & writer->keys_mask;
  while (writer->keys[at].stamp == writer->stamp && writer->keys[at].key != key)
    at = (at + 1) & writer->keys_mask;
  if (writer->keys[at].stamp != writer->stamp) {
    assert(writer->group.rows < writer->sets->rows);
    writer->samples[writer->group.rows] = row;
    writer->keys[at] = (struct row_key){key, writer->stamp, writer->group.rows++};
  }
  return writer->keys[at].row;
}

/* Adds a slot, and finds the rows anew. */
static void add_slot(struct groups_writer *writer, uint32_t slot) {
  struct group *group = &writer->group;
  assert(group->count < SLOTS_MAX);
  unsigned at = group->count++;
  for (; at > 0 && group->slots[at - 1] > slot; at--)
    group->slots[at] = group->slots[at - 1];
  group->slots[at] = slot;
  group->rows = 0;
  writer->stamp++;
  for (uint32_t row = 0; row < writer->sets->rows; row++)
    writer->rows[row] = refine_row(writer, row, base_of(writer, slot, row));
}

/* ---- Bases ---- */

static void divide_slots(struct groups_writer *writer) {
  struct group *group = &writer->group;
  group->plain = group->derived = 0;
  for (unsigned i = 0; i < group->count; i++)
    if (writer->derived[group->slots[i]])
      group->derived_slots[group->derived++] = group->slots[i];
    else
      group->plain_slots[group->plain++] = group->slots[i];
}

static bool is_too_large(const struct group *group) {
  return group->count > 1 && (group->rows > ROWS_MAX || group->assignments > ASSIGNMENTS_MAX);
}

/* The number of bases that a row and an assignment have in common; -1: they differ somewhere. */
static int common_bases(const uint32_t *row, const uint32_t *assignment, unsigned derived) {
  int common = 0;
  for (unsigned i = 0; i < derived; i++) {
    if (row[i] == NO_BASE || assignment[i] == NO_BASE)
      continue;
    if (row[i] != assignment[i])
      return -1;
    common++;
  }
  return common;
}

/* Finds the assignment that has most in common with a row, or a new one, and adds the row's bases.
 * The rows of a single slot have different bases, so none of them has another's assignment. */
static void assign_row(struct groups_writer *writer, uint32_t row) {
  struct group *group = &writer->group;
  const unsigned derived = group->derived;
  const uint32_t *own = writer->row_bases + (size_t)row * derived;
  const bool is_alone = group->count == 1 && own[0] != NO_BASE;
  assert(!is_too_large(group)); /* open_writer has room for one more */
  uint32_t best = group->assignments;
  int most = -1;
  for (uint32_t i = 0; i < group->assignments && !is_alone; i++) {
    const int common = common_bases(own, writer->bases + (size_t)i * derived, derived);
    if (common > most) {
      most = common;
      best = i;
    }
  }
  uint32_t *bases = writer->bases + (size_t)best * derived;
  for (unsigned i = 0; i < derived; i++)
    if (own[i] != NO_BASE || best == group->assignments)
      bases[i] = own[i];
  group->assignments += best == group->assignments;
  writer->choices[row] = best;
}

/* Orders the group's rows by the number of their derived slots, most first. */
static void order_rows(struct groups_writer *writer) {
  const struct group *group = &writer->group;
  uint32_t ends[SLOTS_MAX + 1] = {0}; /* by number: of the rows with as many or more */
  for (uint32_t row = 0; row < group->rows; row++) {
    assert(writer->live_derived[row] <= group->derived);
    ends[writer->live_derived[row]]++;
  }
  for (unsigned most = group->derived; most-- > 0;)
    ends[most] += ends[most + 1];
  for (uint32_t row = group->rows; row-- > 0;)
    writer->most_first[--ends[writer->live_derived[row]]] = row;
}

/* Finds assignments, starting with the rows that have most derived slots. Stops at too many. */
static void assign_bases(struct groups_writer *writer) {
  struct group *group = &writer->group;
  uint32_t *base = writer->row_bases;
  if (group->derived == 0) {
    group->assignments = 1;
    memset(writer->choices, 0, group->rows * sizeof *writer->choices);
    return;
  }
  for (uint32_t row = 0; row < group->rows; row++) {
    writer->live_derived[row] = 0;
    for (unsigned i = 0; i < group->derived; i++, base++) {
      *base = base_of(writer, group->derived_slots[i], writer->samples[row]);
      writer->live_derived[row] += *base != NO_BASE;
    }
  }
  order_rows(writer);
  group->assignments = 0;
  for (uint32_t i = 0; i < group->rows && !is_too_large(group); i++)
    assign_row(writer, writer->most_first[i]);
}

/* ---- Sizes ---- */

/* Finds the lowest number of the group's locations and bases, and the bits that all of them take
 * from there on. */
static void find_numbers(struct groups_writer *writer) {
  struct group *group = &writer->group;
  uint32_t low = 0, high = 0;
  if (group->count > 0) {
    low = location_of(writer, group->slots[0]);
    high = location_of(writer, group->slots[group->count - 1]);
  }
  for (size_t i = 0; i < (size_t)group->assignments * group->derived; i++) {
    const uint32_t base = writer->bases[i];
    if (base == NO_BASE)
      continue;
    low = base < low ? base : low;
    high = base > high ? base : high;
  }
  assert(low <= high); /* slots are in their locations' order */
  group->first = low;
  group->number_width = high == low ? 1 : bits_for_count((uint64_t)high - low + 1);
}

/* The bits of the numbers of `count` positions: from the last one's field, the first, to their
 * end. */
static uint64_t positions_size(uint32_t count, uint32_t rows) {
  assert(rows > 0);
  return count == 0 ? 0 : -position_field(0, count - 1, rows - 1).at;
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

/* Whether the plain slots' locations differ. */
static bool plain_differ(const struct groups_writer *writer) {
  const struct group *group = &writer->group;
  for (unsigned i = 1; i < group->plain; i++)
    if (location_of(writer, group->plain_slots[i]) ==
        location_of(writer, group->plain_slots[i - 1]))
      return false;
  return true;
}

/* Finds the smallest form of the group. */
static void measure_group(struct groups_writer *writer) {
  struct group *group = &writer->group;
  group->size = TOO_LARGE;
  group->assignments = 0;
  if (is_too_large(group))
    return;
  divide_slots(writer);
  assign_bases(writer);
  if (is_too_large(group))
    return;
  find_numbers(writer);
  group->span = 0;
  group->size = size_with(writer, 0);
  if (group->plain == 0 || !plain_differ(writer))
    return;
  const uint32_t span =
      location_of(writer, group->plain_slots[group->plain - 1]) - group->first + 1;
  assert(span >= group->plain);
  if (span + group->derived > SLOTS_MAX)
    return;
  const uint64_t size = size_with(writer, span);
  if (size <= group->size) {
    group->size = size;
    group->span = span;
  }
}

/* ---- Cutting ---- */

/* The number of rows in which exactly one of two slots is live. */
static uint32_t difference(const uint64_t *a, const uint64_t *b, size_t words) {
  uint32_t bits = 0;
  for (size_t i = 0; i < words; i++)
    bits += (uint32_t)__builtin_popcountll(a[i] ^ b[i]);
  return bits;
}

/* Finds the rows in which slots are live, and the derived slots. */
static void read_slots(struct groups_writer *writer) {
  const uint32_t slots = writer->sets->slots, rows = writer->sets->rows;
  const size_t words = rows / 64 + 1;
  for (uint32_t slot = 0; slot < slots; slot++) {
    const uint32_t location = location_of(writer, slot);
    assert(slot == 0 || location_of(writer, slot - 1) <= location);
    bool derived = location >= writer->sets->location_count;
    for (uint32_t row = 0; row < rows; row++) {
      const uint32_t base = base_of(writer, slot, row);
      if (base != NO_BASE)
        writer->live[slot * words + row / 64] |= (uint64_t)1 << row % 64;
      derived |= base != NO_BASE && base != location;
    }
    writer->derived[slot] = derived;
  }
}

/* Puts each slot after the one that is live in nearly the same rows. */
static void order_slots(struct groups_writer *writer) {
  const uint32_t slots = writer->sets->slots, rows = writer->sets->rows;
  const size_t words = rows / 64 + 1;
  for (uint32_t slot = 0; slot < slots; slot++)
    writer->order[slot] = slot;
  const uint64_t *last = writer->live + slots * words; /* nothing is live */
  for (uint32_t i = 0; i < slots && !writer->sets->is_quick; i++) {
    uint32_t least = UINT32_MAX, best = i;
    for (uint32_t k = i; k < slots; k++) {
      const uint32_t bits = difference(last, writer->live + writer->order[k] * words, words);
      if (bits < least) {
        least = bits;
        best = k;
      }
    }
    const uint32_t slot = writer->order[best];
    memmove(writer->order + i + 1, writer->order + i, (best - i) * sizeof *writer->order);
    writer->order[i] = slot;
    last = writer->live + slot * words;
  }
}

/* Puts order[from..to) together as a group, and measures it. */
static void measure_slots(struct groups_writer *writer, uint32_t from, uint32_t to) {
  if (writer->group.from == from && writer->group.to == to && to > 0)
    return;
  if (writer->sets->are_all && to - from == writer->sets->slots) {
    take_all(writer);
  } else {
    start_group(writer);
    for (uint32_t i = from; i < to; i++)
      add_slot(writer, writer->order[i]);
  }
  measure_group(writer);
  writer->group.from = from;
  writer->group.to = to;
}

/* Finds the best cuts up to each slot. */
static void find_cuts(struct groups_writer *writer) {
  const uint32_t slots = writer->sets->slots;
  writer->best[0] = 0;
  for (uint32_t i = 1; i <= slots; i++)
    writer->best[i] = UINT64_MAX;
  for (uint32_t from = 0; from < slots; from++) {
    unsigned fruitless = 0;
    assert(writer->best[from] != UINT64_MAX); /* a slot by itself can be a group */
    start_group(writer);
    for (uint32_t to = from; to < slots && writer->group.count < SLOTS_MAX; to++) {
      add_slot(writer, writer->order[to]);
      measure_group(writer);
      if (writer->group.size == TOO_LARGE)
        break;
      const uint64_t size = writer->best[from] + writer->group.size + NEXT_SIZE;
      const bool is_better = size < writer->best[to + 1];
      fruitless = is_better ? 0 : fruitless + 1;
      if (fruitless > FRUITLESS_MAX)
        break;
      if (is_better) {
        writer->best[to + 1] = size;
        writer->cuts[to + 1] = from;
      }
    }
  }
}

/* Cuts off as many slots as a group can have, from the last ones on: tries half as many until they
 * can. */
static void cut_at_once(struct groups_writer *writer) {
  uint32_t from, to = writer->sets->slots;
  do {
    uint32_t count = to < SLOTS_MAX ? to : SLOTS_MAX;
    for (measure_slots(writer, to - count, to); writer->group.size == TOO_LARGE && count > 1;) {
      count = (count + 1) / 2;
      measure_slots(writer, to - count, to);
    }
    from = to - count;
    writer->cuts[to] = from;
    to = from;
  } while (to > 0);
}

/* Leaves the slots in one group, if that is small, or as small as several. */
static void choose_cuts(struct groups_writer *writer) {
  const uint32_t slots = writer->sets->slots;
  if (writer->sets->is_quick) {
    cut_at_once(writer);
    return;
  }
  if (slots > SLOTS_MAX) {
    find_cuts(writer);
    return;
  }
  measure_slots(writer, 0, slots);
  const uint64_t size = writer->group.size;
  if (size > SMALL)
    find_cuts(writer);
  if (size <= SMALL || size <= writer->best[slots])
    writer->cuts[slots] = 0;
}

/* ---- Writing ---- */

static void put_number(const struct group *group, uint32_t number, struct bit_writer *bodies) {
  assert(number >= group->first && number - group->first <= bits_low_mask(group->number_width));
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
    const uint32_t *row_bases = writer->row_bases + (size_t)row * group->derived;
    uint64_t bits = 0;
    for (unsigned i = 0; i < group->plain; i++) {
      const uint32_t slot = group->plain_slots[i];
      const unsigned place = group->span > 0 ? location_of(writer, slot) - group->first : i;
      assert(place < plain);
      bits |= (uint64_t)(base_of(writer, slot, writer->samples[row]) != NO_BASE) << place;
    }
    for (unsigned i = 0; i < group->derived; i++)
      bits |= (uint64_t)(row_bases[i] != NO_BASE) << (plain + i);
    bit_writer_put(bodies, bits, plain + group->derived);
    bit_writer_put(bodies, writer->choices[row], bits_for_count(group->assignments));
  }
}

static void put_positions(const struct groups_writer *writer, struct bit_writer *bodies) {
  const struct live_sets *sets = writer->sets;
  for (uint32_t i = sets->positions; i-- > 0 && writer->group.rows > 1;) {
    const uint32_t row = writer->rows[sets->row_of[i]];
    const unsigned width = position_width(i, writer->group.rows - 1);
    assert(sets->row_of[i] < sets->rows && row <= bits_low_mask(width));
    bit_writer_put(bodies, row, width);
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

/* Writes all slots, group by group, from the last group on. */
static bool put_groups(struct groups_writer *writer, struct bit_writer *bodies,
                       struct group_heads *heads) {
  uint32_t from, to = writer->sets->slots;
  do {
    from = writer->cuts[to];
    assert(from < to || to == 0);
    measure_slots(writer, from, to);
    assert(writer->group.size != TOO_LARGE);
    struct group_head head = put_group(writer, bodies);
    head.has_next = from > 0;
    head.is_extended |= head.has_next;
    if (!ARRAY_ADD(heads->items, heads->count, heads->capacity, head))
      return false;
    to = from;
  } while (to > 0);
  return !bodies->failed;
}

/* Makes the arrays in one block of memory: the arrays of the widest items first. The block starts
 * with `keys`, and is to be freed. Keys and live rows start as zeros. */
static bool open_writer(struct groups_writer *writer, const struct live_sets *sets) {
  const size_t slots = (size_t)sets->slots + 1, rows = sets->rows;
  const size_t live_words = slots * (rows / 64 + 1);
  /* A group of one slot has at most as many assignments as rows. */
  const size_t bases = (rows <= ASSIGNMENTS_MAX ? rows : ASSIGNMENTS_MAX + 1) * SLOTS_MAX + rows;
  const size_t row_bases = (rows <= ROWS_MAX ? rows : ROWS_MAX) * SLOTS_MAX + rows;
  size_t keys = 1;
  while (keys < 2 * rows)
    keys *= 2;
  *writer = (struct groups_writer){.sets = sets, .keys_mask = keys - 1, .seed = checksum_seed()};
  writer->keys =
      malloc(keys * sizeof *writer->keys + (live_words + slots) * sizeof(uint64_t) +
             (2 * slots + 5 * rows + bases + row_bases) * sizeof(uint32_t) + slots * sizeof(bool));
  if (writer->keys == NULL)
    return false;
  writer->live = (uint64_t *)(writer->keys + keys);
  writer->best = writer->live + live_words;
  writer->cuts = (uint32_t *)(writer->best + slots);
  writer->order = writer->cuts + slots;
  writer->rows = writer->order + slots;
  writer->samples = writer->rows + rows;
  writer->choices = writer->samples + rows;
  writer->live_derived = writer->choices + rows;
  writer->most_first = writer->live_derived + rows;
  writer->bases = writer->most_first + rows;
  writer->row_bases = writer->bases + bases;
  writer->derived = (bool *)(writer->row_bases + row_bases);
  memset(writer->keys, 0, keys * sizeof *writer->keys + live_words * sizeof *writer->live);
  return true;
}

bool groups_write(const struct live_sets *sets, struct bit_writer *bodies,
                  struct group_heads *heads) {
  struct groups_writer writer;
  assert(sets->rows > 0);
  if (!open_writer(&writer, sets))
    return false;
  read_slots(&writer);
  order_slots(&writer);
  choose_cuts(&writer);
  const bool ok = put_groups(&writer, bodies, heads);
  free(writer.keys);
  return ok;
}
