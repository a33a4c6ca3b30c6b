/* packed_find.c - looks up an address: from the directory to a leaf, and in the leaf to a record.
 *
 * A leaf has the records and the starts of stretches in 16 buckets of text, 256 bytes each mostly:
 *
 *   counts       u64: a nibble for each bucket, the number of its records
 *   starts       of each stretch that starts here a byte: the place
 *   lows         of each record the low byte of its address
 *   more         u16 for each nibble that is 15: the number of further records in its bucket
 *
 * Say a return address is 0x1234 bytes into the text. It is in leaf 1 (0x1234 >> 12), in its bucket
 * 2. The nibbles of the buckets 0 and 1 sum up to the number of records before the bucket, nibble 2
 * is the number of its lows, and one comparison of all of these with 0x34 gives the number of
 * records below. If the next low is 0x34, the record is found. The same comparison gives the number
 * of stretches that start before it, and so the function's number and its layout; and with the
 * function's start, the number of its first record. The distance from there is the record's
 * position in the layout. For a function that starts in a leaf before, the directory has the
 * position of this leaf's first record.
 */
#include "format/packed.h"

#include <assert.h>

/* ---- Leaves ---- */

/* The contents of entry `number` <= leaf_count of the directory: the totals of the leaves before,
 * and the position of the leaf's first record. */
struct entry {
  uint32_t full, index, stretch, position;
};

static inline struct entry entry_at(const struct packed_table *table, uint64_t number) {
  const uint8_t *entry = table->directory + number * table->entry_bytes;
  const uint64_t first = bits_load64(entry), rest = bits_load64(entry + table->rest_at);
  return (struct entry){
      .index = (uint32_t)first & table->index_mask,
      .stretch = (uint32_t)(first >> table->stretch_shift) & table->stretch_mask,
      .position = (uint32_t)(rest >> table->position_shift) & table->position_mask,
      .full = (uint32_t)(rest >> table->full_shift) & table->full_mask,
  };
}

/* The nibbles that are PACKED_BUCKET_FULL: the lowest bit of each. */
static inline uint64_t full_nibbles(uint64_t counts) {
  return counts & counts >> 1 & counts >> 2 & counts >> 3 & 0x1111111111111111u;
}

/* Takes a leaf apart. (A smaller number in the next entry makes a count of some 2^32, beyond the
 * limit.) */
static inline __attribute__((always_inline)) bool open_leaf(const struct packed_table *table,
                                                            const struct packed_form *form,
                                                            uint32_t number,
                                                            struct packed_leaf *leaf) {
  assert(number < table->leaf_count);
  const struct entry entry = entry_at(table, number), next = entry_at(table, (uint64_t)number + 1);
  leaf->form = form;
  leaf->start = (uint64_t)number << form->leaf_shift;
  leaf->index = entry.index;
  leaf->count = next.index - entry.index;
  leaf->stretch = entry.stretch;
  leaf->stretch_count = next.stretch - entry.stretch;
  leaf->position = entry.position;
  leaf->full_count = next.full - entry.full;
  const uint64_t counts = number * sizeof leaf->counts + entry.full * sizeof(uint16_t) +
                          (uint64_t)entry.index * form->low_bytes +
                          (uint64_t)entry.stretch * form->start_bytes;
  const uint64_t starts = counts + sizeof leaf->counts;
  const uint64_t lows = starts + (uint64_t)leaf->stretch_count * form->start_bytes;
  const uint64_t more = lows + (uint64_t)leaf->count * form->low_bytes;
  if ((uint64_t)entry.index + leaf->count > table->record_count ||
      (uint64_t)entry.stretch + leaf->stretch_count > table->stretch_count ||
      more + leaf->full_count * sizeof(uint16_t) > table->leaves_size)
    return false;
  leaf->counts = bits_load64(table->leaves + counts);
  leaf->starts = table->leaves + starts;
  leaf->lows = table->leaves + lows;
  leaf->more = table->leaves + more;
  return true;
}

bool packed_leaf(const struct packed_table *table, uint32_t number, struct packed_leaf *leaf) {
  return open_leaf(table, &table->form, number, leaf);
}

/* The records of a bucket: the leaf's records [from, to). */
struct bucket {
  uint64_t from, to;
};

/* Adds to a bucket the further records that are counted after the lows. */
static struct bucket add_more(uint64_t counts, const uint8_t *more, uint32_t full_count,
                              unsigned number, struct bucket bucket) {
  for (uint64_t full = full_nibbles(counts); full != 0 && full_count > 0; full &= full - 1) {
    const unsigned n = (unsigned)__builtin_ctzll(full) / 4;
    if (n > number)
      break;
    if (n < number)
      bucket.from += bits_load16(more);
    bucket.to += bits_load16(more);
    more += sizeof(uint16_t);
    full_count--;
  }
  return bucket;
}

/* Bucket `number` < PACKED_BUCKETS of a leaf. With its nibble shifted to the top, the other ones
 * left are of the buckets before it, and their sum is the first one's number. */
static inline __attribute__((always_inline)) struct bucket
leaf_bucket(const struct packed_leaf *leaf, unsigned number) {
  assert(number < PACKED_BUCKETS);
  const uint64_t low_nibbles = 0x0f0f0f0f0f0f0f0fu, ones = 0x0101010101010101u;
  const uint64_t counts = leaf->counts << (PACKED_BUCKETS - 1 - number) * 4;
  const uint64_t before = (counts & low_nibbles) + (counts << 4 & low_nibbles);
  struct bucket bucket = {.from = before * ones >> 56};
  bucket.to = bucket.from + (counts >> 60);
  if (leaf->full_count > 0)
    bucket = add_more(leaf->counts, leaf->more, leaf->full_count, number, bucket);
  if (__builtin_expect(bucket.to <= leaf->count, 1))
    return bucket;
  return (struct bucket){leaf->count, leaf->count}; /* the counts are broken */
}

/* The number of a bucket's records whose low is less than one. A bucket without further records has
 * 15 at most. */
static inline __attribute__((always_inline)) uint64_t
bucket_below(const struct packed_leaf *leaf, struct bucket bucket, uint64_t low) {
  const struct packed_form *form = leaf->form;
  const uint8_t *lows = leaf->lows + bucket.from * form->low_bytes;
  const uint64_t count = bucket.to - bucket.from;
  return form->is_usual && leaf->full_count == 0
             ? bits_bytes_below(lows, (unsigned)count, (uint8_t)low)
             : bits_numbers_below(lows, count, form->low_bytes, low);
}

/* The number of the leaf's records before a place, from the leaf's start on. */
static inline __attribute__((always_inline)) uint64_t leaf_below(const struct packed_leaf *leaf,
                                                                 uint64_t place) {
  const struct packed_form *form = leaf->form;
  const uint64_t number = place >> form->bucket_shift;
  if (number >= PACKED_BUCKETS)
    return leaf->count;
  const struct bucket bucket = leaf_bucket(leaf, (unsigned)number);
  const uint64_t low = ((place & form->bucket_mask) + form->record_mask) >> form->record_shift;
  return bucket.from + bucket_below(leaf, bucket, low);
}

/* The place of record `n` of the leaf, from the text's start on. */
static uint64_t leaf_offset(const struct packed_leaf *leaf, uint64_t n) {
  const struct packed_form *form = leaf->form;
  unsigned number = 0;
  assert(n < leaf->count);
  while (number < PACKED_BUCKETS - 1 && leaf_bucket(leaf, number).to <= n)
    number++;
  return leaf->start + ((uint64_t)number << form->bucket_shift) +
         (bits_load(leaf->lows + n * form->low_bytes, form->low_bytes) << form->record_shift);
}

/* The start of the last of the leaf's first `n` stretches, from the leaf's start on. */
static inline __attribute__((always_inline)) uint64_t last_start(const struct packed_leaf *leaf,
                                                                 uint64_t n) {
  const struct packed_form *form = leaf->form;
  assert(n <= leaf->stretch_count);
  const uint8_t *end = leaf->starts + n * form->start_bytes;
  return bits_load(end - form->start_bytes, form->start_bytes) << form->start_shift;
}

/* The number of the leaf's stretches that start before a place, from the leaf's start on. Leaves
 * differ in whether they have more than 16, so a loop by 16 would be mispredicted often. */
static inline __attribute__((always_inline)) uint64_t
leaf_starts_before(const struct packed_leaf *leaf, uint64_t place) {
  const struct packed_form *form = leaf->form;
  const uint64_t start = (place + form->start_mask) >> form->start_shift;
  uint64_t count = leaf->stretch_count, below = 0;
  const uint8_t *starts = leaf->starts;
  if (!form->is_usual || start > UINT8_MAX)
    return bits_numbers_below(starts, count, form->start_bytes, start);
  for (; count > PACKED_USUAL_STARTS; count -= PACKED_USUAL_STARTS, starts += PACKED_USUAL_STARTS)
    below += bits_more_bytes_below(starts, PACKED_USUAL_STARTS, (uint8_t)start);
  return below + bits_more_bytes_below(starts, (unsigned)count, (uint8_t)start);
}

uint64_t packed_leaf_next_position(const struct packed_leaf *leaf) {
  const uint64_t starts = leaf->stretch_count;
  return starts == 0 ? (uint64_t)leaf->position + leaf->count
                     : leaf->count - leaf_below(leaf, last_start(leaf, starts) + 1);
}

static inline uint32_t entry_number(const struct packed_table *table, bool by_index,
                                    uint32_t leaf) {
  const struct entry entry = entry_at(table, leaf);
  return by_index ? entry.index : entry.stretch;
}

/* The last leaf whose entry's number (by index, or by stretch) is at most `number`; so it has this
 * number, unless the table is broken. */
static uint32_t leaf_with(const struct packed_table *table, bool by_index, uint32_t number) {
  assert(table->leaf_count > 0);
  uint32_t from = 0, to = table->leaf_count - 1;
  while (from < to) {
    const uint32_t middle = to - (to - from) / 2;
    if (entry_number(table, by_index, middle) <= number)
      from = middle;
    else
      to = middle - 1;
  }
  return from;
}

/* ---- Stretches ---- */

/* The place of the layout of stretch `number` < stretch_count. False: it is a gap. */
static inline __attribute__((always_inline)) bool stretch_layout(const struct packed_table *table,
                                                                 const struct packed_form *form,
                                                                 uint64_t number,
                                                                 uint32_t *layout) {
  assert(number < table->stretch_count);
  const uint8_t *bytes = table->references + number * form->reference_bytes;
  const uint32_t reference = bits_load32(bytes) & form->reference_mask;
  *layout = reference << form->reference_shift;
  return reference != form->reference_mask;
}

/* The start of a stretch; number stretch_count has the text's end. */
static bool stretch_start(const struct packed_table *table, uint32_t number, uint64_t *start) {
  struct packed_leaf leaf;
  if (number == table->stretch_count) {
    *start = table->text_start + table->text_size;
    return true;
  }
  if (!packed_leaf(table, leaf_with(table, false, number), &leaf) || number < leaf.stretch ||
      number - leaf.stretch >= leaf.stretch_count)
    return false;
  *start = table->text_start + leaf.start + last_start(&leaf, number - leaf.stretch + 1);
  return true;
}

bool packed_stretch(const struct packed_table *table, uint32_t number,
                    struct packed_stretch *stretch) {
  if (number >= table->stretch_count || !stretch_start(table, number, &stretch->start) ||
      !stretch_start(table, number + 1, &stretch->end))
    return false;
  stretch->is_gap = !stretch_layout(table, &table->form, number, &stretch->layout);
  return true;
}

/* ---- Records ---- */

/* Where exception `index` would be, by bisection; the last one, if all are below. */
static const uint8_t *exception_of(const struct packed_table *table, uint32_t index) {
  assert(table->exception_count > 0);
  const uint32_t place = bits_items_below(table->exceptions, table->exception_count - 1,
                                          PACKED_EXCEPTION_SIZE, 0, index);
  return table->exceptions + (size_t)place * PACKED_EXCEPTION_SIZE;
}

/* Fills in the layout of a record's stretch. */
static inline __attribute__((always_inline)) enum stackpack_answer
fill_layout(const struct packed_table *table, const struct packed_form *form,
            struct packed_record *record) {
  return record->stretch < table->stretch_count &&
                 stretch_layout(table, form, record->stretch, &record->layout)
             ? STACKPACK_FOUND
             : STACKPACK_CORRUPT;
}

/* Fills in a record that is an exception. */
static enum stackpack_answer fill_exception(const struct packed_table *table,
                                            const uint8_t *exception,
                                            struct packed_record *record) {
  record->stretch = bits_load32(exception + 4);
  record->position = bits_load32(exception + 8);
  return fill_layout(table, &table->form, record);
}

/* Fills in record `n` of a leaf, at an address: at `place` in the leaf. */
static inline __attribute__((always_inline)) enum stackpack_answer
fill(const struct packed_table *table, const struct packed_leaf *leaf, uint64_t n, uint64_t address,
     uint64_t place, struct packed_record *record) {
  record->table = table;
  record->index = leaf->index + (uint32_t)n;
  record->address = address;
  if (table->exception_count > 0) {
    const uint8_t *exception = exception_of(table, record->index);
    if (bits_load32(exception) == record->index)
      return fill_exception(table, exception, record);
  }
  /* A processor can't predict whether its stretch starts in this leaf: both cases are computed,
   * without a branch. (If none starts before it, the last of none is read: some bytes of the leaf
   * before its starts.) */
  const uint64_t starts = leaf_starts_before(leaf, place);
  const uint64_t from_before = starts == 0 ? UINT64_MAX : 0; /* a mask */
  const uint64_t start = (last_start(leaf, starts) + 1) & ~from_before;
  record->stretch = leaf->stretch + (uint32_t)starts - 1;
  record->position = (uint32_t)(n + (leaf->position & from_before) - leaf_below(leaf, start));
  return fill_layout(table, leaf->form, record);
}

/* The answer for an offset without a record. */
static enum stackpack_answer missing(const struct packed_table *table, uint64_t offset) {
  const struct packed_form *form = &table->form;
  struct packed_leaf leaf;
  uint32_t ignored;
  if (!packed_leaf(table, (uint32_t)(offset >> form->leaf_shift), &leaf))
    return STACKPACK_CORRUPT;
  const uint64_t place = offset & form->leaf_mask;
  const uint64_t stretches = leaf.stretch + leaf_starts_before(&leaf, place + 1);
  if (offset >= table->text_size || stretches == 0)
    return STACKPACK_NOT_MANAGED;
  return stretch_layout(table, form, stretches - 1, &ignored) ? STACKPACK_NOT_SAFEPOINT
                                                              : STACKPACK_NOT_MANAGED;
}

/* Looks up in leaves of a form. */
static inline __attribute__((always_inline)) enum stackpack_answer
find(const struct packed_table *table, const struct packed_form *form, uint64_t address,
     struct packed_record *record) {
  const uint64_t offset = address - table->text_start;
  struct packed_leaf leaf;
  if (offset > table->text_size || (!form->is_usual && table->leaf_count == 0))
    return STACKPACK_NOT_MANAGED;
  if (!open_leaf(table, form, (uint32_t)(offset >> form->leaf_shift), &leaf))
    return STACKPACK_CORRUPT;
  /* Near here is the reference that will be asked for. It comes while the leaf does. */
  __builtin_prefetch(table->references + (uint64_t)leaf.stretch * form->reference_bytes);
  const uint64_t place = offset & form->leaf_mask;
  if ((place & form->record_mask) != 0)
    return missing(table, offset);
  const struct bucket bucket = leaf_bucket(&leaf, (unsigned)(place >> form->bucket_shift));
  const uint64_t low = (place & form->bucket_mask) >> form->record_shift;
  const uint64_t below = bucket_below(&leaf, bucket, low), n = bucket.from + below;
  if (below == bucket.to - bucket.from ||
      bits_load(leaf.lows + n * form->low_bytes, form->low_bytes) != low)
    return missing(table, offset);
  return fill(table, &leaf, n, address, place, record);
}

enum stackpack_answer packed_find(const struct packed_table *table, uint64_t address,
                                  struct packed_record *record) {
  struct packed_form usual = packed_form(packed_usual_leaves);
  usual.is_usual = true;
  return table->form.is_usual ? find(table, &usual, address, record)
                              : find(table, &table->form, address, record);
}

enum stackpack_answer packed_record_at(const struct packed_table *table, uint32_t index,
                                       struct packed_record *record) {
  struct packed_leaf leaf;
  if (index >= table->record_count || table->leaf_count == 0 ||
      !packed_leaf(table, leaf_with(table, true, index), &leaf) || index < leaf.index ||
      index - leaf.index >= leaf.count)
    return STACKPACK_CORRUPT;
  const uint64_t n = index - leaf.index;
  const uint64_t offset = leaf_offset(&leaf, n);
  return fill(table, &leaf, n, table->text_start + offset, offset - leaf.start, record);
}
