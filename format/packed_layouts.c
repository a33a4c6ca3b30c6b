/* packed_layouts.c - writes a function's layout: the builder to packed_items.c, which draws it.
 *
 * A function's records list sets of the same few items. The sets are written as bit maps, one bit
 * per item, or, where that is shorter, as a tree: each set as the items in which it differs from
 * another one, its parent. Which parent is best is a question of a shortest spanning tree; here
 * each set looks at the ones before it, and takes the nearest that isn't too deep. A deep tree
 * would be smaller and slower: the reader goes up to the root for every look-up.
 */
#include "packed_write.h"

#include <stdlib.h>

enum {
  PARENTS_CONSIDERED = 512,     /* at most, of those before a set */
  PARENT_WORDS_COMPARED = 4096, /* about, of bit maps, for each set: so that time is linear */
  PAIR_SELF = 0, /* the high two bits of an item's key: its place in the order of items */
  PAIR_DERIVED = 1,
  LIST = 2,
};

struct words {
  uint64_t *items;
  uint64_t count, capacity;
};

struct layout_writer {
  const struct safepoints *table;
  const struct packed_numbers *numbers;
  unsigned frame_width, location_width, list_width;
  bool failed;
  uint32_t *local_set;    /* by live set of the table: 1 + its number in this layout, or 0 */
  struct words sets;      /* live sets of the table, in the order of this layout */
  struct words items;     /* keys of the layout's items, sorted */
  struct words locations; /* numbers, sorted */
  struct words map;       /* bit maps of the sets, map_words each */
  struct words depth;     /* of each set in the tree */
  uint64_t map_words;
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

static int compare_words(const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

static void words_sort_distinct(struct words *words) {
  if (words->count == 0)
    return;
  qsort(words->items, words->count, sizeof *words->items, compare_words);
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
  free(writer->items.items);
  free(writer->locations.items);
  free(writer->map.items);
  free(writer->depth.items);
  free(writer);
}

/* ---- Items ---- */

/* An item as a number whose order is that of the items in a layout. */
static uint64_t item_key(const struct layout_writer *writer, uint64_t item) {
  const struct packed_numbers *numbers = writer->numbers;
  if (safepoint_item_is_list(item))
    return (uint64_t)LIST << 62 | (uint64_t)safepoint_item_is_locations(item) << 32 |
           numbers->lists[safepoint_item_list(item)];
  const uint64_t base = numbers->locations[safepoint_item_base(item)];
  const uint64_t derived = numbers->locations[safepoint_item_derived(item)];
  return base == derived ? base : (uint64_t)PAIR_DERIVED << 62 | base << 31 | derived;
}

static uint64_t key_base(uint64_t key) { return key >> 31 & INT32_MAX; }
static uint64_t key_derived(uint64_t key) { return key & INT32_MAX; }

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

static void collect_items(struct layout_writer *writer) {
  writer->items.count = 0;
  writer->locations.count = 0;
  for (uint64_t i = 0; i < writer->sets.count; i++) {
    const struct intern_sequence set =
        intern_get(&writer->table->live, (uint32_t)writer->sets.items[i]);
    for (uint64_t k = 0; k < set.count; k++)
      words_add(writer, &writer->items, item_key(writer, set.words[k]));
  }
  words_sort_distinct(&writer->items);
  for (uint64_t i = 0; i < writer->items.count; i++) {
    const uint64_t key = writer->items.items[i];
    if (key >> 62 == PAIR_SELF)
      words_add(writer, &writer->locations, key);
    if (key >> 62 == PAIR_DERIVED) {
      words_add(writer, &writer->locations, key_base(key));
      words_add(writer, &writer->locations, key_derived(key));
    }
  }
  words_sort_distinct(&writer->locations);
}

static uint64_t count_kind(const struct layout_writer *writer, unsigned kind) {
  uint64_t count = 0;
  for (uint64_t i = 0; i < writer->items.count; i++)
    count += writer->items.items[i] >> 62 == kind;
  return count;
}

/* Writes which numbers the locations have, in the shortest of the three forms. */
static void write_locations(const struct layout_writer *writer, struct bit_writer *bits) {
  const struct words *locations = &writer->locations;
  const uint64_t first = locations->items[0];
  const uint64_t run = locations->items[locations->count - 1] - first + 1;
  const uint64_t list_bits = (locations->count - 1) * writer->location_width;
  bit_writer_put(bits, first, writer->location_width);
  if (run == locations->count) {
    bit_writer_put(bits, PACKED_CONTIGUOUS, 2);
    return;
  }
  if (run > PACKED_BIT_MAP_MAX || list_bits <= run + bits_gamma_width(run - locations->count)) {
    bit_writer_put(bits, PACKED_LIST, 2);
    for (uint64_t i = 1; i < locations->count; i++)
      bit_writer_put(bits, locations->items[i], writer->location_width);
    return;
  }
  bit_writer_put(bits, PACKED_BIT_MAP, 2);
  bit_writer_gamma(bits, run - locations->count);
  for (uint64_t number = first, i = 0; number < first + run; number++) {
    const bool used = locations->items[i] == number;
    bit_writer_put(bits, used, 1);
    i += used;
  }
}

static void write_pairs(const struct layout_writer *writer, struct bit_writer *bits) {
  const struct words *items = &writer->items;
  const struct words *locations = &writer->locations;
  bit_writer_gamma(bits, locations->count);
  if (locations->count == 0)
    return;
  write_locations(writer, bits);
  const uint64_t selves = count_kind(writer, PAIR_SELF);
  const uint64_t derived = count_kind(writer, PAIR_DERIVED);
  bit_writer_put(bits, selves == locations->count, 1);
  if (selves != locations->count)
    for (uint64_t i = 0, self = 0; i < locations->count; i++) {
      const bool is_self = self < selves && items->items[self] == locations->items[i];
      bit_writer_put(bits, is_self, 1);
      self += is_self;
    }
  bit_writer_gamma(bits, derived);
  const unsigned width = bits_for_count(locations->count);
  for (uint64_t i = selves; i < selves + derived; i++) {
    bit_writer_put(bits, words_find(locations, key_base(items->items[i])), width);
    bit_writer_put(bits, words_find(locations, key_derived(items->items[i])), width);
  }
}

static void write_lists(const struct layout_writer *writer, struct bit_writer *bits) {
  if (writer->numbers->list_count == 0)
    return;
  const uint64_t lists = count_kind(writer, LIST);
  bit_writer_gamma(bits, lists);
  for (uint64_t i = writer->items.count - lists; i < writer->items.count; i++) {
    const uint64_t key = writer->items.items[i];
    bit_writer_put(bits, key >> 32 & 1, 1);
    bit_writer_put(bits, (uint32_t)key, writer->list_width);
  }
}

/* ---- Live sets ---- */

static uint64_t *set_map(const struct layout_writer *writer, uint64_t set) {
  return writer->map.items + set * writer->map_words;
}

/* Makes a bit map of each set. */
static bool map_sets(struct layout_writer *writer) {
  writer->map_words = (writer->items.count + 63) / 64;
  const uint64_t words = writer->map_words * writer->sets.count;
  if (!words_reserve(writer, &writer->map, words) ||
      !words_reserve(writer, &writer->depth, writer->sets.count))
    return false;
  if (words > 0)
    memset(writer->map.items, 0, words * sizeof(uint64_t));
  for (uint64_t i = 0; i < writer->sets.count; i++) {
    const struct intern_sequence set =
        intern_get(&writer->table->live, (uint32_t)writer->sets.items[i]);
    for (uint64_t k = 0; k < set.count; k++) {
      const uint64_t item = words_find(&writer->items, item_key(writer, set.words[k]));
      set_map(writer, i)[item / 64] |= (uint64_t)1 << item % 64;
    }
  }
  return true;
}

static uint64_t count_flips(const struct layout_writer *writer, const uint64_t *map,
                            const uint64_t *parent) {
  uint64_t flips = 0;
  for (uint64_t i = 0; i < writer->map_words; i++)
    flips += (uint64_t)__builtin_popcountll(map[i] ^ (parent == NULL ? 0 : parent[i]));
  return flips;
}

/* The nearest of the sets before `set`: 1 + its number, or 0 for the empty set. */
static uint64_t choose_parent(struct layout_writer *writer, uint64_t set) {
  const uint64_t *map = set_map(writer, set);
  uint64_t best = 0, best_flips = count_flips(writer, map, NULL);
  const uint64_t affordable = PARENT_WORDS_COMPARED / writer->map_words + 1;
  const uint64_t considered = affordable < PARENTS_CONSIDERED ? affordable : PARENTS_CONSIDERED;
  const uint64_t from = set > considered ? set - considered : 0;
  for (uint64_t i = from; i < set; i++) {
    if (writer->depth.items[i] >= PACKED_TREE_DEPTH_MAX)
      continue;
    const uint64_t flips = count_flips(writer, map, set_map(writer, i));
    if (flips < best_flips) {
      best_flips = flips;
      best = i + 1;
    }
  }
  writer->depth.items[set] = best == 0 ? 0 : writer->depth.items[best - 1] + 1;
  return best;
}

static void write_tree_set(struct layout_writer *writer, struct bit_writer *bits, uint64_t set) {
  const uint64_t parent = choose_parent(writer, set);
  const uint64_t *map = set_map(writer, set);
  const uint64_t *parent_map = parent == 0 ? NULL : set_map(writer, parent - 1);
  const unsigned item_width = bits_for_count(writer->items.count);
  bit_writer_put(bits, parent, bits_for_count(writer->sets.count + 1));
  bit_writer_gamma(bits, count_flips(writer, map, parent_map));
  for (uint64_t i = 0; i < writer->map_words; i++) {
    uint64_t flips = map[i] ^ (parent_map == NULL ? 0 : parent_map[i]);
    for (; flips != 0; flips &= flips - 1)
      bit_writer_put(bits, i * 64 + (uint64_t)__builtin_ctzll(flips), item_width);
  }
}

/* Writes all sets as a tree into `tree`, and where every 2^PACKED_TREE_PER_SAMPLE_SHIFT-th starts.
 */
static void write_tree(struct layout_writer *writer, struct bit_writer *tree,
                       struct words *directory) {
  for (uint64_t i = 0; i < writer->sets.count; i++) {
    if (i > 0 && (i & bits_low_mask(PACKED_TREE_PER_SAMPLE_SHIFT)) == 0)
      words_add(writer, directory, tree->size);
    write_tree_set(writer, tree, i);
  }
  words_add(writer, directory, tree->size);
}

static void write_set_maps(const struct layout_writer *writer, struct bit_writer *bits) {
  for (uint64_t i = 0; i < writer->sets.count; i++)
    for (uint64_t left = writer->items.count, word = 0; left > 0; word++) {
      const unsigned width = left < 64 ? (unsigned)left : 64;
      bit_writer_put(bits, set_map(writer, i)[word], width);
      left -= width;
    }
}

/* A tree never pays below this many items: a parent and a count take more than the bit map. */
enum { TREE_ITEMS_MIN = 8 };

static void write_sets(struct layout_writer *writer, struct bit_writer *bits) {
  if (writer->sets.count < 2 || !map_sets(writer))
    return;
  struct bit_writer tree = {0};
  struct words directory = {0};
  bool use_tree = false;
  unsigned width = 0;
  if (writer->items.count >= TREE_ITEMS_MIN) {
    write_tree(writer, &tree, &directory);
    width = bits_for_count(tree.size + 1);
    use_tree = !tree.failed && !writer->failed &&
               6 + width * directory.count + tree.size < writer->sets.count * writer->items.count;
  }
  bit_writer_put(bits, use_tree ? PACKED_SET_TREE : PACKED_SET_BIT_MAP, 1);
  if (use_tree) {
    bit_writer_put(bits, width, 6);
    for (uint64_t i = 0; i < directory.count; i++)
      bit_writer_put(bits, directory.items[i], width);
    bit_writer_copy(bits, tree.bytes, 0, tree.size);
  } else {
    write_set_maps(writer, bits);
  }
  free(directory.items);
  bit_writer_free(&tree);
}

bool layout_write(struct layout_writer *writer, struct bit_writer *bits, uint64_t frame_number,
                  const uint64_t *live, uint64_t records) {
  bit_writer_put(bits, frame_number, writer->frame_width);
  collect_sets(writer, live, records);
  bit_writer_gamma(bits, writer->sets.count);
  if (writer->sets.count > 0) {
    collect_items(writer);
    if (writer->items.count > PACKED_ITEMS_MAX || writer->sets.count > BITS_GAMMA_MAX)
      writer->failed = true;
    if (writer->failed)
      return false;
    write_pairs(writer, bits);
    write_lists(writer, bits);
    write_sets(writer, bits);
    const unsigned width = bits_for_count(writer->sets.count);
    for (uint64_t i = 0; i < records; i++)
      bit_writer_put(bits, writer->local_set[live[i]] - 1, width);
  }
  forget_sets(writer);
  return !writer->failed && !bits->failed;
}
