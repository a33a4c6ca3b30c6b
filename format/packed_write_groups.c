/* packed_write_groups.c - cuts a layout's slots into groups, and writes them as packed_live.c draws them.
 *
 * A group has a row for each of the sets in which its slots are live together. Slots that come and go
 * together have few such rows, so a large function is smallest as several groups. To find them, the slots
 * are put in an order in which each is live in nearly the same rows as the one before. Then this sequence
 * is cut where the groups are smallest in all: the best cuts of the first n slots follow from those of
 * fewer slots.
 */
#include "format/packed_write_groups.h"
#include "format/array.h"

#include <stdlib.h>

#define TOO_LARGE ((uint64_t)1 << 60) /* to be a group */

enum {
  SLOTS_MAX = 48,    /* of a group: a row has an assignment, too */
  HEAD_SIZE = 18,    /* in bits, about; */
  EXTENSION = 18,    /* of an extended head; */
  NEXT_SIZE = 20,    /* and what another group costs, the time to read it included */
  SMALL = 150,       /* a group that isn't cut */
  FRUITLESS_MAX = 8, /* slots that may be added to a group in vain */
  /* Of a group of several slots, so that it takes little time to find out what it takes. */
  ROWS_MAX = 1024,
  ASSIGNMENTS_MAX = 256
};

/* A group while it is put together. */
struct group {
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

struct groups_writer {
  struct group group;
  struct row_key *keys; /* a hash table, in which only those with this stamp count */
  uint32_t stamp;
  uint64_t keys_mask;
  uint32_t *rows;    /* by row of all slots: the group's row */
  uint32_t *samples; /* of each of the group's rows: a row of all slots that gives it */
  uint32_t *choices; /* of each of them its assignment */
  uint32_t *bases;   /* of each assignment: a location for each derived slot, or NO_BASE */
  uint32_t *order, *cuts;
  uint64_t *best;
  uint64_t *live; /* of each slot: a bit for each row */
  struct written_group *written;
  size_t keys_capacity, rows_capacity, samples_capacity, choices_capacity, bases_capacity,
      order_capacity, cuts_capacity, best_capacity, live_capacity, written_capacity;
  size_t written_count;
};

static uint32_t base_of(const struct live_sets *sets, uint32_t slot, uint32_t row) {
  return sets->bases[(size_t)slot * sets->rows + row];
}

/* ---- Rows ---- */

static void start_group(struct groups_writer *writer, const struct live_sets *sets) {
  writer->group.count = 0;
  writer->group.rows = 1;
  writer->samples[0] = 0;
  memset(writer->rows, 0, sets->rows * sizeof *writer->rows);
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

/* Adds a slot, and finds the rows anew. */
static void add_slot(struct groups_writer *writer, const struct live_sets *sets, uint32_t slot) {
  struct group *group = &writer->group;
  unsigned at = group->count++;
  for (; at > 0 && group->slots[at - 1] > slot; at--)
    group->slots[at] = group->slots[at - 1];
  group->slots[at] = slot;
  group->rows = 0;
  writer->stamp++;
  for (uint32_t row = 0; row < sets->rows; row++)
    writer->rows[row] = refine_row(writer, row, base_of(sets, slot, row));
}

/* ---- Bases ---- */

static void divide_slots(struct groups_writer *writer, const struct live_sets *sets) {
  struct group *group = &writer->group;
  group->plain = group->derived = 0;
  for (unsigned i = 0; i < group->count; i++) {
    const uint32_t slot = group->slots[i];
    bool is_derived = sets->locations[slot] >= sets->location_count;
    for (uint32_t row = 0; row < group->rows && !is_derived; row++) {
      const uint32_t base = base_of(sets, slot, writer->samples[row]);
      is_derived = base != NO_BASE && base != sets->locations[slot];
    }
    if (is_derived)
      group->derived_slots[group->derived++] = slot;
    else
      group->plain_slots[group->plain++] = slot;
  }
}

/* How many bases a row and an assignment have in common; -1: they differ somewhere. */
static int common_bases(const struct groups_writer *writer, const struct live_sets *sets,
                        uint32_t row, const uint32_t *bases) {
  const struct group *group = &writer->group;
  int common = 0;
  for (unsigned i = 0; i < group->derived; i++) {
    const uint32_t base = base_of(sets, group->derived_slots[i], writer->samples[row]);
    if (base == NO_BASE || bases[i] == NO_BASE)
      continue;
    if (base != bases[i])
      return -1;
    common++;
  }
  return common;
}

/* Finds the assignment that has most in common with a row, or a new one, and adds the row's bases. */
static bool assign_row(struct groups_writer *writer, const struct live_sets *sets, uint32_t row) {
  struct group *group = &writer->group;
  const unsigned derived = group->derived;
  uint32_t best = group->assignments;
  int most = -1;
  for (uint32_t i = 0; i < group->assignments; i++) {
    const int common = common_bases(writer, sets, row, writer->bases + (size_t)i * derived);
    if (common > most) {
      most = common;
      best = i;
    }
  }
  if (!array_make_room((void **)&writer->bases, &writer->bases_capacity,
                       (size_t)(best + 1) * derived, sizeof *writer->bases))
    return false;
  uint32_t *bases = writer->bases + (size_t)best * derived;
  for (unsigned i = 0; i < derived; i++) {
    const uint32_t base = base_of(sets, group->derived_slots[i], writer->samples[row]);
    if (base != NO_BASE || best == group->assignments)
      bases[i] = base;
  }
  group->assignments += best == group->assignments;
  writer->choices[row] = best;
  return true;
}

static bool is_too_large(const struct group *group) {
  return group->count > 1 && (group->rows > ROWS_MAX || group->assignments > ASSIGNMENTS_MAX);
}

/* Finds assignments, starting with the rows that have most derived slots. Stops if they are too many. */
static bool assign_bases(struct groups_writer *writer, const struct live_sets *sets) {
  struct group *group = &writer->group;
  group->assignments = 0;
  for (unsigned most = group->derived + 1; most-- > 0;)
    for (uint32_t row = 0; row < group->rows && !is_too_large(group); row++) {
      unsigned live = 0;
      for (unsigned i = 0; i < group->derived; i++)
        live += base_of(sets, group->derived_slots[i], writer->samples[row]) != NO_BASE;
      if (live == most && !assign_row(writer, sets, row))
        return false;
    }
  return true;
}

/* ---- Locations ---- */

/* The locations of a group from the lowest to the highest one. */
struct range {
  uint32_t low, high;
};

static struct range range_of(const struct groups_writer *writer, const struct live_sets *sets) {
  const struct group *group = &writer->group;
  if (group->count == 0)
    return (struct range){0, 0};
  struct range range = {sets->locations[group->slots[0]],
                        sets->locations[group->slots[group->count - 1]]};
  for (size_t i = 0; i < (size_t)group->assignments * group->derived; i++) {
    const uint32_t base = writer->bases[i];
    if (base == NO_BASE)
      continue;
    range.low = base < range.low ? base : range.low;
    range.high = base > range.high ? base : range.high;
  }
  return range;
}

/* The bits of the numbers of `count` positions. */
static uint64_t positions_size(uint64_t count, uint64_t rows) {
  if (count == 0)
    return 0;
  const unsigned most = bits_for_count(rows), up_to = bits_for_count(count);
  const unsigned width = up_to < most ? up_to : most;
  return (count - 1) * width - bits_low_mask(width) + width;
}

/* What the group takes with its plain slots in order from `first` on (span > 0), or with a number for
 * each. */
static uint64_t size_with(const struct group *group, const struct live_sets *sets, uint32_t span) {
  const uint64_t plain = span > 0 ? span : group->plain, slots = plain + group->derived;
  const uint64_t numbers = (span > 0 ? 0 : plain) + group->derived;
  if (slots + bits_for_count(group->assignments) > PACKED_ROW_MAX)
    return TOO_LARGE;
  return HEAD_SIZE + (numbers > 0 ? EXTENSION : 0) +
         (numbers + (uint64_t)group->assignments * group->derived) * group->number_width +
         group->rows * (slots + bits_for_count(group->assignments)) +
         positions_size(sets->positions, group->rows);
}

/* Whether the plain slots' locations differ. */
static bool plain_differ(const struct group *group, const struct live_sets *sets) {
  for (unsigned i = 1; i < group->plain; i++)
    if (sets->locations[group->plain_slots[i]] == sets->locations[group->plain_slots[i - 1]])
      return false;
  return true;
}

/* Finds how the group is smallest. */
static bool measure_group(struct groups_writer *writer, const struct live_sets *sets) {
  struct group *group = &writer->group;
  group->size = TOO_LARGE;
  group->assignments = 0;
  if (is_too_large(group))
    return true;
  divide_slots(writer, sets);
  if (!assign_bases(writer, sets))
    return false;
  if (is_too_large(group))
    return true;
  const struct range range = range_of(writer, sets);
  const unsigned width = bits_for_count((uint64_t)range.high - range.low + 1);
  group->first = range.low;
  group->number_width = width == 0 ? 1 : width;
  group->span = 0;
  group->size = size_with(group, sets, 0);
  if (group->plain == 0 || !plain_differ(group, sets))
    return true;
  const uint32_t last = sets->locations[group->plain_slots[group->plain - 1]];
  if (last - range.low + group->derived >= SLOTS_MAX)
    return true;
  const uint64_t size = size_with(group, sets, last - range.low + 1);
  if (size <= group->size) {
    group->size = size;
    group->span = last - range.low + 1;
  }
  return true;
}

/* ---- Cutting ---- */

/* In how many rows one of two slots is live, but not the other. */
static uint32_t difference(const uint64_t *a, const uint64_t *b, size_t words) {
  uint32_t bits = 0;
  for (size_t i = 0; i < words; i++)
    bits += (uint32_t)__builtin_popcountll(a[i] ^ b[i]);
  return bits;
}

/* Puts each slot behind the one that is live in nearly the same rows. */
static void order_slots(struct groups_writer *writer, const struct live_sets *sets) {
  const size_t words = sets->rows / 64 + 1;
  uint64_t *live = writer->live;
  memset(live, 0, words * (sets->slots + 1) * sizeof *live);
  for (uint32_t slot = 0; slot < sets->slots; slot++) {
    writer->order[slot] = slot;
    for (uint32_t row = 0; row < sets->rows; row++)
      if (base_of(sets, slot, row) != NO_BASE)
        live[slot * words + row / 64] |= (uint64_t)1 << row % 64;
  }
  const uint64_t *last = live + sets->slots * words; /* nothing is live */
  for (uint32_t i = 0; i < sets->slots; i++) {
    uint32_t least = UINT32_MAX, best = i;
    for (uint32_t k = i; k < sets->slots; k++) {
      const uint32_t bits = difference(last, live + writer->order[k] * words, words);
      if (bits < least) {
        least = bits;
        best = k;
      }
    }
    const uint32_t slot = writer->order[best];
    memmove(writer->order + i + 1, writer->order + i, (best - i) * sizeof *writer->order);
    writer->order[i] = slot;
    last = live + slot * words;
  }
}

/* Finds what the best cuts up to each slot are. */
static bool find_cuts(struct groups_writer *writer, const struct live_sets *sets) {
  writer->best[0] = 0;
  for (uint32_t i = 1; i <= sets->slots; i++)
    writer->best[i] = UINT64_MAX;
  for (uint32_t from = 0; from < sets->slots; from++) {
    unsigned fruitless = 0;
    start_group(writer, sets);
    for (uint32_t to = from; to < sets->slots && writer->group.count < SLOTS_MAX; to++) {
      add_slot(writer, sets, writer->order[to]);
      if (!measure_group(writer, sets))
        return false;
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
  return true;
}

/* ---- Writing ---- */

static void put_numbers(const struct group *group, const struct live_sets *sets,
                        struct bit_writer *bodies) {
  for (unsigned i = 0; i < group->plain && group->span == 0; i++)
    bit_writer_put(bodies, sets->locations[group->plain_slots[i]] - group->first,
                   group->number_width);
  for (unsigned i = 0; i < group->derived; i++)
    bit_writer_put(bodies, sets->locations[group->derived_slots[i]] - group->first,
                   group->number_width);
}

static void put_assignments(const struct groups_writer *writer, struct bit_writer *bodies) {
  const struct group *group = &writer->group;
  for (size_t i = 0; i < (size_t)group->assignments * group->derived; i++)
    bit_writer_put(bodies, writer->bases[i] == NO_BASE ? 0 : writer->bases[i] - group->first,
                   group->number_width);
}

static void put_rows(const struct groups_writer *writer, const struct live_sets *sets,
                     struct bit_writer *bodies) {
  const struct group *group = &writer->group;
  const unsigned plain = group->span > 0 ? group->span : group->plain;
  for (uint32_t row = 0; row < group->rows; row++) {
    const uint32_t sample = writer->samples[row];
    uint64_t bits = 0;
    for (unsigned i = 0; i < group->plain; i++) {
      const uint32_t slot = group->plain_slots[i];
      const unsigned place = group->span > 0 ? sets->locations[slot] - group->first : i;
      bits |= (uint64_t)(base_of(sets, slot, sample) != NO_BASE) << place;
    }
    for (unsigned i = 0; i < group->derived; i++)
      bits |= (uint64_t)(base_of(sets, group->derived_slots[i], sample) != NO_BASE) << (plain + i);
    bit_writer_put(bodies, bits, plain + group->derived);
    bit_writer_put(bodies, writer->choices[row], bits_for_count(group->assignments));
  }
}

static void put_positions(const struct groups_writer *writer, const struct live_sets *sets,
                          struct bit_writer *bodies) {
  const unsigned most = bits_for_count(writer->group.rows);
  for (uint32_t i = 0; i < sets->positions && most > 0; i++) {
    const unsigned up_to = bits_for_count((uint64_t)i + 1);
    bit_writer_put(bodies, writer->rows[sets->row_of[i]], up_to < most ? up_to : most);
  }
}

/* Writes the group that is put together. */
static bool put_group(struct groups_writer *writer, const struct live_sets *sets,
                      struct bit_writer *bodies) {
  struct group *group = &writer->group;
  if (!measure_group(writer, sets) ||
      !array_make_room((void **)&writer->written, &writer->written_capacity,
                       writer->written_count + 1, sizeof *writer->written))
    return false;
  const unsigned plain = group->span > 0 ? group->span : group->plain;
  const bool is_scattered = group->span == 0 && group->plain > 0;
  put_numbers(group, sets, bodies);
  put_assignments(writer, bodies);
  put_rows(writer, sets, bodies);
  put_positions(writer, sets, bodies);
  writer->written[writer->written_count++] = (struct written_group){
      .fields = {group->first, plain, group->rows - 1, group->derived, group->assignments - 1},
      .is_extended = group->derived > 0 || is_scattered,
      .is_scattered = is_scattered,
      .number_width = group->number_width,
      .end = bodies->size,
  };
  return !bodies->failed;
}

/* Writes order[from..to) as a group. */
static bool put_slots(struct groups_writer *writer, const struct live_sets *sets, uint32_t from,
                      uint32_t to, struct bit_writer *bodies) {
  start_group(writer, sets);
  for (uint32_t i = from; i < to; i++)
    add_slot(writer, sets, writer->order[i]);
  return put_group(writer, sets, bodies);
}

/* Writes all slots as they are cut, from the last group on. */
static bool put_cuts(struct groups_writer *writer, const struct live_sets *sets,
                     struct bit_writer *bodies) {
  uint32_t to = sets->slots;
  do {
    const uint32_t from = to == 0 ? 0 : writer->cuts[to];
    if (!put_slots(writer, sets, from, to, bodies))
      return false;
    to = from;
  } while (to > 0);
  return true;
}

static bool make_room(struct groups_writer *writer, const struct live_sets *sets) {
  const size_t slots = (size_t)sets->slots + 1, rows = sets->rows;
  const size_t words = slots * (rows / 64 + 1), keys = writer->keys_capacity;
  size_t table = 1;
  while (table < 2 * rows)
    table *= 2;
  writer->keys_mask = table - 1;
  const bool ok =
      array_make_room((void **)&writer->keys, &writer->keys_capacity, table,
                      sizeof *writer->keys) &&
      array_make_room((void **)&writer->rows, &writer->rows_capacity, rows, sizeof *writer->rows) &&
      array_make_room((void **)&writer->samples, &writer->samples_capacity, rows,
                      sizeof *writer->samples) &&
      array_make_room((void **)&writer->choices, &writer->choices_capacity, rows,
                      sizeof *writer->choices) &&
      array_make_room((void **)&writer->bases, &writer->bases_capacity, 1, sizeof *writer->bases) &&
      array_make_room((void **)&writer->order, &writer->order_capacity, slots,
                      sizeof *writer->order) &&
      array_make_room((void **)&writer->cuts, &writer->cuts_capacity, slots,
                      sizeof *writer->cuts) &&
      array_make_room((void **)&writer->best, &writer->best_capacity, slots,
                      sizeof *writer->best) &&
      array_make_room((void **)&writer->live, &writer->live_capacity, words, sizeof *writer->live);
  if (ok && writer->keys_capacity != keys)
    memset(writer->keys, 0, writer->keys_capacity * sizeof *writer->keys);
  return ok;
}

size_t groups_write(struct groups_writer *writer, const struct live_sets *sets,
                    struct bit_writer *bodies, const struct written_group **groups) {
  writer->written_count = 0;
  if (!make_room(writer, sets))
    return 0;
  order_slots(writer, sets);
  bool is_whole = sets->slots <= SLOTS_MAX;
  uint64_t size = UINT64_MAX;
  if (is_whole) {
    start_group(writer, sets);
    for (uint32_t slot = 0; slot < sets->slots; slot++)
      add_slot(writer, sets, slot);
    if (!measure_group(writer, sets))
      return 0;
    size = writer->group.size;
  }
  if (size > SMALL) {
    if (!find_cuts(writer, sets))
      return 0;
    is_whole = is_whole && size <= writer->best[sets->slots];
  }
  const bool ok =
      is_whole ? put_slots(writer, sets, 0, sets->slots, bodies) : put_cuts(writer, sets, bodies);
  *groups = writer->written;
  return ok ? writer->written_count : 0;
}

struct groups_writer *groups_writer_open(void) {
  return calloc(1, sizeof(struct groups_writer));
}

void groups_writer_close(struct groups_writer *writer) {
  if (writer == NULL)
    return;
  free(writer->keys);
  free(writer->rows);
  free(writer->samples);
  free(writer->choices);
  free(writer->bases);
  free(writer->order);
  free(writer->cuts);
  free(writer->best);
  free(writer->live);
  free(writer->written);
  free(writer);
}
