/* packed_rows.c - see packed_rows.h; packed_items.c draws what is written.
 *
 * The sets of a layout are written as rows of states, or, where that is shorter, each as the changes
 * from another one, its parent. Which parent is best is a question of a shortest spanning tree; here
 * each set looks at the ones before it, and takes the nearest that isn't too deep. A deep tree
 * would be smaller and slower: the reader goes up to the root for every look-up.
 *
 * Changes come in two forms, so two trees are built. Before that is done, the least that a tree can
 * take is compared with what is to be beaten: most layouts are known to be rows from that alone.
 */
#include "format/packed_rows.h"

#include "format/packed.h"

#include <stdlib.h>

enum {
  PARENTS_CONSIDERED = 512,      /* at most, of those before a set */
  PARENT_STATES_COMPARED = 8192, /* about, for each set: so that time is linear */
  /* Changes don't pay below this many bits of a row, as a parent and the bit for each location take
   * about as many; and must save an eighth, as rows are faster to read. */
  CHANGED_ROW_MIN = 16,
};

static bool reserve(struct packed_rows *rows, void **items, uint64_t *capacity, uint64_t count,
                    size_t size) {
  if (count <= *capacity)
    return true;
  const uint64_t larger = count + count / 2 + 64;
  void *bytes = realloc(*items, larger * size);
  if (bytes == NULL) {
    rows->failed = true;
    return false;
  }
  *items = bytes;
  *capacity = larger;
  return true;
}

bool packed_rows_start(struct packed_rows *rows, uint64_t length) {
  uint64_t many_capacity = rows->length_capacity;
  if (!reserve(rows, (void **)&rows->many, &many_capacity, length, sizeof *rows->many) ||
      !reserve(rows, (void **)&rows->more, &rows->length_capacity, length, sizeof *rows->more))
    return false;
  rows->length = rows->width = length;
  rows->words = (length + 63) / 64;
  rows->strings = 1;
  rows->has_many = false;
  memset(rows->many, 0, rows->words * sizeof *rows->many);
  return true;
}

void packed_rows_states(struct packed_rows *rows, uint64_t place, uint64_t states) {
  const unsigned more = packed_state_width(states) - 1;
  rows->more[place] = (uint8_t)more;
  rows->many[place / 64] |= (uint64_t)1 << place % 64;
  rows->has_many = true;
  rows->width += more;
  rows->strings = more + 1 > rows->strings ? more + 1 : rows->strings;
}

bool packed_rows_fill(struct packed_rows *rows, uint64_t count) {
  const uint64_t words = count * rows->words * rows->strings;
  if (!reserve(rows, (void **)&rows->bits, &rows->bits_capacity, words, sizeof *rows->bits) ||
      !reserve(rows, (void **)&rows->depth, &rows->count_capacity, count, sizeof *rows->depth))
    return false;
  memset(rows->bits, 0, words * sizeof *rows->bits);
  rows->count = count;
  return true;
}

void packed_rows_free(struct packed_rows *rows) {
  free(rows->bits);
  free(rows->many);
  free(rows->more);
  free(rows->depth);
  *rows = (struct packed_rows){0};
}

static const uint64_t *row_of(const struct packed_rows *rows, uint64_t row) {
  return rows->bits + row * rows->words * rows->strings;
}

static uint64_t state_at(const struct packed_rows *rows, const uint64_t *row, uint64_t place) {
  uint64_t state = 0;
  for (unsigned i = 0; i <= rows->more[place]; i++)
    state |= (row[i * rows->words + place / 64] >> place % 64 & 1) << i;
  return state;
}

/* The lowest bits of all states. */
static void write_string(const struct packed_rows *rows, struct bit_writer *bits,
                         const uint64_t *words) {
  for (uint64_t place = 0; place < rows->length; place += 64) {
    const uint64_t left = rows->length - place;
    bit_writer_put(bits, words[place / 64], left < 64 ? (unsigned)left : 64);
  }
}

/* One bit of the state of each place that has so many. */
static void write_plane(const struct packed_rows *rows, struct bit_writer *bits,
                        const uint64_t *words, unsigned plane) {
  for (uint64_t word = 0; word < rows->words; word++)
    for (uint64_t left = rows->many[word]; left != 0; left &= left - 1) {
      const unsigned place = (unsigned)__builtin_ctzll(left);
      if (rows->more[word * 64 + place] >= plane)
        bit_writer_put(bits, words[word] >> place & 1, 1);
    }
}

static void write_row(const struct packed_rows *rows, struct bit_writer *bits, uint64_t number) {
  const uint64_t *row = row_of(rows, number);
  write_string(rows, bits, row);
  for (unsigned plane = 1; plane < rows->strings; plane++)
    write_plane(rows, bits, row + plane * rows->words, plane);
}

/* ---- Changes ---- */

/* The places, of the 64 of a word, at which two rows differ. */
static inline uint64_t changed_places(const struct packed_rows *rows, const uint64_t *row,
                                      const uint64_t *old, uint64_t word) {
  uint64_t changed = row[word] ^ old[word];
  for (uint64_t i = 1; i < rows->strings; i++)
    changed |= row[i * rows->words + word] ^ old[i * rows->words + word];
  return changed;
}

/* How many places differ. */
static inline uint64_t count_changes(const struct packed_rows *rows, uint64_t number,
                                     uint64_t parent) {
  const uint64_t *row = row_of(rows, number), *old = row_of(rows, parent);
  uint64_t count = 0;
  for (uint64_t word = 0; word < rows->words; word++)
    count += bits_quick_count(changed_places(rows, row, old, word), rows->quick);
  return count;
}

/* The bits that the new states of these take, of those that aren't just the other one of two. */
static uint64_t states_width(const struct packed_rows *rows, uint64_t number, uint64_t parent) {
  const uint64_t *row = row_of(rows, number), *old = row_of(rows, parent);
  uint64_t width = 0;
  for (uint64_t word = 0; word < rows->words && rows->has_many; word++)
    for (uint64_t left = rows->many[word] & changed_places(rows, row, old, word); left != 0;
         left &= left - 1)
      width += 1 + rows->more[word * 64 + (unsigned)__builtin_ctzll(left)];
  return width;
}

/* All rows of a layout, as changes. */
struct tree {
  bool are_numbers; /* changed places are written by number, and not as bit maps */
  struct bit_writer bits;
  uint64_t *directory; /* where every second row starts, and the end */
  uint64_t entries;    /* there */
  unsigned width;      /* of one */
};

/* What `count` changes take, but for new states. */
static uint64_t changes_width(const struct packed_rows *rows, const struct tree *tree,
                              uint64_t count) {
  return tree->are_numbers ? bits_gamma_width(count) + count * bits_for_count(rows->length)
                           : rows->length;
}

/* Rows are distinct: one place is changed at least, whose new state may take no bits. */
static uint64_t least_changes_width(const struct packed_rows *rows, const struct tree *tree) {
  return changes_width(rows, tree, 1);
}

/* More changes than these take at least `width` bits. */
static uint64_t changes_below(const struct packed_rows *rows, const struct tree *tree,
                              uint64_t width) {
  const unsigned number_width = bits_for_count(rows->length);
  return tree->are_numbers && number_width > 0 ? width / number_width : UINT64_MAX;
}

/* The row before `number` from which it takes fewest bits: 1 + its number, or 0 where the row itself
 * is as short. */
static uint64_t choose_parent(struct packed_rows *rows, const struct tree *tree, uint64_t number) {
  const uint64_t affordable = PARENT_STATES_COMPARED / rows->length + 1;
  const uint64_t considered = affordable < PARENTS_CONSIDERED ? affordable : PARENTS_CONSIDERED;
  const uint64_t least = least_changes_width(rows, tree);
  uint64_t best = 0, best_width = rows->width;
  uint64_t most = changes_below(rows, tree, best_width);
  for (uint64_t i = number > considered ? number - considered : 0; i < number && least < best_width;
       i++) {
    if (rows->depth[i] >= PACKED_DEPTH_MAX)
      continue;
    const uint64_t count = count_changes(rows, number, i);
    if (count > most)
      continue;
    const uint64_t width = changes_width(rows, tree, count) + states_width(rows, number, i);
    if (width < best_width) {
      best_width = width;
      best = i + 1;
      most = changes_below(rows, tree, best_width);
    }
  }
  rows->depth[number] = best == 0 ? 0 : (uint8_t)(rows->depth[best - 1] + 1);
  return best;
}

static void write_numbers(const struct packed_rows *rows, struct bit_writer *bits, uint64_t word,
                          uint64_t changed) {
  for (uint64_t left = changed; left != 0; left &= left - 1)
    bit_writer_put(bits, word * 64 + (unsigned)__builtin_ctzll(left), bits_for_count(rows->length));
}

static void write_changes(const struct packed_rows *rows, struct tree *tree, uint64_t number,
                          uint64_t parent) {
  const uint64_t *row = row_of(rows, number), *old = row_of(rows, parent);
  if (tree->are_numbers)
    bit_writer_gamma(&tree->bits, count_changes(rows, number, parent));
  for (uint64_t word = 0; word < rows->words; word++) {
    const uint64_t changed = changed_places(rows, row, old, word), left = rows->length - word * 64;
    if (tree->are_numbers)
      write_numbers(rows, &tree->bits, word, changed);
    else
      bit_writer_put(&tree->bits, changed, left < 64 ? (unsigned)left : 64);
  }
  for (uint64_t word = 0; word < rows->words && rows->has_many; word++)
    for (uint64_t left = changed_places(rows, row, old, word) & rows->many[word]; left != 0;
         left &= left - 1) {
      const uint64_t place = word * 64 + (unsigned)__builtin_ctzll(left);
      bit_writer_put(&tree->bits, state_at(rows, row, place), 1 + rows->more[place]);
    }
}

static uint64_t directory_entries(const struct packed_rows *rows) {
  return ((rows->count - 1) >> PACKED_CHANGES_PER_SAMPLE_SHIFT) + 1;
}

static void fill_tree(struct packed_rows *rows, struct tree *tree) {
  tree->directory = malloc(directory_entries(rows) * sizeof *tree->directory);
  rows->failed |= tree->directory == NULL;
  for (uint64_t i = 0; i < rows->count && !rows->failed; i++) {
    if (i > 0 && (i & bits_low_mask(PACKED_CHANGES_PER_SAMPLE_SHIFT)) == 0)
      tree->directory[tree->entries++] = tree->bits.size;
    const uint64_t parent = choose_parent(rows, tree, i);
    bit_writer_put(&tree->bits, parent, bits_for_count(rows->count + 1));
    if (parent == 0)
      write_row(rows, &tree->bits, i);
    else
      write_changes(rows, tree, i, parent - 1);
  }
  if (rows->failed)
    return;
  tree->directory[tree->entries++] = tree->bits.size;
  tree->width = bits_for_count(tree->bits.size + 1);
  rows->failed |= tree->bits.failed;
}

/* What a tree takes whose sets take `size` bits. */
static uint64_t tree_width(const struct packed_rows *rows, uint64_t size) {
  return 7 + bits_for_count(size + 1) * directory_entries(rows) + size;
}

/* No tree is smaller: the first row has no parent, and all others have changes at best. */
static uint64_t least_tree_width(const struct packed_rows *rows, const struct tree *tree) {
  const uint64_t changes = least_changes_width(rows, tree);
  const uint64_t others = changes < rows->width ? changes : rows->width;
  return tree_width(rows, rows->count * bits_for_count(rows->count + 1) + rows->width +
                              (rows->count - 1) * others);
}

static void write_tree(const struct tree *tree, struct bit_writer *bits) {
  bit_writer_put(bits, tree->are_numbers, 1);
  bit_writer_put(bits, tree->width, 6);
  for (uint64_t i = 0; i < tree->entries; i++)
    bit_writer_put(bits, tree->directory[i], tree->width);
  bit_writer_copy(bits, tree->bits.bytes, 0, tree->bits.size);
}

void packed_rows_write(struct packed_rows *rows, struct bit_writer *bits) {
  struct tree trees[] = {{.are_numbers = false}, {.are_numbers = true}};
  const uint64_t rows_width = rows->width * rows->count;
  const struct tree *best = NULL;
  uint64_t best_width = rows_width - rows_width / 8;
  for (unsigned i = 0; i < 2 && rows->width >= CHANGED_ROW_MIN; i++) {
    if (least_tree_width(rows, &trees[i]) >= best_width)
      continue;
    fill_tree(rows, &trees[i]);
    if (!rows->failed && tree_width(rows, trees[i].bits.size) < best_width) {
      best = &trees[i];
      best_width = tree_width(rows, best->bits.size);
    }
  }
  bit_writer_put(bits, best != NULL ? PACKED_SET_CHANGES : PACKED_SET_ROWS, 1);
  if (best != NULL)
    write_tree(best, bits);
  for (uint64_t i = 0; i < rows->count && best == NULL; i++)
    write_row(rows, bits, i);
  for (unsigned i = 0; i < 2; i++) {
    bit_writer_free(&trees[i].bits);
    free(trees[i].directory);
  }
}
