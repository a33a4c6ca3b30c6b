/* packed_find.c - looks up an address: from the directory to a leaf, and in the leaf to a record.
 *
 * A leaf has the records and the starts of stretches in 16 buckets of text, 256 bytes each mostly:
 *
 *   counts       u64: a nibble for each bucket, how many records are in it
 *   more         u16 for each nibble that is 15: how many more there are
 *   lows         of each record the low byte of its address
 *   starts       of each stretch that starts here a byte: where
 *   references   of each of these the place of its layout; all ones: it is a gap
 *
 * Say a return address is 0x1234 bytes into the text. It is in leaf 1 (0x1234 >> 12), in its bucket 2.
 * The nibbles of the buckets 0 and 1 sum up to the number of records before the bucket, nibble 2 says
 * how many lows belong to it, and one comparison of all of these with 0x34 says how many records are
 * below. If the next low is 0x34, the record is found. The same comparison tells how many stretches
 * start before it, and so the function; and asked for the function's start, which of the records is
 * its first. What is counted from there is the record's position in the function's layout.
 *
 * A function that starts in a leaf before is the last one that starts there: one more leaf is read.
 */
#include "format/packed.h"

/* ---- Leaves ---- */

/* What stands in entry `number` <= leaf_count of the directory: how many there are in the leaves
 * before. */
struct entry {
  uint32_t full, index, stretch;
};

static inline struct entry entry_at(const struct packed_table *table, uint64_t number) {
  const uint8_t *entry = table->directory + number * table->entry_bytes;
  return (struct entry){
      .index = bits_load32(entry) & table->index_mask,
      .stretch = bits_load32(entry + table->stretch_at) & table->stretch_mask,
      .full = bits_load32(entry + table->full_at) & table->full_mask,
  };
}

/* The nibbles that are PACKED_BUCKET_FULL: the lowest bit of each. */
static inline uint64_t full_nibbles(uint64_t counts) {
  return counts & counts >> 1 & counts >> 2 & counts >> 3 & 0x1111111111111111u;
}

/* Takes a leaf apart. (A number that is less in the next entry makes a count of some 2^32, which is
 * too much.) */
static inline bool open_leaf(const struct packed_table *table, uint32_t number, struct entry entry,
                             struct entry next, struct packed_leaf *leaf) {
  const uint64_t start_bytes = table->start_bytes, reference_bytes = table->reference_bytes;
  leaf->table = table;
  leaf->start = (uint64_t)number << table->leaf_shift;
  leaf->index = entry.index;
  leaf->count = next.index - entry.index;
  leaf->stretch = entry.stretch;
  leaf->stretch_count = next.stretch - entry.stretch;
  const uint64_t counts = number * sizeof leaf->counts + entry.full * sizeof(uint16_t) +
                          (uint64_t)entry.index * table->low_bytes +
                          entry.stretch * (start_bytes + reference_bytes);
  const uint64_t more = counts + sizeof leaf->counts;
  const uint64_t lows = more + (next.full - entry.full) * sizeof(uint16_t);
  const uint64_t starts = lows + (uint64_t)leaf->count * table->low_bytes;
  const uint64_t references = starts + leaf->stretch_count * start_bytes;
  if ((uint64_t)entry.index + leaf->count > table->record_count ||
      (uint64_t)entry.stretch + leaf->stretch_count > table->stretch_count ||
      references + leaf->stretch_count * reference_bytes > table->leaves_size)
    return false;
  leaf->counts = bits_load64(table->leaves + counts);
  leaf->more = table->leaves + more;
  leaf->lows = table->leaves + lows;
  leaf->starts = table->leaves + starts;
  leaf->references = table->leaves + references;
  return true;
}

bool packed_leaf(const struct packed_table *table, uint32_t number, struct packed_leaf *leaf) {
  return open_leaf(table, number, entry_at(table, number), entry_at(table, (uint64_t)number + 1),
                   leaf);
}

/* The records of a bucket: the leaf's records [from, to). */
struct bucket {
  uint64_t from, to;
};

/* Adds to a bucket what is told behind the counts. */
static struct bucket add_more(uint64_t counts, const uint8_t *more, const uint8_t *lows,
                              unsigned number, struct bucket bucket) {
  for (uint64_t full = full_nibbles(counts); full != 0 && more < lows; full &= full - 1) {
    const unsigned n = (unsigned)__builtin_ctzll(full) / 4;
    if (n > number)
      break;
    if (n < number)
      bucket.from += bits_load16(more);
    bucket.to += bits_load16(more);
    more += sizeof(uint16_t);
  }
  return bucket;
}

/* Bucket `number` < PACKED_BUCKETS of a leaf. */
static inline struct bucket leaf_bucket(const struct packed_leaf *leaf, unsigned number) {
  const uint64_t low_nibbles = 0x0f0f0f0f0f0f0f0fu, ones = 0x0101010101010101u;
  const uint64_t before = leaf->counts & (((uint64_t)1 << number * 4) - 1);
  const uint64_t pairs = (before & low_nibbles) + (before >> 4 & low_nibbles);
  struct bucket bucket = {.from = pairs * ones >> 56};
  bucket.to = bucket.from + (leaf->counts >> number * 4 & 15);
  if (leaf->lows != leaf->more)
    bucket = add_more(leaf->counts, leaf->more, leaf->lows, number, bucket);
  if (bucket.to <= leaf->count)
    return bucket;
  return (struct bucket){leaf->count, leaf->count}; /* the counts are broken */
}

/* How many of the leaf's records are before a place, from the leaf's start on. */
static inline __attribute__((always_inline)) uint64_t leaf_below(const struct packed_leaf *leaf,
                                                                 uint64_t place) {
  const struct packed_table *table = leaf->table;
  const uint64_t number = place >> table->bucket_shift;
  if (number >= PACKED_BUCKETS)
    return leaf->count;
  const struct bucket bucket = leaf_bucket(leaf, (unsigned)number);
  const uint64_t low = ((place & table->bucket_mask) + table->record_mask) >> table->record_shift;
  return bucket.from + bits_numbers_below(leaf->lows + bucket.from * table->low_bytes,
                                          bucket.to - bucket.from, table->low_bytes, low);
}

/* Where record `n` of the leaf stands, from the text's start on. */
static uint64_t leaf_offset(const struct packed_leaf *leaf, uint64_t n) {
  const struct packed_table *table = leaf->table;
  unsigned number = 0;
  while (number < PACKED_BUCKETS - 1 && leaf_bucket(leaf, number).to <= n)
    number++;
  return leaf->start + ((uint64_t)number << table->bucket_shift) +
         (bits_load(leaf->lows + n * table->low_bytes, table->low_bytes) << table->record_shift);
}

/* Where stretch `n` of the leaf starts, from the leaf's start on. */
static inline uint64_t leaf_start(const struct packed_leaf *leaf, uint64_t n) {
  const struct packed_table *table = leaf->table;
  return bits_load(leaf->starts + n * table->start_bytes, table->start_bytes) << table->start_shift;
}

/* How many of the leaf's stretches start before a place, from the leaf's start on. Leaves differ in whether they
 * have more than 16, so a loop by 16 would be mispredicted often. */
static inline __attribute__((always_inline)) uint64_t
leaf_starts_before(const struct packed_leaf *leaf, uint64_t place) {
  const struct packed_table *table = leaf->table;
  const uint64_t start = (place + table->start_mask) >> table->start_shift;
  uint64_t count = leaf->stretch_count, below = 0;
  const uint8_t *starts = leaf->starts;
  if (!table->has_usual_leaves || start > UINT8_MAX)
    return bits_numbers_below(starts, count, table->start_bytes, start);
  for (; count > PACKED_USUAL_STARTS; count -= PACKED_USUAL_STARTS, starts += PACKED_USUAL_STARTS)
    below += bits_more_bytes_below(starts, PACKED_USUAL_STARTS, (uint8_t)start);
  return below + bits_more_bytes_below(starts, (unsigned)count, (uint8_t)start);
}

static inline uint32_t entry_number(const struct packed_table *table, bool by_index,
                                    uint32_t leaf) {
  const struct entry entry = entry_at(table, leaf);
  return by_index ? entry.index : entry.stretch;
}

/* The last leaf up to leaf `last` whose entry's number (by index, or by stretch) is not above `number`;
 * so it is the one that has this number, unless the table is broken. It is mostly `last`, or not far
 * before it. */
static uint32_t leaf_with(const struct packed_table *table, bool by_index, uint32_t number,
                          uint32_t last) {
  uint32_t from = last, to = last, step = 1;
  if (entry_number(table, by_index, last) <= number)
    return last;
  while (from > 0 && entry_number(table, by_index, from) > number) {
    to = from - 1;
    from = from > step ? from - step : 0;
    step *= 2;
  }
  while (from < to) {
    const uint32_t middle = to - (to - from) / 2;
    if (entry_number(table, by_index, middle) <= number)
      from = middle;
    else
      to = middle - 1;
  }
  return from;
}

/* Opens the leaf that has stretch `number` < stretch_count, up to leaf `last`. */
static bool leaf_with_stretch(const struct packed_table *table, uint32_t number, uint32_t last,
                              struct packed_leaf *leaf) {
  return packed_leaf(table, leaf_with(table, false, number, last), leaf) &&
         number >= leaf->stretch && number - leaf->stretch < leaf->stretch_count;
}

/* Opens the leaf before leaf `number` that has the last stretch before `stretch`: the last one that
 * starts there. */
static bool leaf_before(const struct packed_table *table, uint32_t number, uint32_t stretch,
                        struct packed_leaf *before) {
  return number > 0 && stretch > 0 && leaf_with_stretch(table, stretch - 1, number - 1, before) &&
         before->stretch + before->stretch_count == stretch;
}

/* ---- Stretches ---- */

/* The place of a layout. False: it is a gap's. */
static inline bool leaf_layout(const struct packed_leaf *leaf, uint64_t n, uint32_t *layout) {
  const struct packed_table *table = leaf->table;
  const uint32_t reference =
      bits_load32(leaf->references + n * table->reference_bytes) & table->reference_mask;
  *layout = reference << table->reference_shift;
  return reference != table->reference_mask;
}

/* Where a stretch starts; that of all is where the text ends. */
static bool stretch_start(const struct packed_table *table, uint32_t number, uint64_t *start) {
  struct packed_leaf leaf;
  if (number == table->stretch_count) {
    *start = table->text_start + table->text_size;
    return true;
  }
  if (!leaf_with_stretch(table, number, table->leaf_count - 1, &leaf))
    return false;
  *start = table->text_start + leaf.start + leaf_start(&leaf, number - leaf.stretch);
  return true;
}

bool packed_stretch(const struct packed_table *table, uint32_t number,
                    struct packed_stretch *stretch) {
  struct packed_leaf leaf;
  if (number >= table->stretch_count ||
      !leaf_with_stretch(table, number, table->leaf_count - 1, &leaf))
    return false;
  stretch->start = table->text_start + leaf.start + leaf_start(&leaf, number - leaf.stretch);
  stretch->is_gap = !leaf_layout(&leaf, number - leaf.stretch, &stretch->layout);
  return stretch_start(table, number + 1, &stretch->end);
}

/* ---- Records ---- */

/* Where exception `index` would be, by bisection; the last one, if all are below. */
static const uint8_t *exception_of(const struct packed_table *table, uint32_t index) {
  uint32_t from = 0, to = table->exception_count - 1;
  while (from < to) {
    const uint32_t middle = from + (to - from) / 2;
    if (bits_load32(table->exceptions + (size_t)middle * PACKED_EXCEPTION_SIZE) < index)
      from = middle + 1;
    else
      to = middle;
  }
  return table->exceptions + (size_t)from * PACKED_EXCEPTION_SIZE;
}

/* Fills in a record that is an exception. */
static enum packed_answer fill_exception(const struct packed_table *table, const uint8_t *exception,
                                         struct packed_record *record) {
  struct packed_leaf leaf;
  record->stretch = bits_load32(exception + 4);
  record->position = bits_load32(exception + 8);
  if (record->stretch >= table->stretch_count ||
      !leaf_with_stretch(table, record->stretch, table->leaf_count - 1, &leaf) ||
      !leaf_layout(&leaf, record->stretch - leaf.stretch, &record->layout))
    return PACKED_CORRUPT;
  return PACKED_FOUND;
}

/* Fills in the position of a record, which belongs to stretch `n` of a leaf, and its layout. */
static inline __attribute__((always_inline)) enum packed_answer
fill_stretch(const struct packed_leaf *leaf, uint64_t n, struct packed_record *record) {
  const uint64_t first = leaf->index + leaf_below(leaf, leaf_start(leaf, n) + 1);
  record->stretch = leaf->stretch + (uint32_t)n;
  record->position = record->index - (uint32_t)first;
  return first <= record->index && leaf_layout(leaf, n, &record->layout) ? PACKED_FOUND
                                                                         : PACKED_CORRUPT;
}

/* The form of leaves that most tables have, with constants. A compiler takes of the copy what is used. */
static inline struct packed_table usual_table(const struct packed_table *table) {
  struct packed_table usual = *table;
  packed_set_leaf_form(&usual, packed_usual_leaves);
  usual.has_usual_leaves = true;
  return usual;
}

static inline __attribute__((always_inline)) enum packed_answer
fill_last(const struct packed_table *form, uint32_t number, uint32_t stretch,
          struct packed_record *record) {
  struct packed_leaf leaf;
  const uint32_t end = stretch - 1;
  return open_leaf(form, number, entry_at(form, number), entry_at(form, (uint64_t)number + 1),
                   &leaf) &&
                 end >= leaf.stretch && end - leaf.stretch + 1 == leaf.stretch_count
             ? fill_stretch(&leaf, end - leaf.stretch, record)
             : PACKED_CORRUPT;
}

/* The same of a record in leaf `number`, before whose first stretch, `stretch`, it is. */
static __attribute__((noinline)) enum packed_answer fill_before(const struct packed_table *table,
                                                                uint32_t number, uint32_t stretch,
                                                                struct packed_record *record) {
  if (number == 0 || stretch == 0)
    return PACKED_CORRUPT;
  const uint32_t before = leaf_with(table, false, stretch - 1, number - 1);
  if (!table->has_usual_leaves)
    return fill_last(table, before, stretch, record);
  const struct packed_table usual = usual_table(table);
  return fill_last(&usual, before, stretch, record);
}

/* Fills in record `n` of a leaf, which stands at `place` in it. (The leaf's table may be a copy of
 * `table`.) */
static inline __attribute__((always_inline)) enum packed_answer
fill(const struct packed_table *table, const struct packed_leaf *leaf, uint64_t n, uint64_t place,
     struct packed_record *record) {
  record->table = table;
  record->index = leaf->index + (uint32_t)n;
  record->address = table->text_start + leaf->start + place;
  if (table->exception_count > 0) {
    const uint8_t *exception = exception_of(table, record->index);
    if (bits_load32(exception) == record->index)
      return fill_exception(table, exception, record);
  }
  const uint64_t starts = leaf_starts_before(leaf, place);
  return starts > 0 ? fill_stretch(leaf, starts - 1, record)
                    : fill_before(table, (uint32_t)(leaf->start >> leaf->table->leaf_shift),
                                  leaf->stretch, record);
}

/* Which of the two other answers holds for an offset that has no record. */
static enum packed_answer missing(const struct packed_table *table, uint64_t offset) {
  const uint32_t number = (uint32_t)(offset >> table->leaf_shift);
  struct packed_leaf leaf;
  uint32_t ignored;
  if (!packed_leaf(table, number, &leaf))
    return PACKED_CORRUPT;
  uint64_t starts = leaf_starts_before(&leaf, (offset & table->leaf_mask) + 1);
  if (offset >= table->text_size || leaf.stretch + starts == 0)
    return PACKED_NOT_MANAGED;
  if (starts == 0) {
    if (!leaf_before(table, number, leaf.stretch, &leaf))
      return PACKED_CORRUPT;
    starts = leaf.stretch_count;
  }
  return leaf_layout(&leaf, starts - 1, &ignored) ? PACKED_NOT_SAFEPOINT : PACKED_NOT_MANAGED;
}

/* Looks up in leaves whose form is that of `form`, which is the table or a copy of it. */
static inline __attribute__((always_inline)) enum packed_answer
find(const struct packed_table *table, const struct packed_table *form, uint64_t address,
     struct packed_record *record) {
  const uint64_t offset = address - form->text_start, number = offset >> form->leaf_shift;
  struct packed_leaf leaf;
  if (offset > form->text_size || form->leaf_count == 0)
    return PACKED_NOT_MANAGED;
  if (!open_leaf(form, (uint32_t)number, entry_at(form, number), entry_at(form, number + 1), &leaf))
    return PACKED_CORRUPT;
  const uint64_t place = offset & form->leaf_mask;
  if ((place & form->record_mask) != 0)
    return missing(table, offset);
  const struct bucket bucket = leaf_bucket(&leaf, (unsigned)(place >> form->bucket_shift));
  const uint8_t *lows = leaf.lows + bucket.from * form->low_bytes;
  const uint64_t count = bucket.to - bucket.from;
  const uint64_t low = (place & form->bucket_mask) >> form->record_shift;
  const uint64_t n = bits_numbers_below(lows, count, form->low_bytes, low);
  if (n == count || bits_load(lows + n * form->low_bytes, form->low_bytes) != low)
    return missing(table, offset);
  return fill(table, &leaf, bucket.from + n, place, record);
}

enum packed_answer packed_find(const struct packed_table *table, uint64_t address,
                               struct packed_record *record) {
  if (!table->has_usual_leaves)
    return find(table, table, address, record);
  const struct packed_table usual = usual_table(table);
  return find(table, &usual, address, record);
}

enum packed_answer packed_record_at(const struct packed_table *table, uint32_t index,
                                    struct packed_record *record) {
  struct packed_leaf leaf;
  if (index >= table->record_count || table->leaf_count == 0 ||
      !packed_leaf(table, leaf_with(table, true, index, table->leaf_count - 1), &leaf) ||
      index < leaf.index || index - leaf.index >= leaf.count)
    return PACKED_CORRUPT;
  const uint64_t n = index - leaf.index;
  return fill(table, &leaf, n, leaf_offset(&leaf, n) - leaf.start, record);
}

struct frame_view packed_frame(const struct packed_record *record) {
  const struct packed_table *table = record->table;
  return table->has_frames ? frames_find(&table->frames, record->stretch, record->index,
                                         packed_record_frame_size(record))
                           : (struct frame_view){0};
}
