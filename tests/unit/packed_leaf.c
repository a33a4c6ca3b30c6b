/* packed_leaf.c - tests how records are found: the directory, the leaves, and the short cut.
 *
 * The tables are written here, bit by bit as FORMAT.md says, and not by the library: so leaves can
 * be of shapes that its writer never chooses, from none to hundreds of records, at every distance.
 * What must be found is computed from the plain list of records, by looking through it.
 */
#include "bytes.h"
#include "format/packed.h"
#include "numbers.h"
#include "suite.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
  SAMPLED =
      128,   /* a leaf of more records, or groups, has samples: of each so many buckets or groups */
  GROUP = 4, /* records */
  LEAVES_MAX = 12,
  RECORDS_MAX = 2101, /* of a leaf */
  BARE_MAX = 40,
  FRAMES = 16,
};

#define TEXT_START 0x7f0000001000u

/* What a record must be found to be. */
struct entry {
  uint64_t offset, layout; /* layout: its byte */
  uint32_t run, position;  /* run UINT32_MAX: none */
  bool starts;             /* a run */
  bool is_exception;
  uint32_t function; /* of an exception */
};

struct subject {
  struct packed_table table;
  struct entry *entries; /* all of these: owned, each of exactly its size */
  uint64_t *run_layouts; /* bytes; by run */
  uint32_t *run_firsts;
  uint8_t *directory, *leaves, *exceptions, *bare_bytes, *bare_frames, *frame_sizes;
  size_t directory_size, leaves_size, bare_size;
  uint32_t first_of[LEAVES_MAX + 1], first_run_of[LEAVES_MAX + 1];
  uint32_t bare[BARE_MAX];
};

/* How a table is to be. */
struct plan {
  unsigned leaves, universe, record_shift; /* universe: bits of an offset in a leaf, shifted */
  unsigned runs;                           /* percent: of records that start one */
  unsigned exceptions;                     /* percent */
  uint32_t counts[LEAVES_MAX];             /* of records */
  unsigned habits[LEAVES_MAX];
  unsigned tail;   /* bytes behind the last leaf */
  uint32_t shared; /* bytes of shared layouts; 0: any number */
  unsigned spare;  /* bits that index and runs of the directory are wider than they need to be */
};

enum habit { DENSE, ANYWHERE, STEPS, CLUSTERS, ONE_ADDRESS, AT_THE_END, HABITS };

static void subject_free(struct subject *subject) {
  free(subject->entries);
  free(subject->run_layouts);
  free(subject->run_firsts);
  free(subject->directory);
  free(subject->leaves);
  free(subject->exceptions);
  free(subject->bare_bytes);
  free(subject->bare_frames);
  free(subject->frame_sizes);
}

/* ---- Records ---- */

static uint64_t draw_place(struct numbers *numbers, const struct plan *plan, unsigned habit,
                           uint32_t i, uint32_t count) {
  const uint64_t last = bits_low_mask(plan->universe);
  const uint64_t step = last / (count == 0 ? 1 : count);
  switch (habit) {
  case DENSE:
    return i < last ? i : last;
  case STEPS:
    return i * step;
  case CLUSTERS:
    return (numbers_below(numbers, 3) * (last / 3) + numbers_below(numbers, 40)) & last;
  case ONE_ADDRESS:
    return last / 2;
  case AT_THE_END:
    return last - (i < last ? i / 2 : 0);
  default:
    return numbers_next(numbers) & last;
  }
}

static uint32_t count_records(const struct plan *plan) {
  uint32_t count = 0;
  for (unsigned i = 0; i < plan->leaves; i++)
    count += plan->counts[i];
  return count;
}

static void draw_offsets(struct subject *subject, const struct plan *plan,
                         struct numbers *numbers) {
  uint64_t places[RECORDS_MAX];
  uint32_t record = 0;
  for (unsigned leaf = 0; leaf < plan->leaves; leaf++) {
    const uint32_t count = plan->counts[leaf];
    subject->first_of[leaf] = record;
    for (uint32_t i = 0; i < count; i++)
      places[i] = draw_place(numbers, plan, plan->habits[leaf], i, count);
    qsort(places, count, sizeof *places, bits_compare_words);
    for (uint32_t i = 0; i < count; i++)
      subject->entries[record++].offset = ((uint64_t)leaf << plan->universe | places[i])
                                          << plan->record_shift;
  }
  subject->first_of[plan->leaves] = record;
}

static void draw_runs(struct subject *subject, const struct plan *plan, struct numbers *numbers) {
  const bool starts_late = numbers_chance(numbers, 15);
  uint32_t runs = 0;
  for (unsigned leaf = 0; leaf < plan->leaves; leaf++) {
    subject->first_run_of[leaf] = runs;
    for (uint32_t i = subject->first_of[leaf]; i < subject->first_of[leaf + 1]; i++) {
      struct entry *entry = &subject->entries[i];
      entry->starts = i == 0 ? !starts_late : numbers_chance(numbers, plan->runs);
      if (entry->starts)
        subject->run_firsts[runs++] = i;
      entry->run = runs == 0 ? UINT32_MAX : runs - 1;
      entry->position = runs == 0 ? 0 : i - subject->run_firsts[runs - 1];
    }
  }
  subject->first_run_of[plan->leaves] = runs;
  subject->table.run_count = runs;
}

/* ---- Bits ---- */

struct widths {
  unsigned start, continued, position;
};

static void widen(unsigned *width, uint64_t largest) {
  const unsigned needed = bits_for_count(largest + 1);
  *width = needed > *width ? needed : *width;
}

static void put_samples(struct bit_writer *bits, const uint64_t *samples, size_t count,
                        uint64_t largest) {
  for (size_t i = 0; i < count; i += SAMPLED)
    bit_writer_put(bits, samples[i], bits_for_count(largest + 1));
}

/* The groups of a leaf's records. */
struct groups {
  uint64_t count;
  unsigned marks[RECORDS_MAX / GROUP + 1]; /* a bit for each record of a group */
};

static void draw_groups(const struct entry *entries, uint32_t n, struct groups *groups) {
  memset(groups, 0, sizeof *groups);
  groups->count = (n + GROUP - 1) / GROUP;
  for (uint32_t i = 0; i < n; i++)
    groups->marks[i / GROUP] |= (unsigned)entries[i].starts << i % GROUP;
}

static void put_mark_samples(const struct groups *groups, uint32_t n, struct bit_writer *bits) {
  uint64_t with_marks = 0, marks = 0;
  for (uint64_t group = 0; group < groups->count; group++) {
    if (group % SAMPLED == 0) {
      bit_writer_put(bits, with_marks, bits_for_count((uint64_t)n + 1));
      bit_writer_put(bits, marks, bits_for_count((uint64_t)n + 1));
    }
    with_marks += groups->marks[group] != 0;
    marks += (unsigned)__builtin_popcount(groups->marks[group]);
  }
}

/* Writes high, groups and samples of records entries[0..n). */
static void put_upper(const struct subject *subject, const struct entry *entries, uint32_t n,
                      unsigned buckets_width, const struct groups *groups,
                      struct bit_writer *bits) {
  const struct packed_table *table = &subject->table;
  const uint64_t buckets = (uint64_t)1 << buckets_width, text = bits_low_mask(table->leaf_shift);
  const unsigned low = (unsigned)table->leaf_shift - table->record_shift - buckets_width;
  uint64_t bucket_starts[4096], place = 0;
  uint32_t i = 0;
  for (uint64_t bucket = 0; bucket < buckets; bucket++) {
    bucket_starts[bucket] = place;
    for (; i < n && (entries[i].offset & text) >> table->record_shift >> low == bucket; i++) {
      bit_writer_put(bits, 1, 1);
      place++;
    }
    bit_writer_put(bits, 0, 1);
    place++;
  }
  ck_assert_uint_eq(i, n);
  for (uint64_t group = 0; group < groups->count; group++)
    bit_writer_put(bits, groups->marks[group] != 0, 1);
  if (n > SAMPLED)
    put_samples(bits, bucket_starts, buckets, n + buckets - 1);
  if (groups->count > SAMPLED)
    put_mark_samples(groups, n, bits);
}

/* Of what a leaf has behind its lowest bits. */
struct references {
  bool is_own[RECORDS_MAX];
  uint64_t starts[RECORDS_MAX]; /* of own layouts from the first one on */
  uint64_t owns, own_size;      /* own_size: bytes behind the leaf */
};

static void draw_references(const struct subject *subject, uint32_t runs, unsigned tail,
                            struct numbers *numbers, struct references *references) {
  const bool has_shared = subject->table.shared_size > 0;
  const bool all_shared = has_shared && numbers_chance(numbers, 20);
  const uint64_t size = 1 + numbers_below(numbers, numbers_chance(numbers, 10) ? 3000 : 40);
  references->owns = 0;
  for (uint32_t i = 0; i < runs; i++) {
    references->is_own[i] = !all_shared && !(has_shared && numbers_chance(numbers, 40));
    if (references->is_own[i])
      references->starts[references->owns++] = numbers_below(numbers, size);
  }
  qsort(references->starts, references->owns, sizeof *references->starts, bits_compare_words);
  references->starts[0] = 0;
  references->own_size = (references->owns > 0 ? size : 0) + tail;
}

/* Writes where own layouts start: the field begins at bit `place` of some byte, and the layouts stand
 * behind `rest` bits more. */
static void put_own_starts(const struct references *references, uint64_t place, uint64_t rest,
                           struct bit_writer *bits) {
  const uint64_t owns = references->owns;
  uint64_t span = 0, field = 0;
  unsigned width = 0;
  if (owns < 2)
    return;
  for (;; span++) {
    const unsigned for_span = bits_for_count(span + 1), for_owns = bits_for_count(owns);
    width = for_span > for_owns ? for_span - for_owns : 0;
    field = (owns - 1) * width + owns - 1 + (span >> width);
    if ((place + field + rest + 7) / 8 + references->own_size == span)
      break;
  }
  for (uint64_t m = 1; m < owns; m++)
    bit_writer_put(bits, references->starts[m], width);
  const uint64_t end = bits->size + owns - 1 + (span >> width);
  for (uint64_t m = 1, bucket = 0; m < owns; m++) {
    for (; bucket < references->starts[m] >> width; bucket++)
      bit_writer_put(bits, 0, 1);
    bit_writer_put(bits, 1, 1);
  }
  while (bits->size < end)
    bit_writer_put(bits, 0, 1);
}

/* The layout of a run that goes on in a leaf that starts at a byte. */
static uint64_t continued_layout(const struct subject *subject, uint64_t layout, uint64_t start) {
  const uint64_t shared_size = subject->table.shared_size;
  return layout < shared_size ? layout : shared_size + start - layout;
}

/* Writes a leaf and, behind it, a region for its own layouts, if it has any, with `tail` bytes more;
 * chooses where these are. */
static void put_leaf(struct subject *subject, unsigned leaf, struct widths widths, unsigned tail,
                     struct widths *needed, struct numbers *numbers, struct bit_writer *bits) {
  static struct groups groups;
  static struct references references;
  const struct packed_table *table = &subject->table;
  const uint32_t first = subject->first_of[leaf], n = subject->first_of[leaf + 1] - first;
  const uint32_t first_run = subject->first_run_of[leaf];
  const uint32_t runs = subject->first_run_of[leaf + 1] - first_run;
  const struct entry *entries = subject->entries + first;
  const unsigned universe = (unsigned)table->leaf_shift - table->record_shift;
  const unsigned for_n = bits_for_count(n), buckets_width = for_n < universe ? for_n : universe;
  const uint64_t start = bits->size / 8;
  if (n > 0) {
    draw_groups(entries, n, &groups);
    draw_references(subject, runs, tail, numbers, &references);
    put_upper(subject, entries, n, buckets_width, &groups, bits);
    for (uint32_t i = 0; i < n; i++)
      bit_writer_put(bits, entries[i].offset >> table->record_shift, universe - buckets_width);
    for (uint32_t i = 0; i < runs; i++)
      bit_writer_put(bits, references.is_own[i], 1);
    for (uint64_t group = 0; group < groups.count; group++)
      if (groups.marks[group] != 0)
        bit_writer_put(bits, groups.marks[group], GROUP);
    for (uint32_t i = 0; i < runs; i++)
      if (!references.is_own[i]) {
        const uint64_t place = numbers_below(numbers, table->shared_size);
        subject->run_layouts[first_run + i] = place;
        bit_writer_put(bits, place, bits_for_count(table->shared_size));
      }
    put_own_starts(&references, bits->size % 8,
                   entries[0].starts ? 0 : widths.continued + widths.position, bits);
    if (!entries[0].starts) {
      const bool in_run = first_run > 0;
      const uint64_t layout =
          in_run ? continued_layout(subject, subject->run_layouts[first_run - 1], start) : 0;
      const uint32_t position = in_run ? first - subject->run_firsts[first_run - 1] : 0;
      bit_writer_put(bits, layout, widths.continued);
      bit_writer_put(bits, position, widths.position);
      widen(&needed->continued, layout);
      widen(&needed->position, position);
    }
    bit_writer_align(bits);
    for (uint32_t i = 0, own = 0; i < runs; i++)
      if (references.is_own[i])
        subject->run_layouts[first_run + i] = bits->size / 8 + references.starts[own++];
  }
  for (uint64_t i = 0; i < (n > 0 ? references.own_size : tail); i++)
    bit_writer_put(bits, numbers_next(numbers), 8);
}

/* Writes all with fields of some widths; returns those that it takes. */
static struct widths put_all(struct subject *subject, const struct plan *plan, struct widths widths,
                             uint64_t seed, struct bit_writer *directory, struct bit_writer *bits) {
  const struct packed_table *table = &subject->table;
  struct numbers numbers = {seed};
  struct widths needed = {0, 0, 0};
  for (uint32_t i = 0; i < table->shared_size; i++)
    bit_writer_put(bits, numbers_next(&numbers), 8);
  for (unsigned leaf = 0; leaf <= plan->leaves; leaf++) {
    bit_writer_put(directory, bits->size / 8, widths.start);
    bit_writer_put(directory, subject->first_of[leaf], table->index_width);
    bit_writer_put(directory, subject->first_run_of[leaf], table->run_width);
    if (leaf < plan->leaves)
      put_leaf(subject, leaf, widths, leaf + 1 == plan->leaves ? plan->tail : 0, &needed, &numbers,
               bits);
  }
  widen(&needed.start, bits->size / 8);
  return needed;
}

/* The bytes of a writer, padded, in a block of exactly this size. */
static uint8_t *padded_block(struct bit_writer *writer, size_t *size) {
  struct bytes bytes = {0};
  ck_assert(!writer->failed);
  *size = (size_t)bits_to_bytes(writer->size);
  bytes_add(&bytes, writer->bytes, *size);
  bytes_zeros(&bytes, BITS_PADDING);
  uint8_t *block = bytes_exact(bytes.data, bytes.size);
  bytes_free(&bytes);
  bit_writer_free(writer);
  return block;
}

static void write_leaves(struct subject *subject, const struct plan *plan,
                         struct numbers *numbers) {
  struct packed_table *table = &subject->table;
  struct bit_writer directory = {0}, bits = {0};
  const uint64_t seed = numbers_next(numbers);
  struct widths widths =
      put_all(subject, plan, (struct widths){33, 33, 32}, seed, &directory, &bits);
  bit_writer_free(&directory);
  bit_writer_free(&bits);
  if (numbers_chance(numbers, 20))
    widths = (struct widths){widths.start + 1, widths.continued + 2, widths.position + 3};
  put_all(subject, plan, widths, seed, &directory, &bits);
  subject->directory = padded_block(&directory, &subject->directory_size);
  subject->leaves = padded_block(&bits, &subject->leaves_size);
  table->directory = subject->directory;
  table->layouts = (struct bit_array){subject->leaves, subject->leaves_size * 8};
  table->readable = table->layouts.size;
  table->start_width = (uint8_t)widths.start;
  table->shared_width = (uint8_t)bits_for_count(table->shared_size);
  table->continued_width = (uint8_t)widths.continued;
  table->position_width = (uint8_t)widths.position;
  table->entry_width = (uint8_t)(widths.start + table->index_width + table->run_width);
}

static void write_exceptions(struct subject *subject, const struct plan *plan,
                             struct numbers *numbers) {
  struct packed_table *table = &subject->table;
  struct bytes bytes = {0};
  for (uint32_t i = 0; i < table->record_count; i++) {
    struct entry *entry = &subject->entries[i];
    entry->layout = entry->run == UINT32_MAX ? 0 : subject->run_layouts[entry->run];
    if (!numbers_chance(numbers, plan->exceptions))
      continue;
    entry->is_exception = true;
    entry->run = UINT32_MAX;
    entry->function = (uint32_t)numbers_below(numbers, (uint64_t)table->function_count + 1);
    entry->position = (uint32_t)numbers_next(numbers);
    entry->layout = numbers_below(numbers, subject->leaves_size);
    bytes_u32(&bytes, i);
    bytes_u32(&bytes, entry->function);
    bytes_u32(&bytes, entry->position);
    bytes_u64(&bytes, entry->layout);
    table->exception_count++;
  }
  subject->exceptions = bytes_exact(bytes.data, bytes.size);
  table->exceptions = subject->exceptions;
  bytes_free(&bytes);
}

/* Some functions between those that have runs have none. */
static void write_bare(struct subject *subject, struct numbers *numbers) {
  struct packed_table *table = &subject->table;
  struct bit_writer bare = {0}, frames = {0}, sizes = {0};
  struct monotone_shape shape;
  uint64_t values[BARE_MAX];
  table->bare_count = numbers_chance(numbers, 30) ? 0 : (uint32_t)numbers_below(numbers, BARE_MAX);
  table->function_count = table->run_count + table->bare_count;
  table->frame_size_count = FRAMES;
  table->frame_width = 4;
  table->frame_size_width = 20;
  uint32_t count = 0;
  for (uint32_t function = 0; function < table->function_count && count < table->bare_count;
       function++)
    if (numbers_below(numbers, table->function_count - function) < table->bare_count - count) {
      subject->bare[count] = function;
      values[count++] = function;
      bit_writer_put(&frames, function % FRAMES, table->frame_width);
    }
  for (unsigned i = 0; i < FRAMES; i++)
    bit_writer_put(&sizes, 8 + 16 * i, table->frame_size_width);
  monotone_write(&bare, values, table->bare_count, table->function_count, MONOTONE_GET);
  ck_assert(monotone_shape(&shape, table->bare_count, table->function_count, MONOTONE_GET));
  size_t ignored;
  subject->bare_bytes = padded_block(&bare, &subject->bare_size);
  subject->bare_frames = padded_block(&frames, &ignored);
  subject->frame_sizes = padded_block(&sizes, &ignored);
  table->bare = monotone_open(subject->bare_bytes, &shape);
  table->bare_frames = subject->bare_frames;
  table->frame_sizes = subject->frame_sizes;
}

static struct subject make(const struct plan *plan, struct numbers *numbers) {
  struct subject subject = {0};
  struct packed_table *table = &subject.table;
  const uint32_t records = count_records(plan);
  subject.entries = calloc((size_t)records + 1, sizeof *subject.entries);
  subject.run_layouts = calloc((size_t)records + 1, sizeof *subject.run_layouts);
  subject.run_firsts = calloc((size_t)records + 1, sizeof *subject.run_firsts);
  ck_assert(subject.entries != NULL && subject.run_layouts != NULL && subject.run_firsts != NULL);
  table->record_count = records;
  table->leaf_count = plan->leaves;
  table->leaf_shift = (uint8_t)(plan->universe + plan->record_shift);
  table->record_shift = (uint8_t)plan->record_shift;
  table->text_start = TEXT_START;
  table->text_size = ((uint64_t)plan->leaves << table->leaf_shift) - 1;
  table->shared_size = (uint32_t)(numbers_chance(numbers, 30) ? 0 : numbers_below(numbers, 100));
  if (plan->shared > 0)
    table->shared_size = plan->shared;
  draw_offsets(&subject, plan, numbers);
  draw_runs(&subject, plan, numbers);
  table->index_width = (uint8_t)(bits_for_count((uint64_t)records + 1) + plan->spare);
  table->run_width = (uint8_t)(bits_for_count((uint64_t)table->run_count + 1) + plan->spare);
  write_bare(&subject, numbers);
  write_leaves(&subject, plan, numbers);
  write_exceptions(&subject, plan, numbers);
  table->short_cut = packed_short_cut(table);
  table->quick = bits_processor_is_quick();
  return subject;
}

static struct plan draw_plan(struct numbers *numbers) {
  static const unsigned universes[] = {0, 1, 2, 3, 5, 7, 8, 9, 10, 11, 12, 12, 16, 24, 33};
  static const unsigned runs[] = {0, 1, 5, 20, 20, 50, 100};
  static const uint32_t most[] = {1, 3, 20, 70, 127, 130, 300, 600, 2100};
  struct plan plan = {.leaves = (unsigned)numbers_between(numbers, 1, LEAVES_MAX)};
  plan.universe = universes[numbers_below(numbers, sizeof universes / sizeof *universes)];
  plan.record_shift = (unsigned)numbers_below(numbers, plan.universe > 16 ? 15 : 32);
  if (plan.universe + plan.record_shift > 43)
    plan.record_shift = 43 - plan.universe;
  plan.runs = runs[numbers_below(numbers, sizeof runs / sizeof *runs)];
  plan.exceptions = numbers_chance(numbers, 20) ? 10 : 0;
  plan.spare = numbers_chance(numbers, 70) ? 0 : (unsigned)numbers_below(numbers, 20);
  plan.tail = numbers_chance(numbers, 50) ? 0 : (unsigned)numbers_below(numbers, 700);
  for (unsigned i = 0; i < plan.leaves; i++) {
    const uint32_t count = most[numbers_below(numbers, sizeof most / sizeof *most)];
    plan.counts[i] = numbers_chance(numbers, 15)   ? 0
                     : numbers_chance(numbers, 20) ? count
                                                   : (uint32_t)numbers_between(numbers, 1, count);
    plan.habits[i] = (unsigned)numbers_below(numbers, HABITS);
  }
  if (count_records(&plan) == 0)
    plan.counts[0] = 1;
  return plan;
}

/* ---- What must be found ---- */

/* The first record at or above an offset. */
static uint32_t first_from(const struct subject *subject, uint64_t offset) {
  uint32_t from = 0, to = subject->table.record_count;
  while (from < to) {
    const uint32_t middle = from + (to - from) / 2;
    if (subject->entries[middle].offset < offset)
      from = middle + 1;
    else
      to = middle;
  }
  return from;
}

static enum packed_answer expected_at(const struct subject *subject, uint32_t index) {
  const struct entry *entry = &subject->entries[index];
  return entry->run == UINT32_MAX && !entry->is_exception ? PACKED_CORRUPT : PACKED_FOUND;
}

static bool is_entry(const struct subject *subject, uint32_t index,
                     const struct packed_record *record) {
  const struct entry *entry = &subject->entries[index];
  return record->table == &subject->table && record->index == index &&
         record->address == TEXT_START + entry->offset && record->run == entry->run &&
         record->position == entry->position && record->layout == entry->layout * 8;
}

/* Whether a gap is the one below a record; or that behind all. */
static bool is_gap(const struct subject *subject, const struct packed_gap *gap, uint32_t above) {
  const struct packed_table *table = &subject->table;
  const bool is_behind = above == table->record_count;
  uint32_t runs = 0;
  while (runs < table->run_count && subject->run_firsts[runs] < above)
    runs++;
  return gap->index == above && gap->runs == runs &&
         gap->above == (is_behind ? table->text_size + 1 : subject->entries[above].offset) &&
         (above == 0 || gap->below == subject->entries[above - 1].offset) &&
         gap->starts_run == (runs < table->run_count && subject->run_firsts[runs] == above);
}

static void check_offset(const struct subject *subject, uint64_t offset) {
  const struct packed_table *table = &subject->table;
  const uint32_t index = first_from(subject, offset);
  const bool has = index < table->record_count && subject->entries[index].offset == offset;
  const enum packed_answer expected = has ? expected_at(subject, index) : PACKED_NOT_MANAGED;
  struct packed_record found = {0}, near = {0};
  struct packed_gap gap;
  if (offset % ((uint64_t)1 << table->record_shift) == 0) {
    const enum packed_answer answer = packed_find_record(table, offset, &found);
    if (answer != expected || (answer == PACKED_FOUND && !is_entry(subject, index, &found)))
      ck_abort_msg("offset 0x%" PRIx64 ": %d, not %d; or not record %" PRIu32, offset, answer,
                   expected, index);
    const enum packed_answer shorter = packed_find_quickly(table, offset, &near);
    if (shorter != expected || (shorter == PACKED_FOUND && !is_entry(subject, index, &near)))
      ck_abort_msg("offset 0x%" PRIx64 ": the short cut says %d, not %d; or not record %" PRIu32,
                   offset, shorter, expected, index);
  }
  if (!packed_gap_at(table, offset, &gap) ||
      !is_gap(subject, &gap, first_from(subject, offset + 1)))
    ck_abort_msg("offset 0x%" PRIx64 ": the gap isn't that below record %" PRIu64, offset,
                 gap.index);
}

/* Every offset of a small text; of a large one, those around each record, and some others. */
static void check_offsets(const struct subject *subject, struct numbers *numbers) {
  enum { EVERY = 1 << 15, AROUND = 3, OTHERS = 300 };
  const struct packed_table *table = &subject->table;
  const uint64_t step = (uint64_t)1 << table->record_shift, size = table->text_size;
  if (size / step < EVERY)
    for (uint64_t offset = 0; offset <= size; offset += step)
      check_offset(subject, offset);
  for (uint32_t i = 0; i < table->record_count; i++)
    for (uint64_t k = 0; k <= 2 * AROUND; k++) {
      const uint64_t offset = subject->entries[i].offset + k * step - AROUND * step;
      if (offset <= size && size / step >= EVERY)
        check_offset(subject, offset);
      if (offset + 1 <= size && k == AROUND)
        check_offset(subject, offset + 1);
    }
  for (unsigned i = 0; i < OTHERS; i++)
    check_offset(subject, numbers_next(numbers) % (size + 1));
}

static void check_all_records(const struct subject *subject) {
  const struct packed_table *table = &subject->table;
  struct packed_records records = packed_records(table);
  struct packed_record record;
  for (uint32_t i = 0; i < table->record_count; i++) {
    const enum packed_answer expected = expected_at(subject, i);
    if (packed_records_next(&records, &record) != expected ||
        (expected == PACKED_FOUND && !is_entry(subject, i, &record)))
      ck_abort_msg("going through all records, number %" PRIu32 " is wrong", i);
    if (packed_record_at(table, i, &record) != expected ||
        (expected == PACKED_FOUND && !is_entry(subject, i, &record)))
      ck_abort_msg("record %" PRIu32 " by number is wrong", i);
  }
}

/* The function of run number `run`: each bare one up to it makes it one more. */
static uint64_t function_of(const struct subject *subject, uint64_t run) {
  uint64_t function = run;
  for (uint32_t i = 0; i < subject->table.bare_count && subject->bare[i] <= function; i++)
    function++;
  return function;
}

static void check_runs(const struct subject *subject) {
  const struct packed_table *table = &subject->table;
  struct packed_gaps gaps = packed_gaps(table);
  struct packed_record record;
  struct packed_gap gap, next;
  for (uint32_t run = 0; run < table->run_count; run++) {
    const uint64_t function = function_of(subject, run);
    ck_assert(packed_gap_below_run(table, run, &gap));
    ck_assert(is_gap(subject, &gap, subject->run_firsts[run]));
    ck_assert(packed_gaps_around_run(table, run, &gap, &next));
    ck_assert(is_gap(subject, &gap, subject->run_firsts[run]));
    ck_assert(
        is_gap(subject, &next,
               run + 1 < table->run_count ? subject->run_firsts[run + 1] : table->record_count));
    ck_assert(is_gap(subject, &gaps.gap, subject->run_firsts[run]));
    ck_assert_uint_eq(gaps.layout, subject->run_layouts[run] * 8);
    packed_gaps_next(&gaps);
    ck_assert(packed_run_record(table, run, &record));
    ck_assert_uint_eq(record.layout, subject->run_layouts[run] * 8);
    ck_assert_uint_eq(record.position, 0);
    ck_assert_uint_eq(packed_function_of_run(table, run), function);
    ck_assert_uint_eq(packed_function_frame_size(table, (uint32_t)function),
                      packed_frame_size(table, subject->run_layouts[run] * 8));
  }
  ck_assert(packed_gap_below_run(table, table->run_count, &gap));
  ck_assert(is_gap(subject, &gap, table->record_count));
  for (unsigned i = 0; i < 2; i++) {
    ck_assert(is_gap(subject, &gaps.gap, table->record_count));
    ck_assert_uint_ge(gaps.layout, table->layouts.size);
    packed_gaps_next(&gaps);
  }
  for (uint32_t i = 0; i < table->bare_count; i++)
    ck_assert_uint_eq(packed_function_frame_size(table, subject->bare[i]),
                      8 + 16 * (subject->bare[i] % FRAMES));
}

static void check_functions(const struct subject *subject) {
  const struct packed_table *table = &subject->table;
  struct packed_record record;
  for (uint32_t i = 0; i < table->record_count; i++) {
    const struct entry *entry = &subject->entries[i];
    if (packed_record_at(table, i, &record) != PACKED_FOUND)
      continue;
    const uint64_t function =
        entry->is_exception ? entry->function : function_of(subject, entry->run);
    ck_assert_uint_eq(packed_record_function(&record),
                      function < table->function_count ? function : UINT32_MAX);
  }
}

/* All answers, with the processor's own instructions and without. */
static void check(struct subject *subject, uint64_t seed) {
  const bool quick = subject->table.quick;
  for (unsigned round = 0; round < 2; round++) {
    struct numbers numbers = {seed};
    subject->table.quick = subject->table.bare.quick = round == 0 && quick;
    ck_assert(packed_leaves_check(&subject->table));
    check_offsets(subject, &numbers);
    check_all_records(subject);
    check_runs(subject);
    check_functions(subject);
  }
}

static void check_plan(const struct plan *plan, uint64_t seed) {
  struct numbers numbers = {seed};
  struct subject subject = make(plan, &numbers);
  check(&subject, seed);
  subject_free(&subject);
}

/* ---- Tests ---- */

START_TEST(leaves_of_any_shape) {
  for (uint64_t seed = 1; seed <= 150; seed++) {
    struct numbers numbers = {seed};
    const struct plan plan = draw_plan(&numbers);
    check_plan(&plan, seed);
  }
}
END_TEST

START_TEST(every_number_of_records) {
  for (uint32_t count = 1; count < RECORDS_MAX; count += count < 140 ? 1 : 37)
    for (unsigned habit = 0; habit < HABITS; habit++) {
      const struct plan plan = {.leaves = 2,
                                .universe = 10,
                                .runs = 20,
                                .counts = {count, 1},
                                .habits = {habit, DENSE},
                                .tail = habit % 2 * 400};
      check_plan(&plan, count);
    }
}
END_TEST

START_TEST(leaves_of_one_record) {
  for (unsigned universe = 0; universe <= 12; universe++) {
    struct plan plan = {.leaves = LEAVES_MAX, .universe = universe, .runs = 30, .tail = 100};
    for (unsigned i = 0; i < LEAVES_MAX; i++) {
      plan.counts[i] = 1;
      plan.habits[i] = ANYWHERE;
    }
    check_plan(&plan, universe);
  }
}
END_TEST

START_TEST(every_record_shift) {
  for (unsigned shift = 0; shift < 32; shift++) {
    const struct plan plan = {.leaves = 3,
                              .universe = 11,
                              .record_shift = shift,
                              .runs = 20,
                              .counts = {150, 0, 60},
                              .habits = {ANYWHERE, DENSE, STEPS},
                              .tail = 300};
    check_plan(&plan, shift);
  }
}
END_TEST

/* One run goes on through leaves that have many records, few, or none. */
START_TEST(a_run_over_several_leaves) {
  for (uint64_t seed = 0; seed < 10; seed++) {
    const struct plan plan = {.leaves = 8,
                              .universe = 11,
                              .runs = 0,
                              .counts = {600, 0, 1, 200, 0, 0, 512, 513},
                              .habits = {DENSE, DENSE, ANYWHERE, STEPS, 0, 0, ANYWHERE, STEPS},
                              .tail = 1000};
    check_plan(&plan, seed);
  }
}
END_TEST

/* Nothing is behind a last leaf whose layouts are shared, not even what it would be longer by if its
 * first record were in an earlier run. */
START_TEST(shared_layouts_at_the_end) {
  for (uint64_t seed = 1; seed <= 300; seed++) {
    const struct plan plan = {.leaves = 3,
                              .universe = 1 + seed % 36,
                              .runs = seed % 3 * 50,
                              .counts = {2 + seed % 599, 0, 1 + seed % 2},
                              .habits = {ANYWHERE, 0, ANYWHERE}};
    check_plan(&plan, seed);
  }
}
END_TEST

START_TEST(records_far_apart) {
  for (unsigned universe = 16; universe <= 47; universe++) {
    struct plan plan = {.leaves = 4, .universe = universe, .runs = 40, .tail = 500};
    for (unsigned i = 0; i < plan.leaves; i++) {
      plan.counts[i] = 1 + 45 * i;
      plan.habits[i] = i % 2 == 0 ? ANYWHERE : CLUSTERS;
    }
    check_plan(&plan, universe);
  }
}
END_TEST

/* ---- Hostile bytes ---- */

static void ask_for(const struct subject *subject, uint64_t offset) {
  const struct packed_table *table = &subject->table;
  struct packed_record record;
  struct packed_gap gap;
  if (packed_find_quickly(table, offset, &record) == PACKED_FOUND) {
    ck_assert_uint_lt(record.index, table->record_count);
    ck_assert_uint_lt(record.layout, table->layouts.size);
    ck_assert_uint_eq(record.address, TEXT_START + offset);
    packed_record_function(&record);
    packed_frame_size(table, record.layout);
  }
  if (packed_find_record(table, offset, &record) == PACKED_FOUND) {
    ck_assert_uint_lt(record.index, table->record_count);
    ck_assert_uint_lt(record.layout, table->layouts.size);
    packed_record_function(&record);
  }
  if (packed_gap_at(table, offset, &gap))
    ck_assert_uint_le(gap.index, table->record_count);
  packed_prefetch(table, TEXT_START + offset, 0);
  packed_prefetch(table, TEXT_START + offset, 1);
}

static void ask_for_all(const struct subject *subject, struct numbers *numbers) {
  enum { MOST = 150 };
  const struct packed_table *table = &subject->table;
  const uint64_t aligned = ~bits_low_mask(table->record_shift);
  struct packed_records records = packed_records(table);
  struct packed_gaps gaps = packed_gaps(table);
  struct packed_record record;
  struct packed_gap gap, next;
  for (uint32_t i = 0; i < table->record_count; i++)
    if (packed_records_next(&records, &record) == PACKED_FOUND)
      ck_assert_uint_lt(record.layout, table->layouts.size);
  for (unsigned i = 0; i < MOST; i++) {
    const uint32_t index = (uint32_t)numbers_below(numbers, table->record_count);
    ask_for(subject, subject->entries[index].offset);
    ask_for(subject, numbers_next(numbers) % (table->text_size + 1) & aligned);
    packed_record_at(table, index, &record);
  }
  for (uint32_t run = 0; run < table->run_count && run < MOST; run++) {
    packed_gap_below_run(table, run, &gap);
    packed_gaps_around_run(table, run, &gap, &next);
    packed_run_record(table, run, &record);
    packed_function_of_run(table, run);
  }
  for (uint32_t i = 0; i < table->function_count && i < MOST; i++)
    packed_function_frame_size(table, i);
  for (uint32_t i = 0; i <= table->run_count; i++)
    packed_gaps_next(&gaps);
  packed_leaves_check(table);
}

static void damage(uint8_t *bytes, size_t size, struct numbers *numbers) {
  const uint64_t at = numbers_below(numbers, size);
  if (numbers_chance(numbers, 50)) {
    bytes[at] ^= (uint8_t)(1 << numbers_below(numbers, 8));
  } else {
    const size_t run = (size_t)numbers_between(numbers, 1, 12);
    memset(bytes + at, numbers_chance(numbers, 50) ? (int)numbers_next(numbers) : 0xff,
           run < size - at ? run : size - at);
  }
}

START_TEST(damaged_leaves) {
  for (uint64_t seed = 1; seed <= 120; seed++) {
    struct numbers numbers = {seed * 7919};
    const struct plan plan = draw_plan(&numbers);
    struct subject subject = make(&plan, &numbers);
    const bool quick = subject.table.quick;
    for (unsigned round = 0; round < 12; round++) {
      for (unsigned i = 0; i <= round % 4; i++) {
        const uint64_t which = numbers_below(&numbers, 5);
        if (which < 2)
          damage(subject.directory, subject.directory_size, &numbers);
        else if (which < 4)
          damage(subject.leaves, subject.leaves_size, &numbers);
        else if (subject.bare_size > 0)
          damage(subject.bare_bytes, subject.bare_size, &numbers);
      }
      subject.table.quick = subject.table.bare.quick = quick && round % 2 == 0;
      ask_for_all(&subject, &numbers);
    }
    subject_free(&subject);
  }
}
END_TEST

/* Fields that say all that they can. */
START_TEST(leaves_of_equal_bytes) {
  static const uint8_t values[] = {0, 1, 0x0f, 0x55, 0x80, 0xaa, 0xf0, 0xfe, 0xff};
  for (uint64_t seed = 1; seed <= 60; seed++) {
    struct numbers numbers = {seed * 104729};
    const struct plan plan = draw_plan(&numbers);
    struct subject subject = make(&plan, &numbers);
    for (unsigned i = 0; i < sizeof values; i++) {
      memset(subject.leaves, values[i], subject.leaves_size);
      ask_for_all(&subject, &numbers);
    }
    for (unsigned i = 0; i < sizeof values; i++) {
      memset(subject.directory, values[i], subject.directory_size);
      ask_for_all(&subject, &numbers);
    }
    subject_free(&subject);
  }
}
END_TEST

/* Overwrites a field of a table. */
static void set_field(uint8_t *bytes, uint64_t place, unsigned width, uint64_t value) {
  for (unsigned i = 0; i < width; i++) {
    const uint64_t bit = place + i;
    bytes[bit / 8] =
        (uint8_t)((bytes[bit / 8] & ~(1u << bit % 8)) | (unsigned)(value >> i & 1) << bit % 8);
  }
}

/* A sample says that no run has begun, in a leaf that has no field to say which one continues. */
START_TEST(a_run_that_continues_from_nowhere) {
  enum { RECORDS = 520, RECORD = 516, BEFORE = RECORDS + 8 + 130 + 10 + 3 * 10 };
  const struct plan plan = {
      .leaves = 1, .universe = 3, .counts = {RECORDS}, .habits = {ONE_ADDRESS}, .shared = 1000};
  struct numbers numbers = {1};
  struct subject subject = make(&plan, &numbers);
  struct packed_table *table = &subject.table;
  struct packed_record record;
  ck_assert(subject.entries[0].starts);
  ck_assert_int_eq(packed_record_at(table, RECORD, &record), PACKED_FOUND);
  const uint64_t place = bits_at(table->directory, 0, table->start_width) * 8 + BEFORE;
  ck_assert_uint_eq(bits_at(subject.leaves, place, 10), 1);
  set_field(subject.leaves, place, 10, 0);
  set_field(subject.directory, (uint64_t)table->start_width + table->index_width, table->run_width,
            1);
  set_field(subject.directory,
            (uint64_t)table->entry_width + table->start_width + table->index_width,
            table->run_width, 2);
  ck_assert_int_eq(packed_record_at(table, RECORD, &record), PACKED_CORRUPT);
  packed_find_record(table, subject.entries[0].offset, &record);
  packed_find_quickly(table, subject.entries[0].offset, &record);
  subject_free(&subject);
}
END_TEST

/* Leaves that are one and the same: so a few bytes could have any number of records. */
START_TEST(leaves_that_overlap) {
  const struct plan plan = {.leaves = 3,
                            .universe = 9,
                            .runs = 100,
                            .counts = {40, 40, 40},
                            .habits = {DENSE, DENSE, DENSE},
                            .tail = 20};
  struct numbers numbers = {3}; /* of a table whose first record starts a run, as all others do */
  struct subject subject = make(&plan, &numbers);
  const struct packed_table *table = &subject.table;
  ck_assert(subject.entries[0].starts);
  ck_assert(packed_leaves_check(table));
  const uint64_t first = bits_at(table->directory, 0, table->start_width);
  const uint64_t second = bits_at(table->directory, table->entry_width, table->start_width);
  set_field(subject.directory, table->entry_width, table->start_width, first);
  ck_assert(!packed_leaves_check(table));
  set_field(subject.directory, table->entry_width, table->start_width, second);
  set_field(subject.directory, 2 * (uint64_t)table->entry_width, table->start_width, second);
  ck_assert(!packed_leaves_check(table));
  subject_free(&subject);
}
END_TEST

SUITE("packed_leaf", leaves_of_any_shape, every_number_of_records, leaves_of_one_record,
      every_record_shift, a_run_over_several_leaves, shared_layouts_at_the_end, records_far_apart,
      damaged_leaves, leaves_of_equal_bytes, a_run_that_continues_from_nowhere, leaves_that_overlap)
