/* packed_live.h - reads groups and their rows, as packed_live.c draws them, in line: a visit of all
 * pairs keeps at hand what it reads.
 *
 * A group is read without a branch, unless its head is long: a field that it doesn't have has the
 * value 0.
 */
#ifndef STACKPACK_PACKED_LIVE_H
#define STACKPACK_PACKED_LIVE_H

#include "format/packed.h"

/* ---- Groups ---- */

static inline uint64_t layouts_end(const struct packed_table *table) {
  return table->layouts_size * 8;
}

/* What a group starts with, and where that ends. */
struct packed_head {
  uint64_t end;
  uint32_t first, plain, rows;          /* rows, and assignments: less 1 */
  uint32_t derived, assignments, flags; /* 0 if it isn't extended */
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

/* ---- Pairs ---- */

static inline struct packed_pairs broken_pairs(const struct packed_table *table) {
  return (struct packed_pairs){.table = table, .bad = true};
}

/* The pairs of the group at a bit of the part: what is live of its slots at a position.
 *
 * Rows are numbered as they first come, so position p has one of the first p + 1, and its number
 * takes no more bits than that. */
static inline __attribute__((always_inline)) struct packed_pairs
group_pairs(const struct packed_table *table, uint64_t start, uint32_t position) {
  const uint64_t end = layouts_end(table);
  if (start >= end)
    return broken_pairs(table);
  const struct packed_head head = read_head(table, start);
  const uint64_t has_next = -(uint64_t)(head.flags >> 1 & 1), derived = head.derived;
  const unsigned number_width = head.flags >> HEAD_NUMBER_WIDTH_AT;
  const uint64_t slots = head.plain + derived;
  const uint64_t in_order = head.plain & ((uint64_t)(head.flags & HEAD_IS_SCATTERED) - 1);
  const uint64_t numbers_at = head.end + (table->next_width & has_next);
  const uint64_t bases_at = numbers_at + (slots - in_order) * number_width;
  const uint64_t rows_at = bases_at + ((uint64_t)head.assignments + 1) * (derived * number_width);
  const uint64_t row_width = slots + bits_for_number(head.assignments);
  const uint64_t positions_at = rows_at + ((uint64_t)head.rows + 1) * row_width;
  const unsigned most = bits_for_number(head.rows), up_to = bits_for_number(position);
  const unsigned width = up_to < most ? up_to : most;
  const uint64_t at = positions_at + (uint64_t)position * width - (((uint64_t)1 << width) - 1);
  if ((row_width > PACKED_ROW_MAX) | (at + width > end))
    return broken_pairs(table);
  const uint64_t row = bits_at(table->layouts, at, width);
  if (row > head.rows)
    return broken_pairs(table);
  const uint64_t bits = bits_at(table->layouts, rows_at + row * row_width, (unsigned)row_width);
  const uint64_t assignment = bits >> slots;
  if (assignment > head.assignments)
    return broken_pairs(table);
  return (struct packed_pairs){
      .table = table,
      .live = bits & (((uint64_t)1 << slots) - 1),
      .numbers_at = numbers_at - in_order * number_width,
      .bases_at = bases_at + (assignment * derived - head.plain) * number_width,
      .next_at = head.end & has_next,
      .first = head.first,
      .plain = head.plain,
      .in_order = (uint32_t)in_order,
      .position = position,
      .number_width = (uint8_t)number_width,
  };
}

/* The pairs at a position of a layout: those of its first group. */
static inline __attribute__((always_inline)) struct packed_pairs
layout_pairs(const struct packed_table *table, uint32_t layout, uint32_t position) {
  return group_pairs(table, (uint64_t)layout * 8 + table->frame_width, position);
}

/* The location whose number is in a field. */
static inline uint32_t location_at(const struct packed_pairs *pairs, uint64_t at) {
  return pairs->first + (uint32_t)bits_at(pairs->table->layouts, at, pairs->number_width);
}

/* Of the live slots those that are plain. */
static inline uint64_t live_plain(const struct packed_pairs *pairs) {
  return pairs->live & (((uint64_t)1 << pairs->plain) - 1);
}

/* The location of a plain slot. */
static inline uint32_t plain_location(const struct packed_pairs *pairs, uint64_t slot) {
  return slot < pairs->in_order
             ? pairs->first + (uint32_t)slot
             : location_at(pairs, pairs->numbers_at + slot * pairs->number_width);
}

/* The pair of a slot that may hold a derived reference. The base may stand for a list. */
static inline struct packed_pair slot_pair(const struct packed_pairs *pairs, uint64_t slot) {
  const uint64_t fields = slot * pairs->number_width;
  return (struct packed_pair){location_at(pairs, pairs->bases_at + fields),
                              location_at(pairs, pairs->numbers_at + fields)};
}

/* Whether a pair is one of references. If not, its base stands for a list, or pairs->bad. */
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
  const uint64_t distance = bits_from(pairs->table->layouts, at) & pairs->table->next_mask;
  *pairs = distance == 0 ? broken_pairs(pairs->table)
                         : group_pairs(pairs->table, at + distance, pairs->position);
  return !pairs->bad;
}

/* Takes the next live slot. */
static inline unsigned take_slot(struct packed_pairs *pairs) {
  const unsigned slot = (unsigned)__builtin_ctzll(pairs->live);
  pairs->live &= pairs->live - 1;
  return slot;
}

/* Takes the next pair. False: there are no more, or pairs->bad. */
static inline bool next_pair(struct packed_pairs *pairs, struct packed_pair *pair) {
  do {
    if (live_plain(pairs) != 0) {
      pair->base = pair->derived = plain_location(pairs, take_slot(pairs));
      return true;
    }
    while (pairs->live != 0 && !pairs->bad) {
      *pair = slot_pair(pairs, take_slot(pairs));
      if (is_references(pairs, *pair))
        return true;
    }
  } while (next_group(pairs));
  return false;
}

#endif
