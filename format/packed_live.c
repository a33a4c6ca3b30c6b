/* packed_live.c - reads layouts: the live slots at a function's records.
 *
 * A layout is for a function, or for several that are alike. It has the number of the frame size,
 * and then a chain of *groups*, mostly of one. Each group has some of the function's *slots* (the
 * locations that are live anywhere in it), and has for the record of each position the live ones of
 * these.
 *
 *   positions    of each position the number of its row, the last one's first: before the head
 *   head         the first location, the numbers of plain slots and rows; if the head is extended:
 *                the numbers of slots that may be derived, and of assignments
 *   next         if another group follows: the distance to it
 *   numbers      of each slot whose location isn't implied by the first one: the distance after it
 *   assignments  each gives every slot that may be derived its base, by such a number
 *   rows         each has a bit for each slot, set if it is live, and an assignment's number
 *
 * Most slots only ever hold ordinary references: these are the plain ones. A slot that holds a
 * derived reference anywhere has a base in each assignment; where it holds an ordinary reference,
 * it is its own. A large function's live sets are many, but its slots fall into groups with few
 * different sets.
 *
 * The head gives the width of each field, so that each place is computed, without a search. One
 * load has a row. One comparison with the part's end covers all of a group. A list of locations is
 * written as the base of a pair: see location_count. The code for a visit of all pairs is in
 * packed_live.h, in line.
 *
 * A look-up takes as long as its longest chain of steps that need each other's result. So positions
 * are before the head, at places that depend on the number of rows alone: the row's number is
 * loaded while the place of the rows is computed.
 */
#include "format/packed_live.h"

/* ---- Layouts ---- */

/* A head that ends outside the part has no fields, and its end marks the group as broken. */
struct packed_head packed_long_head(const struct packed_table *table, uint64_t at) {
  enum { FIELDS = 3, EXTENSION_FIELDS = 2 };
  const uint8_t *bytes = table->layouts;
  const unsigned width = table->long_width;
  const bool is_extended = bits_at(bytes, at + table->first_width, PACKED_EXTENDED_WIDTH) != 0;
  const uint64_t fields = at + table->first_width + PACKED_EXTENDED_WIDTH + PACKED_PLAIN_WIDTH;
  const uint64_t flags = fields + FIELDS * width, extension = flags + PACKED_FLAGS_WIDTH;
  struct packed_head head = {.end = is_extended ? extension + EXTENSION_FIELDS * width : flags};
  if (head.end > layouts_end(table))
    return head;
  head.first = (uint32_t)bits_at(bytes, fields, width);
  head.plain = (uint32_t)bits_at(bytes, fields + width, width);
  head.rows = (uint32_t)bits_at(bytes, fields + 2 * width, width);
  if (is_extended) {
    head.flags = (uint32_t)bits_at(bytes, flags, PACKED_FLAGS_WIDTH);
    head.derived = (uint32_t)bits_at(bytes, extension, width);
    head.assignments = (uint32_t)bits_at(bytes, extension + width, width);
  }
  return head;
}

uint64_t packed_layout_end(const struct packed_table *table, uint32_t layout) {
  uint64_t start = (uint64_t)layout * 8 + table->frame_width, end = start;
  while (start < layouts_end(table)) {
    const struct packed_head head = read_head(table, start);
    const struct packed_group group = read_group(table, &head);
    if (group.end > layouts_end(table))
      break;
    end = group.end;
    start = group.next_at == 0 ? UINT64_MAX : next_start(table, group.next_at);
  }
  return end;
}

/* ---- Pairs ---- */

bool packed_pairs_next(struct packed_pairs *pairs, struct packed_pair *pair) {
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

/* ---- Locations ---- */

/* A class in its bytes: u16 size, u16 register, u8 kind, 3 bytes of 0, u32 one more than its last
 * location's number, u32 step between values, i64 value of its first location. */
enum { END_OF_CLASS = 8 };
static uint32_t class_end(const struct packed_table *table, uint32_t class) {
  return bits_load32(table->classes + (size_t) class * PACKED_CLASS_SIZE + END_OF_CLASS);
}

struct stackpack_location packed_other_location(const struct packed_table *table, uint32_t number) {
  const uint32_t class = bits_items_below(table->classes, table->class_count, PACKED_CLASS_SIZE,
                                          END_OF_CLASS, (uint64_t)number + 1);
  if (class == table->class_count)
    return (struct stackpack_location){0};
  const uint32_t nth = number - (class == 0 ? 0 : class_end(table, class - 1));
  const uint8_t *bytes = table->classes + (size_t) class * PACKED_CLASS_SIZE;
  const uint64_t value = bits_load64(bytes + 16) + (uint64_t)nth * bits_load32(bytes + 12);
  return (struct stackpack_location){bytes[4], bits_load16(bytes), bits_load16(bytes + 2),
                                     (int64_t)value};
}

/* ---- Lists ---- */

struct packed_list packed_list(const struct packed_table *table, uint32_t number) {
  struct packed_list list = {.table = table, .number = number, .bad = true};
  const uint8_t *end = table->lists + table->lists_size;
  uint64_t count;
  assert(number < table->list_count);
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

struct packed_list packed_record_list(const struct packed_record *record) {
  const struct packed_table *table = record->table;
  if (table->list_count == 0)
    return (struct packed_list){0};
  struct packed_pairs pairs = layout_pairs(table, record->layout, record->position);
  do {
    pairs.live ^= live_plain(&pairs);
    while (pairs.live != 0) {
      const struct packed_pair pair = slot_pair(&pairs, take_slot(&pairs));
      if (pair.base - table->location_count < table->list_count)
        return packed_list(table, pair.base - table->location_count);
    }
  } while (next_group(&pairs));
  return (struct packed_list){.bad = pairs.bad};
}
