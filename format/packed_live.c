/* packed_live.c - reads layouts: what is live at a function's records.
 *
 * A layout is for a function, or for several that are alike. It lists the function's *slots*, which
 * are the locations that are live anywhere in it, and has a *row* for each distinct live set: for each
 * slot its state. A record's position gives the number of its row.
 *
 *   head        flags; frame size's number, the first slot's location, how many slots and sets; if any
 *               reference is derived, how many bits the counts and the high bits of a row take
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
 * How wide each field is follows from the head, so that each place is computed, and nothing is
 * searched. One comparison with the part's end covers all of a layout. What a visit of all pairs goes
 * through is in packed_live.h, in line.
 */
#include "format/packed_live.h"

/* ---- Layouts ---- */

uint64_t packed_frame_number(const struct packed_table *table, uint32_t layout) {
  if (layout >= table->layouts_size)
    return UINT64_MAX;
  const uint8_t *head = table->layouts + layout;
  const uint64_t number = bits_load64(head) >> table->frame_at & table->frame_mask;
  return number == table->frame_mask ? bits_at(head, table->first_at, table->long_width) : number;
}

uint64_t packed_frame_size(const struct packed_table *table, uint32_t layout) {
  const uint64_t number = packed_frame_number(table, layout);
  if (number >= table->frame_size_count)
    return UINT64_MAX;
  const uint64_t mask = table->frame_size_mask;
  const uint64_t size = bits_load64(table->frame_sizes + number * table->frame_bytes) & mask;
  return size == mask ? UINT64_MAX : size << table->frame_shift;
}

struct packed_head packed_long_head(const struct packed_table *table, uint64_t at, bool has_bases) {
  const uint8_t *bytes = table->layouts;
  const unsigned width = table->long_width;
  struct packed_head head = {.end = at + (uint64_t)width * (has_bases ? 6 : 4)};
  if (head.end > layouts_end(table))
    return head;
  head.frame = (uint32_t)bits_at(bytes, at, width);
  head.first = (uint32_t)bits_at(bytes, at + width, width);
  head.slots = (uint32_t)bits_at(bytes, at + 2 * width, width);
  head.sets = (uint32_t)bits_at(bytes, at + 3 * width, width);
  if (has_bases) {
    head.counts = (uint32_t)bits_at(bytes, at + 4 * width, width);
    head.high = (uint32_t)bits_at(bytes, at + 5 * width, width);
  }
  return head;
}

struct counts packed_large_count(struct counts counts, uint64_t end, uint64_t *count) {
  const uint64_t start = counts.at;
  unsigned ones;
  do {
    load_counts(&counts);
    ones = (unsigned)__builtin_ctzll(counts.bits);
    counts.at += ones;
  } while (counts.bits >> ones == 1 && counts.at < end);
  counts.at++;
  *count = counts.at - start;
  load_counts(&counts);
  return counts;
}

bool packed_layout(const struct packed_table *table, uint32_t place, struct packed_layout *layout) {
  return read_layout(table, place, layout);
}

uint32_t packed_set_number(const struct packed_table *table, const struct packed_layout *layout,
                           uint32_t position) {
  return read_set_number(table, layout, position);
}

/* ---- Pairs ---- */

void packed_pairs_of(struct packed_pairs *pairs, const struct packed_table *table,
                     const struct packed_layout *layout, uint32_t set) {
  start_pairs(pairs, table, layout, set);
}

bool packed_pairs(struct packed_pairs *pairs, const struct packed_table *table, uint32_t layout,
                  uint32_t position) {
  return layout_pairs(pairs, table, layout, position);
}

bool packed_pairs_next(struct packed_pairs *pairs, struct packed_pair *pair) {
  do {
    if (pairs->plain != 0) {
      take_plain(pairs, pair);
      return true;
    }
    while (has_derived(pairs))
      if (take_derived(pairs, pair))
        return true;
  } while (next_chunk(pairs));
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
