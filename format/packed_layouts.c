/* packed_layouts.c - writes a function's layout: the builder to packed_items.c, which draws it.
 *
 * At one record a location is in at most one pair as the derived one: it holds one value. So says
 * every stack map that LLVM writes, and the states of locations rely on it. Where a stack map says
 * otherwise, the location is written several times, once for each pair that it is derived in.
 *
 * What a layout has is found by the pairs' numbers: all pairs of the program are sorted and numbered
 * once, and the tables that go by these numbers (or by locations' numbers) are kept from layout to
 * layout. An entry in them says of which layout it is, so that nothing needs to be cleared.
 *
 * What a layout starts with are a few numbers in Rice's code, the parameters of which suit all
 * layouts. So they are written later, by who has all of them, and here only the rest.
 */
#include "format/packed_rows.h"
#include "format/packed_write.h"

#include <stdlib.h>

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

/* A location of the layout. States are the pair with itself, if it can be an ordinary reference, and
 * then one for each base: pairs[first_pair + n] is the pair with base n. */
struct place {
  uint64_t number; /* of the location */
  uint64_t first_pair, bases;
  uint64_t selves; /* how many places before this one can be ordinary references */
  bool is_self;
};

/* Where a pair is in the layout that last had it. */
struct pair_use {
  uint64_t layout;
  uint64_t place, state;
};

struct location_use {
  uint64_t layout;      /* the last one that has it, */
  uint64_t place;       /* and where: its first place there */
  uint64_t base_layout; /* the last one in which it is a base */
  uint64_t set;         /* the last one in which it is derived */
};

struct layout_writer {
  const struct safepoints *table;
  const struct packed_numbers *numbers;
  const struct packed_pairs *all_pairs;
  unsigned location_width, list_width;
  bool failed;
  struct pair_use *pair_uses;         /* by pair */
  struct location_use *location_uses; /* by location's number */
  uint64_t layout, set;               /* how many there were up to now */
  uint32_t *local_set;       /* by live set of the table: 1 + its number in this layout, or 0 */
  struct words sets;         /* live sets of the table, in the order of this layout */
  struct words pairs;        /* all pairs, sorted */
  struct words lists;        /* kind << 32 | number, sorted */
  struct words numbers_used; /* of locations, sorted: those that only are bases, too */
  struct words split;   /* numbers of locations that are derived twice at some record, sorted */
  struct place *places; /* the layout's locations, in order */
  uint64_t place_count, place_capacity, self_count;
  bool only_base; /* some place is an ordinary reference in no set: its state 1 is in no row */
  struct packed_rows rows; /* of the sets: a state for each place, then one for the lists */
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

/* Few words, as nearly always, are sorted faster by insertion. */
static void words_sort(struct words *words) {
  enum { FEW = 48 };
  if (words->count > FEW) {
    qsort(words->items, words->count, sizeof *words->items, bits_compare_words);
    return;
  }
  for (uint64_t i = 1; i < words->count; i++) {
    const uint64_t item = words->items[i];
    uint64_t k = i;
    for (; k > 0 && words->items[k - 1] > item; k--)
      words->items[k] = words->items[k - 1];
    words->items[k] = item;
  }
}

static void words_sort_distinct(struct words *words) {
  if (words->count == 0)
    return;
  words_sort(words);
  uint64_t kept = 1;
  for (uint64_t i = 1; i < words->count; i++)
    if (words->items[i] != words->items[kept - 1])
      words->items[kept++] = words->items[i];
  words->count = kept;
}

/* The place of an item that is there. */
static uint64_t words_find(const struct words *words, uint64_t item) {
  return bits_words_below(words->items, words->count, item);
}

/* ---- The pairs of the table ---- */

static uint64_t item_pair(const struct packed_numbers *numbers, uint64_t item) {
  return pair_key(numbers->locations[safepoint_item_base(item)],
                  numbers->locations[safepoint_item_derived(item)]);
}

/* Gives the pairs numbers as they come. */
static bool intern_pairs(const struct safepoints *table, const struct packed_numbers *numbers,
                         struct intern *pairs, uint32_t *by_item, uint64_t items) {
  const uint64_t *words = table->live.words;
  for (uint64_t i = 0; i < items; i++) {
    if (safepoint_item_is_list(words[i]))
      continue;
    const uint64_t key = item_pair(numbers, words[i]);
    by_item[i] = intern_add(pairs, &key, 1);
    if (by_item[i] == INTERN_FAILED)
      return false;
  }
  return true;
}

/* Numbers the pairs by their keys. */
static bool sort_pairs(const struct safepoints *table, const struct intern *interned,
                       struct packed_pairs *pairs, uint64_t items) {
  struct words keys = {.items = pairs->keys, .count = interned->count};
  uint32_t *sorted = malloc(((size_t)interned->count + 1) * sizeof *sorted);
  if (sorted == NULL)
    return false;
  if (interned->count > 0)
    memcpy(keys.items, interned->words, interned->count * sizeof *keys.items);
  words_sort(&keys);
  for (uint32_t i = 0; i < interned->count; i++)
    sorted[i] = (uint32_t)words_find(&keys, interned->words[i]);
  for (uint64_t i = 0; i < items; i++)
    if (!safepoint_item_is_list(table->live.words[i]))
      pairs->by_item[i] = sorted[pairs->by_item[i]];
  free(sorted);
  return true;
}

bool packed_number_pairs(const struct safepoints *table, const struct packed_numbers *numbers,
                         struct packed_pairs *pairs) {
  const struct intern *live = &table->live;
  const uint64_t items = live->count == 0 ? 0 : live->starts[live->count];
  struct intern interned = {0};
  pairs->by_item = malloc((items + 1) * sizeof *pairs->by_item);
  bool ok =
      pairs->by_item != NULL && intern_pairs(table, numbers, &interned, pairs->by_item, items);
  pairs->count = interned.count;
  pairs->keys = malloc(((size_t)pairs->count + 1) * sizeof *pairs->keys);
  ok = ok && pairs->keys != NULL && sort_pairs(table, &interned, pairs, items);
  intern_free(&interned);
  return ok;
}

void packed_pairs_free(struct packed_pairs *pairs) {
  free(pairs->keys);
  free(pairs->by_item);
  *pairs = (struct packed_pairs){0};
}

/* ---- The writer ---- */

struct layout_writer *layout_writer_new(const struct safepoints *table,
                                        const struct packed_numbers *numbers,
                                        const struct packed_pairs *pairs) {
  struct layout_writer *writer = calloc(1, sizeof *writer);
  if (writer == NULL)
    return NULL;
  writer->table = table;
  writer->numbers = numbers;
  writer->all_pairs = pairs;
  writer->location_width = bits_for_count(numbers->location_count);
  writer->list_width = bits_for_count(numbers->list_count);
  writer->rows.quick = bits_processor_is_quick();
  writer->local_set = calloc((size_t)table->live.count + 1, sizeof *writer->local_set);
  writer->location_uses =
      calloc((size_t)numbers->location_count + 1, sizeof *writer->location_uses);
  writer->pair_uses = calloc((size_t)pairs->count + 1, sizeof *writer->pair_uses);
  if (writer->local_set != NULL && writer->location_uses != NULL && writer->pair_uses != NULL)
    return writer;
  layout_writer_free(writer);
  return NULL;
}

void layout_writer_free(struct layout_writer *writer) {
  if (writer == NULL)
    return;
  free(writer->pair_uses);
  free(writer->location_uses);
  free(writer->local_set);
  free(writer->sets.items);
  free(writer->pairs.items);
  free(writer->lists.items);
  free(writer->numbers_used.items);
  free(writer->split.items);
  free(writer->places);
  packed_rows_free(&writer->rows);
  free(writer);
}

/* ---- Sets and their items ---- */

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

/* The numbers of a set's pairs, by item; those of its lists mean nothing. */
static const uint32_t *set_pairs(const struct layout_writer *writer, struct intern_sequence items) {
  return writer->all_pairs->by_item + (items.words - writer->table->live.words);
}

/* Notes a pair of the current set, and whether another one has the same derived location. */
static void note_pair(struct layout_writer *writer, uint32_t pair) {
  const uint64_t number = key_derived(writer->all_pairs->keys[pair]);
  struct location_use *derived = &writer->location_uses[number];
  if (derived->set == writer->set)
    words_add(writer, &writer->split, number);
  derived->set = writer->set;
  if (writer->pair_uses[pair].layout == writer->layout)
    return;
  writer->pair_uses[pair].layout = writer->layout;
  words_add(writer, &writer->pairs, pair);
}

static void collect_items(struct layout_writer *writer) {
  writer->layout++;
  writer->pairs.count = writer->lists.count = writer->split.count = 0;
  for (uint64_t i = 0; i < writer->sets.count; i++) {
    const struct intern_sequence items = set_items(writer, i);
    const uint32_t *pairs = set_pairs(writer, items);
    writer->set++;
    for (uint64_t k = 0; k < items.count; k++)
      if (safepoint_item_is_list(items.words[k]))
        words_add(writer, &writer->lists, item_list(writer, items.words[k]));
      else
        note_pair(writer, pairs[k]);
  }
  words_sort(&writer->pairs);
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

static uint64_t pair_at(const struct layout_writer *writer, uint64_t place) {
  return writer->all_pairs->keys[writer->pairs.items[place]];
}

/* Makes one place of a location, with pairs [from, to) of all: the one with itself comes first.
 * Bases are found among ordinary references; so a base is one in any case. */
static void make_place(struct layout_writer *writer, uint64_t number, uint64_t from, uint64_t to,
                       bool is_base) {
  const bool has_self = from < to && key_is_self(pair_at(writer, from));
  const bool is_self = has_self || is_base;
  for (uint64_t i = from; i < to; i++) {
    struct pair_use *use = &writer->pair_uses[writer->pairs.items[i]];
    use->place = writer->place_count;
    use->state = i - from + 1 + (is_self && !has_self);
  }
  add_place(writer, (struct place){.number = number,
                                   .first_pair = from + has_self,
                                   .bases = to - from - has_self,
                                   .selves = writer->self_count,
                                   .is_self = is_self});
  writer->self_count += is_self;
  writer->only_base |= is_self && !has_self;
}

/* Makes the places of one location, whose pairs are [from, to) of all: one, or one for each pair. */
static void add_places(struct layout_writer *writer, uint64_t number, uint64_t from, uint64_t to) {
  const bool split = words_have(&writer->split, number);
  bool is_base = writer->location_uses[number].base_layout == writer->layout;
  writer->location_uses[number].place = writer->place_count;
  do {
    const uint64_t end = split && from < to ? from + 1 : to;
    make_place(writer, number, from, end, is_base);
    is_base = false;
    from = end;
  } while (from < to);
}

static void use_number(struct layout_writer *writer, uint64_t number) {
  if (writer->location_uses[number].layout == writer->layout)
    return;
  writer->location_uses[number].layout = writer->layout;
  words_add(writer, &writer->numbers_used, number);
}

/* Nearly always, the derived locations are all: these are in order already. */
static void collect_numbers(struct layout_writer *writer) {
  writer->numbers_used.count = 0;
  for (uint64_t i = 0; i < writer->pairs.count; i++)
    use_number(writer, key_derived(pair_at(writer, i)));
  const uint64_t derived = writer->numbers_used.count;
  for (uint64_t i = 0; i < writer->pairs.count; i++) {
    const uint64_t base = key_base(pair_at(writer, i));
    use_number(writer, base);
    if (!key_is_self(pair_at(writer, i)))
      writer->location_uses[base].base_layout = writer->layout;
  }
  if (writer->numbers_used.count > derived)
    words_sort(&writer->numbers_used);
}

static void collect_places(struct layout_writer *writer) {
  const struct words *used = &writer->numbers_used;
  collect_numbers(writer);
  writer->place_count = writer->self_count = 0;
  writer->only_base = false;
  for (uint64_t i = 0, from = 0; i < used->count && !writer->failed; i++) {
    uint64_t to = from;
    while (to < writer->pairs.count && key_derived(pair_at(writer, to)) == used->items[i])
      to++;
    add_places(writer, used->items[i], from, to);
    from = to;
  }
}

/* Writes which numbers the locations have behind the first one, in the shortest of the three forms. */
static void write_numbers(const struct layout_writer *writer, struct bit_writer *bits) {
  const struct place *places = writer->places;
  const uint64_t count = writer->place_count, first = places[0].number;
  const uint64_t run = places[count - 1].number - first + 1;
  const uint64_t list_bits = (count - 1) * writer->location_width;
  const bool distinct = count == writer->numbers_used.count;
  if (distinct && run == count) {
    bit_writer_put(bits, 0, 1);
    return;
  }
  bit_writer_put(bits, 1, 1);
  if (!distinct || run > PACKED_BIT_MAP_MAX || list_bits <= run + bits_gamma_width(run - count)) {
    bit_writer_put(bits, 1, 1);
    for (uint64_t i = 1; i < count; i++)
      bit_writer_put(bits, places[i].number, writer->location_width);
    return;
  }
  bit_writer_put(bits, 0, 1);
  bit_writer_gamma(bits, run - count);
  for (uint64_t number = first, i = 0; number < first + run; number++) {
    const bool is_used = places[i].number == number;
    bit_writer_put(bits, is_used, 1);
    i += is_used;
  }
}

/* The number of a pair's base. */
static uint64_t base_number(const struct layout_writer *writer, uint64_t pair) {
  const uint64_t place = writer->location_uses[key_base(pair_at(writer, pair))].place;
  return packed_bases_are_selves(writer->place_count) ? writer->places[place].selves : place;
}

static bool any_derived(const struct layout_writer *writer) {
  for (uint64_t i = 0; i < writer->place_count; i++)
    if (writer->places[i].bases > 0)
      return true;
  return false;
}

static uint64_t states_of(const struct place *place) { return place->bases + place->is_self; }

/* Writes in which states the locations can be, and the bases of these. */
static void write_states(const struct layout_writer *writer, struct bit_writer *bits) {
  const unsigned width = bits_for_count(
      packed_bases_are_selves(writer->place_count) ? writer->self_count : writer->place_count);
  for (uint64_t i = 0; i < writer->place_count; i++)
    bit_writer_put(bits, writer->places[i].is_self, 1);
  for (uint64_t i = 0; i < writer->place_count; i++) {
    for (uint64_t k = 1; k < states_of(&writer->places[i]); k++)
      bit_writer_put(bits, 1, 1);
    bit_writer_put(bits, 0, 1);
  }
  for (uint64_t i = 0; i < writer->place_count; i++)
    for (uint64_t k = 0; k < writer->places[i].bases; k++)
      bit_writer_put(bits, base_number(writer, writer->places[i].first_pair + k), width);
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

static void fill_row(struct layout_writer *writer, uint64_t set) {
  const struct intern_sequence items = set_items(writer, set);
  const uint32_t *pairs = set_pairs(writer, items);
  for (uint64_t k = 0; k < items.count; k++) {
    if (safepoint_item_is_list(items.words[k])) {
      const uint64_t list = words_find(&writer->lists, item_list(writer, items.words[k]));
      packed_rows_put(&writer->rows, set, writer->place_count, list + 1);
    } else {
      const struct pair_use *use = &writer->pair_uses[pairs[k]];
      packed_rows_put(&writer->rows, set, use->place, use->state);
    }
  }
}

/* How many sets are written. A lone set isn't, and is taken for one in which every location is in
 * state 1; so where one of them isn't, an empty set is added, which no record has. */
static uint64_t written_sets(const struct layout_writer *writer) {
  return writer->sets.count + (writer->sets.count == 1 && writer->only_base);
}

static void write_sets(struct layout_writer *writer, struct bit_writer *bits) {
  struct packed_rows *rows = &writer->rows;
  const bool has_lists = writer->lists.count > 0;
  bool ok = packed_rows_start(rows, writer->place_count + has_lists);
  for (uint64_t n = 0; n < writer->place_count && ok; n++)
    if (states_of(&writer->places[n]) > 1)
      packed_rows_states(rows, n, states_of(&writer->places[n]));
  if (ok && writer->lists.count > 1)
    packed_rows_states(rows, writer->place_count, writer->lists.count);
  ok = ok && packed_rows_fill(rows, written_sets(writer));
  for (uint64_t i = 0; i < writer->sets.count && ok; i++)
    fill_row(writer, i);
  if (ok)
    packed_rows_write(rows, bits);
  writer->failed |= rows->failed;
}

/* Writes which set each record has: they are numbered as they come. */
static void write_set_numbers(const struct layout_writer *writer, struct layout_records records,
                              struct bit_writer *bits) {
  for (uint64_t i = 0; i < records.count; i++)
    bit_writer_put(bits, writer->local_set[records.live[i < records.telling ? i : 0]] - 1,
                   packed_set_number(written_sets(writer), (uint32_t)i).width);
}

/* A layout that only records of other functions have is that of an empty set. */
bool layout_write(struct layout_writer *writer, struct bit_writer *bits, struct packed_layout *head,
                  struct layout_records records) {
  collect_sets(writer, records.live, records.telling);
  collect_items(writer);
  collect_places(writer);
  if (writer->place_count > PACKED_LOCATIONS_MAX || writer->pairs.count > PACKED_LOCATIONS_MAX ||
      writer->sets.count >= PACKED_SETS_MAX)
    writer->failed = true;
  if (writer->failed)
    return false;
  head->sets = writer->sets.count == 0 ? 1 : written_sets(writer);
  head->locations = writer->place_count;
  head->any_derived = any_derived(writer);
  head->first = writer->place_count > 0 ? writer->places[0].number : 0;
  if (writer->place_count > 0)
    write_numbers(writer, bits);
  if (head->any_derived)
    write_states(writer, bits);
  write_lists(writer, bits);
  if (head->sets > 1) {
    write_sets(writer, bits);
    write_set_numbers(writer, records, bits);
  }
  forget_sets(writer);
  return !writer->failed && !bits->failed;
}
