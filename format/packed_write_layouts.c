/* packed_write_layouts.c - writes layouts, as packed_live.c draws them.
 *
 * A function's live sets are known by their numbers; here they become rows. First the slots are
 * collected: each location that is derived or a base in any set. (At one record a location holds one
 * value, so it is derived in one pair at most. Should a stack map say otherwise, the location gets a
 * slot for each pair.) Then the bases of each slot that may be derived are listed, and each set is a
 * row of states.
 *
 * How wide the fields of heads are is chosen when all layouts are known: so that heads are shortest,
 * with some that don't fit written long.
 */
#include "format/array.h"
#include "format/packed_write.h"

#include <stdlib.h>

/* A slot's key: the location's number, and which of its slots it is. */
static uint64_t slot_key(uint64_t location, uint64_t copy) { return location << 16 | copy; }

/* A live set as it will stand. */
struct row {
  uint64_t from, pairs; /* its pairs in writer.pairs */
  uint64_t list;        /* 1 + the number of its list, or 0 */
};

struct row_pair {
  uint64_t slot, base; /* keys, and then the slots' numbers */
  uint64_t state;
};

/* A base of a slot: sorted by slot, then as they first come. */
struct base {
  uint64_t slot, base, state;
};

/* A head: the three flags, and the fields in their order, of which the last two are there only with
 * bases. */
enum head_field {
  HEAD_FRAME,
  HEAD_FIRST,
  HEAD_SLOTS,
  HEAD_SETS,
  HEAD_COUNTS,
  HEAD_HIGH,
  HEAD_FIELDS
};
enum { HEAD_HAS_BASES = 1, HEAD_IS_SCATTERED = 2, HEAD_HAS_LISTS = 4 };
struct head {
  uint64_t fields[HEAD_FIELDS];
  unsigned flags; /* the last only in a table with lists */
  uint64_t end;   /* of what follows the head, in writer.bodies */
};

/* Memory of one kind that grows. */
struct words {
  void *items;
  size_t count, capacity;
};

struct layouts_writer {
  const struct safepoints *table;
  const struct packed_numbers *numbers;
  struct bit_writer bodies;
  /* Of the layout at hand. */
  uint64_t *seen;    /* by number of a live set: 1 + the last layout that has it, */
  uint32_t *set_of;  /* and its number there */
  struct words keys; /* of slots: sorted, none twice */
  struct words rows, pairs, bases;
  struct words counts; /* by slot: how many bases it has; 0: it is never derived */
};

static void *words_add(struct words *words, size_t count, size_t size) {
  if (!array_make_room(&words->items, &words->capacity, words->count + count + 1, size))
    return NULL;
  void *added = (char *)words->items + words->count * size;
  words->count += count;
  return added;
}

/* ---- Slots ---- */

static int compare_pairs(const void *a, const void *b) {
  const struct row_pair *x = a, *y = b;
  if (x->slot != y->slot)
    return x->slot < y->slot ? -1 : 1;
  return x->base < y->base ? -1 : x->base > y->base;
}

/* Adds the row of a live set, whose pairs are by location yet. */
static bool add_row(struct layouts_writer *writer, uint32_t live) {
  const struct intern_sequence items = intern_get(&writer->table->live, live);
  struct row *row = words_add(&writer->rows, 1, sizeof *row);
  const uint64_t from = writer->pairs.count;
  struct row_pair *pairs = words_add(&writer->pairs, items.count, sizeof *pairs);
  uint64_t *keys = words_add(&writer->keys, items.count * 2, sizeof *keys);
  if (row == NULL || pairs == NULL || keys == NULL)
    return false;
  *row = (struct row){.from = from};
  for (uint64_t i = 0; i < items.count; i++) {
    const uint64_t item = items.words[i];
    if (safepoint_item_is_list(item)) {
      row->list = (uint64_t)writer->numbers->lists[packed_list_key(item)] + 1;
      continue;
    }
    pairs[row->pairs++] = (struct row_pair){
        slot_key(writer->numbers->locations[safepoint_item_derived(item)], 0),
        slot_key(writer->numbers->locations[safepoint_item_base(item)], 0),
        1,
    };
  }
  if (row->pairs > 0)
    qsort(pairs, row->pairs, sizeof *pairs, compare_pairs);
  for (uint64_t i = 0; i < row->pairs; i++) {
    if (i > 0 && pairs[i].slot >> 16 == pairs[i - 1].slot >> 16)
      pairs[i].slot = pairs[i - 1].slot + 1;
    keys[i * 2] = pairs[i].slot;
    keys[i * 2 + 1] = pairs[i].base;
  }
  writer->pairs.count = from + row->pairs;
  writer->keys.count -= (items.count - row->pairs) * 2;
  return true;
}

static void sort_keys(struct words *keys) {
  uint64_t *items = keys->items;
  size_t kept = 0;
  if (keys->count > 0)
    qsort(items, keys->count, sizeof *items, bits_compare_words);
  for (size_t i = 0; i < keys->count; i++)
    if (kept == 0 || items[kept - 1] != items[i])
      items[kept++] = items[i];
  keys->count = kept;
}

static uint64_t slot_of(const struct words *keys, uint64_t key) {
  const uint64_t *items = keys->items;
  return (uint64_t)((const uint64_t *)bsearch(&key, items, keys->count, sizeof *items,
                                              bits_compare_words) -
                    items);
}

/* Turns keys into numbers of slots, and marks those that are derived ones anywhere. False without
 * memory. */
static bool number_slots(struct layouts_writer *writer, bool *any_derived) {
  struct row_pair *pairs = writer->pairs.items;
  const size_t slots = writer->keys.count;
  writer->counts.count = 0;
  uint64_t *counts = words_add(&writer->counts, slots, sizeof *counts);
  if (counts == NULL)
    return false;
  memset(counts, 0, slots * sizeof *counts);
  *any_derived = false;
  for (size_t i = 0; i < writer->pairs.count; i++) {
    pairs[i].slot = slot_of(&writer->keys, pairs[i].slot);
    pairs[i].base = slot_of(&writer->keys, pairs[i].base);
    if (pairs[i].slot == pairs[i].base)
      continue;
    counts[pairs[i].slot] = 1;
    *any_derived = true;
  }
  return true;
}

/* ---- Bases ---- */

static int compare_bases(const void *a, const void *b) {
  const struct base *x = a, *y = b;
  if (x->slot != y->slot)
    return x->slot < y->slot ? -1 : 1;
  return x->base < y->base ? -1 : x->base > y->base;
}

/* Lists the bases of each slot that may be derived, and finds the states of pairs. */
static bool list_bases(struct layouts_writer *writer) {
  struct row_pair *pairs = writer->pairs.items;
  uint64_t *counts = writer->counts.items;
  size_t kept = 0;
  writer->bases.count = 0;
  struct base *bases = words_add(&writer->bases, writer->pairs.count, sizeof *bases);
  if (bases == NULL)
    return false;
  for (size_t i = 0; i < writer->pairs.count; i++)
    if (counts[pairs[i].slot] > 0)
      bases[kept++] = (struct base){pairs[i].slot, pairs[i].base, 0};
  qsort(bases, kept, sizeof *bases, compare_bases);
  writer->bases.count = 0;
  for (size_t i = 0; i < kept; i++) {
    const struct base *last = writer->bases.count == 0 ? NULL : &bases[writer->bases.count - 1];
    if (last != NULL && compare_bases(last, &bases[i]) == 0)
      continue;
    const uint64_t state = last != NULL && last->slot == bases[i].slot ? last->state + 1 : 1;
    counts[bases[i].slot] = state;
    bases[writer->bases.count++] = (struct base){bases[i].slot, bases[i].base, state};
  }
  for (size_t i = 0; i < writer->pairs.count; i++) {
    const struct base key = {pairs[i].slot, pairs[i].base, 0};
    if (counts[key.slot] > 0)
      pairs[i].state = ((const struct base *)bsearch(&key, bases, writer->bases.count, sizeof key,
                                                     compare_bases))
                           ->state;
  }
  return true;
}

/* ---- One layout ---- */

/* Whether the slots' locations are one after another. */
static bool is_scattered(const struct words *keys) {
  const uint64_t *items = keys->items;
  for (size_t i = 0; i < keys->count; i++)
    if (items[i] != slot_key((items[0] >> 16) + i, 0))
      return true;
  return false;
}

static void put_numbers(struct bit_writer *bits, const struct words *keys) {
  const uint64_t *items = keys->items, first = items[0] >> 16;
  unsigned width = bits_for_count((items[keys->count - 1] >> 16) - first + 1);
  width = width == 0 ? 1 : width; /* two slots of one location */
  bit_writer_put(bits, width, 5);
  for (size_t i = 0; i < keys->count; i++)
    bit_writer_put(bits, (items[i] >> 16) - first, width);
}

/* The bits of all states above their lowest ones. */
static uint64_t high_width(const struct layouts_writer *writer) {
  const uint64_t *counts = writer->counts.items;
  uint64_t width = 0;
  for (size_t i = 0; i < writer->keys.count; i++)
    if (counts[i] > 0)
      width += bits_for_count(counts[i] + 1) - 1;
  return width;
}

static void put_bases(struct layouts_writer *writer) {
  const uint64_t *counts = writer->counts.items;
  const struct base *bases = writer->bases.items;
  const size_t slots = writer->keys.count;
  for (size_t i = 0; i < slots; i++)
    bit_writer_put(&writer->bodies, counts[i] > 0, 1);
  for (size_t i = 0; i < slots; i++) {
    for (uint64_t k = 1; k < counts[i]; k++)
      bit_writer_put(&writer->bodies, 1, 1);
    if (counts[i] > 0)
      bit_writer_put(&writer->bodies, 0, 1);
  }
  for (size_t i = 0; i < writer->bases.count; i++)
    bit_writer_put(&writer->bodies, bases[i].base, bits_for_count(slots));
}

/* The low bits of all states, then the higher ones of slots that may be derived. */
static void put_row(struct layouts_writer *writer, const struct row *row, unsigned list_width) {
  const uint64_t *counts = writer->counts.items;
  const struct row_pair *pairs = (const struct row_pair *)writer->pairs.items + row->from;
  for (unsigned high = 0; high < 2; high++) {
    const struct row_pair *pair = pairs, *end = pairs + row->pairs;
    for (size_t slot = 0; slot < writer->keys.count; slot++) {
      const bool is_live = pair < end && pair->slot == slot;
      const uint64_t state = is_live ? pair->state : 0;
      pair += is_live;
      if (high == 0)
        bit_writer_put(&writer->bodies, state, 1);
      else if (counts[slot] > 0)
        bit_writer_put(&writer->bodies, state >> 1, bits_for_count(counts[slot] + 1) - 1);
    }
  }
  bit_writer_put(&writer->bodies, row->list, list_width);
}

static void put_positions(struct layouts_writer *writer, const uint64_t *live, uint64_t count) {
  const unsigned most = bits_for_count(writer->rows.count);
  for (uint64_t i = 0; i < count && most > 0; i++) {
    const unsigned width = bits_for_count(i + 1);
    bit_writer_put(&writer->bodies, writer->set_of[live[i]], width < most ? width : most);
  }
}

/* Collects the rows of a layout's distinct sets, in the order in which they first come. */
static bool collect_rows(struct layouts_writer *writer, uint64_t layout, const uint64_t *live,
                         uint64_t count) {
  writer->rows.count = writer->pairs.count = writer->keys.count = 0;
  for (uint64_t i = 0; i < count; i++) {
    if (writer->seen[live[i]] == layout + 1)
      continue;
    writer->seen[live[i]] = layout + 1;
    writer->set_of[live[i]] = (uint32_t)writer->rows.count;
    if (!add_row(writer, (uint32_t)live[i]))
      return false;
  }
  if (count > 0)
    return true;
  struct row *row = words_add(&writer->rows, 1, sizeof *row); /* of no record: an empty set */
  if (row == NULL || words_add(&writer->keys, 0, sizeof(uint64_t)) == NULL ||
      words_add(&writer->pairs, 0, sizeof(struct row_pair)) == NULL)
    return false;
  *row = (struct row){0};
  return true;
}

/* Writes the layout but for its head, which is filled in. */
static bool write_body(struct layouts_writer *writer, uint64_t number, struct head *head,
                       struct intern_sequence layout) {
  bool has_bases, has_lists = false;
  if (!collect_rows(writer, number, layout.words + 1, layout.count - 1))
    return false;
  sort_keys(&writer->keys);
  if (!number_slots(writer, &has_bases) || !list_bases(writer))
    return false;
  const struct row *rows = writer->rows.items;
  const uint64_t *keys = writer->keys.items;
  for (size_t i = 0; i < writer->rows.count; i++)
    has_lists |= rows[i].list > 0;
  const bool scattered = is_scattered(&writer->keys);
  *head = (struct head){
      .fields = {layout.words[0], writer->keys.count == 0 ? 0 : keys[0] >> 16, writer->keys.count,
                 writer->rows.count - 1, writer->bases.count, high_width(writer)},
      .flags = (has_bases ? HEAD_HAS_BASES : 0) | (scattered ? HEAD_IS_SCATTERED : 0) |
               (has_lists ? HEAD_HAS_LISTS : 0),
  };
  if (scattered)
    put_numbers(&writer->bodies, &writer->keys);
  if (has_bases)
    put_bases(writer);
  const unsigned list_width =
      has_lists ? bits_for_count((uint64_t)writer->numbers->list_count + 1) : 0;
  for (size_t i = 0; i < writer->rows.count; i++)
    put_row(writer, &rows[i], list_width);
  put_positions(writer, layout.words + 1, layout.count - 1);
  head->end = writer->bodies.size;
  return !writer->bodies.failed && head->fields[HEAD_SLOTS] <= PACKED_SLOTS_MAX &&
         head->fields[HEAD_SETS] < PACKED_SETS_MAX && head->fields[HEAD_COUNTS] <= UINT32_MAX &&
         head->fields[HEAD_HIGH] <= UINT32_MAX;
}

/* ---- Heads ---- */

static unsigned field_count(const struct head *head) {
  return (head->flags & HEAD_HAS_BASES) != 0 ? HEAD_FIELDS : HEAD_COUNTS;
}

/* A frame's field of all ones says that the head is long. */
static bool fits(const struct head *head, const unsigned *widths) {
  for (unsigned i = 0; i < field_count(head); i++)
    if (head->fields[i] >= ((uint64_t)1 << widths[i]) - (i == HEAD_FRAME))
      return false;
  return true;
}

static uint64_t heads_size(const struct head *heads, uint32_t count, const unsigned *widths,
                           unsigned long_width) {
  uint64_t size = 0;
  for (uint32_t i = 0; i < count; i++) {
    const unsigned fields = field_count(&heads[i]);
    if (!fits(&heads[i], widths))
      size += widths[HEAD_FRAME] + fields * long_width;
    else
      for (unsigned field = 0; field < fields; field++)
        size += widths[field];
  }
  return size;
}

/* Starts with widths that nearly all heads fit into, and takes the best one for each field in turn. Long
 * heads count for more than they take: they are read more slowly, and are those of large functions. */
static void choose_widths(const struct head *heads, uint32_t count, unsigned *widths) {
  enum { WIDTH_MAX = 10, ROUNDS = 3, LONG_WIDTH = 24 }; /* 6 * 10 + 3 bits: one load has them */
  for (unsigned i = 0; i < HEAD_FIELDS; i++)
    widths[i] = WIDTH_MAX;
  for (unsigned round = 0; round < ROUNDS * HEAD_FIELDS; round++) {
    unsigned *width = &widths[round % HEAD_FIELDS], best = *width;
    uint64_t least = heads_size(heads, count, widths, LONG_WIDTH);
    for (*width = round % HEAD_FIELDS == HEAD_FRAME; *width <= WIDTH_MAX; ++*width) {
      const uint64_t size = heads_size(heads, count, widths, LONG_WIDTH);
      if (size < least || (size == least && *width < best)) {
        least = size;
        best = *width;
      }
    }
    *width = best;
  }
}

/* The width that holds each field of each head. */
static unsigned choose_long_width(const struct head *heads, uint32_t count) {
  uint64_t most = 1;
  for (uint32_t i = 0; i < count; i++)
    for (unsigned field = 0; field < field_count(&heads[i]); field++)
      most = heads[i].fields[field] > most ? heads[i].fields[field] : most;
  return bits_for_number(most);
}

static void put_head(struct bit_writer *bits, const struct head *head, const unsigned *widths,
                     unsigned long_width, unsigned flags) {
  const bool is_long = !fits(head, widths);
  bit_writer_put(bits, head->flags, flags);
  if (is_long)
    bit_writer_put(bits, UINT64_MAX, widths[HEAD_FRAME]);
  for (unsigned i = 0; i < field_count(head); i++)
    bit_writer_put(bits, head->fields[i], is_long ? long_width : widths[i]);
}

/* Appends bits [from, to) of another string. */
static void copy_bits(struct bit_writer *out, const struct bit_writer *bits, uint64_t from,
                      uint64_t to) {
  enum { PIECE = 56 };
  for (; from < to; from += PIECE) {
    const unsigned width = to - from < PIECE ? (unsigned)(to - from) : PIECE;
    bit_writer_put(out, bits_at(bits->bytes, from, width), width);
  }
}

/* ---- All ---- */

static void join_layouts(const struct layouts_writer *writer, const struct head *heads,
                         const struct packed_header *header, struct packed_layouts *layouts) {
  const unsigned widths[HEAD_FIELDS] = {header->frame_width,  header->first_width,
                                        header->slots_width,  header->sets_width,
                                        header->counts_width, header->high_width};
  const uint64_t unit = (uint64_t)8 << header->reference_shift;
  uint64_t from = 0;
  layouts->bits.size = 0;
  if (layouts->bits.bytes != NULL)
    memset(layouts->bits.bytes, 0, layouts->bits.capacity);
  for (uint32_t i = 0; i < layouts->layouts.count; i++) {
    while (layouts->bits.size % unit != 0 && !layouts->bits.failed)
      bit_writer_put(&layouts->bits, 0, 8);
    layouts->places[i] = layouts->bits.size / 8;
    put_head(&layouts->bits, &heads[i], widths, header->long_width,
             2 + (writer->numbers->list_count > 0));
    copy_bits(&layouts->bits, &writer->bodies, from, heads[i].end);
    bit_writer_align(&layouts->bits);
    from = heads[i].end;
  }
}

/* The bytes of a reference to any place in the layouts; all ones are a gap's. */
static uint8_t bytes_of_references(const struct packed_layouts *layouts, unsigned shift) {
  uint8_t bytes = 1;
  while ((layouts->bits.size / 8) >> shift >= bits_low_mask(bytes * 8u))
    bytes++;
  return bytes;
}

/* Layouts at even places, or at multiples of 4, are larger; but there may be a byte less to tell each
 * stretch's place. */
static void place_layouts(const struct layouts_writer *writer, const struct head *heads,
                          struct packed_header *header, struct packed_layouts *layouts) {
  enum { SHIFTS = 3 };
  uint64_t least = UINT64_MAX;
  uint8_t best = 0;
  for (header->reference_shift = 0; header->reference_shift < SHIFTS; header->reference_shift++) {
    join_layouts(writer, heads, header, layouts);
    const uint64_t size =
        layouts->bits.size / 8 +
        (uint64_t)header->stretches * bytes_of_references(layouts, header->reference_shift);
    if (size < least) {
      least = size;
      best = header->reference_shift;
    }
  }
  header->reference_shift = best;
  join_layouts(writer, heads, header, layouts);
  header->reference_bytes = bytes_of_references(layouts, best);
}

static bool write_all(struct layouts_writer *writer, struct packed_header *header,
                      struct packed_layouts *layouts) {
  const uint32_t count = layouts->layouts.count;
  struct head *heads = calloc((size_t)count + 1, sizeof *heads);
  unsigned widths[HEAD_FIELDS];
  bool ok = heads != NULL;
  for (uint32_t i = 0; i < count && ok; i++)
    ok = write_body(writer, i, &heads[i], intern_get(&layouts->layouts, i));
  if (ok) {
    header->long_width = (uint8_t)choose_long_width(heads, count);
    choose_widths(heads, count, widths);
    header->frame_width = (uint8_t)widths[HEAD_FRAME];
    header->first_width = (uint8_t)widths[HEAD_FIRST];
    header->slots_width = (uint8_t)widths[HEAD_SLOTS];
    header->sets_width = (uint8_t)widths[HEAD_SETS];
    header->counts_width = (uint8_t)widths[HEAD_COUNTS];
    header->high_width = (uint8_t)widths[HEAD_HIGH];
    place_layouts(writer, heads, header, layouts);
  }
  free(heads);
  return ok && !layouts->bits.failed;
}

bool packed_write_layouts(const struct safepoints *table, const struct packed_numbers *numbers,
                          struct packed_header *header, struct packed_layouts *layouts) {
  struct layouts_writer writer = {
      .table = table,
      .numbers = numbers,
      .seen = calloc((size_t)table->live.count + 1, sizeof *writer.seen),
      .set_of = calloc((size_t)table->live.count + 1, sizeof *writer.set_of),
  };
  layouts->places = calloc((size_t)layouts->layouts.count + 1, sizeof *layouts->places);
  const bool ok = writer.seen != NULL && writer.set_of != NULL && layouts->places != NULL &&
                  write_all(&writer, header, layouts);
  free(writer.seen);
  free(writer.set_of);
  free(writer.keys.items);
  free(writer.rows.items);
  free(writer.pairs.items);
  free(writer.bases.items);
  free(writer.counts.items);
  bit_writer_free(&writer.bodies);
  return ok;
}
