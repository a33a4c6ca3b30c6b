/* packed_write_leaves.c - writes directory and leaves, as packed_find.c draws them.
 *
 * A bucket's bytes of text are chosen for the smallest total of both. Mostly that is 256 bytes, as
 * then a record's place in its bucket is a byte; in a sparse text a leaf's counts and entry would
 * take more than the records.
 */
#include "format/packed_encoder.h"

#include <assert.h>

/* An entry of the directory: the number of each in the leaves before; */
struct leaf_place {
  uint64_t full, index, stretch;
  uint64_t position; /* of the leaf's first record, in the last stretch that starts before */
};

static unsigned shift_below(unsigned shift, unsigned limit) {
  return shift < limit ? shift : limit;
}

/* The form of leaves with buckets of a size. */
static struct packed_form form_with(const struct packed_header *header, unsigned bucket_shift) {
  return packed_form((struct packed_leaf_form){
      .bucket_shift = (uint8_t)bucket_shift,
      .record_shift = (uint8_t)shift_below(header->record_shift, bucket_shift),
      .start_shift = (uint8_t)shift_below(header->start_shift, bucket_shift),
  });
}

static uint64_t leaves_for(const struct packed_header *header, const struct packed_form *form) {
  return (header->text_size >> form->leaf_shift) + 1;
}

static uint64_t offset_of(const struct encoder *encoder, uint32_t record) {
  return encoder->table->records[record].address - encoder->text_start;
}

/* ---- The size of buckets ---- */

enum { LEAST_SHIFT = 4, MOST_SHIFT = 59 };

/* The costs of buckets of a size: the number of full ones, and the price of reading them. */
struct buckets {
  uint64_t full;
  uint64_t steps; /* after the first one, a comparison of 16 bytes of lows; of all records */
};

/* The number of steps of a look-up in a bucket after the first one: see bits_numbers_below. */
static unsigned steps_in(uint64_t records, unsigned low_bytes) {
  enum { BYTES_AT_ONCE = 16 };
  unsigned halvings = 0;
  assert(records > 0);
  if (low_bytes == 1)
    return (unsigned)((records - 1) / BYTES_AT_ONCE);
  for (; records > BITS_HALVED_TO; records -= records / 2)
    halvings++;
  return halvings;
}

static void add_bucket(const struct encoder *encoder, struct buckets *buckets, unsigned shift,
                       uint64_t records) {
  buckets->full += records >= PACKED_BUCKET_FULL;
  buckets->steps += steps_in(records, form_with(&encoder->header, shift).low_bytes) * records;
}

/* Goes through the records once, with buckets of all sizes: at a record with other highest bits
 * than the one before, the bucket ends, and so do all smaller ones. */
static void count_buckets(const struct encoder *encoder, struct buckets buckets[MOST_SHIFT + 1]) {
  const uint32_t count = encoder->table->record_count;
  uint32_t first[MOST_SHIFT + 1] = {0};
  for (uint32_t i = 1; i <= count; i++) {
    const uint64_t differing =
        i == count ? UINT64_MAX : offset_of(encoder, i) ^ offset_of(encoder, i - 1);
    const uint64_t highest = differing < INT64_MAX ? differing : INT64_MAX;
    const unsigned end = shift_below(bits_for_number(highest), MOST_SHIFT + 1);
    for (unsigned shift = LEAST_SHIFT; shift < end; shift++) {
      add_bucket(encoder, &buckets[shift], shift, i - first[shift]);
      first[shift] = i;
    }
  }
}

/* The size of directory and leaves of a form, nearly. */
static uint64_t size_with(const struct packed_header *header, const struct packed_form *form,
                          uint64_t full) {
  const uint64_t entry = bits_bytes_for(header->records) + bits_bytes_for(header->stretches);
  return leaves_for(header, form) * (8 + entry) + (uint64_t)header->records * form->low_bytes +
         (uint64_t)header->stretches * form->start_bytes + full * sizeof(uint16_t);
}

/* A step of reading takes some 8 % of a look-up's time, and so is worth about as much of a table,
 * at some 3 bytes a record. */
static struct packed_form choose_form(struct encoder *encoder) {
  enum { STEPS_A_BYTE = 2 };
  struct packed_header *header = &encoder->header;
  struct buckets buckets[MOST_SHIFT + 1] = {{0}};
  uint64_t least = UINT64_MAX;
  unsigned best = MOST_SHIFT;
  count_buckets(encoder, buckets);
  for (unsigned shift = LEAST_SHIFT; shift <= MOST_SHIFT; shift++) {
    const struct packed_form form = form_with(header, shift);
    const uint64_t leaves = leaves_for(header, &form);
    if (leaves > ((uint64_t)header->records + header->stretches) * 16)
      continue;
    const uint64_t price =
        size_with(header, &form, buckets[shift].full) + buckets[shift].steps / STEPS_A_BYTE;
    if (price < least) {
      least = price;
      best = shift;
    }
    if (leaves == 1)
      break;
  }
  assert(least != UINT64_MAX);
  const struct packed_form form = form_with(header, best);
  header->bucket_shift = form.bucket_shift;
  header->record_shift = form.record_shift;
  header->start_shift = form.start_shift;
  return form;
}

/* ---- Leaves ---- */

static void put_number(struct bit_writer *bits, uint64_t number, unsigned bytes) {
  bit_writer_put(bits, number, bytes * 8);
}

/* Appends each bucket's number of the records [from, to), all in one leaf. */
static void put_counts(struct encoder *encoder, uint32_t from, uint32_t to,
                       uint32_t counts[PACKED_BUCKETS]) {
  struct bit_writer *leaves = &encoder->parts[PACKED_LEAVES];
  memset(counts, 0, PACKED_BUCKETS * sizeof *counts);
  for (uint32_t i = from; i < to; i++)
    counts[offset_of(encoder, i) >> encoder->header.bucket_shift & (PACKED_BUCKETS - 1)]++;
  for (unsigned i = 0; i < PACKED_BUCKETS; i++)
    bit_writer_put(leaves, counts[i] < PACKED_BUCKET_FULL ? counts[i] : PACKED_BUCKET_FULL, 4);
}

/* Appends the further records of full buckets, and counts these buckets. False: too many in a
 * bucket. */
static bool put_more(struct encoder *encoder, const uint32_t counts[PACKED_BUCKETS],
                     uint64_t *full) {
  for (unsigned i = 0; i < PACKED_BUCKETS; i++) {
    if (counts[i] < PACKED_BUCKET_FULL)
      continue;
    if (counts[i] > PACKED_BUCKET_FULL + UINT16_MAX)
      return encoder_too_many(encoder);
    put_number(&encoder->parts[PACKED_LEAVES], counts[i] - PACKED_BUCKET_FULL, sizeof(uint16_t));
    ++*full;
  }
  return true;
}

static bool put_leaf(struct encoder *encoder, const struct packed_form *form,
                     struct leaf_place *entry) {
  struct bit_writer *leaves = &encoder->parts[PACKED_LEAVES];
  const uint32_t from = (uint32_t)entry->index, to = (uint32_t)entry[1].index;
  assert(from <= to && to <= encoder->header.records && entry->stretch <= entry[1].stretch);
  uint32_t counts[PACKED_BUCKETS];
  put_counts(encoder, from, to, counts);
  for (uint64_t i = entry->stretch; i < entry[1].stretch; i++) {
    const uint64_t offset = encoder->stretches[i].offset;
    assert((offset & form->start_mask) == 0);
    put_number(leaves, (offset & form->leaf_mask) >> form->start_shift, form->start_bytes);
  }
  for (uint32_t i = from; i < to; i++) {
    const uint64_t offset = offset_of(encoder, i);
    assert((offset & form->record_mask) == 0);
    put_number(leaves, (offset & form->bucket_mask) >> form->record_shift, form->low_bytes);
  }
  entry[1].full = entry->full;
  return put_more(encoder, counts, &entry[1].full);
}

/* Counts the records and stretches in the leaves before each, and writes the leaves. */
static bool put_leaves(struct encoder *encoder, const struct packed_form *form,
                       struct leaf_place *entries, uint64_t leaves) {
  const struct packed_header *header = &encoder->header;
  uint32_t index = 0, stretch = 0;
  uint32_t first = 0; /* record of the last of these stretches */
  for (uint64_t i = 0; i < leaves; i++) {
    struct leaf_place *next = &entries[i + 1];
    while (stretch < header->stretches &&
           encoder->stretches[stretch].offset >> form->leaf_shift <= i)
      stretch++;
    while (index < header->records && offset_of(encoder, index) >> form->leaf_shift <= i)
      index++;
    assert(stretch > 0); /* the first one starts where the text does */
    while (first < index && offset_of(encoder, first) <= encoder->stretches[stretch - 1].offset)
      first++;
    next->index = index;
    next->stretch = stretch;
    next->position = index - first;
    if (!put_leaf(encoder, form, next - 1))
      return false;
  }
  return true;
}

static bool put_directory(struct encoder *encoder, const struct leaf_place *entries,
                          uint64_t leaves) {
  assert(entries[leaves].index == encoder->header.records &&
         entries[leaves].stretch == encoder->header.stretches);
  struct packed_header *header = &encoder->header;
  struct bit_writer *directory = &encoder->parts[PACKED_DIRECTORY];
  const struct leaf_place *end = &entries[leaves];
  uint64_t positions = 0; /* or-ed together */
  for (uint64_t i = 0; i < leaves; i++)
    positions |= entries[i].position;
  header->index_width = (uint8_t)bits_for_number(end->index);
  header->stretch_width = (uint8_t)bits_for_number(end->stretch);
  header->position_width = (uint8_t)bits_for_number(positions);
  header->full_width = (uint8_t)bits_for_number(end->full);
  if (header->full_width > PACKED_FULL_WIDTH_MAX)
    return encoder_too_many(encoder);
  for (uint64_t i = 0; i <= leaves; i++) {
    bit_writer_put(directory, entries[i].index, header->index_width);
    bit_writer_put(directory, entries[i].stretch, header->stretch_width);
    bit_writer_put(directory, i < leaves ? entries[i].position : 0, header->position_width);
    bit_writer_put(directory, entries[i].full, header->full_width);
    bit_writer_align(directory, 8);
  }
  return true;
}

static void put_references(struct encoder *encoder) {
  const struct packed_header *header = &encoder->header;
  for (uint32_t i = 0; i < header->stretches; i++) {
    const uint32_t layout = encoder->stretches[i].layout;
    assert(layout == ENCODER_GAP || layout < encoder->layout_count);
    const uint64_t gap = bits_low_mask(header->reference_bytes * 8u);
    const uint64_t reference =
        layout == ENCODER_GAP ? gap : encoder->places[layout] >> header->reference_shift;
    assert(layout == ENCODER_GAP || reference < gap);
    put_number(&encoder->parts[PACKED_REFERENCES], reference, header->reference_bytes);
  }
}

bool packed_write_leaves(struct encoder *encoder) {
  const struct packed_form form = choose_form(encoder);
  const uint64_t leaves = leaves_for(&encoder->header, &form);
  struct leaf_place *entries = encoder_array(encoder, leaves, sizeof *entries);
  put_references(encoder);
  return entries != NULL && put_leaves(encoder, &form, entries, leaves) &&
         put_directory(encoder, entries, leaves);
}
