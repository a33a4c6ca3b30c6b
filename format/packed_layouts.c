/* packed_layouts.c - writes a function's layout: the builder to packed_items.c, which draws it.
 *
 * At one record a location is in at most one pair as the derived one: it holds one value. So says
 * every stack map that LLVM writes, and the states of locations rely on it. Where a stack map says
 * otherwise, the location is written several times, once for each pair that it is derived in.
 *
 * A function's sets are written as rows of states, or, where that is shorter, each as the changes
 * from another one, its parent. Which parent is best is a question of a shortest spanning tree; here
 * each set looks at the ones before it, and takes the nearest that isn't too deep. A deep tree
 * would be smaller and slower: the reader goes up to the root for every look-up.
 */
#include "packed_write.h"

#include <stdlib.h>

enum {
  PARENTS_CONSIDERED = 512,      /* at most, of those before a set */
  PARENT_STATES_COMPARED = 8192, /* about, for each set: so that time is linear */
};

struct words {
  uint64_t *items;
  uint64_t count, capacity;
};

/* A pair of locations' numbers, ordered by the derived one; of one location, the pair with itself
 * is the first. */
static uint64_t pair_key(uint64_t base, uint64_t derived) {
  return derived << 32 | (base == derived ? 0 : base + 1);
}
static uint64_t key_derived(uint64_t key) { return key >> 32; }
static uint64_t key_base(uint64_t key) {
  return (uint32_t)key == 0 ? key_derived(key) : (uint32_t)key - 1;
}
static bool key_is_self(uint64_t key) { return (uint32_t)key == 0; }

/* A location of the layout: states[first_pair + n] is the pair that state n + 1 stands for. */
struct place {
  uint64_t number; /* of the location */
  uint64_t first_pair, pairs;
  bool is_self; /* its state 1 is the pair with itself */
};

struct layout_writer {
  const struct safepoints *table;
  const struct packed_numbers *numbers;
  unsigned frame_width, location_width, list_width;
  bool failed;
  uint32_t *local_set;       /* by live set of the table: 1 + its number in this layout, or 0 */
  struct words sets;         /* live sets of the table, in the order of this layout */
  struct words pairs;        /* keys of all pairs, sorted */
  struct words lists;        /* kind << 32 | number, sorted */
  struct words numbers_used; /* of locations, sorted: those that only are bases, too */
  struct words split;   /* numbers of locations that are derived twice at some record, sorted */
  struct place *places; /* the layout's locations, in order */
  uint64_t place_count, place_capacity;
  struct words states; /* rows of the sets: a state for each place, then one for the lists */
  struct words depth;  /* of each set in the tree */
};

static bool words_reserve(struct layout_writer *writer, struct words *words, uint64_t count) {
  if (count <= words->capacity)
    return true;
  const uint64_t capacity = count + count / 2 + 64;
  uint64_t *items = realloc(words->items, capacity * sizeof *items);
  if (items == NULL) {
    writer->failed = true;
    return false;
  }
  words->items = items;
  words->capacity = capacity;
  return true;
}

static void words_add(struct layout_writer *writer, struct words *words, uint64_t item) {
  if (words_reserve(writer, words, words->count + 1))
    words->items[words->count++] = item;
}

static void words_sort_distinct(struct words *words) {
  if (words->count == 0)
    return;
  qsort(words->items, words->count, sizeof *words->items, bits_compare_words);
  uint64_t kept = 1;
  for (uint64_t i = 1; i < words->count; i++)
    if (words->items[i] != words->items[kept - 1])
      words->items[kept++] = words->items[i];
  words->count = kept;
}

/* The place of an item that is there. */
static uint64_t words_find(const struct words *words, uint64_t item) {
  uint64_t from = 0, to = words->count;
  while (from < to) {
    const uint64_t middle = from + (to - from) / 2;
    if (words->items[middle] < item)
      from = middle + 1;
    else
      to = middle;
  }
  return from;
}

struct layout_writer *layout_writer_new(const struct safepoints *table,
                                        const struct packed_numbers *numbers,
                                        unsigned frame_width) {
  struct layout_writer *writer = calloc(1, sizeof *writer);
  if (writer == NULL)
    return NULL;
  writer->table = table;
  writer->numbers = numbers;
  writer->frame_width = frame_width;
  writer->location_width = bits_for_count(numbers->location_count);
  writer->list_width = bits_for_count(numbers->list_count);
  writer->local_set = calloc((size_t)table->live.count + 1, sizeof *writer->local_set);
  writer->failed = writer->local_set == NULL;
  return writer;
}

void layout_writer_free(struct layout_writer *writer) {
  if (writer == NULL)
    return;
  free(writer->local_set);
  free(writer->sets.items);
  free(writer->pairs.items);
  free(writer->lists.items);
  free(writer->numbers_used.items);
  free(writer->split.items);
  free(writer->places);
  free(writer->states.items);
  free(writer->depth.items);
  free(writer);
}

/* ---- Sets and their items ---- */

static uint64_t item_pair(const struct layout_writer *writer, uint64_t item) {
  const uint32_t *numbers = writer->numbers->locations;
  return pair_key(numbers[safepoint_item_base(item)], numbers[safepoint_item_derived(item)]);
}

static uint64_t item_list(const struct layout_writer *writer, uint64_t item) {
  return (uint64_t)safepoint_item_is_locations(item) << 32 |
         writer->numbers->lists[safepoint_item_list(item)];
}

/* Numbers the distinct sets in the order in which they first come. */
static void collect_sets(struct layout_writer *writer, const uint64_t *live, uint64_t records) {
  writer->sets.count = 0;
  for (uint64_t i = 0; i < records; i++)
    if (writer->local_set[live[i]] == 0) {
      words_add(writer, &writer->sets, live[i]);
      writer->local_set[live[i]] = (uint32_t)writer->sets.count;
    }
}

static void forget_sets(struct layout_writer *writer) {
  for (uint64_t i = 0; i < writer->sets.count; i++)
    writer->local_set[writer->sets.items[i]] = 0;
}

static struct intern_sequence set_items(const struct layout_writer *writer, uint64_t set) {
  return intern_get(&writer->table->live, (uint32_t)writer->sets.items[set]);
}

/* Notes the locations that are the derived one of two pairs of a set. */
static void find_split(struct layout_writer *writer, struct words *derived, uint64_t set) {
  const struct intern_sequence items = set_items(writer, set);
  derived->count = 0;
  for (uint64_t k = 0; k < items.count; k++)
    if (!safepoint_item_is_list(items.words[k]))
      words_add(writer, derived, key_derived(item_pair(writer, items.words[k])));
  if (derived->count > 0)
    qsort(derived->items, derived->count, sizeof *derived->items, bits_compare_words);
  for (uint64_t k = 1; k < derived->count; k++)
    if (derived->items[k] == derived->items[k - 1])
      words_add(writer, &writer->split, derived->items[k]);
}

static void collect_items(struct layout_writer *writer) {
  struct words derived = {0};
  writer->pairs.count = writer->lists.count = writer->split.count = 0;
  for (uint64_t i = 0; i < writer->sets.count; i++) {
    const struct intern_sequence items = set_items(writer, i);
    for (uint64_t k = 0; k < items.count; k++)
      if (safepoint_item_is_list(items.words[k]))
        words_add(writer, &writer->lists, item_list(writer, items.words[k]));
      else
        words_add(writer, &writer->pairs, item_pair(writer, items.words[k]));
    find_split(writer, &derived, i);
  }
  free(derived.items);
  words_sort_distinct(&writer->pairs);
  words_sort_distinct(&writer->lists);
  words_sort_distinct(&writer->split);
}

/* ---- Locations ---- */

static bool words_have(const struct words *words, uint64_t item) {
  const uint64_t place = words_find(words, item);
  return place < words->count && words->items[place] == item;
}

static void add_place(struct layout_writer *writer, struct place place) {
  if (writer->place_count == writer->place_capacity) {
    const uint64_t capacity = writer->place_capacity * 2 + 64;
    struct place *places = realloc(writer->places, capacity * sizeof *places);
    if (places == NULL) {
      writer->failed = true;
      return;
    }
    writer->places = places;
    writer->place_capacity = capacity;
  }
  writer->places[writer->place_count++] = place;
}

/* Makes the places of one location, whose pairs are [from, to) of all: one, or one for each pair. */
static void add_places(struct layout_writer *writer, uint64_t number, uint64_t from, uint64_t to) {
  const bool split = words_have(&writer->split, number);
  do {
    const uint64_t end = split && from < to ? from + 1 : to;
    add_place(writer, (struct place){number, from, end - from,
                                     from < end && key_is_self(writer->pairs.items[from])});
    from = end;
  } while (from < to);
}

static void collect_places(struct layout_writer *writer) {
  struct words *used = &writer->numbers_used;
  used->count = writer->place_count = 0;
  for (uint64_t i = 0; i < writer->pairs.count; i++) {
    words_add(writer, used, key_derived(writer->pairs.items[i]));
    words_add(writer, used, key_base(writer->pairs.items[i]));
  }
  words_sort_distinct(used);
  for (uint64_t i = 0, from = 0; i < used->count && !writer->failed; i++) {
    uint64_t to = from;
    while (to < writer->pairs.count && key_derived(writer->pairs.items[to]) == used->items[i])
      to++;
    add_places(writer, used->items[i], from, to);
    from = to;
  }
}

/* The first place of the location that has a number. */
static uint64_t find_place(const struct layout_writer *writer, uint64_t number) {
  uint64_t from = 0, to = writer->place_count;
  while (from < to) {
    const uint64_t middle = from + (to - from) / 2;
    if (writer->places[middle].number < number)
      from = middle + 1;
    else
      to = middle;
  }
  return from;
}

/* Writes which numbers the locations have, in the shortest of the three forms. */
static void write_numbers(const struct layout_writer *writer, struct bit_writer *bits) {
  const struct place *places = writer->places;
  const uint64_t count = writer->place_count, first = places[0].number;
  const uint64_t run = places[count - 1].number - first + 1;
  const uint64_t list_bits = (count - 1) * writer->location_width;
  const bool distinct = count == writer->numbers_used.count;
  bit_writer_put(bits, first, writer->location_width);
  if (distinct && run == count) {
    bit_writer_put(bits, PACKED_CONTIGUOUS, 2);
    return;
  }
  if (!distinct || run > PACKED_BIT_MAP_MAX || list_bits <= run + bits_gamma_width(run - count)) {
    bit_writer_put(bits, PACKED_LIST, 2);
    for (uint64_t i = 1; i < count; i++)
      bit_writer_put(bits, places[i].number, writer->location_width);
    return;
  }
  bit_writer_put(bits, PACKED_BIT_MAP, 2);
  bit_writer_gamma(bits, run - count);
  for (uint64_t number = first, i = 0; number < first + run; number++) {
    const bool is_used = places[i].number == number;
    bit_writer_put(bits, is_used, 1);
    i += is_used;
  }
}

/* Writes from which bases the locations can be derived. */
static void write_bases(const struct layout_writer *writer, struct bit_writer *bits) {
  const unsigned width = bits_for_count(writer->place_count);
  bool any = false;
  for (uint64_t i = 0; i < writer->place_count; i++)
    any |= writer->places[i].pairs > writer->places[i].is_self;
  bit_writer_put(bits, any, 1);
  if (!any)
    return;
  for (uint64_t i = 0; i < writer->place_count; i++)
    bit_writer_put(bits, writer->places[i].pairs > writer->places[i].is_self, 1);
  for (uint64_t i = 0; i < writer->place_count; i++) {
    const struct place *place = &writer->places[i];
    if (place->pairs > place->is_self)
      bit_writer_gamma(bits, place->pairs - place->is_self - 1);
  }
  for (uint64_t i = 0; i < writer->place_count; i++) {
    const struct place *place = &writer->places[i];
    for (uint64_t k = place->is_self; k < place->pairs; k++)
      bit_writer_put(bits, find_place(writer, key_base(writer->pairs.items[place->first_pair + k])),
                     width);
  }
}

static void write_locations(const struct layout_writer *writer, struct bit_writer *bits) {
  uint64_t selves = 0;
  bit_writer_gamma(bits, writer->place_count);
  if (writer->place_count == 0)
    return;
  write_numbers(writer, bits);
  for (uint64_t i = 0; i < writer->place_count; i++)
    selves += writer->places[i].is_self;
  bit_writer_put(bits, selves == writer->place_count, 1);
  for (uint64_t i = 0; i < writer->place_count && selves != writer->place_count; i++)
    bit_writer_put(bits, writer->places[i].is_self, 1);
  write_bases(writer, bits);
}

static void write_lists(const struct layout_writer *writer, struct bit_writer *bits) {
  if (writer->numbers->list_count == 0)
    return;
  bit_writer_gamma(bits, writer->lists.count);
  for (uint64_t i = 0; i < writer->lists.count; i++) {
    bit_writer_put(bits, writer->lists.items[i] >> 32, 1);
    bit_writer_put(bits, (uint32_t)writer->lists.items[i], writer->list_width);
  }
}

/* ---- Rows of states ---- */

/* How many states there are in a row: one for each place, and one for the lists. */
static uint64_t row_length(const struct layout_writer *writer) {
  return writer->place_count + (writer->lists.count > 0);
}

/* How many states above 0 the n-th of a row can be in. */
static uint64_t states_of(const struct layout_writer *writer, uint64_t n) {
  return n < writer->place_count ? writer->places[n].pairs : writer->lists.count;
}

static uint64_t row_width(const struct layout_writer *writer) {
  uint64_t width = row_length(writer);
  for (uint64_t n = 0; n < row_length(writer); n++)
    width += packed_more_bits(states_of(writer, n));
  return width;
}

static uint64_t *row_of(const struct layout_writer *writer, uint64_t set) {
  return writer->states.items + set * row_length(writer);
}

static void fill_row(struct layout_writer *writer, uint64_t set) {
  const struct intern_sequence items = set_items(writer, set);
  uint64_t *row = row_of(writer, set);
  for (uint64_t k = 0; k < items.count; k++) {
    if (safepoint_item_is_list(items.words[k])) {
      row[writer->place_count] = words_find(&writer->lists, item_list(writer, items.words[k])) + 1;
      continue;
    }
    const uint64_t key = item_pair(writer, items.words[k]);
    const uint64_t pair = words_find(&writer->pairs, key);
    uint64_t n = find_place(writer, key_derived(key));
    while (pair >= writer->places[n].first_pair + writer->places[n].pairs)
      n++;
    row[n] = pair - writer->places[n].first_pair + 1;
  }
}

static bool fill_rows(struct layout_writer *writer) {
  const uint64_t count = writer->sets.count * row_length(writer);
  if (!words_reserve(writer, &writer->states, count) ||
      !words_reserve(writer, &writer->depth, writer->sets.count))
    return false;
  if (count > 0)
    memset(writer->states.items, 0, count * sizeof(uint64_t));
  for (uint64_t i = 0; i < writer->sets.count; i++)
    fill_row(writer, i);
  return true;
}

static void write_row(const struct layout_writer *writer, struct bit_writer *bits, uint64_t set) {
  const uint64_t *row = row_of(writer, set);
  for (uint64_t n = 0; n < row_length(writer); n++)
    bit_writer_put(bits, row[n] & 1, 1);
  for (uint64_t n = 0; n < row_length(writer); n++)
    bit_writer_put(bits, row[n] >> 1, packed_more_bits(states_of(writer, n)));
}

/* ---- Changes ---- */

/* Changes from one row to another: how many locations they have, and the bits of their new states. */
struct changes {
  uint64_t count, states_width;
};

/* Compares two rows, up to where more than `most` locations have changed. */
static struct changes compare_rows(const struct layout_writer *writer, uint64_t set,
                                   uint64_t parent, uint64_t most) {
  const uint64_t *row = row_of(writer, set), *old = row_of(writer, parent);
  const uint64_t length = row_length(writer);
  struct changes changes = {0};
  for (uint64_t n = 0; n < length && changes.count <= most; n++)
    if (row[n] != old[n]) {
      changes.count++;
      if (states_of(writer, n) > 1)
        changes.states_width += 1 + packed_more_bits(states_of(writer, n));
    }
  return changes;
}

/* All sets of a layout, as changes. */
struct tree {
  bool are_numbers; /* changed locations are written by number, and not as bit maps */
  struct bit_writer bits;
  struct words directory; /* where every 2^PACKED_CHANGES_PER_SAMPLE_SHIFT-th set starts */
  unsigned width;         /* of an entry there */
};

static uint64_t changes_width(const struct layout_writer *writer, const struct tree *tree,
                              const struct changes *changes) {
  const uint64_t length = row_length(writer);
  return changes->states_width + (tree->are_numbers ? bits_gamma_width(changes->count) +
                                                          changes->count * bits_for_count(length)
                                                    : length);
}

/* More changes than these take at least `width` bits. */
static uint64_t changes_below(const struct layout_writer *writer, const struct tree *tree,
                              uint64_t width) {
  const unsigned number_width = bits_for_count(row_length(writer));
  return tree->are_numbers && number_width > 0 ? width / number_width : UINT64_MAX;
}

/* The set before `set` from which it takes fewest bits: 1 + its number, or 0 where a row, of
 * `widest` bits, is as short. */
static uint64_t choose_parent(struct layout_writer *writer, const struct tree *tree, uint64_t set,
                              uint64_t widest) {
  const uint64_t affordable = PARENT_STATES_COMPARED / row_length(writer) + 1;
  const uint64_t considered = affordable < PARENTS_CONSIDERED ? affordable : PARENTS_CONSIDERED;
  uint64_t best = 0, best_width = widest;
  const uint64_t least = tree->are_numbers ? 0 : row_length(writer);
  uint64_t most = changes_below(writer, tree, best_width);
  for (uint64_t i = set > considered ? set - considered : 0; i < set && least < best_width; i++) {
    if (writer->depth.items[i] >= PACKED_DEPTH_MAX)
      continue;
    const struct changes changes = compare_rows(writer, set, i, most);
    const uint64_t width = changes_width(writer, tree, &changes);
    if (width < best_width) {
      best_width = width;
      best = i + 1;
      most = changes_below(writer, tree, best_width);
    }
  }
  writer->depth.items[set] = best == 0 ? 0 : writer->depth.items[best - 1] + 1;
  return best;
}

static void write_changes(const struct layout_writer *writer, struct tree *tree, uint64_t set,
                          uint64_t parent) {
  const uint64_t *row = row_of(writer, set), *old = row_of(writer, parent);
  const uint64_t length = row_length(writer);
  if (tree->are_numbers)
    bit_writer_gamma(&tree->bits, compare_rows(writer, set, parent, UINT64_MAX).count);
  for (uint64_t n = 0; n < length; n++) {
    const bool changed = row[n] != old[n];
    if (!tree->are_numbers)
      bit_writer_put(&tree->bits, changed, 1);
    else if (changed)
      bit_writer_put(&tree->bits, n, bits_for_count(length));
  }
  for (uint64_t n = 0; n < length; n++)
    if (row[n] != old[n] && states_of(writer, n) > 1)
      bit_writer_put(&tree->bits, row[n], 1 + packed_more_bits(states_of(writer, n)));
}

static void fill_tree(struct layout_writer *writer, struct tree *tree) {
  const uint64_t widest = row_width(writer);
  for (uint64_t i = 0; i < writer->sets.count; i++) {
    if (i > 0 && (i & bits_low_mask(PACKED_CHANGES_PER_SAMPLE_SHIFT)) == 0)
      words_add(writer, &tree->directory, tree->bits.size);
    const uint64_t parent = choose_parent(writer, tree, i, widest);
    bit_writer_put(&tree->bits, parent, bits_for_count(writer->sets.count + 1));
    if (parent == 0)
      write_row(writer, &tree->bits, i);
    else
      write_changes(writer, tree, i, parent - 1);
  }
  words_add(writer, &tree->directory, tree->bits.size);
  tree->width = bits_for_count(tree->bits.size + 1);
  writer->failed |= tree->bits.failed;
}

static uint64_t tree_width(const struct tree *tree) {
  return 7 + tree->width * tree->directory.count + tree->bits.size;
}

static void write_tree(const struct tree *tree, struct bit_writer *bits) {
  bit_writer_put(bits, tree->are_numbers, 1);
  bit_writer_put(bits, tree->width, 6);
  for (uint64_t i = 0; i < tree->directory.count; i++)
    bit_writer_put(bits, tree->directory.items[i], tree->width);
  bit_writer_copy(bits, tree->bits.bytes, 0, tree->bits.size);
}

static void tree_free(struct tree *tree) {
  bit_writer_free(&tree->bits);
  free(tree->directory.items);
}

/* Changes don't pay below this many bits of a row, as a parent and the bit for each location take
 * about as many; and must save an eighth, as rows are faster to read. */
enum { CHANGED_ROW_MIN = 16 };

static void write_sets(struct layout_writer *writer, struct bit_writer *bits) {
  if (writer->sets.count < 2 || !fill_rows(writer))
    return;
  struct tree trees[] = {{.are_numbers = false}, {.are_numbers = true}};
  const uint64_t rows_width = row_width(writer) * writer->sets.count;
  const struct tree *best = NULL;
  uint64_t best_width = rows_width - rows_width / 8;
  for (unsigned i = 0; i < 2 && row_width(writer) >= CHANGED_ROW_MIN; i++) {
    fill_tree(writer, &trees[i]);
    if (tree_width(&trees[i]) < best_width) {
      best = &trees[i];
      best_width = tree_width(best);
    }
  }
  bit_writer_put(bits, best != NULL ? PACKED_SET_CHANGES : PACKED_SET_ROWS, 1);
  if (best != NULL)
    write_tree(best, bits);
  for (uint64_t i = 0; i < writer->sets.count && best == NULL; i++)
    write_row(writer, bits, i);
  tree_free(&trees[0]);
  tree_free(&trees[1]);
}

bool layout_write(struct layout_writer *writer, struct bit_writer *bits, uint64_t frame_number,
                  const uint64_t *live, uint64_t records) {
  bit_writer_put(bits, frame_number, writer->frame_width);
  collect_sets(writer, live, records);
  bit_writer_gamma(bits, writer->sets.count);
  if (writer->sets.count > 0) {
    collect_items(writer);
    collect_places(writer);
    if (writer->place_count > PACKED_LOCATIONS_MAX || writer->pairs.count > PACKED_LOCATIONS_MAX ||
        writer->sets.count > BITS_GAMMA_MAX)
      writer->failed = true;
    if (writer->failed)
      return false;
    write_locations(writer, bits);
    write_lists(writer, bits);
    write_sets(writer, bits);
    const unsigned width = bits_for_count(writer->sets.count);
    for (uint64_t i = 0; i < records; i++)
      bit_writer_put(bits, writer->local_set[live[i]] - 1, width);
  }
  forget_sets(writer);
  return !writer->failed && !bits->failed;
}
