/* packed_find.c - finds the record at an address: the leaves that nearly all are.
 *
 * packed_leaf.c reads any leaf. Here is the short cut for one of at most 2048 records, a short way
 * from the table's end, in a table without exceptions. What is to be searched are a few words;
 * places in them are found by counting, not by going along, so that there is hardly a branch that a
 * processor could foresee wrongly. See packed_leaf.c for what the bits are.
 *
 * Hostile bytes: two comparisons with the table's end cover all fields up to the marks, as the number
 * of records n bounds them; where the fields behind the marks end is compared when it is known. A
 * place or a number that was read, or that comes out of counting bits, is compared with what n allows.
 */
#include "format/packed.h"
#include "format/quick.h"

enum {
  RECORDS_MAX = 2048,
  MARKS_OF_GROUP = 1 << PACKED_RECORDS_PER_GROUP_SHIFT,
  SAMPLED = 1 << PACKED_BUCKETS_PER_SAMPLE_SHIFT,
  GROUPS = 1 << PACKED_GROUPS_PER_SAMPLE_SHIFT,
  HEAD = 768, /* bits: of samples and a few words; high and groups are less than 4 a record */
  LINES = 4,
  SHARED_LINES = 2,
  FRAME_LINES = 2,
  WORD = 57, /* bits that one load surely has: bits.h */
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

/* An entry of the directory. */
struct entry {
  uint64_t start, index, runs;
};

/* A leaf's fields, as far as they follow from the directory. Places are in bits. */
struct fields {
  uint64_t index, runs, n, run_count; /* n: how many records */
  uint64_t start, end;                /* end: in bytes */
  uint64_t groups, groups_at, samples_at, mark_samples_at, lows_at, owns_at, marks_at;
  unsigned sample_width, mark_sample_width; /* 0: there are none */
  unsigned low_width;
};

/* An entry of a large table is more than one load is sure to have: then `wide` is true. */
QUICK_BODY struct entry take_entry(const struct packed_table *table, uint64_t place, bool wide) {
  const unsigned start_width = table->start_width, index_width = table->index_width;
  struct entry entry;
  uint64_t word = bits_at(table->directory, place, wide ? start_width : table->entry_width);
  entry.start = word & bits_short_mask(start_width);
  word = wide ? bits_at(table->directory, place + start_width, index_width + table->run_width)
              : word >> start_width;
  entry.index = word & bits_short_mask(index_width);
  entry.runs = word >> index_width;
  return entry;
}

/* False: this leaf isn't for the short cut. */
QUICK_BODY bool take_fields(const struct packed_table *table, uint64_t number, bool wide,
                            struct fields *fields) {
  const uint64_t place = number * table->entry_width;
  const uint8_t *bytes = table->layouts.bytes;
  /* What isn't in a cache is fetched at once: the leaf, mostly with the layouts that are its own, and
   * the most frequent frame sizes and shared layouts. */
  const struct entry entry = take_entry(table, place, wide);
  for (unsigned line = 0; line < LINES; line++)
    __builtin_prefetch(bytes + entry.start + line * 64);
  const struct entry next = take_entry(table, place + table->entry_width, wide);
  for (unsigned line = 0; line < FRAME_LINES; line++)
    __builtin_prefetch(table->frame_sizes + line * 64);
  for (unsigned line = 0; line < SHARED_LINES; line++)
    __builtin_prefetch(bytes + line * 64);
  const uint64_t n = next.index - entry.index;
  fields->index = entry.index;
  fields->runs = entry.runs;
  fields->n = n;
  fields->run_count = next.runs - entry.runs;
  fields->start = entry.start * 8;
  fields->end = next.start;
  if (n - 1 >= RECORDS_MAX || fields->run_count > n || next.index > table->record_count ||
      fields->start + n * 4 + HEAD > table->readable)
    return false;
  const unsigned universe = (unsigned)table->leaf_shift - table->record_shift;
  const unsigned for_n = 63 - (unsigned)__builtin_clzll(n * 2 - 1); /* bits_for_count */
  const unsigned bucket_width = for_n < universe ? for_n : universe;
  const uint64_t high_bits = n + ((uint64_t)1 << bucket_width);
  fields->low_width = universe - bucket_width;
  fields->groups = packed_leaf_groups(n);
  fields->groups_at = fields->start + high_bits;
  fields->samples_at = fields->groups_at + fields->groups;
  fields->lows_at = fields->samples_at;
  fields->sample_width = fields->mark_sample_width = 0;
  if (n > SAMPLED) {
    fields->sample_width = bits_for_count(high_bits);
    fields->mark_sample_width = packed_mark_samples(n) > 0 ? packed_mark_sample_width(n) : 0;
    fields->mark_samples_at = fields->samples_at + packed_bucket_samples(n, high_bits - n);
    fields->lows_at =
        fields->mark_samples_at + packed_mark_samples(n) * 2 * fields->mark_sample_width;
  }
  fields->owns_at = fields->lows_at + n * fields->low_width;
  fields->marks_at = fields->owns_at + fields->run_count;
  return fields->marks_at + n + HEAD <= table->readable;
}

/* Which of `run` fields from a place on, in ascending order, is the first one of a value; `run` if none
 * is. */
static unsigned find_low(const uint8_t *bytes, uint64_t place, unsigned width, unsigned run,
                         uint64_t low) {
  unsigned i = 0;
  while (i < run && bits_at(bytes, place + (uint64_t)i * width, width) < low)
    i++;
  return i < run && bits_at(bytes, place + (uint64_t)i * width, width) == low ? i : run;
}

/* The number of the leaf's record of offset x; n if it has none; UINT64_MAX: not by the short cut. */
QUICK_BODY uint64_t find_offset(const struct packed_table *table, const struct fields *fields,
                                uint64_t x, bool quick) {
  const unsigned width = fields->low_width;
  const uint8_t *bytes = table->layouts.bytes;
  const uint64_t bucket = x >> width, mask = bits_short_mask(width), low = x & mask;
  uint64_t place = 0, rest = bucket;
  if (bucket >= SAMPLED) {
    const uint64_t sample = bucket >> PACKED_BUCKETS_PER_SAMPLE_SHIFT;
    place =
        bits_at(bytes, fields->samples_at + sample * fields->sample_width, fields->sample_width);
    if (place > fields->groups_at - fields->start)
      return UINT64_MAX;
    /* The byte in which it is may have 0s before it. */
    const uint64_t before = bytes[(fields->start + place) / 8] & bits_short_mask(place % 8);
    rest = bucket % SAMPLED + place % 8 - bits_quick_count(before, quick);
    place -= place % 8;
  }
  const uint64_t found = bucket_start(bytes + (fields->start + place) / 8, rest, quick);
  place += found;
  if (found > 255 || place < bucket)
    return UINT64_MAX;
  const uint64_t below = place - bucket; /* records in the buckets before */
  const uint64_t ones = ~bits_at(bytes, fields->start + place, 57);
  const unsigned run = (unsigned)__builtin_ctzll(ones | (uint64_t)1 << 57);
  if (run == 57 || below + run > fields->n)
    return UINT64_MAX;
  if (run > 4 || 4 * width > WORD) {
    const unsigned passed = find_low(bytes, fields->lows_at + below * width, width, run, low);
    return passed < run ? below + passed : fields->n;
  }
  const uint64_t f0 = bits_at(bytes, fields->lows_at + below * width, 4 * width);
  const uint64_t f1 = f0 >> width;
  const uint64_t f2 = f1 >> width, f3 = f2 >> width;
  const uint64_t step = (uint64_t)((0 < run) & ((f0 & mask) < low)) +
                        ((1 < run) & ((f1 & mask) < low)) + ((2 < run) & ((f2 & mask) < low)) +
                        ((3 < run) & ((f3 & mask) < low));
  return step < run && (f0 >> step * width & mask) == low ? below + step : fields->n;
}

/* The groups of a leaf around a record's. */
struct groups {
  uint64_t all, before; /* how many are 1: of all, and before the record's */
  uint64_t is_one;      /* the record's: 0 or 1 */
  uint64_t last;        /* the last one before the record's that is 1, if there is one */
  uint64_t sampled;     /* how many of those before are before the sample, */
  uint64_t marks;       /* and how many marks there are before it */
};

/* The same where there are more than a word has. */
static struct groups take_many_groups(const struct packed_table *table, const struct fields *fields,
                                      uint64_t group) {
  const uint8_t *bytes = table->layouts.bytes;
  const unsigned width = fields->mark_sample_width;
  const uint64_t sample = group / GROUPS, samples_at = fields->mark_samples_at;
  const uint64_t last_sample = (fields->groups - 1) / GROUPS;
  struct groups groups = {
      .all = bits_at(bytes, samples_at + last_sample * 2 * width, width) +
             bits_quick_ones(bytes, fields->groups_at + last_sample * GROUPS,
                             fields->groups - last_sample * GROUPS, table->quick),
      .is_one = bits_at(bytes, fields->groups_at + group, 1),
      .last = bits_last_one(bytes, fields->groups_at, group),
      .sampled = bits_at(bytes, samples_at + sample * 2 * width, width),
      .marks = bits_at(bytes, samples_at + (sample * 2 + 1) * width, width),
  };
  groups.before = groups.sampled + bits_quick_ones(bytes, fields->groups_at + sample * GROUPS,
                                                   group % GROUPS, table->quick);
  return groups;
}

QUICK_BODY struct groups take_groups(const struct packed_table *table, const struct fields *fields,
                                     uint64_t group, bool quick) {
  if (fields->groups > WORD)
    return take_many_groups(table, fields, group);
  const uint64_t word = bits_at(table->layouts.bytes, fields->groups_at, WORD);
  const uint64_t before = word & bits_short_mask((unsigned)group);
  return (struct groups){
      .all = bits_quick_count(word & bits_short_mask((unsigned)fields->groups), quick),
      .before = bits_quick_count(before, quick),
      .is_one = word >> group & 1,
      .last = 63 - (unsigned)__builtin_clzll(before | 1),
  };
}

/* How many marks there are up to a record, and at which record the last one is. False: the table is
 * broken. See packed_leaf_marks. */
QUICK_BODY bool count_marks(const struct packed_table *table, const struct fields *fields,
                            const struct groups *groups, uint64_t record,
                            struct packed_marks *marks, bool quick) {
  enum { LAST = 2 * MARKS_OF_GROUP };
  const uint8_t *bytes = table->layouts.bytes;
  const uint64_t before = groups->before * MARKS_OF_GROUP;
  const uint64_t end = before + (-groups->is_one & (record % MARKS_OF_GROUP + 1));
  uint64_t word, from; /* bits from a place on up to the end, of which one is the last mark */
  if (end <= WORD) {
    from = 0;
    word = bits_at(bytes, fields->marks_at, (unsigned)end);
    marks->count = bits_quick_count(word, quick);
  } else {
    const uint64_t sampled = groups->sampled * MARKS_OF_GROUP;
    if (groups->before > fields->groups || sampled > end)
      return false;
    from = end - LAST;
    word = bits_at(bytes, fields->marks_at + from, LAST);
    marks->count = (uint32_t)(groups->marks + bits_quick_ones(bytes, fields->marks_at + sampled,
                                                              end - sampled, quick));
  }
  const uint64_t place = from + 63 - (unsigned)__builtin_clzll(word | 1);
  const uint64_t group = place < before ? groups->last : record >> PACKED_RECORDS_PER_GROUP_SHIFT;
  marks->last = (uint32_t)(group * MARKS_OF_GROUP + place % MARKS_OF_GROUP);
  return word != 0 || marks->count == 0;
}

/* Which of a leaf's runs have layouts of their own. */
struct owns {
  uint64_t all, before; /* how many have: of all, and of those before the record's run */
  uint64_t is_own;      /* whether this run has: 0 or 1 */
};

QUICK_BODY struct owns take_owns(const struct packed_table *table, const struct fields *fields,
                                 uint64_t mark, bool quick) {
  const uint8_t *bytes = table->layouts.bytes;
  const uint64_t word = bits_at(bytes, fields->owns_at, WORD);
  if (fields->run_count <= WORD)
    return (struct owns){
        .all = bits_quick_count(word & bits_short_mask((unsigned)fields->run_count), quick),
        .before = bits_quick_count(word & bits_short_mask((unsigned)mark), quick),
        .is_own = word >> mark & 1,
    };
  return (struct owns){
      .all = bits_quick_ones(bytes, fields->owns_at, fields->run_count, quick),
      .before = bits_quick_ones(bytes, fields->owns_at, mark, quick),
      .is_own = bits_at(bytes, fields->owns_at + mark, 1),
  };
}

/* Where the layouts of a leaf's runs are told. */
struct references {
  uint64_t shared_at, own_at, high_at, continued_at;
  unsigned low_width;
};

/* False: not by the short cut. */
QUICK_BODY bool take_references(const struct packed_table *table, const struct fields *fields,
                                uint64_t shared_at, uint64_t owns, struct references *references) {
  const uint64_t own_at = shared_at + (fields->run_count - owns) * table->shared_width;
  const uint64_t span = fields->end - own_at / 8;
  const unsigned width = packed_own_low_width(span, owns);
  const uint64_t others = owns - (owns > 0); /* all but the first one */
  references->shared_at = shared_at;
  references->own_at = own_at;
  references->high_at = own_at + others * width;
  references->continued_at = own_at + packed_own_bits(span, owns);
  references->low_width = width;
  return own_at / 8 <= fields->end && references->continued_at + 128 <= table->readable;
}

/* Where a leaf's own layout `number` starts, in bytes from its first one on. A number that is too
 * large: not by the short cut. */
QUICK_BODY uint64_t own_start(const struct packed_table *table, const struct references *references,
                              uint64_t number, bool quick) {
  const uint8_t *bytes = table->layouts.bytes;
  const unsigned width = references->low_width;
  const uint64_t high_bits = references->continued_at - references->high_at;
  const uint64_t is_first = -(uint64_t)(number == 0); /* a mask: no branch */
  const uint64_t n = (number - 1) & ~is_first;
  const uint64_t low = bits_at(bytes, references->own_at + n * width, width);
  const unsigned in_word = high_bits < 64 ? (unsigned)high_bits : 64;
  uint64_t place = 0, left = n;
  uint64_t word = (bits_word(bytes, references->high_at) & bits_low_mask(in_word)) | is_first;
  for (unsigned count; left >= (count = bits_quick_count(word, quick)); left -= count) {
    place += 64;
    if (place >= high_bits)
      return UINT64_MAX;
    const unsigned rest = high_bits - place < 64 ? (unsigned)(high_bits - place) : 64;
    word = bits_word(bytes, references->high_at + place) & bits_low_mask(rest);
  }
  place += bits_quick_select(word, (unsigned)left, quick);
  return ((place - n) << width | low) & ~is_first;
}

/* Whether the leaf's first record has a mark: 0 or 1. */
QUICK_BODY unsigned is_marked_first(const struct packed_table *table, const struct fields *fields) {
  const uint8_t *bytes = table->layouts.bytes;
  return bytes[fields->groups_at / 8] >> fields->groups_at % 8 &
         bytes[fields->marks_at / 8] >> fields->marks_at % 8 & 1;
}

/* The first byte behind a leaf. */
QUICK_BODY uint64_t layouts_start(const struct packed_table *table, const struct fields *fields,
                                  const struct references *references) {
  const unsigned continued = (unsigned)table->continued_width + table->position_width;
  const unsigned width = is_marked_first(table, fields) != 0 ? 0 : continued;
  return (references->continued_at + width + 7) / 8;
}

/* The layout of a run that goes on in a leaf; all in bytes. */
QUICK_BODY uint64_t continued_layout(const struct packed_table *table, const struct fields *fields,
                                     const struct references *references) {
  const uint64_t place =
      bits_at(table->layouts.bytes, references->continued_at, table->continued_width);
  return place < table->shared_size ? place : fields->start / 8 - (place - table->shared_size);
}

/* Finds the layout and the position in it. */
QUICK_BODY bool find_layout(const struct packed_table *table, const struct fields *fields,
                            struct packed_record *record, uint64_t number, bool quick) {
  const uint8_t *bytes = table->layouts.bytes;
  const struct groups groups =
      take_groups(table, fields, number >> PACKED_RECORDS_PER_GROUP_SHIFT, quick);
  struct packed_marks marks;
  struct references references;
  if (!count_marks(table, fields, &groups, number, &marks, quick) ||
      marks.count > fields->run_count)
    return false;
  const uint64_t mark = marks.count - (uint64_t)(marks.count > 0);
  const struct owns owns = take_owns(table, fields, mark, quick);
  if (!take_references(table, fields, fields->marks_at + groups.all * MARKS_OF_GROUP, owns.all,
                       &references))
    return false;
  record->run = (uint32_t)(fields->runs + marks.count - 1);
  record->position = (uint32_t)number - marks.last;
  uint64_t layout;
  if (marks.count == 0) {
    if (is_marked_first(table, fields) != 0)
      return false;
    layout = continued_layout(table, fields, &references);
    record->position =
        (uint32_t)(number + bits_at(bytes, references.continued_at + table->continued_width,
                                    table->position_width));
  } else {
    const uint64_t shared =
        bits_at(bytes, references.shared_at + (mark - owns.before) * table->shared_width,
                table->shared_width);
    layout = layouts_start(table, fields, &references) +
             own_start(table, &references, owns.before, quick);
    layout = owns.is_own != 0 ? layout : shared;
  }
  record->layout = layout * 8;
  return layout < table->layouts.size / 8 && record->run < table->run_count;
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
