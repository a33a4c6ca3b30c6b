/* packed_live.h - reads groups and their rows, as packed_live.c draws them, in line: a visit of all
 * pairs keeps the fields at hand.
 *
 * A group is read without a branch, unless its head is long: missing fields have the value 0.
 */
#ifndef STACKPACK_PACKED_LIVE_H
#define STACKPACK_PACKED_LIVE_H

#include "format/packed.h"

/* ---- Groups ---- */

static inline uint64_t layouts_end(const struct packed_table *table) {
  return table->layouts_size * 8;
}

/* The head of a group, and its end. */
struct packed_head {
  uint64_t end;
  uint32_t first, plain, rows;          /* rows, and assignments: less 1 */
  uint32_t derived, assignments, flags; /* 0 without the extension */
};
enum { HEAD_IS_SCATTERED = 1, HEAD_HAS_NEXT = 2, HEAD_NUMBER_WIDTH_AT = 2 };

/* The same with long fields. */
struct packed_head packed_long_head(const struct packed_table *table, uint64_t at);

static inline uint32_t take_bits(uint64_t *bits, unsigned width) {
  const uint64_t field = *bits & bits_low_mask(width);
  *bits >>= width;
  return (uint32_t)field;
}

static inline struct packed_head read_head(const struct packed_table *table, uint64_t at) {
  assert(at < layouts_end(table));
  uint64_t bits = bits_from(table->layouts, at);
  struct packed_head head;
  head.first = (uint32_t)bits & table->first_mask;
  bits >>= table->first_width;
  const uint64_t is_extended =
      -(uint64_t)take_bits(&bits, PACKED_EXTENDED_WIDTH); /* all ones, or 0 */
  head.plain = take_bits(&bits, PACKED_PLAIN_WIDTH);
  head.rows = take_bits(&bits, PACKED_ROWS_WIDTH);
  bits &= is_extended;
  head.flags = take_bits(&bits, PACKED_FLAGS_WIDTH);
  head.derived = take_bits(&bits, PACKED_DERIVED_WIDTH);
  head.assignments = take_bits(&bits, PACKED_ASSIGNMENTS_WIDTH);
  head.end = at + table->first_width + PACKED_HEAD_WIDTH + (PACKED_EXTENSION_WIDTH & is_extended);
  if (__builtin_expect(head.plain == PACKED_PLAIN_LONG, 0))
    head = packed_long_head(table, at);
  return head;
}

/* The places of a group's fields. */
struct packed_group {
  unsigned number_width;
  uint64_t slots, in_order; /* in_order: so many plain ones have no number */
  uint64_t row_width;
  uint64_t next_at; /* 0: there is no next group */
  uint64_t numbers_at, bases_at, rows_at, end;
};

static inline __attribute__((always_inline)) struct packed_group
read_group(const struct packed_table *table, const struct packed_head *head) {
  struct packed_group group;
  const uint64_t has_next = -(uint64_t)(head->flags >> 1 & 1), derived = head->derived;
  group.number_width = head->flags >> HEAD_NUMBER_WIDTH_AT;
  group.slots = head->plain + derived;
  group.in_order = head->plain & ((uint64_t)(head->flags & HEAD_IS_SCATTERED) - 1);
  group.next_at = head->end & has_next;
  group.numbers_at = head->end + (table->next_width & has_next);
  group.bases_at = group.numbers_at + (group.slots - group.in_order) * group.number_width;
  group.rows_at =
      group.bases_at + ((uint64_t)head->assignments + 1) * (derived * group.number_width);
  group.row_width = group.slots + bits_for_number(head->assignments);
  group.end = group.rows_at + ((uint64_t)head->rows + 1) * group.row_width;
  return group;
}

/* The start of the next group, by the distance at a bit; UINT64_MAX: the table is broken. */
static inline uint64_t next_start(const struct packed_table *table, uint64_t at) {
  const uint64_t distance = bits_from(table->layouts, at) & table->next_mask;
  return distance == 0 ? UINT64_MAX : at + distance;
}

/* ---- Pairs ---- */

/* A slot's location and its base's, as distances from the group's first location. */
struct packed_distances {
  uint64_t base, derived;
};

struct packed_field {
  uint64_t at;
  unsigned width;
};

static inline struct packed_pairs broken_pairs(const struct packed_table *table) {
  return (struct packed_pairs){.table = table, .bad = true};
}

/* The bits of the number of a position's row. Rows are numbered as they first come, so position p
 * has one of the first p + 1, and its number takes no more bits than that. */
static inline unsigned position_width(uint32_t position, uint32_t rows) {
  const unsigned most = bits_for_number(rows), up_to = bits_for_number(position);
  return up_to < most ? up_to : most;
}

/* That field. The fields of all positions end at the bit `positions_end`, position 0's as the last
 * one. */
static inline __attribute__((always_inline)) struct packed_field
position_field(uint64_t positions_end, uint32_t position, uint32_t rows) {
  const unsigned width = position_width(position, rows);
  const uint64_t all = ((uint64_t)position + 1) * width - (((uint64_t)1 << width) - 1);
  return (struct packed_field){positions_end - all, width};
}

/* The pairs of the group with a head: its live slots at a position, whose field is before the bit
 * `positions_end`. */
static inline __attribute__((always_inline)) struct packed_pairs
head_pairs(const struct packed_table *table, struct packed_head head, uint64_t positions_end,
           uint32_t position) {
  const uint64_t end = layouts_end(table);
  const struct packed_field field = position_field(positions_end, position, head.rows);
  const struct packed_group group = read_group(table, &head);
  if ((group.row_width > PACKED_ROW_MAX) | (field.at > end) | (group.end > end))
    return broken_pairs(table);
  const uint64_t row = bits_at(table->layouts, field.at, field.width);
  if (row > head.rows)
    return broken_pairs(table);
  const uint64_t bits =
      bits_at(table->layouts, group.rows_at + row * group.row_width, (unsigned)group.row_width);
  const uint64_t assignment = bits >> group.slots;
  if (assignment > head.assignments)
    return broken_pairs(table);
  const uint64_t assignment_fields = assignment * head.derived - head.plain;
  return (struct packed_pairs){
      .table = table,
      .live = bits & (((uint64_t)1 << group.slots) - 1),
      .numbers_at = group.numbers_at - group.in_order * group.number_width,
      .bases_at = group.bases_at + assignment_fields * group.number_width,
      .next_at = group.next_at,
      .first = head.first,
      .plain = head.plain,
      .in_order = group.in_order,
      .position = position,
      .number_mask = ((uint64_t)1 << group.number_width) - 1,
      .number_width = group.number_width,
  };
}

/* The same of the group at a bit of the part. */
static inline __attribute__((always_inline)) struct packed_pairs
group_pairs(const struct packed_table *table, uint64_t start, uint64_t positions_end,
            uint32_t position) {
  if (start >= layouts_end(table))
    return broken_pairs(table);
  return head_pairs(table, read_head(table, start), positions_end, position);
}

/* The pairs at a position of a layout: the pairs of its first group. */
static inline __attribute__((always_inline)) struct packed_pairs
layout_pairs(const struct packed_table *table, uint32_t layout, uint32_t position) {
  const uint64_t start = (uint64_t)layout * 8;
  return group_pairs(table, start + table->frame_width, start, position);
}

/* The plain ones of the live slots. */
static inline uint64_t live_plain(const struct packed_pairs *pairs) {
  assert(pairs->plain <= PACKED_ROW_MAX);
  return pairs->live & (((uint64_t)1 << pairs->plain) - 1);
}

/* Locations are numbered by their distance from the group's first one. */
static inline uint64_t distance_at(const struct packed_pairs *pairs, uint64_t at) {
  return bits_from(pairs->table->layouts, at) & pairs->number_mask;
}

/* The distance of a plain slot. */
static inline uint64_t plain_distance(const struct packed_pairs *pairs, uint64_t slot) {
  return slot < pairs->in_order
             ? slot
             : distance_at(pairs, pairs->numbers_at + slot * pairs->number_width);
}

/* The fields of the slots from one on that may hold derived references: BITS_LOADED bits. */
static inline struct packed_distances load_distances(const struct packed_pairs *pairs,
                                                     uint64_t slot) {
  const uint64_t fields = slot * pairs->number_width;
  return (struct packed_distances){bits_from(pairs->table->layouts, pairs->bases_at + fields),
                                   bits_from(pairs->table->layouts, pairs->numbers_at + fields)};
}

/* The distances of a slot that may hold a derived reference, and of its base. */
static inline struct packed_distances slot_distances(const struct packed_pairs *pairs,
                                                     uint64_t slot) {
  const struct packed_distances fields = load_distances(pairs, slot);
  return (struct packed_distances){fields.base & pairs->number_mask,
                                   fields.derived & pairs->number_mask};
}

/* The location of a plain slot. */
static inline uint32_t plain_location(const struct packed_pairs *pairs, uint64_t slot) {
  return pairs->first + (uint32_t)plain_distance(pairs, slot);
}

/* The pair of a slot that may hold a derived reference. The base may be a list's number. */
static inline struct packed_pair slot_pair(const struct packed_pairs *pairs, uint64_t slot) {
  const struct packed_distances distances = slot_distances(pairs, slot);
  return (struct packed_pair){pairs->first + (uint32_t)distances.base,
                              pairs->first + (uint32_t)distances.derived};
}

/* Whether a pair is one of references. If not, its base is a list's number, or pairs->bad. */
static inline bool is_references(struct packed_pairs *pairs, struct packed_pair pair) {
  const struct packed_table *table = pairs->table;
  if (__builtin_expect(pair.base < table->location_count, 1))
    return true;
  pairs->bad |= pair.base - table->location_count >= table->list_count;
  return false;
}

/* Goes on to the next group. False: there is none, or pairs->bad. */
static inline bool next_group(struct packed_pairs *pairs) {
  const uint64_t at = pairs->next_at;
  if (at == 0 || pairs->bad)
    return false;
  const uint64_t start = next_start(pairs->table, at);
  *pairs = group_pairs(pairs->table, start, start, pairs->position);
  return !pairs->bad;
}

/* Takes the next live slot. */
static inline unsigned take_slot(struct packed_pairs *pairs) {
  assert(pairs->live != 0);
  const unsigned slot = (unsigned)__builtin_ctzll(pairs->live);
  pairs->live &= pairs->live - 1;
  return slot;
}

#endif
