/* packed_live.c - reads layouts: what is live at a function's records.
 *
 * A layout is for a function, or for several that are alike. It lists the function's *slots*, which
 * are the locations that are live anywhere in it, and has a *row* for each distinct live set: for each
 * slot its state. A record's position gives the number of its row.
 *
 *   head        frame size's number, the first slot's location, how many slots and sets; flags
 *   numbers     if the slots' locations aren't consecutive: of each, how far it is behind the first
 *   derived     if any reference is derived: a bit for each slot that ever holds one;
 *   counts      of each of these, how many bases it has, in unary; and
 *   bases       the slots that are its bases
 *   rows        of each set: a bit for each slot; the higher bits of the states of derived slots; the
 *               number of a list
 *   sets        of each position: which row
 *
 * Most slots hold ordinary references: state 1 says that one is live, state 0 that it isn't. A slot
 * that holds a derived reference anywhere has a list of bases, and state n is its n-th one; where it
 * holds an ordinary reference, it is its own base. So the low bits of a row are most of it, and the
 * set of live slots.
 *
 * How wide each field is follows from the head and the counts, so that each place is computed, and
 * nothing is searched. One comparison with the part's end covers all of a layout.
 */
#include "format/packed.h"

/* ---- Layouts ---- */

static inline uint64_t layouts_end(const struct packed_table *table) {
  return table->layouts_size * 8;
}

/* The numbers of a head whose first field is all ones are behind it, of 32 bits each. */
enum { LONG_HEAD = 4 * 32 + 3 /* flags */ };

static inline bool is_long(const struct packed_table *table, uint32_t layout) {
  const uint64_t mask = bits_low_mask(table->frame_width);
  return (bits_load64(table->layouts + layout) & mask) == mask;
}

uint64_t packed_frame_number(const struct packed_table *table, uint32_t layout) {
  if (layout >= table->layouts_size)
    return UINT64_MAX;
  const uint64_t head = bits_load64(table->layouts + layout);
  return is_long(table, layout) ? head >> table->frame_width & UINT32_MAX
                                : head & bits_low_mask(table->frame_width);
}

uint64_t packed_frame_size(const struct packed_table *table, uint32_t layout) {
  const uint64_t number = packed_frame_number(table, layout);
  if (number >= table->frame_size_count)
    return UINT64_MAX;
  const uint64_t size =
      bits_load(table->frame_sizes + number * table->frame_bytes, table->frame_bytes);
  return size == bits_low_mask(table->frame_bytes * 8) ? UINT64_MAX : size << table->frame_shift;
}

/* Reads the four numbers of a head, and the flags; where they end. */
static inline uint64_t read_head(const struct packed_table *table, uint64_t at,
                                 struct packed_layout *layout) {
  const uint8_t *bytes = table->layouts;
  const unsigned frame = table->frame_width;
  uint64_t head = bits_load64(bytes + at / 8); /* it starts at a whole byte */
  if ((head & bits_low_mask(frame)) == bits_low_mask(frame)) {
    at += frame;
    layout->frame = bits_at(bytes, at, 32);
    layout->first = (uint32_t)bits_at(bytes, at + 32, 32);
    layout->slots = (uint32_t)bits_at(bytes, at + 64, 32);
    layout->sets = (uint32_t)bits_at(bytes, at + 96, 32);
    head = bits_at(bytes, at + 128, 3);
    at += 128;
  } else {
    const unsigned first = table->first_width, slots = table->slots_width, sets = table->sets_width;
    layout->frame = head & bits_low_mask(frame);
    layout->first = (uint32_t)((head >>= frame) & bits_low_mask(first));
    layout->slots = (uint32_t)((head >>= first) & bits_low_mask(slots));
    layout->sets = (uint32_t)((head >>= slots) & bits_low_mask(sets));
    head >>= sets;
    at += frame + first + slots + sets;
  }
  layout->has_bases = (head & 1) != 0;
  layout->is_scattered = (head & 2) != 0;
  layout->has_lists = table->list_count > 0 && (head & 4) != 0;
  return at + 2 + (table->list_count > 0);
}

/* A number from 1 on in unary: that many less one 1s, and a 0. Moves *at behind it; what is beyond
 * `end`, in bits, is cut off. */
static inline uint64_t take_count(const uint8_t *bytes, uint64_t *at, uint64_t end) {
  enum { WIDTH = 56 };
  const uint64_t start = *at, stop = (uint64_t)1 << WIDTH;
  for (;;) {
    const uint64_t zeros = ~bits_at(bytes, *at, WIDTH) | stop;
    const unsigned ones = (unsigned)__builtin_ctzll(zeros);
    *at += ones;
    if (ones < WIDTH || *at >= end)
      break;
  }
  return ++*at - start;
}

/* The bits of a state, of `count` above 0, that are above the lowest one. */
static inline unsigned high_width(uint64_t count) { return 63 - (unsigned)__builtin_clzll(count); }

/* Finds what belongs to slots that may be derived: their counts, from `at` on, and bases; where these
 * end. Adds the higher bits of their states to a row's width. */
static uint64_t read_derived(const struct packed_table *table, uint64_t at,
                             struct packed_layout *layout) {
  const uint8_t *bytes = table->layouts;
  const uint64_t end = layouts_end(table);
  uint64_t bases = 0;
  layout->derived_at = at;
  layout->counts_at = at += layout->slots;
  layout->base_width = (uint8_t)bits_for_count(layout->slots);
  if (at > end)
    return at;
  for (uint32_t chunk = 0; chunk < layout->slots; chunk += PACKED_CHUNK) {
    const uint32_t left = layout->slots - chunk;
    uint64_t derived =
        bits_at(bytes, layout->derived_at + chunk, left < PACKED_CHUNK ? left : PACKED_CHUNK);
    for (; derived != 0 && at < end; derived &= derived - 1) {
      const uint64_t count = take_count(bytes, &at, end);
      bases += count;
      layout->row_width += high_width(count);
    }
  }
  layout->bases_at = at;
  return at + bases * layout->base_width;
}

bool packed_layout(const struct packed_table *table, uint32_t place, struct packed_layout *layout) {
  enum { NUMBER_WIDTH = 5 };
  const uint64_t end = layouts_end(table), start = (uint64_t)place * 8;
  if (place >= table->layouts_size)
    return false;
  *layout = (struct packed_layout){0};
  if (is_long(table, place) && end - start < (uint64_t)table->frame_width + LONG_HEAD)
    return false;
  uint64_t at = read_head(table, start, layout);
  if (at > end || layout->slots > PACKED_SLOTS_MAX || layout->sets >= PACKED_SETS_MAX)
    return false;
  layout->sets++;
  layout->position_width = (uint8_t)bits_for_count(layout->sets);
  layout->row_width = layout->slots;
  if (layout->is_scattered) {
    layout->number_width = (uint8_t)bits_at(table->layouts, at, NUMBER_WIDTH);
    layout->numbers_at = at + NUMBER_WIDTH;
    at = layout->numbers_at + (uint64_t)layout->slots * layout->number_width;
  }
  if (layout->has_bases)
    at = read_derived(table, at, layout);
  layout->rows_at = at;
  layout->list_at = layout->row_width;
  layout->list_width = layout->has_lists ? table->list_width : 0;
  layout->row_width += layout->list_width;
  layout->positions_at = at + layout->sets * layout->row_width;
  return layout->positions_at <= end;
}

/* Rows are numbered as they first come, so position p has one of the first p + 1, and its field has no
 * more bits than that takes. */
uint32_t packed_set_number(const struct packed_table *table, const struct packed_layout *layout,
                           uint32_t position) {
  const unsigned up_to = bits_for_count((uint64_t)position + 1);
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

/* Goes on to slots of which any is live or may hold a derived reference. */
static inline bool next_chunk(struct packed_pairs *pairs) {
  const uint8_t *bytes = pairs->table->layouts;
  do {
    pairs->chunk += PACKED_CHUNK;
    if (pairs->chunk >= pairs->slots)
      return false;
    const uint32_t left = pairs->slots - pairs->chunk;
    const unsigned width = left < PACKED_CHUNK ? left : PACKED_CHUNK;
    pairs->low = bits_at(bytes, pairs->row_at + pairs->chunk, width);
    if (pairs->base_width > 0)
      pairs->derived = bits_at(bytes, pairs->derived_at + pairs->chunk, width);
    pairs->plain = pairs->low & ~pairs->derived;
  } while ((pairs->plain | pairs->derived) == 0);
  return true;
}

/* Takes the next of the slots at hand that may hold a derived reference. False: it isn't live. */
static inline bool take_derived(struct packed_pairs *pairs, struct packed_pair *pair) {
  const uint8_t *bytes = pairs->table->layouts;
  const uint64_t bit = pairs->derived & -pairs->derived, bases_at = pairs->bases_at;
  const uint64_t count = take_count(bytes, &pairs->counts_at, pairs->counts_end);
  const unsigned width = high_width(count);
  const uint64_t state = bits_at(bytes, pairs->high_at, width) << 1 | ((pairs->low & bit) != 0);
  pairs->derived ^= bit;
  pairs->high_at += width;
  pairs->bases_at += count * pairs->base_width;
  if (state == 0)
    return false;
  pairs->bad = state > count;
  if (pairs->bad)
    return false;
  const uint64_t base =
      bits_at(bytes, bases_at + (state - 1) * pairs->base_width, pairs->base_width);
  pairs->bad = base >= pairs->slots;
  if (pairs->bad)
    return false;
  pair->derived = packed_pairs_location(pairs, pairs->chunk + (uint64_t)__builtin_ctzll(bit));
  pair->base = packed_pairs_location(pairs, base);
  return true;
}

bool packed_pairs_more(struct packed_pairs *pairs, struct packed_pair *pair) {
  while (!pairs->bad) {
    while (pairs->derived != 0)
      if (take_derived(pairs, pair))
        return true;
      else if (pairs->bad)
        return false;
    if (!next_chunk(pairs))
      return false;
    if (pairs->plain != 0)
      return packed_pairs_next(pairs, pair);
  }
  return false;
}

void packed_pairs_of(struct packed_pairs *pairs, const struct packed_table *table,
                     const struct packed_layout *layout, uint32_t set) {
  const uint64_t row_at = layout->rows_at + set * layout->row_width;
  *pairs = (struct packed_pairs){
      .table = table,
      .row_at = row_at,
      .derived_at = layout->derived_at,
      .counts_at = layout->counts_at,
      .bases_at = layout->bases_at,
      .counts_end = layout->bases_at,
      .high_at = row_at + layout->slots,
      .numbers_at = layout->numbers_at,
      .chunk = (uint32_t)-PACKED_CHUNK,
      .slots = layout->slots,
      .first = layout->first,
      .number_width = layout->number_width,
      .base_width = layout->base_width,
  };
}

bool packed_pairs(struct packed_pairs *pairs, const struct packed_record *record) {
  const struct packed_table *table = record->table;
  struct packed_layout layout;
  if (packed_layout(table, record->layout, &layout)) {
    const uint32_t set = packed_set_number(table, &layout, record->position);
    if (set < layout.sets) {
      packed_pairs_of(pairs, table, &layout, set);
      return true;
    }
  }
  *pairs = (struct packed_pairs){.table = table, .bad = true};
  return false;
}

/* ---- Locations ---- */

/* A class as it stands: u16 size, u16 register, u8 kind, 3 bytes of 0, u32 one more than its last
 * location's number, u32 step between values, i64 value of its first location. */
static uint32_t class_end(const struct packed_table *table, uint32_t class) {
  return bits_load32(table->classes + (size_t) class * PACKED_CLASS_SIZE + 8);
}

uint32_t packed_location_class(const struct packed_table *table, uint32_t number) {
  uint32_t from = 0, to = table->class_count;
  while (from < to) {
    const uint32_t middle = from + (to - from) / 2;
    if (class_end(table, middle) <= number)
      from = middle + 1;
    else
      to = middle;
  }
  return from;
}

struct location packed_other_location(const struct packed_table *table, uint32_t number) {
  const uint32_t class = packed_location_class(table, number);
  if (class == table->class_count)
    return (struct location){0};
  const uint32_t nth = number - (class == 0 ? 0 : class_end(table, class - 1));
  const uint8_t *bytes = table->classes + (size_t) class * PACKED_CLASS_SIZE;
  const uint64_t value = bits_load64(bytes + 16) + (uint64_t)nth * bits_load32(bytes + 12);
  return (struct location){bytes[4], bits_load16(bytes), bits_load16(bytes + 2), (int64_t)value};
}

/* ---- Lists ---- */

struct packed_list packed_list(const struct packed_table *table, uint32_t number) {
  struct packed_list list = {.table = table, .number = number, .bad = true};
  const uint8_t *end = table->lists + table->lists_size;
  uint64_t count;
  const uint32_t start = bits_load32(table->list_starts + (size_t)number * 4);
  if (start >= table->lists_size)
    return list;
  list.next = table->lists + start + 1;
  list.is_locations = table->lists[start] != 0;
  if (bits_varint(&list.next, end, &count) && count <= PACKED_LIST_MAX) {
    list.bad = false;
    list.left = (uint32_t)count;
  }
  return list;
}

bool packed_list_next(struct packed_list *list, uint32_t *location) {
  uint64_t number;
  if (list->left == 0)
    return false;
  list->left--;
  if (!bits_varint(&list->next, list->table->lists + list->table->lists_size, &number) ||
      number > UINT32_MAX) {
    list->bad = true;
    list->left = 0;
    return false;
  }
  *location = (uint32_t)number;
  return true;
}

uint64_t packed_set_list(const struct packed_table *table, const struct packed_layout *layout,
                         uint32_t set) {
  return bits_at(table->layouts, layout->rows_at + set * layout->row_width + layout->list_at,
                 layout->list_width);
}

struct packed_list packed_record_list(const struct packed_record *record) {
  const struct packed_table *table = record->table;
  struct packed_layout layout;
  if (table->list_count == 0)
    return (struct packed_list){0};
  if (!packed_layout(table, record->layout, &layout))
    return (struct packed_list){.bad = true};
  const uint32_t set = packed_set_number(table, &layout, record->position);
  if (set == layout.sets)
    return (struct packed_list){.bad = true};
  const uint64_t number = packed_set_list(table, &layout, set);
  if (number == 0)
    return (struct packed_list){0};
  return number <= table->list_count ? packed_list(table, (uint32_t)number - 1)
                                     : (struct packed_list){.bad = true};
}
