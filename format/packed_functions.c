/* packed_functions.c - where functions start and end, and which answer an address without a record
 * has.
 *
 * Where functions start and end is known from the records, but for two small numbers. A function
 * starts in the gap between two records: one that has a run, in the gap before its run's first
 * record; a bare one, before the first record of the next run. From that record its *lead* goes
 * back to its start. And its code ends where the next function starts, which takes one bit to say,
 * or a *tail* behind the last record below the next function. Both numbers are its extent.
 *
 * An address without a record is in such a gap, too. If the records on both sides are of one run,
 * it is in the run's function. If not, the functions that start in this gap and the one before
 * them are all that can have it; nearly always these are two, whose extents stand side by side.
 */
#include "format/packed.h"

/* ---- Bare functions ---- */

/* How many bare functions b have numbers below `limit`, to which `step` is added for each bare
 * function before b. */
static uint64_t bisect_bare(const struct packed_table *table, uint64_t limit, unsigned step) {
  uint64_t from = 0, to = table->bare_count;
  while (from < to) {
    const uint64_t middle = from + (to - from) / 2;
    const struct monotone_cursor cursor = monotone_get(&table->bare, middle, MONOTONE_GET);
    if (monotone_value(&table->bare, cursor) < limit + middle * step)
      from = middle + 1;
    else
      to = middle;
  }
  return from;
}

/* How many bare functions b have b - (how many are before it) at most `runs`: b is among the functions
 * up to the one of run number `runs`. */
static uint64_t bare_up_to_run(const struct packed_table *table, uint64_t runs) {
  return bisect_bare(table, runs + 1, 1);
}

/* How many bare functions have numbers below `function`. */
static uint64_t bare_before(const struct packed_table *table, uint64_t function) {
  return bisect_bare(table, function, 0);
}

uint64_t packed_function_of_run(const struct packed_table *table, uint64_t run) {
  return run + bare_up_to_run(table, run);
}

/* Whether a function is bare, of which `before` bare ones are before. */
static bool is_bare(const struct packed_table *table, uint64_t before, uint64_t function) {
  return before < table->bare_count &&
         monotone_value(&table->bare, monotone_get(&table->bare, before, MONOTONE_GET)) == function;
}

/* ---- Frame sizes ---- */

static uint64_t bare_frame_size(const struct packed_table *table, uint64_t bare) {
  return packed_numbered_frame_size(
      table, bits_at(table->bare_frames, bare * table->frame_width, table->frame_width));
}

uint64_t packed_function_frame_size(const struct packed_table *table, uint32_t function) {
  const uint64_t before = bare_before(table, function);
  struct packed_record record;
  if (is_bare(table, before, function))
    return bare_frame_size(table, before);
  return packed_run_record(table, function - before, &record)
             ? packed_frame_size(table, record.layout)
             : UINT64_MAX;
}

/* ---- Extents ---- */

/* How far a function's code goes before its first record and behind its last one. In Rice's code, it
 * is the lead and 1 where the end is the next function's start; else 0, the lead, and the tail. */
struct extent {
  uint64_t lead;
  bool adjacent; /* the end is the next function's start, else `tail` behind what is known */
  uint64_t tail;
};

static struct extent take_long_extent(const struct packed_table *table, struct bit_reader *reader) {
  const uint64_t code = bit_reader_rice(reader, table->lead_parameter);
  if (code != 0)
    return (struct extent){.lead = code - 1, .adjacent = true};
  struct extent extent = {.lead = bit_reader_rice(reader, table->lead_parameter)};
  extent.tail = bit_reader_rice(reader, table->tail_parameter);
  return extent;
}

enum { WORD = 57, UNARY_MAX = 12 };

/* A number in Rice's code, if it has fewer than UNARY_MAX ones. */
struct rice {
  uint64_t number;
  unsigned unary, width;
};

static inline struct rice rice_in(uint64_t word, unsigned parameter) {
  const unsigned unary = (unsigned)__builtin_ctzll(~word | (uint64_t)1 << UNARY_MAX);
  return (struct rice){
      .number = (uint64_t)unary << parameter | (word >> (unary + 1) & bits_short_mask(parameter)),
      .unary = unary,
      .width = unary + 1 + parameter,
  };
}

/* Takes an extent that is in a word, in which nearly every one fits. *width: its bits, or 0 if it
 * doesn't. The code of 0 is all zeros: so where the lead is doesn't wait for what the code says. */
static inline struct extent short_extent(const struct packed_table *table, const uint8_t *bytes,
                                         uint64_t position, unsigned *width) {
  const uint64_t word = bits_at(bytes, position, WORD);
  const unsigned zero_width = table->lead_parameter + 1u;
  if ((word & bits_short_mask(zero_width)) != 0) {
    const struct rice code = rice_in(word, table->lead_parameter);
    *width = code.unary < UNARY_MAX ? code.width : 0;
    return (struct extent){.lead = code.number - 1, .adjacent = true};
  }
  const struct rice lead = rice_in(word >> zero_width, table->lead_parameter);
  *width = 0;
  if (lead.unary == UNARY_MAX || zero_width + lead.width >= WORD)
    return (struct extent){0};
  const struct rice tail = rice_in(word >> (zero_width + lead.width), table->tail_parameter);
  const unsigned all = zero_width + lead.width + tail.width;
  *width = tail.unary < UNARY_MAX && all <= WORD ? all : 0;
  return (struct extent){.lead = lead.number, .tail = tail.number};
}

static struct extent take_extent(const struct packed_table *table, struct bit_reader *reader) {
  unsigned width;
  const struct extent extent = short_extent(table, reader->bytes, reader->position, &width);
  if (width == 0)
    return take_long_extent(table, reader);
  if (!bit_reader_has(reader, width))
    return (struct extent){0};
  reader->position += width;
  return extent;
}

/* Passes over extents as long as they are short. Returns how many of `count` are left. */
static uint32_t skip_short_extents(const struct packed_table *table, struct bit_reader *reader,
                                   uint32_t count) {
  uint64_t position = reader->position;
  for (; count > 0; count--) {
    unsigned width;
    short_extent(table, reader->bytes, position, &width);
    if (width == 0 || width > reader->end - position)
      break;
    position += width;
  }
  reader->position = position;
  return count;
}

static void skip_extents(const struct packed_table *table, struct bit_reader *reader,
                         uint32_t count) {
  while ((count = skip_short_extents(table, reader, count)) > 0 && !reader->bad) {
    take_extent(table, reader);
    count--;
  }
}

/* Where the extent of a function is: 32 of them to a sample. */
static struct bit_reader extent_at(const struct packed_table *table, uint32_t function) {
  const uint32_t sample = function >> PACKED_EXTENTS_PER_SAMPLE_SHIFT;
  const unsigned width = table->extent_sample_width;
  struct bit_reader reader = bit_reader_at(
      table->extents, bits_at(table->extent_samples, (uint64_t)sample * width, width));
  skip_extents(table, &reader, function & (uint32_t)bits_low_mask(PACKED_EXTENTS_PER_SAMPLE_SHIFT));
  return reader;
}

/* Takes an extent. All zeros where the table is broken. */
static struct extent take_good_extent(const struct packed_table *table, struct bit_reader *reader) {
  const struct extent extent = take_extent(table, reader);
  if (reader->bad)
    return (struct extent){0};
  return extent;
}

void packed_extent_skip(const struct packed_table *table, struct bit_reader *reader) {
  take_extent(table, reader);
}

/* Where a function of known lead starts: some steps of 1 << function_shift before the record above
 * its gap, or, if there is none, before the text's end. */
static uint64_t start_by_lead(const struct packed_table *table, const struct packed_gap *gap,
                              uint64_t lead) {
  const uint64_t steps = (gap->above - 1) >> table->function_shift;
  return lead <= steps ? (steps - lead) << table->function_shift : 0;
}

/* Where a function ends, by its tail and the gap in which the next one starts. Of a function with a
 * run, the record below that is its own: its start, which is before it, may be given as 0. */
static uint64_t end_by_tail(const struct packed_gap *next, uint64_t start, uint64_t tail) {
  return (next->index > 0 && next->below > start ? next->below : start) + tail;
}

/* The extent of a function, and the reader behind it, between the gaps in which it and the next one
 * start. */
static struct packed_extent extent_between(const struct packed_table *table, uint64_t function,
                                           const struct extent *extent, struct bit_reader reader,
                                           const struct packed_gap *gap,
                                           const struct packed_gap *next) {
  const bool is_last = function + 1 >= table->function_count;
  const uint64_t start = start_by_lead(table, gap, extent->lead);
  const uint64_t end = extent->adjacent && !is_last
                           ? start_by_lead(table, next, take_good_extent(table, &reader).lead)
                           : end_by_tail(next, start, extent->tail);
  return (struct packed_extent){table->text_start + start, table->text_start + end};
}

/* In a broken table, of what there is. */
struct packed_extent packed_function_extent(const struct packed_table *table, uint32_t function) {
  const uint64_t before = bare_before(table, function);
  struct bit_reader reader = extent_at(table, function);
  const struct extent extent = take_good_extent(table, &reader);
  struct packed_gap gap, next;
  if (is_bare(table, before, function)) {
    packed_gap_below_run(table, function - before, &gap);
    next = gap;
  } else {
    packed_gaps_around_run(table, function - before, &gap, &next);
  }
  return extent_between(table, function, &extent, reader, &gap, &next);
}

/* ---- All functions ---- */

struct packed_functions packed_functions(const struct packed_table *table) {
  struct packed_functions functions = {
      .table = table,
      .gaps = packed_gaps(table),
      .extents = bit_reader_at(table->extents, 0),
  };
  if (table->bare_count > 0)
    functions.bare = monotone_get(&table->bare, 0, MONOTONE_GET);
  return functions;
}

struct packed_function packed_functions_next(struct packed_functions *functions) {
  const struct packed_table *table = functions->table;
  const struct packed_gap gap = functions->gaps.gap;
  const struct extent extent = take_good_extent(table, &functions->extents);
  struct packed_function function;
  if (functions->bare.index < table->bare_count &&
      monotone_value(&table->bare, functions->bare) == functions->number) {
    function.frame_size = bare_frame_size(table, functions->bare.index);
    functions->bare = monotone_next(&table->bare, functions->bare);
  } else {
    function.frame_size = packed_frame_size(table, functions->gaps.layout);
    packed_gaps_next(&functions->gaps);
  }
  function.extent = extent_between(table, functions->number, &extent, functions->extents, &gap,
                                   &functions->gaps.gap);
  functions->number++;
  return function;
}

/* ---- Addresses without a record ---- */

/* Functions [from, to). */
struct function_range {
  uint64_t from, to;
};

static struct function_range functions_in(const struct packed_table *table,
                                          const struct packed_gap *gap) {
  return (struct function_range){
      .from = gap->runs == 0 ? 0 : packed_function_of_run(table, gap->runs - 1) + 1,
      .to = gap->index == table->record_count ? table->function_count
                                              : packed_function_of_run(table, gap->runs) + 1,
  };
}

/* Leaves one of the functions of a gap, or none: those before it start at or before an offset, and
 * those behind it don't. */
static struct function_range bisect_functions(const struct packed_table *table,
                                              const struct packed_gap *gap,
                                              struct function_range functions, uint64_t offset) {
  while (functions.to > functions.from + 1) {
    const uint64_t middle = functions.from + (functions.to - functions.from) / 2;
    struct bit_reader reader = extent_at(table, (uint32_t)middle);
    if (start_by_lead(table, gap, take_good_extent(table, &reader).lead) <= offset)
      functions.from = middle + 1;
    else
      functions.to = middle;
  }
  return functions;
}

/* The last function that starts at or before an offset in a gap where functions start. */
struct last_function {
  uint64_t up_to; /* how many functions there are up to it */
  struct extent extent;
};

static struct last_function last_function(const struct packed_table *table,
                                          const struct packed_gap *gap,
                                          struct function_range functions, uint64_t offset) {
  const struct function_range left = bisect_functions(table, gap, functions, offset);
  struct last_function last = {.up_to = left.from};
  struct bit_reader reader = extent_at(table, (uint32_t)(left.from - (left.from > 0)));
  if (left.from > 0)
    last.extent = take_good_extent(table, &reader);
  if (left.from < left.to) {
    const struct extent next = take_good_extent(table, &reader);
    if (start_by_lead(table, gap, next.lead) <= offset)
      last = (struct last_function){left.from + 1, next};
  }
  return last;
}

enum packed_answer packed_missing(const struct packed_table *table, uint64_t offset) {
  struct packed_gap gap;
  if (!packed_gap_at(table, offset, &gap))
    return PACKED_CORRUPT;
  const bool is_behind = gap.index == table->record_count;
  if (!gap.starts_run && !is_behind)
    return gap.runs > 0 ? PACKED_NOT_SAFEPOINT : PACKED_CORRUPT;
  const struct function_range functions = functions_in(table, &gap);
  if (functions.from > functions.to || functions.to > table->function_count)
    return PACKED_CORRUPT;
  if (functions.to == 0)
    return PACKED_NOT_MANAGED;
  const struct last_function last = last_function(table, &gap, functions, offset);
  if (last.up_to == 0)
    return PACKED_NOT_MANAGED;
  /* The run's function has a record further on; the next function starts further on, too. */
  if ((last.up_to == functions.to && !is_behind) ||
      (last.extent.adjacent && last.up_to < table->function_count))
    return PACKED_NOT_SAFEPOINT;
  const bool in_gap = last.up_to > functions.from;
  const uint64_t start = in_gap ? start_by_lead(table, &gap, last.extent.lead) : 0;
  return offset < end_by_tail(&gap, start, last.extent.tail) ? PACKED_NOT_SAFEPOINT
                                                             : PACKED_NOT_MANAGED;
}
