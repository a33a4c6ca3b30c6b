/* packed_write.c - builds a packed table: the parts of packed.h, in their order.
 *
 * Which record belongs to which function mostly follows from the addresses (see packed.h). So the
 * first step is to find the exceptions. Then each function's layout is put together: the live set
 * of each of its records in order. Equal layouts are written once. Those of several functions come
 * first, so that a function which has its own needs no number: it is the next one.
 */
#include "format/packed_write.h"

#define XXH_INLINE_ALL
#include <stdlib.h>
#include <xxhash.h>

struct function_plan {
  uint32_t first;    /* its first record by rule */
  uint32_t by_rule;  /* how many records follow that are its own by rule */
  uint32_t extra;    /* exceptions that are its own */
  uint32_t layout;   /* in encoder.layouts; of bare functions without records, none */
  uint64_t sequence; /* where the live sets of its records start in encoder.sequences */
};

struct encoder {
  const struct safepoints *table;
  packed_compress *compress;
  struct packed_header header;
  uint64_t address, text_start;
  uint64_t roots_size; /* of the global roots, in bytes */
  struct function_plan *plans;
  uint64_t *sequences;
  struct frame_size {
    uint64_t size;
    uint32_t functions, number; /* how many functions have it; in the table */
  } * frame_sizes;              /* distinct, sorted */
  struct intern interned;       /* layouts: frame size's number, then live sets */
  struct packed_layouts layouts;
  uint64_t *positions; /* by layout: the most records that a function with it has */
  struct packed_run *runs;
  struct packed_numbers numbers;
  struct bit_writer directory, leaves, bare_frames;
  struct bit_writer exceptions, extents, extent_samples, frame_bits, list_bits;
  struct bit_writer conventions, block_ends, blocks;
  uint64_t *list_starts;
  const char *error;
};

static const char too_many[] = "more stack maps than a packed table can hold";

static bool fail(struct encoder *encoder, const char *error) {
  if (encoder->error == NULL)
    encoder->error = error;
  return false;
}

static bool no_memory(struct encoder *encoder) { return fail(encoder, "not enough memory"); }

/* An array of count + 1 zeros, so that none is empty. */
static void *new_array(struct encoder *encoder, uint64_t count, size_t size) {
  void *array = calloc(count + 1, size);
  if (array == NULL)
    no_memory(encoder);
  return array;
}

/* ---- Addresses ---- */

/* How many low bits are 0 in all of the numbers that or-ed together give `bits`. */
static uint8_t common_shift(uint64_t bits) {
  const unsigned shift = bits == 0 ? 0 : (unsigned)__builtin_ctzll(bits);
  return (uint8_t)(shift < 16 ? shift : 16);
}

static void measure_text(struct encoder *encoder) {
  const struct safepoints *table = encoder->table;
  struct packed_header *header = &encoder->header;
  uint64_t record_bits = 0, function_bits = 0, end = 0;
  encoder->text_start = table->function_count > 0 ? table->functions[0].address : encoder->address;
  for (uint32_t i = 0; i < table->function_count; i++) {
    const struct safepoint_function *function = &table->functions[i];
    function_bits |= function->address - encoder->text_start;
    end = function->address > end ? function->address : end;
    end = function->end > end ? function->end : end;
  }
  for (uint32_t i = 0; i < table->record_count; i++) {
    record_bits |= table->records[i].address - encoder->text_start;
    end = table->records[i].address > end ? table->records[i].address : end;
  }
  header->text_start = (int64_t)(encoder->text_start - encoder->address);
  header->text_size = end > encoder->text_start ? end - encoder->text_start : 0;
  header->records = table->record_count;
  header->functions = table->function_count;
  header->record_shift = common_shift(record_bits);
  header->function_shift = common_shift(function_bits);
}

/* Counts for each function the records that are its own by rule: those above its start, up to the
 * next function's. Of functions with one start, the last one has them. */
static void count_by_rule(struct encoder *encoder) {
  const struct safepoints *table = encoder->table;
  uint32_t record = 0;
  for (uint32_t i = 0; i < table->function_count; i++) {
    struct function_plan *plan = &encoder->plans[i];
    while (record < table->record_count &&
           table->records[record].address <= table->functions[i].address)
      record++;
    plan->first = record;
    uint32_t end = record;
    const bool last = i + 1 == table->function_count;
    while (end < table->record_count &&
           (last || table->records[end].address <= table->functions[i + 1].address))
      end++;
    plan->by_rule = end - record;
    record = end;
  }
}

static bool is_by_rule(const struct encoder *encoder, uint32_t record) {
  const struct function_plan *plan = &encoder->plans[encoder->table->records[record].function];
  return record >= plan->first && record - plan->first < plan->by_rule;
}

/* Counts the exceptions: the records that their function has, but not by rule. */
static void count_exceptions(struct encoder *encoder) {
  const struct safepoints *table = encoder->table;
  for (uint32_t i = 0; i < table->record_count; i++)
    if (!is_by_rule(encoder, i)) {
      encoder->plans[table->records[i].function].extra++;
      encoder->header.exceptions++;
    }
}

static bool write_exceptions(struct encoder *encoder) {
  const struct safepoints *table = encoder->table;
  uint32_t *extra = new_array(encoder, table->function_count, sizeof *extra);
  for (uint32_t i = 0; i < table->record_count && extra != NULL && encoder->header.exceptions > 0;
       i++) {
    if (is_by_rule(encoder, i))
      continue;
    const uint32_t function = table->records[i].function;
    const struct function_plan *plan = &encoder->plans[function];
    bit_writer_put(&encoder->exceptions, i, 32);
    bit_writer_put(&encoder->exceptions, function, 32);
    bit_writer_put(&encoder->exceptions, plan->by_rule + extra[function]++, 32);
    bit_writer_put(&encoder->exceptions, encoder->layouts.places[plan->layout], 64);
  }
  free(extra);
  return encoder->error == NULL;
}

/* ---- Layouts ---- */

static bool has_own_record(const struct encoder *encoder, uint32_t function) {
  return encoder->table->functions[function].records > 0;
}

/* Puts the live sets of each function's records together. A record among them that is another
 * function's (an exception) repeats some set, as nobody will ask for it here. */
static bool collect_sequences(struct encoder *encoder) {
  const struct safepoints *table = encoder->table;
  uint64_t total = 0;
  for (uint32_t i = 0; i < table->function_count; i++) {
    encoder->plans[i].sequence = total;
    total += (uint64_t)encoder->plans[i].by_rule + encoder->plans[i].extra;
  }
  encoder->sequences = new_array(encoder, total, sizeof *encoder->sequences);
  uint32_t *extra = new_array(encoder, table->function_count, sizeof *extra);
  if (encoder->error != NULL) {
    free(extra);
    return false;
  }
  for (uint32_t i = 0; i < table->function_count; i++) {
    const struct safepoint_function *function = &table->functions[i];
    const struct function_plan *plan = &encoder->plans[i];
    uint64_t *sequence = encoder->sequences + plan->sequence;
    for (uint32_t k = 0; k < plan->by_rule && has_own_record(encoder, i); k++) {
      const struct safepoint *record = &table->records[plan->first + k];
      sequence[k] =
          record->function == i ? record->live : table->records[function->first_record].live;
    }
  }
  for (uint32_t i = 0; i < table->record_count; i++) {
    const uint32_t function = table->records[i].function;
    const struct function_plan *plan = &encoder->plans[function];
    if (i < plan->first || i - plan->first >= plan->by_rule)
      encoder->sequences[plan->sequence + plan->by_rule + extra[function]++] =
          table->records[i].live;
  }
  free(extra);
  return true;
}

static int compare_uses(const void *a, const void *b) {
  const struct frame_size *x = a, *y = b;
  if (x->functions != y->functions)
    return x->functions > y->functions ? -1 : 1;
  return bits_compare_words(&x->size, &y->size);
}

static int compare_sizes(const void *a, const void *b) {
  const struct frame_size *x = a, *y = b;
  return bits_compare_words(&x->size, &y->size);
}

/* Counts how many functions have each size. *count: how many distinct ones there are. */
static bool count_frame_sizes(struct encoder *encoder, uint32_t *count) {
  const struct safepoints *table = encoder->table;
  struct frame_size *sizes = new_array(encoder, table->function_count, sizeof *sizes);
  struct intern distinct = {0};
  if (sizes == NULL)
    return false;
  encoder->frame_sizes = sizes;
  for (uint32_t i = 0; i < table->function_count && encoder->error == NULL; i++) {
    const uint64_t size = table->functions[i].frame_size;
    const uint32_t number = intern_add(&distinct, &size, 1);
    if (number == INTERN_FAILED) {
      no_memory(encoder);
      break;
    }
    sizes[number].size = size;
    sizes[number].functions++;
  }
  *count = distinct.count;
  intern_free(&distinct);
  return encoder->error == NULL;
}

/* Numbers the distinct frame sizes, the most frequent one first, so that most look-ups meet the same
 * cache line; and chooses a width. All ones stands for the unknown size. */
static bool collect_frame_sizes(struct encoder *encoder) {
  uint32_t count = 0;
  uint64_t largest = 0, bits = 0;
  if (!count_frame_sizes(encoder, &count))
    return false;
  struct frame_size *sizes = encoder->frame_sizes;
  for (uint32_t i = 0; i < count; i++)
    if (sizes[i].size != SAFEPOINT_FRAME_SIZE_UNKNOWN) {
      largest = sizes[i].size > largest ? sizes[i].size : largest;
      bits |= sizes[i].size;
    }
  const uint8_t shift = common_shift(bits);
  const uint64_t most = largest >> shift;
  const unsigned width = most == UINT64_MAX - 1 ? 64 : bits_for_count(most + 2);
  qsort(sizes, count, sizeof *sizes, compare_uses);
  for (uint32_t i = 0; i < count; i++) {
    const bool is_known = sizes[i].size != SAFEPOINT_FRAME_SIZE_UNKNOWN;
    bit_writer_put(&encoder->frame_bits, is_known ? sizes[i].size >> shift : UINT64_MAX, width);
    sizes[i].number = i;
  }
  qsort(sizes, count, sizeof *sizes, compare_sizes);
  encoder->header.frame_sizes = count;
  encoder->header.frame_size_shift = shift;
  encoder->header.frame_size_width = (uint8_t)width;
  return encoder->error == NULL;
}

static uint64_t frame_number(const struct encoder *encoder, uint64_t size) {
  const struct frame_size *sizes = encoder->frame_sizes;
  uint32_t from = 0, to = encoder->header.frame_sizes;
  while (from < to) {
    const uint32_t middle = from + (to - from) / 2;
    if (sizes[middle].size < size)
      from = middle + 1;
    else
      to = middle;
  }
  return sizes[from].number;
}

/* How many of a function's live sets tell its layout: one, if all are equal. */
static uint64_t telling_sets(const uint64_t *live, uint64_t records) {
  for (uint64_t i = 1; i < records; i++)
    if (live[i] != live[0])
      return records;
  return records > 0 ? 1 : 0;
}

/* Gives equal layouts one number, and counts the runs that have each. */
static bool intern_layouts(struct encoder *encoder) {
  const struct safepoints *table = encoder->table;
  uint64_t longest = 0;
  for (uint32_t i = 0; i < table->function_count; i++) {
    const uint64_t length = (uint64_t)encoder->plans[i].by_rule + encoder->plans[i].extra;
    longest = length > longest ? length : longest;
  }
  uint64_t *words = new_array(encoder, longest + 1, sizeof *words);
  encoder->runs = new_array(encoder, table->function_count, sizeof *encoder->runs);
  encoder->layouts.uses = new_array(encoder, table->function_count, sizeof *encoder->layouts.uses);
  encoder->positions = new_array(encoder, table->function_count, sizeof *encoder->positions);
  uint32_t runs = 0;
  for (uint32_t i = 0; i < table->function_count && encoder->error == NULL; i++) {
    struct function_plan *plan = &encoder->plans[i];
    const uint64_t records = has_own_record(encoder, i) ? (uint64_t)plan->by_rule + plan->extra : 0;
    if (plan->by_rule == 0 && records == 0)
      continue;
    const uint64_t *live = encoder->sequences + plan->sequence;
    const uint64_t length = telling_sets(live, records);
    words[0] = frame_number(encoder, table->functions[i].frame_size);
    if (length > 0)
      memcpy(words + 1, live, length * sizeof *words);
    plan->layout = intern_add(&encoder->interned, words, length + 1);
    if (plan->layout == INTERN_FAILED) {
      no_memory(encoder);
      break;
    }
    uint64_t *positions = &encoder->positions[plan->layout];
    *positions = records > *positions ? records : *positions;
    if (plan->by_rule > 0) {
      encoder->layouts.uses[plan->layout]++;
      encoder->runs[runs++] = (struct packed_run){plan->first, plan->layout};
    }
  }
  encoder->header.bare_functions = table->function_count - runs;
  free(words);
  return encoder->error == NULL;
}

/* Writes the layouts without what they start with (see layout_write), and fills in the latter.
 * ends[n]: where layout n's bits end. */
static bool write_bodies(const struct encoder *encoder, const struct packed_pairs *pairs,
                         struct packed_layout *heads, uint64_t *ends, struct bit_writer *bits) {
  struct layout_writer *writer = layout_writer_new(encoder->table, &encoder->numbers, pairs);
  bool ok = writer != NULL;
  for (uint32_t i = 0; i < encoder->interned.count && ok; i++) {
    const struct intern_sequence layout = intern_get(&encoder->interned, i);
    heads[i].frame = layout.words[0];
    const struct layout_records records = {
        .live = layout.words + 1,
        .telling = layout.count - 1,
        .count = encoder->positions[i],
    };
    ok = layout_write(writer, bits, &heads[i], records);
    ends[i] = bits->size;
  }
  layout_writer_free(writer);
  return ok && !bits->failed;
}

/* The parameters that make all heads shortest. */
static void choose_layout_parameters(struct packed_header *header,
                                     const struct packed_layout *heads, uint32_t count) {
  struct bits_widths frames = {{0}}, sets = {{0}}, locations = {{0}}, firsts = {{0}};
  for (uint32_t i = 0; i < count; i++) {
    bits_add_small(&frames, heads[i].frame);
    bits_add_small(&sets, heads[i].sets - 1);
    bits_add_small(&locations, heads[i].locations);
    if (heads[i].locations > 0)
      bits_add_small(&firsts, heads[i].first);
  }
  header->frame_parameter = (uint8_t)bits_best_parameter(&frames);
  header->sets_parameter = (uint8_t)bits_best_parameter(&sets);
  header->locations_parameter = (uint8_t)bits_best_parameter(&locations);
  header->first_parameter = (uint8_t)bits_best_parameter(&firsts);
}

static void write_head(const struct packed_header *header, const struct packed_layout *head,
                       struct bit_writer *bits) {
  bit_writer_small(bits, head->frame, header->frame_parameter);
  bit_writer_small(bits, head->sets - 1, header->sets_parameter);
  bit_writer_small(bits, head->locations, header->locations_parameter);
  if (head->locations == 0)
    return;
  bit_writer_put(bits, head->any_derived, 1);
  bit_writer_small(bits, head->first, header->first_parameter);
}

/* Puts heads and bodies together. */
static void join_layouts(struct encoder *encoder, const struct packed_layout *heads,
                         const uint64_t *ends, const struct bit_writer *bodies) {
  struct packed_layouts *layouts = &encoder->layouts;
  for (uint32_t i = 0; i < layouts->count; i++) {
    const uint64_t start = i == 0 ? 0 : ends[i - 1];
    write_head(&encoder->header, &heads[i], &layouts->bits);
    bit_writer_copy(&layouts->bits, bodies->bytes, start, ends[i] - start);
    bit_writer_align(&layouts->bits);
    layouts->starts[i + 1] = layouts->bits.size / 8;
  }
}

static bool write_layouts(struct encoder *encoder) {
  struct packed_layouts *layouts = &encoder->layouts;
  const uint32_t count = encoder->interned.count;
  struct packed_pairs pairs = {0};
  struct bit_writer bodies = {0};
  struct packed_layout *heads = new_array(encoder, count, sizeof *heads);
  uint64_t *ends = new_array(encoder, count, sizeof *ends);
  layouts->count = count;
  layouts->starts = new_array(encoder, (uint64_t)count + 1, sizeof *layouts->starts);
  layouts->places = new_array(encoder, count, sizeof *layouts->places);
  const bool ok = encoder->error == NULL &&
                  packed_number_pairs(encoder->table, &encoder->numbers, &pairs) &&
                  write_bodies(encoder, &pairs, heads, ends, &bodies);
  if (ok) {
    choose_layout_parameters(&encoder->header, heads, count);
    join_layouts(encoder, heads, ends, &bodies);
  }
  packed_pairs_free(&pairs);
  bit_writer_free(&bodies);
  free(heads);
  free(ends);
  return (ok && !layouts->bits.failed) || no_memory(encoder);
}

/* Writes the frame sizes' numbers of the functions without a run. */
static void write_bare_frames(struct encoder *encoder) {
  const struct safepoints *table = encoder->table;
  const unsigned width = bits_for_count(encoder->header.frame_sizes);
  for (uint32_t i = 0; i < table->function_count; i++)
    if (encoder->plans[i].by_rule == 0)
      bit_writer_put(&encoder->bare_frames, frame_number(encoder, table->functions[i].frame_size),
                     width);
}

static bool write_lists(struct encoder *encoder) {
  const struct packed_numbers *numbers = &encoder->numbers;
  const unsigned width = bits_for_count(numbers->location_count);
  encoder->list_starts = new_array(encoder, numbers->list_count, sizeof *encoder->list_starts);
  if (encoder->list_starts == NULL)
    return false;
  for (uint32_t i = 0; i < numbers->list_count; i++) {
    const struct intern_sequence list = intern_get(&encoder->table->lists, numbers->used_lists[i]);
    encoder->list_starts[i] = encoder->list_bits.size;
    bit_writer_gamma(&encoder->list_bits, list.count);
    for (uint64_t k = 0; k < list.count; k++)
      bit_writer_put(&encoder->list_bits, numbers->locations[list.words[k]], width);
  }
  encoder->header.list_bits = encoder->list_bits.size;
  encoder->header.lists = numbers->list_count;
  encoder->header.locations = numbers->location_count;
  encoder->header.location_classes = numbers->class_count;
  return true;
}

/* ---- Extents of functions ---- */

/* An extent as it will stand: see packed.c. */
struct extent {
  uint64_t lead, tail;
  bool adjacent; /* the end is the next function's start */
};

/* The address of the record before which a function starts; for the last ones, the text's end. */
static uint64_t address_above(const struct encoder *encoder, uint32_t function) {
  const struct safepoints *table = encoder->table;
  const uint32_t first = encoder->plans[function].first;
  return first < table->record_count ? table->records[first].address
                                     : encoder->text_start + encoder->header.text_size + 1;
}

/* Measures how far code goes before the first and behind the last record of each function. Where
 * functions overlap, an address is managed if it is in any of them: so a function's end is the
 * furthest one seen so far, and at most the next one's start. */
static void measure_extents(const struct encoder *encoder, struct extent *extents) {
  const struct safepoints *table = encoder->table;
  const unsigned shift = encoder->header.function_shift;
  uint64_t reach = 0;
  for (uint32_t i = 0; i < table->function_count; i++) {
    const struct function_plan *plan = &encoder->plans[i];
    const uint64_t start = table->functions[i].address;
    const uint64_t next =
        i + 1 < table->function_count ? table->functions[i + 1].address : UINT64_MAX;
    uint64_t known = start;
    if (plan->first + plan->by_rule > 0) {
      const uint64_t last = table->records[plan->first + plan->by_rule - 1].address;
      known = last > known ? last : known;
    }
    reach = table->functions[i].end > reach ? table->functions[i].end : reach;
    const uint64_t limited = reach < next ? reach : next;
    const uint64_t end = limited > known ? limited : known;
    extents[i] = (struct extent){
        .lead = ((address_above(encoder, i) - 1 - encoder->text_start) >> shift) -
                ((start - encoder->text_start) >> shift),
        .tail = end - known,
        .adjacent = i + 1 < table->function_count && end == next,
    };
  }
}

/* The parameters that make the leads, and the tails, shortest. */
static void choose_extent_parameters(struct packed_header *header, const struct extent *extents) {
  struct bits_widths leads = {{0}}, tails = {{0}};
  for (uint32_t i = 0; i < header->functions; i++) {
    bits_add_rice(&leads, extents[i].adjacent ? extents[i].lead + 1 : 0);
    if (!extents[i].adjacent) {
      bits_add_rice(&leads, extents[i].lead);
      bits_add_rice(&tails, extents[i].tail);
    }
  }
  header->lead_parameter = (uint8_t)bits_best_parameter(&leads);
  header->tail_parameter = (uint8_t)bits_best_parameter(&tails);
}

static void write_extent(struct encoder *encoder, const struct extent *extent) {
  const struct packed_header *header = &encoder->header;
  const uint64_t code = extent->adjacent ? extent->lead + 1 : 0;
  bit_writer_rice(&encoder->extents, code, header->lead_parameter);
  if (extent->adjacent)
    return;
  bit_writer_rice(&encoder->extents, extent->lead, header->lead_parameter);
  bit_writer_rice(&encoder->extents, extent->tail, header->tail_parameter);
}

static bool write_extents(struct encoder *encoder) {
  const uint32_t count = encoder->table->function_count;
  struct packed_header *header = &encoder->header;
  struct extent *extents = new_array(encoder, count, sizeof *extents);
  uint64_t *samples = new_array(encoder, count, sizeof *samples);
  if (encoder->error == NULL) {
    measure_extents(encoder, extents);
    choose_extent_parameters(header, extents);
    for (uint32_t i = 0; i < count; i++) {
      samples[i] = encoder->extents.size;
      write_extent(encoder, &extents[i]);
    }
    if (encoder->extents.size > UINT32_MAX)
      fail(encoder, too_many);
    header->extent_bits = (uint32_t)encoder->extents.size;
    const unsigned width = bits_for_count((uint64_t)header->extent_bits + 1);
    for (uint32_t i = 0; i < count; i += 1 << PACKED_EXTENTS_PER_SAMPLE_SHIFT)
      bit_writer_put(&encoder->extent_samples, samples[i], width);
  }
  free(extents);
  free(samples);
  return encoder->error == NULL;
}

/* ---- The whole ---- */

static void write_part(struct bit_writer *out, const struct bit_writer *part) {
  bit_writer_copy(out, part->bytes, 0, part->size);
  bit_writer_align(out);
}

/* Writes the numbers of the functions without a run. */
static void write_bare(struct encoder *encoder, struct bit_writer *out) {
  const uint32_t functions = encoder->table->function_count;
  uint64_t *numbers = new_array(encoder, functions, sizeof *numbers), count = 0;
  if (numbers == NULL)
    return;
  for (uint32_t i = 0; i < functions; i++)
    if (encoder->plans[i].by_rule == 0)
      numbers[count++] = i;
  monotone_write(out, numbers, count, functions, MONOTONE_GET);
  free(numbers);
}

static void write_global_roots(struct encoder *encoder, struct bit_writer *out) {
  const uint64_t start = out->size;
  if (!packed_roots_write(encoder->table, encoder->address, out))
    no_memory(encoder);
  encoder->roots_size = (out->size - start) / 8;
  if (encoder->roots_size > 0)
    encoder->header.features |= PACKED_GLOBAL_ROOTS;
}

static void write_parts(struct encoder *encoder, struct bit_writer *out) {
  for (unsigned i = 0; i < encoder->header.header_size; i++)
    bit_writer_put(out, 0, 8);
  write_part(out, &encoder->directory);
  write_part(out, &encoder->leaves);
  write_bare(encoder, out);
  write_part(out, &encoder->bare_frames);
  write_part(out, &encoder->extent_samples);
  write_part(out, &encoder->extents);
  write_part(out, &encoder->frame_bits);
  write_part(out, &encoder->numbers.classes);
  monotone_write(out, encoder->list_starts, encoder->header.lists, encoder->header.list_bits,
                 MONOTONE_GET);
  write_part(out, &encoder->list_bits);
  write_part(out, &encoder->exceptions);
  write_part(out, &encoder->conventions);
  write_part(out, &encoder->block_ends);
  write_part(out, &encoder->blocks);
  write_global_roots(encoder, out);
  bit_writer_put(out, 0, 64);
}

static bool finish_table(struct encoder *encoder, struct bit_writer *out) {
  struct packed_header *header = &encoder->header;
  struct packed_parts parts;
  header->header_size = packed_header_size(header);
  write_parts(encoder, out);
  if (encoder->error != NULL)
    return false;
  if (out->failed || encoder->exceptions.failed || encoder->extents.failed ||
      encoder->extent_samples.failed || encoder->frame_bits.failed || encoder->list_bits.failed)
    return no_memory(encoder);
  header->magic = PACKED_MAGIC;
  header->version = PACKED_VERSION;
  header->size = out->size / 8;
  if (!packed_parts(header, &parts) || parts.size + encoder->roots_size != header->size)
    return fail(encoder, too_many);
  header->checksum =
      XXH3_64bits(out->bytes + header->header_size, header->size - header->header_size);
  packed_header_write(out->bytes, header);
  return true;
}

static bool plan_functions(struct encoder *encoder) {
  encoder->plans = new_array(encoder, encoder->table->function_count, sizeof *encoder->plans);
  if (encoder->plans == NULL)
    return false;
  count_by_rule(encoder);
  count_exceptions(encoder);
  return true;
}

/* All but the details. */
static void write_main_parts(struct encoder *encoder) {
  if (!plan_functions(encoder) || !collect_sequences(encoder) || !collect_frame_sizes(encoder) ||
      !intern_layouts(encoder))
    return;
  if (!packed_number_locations(encoder->table, &encoder->numbers)) {
    no_memory(encoder);
    return;
  }
  if (!write_layouts(encoder) || !write_lists(encoder) || !write_extents(encoder))
    return;
  if (!packed_write_leaves(encoder->table, encoder->text_start, &encoder->header, encoder->runs,
                           &encoder->layouts, &encoder->directory, &encoder->leaves)) {
    no_memory(encoder);
    return;
  }
  if (encoder->leaves.size / 8 > UINT32_MAX) {
    fail(encoder, too_many);
    return;
  }
  write_bare_frames(encoder);
  write_exceptions(encoder);
}

static bool encode(struct encoder *encoder, struct bit_writer *out) {
  write_main_parts(encoder);
  if (encoder->error == NULL &&
      !packed_write_details(encoder->table, encoder->compress, &encoder->header,
                            &encoder->conventions, &encoder->block_ends, &encoder->blocks))
    no_memory(encoder);
  return encoder->error == NULL && finish_table(encoder, out);
}

static void encoder_free(struct encoder *encoder) {
  free(encoder->plans);
  free(encoder->sequences);
  free(encoder->frame_sizes);
  intern_free(&encoder->interned);
  free(encoder->runs);
  free(encoder->positions);
  free(encoder->layouts.starts);
  free(encoder->layouts.uses);
  free(encoder->layouts.places);
  bit_writer_free(&encoder->layouts.bits);
  free(encoder->list_starts);
  packed_numbers_free(&encoder->numbers);
  bit_writer_free(&encoder->exceptions);
  bit_writer_free(&encoder->directory);
  bit_writer_free(&encoder->leaves);
  bit_writer_free(&encoder->bare_frames);
  bit_writer_free(&encoder->extents);
  bit_writer_free(&encoder->extent_samples);
  bit_writer_free(&encoder->conventions);
  bit_writer_free(&encoder->frame_bits);
  bit_writer_free(&encoder->list_bits);
  bit_writer_free(&encoder->block_ends);
  bit_writer_free(&encoder->blocks);
}

const char *packed_write(const struct safepoints *table, uint64_t address,
                         packed_compress *compress, uint8_t **bytes, size_t *size) {
  struct encoder encoder = {.table = table, .address = address, .compress = compress};
  struct bit_writer out = {0};
  measure_text(&encoder);
  const bool ok = encode(&encoder, &out);
  encoder_free(&encoder);
  if (!ok) {
    bit_writer_free(&out);
    return encoder.error;
  }
  *bytes = out.bytes;
  *size = out.size / 8;
  return NULL;
}
