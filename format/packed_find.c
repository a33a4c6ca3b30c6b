/* packed_find.c - finds the record at an address: the leaves that nearly all are.
 *
 * packed_leaf.c reads any leaf. Here is the short cut for one of at most 512 records, a short way
 * from the leaves' end, in a table without exceptions. What is to be searched are a few words;
 * places in them are found by counting, not by going along, so that there is hardly a branch that a
 * processor could foresee wrongly. See packed_leaf.c for what the bits are.
 *
 * Hostile bytes: one comparison with the leaves' end covers all that is read, as the number of
 * records n bounds it, but for a reference's place, which is compared when it is known. A place or
 * an index that was read, or that comes out of counting bits, is compared with what n allows.
 */
#include "packed.h"
#include "quick.h"

enum {
  RECORDS_MAX = 512,
  SAMPLED = 1 << PACKED_LEAF_SAMPLE_SHIFT,
  HEAD = 352, /* bits: of samples, continued and a few words; high and marks are 4 a record */
  LINES = 8,
  SHARED_LINES = 4,
  FRAME_LINES = 4,
};

/* Where the bucket number `bucket` from here on starts, in bits from here: behind the 0 that closes
 * the one before. UINT64_MAX: further away than 255 bits. The 0s of four words are counted, and no
 * branch depends on which of them has the one that is looked for. */
QUICK_BODY uint64_t bucket_start(const uint8_t *high, uint64_t bucket, bool quick) {
  const uint64_t n = bucket - (bucket > 0);
  const uint64_t up_to_1 = 64 - bits_quick_count(bits_load64(high), quick);
  const uint64_t up_to_2 = up_to_1 + 64 - bits_quick_count(bits_load64(high + 8), quick);
  const uint64_t up_to_3 = up_to_2 + 64 - bits_quick_count(bits_load64(high + 16), quick);
  const uint64_t up_to_4 = up_to_3 + 64 - bits_quick_count(bits_load64(high + 24), quick);
  if (n >= up_to_4)
    return UINT64_MAX;
  const uint64_t word = (uint64_t)(n >= up_to_1) + (n >= up_to_2) + (n >= up_to_3);
  uint64_t before = n >= up_to_1 ? up_to_1 : 0;
  before = n >= up_to_2 ? up_to_2 : before;
  before = n >= up_to_3 ? up_to_3 : before;
  const uint64_t zeros = ~bits_load64(high + word * 8);
  const uint64_t place = word * 64 + bits_quick_select(zeros, (unsigned)(n - before), quick) + 1;
  return bucket > 0 ? place : 0;
}

/* A leaf's fields, as far as they follow from the directory. Places are in bits. */
struct fields {
  uint64_t index, runs, n; /* n: how many records */
  uint64_t start, marks_at, lows_at, references_at;
  uint64_t samples_at, mark_samples_at;
  unsigned sample_width, mark_sample_width; /* 0: there are none */
  unsigned low_width;
};

/* What the directory says of a leaf. An entry of a large table is more than one load is sure to have:
 * then `wide` is true. */
QUICK_BODY uint64_t take_entry(const struct packed_table *table, uint64_t place, bool wide,
                               struct fields *fields) {
  const unsigned start_width = table->start_width, index_width = table->index_width;
  const unsigned width = wide ? start_width : table->entry_width;
  uint64_t entry = bits_at(table->directory, place, width);
  const uint64_t start = entry & bits_short_mask(start_width);
  for (unsigned line = 0; line < LINES; line++)
    __builtin_prefetch(table->layouts.bytes + start + line * 64);
  entry = wide ? bits_at(table->directory, place + start_width, index_width + table->run_width)
               : entry >> start_width;
  fields->start = start * 8;
  fields->index = entry & bits_short_mask(index_width);
  fields->runs = entry >> index_width;
  return bits_at(table->directory, place + table->entry_width + start_width, index_width);
}

/* False: this leaf isn't for the short cut. */
QUICK_BODY bool take_fields(const struct packed_table *table, uint64_t number, bool wide,
                            struct fields *fields) {
  const uint64_t place = number * table->entry_width;
  const uint8_t *bytes = table->layouts.bytes;
  /* What isn't in a cache is fetched at once: the most frequent frame sizes and layouts; and then the
   * leaf and the layouts that are its own, mostly. */
  for (unsigned line = 0; line < FRAME_LINES; line++)
    __builtin_prefetch(table->frame_sizes + line * 64);
  for (unsigned line = 0; line < SHARED_LINES; line++)
    __builtin_prefetch(bytes + line * 64);
  const uint64_t next = take_entry(table, place, wide, fields);
  fields->n = next - fields->index;
  if (fields->n - 1 >= RECORDS_MAX || next > table->record_count ||
      fields->start + fields->n * 4 + HEAD > table->readable)
    return false;
  const unsigned universe = (unsigned)table->leaf_shift - table->record_shift;
  const unsigned for_n = 63 - (unsigned)__builtin_clzll(fields->n * 2 - 1); /* bits_for_count */
  const unsigned bucket_width = for_n < universe ? for_n : universe;
  const uint64_t high_bits = fields->n + ((uint64_t)1 << bucket_width);
  const uint64_t samples = ((uint64_t)1 << bucket_width) + SAMPLED - 1;
  const unsigned has_samples = -(unsigned)(fields->n > SAMPLED); /* a mask: no branch */
  fields->low_width = universe - bucket_width;
  fields->marks_at = fields->start + high_bits;
  fields->samples_at = fields->marks_at + fields->n;
  fields->sample_width = bits_for_count(high_bits) & has_samples;
  fields->mark_samples_at =
      fields->samples_at + (samples >> PACKED_LEAF_SAMPLE_SHIFT) * fields->sample_width;
  fields->mark_sample_width = bits_for_count(fields->n + 1) & has_samples;
  const uint64_t continued_at =
      fields->mark_samples_at +
      ((fields->n + SAMPLED - 1) >> PACKED_LEAF_SAMPLE_SHIFT) * fields->mark_sample_width;
  const unsigned starts = bytes[fields->marks_at / 8] >> fields->marks_at % 8 & 1;
  fields->lows_at =
      continued_at + (1 - starts) * ((uint64_t)table->start_width + table->position_width);
  fields->references_at = fields->lows_at + fields->n * fields->low_width;
  return fields->references_at + 64 <= table->readable;
}

/* The number of the leaf's record of offset x; n if it has none; UINT64_MAX: not by the short cut. */
QUICK_BODY uint64_t find_offset(const struct packed_table *table, const struct fields *fields,
                                uint64_t x, bool quick) {
  const unsigned width = fields->low_width;
  const uint8_t *bytes = table->layouts.bytes;
  const uint64_t bucket = x >> width, mask = bits_short_mask(width), low = x & mask;
  const uint64_t sample = bucket >> PACKED_LEAF_SAMPLE_SHIFT;
  uint64_t place =
      bits_at(bytes, fields->samples_at + sample * fields->sample_width, fields->sample_width);
  if (place > fields->marks_at - fields->start)
    return UINT64_MAX;
  /* The byte in which it is may have 0s before it. */
  const uint64_t before = bytes[(fields->start + place) / 8] & bits_short_mask(place % 8);
  const uint64_t rest = bucket % SAMPLED + place % 8 - bits_quick_count(before, quick);
  place -= place % 8;
  const uint64_t found = bucket_start(bytes + (fields->start + place) / 8, rest, quick);
  place += found;
  if (found > 255 || place < bucket || width > 14)
    return UINT64_MAX;
  const uint64_t below = place - bucket; /* records in the buckets before */
  const uint64_t ones = ~bits_at(bytes, fields->start + place, 57);
  const unsigned run = (unsigned)__builtin_ctzll(ones | (uint64_t)1 << 57);
  if (run > 4 || below + run > fields->n)
    return UINT64_MAX;
  const uint64_t f0 = bits_at(bytes, fields->lows_at + below * width, 4 * width);
  const uint64_t f1 = f0 >> width;
  const uint64_t f2 = f1 >> width, f3 = f2 >> width;
  const uint64_t step = (uint64_t)((0 < run) & ((f0 & mask) < low)) +
                        ((1 < run) & ((f1 & mask) < low)) + ((2 < run) & ((f2 & mask) < low)) +
                        ((3 < run) & ((f3 & mask) < low));
  return step < run && (f0 >> step * width & mask) == low ? below + step : fields->n;
}

/* How many marks there are up to a record, and at which record the last one is; UINT32_MAX: at none
 * of those 128 that share a sample. */
QUICK_BODY struct packed_marks count_marks(const struct packed_table *table,
                                           const struct fields *fields, uint64_t record,
                                           bool quick) {
  const uint8_t *bytes = table->layouts.bytes;
  const uint64_t sample = record >> PACKED_LEAF_SAMPLE_SHIFT, from = sample * SAMPLED;
  const uint64_t up_to = ((uint64_t)2 << record % 64) - 1;
  const uint64_t in_second = -(record >> 6 & 1); /* a mask */
  const uint64_t first = bits_word(bytes, fields->marks_at + from) & (up_to | in_second);
  const uint64_t second = bits_word(bytes, fields->marks_at + from + 64) & up_to & in_second;
  const uint64_t last = second != 0 ? second : first;
  const uint64_t last_place = from + (second != 0 ? 127 : 63) - (unsigned)__builtin_clzll(last | 1);
  struct packed_marks marks = {bits_quick_count(first, quick) + bits_quick_count(second, quick),
                               last == 0 ? UINT32_MAX : (uint32_t)last_place};
  marks.count +=
      (uint32_t)bits_at(bytes, fields->mark_samples_at + sample * fields->mark_sample_width,
                        fields->mark_sample_width);
  return marks;
}

/* Finds the layout and the position in it. */
QUICK_BODY bool find_layout(const struct packed_table *table, const struct fields *fields,
                            struct packed_record *record, uint64_t number, bool quick) {
  const uint8_t *bytes = table->layouts.bytes;
  const struct packed_marks marks = count_marks(table, fields, number, quick);
  record->run = (uint32_t)(fields->runs + marks.count - 1);
  if (record->run >= table->run_count || (marks.count > 0 && marks.last == UINT32_MAX))
    return false;
  if (marks.count == 0) {
    const unsigned width = (unsigned)table->start_width + table->position_width;
    const uint64_t continued_at = fields->lows_at - width;
    record->layout = bits_at(bytes, continued_at, table->start_width) * 8;
    record->position = (uint32_t)(number + bits_at(bytes, continued_at + table->start_width,
                                                   table->position_width));
  } else {
    const unsigned width = table->reference_width;
    const uint64_t place = fields->references_at + (uint64_t)(marks.count - 1) * width;
    if (place + 64 > table->readable)
      return false;
    const uint64_t reference = bits_at(bytes, place, width);
    const uint64_t own = fields->references_at / 8 - table->shared_size;
    record->layout = (reference + (reference < table->shared_size ? 0 : own)) * 8;
    record->position = (uint32_t)number - marks.last;
  }
  return record->layout < table->layouts.size;
}

QUICK_BODY enum packed_answer find(const struct packed_table *table, uint64_t offset,
                                   struct packed_record *record, bool wide, bool quick) {
  struct fields fields;
  if (!take_fields(table, offset >> table->leaf_shift, wide, &fields))
    return packed_find_record(table, offset, record);
  const uint64_t x = (offset & bits_short_mask(table->leaf_shift)) >> table->record_shift;
  const uint64_t number = find_offset(table, &fields, x, quick);
  if (number == fields.n)
    return PACKED_NOT_MANAGED;
  if (number > fields.n || !find_layout(table, &fields, record, number, quick))
    return packed_find_record(table, offset, record);
  __builtin_prefetch(table->layouts.bytes + record->layout / 8);
  record->table = table;
  record->index = (uint32_t)(fields.index + number);
  record->address = table->text_start + offset;
  return PACKED_FOUND;
}

QUICK_TARGET static enum packed_answer
find_with_bmi(const struct packed_table *table, uint64_t offset, struct packed_record *record) {
  return find(table, offset, record, false, true);
}

QUICK_OTHERS static enum packed_answer
find_without_bmi(const struct packed_table *table, uint64_t offset, struct packed_record *record) {
  return find(table, offset, record, false, false);
}

QUICK_TARGET static enum packed_answer find_wide_with_bmi(const struct packed_table *table,
                                                          uint64_t offset,
                                                          struct packed_record *record) {
  return find(table, offset, record, true, true);
}

QUICK_OTHERS static enum packed_answer find_wide_without_bmi(const struct packed_table *table,
                                                             uint64_t offset,
                                                             struct packed_record *record) {
  return find(table, offset, record, true, false);
}

QUICK_PATH enum packed_answer packed_find_quickly(const struct packed_table *table, uint64_t offset,
                                                  struct packed_record *record) {
  switch (table->short_cut) {
  case PACKED_SHORT_CUT:
    return table->quick ? find_with_bmi(table, offset, record)
                        : find_without_bmi(table, offset, record);
  case PACKED_WIDE_SHORT_CUT:
    return table->quick ? find_wide_with_bmi(table, offset, record)
                        : find_wide_without_bmi(table, offset, record);
  case PACKED_NO_SHORT_CUT:
    break;
  }
  return packed_find_record(table, offset, record);
}
