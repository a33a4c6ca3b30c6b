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

/* What a layout starts with, and where that ends. */
struct packed_head {
  uint64_t end;
  uint32_t frame, first, slots, sets; /* sets: less 1 */
  uint32_t counts, high;              /* of bits; 0 without bases */
};

/* The numbers of a long head, from bit `at` on. */
struct packed_head packed_long_head(const struct packed_table *table, uint64_t at, bool has_bases);

static inline void read_head(const struct packed_table *table, uint32_t place, bool has_bases,
                             struct packed_head *head) {
  const uint64_t bits = bits_load64(table->layouts + place), at = (uint64_t)place * 8;
  head->frame = (uint32_t)(bits >> table->frame_at) & table->frame_mask;
  head->counts = head->high = 0;
  if (__builtin_expect(head->frame == table->frame_mask, 0)) {
    *head = packed_long_head(table, at + table->first_at, has_bases);
    return;
  }
  head->first = (uint32_t)(bits >> table->first_at) & table->first_mask;
  head->slots = (uint32_t)(bits >> table->slots_at) & table->slots_mask;
  head->sets = (uint32_t)(bits >> table->sets_at) & table->sets_mask;
  head->end = at + table->head_end;
  if (has_bases) {
    head->counts = (uint32_t)(bits >> table->counts_at) & table->counts_mask;
    head->high = (uint32_t)(bits >> table->high_at) & table->high_mask;
    head->end = at + table->bases_head_end;
  }
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

/* False: the table is broken. */
static inline __attribute__((always_inline)) bool
read_layout(const struct packed_table *table, uint32_t place, struct packed_layout *layout) {
  enum { NUMBER_WIDTH = 5, HAS_BASES = 1, IS_SCATTERED = 2, HAS_LISTS = 4 };
  const uint64_t end = layouts_end(table);
  if (place >= table->layouts_size)
    return false;
  const unsigned flags = table->layouts[place] & table->flags_mask;
  struct packed_head head;
  read_head(table, place, (flags & HAS_BASES) != 0, &head);
  if (head.end > end || head.slots > PACKED_SLOTS_MAX || head.sets >= PACKED_SETS_MAX)
    return false;
  uint64_t at = head.end;
  *layout = (struct packed_layout){.frame = head.frame,
                                   .first = head.first,
                                   .slots = head.slots,
                                   .sets = head.sets + 1,
                                   .position_width = (uint8_t)bits_for_number(head.sets)};
  if ((flags & IS_SCATTERED) != 0) {
    layout->number_width = (uint8_t)bits_at(table->layouts, at, NUMBER_WIDTH);
    layout->numbers_at = at + NUMBER_WIDTH;
    at = layout->numbers_at + (uint64_t)head.slots * layout->number_width;
  }
  if ((flags & HAS_BASES) != 0) {
    layout->base_width = (uint8_t)bits_for_count(head.slots);
    layout->derived_at = at;
    layout->counts_at = at + head.slots;
    layout->bases_at = layout->counts_at + head.counts;
    at = layout->bases_at + (uint64_t)head.counts * layout->base_width;
  }
  layout->rows_at = at;
  layout->list_at = (uint64_t)head.slots + head.high;
  layout->list_width = (flags & HAS_LISTS) != 0 ? table->list_width : 0;
  layout->row_width = layout->list_at + layout->list_width;
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
  pairs->table = table;
  pairs->counts.bytes = table->layouts;
  pairs->counts.at = layout->counts_at;
  pairs->counts.bits = 0;
  pairs->bases_at = layout->bases_at;
  pairs->high_at = row_at + layout->slots;
  pairs->high = 0;
  pairs->row_at = row_at;
  pairs->derived_at = layout->derived_at;
  pairs->numbers_at = layout->numbers_at;
  pairs->counts_end = layout->bases_at;
  pairs->high_end = row_at + layout->list_at;
  pairs->slots = layout->slots;
  pairs->first = layout->first;
  pairs->number_width = layout->number_width;
  pairs->base_width = layout->base_width;
  pairs->at_hand = pairs->bad = false;
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
  /* Behind the ends of both are other bits of the table's, or none. */
  pairs->bad =
      (int64_t)((pairs->counts_end - pairs->counts.at) | (pairs->high_end - pairs->high_at)) < 0;
  if (pairs->bad)
    return false;
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
