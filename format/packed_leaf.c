/* packed_leaf.c - finds a record: by the directory, and the leaf that it leads to. The builder is
 * packed_leaves.c.
 *
 * A leaf has the records of 1 << leaf_shift bytes of text. What it has of them stands at bits that
 * follow from their number n and from the number r of the runs that start in it, but for the last
 * four:
 *
 *   leaf  | high       n + buckets bits: the records' offsets, but for
 *         |            their lowest bits, as in monotone.h
 *         | groups     n / 4 bits: 1 if one of four records is the first of a run
 *         | samples    of high, if n > 128; of groups and marks, if n > 512
 *         | lows       n fields: the lowest bits of the offsets
 *         | owns       r bits: 1 if the run has a layout of its own
 *         | marks      4 bits for each group that is 1: 1 for the first record of a run
 *         | shared     for each run that has none of its own, the place of its layout
 *         | own        where the leaf's own layouts start: they stand behind the leaf
 *         | continued  layout and position of the first record, if its mark is 0: then the run that
 *         |            it is in began in a leaf before
 *   the layouts that only runs of this leaf have
 *
 * How many low bits there are is what suits n numbers below 1 << (leaf_shift - record_shift); so
 * there are fewer where calls are close to each other. As n and r follow from the directory, a look-up
 * knows these places when it has read one line of the directory, and the leaf's cache lines are
 * fetched at once.
 *
 * The marks up to a record tell its run: let there be c of them, the last at record m. Then the run is
 * number c - 1 of those that start in the leaf, and record i has position i - m in its layout. If the
 * run's bit of `owns` is 1, it has that of the leaf's own layouts whose number is the count of 1s
 * before; otherwise, field number c - 1 less that count of `shared` leads to it.
 *
 * Where the own layouts start is told as a sorted sequence, too, from the first one on. What is to be
 * known for it is how many there are, and the end of the last one: the next leaf starts there.
 *
 * Hostile bytes: a leaf is opened only if all of these fields up to the marks end inside the leaves;
 * where the others are is compared when they are looked at.
 */
#include "format/packed.h"

enum { MARKS_OF_GROUP = 1 << PACKED_RECORDS_PER_GROUP_SHIFT };

/* ---- The directory ---- */

static inline uint64_t entry_start(const struct packed_table *table, uint64_t number) {
  return bits_at(table->directory, number * table->entry_width, table->start_width);
}

static inline uint64_t entry_index(const struct packed_table *table, uint64_t number) {
  return bits_at(table->directory, number * table->entry_width + table->start_width,
                 table->index_width);
}

static inline uint64_t entry_runs(const struct packed_table *table, uint64_t number) {
  const unsigned skip = (unsigned)table->start_width + table->index_width;
  return bits_at(table->directory, number * table->entry_width + skip, table->run_width);
}

/* The last leaf whose field is at most `value`. So it has the record, or the run's first record, of
 * this number, if any leaf has. */
typedef uint64_t directory_field(const struct packed_table *table, uint64_t number);
static uint64_t bisect_directory(const struct packed_table *table, uint64_t value,
                                 directory_field *field) {
  uint64_t from = 0, to = table->leaf_count - 1;
  while (from < to) {
    const uint64_t middle = from + (to - from + 1) / 2;
    if (field(table, middle) <= value)
      from = middle;
    else
      to = middle - 1;
  }
  return from;
}

/* ---- Bits ---- */

/* How many of `count` bits from a place on are 1. */
static uint64_t ones(const struct packed_leaf *leaf, uint64_t place, uint64_t count) {
  return bits_quick_ones(leaf->table->layouts.bytes, place, count, leaf->table->quick);
}

/* Which of `count` bits from a place on is the n-th 1 (from 0); `count` if there are fewer. */
static uint64_t nth_one(const struct packed_leaf *leaf, uint64_t place, uint64_t count,
                        uint64_t n) {
  const bool quick = leaf->table->quick;
  for (uint64_t from = 0; from < count; from += 64) {
    const unsigned width = count - from < 64 ? (unsigned)(count - from) : 64;
    const uint64_t word =
        bits_word(leaf->table->layouts.bytes, place + from) & bits_low_mask(width);
    const unsigned found = bits_quick_count(word, quick);
    if (n < found)
      return from + bits_quick_select(word, (unsigned)n, quick);
    n -= found;
  }
  return count;
}

static uint64_t last_one(const struct packed_leaf *leaf, uint64_t place, uint64_t count) {
  return bits_last_one(leaf->table->layouts.bytes, place, count);
}

static bool is_one(const struct packed_leaf *leaf, uint64_t place) {
  return (leaf->table->layouts.bytes[place / 8] >> place % 8 & 1) != 0;
}

/* ---- A leaf ---- */

/* What comes before some group. */
struct before {
  uint64_t groups; /* that are 1: so many have marks */
  uint64_t marks;
};

/* What a sample says. The first one, which isn't there without others, says that nothing is before. */
static struct before mark_sample(const struct packed_leaf *leaf, uint64_t n) {
  const unsigned width = packed_mark_sample_width(leaf->offsets.count);
  const uint64_t place = leaf->mark_samples_at + n * 2 * width;
  if (n == 0)
    return (struct before){0, 0};
  return (struct before){bits_at(leaf->table->layouts.bytes, place, width),
                         bits_at(leaf->table->layouts.bytes, place + width, width)};
}

/* The sample before a group, or before the leaf's end, and how many of the groups from there on up
 * to this one are 1. */
static struct before sample_before(const struct packed_leaf *leaf, uint64_t group,
                                   uint64_t *groups) {
  const uint64_t samples = packed_mark_samples(leaf->offsets.count);
  uint64_t sample = group >> PACKED_GROUPS_PER_SAMPLE_SHIFT;
  if (sample >= samples)
    sample = samples == 0 ? 0 : samples - 1;
  const uint64_t from = sample << PACKED_GROUPS_PER_SAMPLE_SHIFT;
  *groups = ones(leaf, leaf->groups_at + from, group - from);
  return mark_sample(leaf, sample);
}

/* How many groups before one are 1. */
static uint64_t groups_before(const struct packed_leaf *leaf, uint64_t group) {
  uint64_t groups;
  const struct before sample = sample_before(leaf, group, &groups);
  return sample.groups + groups;
}

bool packed_leaf_open(struct packed_leaf *leaf, const struct packed_table *table, uint64_t number) {
  const uint64_t start = entry_start(table, number), index = entry_index(table, number);
  const uint64_t next = entry_index(table, number + 1), n = next - index;
  leaf->table = table;
  leaf->number = number;
  leaf->index = index;
  leaf->runs = entry_runs(table, number);
  leaf->run_count = entry_runs(table, number + 1) - leaf->runs;
  leaf->end = entry_start(table, number + 1);
  leaf->offsets.count = 0;
  if (next <= index || next > table->record_count)
    return next == index;
  if (leaf->run_count > n)
    return false;
  const unsigned universe = (unsigned)table->leaf_shift - table->record_shift;
  const unsigned bucket_width = packed_leaf_bucket_width(universe, n);
  const unsigned low_width = universe - bucket_width;
  const uint64_t buckets = (uint64_t)1 << bucket_width, high_bits = n + buckets;
  leaf->groups_at = start * 8 + high_bits;
  const uint64_t samples_at = leaf->groups_at + packed_leaf_groups(n);
  leaf->mark_samples_at = samples_at + packed_bucket_samples(n, buckets);
  const uint64_t lows_at =
      leaf->mark_samples_at + packed_mark_samples(n) * 2 * packed_mark_sample_width(n);
  leaf->owns_at = lows_at + n * low_width;
  leaf->marks_at = leaf->owns_at + leaf->run_count;
  if (leaf->marks_at > table->layouts.size)
    return false;
  const uint8_t *bytes = table->layouts.bytes;
  leaf->offsets = (struct monotone){
      .low = bytes + lows_at / 8,
      .high = bytes + start,
      .samples = bytes + samples_at / 8,
      .count = n,
      .buckets = buckets,
      .high_bits = high_bits,
      .near_words = table->layouts.size / 64 - start / 8,
      .low_width = (uint8_t)low_width,
      .sample_width =
          (uint8_t)(packed_bucket_samples(n, buckets) == 0 ? 0 : bits_for_count(high_bits)),
      .low_skip = lows_at % 8,
      .sample_skip = samples_at % 8,
      .quick = table->quick,
  };
  leaf->marks_end = leaf->marks_at + packed_leaf_groups(n) * MARKS_OF_GROUP;
  if (leaf->marks_end > table->layouts.size)
    leaf->marks_end = table->layouts.size;
  return true;
}

/* ---- Marks ---- */

/* The record that has mark number `mark`; their count if there are fewer marks. */
static uint64_t marked_record(const struct packed_leaf *leaf, uint64_t mark) {
  const uint64_t n = leaf->offsets.count, samples = packed_mark_samples(n);
  uint64_t from = 0, to = samples == 0 ? 0 : samples - 1;
  if (n == 0 || mark >= leaf->run_count)
    return n;
  while (from < to) {
    const uint64_t middle = from + (to - from + 1) / 2;
    if (mark_sample(leaf, middle).marks <= mark)
      from = middle;
    else
      to = middle - 1;
  }
  const struct before sample = mark_sample(leaf, from);
  const uint64_t marks_at = leaf->marks_at + sample.groups * MARKS_OF_GROUP;
  if (marks_at > leaf->marks_end || sample.marks > mark)
    return n;
  const uint64_t place = nth_one(leaf, marks_at, leaf->marks_end - marks_at, mark - sample.marks);
  const uint64_t first = from << PACKED_GROUPS_PER_SAMPLE_SHIFT;
  const uint64_t group = first + nth_one(leaf, leaf->groups_at + first,
                                         packed_leaf_groups(n) - first, place / MARKS_OF_GROUP);
  const uint64_t record = group * MARKS_OF_GROUP + place % MARKS_OF_GROUP;
  return marks_at + place < leaf->marks_end && record < n ? record : n;
}

/* The marks that are to be counted are those of the groups before the record's, and the first ones
 * of its own. If none of the latter is 1, the last group before that is 1 has the last mark: so it is
 * one of the last eight that are counted. */
bool packed_leaf_marks(const struct packed_leaf *leaf, uint32_t record,
                       struct packed_marks *marks) {
  enum { LAST = 2 * MARKS_OF_GROUP };
  const uint64_t group = record >> PACKED_RECORDS_PER_GROUP_SHIFT;
  uint64_t groups;
  const struct before sample = sample_before(leaf, group, &groups);
  const unsigned in_group = is_one(leaf, leaf->groups_at + group) ? record % MARKS_OF_GROUP + 1 : 0;
  const uint64_t from = leaf->marks_at + sample.groups * MARKS_OF_GROUP;
  const uint64_t end = from + groups * MARKS_OF_GROUP + in_group;
  if (end > leaf->marks_end)
    return false;
  marks->count = (uint32_t)(sample.marks + ones(leaf, from, end - from));
  marks->last = 0;
  if (marks->count == 0)
    return true;
  const uint64_t looked_at = end - leaf->marks_at < LAST ? end - leaf->marks_at : LAST;
  const uint64_t place = last_one(leaf, end - looked_at, looked_at) + end - looked_at;
  const bool is_before = place + in_group < end;
  const uint64_t last_group = is_before ? last_one(leaf, leaf->groups_at, group) : group;
  marks->last = (uint32_t)(last_group * MARKS_OF_GROUP + (place - leaf->marks_at) % MARKS_OF_GROUP);
  return place < end && !(is_before && last_group == group);
}

/* ---- References ---- */

bool packed_leaf_references(const struct packed_leaf *leaf, struct packed_references *references) {
  const struct packed_table *table = leaf->table;
  const uint64_t groups = groups_before(leaf, packed_leaf_groups(leaf->offsets.count));
  const uint64_t owns = ones(leaf, leaf->owns_at, leaf->run_count);
  const uint64_t shared_at = leaf->marks_at + groups * MARKS_OF_GROUP;
  const uint64_t own_at = shared_at + (leaf->run_count - owns) * table->shared_width;
  if (own_at / 8 > leaf->end || leaf->end > table->layouts.size / 8)
    return false;
  const uint64_t span = leaf->end - own_at / 8;
  const unsigned low_width = packed_own_low_width(span, owns);
  const uint64_t continued_at = own_at + packed_own_bits(span, owns);
  const bool continues = !is_one(leaf, leaf->groups_at) || !is_one(leaf, leaf->marks_at);
  const unsigned continued = (unsigned)table->continued_width + table->position_width;
  *references = (struct packed_references){
      .owns = owns,
      .shared_at = shared_at,
      .own_at = own_at,
      .high_at = own_at + (owns <= 1 ? 0 : (owns - 1) * low_width),
      .continued_at = continued_at,
      .layouts_at = bits_to_bytes(continued_at + (continues ? continued : 0)),
      .low_width = low_width,
      .continues = continues,
  };
  return references->layouts_at <= leaf->end;
}

/* Where a leaf's own layout `number` starts, in bytes from its first one on; UINT64_MAX in a broken
 * table. */
static uint64_t own_start(const struct packed_leaf *leaf,
                          const struct packed_references *references, uint64_t number) {
  if (number == 0)
    return 0;
  const uint64_t n = number - 1, high_bits = references->continued_at - references->high_at;
  const uint64_t place = nth_one(leaf, references->high_at, high_bits, n);
  if (place == high_bits)
    return UINT64_MAX;
  return (place - n) << references->low_width |
         bits_at(leaf->table->layouts.bytes, references->own_at + n * references->low_width,
                 references->low_width);
}

/* The layout of the run that starts at a leaf's mark, in bits; past the end in a broken table. */
static uint64_t layout_of_mark(const struct packed_leaf *leaf,
                               const struct packed_references *references, uint64_t mark) {
  const struct packed_table *table = leaf->table;
  if (mark >= leaf->run_count)
    return table->layouts.size;
  const uint64_t owns = ones(leaf, leaf->owns_at, mark);
  if (!is_one(leaf, leaf->owns_at + mark))
    return 8 * bits_at(table->layouts.bytes,
                       references->shared_at + (mark - owns) * table->shared_width,
                       table->shared_width);
  const uint64_t start = own_start(leaf, references, owns);
  return start < leaf->end - references->layouts_at ? (references->layouts_at + start) * 8
                                                    : table->layouts.size;
}

/* The layout of a run that goes on in a leaf, in bits, and the position of the leaf's first record in
 * it. False: the table is broken. */
static bool take_continued(const struct packed_leaf *leaf,
                           const struct packed_references *references, uint64_t *layout,
                           uint32_t *position) {
  const struct packed_table *table = leaf->table;
  const uint64_t start = (uint64_t)(leaf->offsets.high - table->layouts.bytes);
  const uint64_t place =
      bits_at(table->layouts.bytes, references->continued_at, table->continued_width);
  const uint64_t back = place - table->shared_size;
  if (!references->continues || (place >= table->shared_size && back > start))
    return false;
  *layout = 8 * (place < table->shared_size ? place : start - back);
  *position =
      (uint32_t)bits_at(table->layouts.bytes, references->continued_at + table->continued_width,
                        table->position_width);
  return true;
}

/* ---- Records ---- */

/* The exception that a record is; NULL if it is none. */
static const uint8_t *exception_of(const struct packed_table *table, uint32_t index) {
  uint32_t from = 0, to = table->exception_count;
  while (from < to) {
    const uint32_t middle = from + (to - from) / 2;
    const uint8_t *bytes = table->exceptions + (size_t)middle * PACKED_EXCEPTION_SIZE;
    const uint32_t found = bits_load32(bytes);
    if (found == index)
      return bytes;
    if (found < index)
      from = middle + 1;
    else
      to = middle;
  }
  return NULL;
}

static bool find_exception(const struct packed_table *table, struct packed_record *record) {
  const uint8_t *bytes = exception_of(table, record->index);
  if (bytes == NULL)
    return false;
  record->run = UINT32_MAX;
  record->position = bits_load32(bytes + 8);
  record->layout = bits_load64(bytes + 12) < table->layouts.size / 8 ? bits_load64(bytes + 12) * 8
                                                                     : table->layouts.size;
  return true;
}

uint32_t packed_record_function(const struct packed_record *record) {
  const struct packed_table *table = record->table;
  const uint8_t *exception = record->run == UINT32_MAX ? exception_of(table, record->index) : NULL;
  const uint64_t function =
      exception != NULL ? bits_load32(exception + 4) : packed_function_of_run(table, record->run);
  return function < table->function_count ? (uint32_t)function : UINT32_MAX;
}

/* Finds the layout of the run that a leaf's record is in, and the record's position there. */
static bool place_in_run(const struct packed_leaf *leaf, uint32_t number,
                         struct packed_record *record) {
  const struct packed_table *table = leaf->table;
  struct packed_marks marks;
  struct packed_references references;
  if (!packed_leaf_marks(leaf, number, &marks) || !packed_leaf_references(leaf, &references))
    return false;
  record->run = (uint32_t)(leaf->runs + marks.count - 1);
  if (record->run >= table->run_count)
    return false;
  if (marks.count == 0) {
    if (!take_continued(leaf, &references, &record->layout, &record->position))
      return false;
    record->position += number;
  } else {
    record->layout = layout_of_mark(leaf, &references, marks.count - 1);
    record->position = number - marks.last;
  }
  return record->layout < table->layouts.size;
}

/* Fills in what a record is, but for its run. */
static void identify(const struct packed_leaf *leaf, struct monotone_cursor cursor,
                     struct packed_record *record) {
  const struct packed_table *table = leaf->table;
  const uint64_t x = monotone_value(&leaf->offsets, cursor);
  record->table = table;
  record->index = (uint32_t)(leaf->index + cursor.index);
  record->address =
      table->text_start + (leaf->number << table->leaf_shift) + (x << table->record_shift);
}

enum packed_answer packed_leaf_record(const struct packed_leaf *leaf, struct monotone_cursor cursor,
                                      struct packed_record *record) {
  const struct packed_table *table = leaf->table;
  identify(leaf, cursor, record);
  if (table->exception_count > 0 && find_exception(table, record))
    return record->layout < table->layouts.size ? PACKED_FOUND : PACKED_CORRUPT;
  return place_in_run(leaf, (uint32_t)cursor.index, record) ? PACKED_FOUND : PACKED_CORRUPT;
}

static uint64_t leaf_text(const struct packed_leaf *leaf) {
  return leaf->number << leaf->table->leaf_shift;
}

/* The offset into the text of the record under a cursor. */
static uint64_t leaf_offset(const struct packed_leaf *leaf, struct monotone_cursor cursor) {
  return leaf_text(leaf) + (monotone_value(&leaf->offsets, cursor) << leaf->table->record_shift);
}

/* Opens the leaf of an offset of at most text_size. */
static bool open_leaf_of(struct packed_leaf *leaf, const struct packed_table *table,
                         uint64_t offset) {
  return packed_leaf_open(leaf, table, offset >> table->leaf_shift);
}

enum packed_answer packed_find_record(const struct packed_table *table, uint64_t offset,
                                      struct packed_record *record) {
  struct packed_leaf leaf;
  if (!open_leaf_of(&leaf, table, offset))
    return PACKED_CORRUPT;
  const uint64_t x = (offset - leaf_text(&leaf)) >> table->record_shift;
  if (leaf.offsets.count == 0)
    return PACKED_NOT_MANAGED;
  const struct monotone_cursor cursor = monotone_find(&leaf.offsets, x);
  if (cursor.index >= leaf.offsets.count || monotone_value(&leaf.offsets, cursor) != x)
    return PACKED_NOT_MANAGED;
  return packed_leaf_record(&leaf, cursor, record);
}

/* Opens the leaf that has record `index`. */
static bool open_leaf_of_record(struct packed_leaf *leaf, const struct packed_table *table,
                                uint64_t index) {
  return packed_leaf_open(leaf, table, bisect_directory(table, index, entry_index)) &&
         leaf->index <= index && index - leaf->index < leaf->offsets.count;
}

/* A cursor at a leaf's record. */
static bool go_to(const struct packed_leaf *leaf, uint64_t number, struct monotone_cursor *cursor) {
  *cursor = monotone_get(&leaf->offsets, number, MONOTONE_FIND);
  return cursor->index == number;
}

/* The same in the leaf that has record `index`. */
static bool go_to_record(struct packed_leaf *leaf, struct monotone_cursor *cursor,
                         const struct packed_table *table, uint64_t index) {
  return open_leaf_of_record(leaf, table, index) && go_to(leaf, index - leaf->index, cursor);
}

enum packed_answer packed_record_at(const struct packed_table *table, uint32_t index,
                                    struct packed_record *record) {
  struct packed_leaf leaf;
  struct monotone_cursor cursor;
  if (!go_to_record(&leaf, &cursor, table, index))
    return PACKED_CORRUPT;
  return packed_leaf_record(&leaf, cursor, record);
}

/* ---- Gaps ---- */

static struct packed_gap gap_behind_all(const struct packed_table *table) {
  return (struct packed_gap){
      .index = table->record_count, .above = table->text_size + 1, .runs = table->run_count};
}

/* Fills in what is below a gap that is above some leaf's last record. */
static bool look_at_leaf_below(const struct packed_table *table, struct packed_gap *gap) {
  struct packed_leaf leaf;
  struct monotone_cursor cursor;
  if (gap->index == 0)
    return true;
  if (!go_to_record(&leaf, &cursor, table, gap->index - 1))
    return false;
  gap->below = leaf_offset(&leaf, cursor);
  return true;
}

/* The same for a gap above `number` records of a leaf. */
static bool look_below(const struct packed_leaf *leaf, uint64_t number, struct packed_gap *gap) {
  struct monotone_cursor cursor;
  if (number == 0)
    return look_at_leaf_below(leaf->table, gap);
  if (!go_to(leaf, number - 1, &cursor))
    return false;
  gap->below = leaf_offset(leaf, cursor);
  return true;
}

/* Fills in what is above a gap: a leaf's record. */
static bool look_above(const struct packed_leaf *leaf, struct monotone_cursor cursor,
                       struct packed_gap *gap) {
  struct packed_marks marks;
  gap->above = leaf_offset(leaf, cursor);
  if (!packed_leaf_marks(leaf, (uint32_t)cursor.index, &marks))
    return false;
  gap->starts_run = marks.count > 0 && marks.last == cursor.index;
  gap->runs = leaf->runs + marks.count - gap->starts_run;
  return gap->runs + gap->starts_run <= leaf->table->run_count;
}

bool packed_gap_at(const struct packed_table *table, uint64_t offset, struct packed_gap *gap) {
  struct packed_leaf leaf;
  struct monotone_cursor cursor = {0, 0};
  *gap = gap_behind_all(table);
  if (table->leaf_count == 0)
    return true;
  if (!open_leaf_of(&leaf, table, offset))
    return false;
  if (leaf.offsets.count > 0)
    cursor = monotone_find(&leaf.offsets, ((offset - leaf_text(&leaf)) >> table->record_shift) + 1);
  gap->index = leaf.index + cursor.index;
  if (gap->index > table->record_count || !look_below(&leaf, cursor.index, gap))
    return false;
  if (gap->index == table->record_count)
    return true;
  if (cursor.index == leaf.offsets.count && !go_to_record(&leaf, &cursor, table, gap->index))
    return false;
  return look_above(&leaf, cursor, gap);
}

/* Opens the leaf in which a run starts, and finds its first record there. */
static bool open_leaf_of_run(struct packed_leaf *leaf, const struct packed_table *table,
                             uint64_t run, uint64_t *number) {
  if (run >= table->run_count || table->leaf_count == 0 ||
      !packed_leaf_open(leaf, table, bisect_directory(table, run, entry_runs)) || leaf->runs > run)
    return false;
  *number = marked_record(leaf, run - leaf->runs);
  return *number < leaf->offsets.count;
}

/* Fills in the gap below a run that starts at a leaf's record. */
static bool look_below_run(const struct packed_leaf *leaf, uint64_t number, uint64_t run,
                           struct packed_gap *gap) {
  struct monotone_cursor cursor;
  if (!go_to(leaf, number, &cursor))
    return false;
  gap->index = leaf->index + number;
  gap->above = leaf_offset(leaf, cursor);
  gap->runs = run;
  gap->starts_run = true;
  return look_below(leaf, number, gap);
}

bool packed_gap_below_run(const struct packed_table *table, uint64_t run, struct packed_gap *gap) {
  struct packed_leaf leaf;
  uint64_t number;
  *gap = gap_behind_all(table);
  if (run >= table->run_count)
    return look_at_leaf_below(table, gap);
  return open_leaf_of_run(&leaf, table, run, &number) && look_below_run(&leaf, number, run, gap);
}

bool packed_gaps_around_run(const struct packed_table *table, uint64_t run,
                            struct packed_gap *below, struct packed_gap *above) {
  struct packed_leaf leaf;
  uint64_t number;
  *below = *above = gap_behind_all(table);
  if (!open_leaf_of_run(&leaf, table, run, &number) || !look_below_run(&leaf, number, run, below))
    return false;
  number = marked_record(&leaf, run + 1 - leaf.runs);
  return number < leaf.offsets.count ? look_below_run(&leaf, number, run + 1, above)
                                     : packed_gap_below_run(table, run + 1, above);
}

bool packed_run_record(const struct packed_table *table, uint64_t run,
                       struct packed_record *record) {
  struct packed_leaf leaf;
  uint64_t number;
  record->table = table;
  return open_leaf_of_run(&leaf, table, run, &number) &&
         place_in_run(&leaf, (uint32_t)number, record);
}

/* ---- All records ---- */

/* Whether a leaf's record has a mark: for all of them in order. */
static bool walk_marks(const struct packed_leaf *leaf, struct packed_mark_walk *walk,
                       uint64_t record) {
  if (!is_one(leaf, leaf->groups_at + (record >> PACKED_RECORDS_PER_GROUP_SHIFT)))
    return false;
  const uint64_t place = walk->place + record % MARKS_OF_GROUP;
  if (record % MARKS_OF_GROUP == MARKS_OF_GROUP - 1)
    walk->place += MARKS_OF_GROUP;
  const bool is_mark = place < leaf->marks_end && is_one(leaf, place);
  walk->marks += is_mark;
  return is_mark;
}

/* Opens the next leaf, with a cursor at its first record, if it has any. False: there is none, or the
 * table is broken. */
static bool next_leaf(struct packed_leaf *leaf, struct monotone_cursor *cursor,
                      struct packed_mark_walk *walk, struct packed_references *references) {
  const uint64_t next = leaf->number + 1;
  if (next >= leaf->table->leaf_count || !packed_leaf_open(leaf, leaf->table, next))
    return false;
  *cursor = (struct monotone_cursor){0, 0};
  if (leaf->offsets.count == 0)
    return true;
  *cursor = monotone_get(&leaf->offsets, 0, MONOTONE_FIND);
  *walk = (struct packed_mark_walk){leaf->marks_at, 0};
  if (packed_leaf_references(leaf, references))
    return true;
  leaf->offsets.count = 0;
  return false;
}

struct packed_records packed_records(const struct packed_table *table) {
  struct packed_records records = {.leaf = {.table = table, .number = UINT64_MAX}};
  return records;
}

/* Finds the run of the next record. */
static bool next_in_run(struct packed_records *records, struct packed_record *record) {
  const struct packed_leaf *leaf = &records->leaf;
  const struct packed_table *table = leaf->table;
  const uint32_t number = (uint32_t)records->cursor.index;
  if (walk_marks(leaf, &records->walk, number)) {
    records->layout = layout_of_mark(leaf, &records->references, records->walk.marks - 1);
    records->position = 0 - number;
  } else if (number == 0 &&
             !take_continued(leaf, &records->references, &records->layout, &records->position)) {
    records->layout = table->layouts.size;
  }
  record->layout = records->layout;
  record->position = records->position + number;
  record->run = (uint32_t)(leaf->runs + records->walk.marks - 1);
  return record->run < table->run_count && record->layout < table->layouts.size;
}

enum packed_answer packed_records_next(struct packed_records *records,
                                       struct packed_record *record) {
  struct packed_leaf *leaf = &records->leaf;
  while (records->cursor.index >= leaf->offsets.count)
    if (!next_leaf(leaf, &records->cursor, &records->walk, &records->references))
      return PACKED_CORRUPT;
  identify(leaf, records->cursor, record);
  bool found = next_in_run(records, record);
  if (leaf->table->exception_count > 0 && find_exception(leaf->table, record))
    found = record->layout < leaf->table->layouts.size;
  records->cursor = monotone_next(&leaf->offsets, records->cursor);
  return found ? PACKED_FOUND : PACKED_CORRUPT;
}

struct packed_gaps packed_gaps(const struct packed_table *table) {
  struct packed_gaps gaps = {.leaf = {.table = table, .number = UINT64_MAX}};
  packed_gaps_next(&gaps);
  return gaps;
}

/* Ends at the gap behind all records. */
static void end_gaps(struct packed_gaps *gaps) {
  const struct packed_table *table = gaps->leaf.table;
  const uint64_t below = gaps->gap.below;
  gaps->gap = gap_behind_all(table);
  gaps->gap.below = below;
  gaps->layout = table->layouts.size;
}

void packed_gaps_next(struct packed_gaps *gaps) {
  struct packed_leaf *leaf = &gaps->leaf;
  struct packed_gap *gap = &gaps->gap;
  if (gap->starts_run) { /* on behind the record that is above the gap */
    gap->below = leaf_offset(leaf, gaps->cursor);
    gaps->cursor = monotone_next(&leaf->offsets, gaps->cursor);
  }
  for (;;) {
    while (gaps->cursor.index >= leaf->offsets.count)
      if (!next_leaf(leaf, &gaps->cursor, &gaps->walk, &gaps->references)) {
        end_gaps(gaps);
        return;
      }
    if (walk_marks(leaf, &gaps->walk, gaps->cursor.index))
      break;
    gap->below = leaf_offset(leaf, gaps->cursor);
    gaps->cursor = monotone_next(&leaf->offsets, gaps->cursor);
  }
  gap->index = leaf->index + gaps->cursor.index;
  gap->above = leaf_offset(leaf, gaps->cursor);
  gap->runs = leaf->runs + gaps->walk.marks - 1;
  gap->starts_run = true;
  gaps->layout = layout_of_mark(leaf, &gaps->references, gaps->walk.marks - 1);
}

/* Whether the marks of a leaf are as many as they should be, with right samples; and no group is 1
 * without one. */
static bool check_marks(const struct packed_leaf *leaf) {
  const uint64_t n = leaf->offsets.count, groups = packed_leaf_groups(n);
  struct before before = {0, 0};
  for (uint64_t group = 0; group < groups; group++) {
    if (group % ((uint64_t)1 << PACKED_GROUPS_PER_SAMPLE_SHIFT) == 0) {
      const struct before sample = mark_sample(leaf, group >> PACKED_GROUPS_PER_SAMPLE_SHIFT);
      if (sample.groups != before.groups || sample.marks != before.marks)
        return false;
    }
    if (!is_one(leaf, leaf->groups_at + group))
      continue;
    const uint64_t marks = bits_at(leaf->table->layouts.bytes,
                                   leaf->marks_at + before.groups * MARKS_OF_GROUP, MARKS_OF_GROUP);
    const uint64_t records = n - group * MARKS_OF_GROUP;
    if (marks == 0 || (records < MARKS_OF_GROUP && marks >> records != 0))
      return false;
    before.groups++;
    before.marks += bits_count(marks);
  }
  return before.marks == leaf->run_count;
}

/* Whether a leaf's own layouts are as many as the runs that have one, and the last one starts before
 * the leaf's end. */
static bool check_references(const struct packed_leaf *leaf) {
  struct packed_references references;
  if (!packed_leaf_references(leaf, &references))
    return false;
  if (references.owns == 0)
    return true;
  const uint64_t high_bits = references.continued_at - references.high_at;
  return ones(leaf, references.high_at, high_bits) == references.owns - 1 &&
         own_start(leaf, &references, references.owns - 1) < leaf->end - references.layouts_at;
}

bool packed_leaves_check(const struct packed_table *table) {
  const uint64_t last = table->leaf_count;
  struct packed_leaf leaf;
  if (last == 0)
    return true;
  if (entry_index(table, 0) != 0 || entry_runs(table, 0) != 0 ||
      entry_index(table, last) != table->record_count ||
      entry_runs(table, last) != table->run_count || entry_start(table, 0) != table->shared_size ||
      entry_start(table, last) * 8 != table->layouts.size)
    return false;
  for (uint64_t i = 0; i < last; i++) {
    if (!packed_leaf_open(&leaf, table, i) || entry_start(table, i) > entry_start(table, i + 1))
      return false;
    if (leaf.offsets.count == 0) {
      if (leaf.runs != entry_runs(table, i + 1))
        return false;
      continue;
    }
    if (!monotone_check(&leaf.offsets, MONOTONE_FIND) || !check_marks(&leaf) ||
        !check_references(&leaf))
      return false;
  }
  return true;
}

void packed_prefetch(const struct packed_table *table, uint64_t address, unsigned step) {
  /* Of a leaf. Many addresses' lines together aren't to be more than are fetched at once. */
  enum { LINES = 4 };
  const uint64_t offset = address - table->text_start;
  if (offset > table->text_size || table->leaf_count == 0)
    return;
  const uint64_t number = offset >> table->leaf_shift;
  if (step == 0) {
    __builtin_prefetch(table->directory + number * table->entry_width / 8);
    return;
  }
  const uint64_t start = entry_start(table, number);
  for (unsigned line = 0; line < LINES && start * 8 < table->layouts.size; line++)
    __builtin_prefetch(table->layouts.bytes + start + line * 64);
}
