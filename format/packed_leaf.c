/* packed_leaf.c - finds a record: by the directory, and the leaf that it leads to. The builder is
 * packed_leaves.c.
 *
 * A leaf has the records of 1 << leaf_shift bytes of text. What it has of them stands at bits that
 * follow from their number n:
 *
 *   leaf  | high       n + buckets bits: the records' offsets, but for
 *         |            their lowest bits, as in monotone.h
 *         | marks      n bits: 1 for the first record of a run
 *         | samples    of high and of marks, if n > 128
 *         | continued  layout and position of the first record, if its mark is 0: then the run that
 *         |            it is in began in a leaf before
 *         | lows       n fields: the lowest bits of the offsets
 *         | references for each mark the place of its run's layout
 *   the layouts that only runs of this leaf have
 *
 * How many low bits there are is what suits n numbers below 1 << (leaf_shift - record_shift); so
 * there are fewer where calls are close to each other. As n follows from the directory, a look-up
 * knows these places when it has read one line of the directory, and the leaf's cache lines are
 * fetched at once.
 *
 * The marks up to a record tell its run: let there be c of them, the last at record m. Then reference
 * c - 1 leads to the layout, in which record i has position i - m.
 *
 * Hostile bytes: a leaf is opened only if all of these fields but the references end inside the
 * leaves; a reference is looked at when it is read.
 */
#include "packed.h"

enum { SAMPLED = 1 << PACKED_LEAF_SAMPLE_SHIFT }; /* a leaf of more records has samples */

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

/* ---- A leaf ---- */

bool packed_leaf_open(struct packed_leaf *leaf, const struct packed_table *table, uint64_t number) {
  const uint64_t start = entry_start(table, number), index = entry_index(table, number);
  const uint64_t next = entry_index(table, number + 1), n = next - index;
  leaf->table = table;
  leaf->number = number;
  leaf->index = index;
  leaf->runs = entry_runs(table, number);
  leaf->offsets.count = 0;
  if (next <= index || next > table->record_count)
    return next == index;
  const unsigned universe = (unsigned)table->leaf_shift - table->record_shift;
  const unsigned bucket_width = packed_leaf_bucket_width(universe, n);
  const unsigned low_width = universe - bucket_width;
  const uint64_t buckets = (uint64_t)1 << bucket_width, high_bits = n + buckets;
  const unsigned sample_width = n <= SAMPLED ? 0 : bits_for_count(high_bits);
  const uint64_t samples_at = start * 8 + high_bits + n;
  leaf->marks_at = start * 8 + high_bits;
  leaf->mark_samples_at = samples_at + packed_leaf_samples(n, buckets, sample_width);
  leaf->continued_at = leaf->mark_samples_at + packed_leaf_samples(n, n, bits_for_count(n + 1));
  if (leaf->continued_at > table->layouts.size)
    return false;
  const uint8_t *bytes = table->layouts.bytes;
  const bool starts = (bytes[leaf->marks_at / 8] >> leaf->marks_at % 8 & 1) != 0;
  const unsigned continued = starts ? 0 : (unsigned)table->start_width + table->position_width;
  const uint64_t lows_at = leaf->continued_at + continued;
  leaf->references_at = lows_at + n * low_width;
  if (leaf->references_at > table->layouts.size)
    return false;
  leaf->offsets = (struct monotone){
      .low = bytes + lows_at / 8,
      .high = bytes + start,
      .samples = bytes + samples_at / 8,
      .count = n,
      .buckets = buckets,
      .high_bits = high_bits,
      .near_words = table->layouts.size / 64 - start / 8,
      .low_width = (uint8_t)low_width,
      .sample_width = (uint8_t)sample_width,
      .low_skip = lows_at % 8,
      .sample_skip = samples_at % 8,
      .quick = table->quick,
  };
  return true;
}

/* The marks of 64 records, from one on. */
static inline uint64_t mark_word(const struct packed_leaf *leaf, uint64_t record) {
  return bits_word(leaf->table->layouts.bytes, leaf->marks_at + record);
}

static bool is_marked(const struct packed_leaf *leaf, uint64_t record) {
  return bits_at(leaf->table->layouts.bytes, leaf->marks_at + record, 1) != 0;
}

/* The n-th sample of the marks. */
static uint32_t mark_sample(const struct packed_leaf *leaf, uint64_t n) {
  const unsigned width = bits_for_count(leaf->offsets.count + 1);
  return (uint32_t)bits_at(leaf->table->layouts.bytes, leaf->mark_samples_at + n * width, width);
}

/* The record that has mark number `mark`; their count if there are fewer marks. */
static uint64_t marked_record(const struct packed_leaf *leaf, uint64_t mark) {
  const uint64_t n = leaf->offsets.count;
  uint64_t sample = 0, last = n <= SAMPLED ? 0 : (n - 1) >> PACKED_LEAF_SAMPLE_SHIFT;
  while (sample < last) {
    const uint64_t middle = sample + (last - sample + 1) / 2;
    if (mark_sample(leaf, middle) <= mark)
      sample = middle;
    else
      last = middle - 1;
  }
  mark -= sample == 0 ? 0 : mark_sample(leaf, sample);
  const uint64_t start = sample << PACKED_LEAF_SAMPLE_SHIFT;
  const uint64_t end = n - start < SAMPLED ? n : start + SAMPLED;
  for (uint64_t from = start; from < end; from += 64) {
    const unsigned width = end - from < 64 ? (unsigned)(end - from) : 64;
    const uint64_t word = mark_word(leaf, from) & bits_low_mask(width);
    const unsigned count = bits_count(word);
    if (mark < count)
      return from + bits_select(word, (unsigned)mark);
    mark -= count;
  }
  return n;
}

struct packed_marks packed_leaf_marks(const struct packed_leaf *leaf, uint32_t record) {
  const bool quick = leaf->table->quick;
  uint32_t from = 0, count = 0;
  if (leaf->offsets.count > SAMPLED) {
    count = mark_sample(leaf, record >> PACKED_LEAF_SAMPLE_SHIFT);
    from = record & ~(uint32_t)(SAMPLED - 1);
  }
  for (; record - from >= 64; from += 64)
    count += bits_quick_count(mark_word(leaf, from), quick);
  uint64_t word = mark_word(leaf, from) & bits_low_mask(record - from + 1);
  count += bits_quick_count(word, quick);
  if (word == 0 && from % SAMPLED != 0) {
    from -= 64;
    word = mark_word(leaf, from);
  }
  if (word == 0 && count > 0 && leaf->offsets.count > SAMPLED)
    return (struct packed_marks){count, (uint32_t)marked_record(leaf, count - 1)};
  return (struct packed_marks){count, word == 0 ? 0 : from + 63 - (uint32_t)__builtin_clzll(word)};
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

/* The layout of the run that starts at a leaf's mark, in bits; past the end in a broken table. */
static uint64_t layout_of_mark(const struct packed_leaf *leaf, uint64_t mark) {
  const struct packed_table *table = leaf->table;
  const unsigned width = table->reference_width;
  const uint64_t place = leaf->references_at + mark * width;
  if (place + width > table->layouts.size)
    return table->layouts.size;
  const uint64_t reference = bits_at(table->layouts.bytes, place, width);
  return 8 * (reference < table->shared_size
                  ? reference
                  : leaf->references_at / 8 + (reference - table->shared_size));
}

/* Finds the layout of the run that a leaf's record is in, and the record's position there. */
static bool place_in_run(const struct packed_leaf *leaf, uint32_t number,
                         struct packed_record *record) {
  const struct packed_table *table = leaf->table;
  const uint8_t *bytes = table->layouts.bytes;
  const struct packed_marks marks = packed_leaf_marks(leaf, number);
  record->run = (uint32_t)(leaf->runs + marks.count - 1);
  if (record->run >= table->run_count)
    return false;
  if (marks.count == 0) {
    const uint64_t position_at = leaf->continued_at + table->start_width;
    if (position_at + table->position_width > table->layouts.size)
      return false;
    record->layout = bits_at(bytes, leaf->continued_at, table->start_width) * 8;
    record->position = number + (uint32_t)bits_at(bytes, position_at, table->position_width);
  } else {
    record->layout = layout_of_mark(leaf, marks.count - 1);
    record->position = number - marks.last;
  }
  return record->layout < table->layouts.size;
}

enum packed_answer packed_leaf_record(const struct packed_leaf *leaf, struct monotone_cursor cursor,
                                      struct packed_record *record) {
  const struct packed_table *table = leaf->table;
  const uint64_t x = monotone_value(&leaf->offsets, cursor);
  record->table = table;
  record->index = (uint32_t)(leaf->index + cursor.index);
  record->address =
      table->text_start + (leaf->number << table->leaf_shift) + (x << table->record_shift);
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
  gap->above = leaf_offset(leaf, cursor);
  gap->starts_run = is_marked(leaf, cursor.index);
  gap->runs = leaf->runs + packed_leaf_marks(leaf, (uint32_t)cursor.index).count - gap->starts_run;
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

/* Opens the next leaf, with a cursor at its first record, if it has any. */
static bool next_leaf(struct packed_leaf *leaf, struct monotone_cursor *cursor) {
  const uint64_t next = leaf->number + 1;
  if (next >= leaf->table->leaf_count || !packed_leaf_open(leaf, leaf->table, next))
    return false;
  *cursor = (struct monotone_cursor){0, 0};
  if (leaf->offsets.count > 0)
    *cursor = monotone_get(&leaf->offsets, 0, MONOTONE_FIND);
  return true;
}

struct packed_records packed_records(const struct packed_table *table) {
  struct packed_records records = {.leaf = {.table = table, .number = UINT64_MAX}};
  return records;
}

enum packed_answer packed_records_next(struct packed_records *records,
                                       struct packed_record *record) {
  struct packed_leaf *leaf = &records->leaf;
  while (records->cursor.index >= leaf->offsets.count)
    if (!next_leaf(leaf, &records->cursor))
      return PACKED_CORRUPT;
  const enum packed_answer answer = packed_leaf_record(leaf, records->cursor, record);
  records->cursor = monotone_next(&leaf->offsets, records->cursor);
  return answer;
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
  bool is_above = !gap->starts_run; /* above the record that was above the gap before */
  for (;;) {
    while (gaps->cursor.index >= leaf->offsets.count) {
      if (!next_leaf(leaf, &gaps->cursor)) {
        end_gaps(gaps);
        return;
      }
      gaps->marks = 0;
    }
    const bool starts_run = is_marked(leaf, gaps->cursor.index);
    if (starts_run && is_above)
      break;
    gap->below = leaf_offset(leaf, gaps->cursor);
    gaps->marks += starts_run;
    gaps->cursor = monotone_next(&leaf->offsets, gaps->cursor);
    is_above = true;
  }
  gap->index = leaf->index + gaps->cursor.index;
  gap->above = leaf_offset(leaf, gaps->cursor);
  gap->runs = leaf->runs + gaps->marks;
  gap->starts_run = true;
  gaps->layout = layout_of_mark(leaf, gaps->marks);
}

/* Whether the marks of a leaf are as many as they should be, with right samples. */
static bool check_marks(const struct packed_leaf *leaf) {
  const struct packed_table *table = leaf->table;
  uint64_t count = 0;
  for (uint64_t i = 0; i < leaf->offsets.count; i++) {
    if (leaf->offsets.count > SAMPLED && i % SAMPLED == 0 &&
        mark_sample(leaf, i >> PACKED_LEAF_SAMPLE_SHIFT) != count)
      return false;
    count += mark_word(leaf, i) & 1;
  }
  return leaf->runs + count == entry_runs(table, leaf->number + 1);
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
    const uint64_t references = entry_runs(table, i + 1) - leaf.runs;
    if (!monotone_check(&leaf.offsets, MONOTONE_FIND) || !check_marks(&leaf) ||
        leaf.references_at + references * table->reference_width > entry_start(table, i + 1) * 8)
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
