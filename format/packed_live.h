/* packed_live.h - reads layouts and live sets, as packed_live.c draws them, in line: a visit of all pairs
 * keeps at hand what it reads.
 *
 * What is rare is read by functions of packed_live.c. They get copies, so that a compiler can keep the
 * rest in registers.
 */
#ifndef STACKPACK_PACKED_LIVE_H
#define STACKPACK_PACKED_LIVE_H

#include "format/packed.h"

/* ---- Layouts ---- */

static inline uint64_t layouts_end(const struct packed_table *table) {
  return table->layouts_size * 8;
}

/* Reads the numbers of a long head; where they end. UINT64_MAX: beyond the part. */
uint64_t packed_long_head(const struct packed_table *table, uint64_t at,
                          struct packed_layout *layout);

/* Reads the four numbers of a head, whose layout starts at byte `place`; where they end. */
static inline uint64_t read_head(const struct packed_table *table, uint32_t place,
                                 struct packed_layout *layout) {
  const uint64_t head = bits_load64(table->layouts + place), at = (uint64_t)place * 8;
  if ((head & table->frame_mask) == table->frame_mask) {
    struct packed_layout copy;
    const uint64_t end = packed_long_head(table, at + table->first_at, &copy);
    *layout = copy;
    return end;
  }
  layout->frame = (uint32_t)head & table->frame_mask;
  layout->first = (uint32_t)(head >> table->first_at) & table->first_mask;
  layout->slots = (uint32_t)(head >> table->slots_at) & table->slots_mask;
  layout->sets = (uint32_t)(head >> table->sets_at) & table->sets_mask;
  return at + table->flags_at;
}

static inline void load_counts(struct counts *counts) {
  enum { AT_ONCE = 57 };
  const uint64_t end = (uint64_t)1 << AT_ONCE;
  counts->bits = (~bits_from(counts->bytes, counts->at) & (end - 1)) | end;
}

/* The next count where it is too large for that; what is beyond bit `end` is cut off. */
struct counts packed_large_count(struct counts counts, uint64_t end, uint64_t *count);

static inline uint64_t take_count(struct counts *counts, uint64_t end) {
  unsigned ones = (unsigned)__builtin_ctzll(counts->bits);
  if (counts->bits >> ones == 1) {
    load_counts(counts);
    ones = (unsigned)__builtin_ctzll(counts->bits);
    if (__builtin_expect(counts->bits >> ones == 1, 0)) {
      uint64_t count;
      *counts = packed_large_count(*counts, end, &count);
      return count;
    }
  }
  counts->bits = counts->bits >> ones >> 1;
  counts->at += ones + 1;
  return ones + 1;
}

/* The bits of a state, of `count` above 0, that are above the lowest one. */
static inline unsigned high_width(uint64_t count) { return 63 ^ (unsigned)__builtin_clzll(count); }

/* Finds what belongs to slots that may be derived: their counts, from `at` on, and bases; where these
 * end. Adds the higher bits of their states to a row's width. */
static inline uint64_t read_derived(const struct packed_table *table, uint64_t at,
                                    struct packed_layout *layout) {
  const uint64_t end = layouts_end(table);
  struct counts counts = {table->layouts, at + layout->slots, 0};
  layout->derived_at = at;
  layout->counts_at = counts.at;
  layout->base_width = (uint8_t)bits_for_count(layout->slots);
  if (counts.at > end)
    return counts.at;
  load_counts(&counts);
  for (uint32_t chunk = 0; chunk < layout->slots; chunk += PACKED_CHUNK) {
    const uint32_t left = layout->slots - chunk;
    uint64_t derived = bits_from(table->layouts, at + chunk) &
                       bits_low_mask(left < PACKED_CHUNK ? left : PACKED_CHUNK);
    for (; derived != 0 && counts.at < end; derived &= derived - 1)
      layout->row_width += high_width(take_count(&counts, end));
  }
  layout->bases_at = counts.at; /* a count takes as many bits as it has bases */
  return counts.at + (counts.at - layout->counts_at) * layout->base_width;
}

/* False: the table is broken. */
static inline __attribute__((always_inline)) bool
read_layout(const struct packed_table *table, uint32_t place, struct packed_layout *layout) {
  enum { NUMBER_WIDTH = 5, HAS_BASES = 1, IS_SCATTERED = 2, HAS_LISTS = 4 };
  const uint64_t end = layouts_end(table);
  if (place >= table->layouts_size)
    return false;
  uint64_t at = read_head(table, place, layout);
  if (at > end || layout->slots > PACKED_SLOTS_MAX || layout->sets >= PACKED_SETS_MAX)
    return false;
  const uint64_t flags = bits_from(table->layouts, at) & table->flags_mask;
  at += table->flags_width;
  layout->position_width = (uint8_t)bits_for_number(layout->sets++);
  layout->row_width = layout->slots;
  layout->number_width = layout->base_width = 0;
  layout->numbers_at = layout->derived_at = layout->counts_at = layout->bases_at = 0;
  if ((flags & IS_SCATTERED) != 0) {
    layout->number_width = (uint8_t)bits_at(table->layouts, at, NUMBER_WIDTH);
    layout->numbers_at = at + NUMBER_WIDTH;
    at = layout->numbers_at + (uint64_t)layout->slots * layout->number_width;
  }
  if ((flags & HAS_BASES) != 0)
    at = read_derived(table, at, layout);
  layout->rows_at = at;
  layout->list_at = layout->row_width;
  layout->list_width = (flags & HAS_LISTS) != 0 ? table->list_width : 0;
  layout->row_width += layout->list_width;
  layout->positions_at = at + layout->sets * layout->row_width;
  return layout->positions_at <= end;
}

/* Rows are numbered as they first come, so position p has one of the first p + 1, and its field has no
 * more bits than that takes. layout.sets: the table is broken. */
static inline uint32_t read_set_number(const struct packed_table *table,
                                       const struct packed_layout *layout, uint32_t position) {
  const unsigned up_to = bits_for_number(position);
  const unsigned width = up_to < layout->position_width ? up_to : layout->position_width;
  const uint64_t at =
      layout->positions_at + (uint64_t)position * width - (((uint64_t)1 << width) - 1);
  if (width == 0)
    return 0;
  if (at + width > layouts_end(table))
    return layout->sets;
  const uint32_t set = (uint32_t)bits_at(table->layouts, at, width);
  return set < layout->sets ? set : layout->sets;
}

/* ---- Pairs ---- */

/* Takes the slots from `chunk` on, of which one load has the bits. */
static inline void take_chunk(struct packed_pairs *pairs, uint32_t chunk) {
  const uint8_t *bytes = pairs->table->layouts;
  const uint32_t left = pairs->slots - chunk;
  const uint64_t slots = bits_low_mask(left < PACKED_CHUNK ? left : PACKED_CHUNK);
  pairs->chunk = chunk;
  pairs->low = bits_from(bytes, pairs->row_at + chunk) & slots;
  pairs->derived = 0;
  if (pairs->base_width > 0)
    pairs->derived = bits_from(bytes, pairs->derived_at + chunk) & slots;
  pairs->plain = pairs->low & ~pairs->derived;
}

static inline void start_pairs(struct packed_pairs *pairs, const struct packed_table *table,
                               const struct packed_layout *layout, uint32_t set) {
  const uint64_t row_at = layout->rows_at + set * layout->row_width;
  *pairs = (struct packed_pairs){
      .table = table,
      .counts = {table->layouts, layout->counts_at, 0},
      .bases_at = layout->bases_at,
      .high_at = row_at + layout->slots,
      .row_at = row_at,
      .derived_at = layout->derived_at,
      .numbers_at = layout->numbers_at,
      .counts_end = layout->bases_at,
      .slots = layout->slots,
      .first = layout->first,
      .number_width = layout->number_width,
      .base_width = layout->base_width,
  };
  take_chunk(pairs, 0);
  if (pairs->base_width > 0) {
    const uint64_t high = layout->list_at - layout->slots;
    pairs->at_hand = high <= PACKED_CHUNK && pairs->slots <= PACKED_CHUNK;
    pairs->high = bits_from(table->layouts, pairs->high_at);
    if (pairs->at_hand)
      pairs->high &= ((uint64_t)1 << high) - 1;
    load_counts(&pairs->counts);
  }
}

/* The pairs at a position of a layout. False: the table is broken, and there are none. */
static inline bool layout_pairs(struct packed_pairs *pairs, const struct packed_table *table,
                                uint32_t place, uint32_t position) {
  struct packed_layout layout;
  if (read_layout(table, place, &layout)) {
    const uint32_t set = read_set_number(table, &layout, position);
    if (set < layout.sets) {
      start_pairs(pairs, table, &layout, set);
      return true;
    }
  }
  *pairs = (struct packed_pairs){.table = table, .bad = true};
  return false;
}

static inline uint32_t slot_location(const struct packed_pairs *pairs, uint64_t slot) {
  if (pairs->number_width == 0)
    return pairs->first + (uint32_t)slot;
  return pairs->first + (uint32_t)bits_at(pairs->table->layouts,
                                          pairs->numbers_at + slot * pairs->number_width,
                                          pairs->number_width);
}

/* Takes the next of the slots at hand that may hold a derived reference. False: it isn't live, or
 * pairs->bad. */
static inline __attribute__((always_inline)) bool take_derived(struct packed_pairs *pairs,
                                                               struct packed_pair *pair) {
  const uint8_t *bytes = pairs->table->layouts;
  const unsigned slot = (unsigned)__builtin_ctzll(pairs->derived);
  const uint64_t bases_at = pairs->bases_at;
  const uint64_t count = take_count(&pairs->counts, pairs->counts_end);
  const unsigned width = high_width(count);
  const uint64_t high = pairs->high & (((uint64_t)1 << width) - 1);
  const uint64_t state = high * 2 + (pairs->low >> slot & 1);
  pairs->derived &= pairs->derived - 1;
  pairs->bases_at += count * pairs->base_width;
  pairs->high_at += width;
  pairs->high = pairs->at_hand ? pairs->high >> width : bits_from(bytes, pairs->high_at);
  pairs->bad = state > count;
  if (state - 1 >= count)
    return false;
  const uint64_t base =
      bits_at(bytes, bases_at + (state - 1) * pairs->base_width, pairs->base_width);
  pairs->bad = base >= pairs->slots;
  if (pairs->bad)
    return false;
  pair->derived = slot_location(pairs, pairs->chunk + slot);
  pair->base = slot_location(pairs, base);
  return true;
}

/* Whether any of the slots to come at hand that may hold a derived reference is live, as far as is
 * known without their counts. */
static inline bool has_derived(const struct packed_pairs *pairs) {
  return pairs->derived != 0 && !pairs->bad &&
         (!pairs->at_hand || ((pairs->derived & pairs->low) | pairs->high) != 0);
}

/* Takes the next of the slots at hand that hold an ordinary reference. */
static inline void take_plain(struct packed_pairs *pairs, struct packed_pair *pair) {
  const uint32_t slot = pairs->chunk + (uint32_t)__builtin_ctzll(pairs->plain);
  pairs->plain &= pairs->plain - 1;
  pair->derived = pair->base = slot_location(pairs, slot);
}

/* Goes on to more slots. False: there are none, or pairs->bad. */
static inline bool next_chunk(struct packed_pairs *pairs) {
  if (pairs->bad || pairs->slots - pairs->chunk <= PACKED_CHUNK)
    return false;
  take_chunk(pairs, pairs->chunk + PACKED_CHUNK);
  return true;
}

#endif
